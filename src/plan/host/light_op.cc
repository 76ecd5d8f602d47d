// Operators of PyTorch as nodes of the plan.
#include <cmath>

#include "plan/host/device_client.h"
#include "plan/host/light_runtime.h"

namespace kernelsmith::light {
namespace {

using host::DeviceClient;
using nlohmann::json;

json FloatJson(double value) {
  if (std::isfinite(value)) return value;
  return {{"float", std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf"}};
}

protocol::Tensor Describe(const at::Tensor& tensor) {
  return {.dtype = GraphDType(tensor.scalar_type()),
          .shape = tensor.sizes().vec(),
          .strides = tensor.strides().vec(),
          .address = reinterpret_cast<uint64_t>(tensor.data_ptr())};
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
  std::vector<protocol::Tensor> in;
  std::vector<protocol::Tensor> out;
  for (const at::Tensor& tensor : tensors) in.push_back(Describe(tensor));
  for (const at::Tensor& tensor : results) out.push_back(Describe(tensor));
  DeviceClient::Get().Library(op, args.dump(), std::move(in), std::move(out));
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
