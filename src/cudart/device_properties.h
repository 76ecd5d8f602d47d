// cudaDeviceProp and the attributes of a GPU model.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>

#include "vgpu/gpu_model.h"

namespace kernelsmith::cudart {

// `identity` tells GPUs of the same model apart.
cudaDeviceProp PropertiesOf(const GpuModel& model, uint64_t identity = 0);
// Nothing for a number that is no attribute.
std::optional<int> AttributeOf(const GpuModel& model, cudaDeviceAttr attribute);

}  // namespace kernelsmith::cudart
