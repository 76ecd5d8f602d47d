#include "translate/conditions.h"

#include <fmt/format.h>

#include <functional>
#include <set>

namespace kernelsmith {
namespace {

using codegen::HostArgument;

struct Condition {
  std::string text;
  std::function<bool(const TaskGraph&)> holds;
};

const TensorSpec* TensorOf(const TaskGraph& call, const std::string& name) {
  for (const TensorSpec& tensor : call.tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

// Everything simple that can be said of a call, the most telling first.
std::vector<Condition> Candidates(const std::vector<std::vector<const TaskGraph*>>& groups,
                                  const std::vector<HostArgument>& arguments) {
  std::vector<Condition> all;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind != HostArgument::Kind::kOptionalTensor) continue;
    const auto given = [i](const TaskGraph& call) {
      return call.arguments[i].kind == TaskArgument::Kind::kTensor;
    };
    all.push_back({fmt::format("{}.has_value()", arguments[i].name), given});
    all.push_back({fmt::format("!{}.has_value()", arguments[i].name),
                   [given](const TaskGraph& call) { return !given(call); }});
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].kind == HostArgument::Kind::kBool) {
      all.push_back(
          {arguments[i].name, [i](const TaskGraph& call) { return call.arguments[i].flag; }});
      all.push_back({"!" + arguments[i].name,
                     [i](const TaskGraph& call) { return !call.arguments[i].flag; }});
    }
    if (arguments[i].kind == HostArgument::Kind::kString) {
      const std::string text = groups[0][0]->arguments[i].text;
      all.push_back({fmt::format("{} == \"{}\"", arguments[i].name, text),
                     [i, text](const TaskGraph& call) { return call.arguments[i].text == text; }});
    }
    if (arguments[i].kind == HostArgument::Kind::kInt) {
      std::set<int64_t> values;
      for (const auto& group : groups) {
        for (const TaskGraph* call : group) values.insert(call->arguments[i].integer);
      }
      for (const int64_t value : values) {
        all.push_back(
            {fmt::format("{} == {}", arguments[i].name, value),
             [i, value](const TaskGraph& call) { return call.arguments[i].integer == value; }});
        all.push_back(
            {fmt::format("{} != {}", arguments[i].name, value),
             [i, value](const TaskGraph& call) { return call.arguments[i].integer != value; }});
      }
    }
  }
  // Sizes: 1 (broadcasting) or equal to another.
  struct Size {
    std::string text, tensor;
    size_t dim;
  };
  std::vector<Size> sizes;
  for (const HostArgument& argument : arguments) {
    if (argument.kind != HostArgument::Kind::kTensor) continue;
    const TensorSpec* tensor = TensorOf(*groups[0][0], argument.tensors[0]);
    if (!tensor) continue;
    for (size_t d = 0; d < tensor->shape.size(); ++d) {
      sizes.push_back({fmt::format("{}.size({})", argument.name, d), argument.tensors[0], d});
    }
  }
  const auto size_of = [](const TaskGraph& call, const Size& size) -> int64_t {
    const TensorSpec* tensor = TensorOf(call, size.tensor);
    return tensor && size.dim < tensor->shape.size() ? tensor->shape[size.dim] : -1;
  };
  for (const Size& a : sizes) {
    all.push_back({a.text + " == 1", [=](const TaskGraph& call) { return size_of(call, a) == 1; }});
    all.push_back({a.text + " != 1", [=](const TaskGraph& call) { return size_of(call, a) != 1; }});
  }
  for (const Size& a : sizes) {
    for (const Size& b : sizes) {
      all.push_back({fmt::format("{} == {}", a.text, b.text),
                     [=](const TaskGraph& call) { return size_of(call, a) == size_of(call, b); }});
      all.push_back({fmt::format("{} != {}", a.text, b.text),
                     [=](const TaskGraph& call) { return size_of(call, a) != size_of(call, b); }});
      all.push_back({fmt::format("{} < {}", a.text, b.text),
                     [=](const TaskGraph& call) { return size_of(call, a) < size_of(call, b); }});
    }
  }
  return all;
}

}  // namespace

Result<std::vector<std::string>> ConditionsOf(
    const std::vector<std::vector<const TaskGraph*>>& groups,
    const std::vector<HostArgument>& arguments) {
  std::vector<std::string> conditions;
  const std::vector<Condition> candidates = Candidates(groups, arguments);
  const auto holds_for = [](const Condition& condition, const std::vector<const TaskGraph*>& group,
                            bool wanted) {
    for (const TaskGraph* call : group) {
      if (condition.holds(*call) != wanted) return false;
    }
    return true;
  };
  for (size_t i = 0; i + 1 < groups.size(); ++i) {
    std::string found;
    const auto separates = [&](const auto& holds) {
      for (const TaskGraph* call : groups[i]) {
        if (!holds(*call)) return false;
      }
      for (size_t j = i + 1; j < groups.size(); ++j) {
        for (const TaskGraph* call : groups[j]) {
          if (holds(*call)) return false;
        }
      }
      return true;
    };
    for (const Condition& condition : candidates) {
      if (separates(condition.holds)) {
        found = condition.text;
        break;
      }
    }
    for (size_t a = 0; found.empty() && a < candidates.size(); ++a) {
      if (!holds_for(candidates[a], groups[i], true)) continue;
      for (size_t b = a + 1; found.empty() && b < candidates.size(); ++b) {
        if (separates([&](const TaskGraph& call) {
              return candidates[a].holds(call) && candidates[b].holds(call);
            })) {
          found = candidates[a].text + " && " + candidates[b].text;
        }
      }
    }
    if (found.empty()) {
      return Unsupported(
          "the graph changes its structure between configurations, and no argument tells which it "
          "is");
    }
    conditions.push_back(found);
  }
  conditions.emplace_back();
  return conditions;
}

}  // namespace kernelsmith
