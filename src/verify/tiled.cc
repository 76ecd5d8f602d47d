#include "verify/tiled.h"

#include <algorithm>
#include <cstring>

namespace kernelsmith {

CaseTensors Tiled(const TaskGraph& graph, const CaseTensors& small) {
  CaseTensors tiled;
  for (const TensorSpec& spec : graph.tensors) {
    const auto found = small.values.find(spec.name);
    if (found == small.values.end() || found->second.bytes.empty()) continue;
    HostTensor tensor = MakeHostTensor(found->second.dtype, spec.shape);
    for (size_t at = 0; at < tensor.bytes.size();) {
      const size_t part = std::min(found->second.bytes.size(), tensor.bytes.size() - at);
      std::memcpy(tensor.bytes.data() + at, found->second.bytes.data(), part);
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
