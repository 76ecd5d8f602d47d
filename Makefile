# The commands of the project. `make run` and `make test` need nothing but a Debian 12 machine.

BUILD := build
JOBS ?= $(shell nproc)

.PHONY: run test build setup check bench fuzz asan tsan install clean

# Sets up, builds, and does the main job on embedded defaults.
run: build
	$(BUILD)/kernelsmith doctor
	@echo
	$(BUILD)/kernelsmith verify examples/softmax/model.py examples/softmax/softmax.cu
	@echo
	@echo "And one that is wrong:"
	$(BUILD)/kernelsmith verify examples/softmax/model.py examples/softmax/softmax_wrong.cu || [ $$? = 1 ]

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

asan tsan: setup
	cmake --preset $@
	cmake --build build-$@ -j$(JOBS)
	ctest --preset $@ -j$(JOBS)

install: build
	cmake --install $(BUILD)

clean:
	rm -rf build build-asan build-tsan build-debug
