#include "device/module_pool.h"

#include <algorithm>
#include <cstring>

#include "ptx/ptx.h"

namespace kernelsmith {

namespace {

constexpr size_t kMostFree = 4;

}  // namespace

Result<std::unique_ptr<PooledModule>> ModulePool::Take(const std::string& ptx,
                                                       const std::string& name,
                                                       vgpu::VirtualGpu& gpu) {
  vgpu::DeviceMemory& memory = gpu.memory();
  {
    std::lock_guard lock(mutex_);
    const auto it = std::find_if(free_.begin(), free_.end(), [&](const auto& one) {
      return one->name == name && one->ptx == ptx;
    });
    if (it != free_.end()) {
      std::unique_ptr<PooledModule> known = std::move(*it);
      free_.erase(it);
      for (const auto& [address, bytes] : known->variables) {
        std::memcpy(memory.HostAlias(address, bytes.size()), bytes.data(), bytes.size());
      }
      return known;
    }
  }
  auto fresh = std::make_unique<PooledModule>();
  fresh->ptx = ptx;
  fresh->name = name;
  KS_TRY(ptx::Module parsed, ptx::Parse(ptx, name));
  KS_TRY(fresh->module,
         vgpu::LoadedModule::Load({std::make_shared<const ptx::Module>(std::move(parsed))}, memory,
                                  name, vgpu::CpuFor(gpu.options().settings)));
  for (const vgpu::VariableInfo* variable : fresh->module->Variables()) {
    if (variable->size == 0) continue;
    const auto* begin =
        static_cast<const std::byte*>(memory.HostAlias(variable->address, variable->size));
    fresh->variables.emplace_back(variable->address,
                                  std::vector<std::byte>(begin, begin + variable->size));
  }
  return fresh;
}

void ModulePool::Return(std::unique_ptr<PooledModule> module) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(module));
  if (free_.size() > kMostFree) free_.erase(free_.begin());
}

}  // namespace kernelsmith
