// cudaDeviceProp and the attributes of a GPU model.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "vgpu/gpu_model.h"

namespace kernelsmith::cudart {

cudaDeviceProp PropertiesOf(const GpuModel& model);
// Nothing for a number that is no attribute.
std::optional<int> AttributeOf(const GpuModel& model, cudaDeviceAttr attribute);

}  // namespace kernelsmith::cudart
