#include "verify/tiled.h"

#include <algorithm>
#include <cstring>

namespace kernelsmith {

CaseTensors Tiled(const TaskGraph& graph, const CaseTensors& small) {
  CaseTensors tiled;
  const HostTensor* last = nullptr;
  for (const TensorSpec& spec : graph.tensors) {
    const auto found = small.values.find(spec.name);
    if (found != small.values.end() && !found->second.bytes.empty()) last = &found->second;
    const auto dtype = ParseDType(spec.dtype);
    if (last == nullptr || !dtype || last->dtype != *dtype) continue;
    const auto bytes =
        static_cast<size_t>(ElementCount(spec.shape).value_or(0) * int64_t{SizeOf(*dtype)});
    HostTensor tensor{.dtype = *dtype, .shape = spec.shape};
    tensor.bytes.reserve(bytes);
    while (tensor.bytes.size() < bytes) {
      const size_t part = std::min(last->bytes.size(), bytes - tensor.bytes.size());
      tensor.bytes.insert(tensor.bytes.end(), last->bytes.begin(),
                          last->bytes.begin() + static_cast<ptrdiff_t>(part));
    }
    tiled.values.emplace(spec.name, std::move(tensor));
  }
  return tiled;
}

void Shuffle(HostTensor& tensor, uint64_t seed) {
  constexpr uint64_t kMostValues = 8192;
  const auto bytes = static_cast<size_t>(SizeOf(tensor.dtype));
  const auto count = static_cast<uint64_t>(tensor.count());
  const uint64_t values = std::min(count, kMostValues);
  if (values < 2) return;
  const std::vector<std::byte> first(tensor.bytes.begin(),
                                     tensor.bytes.begin() + static_cast<ptrdiff_t>(values * bytes));
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t hash = (i + 1) * (seed | 1);
    hash ^= hash >> 29;
    hash *= 0x9e3779b97f4a7c15;
    // The upper bits of a product choose evenly, and sooner than a remainder does.
    const uint64_t chosen = (hash >> 32) * values >> 32;
    std::memcpy(tensor.bytes.data() + i * bytes, first.data() + chosen * bytes, bytes);
  }
}

bool AllFloats(const CaseTensors& values) {
  return std::all_of(values.values.begin(), values.values.end(),
                     [](const auto& each) { return IsFloat(each.second.dtype); });
}

}  // namespace kernelsmith
