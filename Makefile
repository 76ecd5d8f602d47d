# The commands of the project. `make run` and `make test` need nothing but a Debian 12 machine.

BUILD := build
JOBS ?= $(shell nproc)

.PHONY: run test build setup check bench mutants fuzz fuzz-jit asan tsan install clean

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

# Sets up, builds, and runs every test. CI runs exactly this.
test: build
	ctest --test-dir $(BUILD) --output-on-failure --progress -j$(JOBS)

setup:
	@scripts/setup

build: setup
	@[ -e $(BUILD)/build.ninja ] || cmake --preset release
	@cmake --build $(BUILD) -j$(JOBS)

# Formatting and lint, as reviewers expect it.
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
	mkdir -p build-asan/fuzz/ptx build-asan/fuzz/fat_binary
	build-asan/src/ptx/ks_ptx_parser_fuzz -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
	  build-asan/fuzz/ptx tests/ptx_syntax/corpus tests/ptx_syntax/malformed
	build-asan/src/cudart/fat_binary_fuzz -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
	  build-asan/fuzz/fat_binary

# Random kernels under the interpreter and the JIT, FUZZ_SECONDS long. Reproducers are left in build/fuzz.
FUZZ_SEED ?= 1
fuzz-jit: build
	$(BUILD)/fuzz/ks_jit_fuzz --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED) --output $(BUILD)/fuzz

asan tsan: setup
	cmake --preset $@
	cmake --build build-$@ -j$(JOBS)
	ctest --preset $@ -j$(JOBS)

install: build
	cmake --install $(BUILD)

clean:
	rm -rf build build-asan build-tsan build-debug
