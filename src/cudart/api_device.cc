// Devices: properties, attributes, limits, peers.
#include <cstdio>
#include <cstring>

#include "cudart/api.h"
#include "cudart/device_properties.h"
#include "cudart/recorder.h"

using namespace kernelsmith::cudart;

namespace {

constexpr const char* kPciBusId = "0000:01:00.0";

// One device, number 0.
bool IsDevice(int device) { return device == 0; }

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return SetLast(cudaErrorInvalidValue);
  *count = 0;
  return Call(Sees::kDevice, [&](Runtime&) {
    *count = 1;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDevice(int* device) {
  return Call(Sees::kDevice, [&](Runtime&) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDevice(int device) {
  return Call(Sees::kFault,
              [&](Runtime&) { return IsDevice(device) ? cudaSuccess : cudaErrorInvalidDevice; });
}

cudaError_t cudaInitDevice(int device, unsigned int flags, unsigned int) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (!IsDevice(device)) return cudaErrorInvalidDevice;
    runtime.SetDeviceFlags(flags);
    return cudaSuccess;
  });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return Call(Sees::kDevice, [&](Runtime&) {
    for (int i = 0; i < count; ++i) {
      if (!IsDevice(devices[i])) return cudaErrorInvalidDevice;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* prop) {
  return Call(Sees::kDevice, [&](Runtime&) {
    if (device == nullptr || prop == nullptr) return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  return Call(Sees::kDevice, [&](Runtime& runtime) {
    if (prop == nullptr) return cudaErrorInvalidValue;
    if (!IsDevice(device)) return cudaErrorInvalidDevice;
    *prop = PropertiesOf(runtime.model(),
                         runtime.recorder() == nullptr ? 0 : runtime.recorder()->Identity());
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return Call(Sees::kDevice, [&](Runtime& runtime) {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (!IsDevice(device)) return cudaErrorInvalidDevice;
    const std::optional<int> found = AttributeOf(runtime.model(), attribute);
    if (!found) return cudaErrorInvalidValue;
    *value = *found;
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  return Call(Sees::kDevice, [&](Runtime& runtime) {
    if ((flags & ~static_cast<unsigned int>(cudaDeviceMask)) != 0) return cudaErrorInvalidValue;
    runtime.SetDeviceFlags(flags);
    return cudaSuccess;
  });
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  return Call(Sees::kDevice, [&](Runtime& runtime) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = runtime.device_flags() | cudaDeviceMapHost;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return Call(Sees::kKnown, [](Runtime& runtime) { return runtime.SynchroniseDevice(); });
}

cudaError_t cudaDeviceReset() {
  return Call(Sees::kKnown, [](Runtime& runtime) {
    const cudaError_t error = runtime.SynchroniseDevice();
    if (error != cudaSuccess) return error;
    runtime.Reset();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return Call(Sees::kFault, [&](Runtime& runtime) { return runtime.SetLimit(limit, value); });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (value == nullptr) return cudaErrorInvalidValue;
    const std::optional<size_t> found = runtime.GetLimit(limit);
    if (!found) return cudaErrorUnsupportedLimit;
    *value = *found;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return Call(Sees::kFault, [&](Runtime&) {
    if (config == nullptr) return cudaErrorInvalidValue;
    *config = cudaFuncCachePreferNone;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return Call(Sees::kFault, [](Runtime&) { return cudaSuccess; });
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return Call(Sees::kFault, [&](Runtime&) {
    if (config == nullptr) return cudaErrorInvalidValue;
    *config = cudaSharedMemBankSizeFourByte;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return Call(Sees::kFault, [](Runtime&) { return cudaSuccess; });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return Call(Sees::kFault, [&](Runtime&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = kGreatestStreamPriority;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return Call(Sees::kDevice, [&](Runtime&) {
    if (!IsDevice(device)) return cudaErrorInvalidDevice;
    if (text == nullptr || length < static_cast<int>(std::strlen(kPciBusId)) + 1) {
      return cudaErrorInvalidValue;
    }
    std::strcpy(text, kPciBusId);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return Call(Sees::kDevice, [&](Runtime&) {
    if (device == nullptr || text == nullptr) return cudaErrorInvalidValue;
    if (std::strcmp(text, kPciBusId) != 0) return cudaErrorInvalidDevice;
    *device = 0;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return Call(Sees::kDevice, [&](Runtime&) {
    if (can == nullptr) return cudaErrorInvalidValue;
    if (!IsDevice(device) || !IsDevice(peer)) return cudaErrorInvalidDevice;
    *can = 0;  // a device is no peer of itself
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned int) {
  return Call(Sees::kFault, [](Runtime&) { return cudaErrorInvalidDevice; });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return Call(Sees::kFault, [&](Runtime&) {
    return IsDevice(peer) ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr, int, int) {
  return Call(Sees::kDevice, [&](Runtime&) {
    return value == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget,
                                               cudaFlushGPUDirectRDMAWritesScope) {
  return Call(Sees::kFault, [](Runtime&) { return cudaErrorNotSupported; });
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  return Call(Sees::kFault, [](Runtime&) { return cudaSuccess; });
}
