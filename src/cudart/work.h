// One piece of work for the virtual GPU: what a stream runs, and what a node of a graph holds.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "cudart/registry.h"

namespace kernelsmith::cudart {

struct EventRecord;
struct GraphProgram;

struct KernelWork {
  Kernel* kernel = nullptr;
  vgpu::Dim3 grid;
  vgpu::Dim3 block;
  vgpu::Dim3 cluster;
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  bool programmatic = false;  // it may begin before the kernel before it has ended
  std::vector<std::byte> parameters;
};

// Rows of `width` bytes; addresses of host or device.
struct CopyWork {
  void* dst = nullptr;
  const void* src = nullptr;
  size_t width = 0;
  size_t height = 1;
  size_t depth = 1;
  size_t dst_pitch = 0;
  size_t src_pitch = 0;
  size_t dst_slice = 0;  // bytes from one 2D slice to the next
  size_t src_slice = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;

  // Bytes from the first to behind the last one that is touched.
  size_t dst_extent() const { return Extent(dst_pitch, dst_slice); }
  size_t src_extent() const { return Extent(src_pitch, src_slice); }
  bool empty() const { return width == 0 || height == 0 || depth == 0; }

 private:
  size_t Extent(size_t pitch, size_t slice) const {
    return empty() ? 0 : (depth - 1) * slice + (height - 1) * pitch + width;
  }
};

struct FillWork {
  void* dst = nullptr;
  unsigned int value = 0;
  unsigned int element_bytes = 1;  // 1, 2 or 4
  size_t width = 0;                // in elements
  size_t height = 1;
  size_t depth = 1;
  size_t pitch = 0;
  size_t slice = 0;

  size_t row_bytes() const { return width * element_bytes; }
  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  size_t extent() const {
    return empty() ? 0 : (depth - 1) * slice + (height - 1) * pitch + row_bytes();
  }
};

struct HostWork {
  cudaHostFn_t function = nullptr;
  void* user_data = nullptr;
  // cudaStreamAddCallback: runs also after an error, and is told about it.
  cudaStreamCallback_t callback = nullptr;
  cudaStream_t stream = nullptr;
};

// Stream-ordered free.
struct FreeWork {
  void* pointer = nullptr;
};

// A node of a graph that hands out memory: the address is fixed when the node is made.
struct AllocateWork {
  void* pointer = nullptr;
  size_t size = 0;
};

struct RecordWork {
  std::shared_ptr<EventRecord> record;
  cudaEvent_t event = nullptr;  // graph nodes record into the event as it is at launch
};

struct WaitWork {
  cudaEvent_t event = nullptr;
};

struct GraphWork {
  std::shared_ptr<const GraphProgram> program;
};

struct NoWork {};

using Work = std::variant<NoWork, KernelWork, CopyWork, FillWork, HostWork, FreeWork, AllocateWork,
                          RecordWork, WaitWork, GraphWork>;

// Short and never blocking: may run on the thread of the caller.
inline bool IsQuick(const Work& work) {
  return !std::holds_alternative<KernelWork>(work) && !std::holds_alternative<HostWork>(work) &&
         !std::holds_alternative<GraphWork>(work);
}

}  // namespace kernelsmith::cudart
