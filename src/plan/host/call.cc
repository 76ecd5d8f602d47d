#include "plan/host/call.h"

#include <cstring>

#include "cudart/launch.h"
#include "cudart/runtime.h"
#include "plan/host/launcher.h"

namespace kernelsmith::host {
namespace {

using cudart::Runtime;
using light::Value;
using nlohmann::json;

bool MakeArgument(const json& described, Value* value) {
  const std::string kind = described["kind"];
  if (kind == "none") {
    *value = Value();
  } else if (kind == "int") {
    *value = described["value"].get<int64_t>();
  } else if (kind == "float") {
    // As bits: JSON has no infinities.
    const auto bits = described["bits"].get<uint64_t>();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    *value = number;
  } else if (kind == "bool") {
    *value = described["value"].get<bool>();
  } else if (kind == "string") {
    *value = described["value"].get<std::string>();
  } else if (kind == "list") {
    std::vector<Value> items;
    for (const json& item : described["items"]) {
      Value made;
      if (!MakeArgument(item, &made)) return false;
      items.push_back(std::move(made));
    }
    *value = Value::List(std::move(items));
  } else if (kind == "tensor") {
    const auto dtype = light::FromGraphDType(described["dtype"]);
    if (!dtype) return false;
    const auto address = described["address"].get<uint64_t>();
    const auto bytes = described["bytes"].get<uint64_t>();
    if (!Runtime::Get()
             .memory()
             .AllocateAt(address, bytes, vgpu::AllocationKind::kDevice, "an argument")
             .ok()) {
      return false;
    }
    const uint64_t first =
        address + described.value("offset", uint64_t{0}) * c10::elementSize(*dtype);
    *value = at::from_blob(
        reinterpret_cast<void*>(first), described["shape"].get<std::vector<int64_t>>(),
        described["strides"].get<std::vector<int64_t>>(), at::TensorOptions(*dtype));
  } else {
    return false;
  }
  return true;
}

// The tensors of what the candidate returned; false if there is something else in it.
bool Flatten(const Value& value, std::vector<at::Tensor>* tensors) {
  switch (value.kind) {
    case Value::Kind::kTensor:
      tensors->push_back(value.tensor);
      return true;
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      for (const Value& item : value.items) {
        if (!Flatten(item, tensors)) return false;
      }
      return true;
    default:
      return false;
  }
}

// What came back, or why it is no result.
protocol::ReturnedMessage ResultOf(const Value& value) {
  protocol::ReturnedMessage message;
  std::vector<at::Tensor> tensors;
  // None among the results stands for a gradient that nobody asked for; void for results in place.
  Value present = value;
  if (present.kind == Value::Kind::kNone) present = Value::Tuple({});
  std::erase_if(present.items, [](const Value& v) { return v.kind == Value::Kind::kNone; });
  if (!Flatten(present, &tensors)) {
    message.problem = "the function returned something that is no tensor";
    return message;
  }
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_cuda()) {
      message.problem = "the function returned a tensor on the CPU";
      return message;
    }
    message.tensors.push_back({.dtype = light::GraphDType(tensor.scalar_type()),
                               .shape = tensor.sizes().vec(),
                               .strides = tensor.strides().vec(),
                               .address = reinterpret_cast<uint64_t>(tensor.data_ptr())});
  }
  return message;
}

std::string Signature(const light::RegisteredFunction& function) {
  std::string text = function.name + "(";
  for (size_t i = 0; i < function.arguments.size(); ++i) {
    const light::ArgumentInfo& argument = function.arguments[i];
    text += (i == 0 ? "" : ", ") + argument.name + ": " + argument.type;
    if (argument.has_default) text += " = ...";
  }
  return text + ")";
}

const light::RegisteredFunction* Find(const std::string& name) {
  const std::vector<light::RegisteredFunction>& functions = light::Functions();
  for (const light::RegisteredFunction& function : functions) {
    if (function.name == name) return &function;
  }
  // A module with one function leaves no doubt about which is meant.
  return functions.size() == 1 ? &functions.front() : nullptr;
}

Value CallOnce(const light::RegisteredFunction& function, std::vector<Value> arguments) {
  if (arguments.size() > function.arguments.size()) {
    throw c10::TypeError("incompatible function arguments: " + Signature(function) + " got " +
                         std::to_string(arguments.size()) + " arguments");
  }
  while (arguments.size() < function.arguments.size()) {
    const light::ArgumentInfo& missing = function.arguments[arguments.size()];
    if (!missing.has_default) {
      throw c10::TypeError("incompatible function arguments: " + Signature(function) + " got " +
                           std::to_string(arguments.size()) + " arguments");
    }
    arguments.push_back(missing.default_value);
  }
  return function.function(arguments);
}

std::string Words(cudaError_t error) {
  return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
}

}  // namespace

bool MakeArguments(const json& described, std::vector<Value>* arguments) {
  for (const json& one : described) {
    Value value;
    if (!MakeArgument(one, &value)) return false;
    arguments->push_back(std::move(value));
  }
  return true;
}

CandidateFunction::CandidateFunction(const json& request,
                                     std::vector<std::vector<Value>>& arguments)
    : request_(request), arguments_(arguments), calls_(arguments.size()) {
  for (const std::function<void()>& initialise : light::Modules()) initialise();
}

std::function<Value()> CandidateFunction::Bind(size_t set) {
  if (request_["style"] == "launcher") {
    return BindLauncher(request_, request_["sets"][set], arguments_[set]);
  }
  const std::string name = request_["function"];
  const light::RegisteredFunction* function = Find(name);
  if (function == nullptr) {
    std::string known;
    for (const auto& f : light::Functions()) known += (known.empty() ? "" : ", ") + f.name;
    throw light::NoFunctionError("the module has no function '" + name + "'" +
                                 (known.empty() ? "" : "; it has " + known));
  }
  return [this, function, set] { return CallOnce(*function, arguments_[set]); };
}

// The record of an event tells which of the plan's streams is the caller's.
void CandidateFunction::BeginOnOtherStream() {
  if (!stream_) {
    stream_ = c10::cuda::getStreamFromPool();
    C10_CUDA_CHECK(cudaEventCreateWithFlags(&begin_, cudaEventDisableTiming));
  }
  c10::cuda::setCurrentCUDAStream(*stream_);
  C10_CUDA_CHECK(cudaEventRecord(begin_, stream_->stream()));
}

protocol::ReturnedMessage CandidateFunction::Call(size_t set, Value* result) {
  if (!calls_.at(set)) calls_[set] = Bind(set);
  if (request_.value("other_stream", false)) BeginOnOtherStream();
  cudart::TakeFailedLaunch();
  *result = calls_[set]();
  cudaError_t error = cudaGetLastError();
  // The answer to a question is no error, though the runtime keeps it as one.
  if (error == cudaErrorNotReady) error = cudaSuccess;
  const cudaError_t failed = cudart::TakeFailedLaunch();
  protocol::ReturnedMessage message = ResultOf(*result);
  if (error != cudaSuccess) {
    message.error = Words(error);
  } else if (failed != cudaSuccess) {
    // One whose error the program cleared: it may have had another way.
    message.failed_launch = Words(failed);
  }
  message.ran_out_of_memory =
      error == cudaErrorMemoryAllocation || failed == cudaErrorMemoryAllocation;
  return message;
}

}  // namespace kernelsmith::host
