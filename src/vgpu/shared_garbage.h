// What shared memory holds before a block writes to it: zeros, so that runs are alike, or, as on a
// GPU, whatever was there. A kernel that reads what nobody wrote shows by its results then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kernelsmith::vgpu {

class LoadedModule;

// As long as it lives, kernels of the module find bytes drawn from `seed`; 0: zeros.
class SharedGarbage {
 public:
  SharedGarbage(const LoadedModule* module, uint64_t seed);
  ~SharedGarbage();
  SharedGarbage(const SharedGarbage&) = delete;
  SharedGarbage& operator=(const SharedGarbage&) = delete;

 private:
  const LoadedModule* module_;
};

// For the engine. The same for every block of a launch: what differs from run to run is enough to
// show who reads it. Empty: zeros.
std::vector<std::byte> SharedGarbageOf(const LoadedModule* module, size_t bytes);

}  // namespace kernelsmith::vgpu
