#include "cudart/launch.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "cudart/recorder.h"

namespace kernelsmith::cudart {
namespace {

vgpu::Dim3 ToDim3(const dim3& d) { return {d.x, d.y, d.z}; }

cudaError_t CheckGridAndBlock(const LaunchShape& shape) {
  const unsigned int grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
  const unsigned int block[3] = {shape.block.x, shape.block.y, shape.block.z};
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || grid[i] > static_cast<uint64_t>(GpuModel::kMaxGridDim[i])) {
      return cudaErrorInvalidConfiguration;
    }
    if (block[i] == 0 || block[i] > static_cast<unsigned int>(GpuModel::kMaxBlockDim[i])) {
      return cudaErrorInvalidConfiguration;
    }
    threads *= block[i];
  }
  return threads <= GpuModel::kMaxThreadsPerBlock ? cudaSuccess : cudaErrorInvalidConfiguration;
}

// .reqntid and .maxntid (__launch_bounds__). ptxas gives such a kernel no more registers than that
// many threads can have, so more threads can't be launched.
cudaError_t CheckLaunchBounds(const vgpu::EntryInfo& info, const vgpu::Dim3& block) {
  if (info.required_threads && !(*info.required_threads == block)) return cudaErrorInvalidValue;
  if (info.max_threads && block.Count() > info.max_threads->Count()) return cudaErrorInvalidValue;
  return cudaSuccess;
}

cudaError_t CheckCluster(const GpuModel& model, const Kernel& kernel, const vgpu::Dim3& cluster,
                         const vgpu::Dim3& grid) {
  if (cluster.Count() == 1) return cudaSuccess;
  if (model.max_cluster_blocks == 0) return cudaErrorNotSupported;
  if (cluster.x == 0 || cluster.y == 0 || cluster.z == 0 || grid.x % cluster.x != 0 ||
      grid.y % cluster.y != 0 || grid.z % cluster.z != 0) {
    return cudaErrorInvalidClusterSize;
  }
  const uint64_t limit = kernel.non_portable_cluster ? 16 : model.max_cluster_blocks;
  return cluster.Count() <= limit ? cudaSuccess : cudaErrorInvalidClusterSize;
}

vgpu::Dim3 ClusterOf(const Kernel& kernel, const vgpu::EntryInfo& info, const dim3& asked) {
  if (asked.x != 0) return ToDim3(asked);
  if (info.required_cluster) return *info.required_cluster;
  if (kernel.cluster_x != 0) {
    return {static_cast<uint32_t>(kernel.cluster_x), static_cast<uint32_t>(kernel.cluster_y),
            static_cast<uint32_t>(kernel.cluster_z)};
  }
  return {1, 1, 1};
}

}  // namespace

cudaError_t FindLoadedKernel(Runtime& runtime, const void* function, Kernel** kernel,
                             const vgpu::EntryInfo** info) {
  *kernel = function == nullptr ? nullptr : runtime.registry().FindKernel(function);
  if (*kernel == nullptr) return cudaErrorInvalidDeviceFunction;
  DeviceModule* module = (*kernel)->module;
  if (const cudaError_t error = module->Load(runtime.gpu(), runtime.model(), runtime.recorder());
      error != cudaSuccess) {
    return error;
  }
  *info = module->loaded()->FindEntry((*kernel)->name);
  return *info == nullptr ? cudaErrorInvalidDeviceFunction : cudaSuccess;
}

int64_t DynamicSharedLimit(const Kernel& kernel, const vgpu::EntryInfo& info) {
  if (kernel.max_dynamic_shared >= 0) return kernel.max_dynamic_shared;
  return std::max<int64_t>(0, GpuModel::kSharedPerBlock - int64_t{info.static_shared_bytes});
}

namespace {

cudaError_t TryKernelWork(Runtime& runtime, const void* function, const LaunchShape& shape,
                          void** arguments, KernelWork* work) {
  Kernel* kernel = nullptr;
  const vgpu::EntryInfo* info = nullptr;
  cudaError_t error = FindLoadedKernel(runtime, function, &kernel, &info);
  if (error != cudaSuccess) return error;
  const GpuModel& model = runtime.model();
  const vgpu::Dim3 grid = ToDim3(shape.grid);
  const vgpu::Dim3 block = ToDim3(shape.block);
  const vgpu::Dim3 cluster = ClusterOf(*kernel, *info, shape.cluster);
  error = CheckGridAndBlock(shape);
  if (error != cudaSuccess) return error;
  error = CheckLaunchBounds(*info, block);
  if (error != cudaSuccess) return error;
  error = CheckCluster(model, *kernel, cluster, grid);
  if (error != cudaSuccess) return error;
  const int64_t shared_limit =
      std::min<int64_t>(DynamicSharedLimit(*kernel, *info),
                        int64_t{model.shared_per_block_optin} - int64_t{info->static_shared_bytes});
  if (shape.dynamic_shared > static_cast<uint64_t>(std::max<int64_t>(shared_limit, 0))) {
    return cudaErrorInvalidValue;
  }
  if (shape.cooperative) {
    const int resident =
        ActiveBlocks(model, *info, static_cast<int>(block.Count()), shape.dynamic_shared);
    if (grid.Count() > static_cast<uint64_t>(resident) * static_cast<uint64_t>(model.sm_count)) {
      return cudaErrorCooperativeLaunchTooLarge;
    }
  }
  if (runtime.recorder() != nullptr && !runtime.recorder()->prepares_kernels()) {
    // Whoever runs it does that.
  } else if (const auto prepared = kernel->module->loaded()->Prepare(kernel->name);
             !prepared.ok()) {
    const cudaError_t code = prepared.error().kind() == ErrorKind::kUnsupported
                                 ? cudaErrorNotSupported
                                 : cudaErrorInvalidPtx;
    // A program that looks at no launch error would go on with garbage and call it a success: what
    // can't be run stays an error for ever.
    runtime.Fail(code, prepared.error().Format());
    return runtime.RevealFault();
  }

  *work = {.kernel = kernel,
           .grid = grid,
           .block = block,
           .cluster = cluster,
           .dynamic_shared = static_cast<uint32_t>(shape.dynamic_shared),
           .cooperative = shape.cooperative,
           .programmatic = shape.programmatic};
  work->parameters.resize(info->parameter_bytes);
  if (arguments == nullptr && !info->parameters.empty()) return cudaErrorInvalidValue;
  for (size_t i = 0; i < info->parameters.size(); ++i) {
    const vgpu::ParameterInfo& parameter = info->parameters[i];
    if (parameter.size == 0) continue;
    if (arguments[i] == nullptr) return cudaErrorInvalidValue;
    std::memcpy(work->parameters.data() + parameter.offset, arguments[i], parameter.size);
  }
  return cudaSuccess;
}

std::atomic<cudaError_t> g_failed_launch{cudaSuccess};

}  // namespace

cudaError_t TakeFailedLaunch() { return g_failed_launch.exchange(cudaSuccess); }

cudaError_t MakeKernelWork(Runtime& runtime, const void* function, const LaunchShape& shape,
                           void** arguments, KernelWork* work) {
  const cudaError_t error = TryKernelWork(runtime, function, shape, arguments, work);
  cudaError_t none = cudaSuccess;
  if (error != cudaSuccess) g_failed_launch.compare_exchange_strong(none, error);
  return error;
}

int EstimatedRegisters(const vgpu::EntryInfo& info) {
  // 32 registers let an SM of 65536 be full of threads, and that is what ptxas aims at for kernels
  // of moderate size. Bounds that the program gives (maxnreg, launch bounds with a number of
  // blocks) are kept, as ptxas must keep them.
  int registers = 32;
  if (info.max_registers) registers = std::min(registers, static_cast<int>(*info.max_registers));
  if (info.max_threads && info.min_blocks_per_sm) {
    const uint64_t threads = info.max_threads->Count() * std::max(1U, *info.min_blocks_per_sm);
    const int by_bounds =
        static_cast<int>(GpuModel::kRegistersPerSm / std::max<uint64_t>(1, threads));
    registers = std::min(registers, std::max(16, by_bounds / 8 * 8));
  }
  return registers;
}

int ActiveBlocks(const GpuModel& model, const vgpu::EntryInfo& info, int threads,
                 size_t dynamic_shared) {
  if (dynamic_shared > static_cast<size_t>(model.shared_per_sm)) return 0;
  if (info.max_threads && static_cast<uint64_t>(threads) > info.max_threads->Count()) return 0;
  return MaxResidentBlocksPerSm(
      model, {.threads = threads,
              .registers_per_thread = EstimatedRegisters(info),
              .shared_bytes = static_cast<int64_t>(info.static_shared_bytes + dynamic_shared)});
}

}  // namespace kernelsmith::cudart
