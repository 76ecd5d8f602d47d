#include "vgpu/shared_garbage.h"

#include <map>
#include <mutex>

#include "support/rng.h"

namespace kernelsmith::vgpu {
namespace {

struct Seeds {
  std::mutex mutex;
  std::map<const LoadedModule*, uint64_t> of_module;
};

// Beside the modules, which know nothing of it: few callers ask for garbage.
Seeds& All() {
  static Seeds seeds;
  return seeds;
}

}  // namespace

SharedGarbage::SharedGarbage(const LoadedModule* module, uint64_t seed) : module_(module) {
  if (seed == 0) return;
  const std::lock_guard lock(All().mutex);
  All().of_module[module] = seed;
}

SharedGarbage::~SharedGarbage() {
  const std::lock_guard lock(All().mutex);
  All().of_module.erase(module_);
}

std::vector<std::byte> SharedGarbageOf(const LoadedModule* module, size_t bytes) {
  uint64_t seed = 0;
  {
    const std::lock_guard lock(All().mutex);
    const auto found = All().of_module.find(module);
    if (found == All().of_module.end()) return {};
    seed = found->second;
  }
  std::vector<std::byte> garbage(bytes);
  Rng rng(seed);
  for (std::byte& each : garbage) each = static_cast<std::byte>(rng.Next() >> 56);
  return garbage;
}

}  // namespace kernelsmith::vgpu
