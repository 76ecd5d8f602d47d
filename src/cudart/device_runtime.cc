#include "cudart/device_runtime.h"

#include <algorithm>
#include <cstring>

#include "cudart/device_properties.h"
#include "cudart/graph.h"
#include "cudart/launch.h"
#include "cudart/runtime.h"

namespace kernelsmith::cudart {
namespace {

class Host final : public vgpu::DeviceRuntimeHost {
 public:
  explicit Host(Runtime& runtime) : runtime_(runtime) {}

  std::string ErrorName(int error) override {
    return cudaGetErrorName(static_cast<cudaError_t>(error));
  }
  std::string ErrorString(int error) override {
    return cudaGetErrorString(static_cast<cudaError_t>(error));
  }
  std::optional<int> DeviceAttribute(int attribute) override {
    return AttributeOf(runtime_.model(), static_cast<cudaDeviceAttr>(attribute));
  }
  std::optional<uint64_t> Limit(int limit) override {
    return runtime_.GetLimit(static_cast<cudaLimit>(limit));
  }
  int RuntimeVersion() override { return CUDART_VERSION; }

  std::vector<std::byte> FunctionAttributes(const vgpu::LoadedModule& module,
                                            const vgpu::EntryInfo& info) override {
    std::vector<std::byte> bytes(sizeof(cudaFuncAttributes));
    if (Kernel* kernel = runtime_.registry().FindKernel(module, info.name)) {
      const cudaFuncAttributes attributes = AttributesOf(runtime_, *kernel, info);
      std::memcpy(bytes.data(), &attributes, bytes.size());
    }
    return bytes;
  }

  int ActiveBlocks(const vgpu::EntryInfo& info, int threads, uint64_t dynamic_shared) override {
    return cudart::ActiveBlocks(runtime_.model(), info, threads, dynamic_shared);
  }

  // As for launches by the host.
  uint64_t DynamicSharedLimit(const vgpu::LoadedModule& module,
                              const vgpu::EntryInfo& info) override {
    const Kernel* kernel = runtime_.registry().FindKernel(module, info.name);
    const int64_t in_all =
        int64_t{runtime_.model().shared_per_block_optin} - int64_t{info.static_shared_bytes};
    const int64_t limit = kernel == nullptr ? in_all : cudart::DynamicSharedLimit(*kernel, info);
    return static_cast<uint64_t>(std::max<int64_t>(0, std::min(limit, in_all)));
  }

  void SetConditional(uint64_t handle, uint32_t value) override {
    Conditions::Get().Set(handle, value);
  }

 private:
  Runtime& runtime_;
};

}  // namespace

std::unique_ptr<vgpu::DeviceRuntimeHost> MakeDeviceRuntimeHost(Runtime& runtime) {
  return std::make_unique<Host>(runtime);
}

}  // namespace kernelsmith::cudart
