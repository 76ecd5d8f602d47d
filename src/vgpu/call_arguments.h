// How functions that the engine provides get their arguments and give their results: in the frame
// of the calling lane.
#pragma once

#include <algorithm>
#include <cstring>

#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

// The bytes of a local range of one lane.
inline std::byte* LocalBytes(const Warp& w, int lane, uint64_t offset) {
  return w.local + static_cast<size_t>(lane) * w.local_stride + offset;
}

inline uint8_t* DefinedLocal(Warp& w, int lane, uint64_t offset) {
  return w.defined_local.data() + static_cast<size_t>(lane) * w.local_stride + offset;
}

template <typename T>
T ReadArgument(const Warp& w, int lane, const CallSite& site, size_t index) {
  T value{};
  if (index < site.arguments.size()) {
    std::memcpy(&value,
                LocalBytes(w, lane, w.frame->local_base[lane] + site.arguments[index].offset),
                std::min<size_t>(sizeof value, site.arguments[index].size));
  }
  return value;
}

template <typename T>
void WriteResult(Warp& w, int lane, const CallSite& site, T value) {
  if (site.results.empty()) return;
  const uint64_t at = w.frame->local_base[lane] + site.results[0].offset;
  const size_t bytes = std::min<size_t>(sizeof value, site.results[0].size);
  std::memcpy(LocalBytes(w, lane, at), &value, bytes);
  if (!w.defined_local.empty()) std::memset(DefinedLocal(w, lane, at), 0xff, bytes);
}

}  // namespace kernelsmith::vgpu
