// Device code that the program loads itself (cudaLibrary_t), and the way to the driver.
#include <cuda.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "cudart/api.h"
#include "cudart/launch.h"
#include "cudart/recorder.h"
#include "vgpu/tensor_map.h"

using namespace kernelsmith::cudart;
namespace vgpu = kernelsmith::vgpu;

namespace {

template <typename Body>
cudaError_t CallOnLibrary(cudaLibrary_t handle, const Body& body) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    auto* library = reinterpret_cast<DeviceModule*>(handle);
    if (!runtime.registry().Contains(library)) return cudaErrorInvalidResourceHandle;
    return body(runtime, *library);
  });
}

cudaError_t LoadLibrary(Runtime& runtime, cudaLibrary_t* handle, std::string image,
                        std::string name) {
  DeviceModule* library = runtime.registry().AddLibrary(std::move(image), std::move(name));
  const cudaError_t error = library->Load(runtime.gpu(), runtime.model(), runtime.recorder());
  if (error != cudaSuccess) {
    runtime.registry().Remove(library);
    return error;
  }
  *handle = reinterpret_cast<cudaLibrary_t>(library);
  return cudaSuccess;
}

cudaError_t FindVariable(DeviceModule& library, const char* name, bool managed, void** address,
                         size_t* bytes) {
  if (name == nullptr) return cudaErrorInvalidValue;
  const vgpu::VariableInfo* found = library.loaded()->FindVariable(name);
  if (found == nullptr || found->managed != managed) return cudaErrorSymbolNotFound;
  if (address != nullptr) *address = reinterpret_cast<void*>(found->address);
  if (bytes != nullptr) *bytes = found->size;
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption*, void**,
                                unsigned int, cudaLibraryOption*, void**, unsigned int) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (library == nullptr || code == nullptr) return cudaErrorInvalidValue;
    // Its size is in its header, or, for text, its end is a zero byte.
    const Bytes readable = ReadableFrom(code);
    const kernelsmith::Result<FatBinary> binary = ParseFatBinary(readable);
    if (!binary.ok()) return cudaErrorInvalidKernelImage;
    size_t end = 0;
    for (const FatBinaryEntry& entry : binary->entries) {
      end = std::max<size_t>(
          end, static_cast<size_t>(entry.payload.data() + entry.payload.size() - readable.data()));
    }
    // Entries are padded; the padding of the last one belongs to the image too.
    end = std::min(readable.size(), (end + 7) / 8 * 8);
    return LoadLibrary(runtime, library, {reinterpret_cast<const char*>(code), end},
                       "cudaLibraryLoadData");
  });
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* file, cudaJitOption*,
                                    void**, unsigned int, cudaLibraryOption*, void**,
                                    unsigned int) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (library == nullptr || file == nullptr) return cudaErrorInvalidValue;
    std::ifstream in(file, std::ios::binary);
    if (!in) return cudaErrorFileNotFound;
    std::string image{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    return LoadLibrary(runtime, library, std::move(image), file);
  });
}

cudaError_t cudaLibraryUnload(cudaLibrary_t handle) {
  return CallOnLibrary(handle, [](Runtime& runtime, DeviceModule& library) {
    const cudaError_t error = runtime.SynchroniseDevice();
    if (error == cudaSuccess) runtime.registry().Remove(&library);
    return error;
  });
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t handle, const char* name) {
  return CallOnLibrary(handle, [&](Runtime& runtime, DeviceModule& library) {
    if (kernel == nullptr || name == nullptr) return cudaErrorInvalidValue;
    Kernel* found = library.FindKernel(name);
    if (found == nullptr) return cudaErrorSymbolNotFound;
    runtime.registry().NoteHandle(found);
    *kernel = reinterpret_cast<cudaKernel_t>(found);
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t handle) {
  return CallOnLibrary(handle, [&](Runtime&, DeviceModule& library) {
    if (count == nullptr) return cudaErrorInvalidValue;
    *count = static_cast<unsigned int>(library.loaded()->Entries().size());
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count,
                                        cudaLibrary_t handle) {
  return CallOnLibrary(handle, [&](Runtime& runtime, DeviceModule& library) {
    if (kernels == nullptr) return cudaErrorInvalidValue;
    unsigned int written = 0;
    for (Kernel* kernel : library.Kernels()) {
      if (written == count) break;
      runtime.registry().NoteHandle(kernel);
      kernels[written++] = reinterpret_cast<cudaKernel_t>(kernel);
    }
    return cudaSuccess;
  });
}

cudaError_t cudaLibraryGetGlobal(void** address, size_t* bytes, cudaLibrary_t handle,
                                 const char* name) {
  return CallOnLibrary(handle, [&](Runtime&, DeviceModule& library) {
    return FindVariable(library, name, false, address, bytes);
  });
}

cudaError_t cudaLibraryGetManaged(void** address, size_t* bytes, cudaLibrary_t handle,
                                  const char* name) {
  return CallOnLibrary(handle, [&](Runtime&, DeviceModule& library) {
    return FindVariable(library, name, true, address, bytes);
  });
}

// -- the driver API: the one function that programs ask for by name because the runtime lacks it;
// for others callers must cope as with an old driver
// ------------------------------------------------

namespace {

using kernelsmith::vgpu::TensorMap;

// cuTensorMapEncodeTiled. Numbers are those of cuda.h, whose types need no driver to be used.
CUresult EncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                     const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                     const cuuint32_t* steps, CUtensorMapInterleave interleave,
                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion,
                     CUtensorMapFloatOOBfill fill) {
  if (map == nullptr || sizes == nullptr || box == nullptr || steps == nullptr || rank < 1 ||
      rank > 5 || (rank > 1 && strides == nullptr) ||
      reinterpret_cast<uintptr_t>(address) % 16 != 0 || address == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      static_cast<int>(type) > static_cast<int>(CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) ||
      static_cast<int>(swizzle) > static_cast<int>(CU_TENSOR_MAP_SWIZZLE_128B)) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  TensorMap encoded;
  encoded.element = static_cast<TensorMap::Element>(type);
  encoded.rank = static_cast<uint8_t>(rank);
  encoded.swizzle = static_cast<uint8_t>(swizzle);
  encoded.fill_nan = fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA ? 1 : 0;
  encoded.address = reinterpret_cast<uint64_t>(address);
  for (cuuint32_t i = 0; i < rank; ++i) {
    if (sizes[i] == 0 || sizes[i] > (cuuint64_t{1} << 32) || box[i] == 0 || box[i] > 256 ||
        steps[i] == 0 || steps[i] > 8) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    encoded.size[i] = sizes[i];
    encoded.box[i] = static_cast<uint16_t>(box[i]);
    encoded.step[i] = static_cast<uint8_t>(steps[i]);
    if (i + 1 < rank) {
      if (strides[i] % 16 != 0 || strides[i] >= (cuuint64_t{1} << 40)) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      encoded.stride[i] = strides[i];
    }
  }
  // A row of the box is whole pieces of 16 bytes, and no longer than what is swizzled.
  const uint32_t row = encoded.Count(0) * encoded.ElementBytes();
  if (row % 16 != 0 || (encoded.swizzle != 0 && row > (16u << encoded.swizzle))) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &encoded, sizeof encoded);
  return CUDA_SUCCESS;
}

}  // namespace

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return SetLast(cudaErrorInvalidValue);
  *function = nullptr;
  if (std::string_view(symbol) == "cuTensorMapEncodeTiled") {
    *function = reinterpret_cast<void*>(&EncodeTiled);
    if (status != nullptr) *status = cudaDriverEntryPointSuccess;
    return cudaSuccess;
  }
  if (Recorder* recorder = Runtime::Get().recorder()) {
    recorder->OnUnsupported("the driver's " + std::string(symbol));
  }
  if (status == nullptr) return SetLast(cudaErrorSymbolNotFound);
  *status = cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char* symbol, void** function,
                                                  unsigned int version, unsigned long long flags,
                                                  cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, version, flags, status);
}
cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}
cudaError_t cudaGetDriverEntryPoint_ptsz(const char* symbol, void** function,
                                         unsigned long long flags,
                                         cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}

}  // extern "C"

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
                                            cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}
