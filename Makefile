# The commands of the project. `make run` and `make test` need nothing but a Debian 12 machine.

BUILD := build
JOBS ?= $(shell nproc)

.PHONY: run test build setup check bench mutants fuzz fuzz-jit asan asan-hostile tsan install clean

# Sets up, builds, and does the main job on embedded defaults.
run: build
	$(BUILD)/kernelsmith doctor
	@echo
	$(BUILD)/kernelsmith verify examples/softmax/model.py examples/softmax/softmax.cu
	@echo
	@echo "And one that is wrong:"
	$(BUILD)/kernelsmith verify examples/softmax/model.py examples/softmax/softmax_wrong.cu || [ $$? = 1 ]
	@echo
	@echo "From PyTorch to CUDA, and faster (some minutes):"
	rm -rf $(BUILD)/run
	$(BUILD)/kernelsmith optimize softmax --candidates 24 --minutes 3 --seed 1 --output $(BUILD)/run

# Sets up, builds, and runs every test. CI runs this and more (.ci/run).
test: build
	ctest --test-dir $(BUILD) --output-on-failure --progress -j$(JOBS)

setup:
	@scripts/setup

build: setup
	@[ -e $(BUILD)/build.ninja ] || cmake --preset release
	@cmake --build $(BUILD) -j$(JOBS)

# Formatting and lint of everything, as reviewers expect it. scripts/check says how to ask for less.
check: build
	scripts/check

# The figures of docs/results.md. The last one compiles a PyTorch extension: some minutes.
bench: build
	$(BUILD)/bench/ks_vgpu_bench
	$(BUILD)/bench/ks_engine_bench
	$(BUILD)/bench/ks_tensor_bench
	$(BUILD)/bench/ks_plan_bench 12

# The verifier on every right kernel of kernels/ and MUTANTS mutants of each: an hour or two. Goes on where it was stopped.
MUTANTS ?= 16
mutants: build
	$(BUILD)/kernelsmith mutants --per-kernel $(MUTANTS) --jobs $(JOBS) --output $(BUILD)/mutants

# Fuzzers, FUZZ_SECONDS each, with sanitizers. What they find is left in the current folder.
FUZZ_SECONDS ?= 600
fuzz: setup
	cmake --preset asan
	cmake --build build-asan -j$(JOBS) --target fuzzers
	scripts/fuzz build-asan -max_total_time=$(FUZZ_SECONDS)

# Random kernels under the interpreter and the JIT, FUZZ_SECONDS long. Reproducers are left in build/fuzz.
FUZZ_SEED ?= 1
fuzz-jit: build
	$(BUILD)/fuzz/ks_jit_fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --output $(BUILD)/fuzz

# The whole tree under sanitizers (docs/testing.md says what is left out, and why): hours on two cores.
asan tsan: build
	cmake --preset $@
	cmake --build build-$@ -j$(JOBS)
	ctest --preset $@ -j$(JOBS)

# Address and undefined behaviour sanitizers on the folders that read hostile input: their unit tests, and FUZZ_RUNS
# inputs of each fuzzer. Other folders are compiled as in build/, so most of it comes from ccache.
HOSTILE := ptx plan cudart compile tasks llm
FUZZ_RUNS ?= 20000
asan-hostile: build
	cmake --preset $@
	cmake --build build-$@ -j$(JOBS) --target $(HOSTILE:%=ks_%_test) fuzzers
	ctest --preset $@ -j$(JOBS) -L '^($(subst $(eval ) ,|,$(HOSTILE)))$$'
	scripts/fuzz build-$@ -runs=$(FUZZ_RUNS) -seed=1

install: build
	cmake --install $(BUILD)

clean:
	rm -rf build build-asan build-asan-hostile build-tsan build-debug
