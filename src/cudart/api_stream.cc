// Streams and events.
#include <algorithm>
#include <cstring>

#include "cudart/api.h"
#include "cudart/graph.h"
#include "cudart/recorder.h"

using namespace kernelsmith::cudart;

namespace {

bool StillRuns(Runtime& runtime) {
  return runtime.recorder() != nullptr && runtime.recorder()->StillRuns();
}

cudaError_t CreateStream(cudaStream_t* handle, unsigned int flags, int priority) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    if (handle == nullptr || (flags != cudaStreamDefault && flags != cudaStreamNonBlocking)) {
      return cudaErrorInvalidValue;
    }
    // Out of range is no error: the nearest priority counts.
    *handle = runtime.CreateStream(flags, std::clamp(priority, kGreatestStreamPriority, 0));
    return cudaSuccess;
  });
}

template <typename Body>
cudaError_t CallOnEvent(Sees sees, cudaEvent_t handle, const Body& body) {
  return Call(sees, [&](Runtime& runtime) {
    const std::shared_ptr<Event> event = runtime.FindEvent(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    return body(runtime, event);
  });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return CreateStream(stream, cudaStreamDefault, 0);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  return CreateStream(stream, flags, 0);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority) {
  return CreateStream(stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    return runtime.DestroyStream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return CallOnStream(Sees::kKnown, handle, [](Runtime& runtime, const auto& stream) {
    return runtime.Synchronise(stream);
  });
}
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) {
  return cudaStreamSynchronize(PerThread(stream));
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return CallOnStream(Sees::kKnown, handle, [](Runtime& runtime, const auto& stream) {
    if (stream->capture != nullptr) {
      stream->capture->invalidated = true;
      return cudaErrorStreamCaptureUnsupported;
    }
    if (!runtime.IsStreamDone(stream) || StillRuns(runtime)) return cudaErrorNotReady;
    return runtime.RevealFault();
  });
}
cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) { return cudaStreamQuery(PerThread(stream)); }

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned int) {
  return CallOnStream(Sees::kKnown, handle, [&](Runtime& runtime, const auto& stream) {
    const std::shared_ptr<Event> event = runtime.FindEvent(event_handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    return runtime.WaitEvent(stream, event);
  });
}
cudaError_t cudaStreamWaitEvent_ptsz(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  return cudaStreamWaitEvent(PerThread(stream), event, flags);
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int* flags) {
  return CallOnStream(Sees::kFault, handle, [&](Runtime&, const auto& stream) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = stream->flags;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetFlags_ptsz(cudaStream_t stream, unsigned int* flags) {
  return cudaStreamGetFlags(PerThread(stream), flags);
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return CallOnStream(Sees::kFault, handle, [&](Runtime&, const auto& stream) {
    if (priority == nullptr) return cudaErrorInvalidValue;
    *priority = stream->priority;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetPriority_ptsz(cudaStream_t stream, int* priority) {
  return cudaStreamGetPriority(PerThread(stream), priority);
}

cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  return CallOnStream(Sees::kFault, handle, [&](Runtime&, const auto& stream) {
    if (id == nullptr) return cudaErrorInvalidValue;
    *id = stream->id;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetId_ptsz(cudaStream_t stream, unsigned long long* id) {
  return cudaStreamGetId(PerThread(stream), id);
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return CallOnStream(Sees::kFault, handle, [&](Runtime&, const auto&) {
    if (device == nullptr) return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetDevice_ptsz(cudaStream_t stream, int* device) {
  return cudaStreamGetDevice(PerThread(stream), device);
}

cudaError_t cudaStreamSetAttribute(cudaStream_t handle, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
  return CallOnStream(Sees::kFault, handle, [&](Runtime& runtime, const auto& stream) {
    if (value == nullptr) return cudaErrorInvalidValue;
    const std::lock_guard lock(runtime.mutex());
    stream->attributes[attribute] = *value;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSetAttribute_ptsz(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                        const cudaLaunchAttributeValue* value) {
  return cudaStreamSetAttribute(PerThread(stream), attribute, value);
}

cudaError_t cudaStreamGetAttribute(cudaStream_t handle, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  return CallOnStream(Sees::kFault, handle, [&](Runtime& runtime, const auto& stream) {
    if (value == nullptr) return cudaErrorInvalidValue;
    const std::lock_guard lock(runtime.mutex());
    const auto found = stream->attributes.find(attribute);
    if (found != stream->attributes.end()) {
      *value = found->second;
    } else {
      std::memset(value, 0, sizeof(*value));
    }
    return cudaSuccess;
  });
}
cudaError_t cudaStreamGetAttribute_ptsz(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                        cudaLaunchAttributeValue* value) {
  return cudaStreamGetAttribute(PerThread(stream), attribute, value);
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src) {
  return CallOnStream(Sees::kFault, dst, [&](Runtime& runtime, const auto& to) {
    const std::shared_ptr<Stream> from = runtime.FindStream(src);
    if (from == nullptr) return cudaErrorInvalidResourceHandle;
    const std::lock_guard lock(runtime.mutex());
    to->attributes = from->attributes;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t dst, cudaStream_t src) {
  return cudaStreamCopyAttributes(PerThread(dst), PerThread(src));
}

// -- events ---------------------------------------------------------------------------------------

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    constexpr unsigned int kKnown =
        cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (event == nullptr || (flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    if ((flags & cudaEventInterprocess) != 0) return cudaErrorNotSupported;
    *event = runtime.CreateEvent(flags);
    return cudaSuccess;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Call(Sees::kFault, [&](Runtime& runtime) {
    return runtime.DestroyEvent(event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream_handle,
                                     unsigned int flags) {
  return CallOnStream(Sees::kKnown, stream_handle, [&](Runtime& runtime, const auto& stream) {
    const std::shared_ptr<Event> event = runtime.FindEvent(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (stream->capture != nullptr && flags == cudaEventRecordExternal) {
      return runtime.Submit(stream, RecordWork{.event = handle}, Runtime::Completion::kEager);
    }
    return runtime.RecordEvent(event, stream);
  });
}
cudaError_t cudaEventRecordWithFlags_ptsz(cudaEvent_t event, cudaStream_t stream,
                                          unsigned int flags) {
  return cudaEventRecordWithFlags(event, PerThread(stream), flags);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}
cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, PerThread(stream), cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return CallOnEvent(Sees::kKnown, handle, [](Runtime& runtime, const auto& event) {
    const std::shared_ptr<EventRecord> record = runtime.LastRecord(event);
    if (record != nullptr && record->capture != nullptr) return cudaErrorCapturedEvent;
    if (!runtime.IsRecordDone(record) || StillRuns(runtime)) return cudaErrorNotReady;
    return runtime.RevealFault();
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return CallOnEvent(Sees::kKnown, handle, [](Runtime& runtime, const auto& event) {
    const std::shared_ptr<EventRecord> record = runtime.LastRecord(event);
    if (record != nullptr && record->capture != nullptr) return cudaErrorCapturedEvent;
    runtime.WaitForRecord(record);
    return runtime.RevealFault();
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return CallOnEvent(Sees::kFault, start, [&](Runtime& runtime, const auto& first) {
    const std::shared_ptr<Event> second = runtime.FindEvent(end);
    if (second == nullptr) return cudaErrorInvalidResourceHandle;
    if (milliseconds == nullptr) return cudaErrorInvalidValue;
    const std::shared_ptr<EventRecord> from = runtime.LastRecord(first);
    const std::shared_ptr<EventRecord> to = runtime.LastRecord(second);
    if (((first->flags | second->flags) & cudaEventDisableTiming) != 0 || from == nullptr ||
        to == nullptr) {
      return cudaErrorInvalidResourceHandle;
    }
    if (!runtime.IsRecordDone(from) || !runtime.IsRecordDone(to)) return cudaErrorNotReady;
    // The time that passed on this machine: it says nothing about a real GPU.
    *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
    if (runtime.recorder() != nullptr && from != to) {
      const float recorded = runtime.recorder()->ElapsedMilliseconds();
      if (recorded >= 0) *milliseconds = recorded;
    }
    return cudaSuccess;
  });
}

}  // extern "C"
