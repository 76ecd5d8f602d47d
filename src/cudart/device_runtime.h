// What kernels that call the CUDA runtime themselves ask of this one (vgpu/device_runtime.h).
#pragma once

#include <memory>

#include "vgpu/device_runtime_host.h"

namespace kernelsmith::cudart {

class Runtime;

std::unique_ptr<vgpu::DeviceRuntimeHost> MakeDeviceRuntimeHost(Runtime& runtime);

}  // namespace kernelsmith::cudart
