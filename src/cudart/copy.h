// Copies and fills as the API describes them, checked and turned into work.
#pragma once

#include <cuda_runtime_api.h>

#include "cudart/runtime.h"
#include "cudart/work.h"

namespace kernelsmith::cudart {

// A copy of `count` bytes.
CopyWork LinearCopy(void* dst, const void* src, size_t count, cudaMemcpyKind kind);
// cudaErrorInvalidValue: contradictory parameters, or a copy that leaves its array.
cudaError_t CopyFromParameters(const cudaMemcpy3DParms& parameters, CopyWork* work);
cudaMemcpy3DParms ParametersOf(const CopyWork& work);
cudaError_t FillFromParameters(const cudaMemsetParams& parameters, FillWork* work);
cudaMemsetParams ParametersOf(const FillWork& work);

// Whether `kind` fits the two addresses, and the bytes lie within allocations.
cudaError_t CheckCopy(Runtime& runtime, const CopyWork& work);
cudaError_t CheckFill(Runtime& runtime, const FillWork& work);

// A __device__ variable by its host address: where bytes [offset, offset + count) of it are.
cudaError_t FindSymbol(Runtime& runtime, const void* symbol, size_t count, size_t offset,
                       void** address);

// Checks and submits. A copy that touches ordinary (pageable) memory of the host is complete when
// the call returns even if it is asynchronous: CUDA stages such memory.
cudaError_t SubmitCopy(Runtime& runtime, cudaStream_t stream, const CopyWork& work,
                       Runtime::Completion completion);
cudaError_t SubmitFill(Runtime& runtime, cudaStream_t stream, const FillWork& work,
                       Runtime::Completion completion);

}  // namespace kernelsmith::cudart
