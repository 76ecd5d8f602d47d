// Checking a kernel launch as the chosen GPU would, and turning it into work.
#pragma once

#include <cuda_runtime_api.h>

#include "cudart/runtime.h"
#include "cudart/work.h"

namespace kernelsmith::cudart {

struct LaunchShape {
  dim3 grid;
  dim3 block;
  size_t dynamic_shared = 0;
  bool cooperative = false;
  bool programmatic = false;  // programmatic dependent launch
  dim3 cluster{0, 0, 0};      // 0: as the kernel says
};

// By host stub, cudaKernel_t or cudaFunction_t; loads its device code. `info` describes it.
cudaError_t FindLoadedKernel(Runtime& runtime, const void* function, Kernel** kernel,
                             const vgpu::EntryInfo** info);

// The error of the first launch that was refused since the last question, whether or not the
// program looked at it; cudaSuccess: none.
cudaError_t TakeFailedLaunch();

// `arguments`: one pointer for each parameter.
cudaError_t MakeKernelWork(Runtime& runtime, const void* function, const LaunchShape& shape,
                           void** arguments, KernelWork* work);

// Registers that one thread of the kernel is taken to need. The real number is made by ptxas, which
// is not run here: see the definition for the estimate.
int EstimatedRegisters(const vgpu::EntryInfo& info);

// Blocks of `threads` threads that one SM holds at a time.
int ActiveBlocks(const GpuModel& model, const vgpu::EntryInfo& info, int threads,
                 size_t dynamic_shared);

// What cudaFuncGetAttributes tells of a loaded kernel.
cudaFuncAttributes AttributesOf(Runtime& runtime, Kernel& kernel, const vgpu::EntryInfo& info);

// The most dynamic shared memory that a launch of this kernel may ask for.
int64_t DynamicSharedLimit(const Kernel& kernel, const vgpu::EntryInfo& info);

}  // namespace kernelsmith::cudart
