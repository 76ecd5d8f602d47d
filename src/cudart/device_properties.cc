#include "cudart/device_properties.h"

#include <algorithm>
#include <cstring>

#include "support/rng.h"

namespace kernelsmith::cudart {
namespace {

// Texture and surface limits are the same from 7.5 on: CUDA C++ Programming Guide, "Technical
// specifications per compute capability". They can be asked for; textures themselves can't be used.
constexpr int kTexture1D = 131072;
constexpr int kTexture1DLinear = 1 << 28;
constexpr int kTexture2D[2] = {131072, 65536};
constexpr int kTexture3D[3] = {16384, 16384, 16384};
constexpr int kLayeredWidth = 32768;
constexpr int kLayers = 2048;
constexpr int kSurface3D = 16384;
// cudaDeviceProp::memPitch, textureAlignment, texturePitchAlignment, surfaceAlignment as all
// present GPUs report them.
constexpr int kMaxPitch = 2147483647;
constexpr int kTextureAlignment = 512;
constexpr int kTexturePitchAlignment = 32;
constexpr int kSurfaceAlignment = 512;
constexpr int kAccessPolicyWindow = 134213632;  // 8.0 and up

int Int(int64_t value) { return static_cast<int>(value); }

}  // namespace

cudaDeviceProp PropertiesOf(const GpuModel& model, uint64_t identity) {
  cudaDeviceProp p;
  std::memset(&p, 0, sizeof(p));
  const size_t length = std::min(model.name.size(), sizeof(p.name) - 1);
  std::memcpy(p.name, model.name.data(), length);
  Rng rng(identity ^ static_cast<uint64_t>(model.major * 10 + model.minor));
  for (size_t at = 0; at < sizeof p.uuid.bytes; at += sizeof(uint64_t)) {
    const uint64_t word = rng.Next();
    std::memcpy(p.uuid.bytes + at, &word, sizeof word);
  }
  p.totalGlobalMem = static_cast<size_t>(model.global_memory_bytes);
  p.sharedMemPerBlock = GpuModel::kSharedPerBlock;
  p.regsPerBlock = GpuModel::kRegistersPerBlock;
  p.warpSize = GpuModel::kWarpSize;
  p.memPitch = kMaxPitch;
  p.maxThreadsPerBlock = GpuModel::kMaxThreadsPerBlock;
  for (int i = 0; i < 3; ++i) {
    p.maxThreadsDim[i] = GpuModel::kMaxBlockDim[i];
    p.maxGridSize[i] = Int(GpuModel::kMaxGridDim[i]);
  }
  p.totalConstMem = GpuModel::kConstantBytes;
  p.major = model.major;
  p.minor = model.minor;
  p.textureAlignment = kTextureAlignment;
  p.texturePitchAlignment = kTexturePitchAlignment;
  p.multiProcessorCount = model.sm_count;
  p.canMapHostMemory = 1;
  p.maxTexture1D = kTexture1D;
  p.maxTexture1DMipmap = kLayeredWidth;
  for (int i = 0; i < 2; ++i) {
    p.maxTexture2D[i] = kTexture2D[i];
    p.maxTexture2DMipmap[i] = kLayeredWidth;
    p.maxTexture2DGather[i] = kLayeredWidth;
    p.maxTexture2DLayered[i] = kLayeredWidth;
    p.maxSurface2D[i] = i == 0 ? 131072 : 65536;
    p.maxSurface2DLayered[i] = kLayeredWidth;
  }
  p.maxTexture2DLinear[0] = 131072;
  p.maxTexture2DLinear[1] = 65000;
  p.maxTexture2DLinear[2] = 2097120;
  for (int i = 0; i < 3; ++i) {
    p.maxTexture3D[i] = kTexture3D[i];
    p.maxTexture3DAlt[i] = i == 2 ? 32768 : 8192;
    p.maxSurface3D[i] = kSurface3D;
  }
  p.maxTextureCubemap = kLayeredWidth;
  p.maxTexture1DLayered[0] = kLayeredWidth;
  p.maxTexture1DLayered[1] = kLayers;
  p.maxTexture2DLayered[2] = kLayers;
  p.maxTextureCubemapLayered[0] = kLayeredWidth;
  p.maxTextureCubemapLayered[1] = kLayers - 2;
  p.maxSurface1D = 32768;
  p.maxSurface1DLayered[0] = kLayeredWidth;
  p.maxSurface1DLayered[1] = kLayers;
  p.maxSurface2DLayered[2] = kLayers;
  p.maxSurfaceCubemap = kLayeredWidth;
  p.maxSurfaceCubemapLayered[0] = kLayeredWidth;
  p.maxSurfaceCubemapLayered[1] = kLayers - 2;
  p.surfaceAlignment = kSurfaceAlignment;
  p.concurrentKernels = 1;
  p.ECCEnabled = model.ecc ? 1 : 0;
  p.pciBusID = 1;
  p.asyncEngineCount = model.async_engines;
  p.unifiedAddressing = 1;
  p.memoryBusWidth = model.memory_bus_bits;
  p.l2CacheSize = Int(model.l2_bytes);
  p.persistingL2CacheMaxSize = Int(model.persisting_l2_bytes);
  p.maxThreadsPerMultiProcessor = model.max_threads_per_sm;
  p.streamPrioritiesSupported = 1;
  p.globalL1CacheSupported = 1;
  p.localL1CacheSupported = 1;
  p.sharedMemPerMultiprocessor = static_cast<size_t>(model.shared_per_sm);
  p.regsPerMultiprocessor = GpuModel::kRegistersPerSm;
  p.managedMemory = 1;
  p.concurrentManagedAccess = 1;
  p.computePreemptionSupported = 1;
  p.canUseHostPointerForRegisteredMem = 1;
  p.cooperativeLaunch = 1;
  p.sharedMemPerBlockOptin = static_cast<size_t>(model.shared_per_block_optin);
  p.maxBlocksPerMultiProcessor = model.max_blocks_per_sm;
  p.accessPolicyMaxWindowSize = model.major >= 8 ? kAccessPolicyWindow : 0;
  p.reservedSharedMemPerBlock = static_cast<size_t>(model.reserved_shared_per_block);
  p.hostRegisterSupported = 1;
  p.memoryPoolsSupported = 1;
  p.clusterLaunch = model.max_cluster_blocks > 0 ? 1 : 0;
  p.deviceNumaId = -1;
  p.hostNumaId = -1;
  return p;
}

std::optional<int> AttributeOf(const GpuModel& model, cudaDeviceAttr attribute) {
  const cudaDeviceProp p = PropertiesOf(model);
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX:
      return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY:
      return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ:
      return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX:
      return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY:
      return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ:
      return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock:
      return Int(p.sharedMemPerBlock);
    case cudaDevAttrTotalConstantMemory:
      return Int(p.totalConstMem);
    case cudaDevAttrWarpSize:
      return p.warpSize;
    case cudaDevAttrMaxPitch:
      return Int(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock:
      return p.regsPerBlock;
    case cudaDevAttrClockRate:
      return model.sm_clock_khz;
    case cudaDevAttrTextureAlignment:
      return kTextureAlignment;
    case cudaDevAttrGpuOverlap:
      return 1;
    case cudaDevAttrMultiProcessorCount:
      return p.multiProcessorCount;
    case cudaDevAttrComputeMode:
      return cudaComputeModeDefault;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrGlobalL1CacheSupported:
    case cudaDevAttrLocalL1CacheSupported:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrComputePreemptionSupported:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
      return 1;
    case cudaDevAttrMaxTexture1DWidth:
      return p.maxTexture1D;
    case cudaDevAttrMaxTexture2DWidth:
      return p.maxTexture2D[0];
    case cudaDevAttrMaxTexture2DHeight:
      return p.maxTexture2D[1];
    case cudaDevAttrMaxTexture3DWidth:
    case cudaDevAttrMaxTexture3DHeight:
    case cudaDevAttrMaxTexture3DDepth:
      return p.maxTexture3D[0];
    case cudaDevAttrMaxTexture2DLayeredWidth:
    case cudaDevAttrMaxTexture2DLayeredHeight:
    case cudaDevAttrMaxTexture1DLayeredWidth:
    case cudaDevAttrMaxTexture2DGatherWidth:
    case cudaDevAttrMaxTexture2DGatherHeight:
    case cudaDevAttrMaxTextureCubemapWidth:
    case cudaDevAttrMaxTextureCubemapLayeredWidth:
    case cudaDevAttrMaxSurface1DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredWidth:
    case cudaDevAttrMaxSurface2DLayeredHeight:
    case cudaDevAttrMaxSurfaceCubemapWidth:
    case cudaDevAttrMaxSurfaceCubemapLayeredWidth:
    case cudaDevAttrMaxTexture2DMipmappedWidth:
    case cudaDevAttrMaxTexture2DMipmappedHeight:
    case cudaDevAttrMaxTexture1DMipmappedWidth:
      return kLayeredWidth;
    case cudaDevAttrMaxTexture2DLayeredLayers:
    case cudaDevAttrMaxTexture1DLayeredLayers:
    case cudaDevAttrMaxSurface1DLayeredLayers:
    case cudaDevAttrMaxSurface2DLayeredLayers:
      return kLayers;
    case cudaDevAttrMaxTextureCubemapLayeredLayers:
    case cudaDevAttrMaxSurfaceCubemapLayeredLayers:
      return kLayers - 2;
    case cudaDevAttrMaxTexture3DWidthAlt:
    case cudaDevAttrMaxTexture3DHeightAlt:
      return p.maxTexture3DAlt[0];
    case cudaDevAttrMaxTexture3DDepthAlt:
      return p.maxTexture3DAlt[2];
    case cudaDevAttrMaxSurface1DWidth:
      return p.maxSurface1D;
    case cudaDevAttrMaxSurface2DWidth:
      return p.maxSurface2D[0];
    case cudaDevAttrMaxSurface2DHeight:
      return p.maxSurface2D[1];
    case cudaDevAttrMaxSurface3DWidth:
    case cudaDevAttrMaxSurface3DHeight:
    case cudaDevAttrMaxSurface3DDepth:
      return kSurface3D;
    case cudaDevAttrMaxTexture1DLinearWidth:
      return kTexture1DLinear;
    case cudaDevAttrMaxTexture2DLinearWidth:
      return p.maxTexture2DLinear[0];
    case cudaDevAttrMaxTexture2DLinearHeight:
      return p.maxTexture2DLinear[1];
    case cudaDevAttrMaxTexture2DLinearPitch:
      return p.maxTexture2DLinear[2];
    case cudaDevAttrSurfaceAlignment:
      return kSurfaceAlignment;
    case cudaDevAttrTexturePitchAlignment:
      return kTexturePitchAlignment;
    case cudaDevAttrEccEnabled:
      return p.ECCEnabled;
    case cudaDevAttrPciBusId:
      return p.pciBusID;
    case cudaDevAttrMemoryClockRate:
      return model.memory_clock_khz;
    case cudaDevAttrGlobalMemoryBusWidth:
      return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize:
      return p.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrAsyncEngineCount:
      return p.asyncEngineCount;
    case cudaDevAttrComputeCapabilityMajor:
      return p.major;
    case cudaDevAttrComputeCapabilityMinor:
      return p.minor;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      return Int(p.sharedMemPerMultiprocessor);
    case cudaDevAttrMaxRegistersPerMultiprocessor:
      return p.regsPerMultiprocessor;
    case cudaDevAttrSingleToDoublePrecisionPerfRatio:
      return model.fp32_lanes_per_sm / model.fp64_lanes_per_sm;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      return Int(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxBlocksPerMultiprocessor:
      return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrMaxPersistingL2CacheSize:
      return p.persistingL2CacheMaxSize;
    case cudaDevAttrMaxAccessPolicyWindowSize:
      return p.accessPolicyMaxWindowSize;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      return Int(p.reservedSharedMemPerBlock);
    case cudaDevAttrClusterLaunch:
      return p.clusterLaunch;
    case cudaDevAttrMemSyncDomainCount:
      return model.major >= 9 ? 4 : 1;
    case cudaDevAttrNumaId:
    case cudaDevAttrHostNumaId:
      return -1;
    default:
      break;
  }
  // What is left can't be done on this device (remote writes, IPC, interoperability with graphics
  // and so on), or is no attribute at all.
  if (attribute < cudaDevAttrMaxThreadsPerBlock || attribute >= cudaDevAttrMax) return std::nullopt;
  return 0;
}

}  // namespace kernelsmith::cudart
