// Modules that were loaded before. A verification runs the same code dozens of times: parsing,
// lowering and compiling it once is enough.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "support/result.h"
#include "vgpu/vgpu.h"

namespace kernelsmith {

struct PooledModule {
  std::string ptx;
  std::string name;
  std::unique_ptr<vgpu::LoadedModule> module;
  // What its variables began with, by address.
  std::vector<std::pair<uint64_t, std::vector<std::byte>>> variables;
};

class ModulePool {
 public:
  // The module as it is after loading, its variables included.
  Result<std::unique_ptr<PooledModule>> Take(const std::string& ptx, const std::string& name,
                                             vgpu::VirtualGpu& gpu);
  void Return(std::unique_ptr<PooledModule> module);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<PooledModule>> free_;  // the one used last comes last
};

}  // namespace kernelsmith
