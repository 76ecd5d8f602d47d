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
    HostTensor tensor = MakeHostTensor(*dtype, spec.shape);
    for (size_t at = 0; at < tensor.bytes.size();) {
      const size_t part = std::min(last->bytes.size(), tensor.bytes.size() - at);
      std::memcpy(tensor.bytes.data() + at, last->bytes.data(), part);
      at += part;
    }
    tiled.values.emplace(spec.name, std::move(tensor));
  }
  return tiled;
}

bool AllFloats(const CaseTensors& values) {
  return std::all_of(values.values.begin(), values.values.end(),
                     [](const auto& each) { return IsFloat(each.second.dtype); });
}

}  // namespace kernelsmith
