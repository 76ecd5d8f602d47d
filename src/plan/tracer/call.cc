#include "plan/tracer/call.h"

#include <cstring>

#include "cudart/launch.h"
#include "cudart/runtime.h"
#include "plan/argument.h"
#include "plan/tracer/launcher.h"
#include "plan/tracer/recorder.h"

namespace kernelsmith::tracer {
namespace {

using cudart::Runtime;
using light::Value;
using nlohmann::json;

// The storages of the tensors among the arguments, lists taken apart, as they were given.
struct Given {
  uint64_t address;
  std::vector<std::byte> bytes;
};
std::vector<Given> given;

bool ReadArgument(const json& described, const std::function<bool(void*, size_t)>& read,
                  Value* value) {
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
      if (!ReadArgument(item, read, &made)) return false;
      items.push_back(std::move(made));
    }
    *value = Value::List(std::move(items));
  } else if (kind == "tensor") {
    const auto dtype = light::FromGraphDType(described["dtype"]);
    if (!dtype) return false;
    at::Tensor tensor =
        light::MakeTensor(described["shape"].get<std::vector<int64_t>>(), *dtype, at::kCUDA,
                          described["strides"].get<std::vector<int64_t>>());
    const uint64_t bytes = tensor.get().storage->bytes;
    void* memory = Runtime::Get().memory().HostAlias(tensor.get().storage->address, bytes);
    // Memory that nobody wrote is zero and takes no room.
    const bool blank = described.value("blank", false);
    if (bytes > 0 && (memory == nullptr || (!blank && !read(memory, bytes)))) return false;
    TraceRecorder::Get().AddInput(tensor.get().storage->address, bytes, described["name"],
                                  static_cast<uint32_t>(given.size()));
    const auto* data = static_cast<const std::byte*>(memory);
    given.push_back({tensor.get().storage->address, {data, data + (blank ? 0 : bytes)}});
    *value = tensor;
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

// The results' own bytes, for tests that compare a replay with the direct run.
void ReportData(const std::vector<at::Tensor>& tensors) {
  TraceRecorder& recorder = TraceRecorder::Get();
  recorder.Run();
  for (const at::Tensor& tensor : tensors) {
    const auto* data = static_cast<const std::byte*>(Runtime::Get().memory().HostAlias(
        tensor.get().storage->address, tensor.get().storage->bytes));
    const auto offset =
        reinterpret_cast<uint64_t>(tensor.data_ptr()) - tensor.get().storage->address;
    const std::vector<std::byte> dense =
        data == nullptr
            ? std::vector<std::byte>()
            : GatherElements(data + offset, tensor.sizes().vec(), tensor.strides().vec(),
                             static_cast<int64_t>(tensor.element_size()));
    recorder.Emit({{"s", "data"}, {"hex", Hex(dense.data(), dense.size())}});
  }
}

// False, with a finding, if it is no result.
bool ReportResult(const Value& value, bool direct) {
  TraceRecorder& recorder = TraceRecorder::Get();
  std::vector<at::Tensor> tensors;
  // None among the results stands for a gradient that nobody asked for; void for results in place.
  Value present = value;
  if (present.kind == Value::Kind::kNone) present = Value::Tuple({});
  std::erase_if(present.items, [](const Value& v) { return v.kind == Value::Kind::kNone; });
  if (!Flatten(present, &tensors)) {
    recorder.Finding(FindingKind::kWrongResult,
                     "the function returned something that is no tensor");
    return false;
  }
  json list = json::array();
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_cuda()) {
      recorder.Finding(FindingKind::kWrongResult, "the function returned a tensor on the CPU");
      return false;
    }
    list.push_back({{"d", light::GraphDType(tensor.scalar_type())},
                    {"n", tensor.sizes().vec()},
                    {"t", tensor.strides().vec()},
                    {"at", recorder.Reference(reinterpret_cast<uint64_t>(tensor.data_ptr()))}});
  }
  recorder.Emit({{"s", "result"}, {"tensors", std::move(list)}});
  if (direct) ReportData(tensors);
  return true;
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

void CallBoth(const json& request, std::vector<Value>& arguments) {
  TraceRecorder& recorder = TraceRecorder::Get();
  for (const std::function<void()>& initialise : light::Modules()) initialise();
  std::function<Value()> call;
  const std::string name = request["function"];
  if (request["style"] == "launcher") {
    call = BindLauncher(request, arguments);
    if (!call) return;
  } else {
    const light::RegisteredFunction* function = Find(name);
    if (function == nullptr) {
      std::string known;
      for (const auto& f : light::Functions()) known += (known.empty() ? "" : ", ") + f.name;
      recorder.Finding(FindingKind::kException, "the module has no function '" + name + "'" +
                                                    (known.empty() ? "" : "; it has " + known));
      return;
    }
    call = [function, &arguments] { return CallOnce(*function, arguments); };
  }
  recorder.Phase("preparation");
  call();
  // The second call gets what the first one got, also where the first changed it.
  recorder.Later([] {
    for (const Given& one : given) {
      void* to = Runtime::Get().memory().HostAlias(one.address, one.bytes.size());
      if (to != nullptr && !one.bytes.empty()) {
        std::memcpy(to, one.bytes.data(), one.bytes.size());
      }
    }
  });
  recorder.Phase("plan");
  cudart::TakeFailedLaunch();
  const Value result = call();
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    recorder.Finding(FindingKind::kLaunchError,
                     std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error),
                     error == cudaErrorMemoryAllocation);
    return;
  }
  // One whose error the program cleared: it may have had another way.
  if (const cudaError_t failed = cudart::TakeFailedLaunch(); failed != cudaSuccess) {
    recorder.Finding(FindingKind::kFailedLaunch,
                     std::string(cudaGetErrorName(failed)) + ": " + cudaGetErrorString(failed),
                     failed == cudaErrorMemoryAllocation);
  }
  if (ReportResult(result, request["direct"].get<bool>())) recorder.Emit({{"s", "done"}});
}

// Whether that may be why the candidate threw: its checks give the error other words.
bool RanOutOfMemory() {
  cudart::Runtime& runtime = cudart::Runtime::Get();
  return runtime.initialised() && runtime.memory().ran_out();
}

}  // namespace

bool ReadArguments(const json& described, const std::function<bool(void*, size_t)>& read,
                   std::vector<Value>* arguments) {
  for (const json& one : described) {
    Value value;
    if (!ReadArgument(one, read, &value)) return false;
    arguments->push_back(std::move(value));
  }
  return true;
}

void CallCandidate(const json& request, std::vector<Value>& arguments) {
  TraceRecorder& recorder = TraceRecorder::Get();
  try {
    CallBoth(request, arguments);
  } catch (const light::UnsupportedError& error) {
    recorder.Finding(FindingKind::kUnsupported, error.what());
  } catch (const std::exception& error) {
    recorder.Finding(FindingKind::kException, error.what(), RanOutOfMemory());
  } catch (...) {
    recorder.Finding(FindingKind::kException, "an exception that is no std::exception",
                     RanOutOfMemory());
  }
}

}  // namespace kernelsmith::tracer
