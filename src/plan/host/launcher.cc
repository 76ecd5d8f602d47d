#include "plan/host/launcher.h"

#include <kernelsmith/light/launcher.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace kernelsmith::light {
namespace {

struct Launcher {
  std::string name;
  std::vector<std::string> names;  // the names of the parameters; empty where there is none
  std::vector<LauncherParameter> parameters;
  std::function<void(const std::vector<LauncherValue>&)> call;
};

std::vector<Launcher>& Launchers() {
  static auto* const launchers = new std::vector<Launcher>;
  return *launchers;
}

// "const float* x, int n" has the names x and n.
std::vector<std::string> ParameterNames(const std::string& text) {
  std::vector<std::string> names;
  size_t start = 0;
  while (start <= text.size()) {
    size_t end = text.find(',', start);
    if (end == std::string::npos) end = text.size();
    std::string part = text.substr(start, end - start);
    start = end + 1;
    part = part.substr(0, part.find('='));
    part = part.substr(0, part.find('['));
    const auto is_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    size_t last = part.size();
    while (last > 0 && !is_name(part[last - 1])) --last;
    size_t first = last;
    while (first > 0 && is_name(part[first - 1])) --first;
    names.push_back(part.substr(first, last - first));
  }
  return names;
}

}  // namespace

void RegisterLauncher(const char* name, const char* text, std::vector<LauncherParameter> parameters,
                      std::function<void(const std::vector<LauncherValue>&)> call) {
  Launcher launcher{name, ParameterNames(text), std::move(parameters), std::move(call)};
  launcher.names.resize(launcher.parameters.size());
  Launchers().push_back(std::move(launcher));
}

}  // namespace kernelsmith::light

namespace kernelsmith::host {
namespace {

using light::Launcher;
using light::LauncherParameter;
using light::LauncherValue;
using light::Value;
using nlohmann::json;
using Kind = LauncherParameter::Kind;

struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

struct Scalar {
  std::string name;
  Value value;
  bool used = false;
};

// The arguments taken apart: tensors and numbers, each with its name.
void Collect(const Value& value, const json& described, std::vector<NamedTensor>* tensors,
             std::vector<Scalar>* scalars) {
  const std::string name = described.value("name", "");
  switch (value.kind) {
    case Value::Kind::kTensor:
      tensors->push_back({name, value.tensor});
      break;
    case Value::Kind::kInt:
    case Value::Kind::kFloat:
    case Value::Kind::kBool:
      scalars->push_back({name, value});
      break;
    case Value::Kind::kList:
      for (size_t i = 0; i < value.items.size(); ++i) {
        Collect(value.items[i], described["items"][i], tensors, scalars);
      }
      break;
    default:
      break;
  }
}

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

LauncherValue NumberValue(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kFloat:
      return {.integer = static_cast<int64_t>(value.number), .number = value.number};
    case Value::Kind::kBool:
      return {.integer = value.flag, .number = static_cast<double>(value.flag)};
    default:
      return {.integer = value.integer, .number = static_cast<double>(value.integer)};
  }
}

class Binder {
 public:
  Binder(const Launcher& launcher, std::vector<NamedTensor> inputs, std::vector<Scalar> scalars,
         std::vector<NamedTensor> results, const json& hints)
      : launcher_(launcher),
        inputs_(std::move(inputs)),
        scalars_(std::move(scalars)),
        results_(std::move(results)),
        hints_(hints),
        values_(launcher.parameters.size()),
        bound_(launcher.parameters.size()) {}

  // An empty error: all parameters have their values.
  std::string Bind() {
    std::string error = BindPointers();
    if (!error.empty()) return error;
    BindByHint();
    BindByName();
    BindScalarsInOrder();
    BindSizes();
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (bound_[i]) continue;
      return "what parameter '" + launcher_.names[i] + "' of " + launcher_.name +
             " stands for is not clear; say it in a comment: // kernelsmith: " +
             launcher_.names[i] + " = x.size(0)";
    }
    return {};
  }
  const std::vector<LauncherValue>& values() const { return values_; }

 private:
  void Set(size_t i, LauncherValue value) {
    values_[i] = value;
    bound_[i] = true;
  }

  bool Fits(const LauncherParameter& parameter, const at::Tensor& tensor) {
    return parameter.dtype == c10::ScalarType::Undefined ||
           parameter.dtype == tensor.scalar_type() ||
           (parameter.dtype == c10::ScalarType::Byte && tensor.scalar_type() == c10::kBool);
  }

  // const pointers are the inputs in order, the others the results in order; a pointer with the
  // name of an input is that input.
  std::string BindPointers() {
    std::vector<size_t> pointers;
    bool any_const = false;
    for (size_t i = 0; i < launcher_.parameters.size(); ++i) {
      const Kind kind = launcher_.parameters[i].kind;
      if (kind == Kind::kStream) Set(i, {});
      if (kind == Kind::kInput || kind == Kind::kOutput) pointers.push_back(i);
      any_const |= kind == Kind::kInput;
    }
    if (pointers.size() != inputs_.size() + results_.size()) {
      return launcher_.name + " has " + std::to_string(pointers.size()) +
             " pointers, the task has " + std::to_string(inputs_.size()) + " inputs and " +
             std::to_string(results_.size()) + " results";
    }
    size_t next_input = 0;
    size_t next_result = 0;
    for (const size_t i : pointers) {
      const bool is_input =
          any_const ? launcher_.parameters[i].kind == Kind::kInput : next_input < inputs_.size();
      const bool take_input = next_input < inputs_.size() &&
                              (is_input || launcher_.names[i] == inputs_[next_input].name ||
                               next_result == results_.size());
      const NamedTensor& tensor = take_input ? inputs_[next_input++] : results_[next_result++];
      if (!Fits(launcher_.parameters[i], tensor.tensor)) {
        return "parameter '" + launcher_.names[i] + "' of " + launcher_.name +
               " points to another type than " + c10::toString(tensor.tensor.scalar_type());
      }
      Set(i, {.pointer = tensor.tensor.data_ptr()});
      if (take_input) by_parameter_[launcher_.names[i]] = tensor.tensor;
      if (!take_input) by_parameter_[launcher_.names[i]] = tensor.tensor;
    }
    return {};
  }

  const at::Tensor* FindTensor(const std::string& name) {
    if (const auto found = by_parameter_.find(name); found != by_parameter_.end()) {
      return &found->second;
    }
    for (const NamedTensor& input : inputs_) {
      if (input.name == name) return &input.tensor;
    }
    return nullptr;
  }

  // {"parameter": ..., "tensor": ..., "dim": n or null} or {"parameter": ..., "number": x}
  void BindByHint() {
    for (const json& hint : hints_) {
      for (size_t i = 0; i < bound_.size(); ++i) {
        if (bound_[i] || launcher_.names[i] != hint.value("parameter", "")) continue;
        if (hint.contains("number")) {
          const double number = hint["number"];
          Set(i, {.integer = static_cast<int64_t>(number), .number = number});
          continue;
        }
        const at::Tensor* tensor = FindTensor(hint.value("tensor", ""));
        if (tensor == nullptr) continue;
        const int64_t size =
            hint["dim"].is_null() ? tensor->numel() : tensor->size(hint["dim"].get<int64_t>());
        Set(i, {.integer = size, .number = static_cast<double>(size)});
      }
    }
  }

  void BindByName() {
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (bound_[i]) continue;
      for (Scalar& scalar : scalars_) {
        if (scalar.name != launcher_.names[i]) continue;
        Set(i, NumberValue(scalar.value));
        scalar.used = true;
      }
    }
  }

  // Floats in order; then integers, where there are as many as the launcher still wants.
  void BindScalarsInOrder() {
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (bound_[i] || launcher_.parameters[i].kind != Kind::kFloating) continue;
      for (Scalar& scalar : scalars_) {
        if (scalar.used || scalar.value.kind != Value::Kind::kFloat) continue;
        Set(i, NumberValue(scalar.value));
        scalar.used = true;
        break;
      }
    }
  }

  std::vector<size_t> Open() const {
    std::vector<size_t> open;
    for (size_t i = 0; i < bound_.size(); ++i) {
      if (!bound_[i] && launcher_.parameters[i].kind == Kind::kInteger) open.push_back(i);
    }
    return open;
  }

  void BindSizes() {
    const auto set = [&](size_t i, int64_t size) {
      Set(i, {.integer = size, .number = static_cast<double>(size)});
    };
    // A product of matrices: m, n and k mean what they always mean.
    if (inputs_.size() >= 2 && inputs_[0].tensor.dim() == 2 && inputs_[1].tensor.dim() == 2) {
      const at::Tensor& a = inputs_[0].tensor;
      const at::Tensor& b = inputs_[1].tensor;
      std::map<std::string, int64_t> known{{"m", a.size(0)}, {"k", a.size(1)}};
      known["n"] = b.size(0) == a.size(1) ? b.size(1) : b.size(0);
      const std::vector<size_t> open = Open();
      const bool all = open.size() == 3 && std::all_of(open.begin(), open.end(), [&](size_t i) {
                         return known.contains(Lower(launcher_.names[i]));
                       });
      if (all) {
        for (const size_t i : open) set(i, known[Lower(launcher_.names[i])]);
      }
    }
    const at::Tensor* first = !inputs_.empty()    ? &inputs_[0].tensor
                              : !results_.empty() ? &results_[0].tensor
                                                  : nullptr;
    if (first == nullptr) return;
    static const std::set<std::string> kRows{"rows", "num_rows", "nrows",     "row_count",
                                             "m",    "batch",    "batch_size"};
    static const std::set<std::string> kColumns{"cols",        "columns",  "num_cols", "ncols",
                                                "row_size",    "width",    "dim",      "hidden",
                                                "hidden_size", "features", "d"};
    std::vector<size_t> open = Open();
    if (open.size() == 2 && first->dim() >= 1 && kRows.contains(Lower(launcher_.names[open[0]])) &&
        (kColumns.contains(Lower(launcher_.names[open[1]])) ||
         Lower(launcher_.names[open[1]]) == "n")) {
      const int64_t columns = first->size(-1);
      set(open[0], columns == 0 ? 0 : first->numel() / columns);
      set(open[1], columns);
      return;
    }
    if (open.size() == 1) {
      set(open[0],
          results_.empty() ? first->numel() : std::max(first->numel(), results_[0].tensor.numel()));
      return;
    }
    if (static_cast<int64_t>(open.size()) == first->dim()) {
      for (size_t d = 0; d < open.size(); ++d) set(open[d], first->size(static_cast<int64_t>(d)));
    }
  }

  const Launcher& launcher_;
  std::vector<NamedTensor> inputs_;
  std::vector<Scalar> scalars_;
  std::vector<NamedTensor> results_;
  const json& hints_;
  std::vector<LauncherValue> values_;
  std::vector<bool> bound_;
  std::map<std::string, at::Tensor> by_parameter_;
};

const Launcher* Choose(const std::string& wanted) {
  const std::vector<Launcher>& launchers = light::Launchers();
  for (const std::string& name : {wanted, std::string("launch"), std::string("solve"),
                                  std::string("run"), std::string("launcher")}) {
    for (const Launcher& launcher : launchers) {
      if (launcher.name == name) return &launcher;
    }
  }
  return launchers.size() == 1 ? &launchers.front() : nullptr;
}

}  // namespace

std::function<Value()> BindLauncher(const json& request, const json& set,
                                    std::vector<Value>& arguments) {
  const Launcher* launcher = Choose(request["function"]);
  if (launcher == nullptr) {
    throw light::NoFunctionError("several extern \"C\" functions, none named '" +
                                 request["function"].get<std::string>() +
                                 "', launch, solve or run");
  }
  std::vector<NamedTensor> inputs;
  std::vector<Scalar> scalars;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Collect(arguments[i], set["arguments"][i], &inputs, &scalars);
  }
  return [&request, &set, launcher, inputs, scalars]() -> Value {
    std::vector<NamedTensor> results;
    std::vector<Value> made;
    for (const json& result : set["results"]) {
      const at::Tensor tensor =
          light::MakeTensor(result["shape"].get<std::vector<int64_t>>(),
                            *light::FromGraphDType(result["dtype"]), at::kCUDA);
      results.push_back({"", tensor});
      made.emplace_back(tensor);
    }
    Binder binder(*launcher, inputs, scalars, results, request["hints"]);
    const std::string error = binder.Bind();
    if (!error.empty()) light::ThrowUnsupported(error);
    launcher->call(binder.values());
    return Value::Tuple(std::move(made));
  };
}

}  // namespace kernelsmith::host
