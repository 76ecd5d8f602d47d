// Operators of PyTorch as nodes of the plan.
#include <cmath>

#include "cudart/runtime.h"
#include "plan/library.h"
#include "plan/tracer/light_runtime.h"
#include "plan/tracer/recorder.h"

namespace kernelsmith::light {
namespace {

using cudart::Runtime;
using nlohmann::json;
using tracer::TraceRecorder;

json FloatJson(double value) {
  if (std::isfinite(value)) return value;
  return {{"float", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

json TensorJson(const at::Tensor& tensor) {
  return {{"d", GraphDType(tensor.scalar_type())},
          {"n", tensor.sizes().vec()},
          {"t", tensor.strides().vec()},
          {"at", TraceRecorder::Get().Reference(reinterpret_cast<uint64_t>(tensor.data_ptr()))}};
}

// Where the engine finds the tensor; kept as an address until it is needed.
struct Place {
  TensorMemory memory;
  uint64_t address = 0;
  uint64_t bytes = 0;
};

Place PlaceOf(const at::Tensor& tensor) {
  Place place;
  place.memory.dtype = *ParseDType(GraphDType(tensor.scalar_type()));
  place.memory.shape = tensor.sizes().vec();
  place.memory.strides = tensor.strides().vec();
  place.address = reinterpret_cast<uint64_t>(tensor.data_ptr());
  if (tensor.numel() > 0) {
    int64_t last = 0;
    for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
    place.bytes = static_cast<uint64_t>(last + 1) * tensor.element_size();
  }
  return place;
}

std::vector<TensorMemory> Resolve(const std::vector<Place>& places) {
  std::vector<TensorMemory> memories;
  for (const Place& place : places) {
    TensorMemory memory = place.memory;
    memory.data =
        static_cast<std::byte*>(Runtime::Get().memory().HostAlias(place.address, place.bytes));
    if (memory.data == nullptr && place.bytes > 0) return {};
    memories.push_back(std::move(memory));
  }
  return memories;
}

}  // namespace

OpArgument::OpArgument(const std::optional<at::Tensor>& t) {
  if (!t || !t->defined()) return;
  tensor = *t;
  is_tensor = true;
}
OpArgument::OpArgument(double v) : value(FloatJson(v)) {}
OpArgument::OpArgument(const c10::Scalar& s) {
  if (s.isBoolean()) {
    value = s.toBool();
  } else if (s.isFloatingPoint()) {
    value = FloatJson(s.toDouble());
  } else {
    value = s.toLong();
  }
}
OpArgument::OpArgument(c10::ScalarType dtype) : value({{"dtype", GraphDType(dtype)}}) {}

void OpInto(const char* op, const std::vector<OpArgument>& arguments,
            const std::vector<at::Tensor>& results) {
  std::vector<at::Tensor> tensors;
  json args = json::array();
  const auto add = [&](const at::Tensor& tensor) -> json {
    // A number that lies on the CPU takes part in PyTorch's operators too.
    const at::Tensor on_device =
        tensor.is_cpu() && tensor.dim() == 0 ? tensor.to(at::Device(at::kCUDA)) : tensor;
    TORCH_CHECK(on_device.is_cuda(), op, ": expected all tensors to be on the GPU");
    tensors.push_back(on_device);
    return {{"tensor", tensors.size() - 1}};
  };
  for (const OpArgument& argument : arguments) {
    if (argument.is_tensor) {
      args.push_back(add(argument.tensor));
    } else if (argument.is_list) {
      json list = json::array();
      for (const at::Tensor& tensor : argument.tensors) list.push_back(add(tensor));
      args.push_back(std::move(list));
    } else {
      args.push_back(argument.value);
    }
  }
  json in = json::array();
  json out = json::array();
  std::vector<Place> from;
  std::vector<Place> to;
  for (const at::Tensor& tensor : tensors) {
    in.push_back(TensorJson(tensor));
    from.push_back(PlaceOf(tensor));
  }
  for (const at::Tensor& tensor : results) {
    out.push_back(TensorJson(tensor));
    to.push_back(PlaceOf(tensor));
  }
  const std::string text = args.dump();
  TraceRecorder::Get().Library(
      {{"op", op}, {"args", text}, {"in", std::move(in)}, {"out", std::move(out)}},
      [name = std::string(op), text, from, to] {
        const std::vector<TensorMemory> inputs = Resolve(from);
        const std::vector<TensorMemory> outputs = Resolve(to);
        if (inputs.size() != from.size() || outputs.size() != to.size()) {
          TraceRecorder::Get().Finding(FindingKind::kCrash, name + " on memory that was freed");
          return;
        }
        const Status status = RunLibrary(name, text, inputs, outputs);
        if (!status.ok()) {
          TraceRecorder::Get().Finding(FindingKind::kUnsupported,
                                       name + ": " + status.error().message());
        }
      });
}

std::vector<at::Tensor> Op(AtenOp op, const std::vector<OpArgument>& arguments,
                           const std::vector<ResultMeta>& results) {
  std::vector<at::Tensor> tensors;
  for (const ResultMeta& result : results) {
    tensors.push_back(MakeTensor(result.sizes, result.dtype, at::kCUDA));
  }
  OpInto(OperatorOf(op).name.c_str(), arguments, tensors);
  return tensors;
}

at::Tensor Op1(AtenOp op, const std::vector<OpArgument>& arguments, std::vector<int64_t> sizes,
               c10::ScalarType dtype) {
  return Op(op, arguments, {{std::move(sizes), dtype}}).front();
}

}  // namespace kernelsmith::light
