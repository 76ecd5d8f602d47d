#include <fmt/format.h>

#include <algorithm>

#include "translate/translate.h"

namespace kernelsmith {
namespace {

using codegen::HostArgument;
using codegen::Model;

std::string Names(const Model& model) {
  std::string text;
  for (const HostArgument& argument : model.signature.arguments) {
    text += (text.empty() ? "" : ", ") + argument.name;
  }
  return text;
}

std::string Loader(const char* direction, const std::string& task) {
  return fmt::format(
      "_{0} = load(name=\"{1}_{0}\", sources=[os.path.join(_FOLDER, \"{0}.cu\")]).{0}\n", direction,
      task);
}

// The autograd function: backward gets the gradients of the results first, then arguments of
// forward by name.
std::string Function(const Model& forward, const Model& backward) {
  const auto& given = forward.signature.arguments;
  std::string call;
  size_t gradients = 0;
  for (const HostArgument& argument : backward.signature.arguments) {
    const auto at = std::find_if(given.begin(), given.end(), [&](const HostArgument& each) {
      return each.name == argument.name;
    });
    call += call.empty() ? "" : ", ";
    call += at != given.end() ? fmt::format("given[{}]", at - given.begin())
                              : fmt::format("grads[{}].contiguous()", gradients++);
  }
  std::string text =
      "\n\nclass _Function(torch.autograd.Function):\n"
      "    @staticmethod\n"
      "    def forward(ctx, *arguments):\n"
      "        ctx.places = [i for i, a in enumerate(arguments) if isinstance(a, torch.Tensor)]\n"
      "        ctx.others = [None if isinstance(a, torch.Tensor) else a for a in arguments]\n"
      "        ctx.save_for_backward(*[arguments[i] for i in ctx.places])\n"
      // A list would be one result without gradients.
      "        results = _forward(*arguments)\n"
      "        return tuple(results) if isinstance(results, list) else results\n\n"
      "    @staticmethod\n"
      "    def backward(ctx, *grads):\n"
      "        given = list(ctx.others)\n"
      "        for place, tensor in zip(ctx.places, ctx.saved_tensors):\n"
      "            given[place] = tensor\n";
  text += fmt::format("        results = _backward({})\n", call);
  if (backward.signature.results.size() == 1) text += "        results = [results]\n";
  text += "        found = [None] * len(given)\n";
  std::vector<std::pair<size_t, size_t>> places;  // the places of an argument and of its gradient
  for (size_t i = 0; i < backward.signature.results.size(); ++i) {
    const std::string name = backward.signature.results[i].substr(9);  // gradient.
    for (size_t k = 0; k < given.size(); ++k) {
      if (std::find(given[k].tensors.begin(), given[k].tensors.end(), name) !=
          given[k].tensors.end())
        places.emplace_back(k, i);
    }
  }
  const bool optional = std::any_of(places.begin(), places.end(), [&](const auto& place) {
    return given[place.first].kind == HostArgument::Kind::kOptionalTensor;
  });
  if (optional) {  // what is not given has no gradient
    std::string all;
    for (const auto& [place, result] : places) all += fmt::format("{}, ", place);
    text += fmt::format(
        "        places = [i for i in ({}) if given[i] is not None]\n"
        "        for place, result in zip(places, results):\n"
        "            found[place] = result\n",
        all.substr(0, all.size() - 1));
  } else {
    for (const auto& [place, result] : places)
      text += fmt::format("        found[{}] = results[{}]\n", place, result);
  }
  return text + "        return tuple(found)\n";
}

}  // namespace

std::string PythonModule(const Task& task, const Model* forward, const Model* backward) {
  std::string text = fmt::format(
      "\"\"\"{}, from CUDA kernels in this folder. Made by kernelsmith translate; compiles when it "
      "is imported.\"\"\"\n\n"
      "import os\n\nimport torch\nfrom torch.utils.cpp_extension import load\n\n"
      "_FOLDER = os.path.dirname(os.path.abspath(__file__))\n",
      task.name);
  if (forward) text += Loader("forward", task.name);
  if (backward) text += Loader("backward", task.name);
  if (forward && backward) text += Function(*forward, *backward);
  if (forward) {
    const std::string names = Names(*forward);
    text += fmt::format("\n\ndef forward({0}):\n    return {1}({0})\n", names,
                        backward ? "_Function.apply" : "_forward");
    text += fmt::format(
        "\n\nclass Module(torch.nn.Module):\n    def forward(self, {0}):\n        return "
        "forward({0})\n",
        names);
  }
  if (backward && !forward) {
    const std::string names = Names(*backward);
    text += fmt::format("\n\ndef backward({0}):\n    return _backward({0})\n", names);
  }
  return text;
}

}  // namespace kernelsmith
