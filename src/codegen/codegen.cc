#include "codegen/codegen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include "codegen/emit.h"
#include "codegen/fold.h"
#include "codegen/group.h"
#include "codegen/split.h"

namespace kernelsmith::codegen {
namespace {

// Names of functions and types that kernels and host code use.
bool IsReserved(const std::string& name) {
  static const std::set<std::string> reserved = {
      "abs",      "acos",  "add",   "and",       "asin",    "auto",   "bool",   "break",  "case",
      "char",     "class", "const", "cos",       "default", "delete", "do",     "double", "else",
      "exp",      "float", "floor", "for",       "if",      "int",    "inline", "lane",   "log",
      "long",     "max",   "min",   "namespace", "new",     "not",    "or",     "pow",    "return",
      "round",    "short", "sign",  "signed",    "sin",     "sqrt",   "static", "stream", "struct",
      "switch",   "tan",   "tanh",  "template",  "this",    "torch",  "at",     "true",   "false",
      "unsigned", "using", "void",  "while",     "xor",     "row",    "col",    "item",   "erf",
      "ceil",     "trunc", "div"};
  return reserved.contains(name);
}

std::string ScalarTypeName(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return "torch::kFloat16";
    case DType::kBfloat16:
      return "torch::kBFloat16";
    case DType::kFloat32:
      return "torch::kFloat32";
    case DType::kFloat64:
      return "torch::kFloat64";
    case DType::kInt8:
      return "torch::kInt8";
    case DType::kInt16:
      return "torch::kInt16";
    case DType::kInt32:
      return "torch::kInt32";
    case DType::kInt64:
      return "torch::kInt64";
    case DType::kUint8:
      return "torch::kUInt8";
    case DType::kBool:
      return "torch::kBool";
  }
  return "";
}

const char* ArgumentType(HostArgument::Kind kind) {
  switch (kind) {
    case HostArgument::Kind::kTensor:
      return "torch::Tensor";
    case HostArgument::Kind::kOptionalTensor:
    case HostArgument::Kind::kNone:
      return "std::optional<torch::Tensor>";
    case HostArgument::Kind::kInt:
      return "int64_t";
    case HostArgument::Kind::kFloat:
      return "double";
    case HostArgument::Kind::kBool:
      return "bool";
    case HostArgument::Kind::kString:
      return "std::string";
    case HostArgument::Kind::kIntList:
      return "std::vector<int64_t>";
    case HostArgument::Kind::kFloatList:
      return "std::vector<double>";
    case HostArgument::Kind::kTensorList:
      return "std::vector<torch::Tensor>";
  }
  return "";
}

// Breaks "head(a, b, c" + tail into lines of at most 100 columns.
std::string Wrapped(const std::string& head, const std::vector<std::string>& items,
                    const std::string& tail, size_t indent) {
  std::string text, line = head;
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : tail);
    const bool first = i == 0;
    if (line.size() + item.size() + 1 > 100) {
      text += line + "\n";
      line = std::string(indent, ' ') + item;
    } else {
      line += (first ? "" : " ") + item;
    }
  }
  if (items.empty()) line += tail;
  return text + line + "\n";
}

std::string ResultType(size_t count) {
  return count == 0 ? "void" : count == 1 ? "torch::Tensor" : "std::vector<torch::Tensor>";
}

std::string Parameters(const Signature& signature, const std::string& name) {
  std::vector<std::string> items;
  for (const HostArgument& argument : signature.arguments) {
    items.push_back(fmt::format("{} {}", ArgumentType(argument.kind), argument.name));
  }
  return Wrapped(fmt::format("{} {}(", ResultType(signature.results.size()), name), items, ") {",
                 4);
}

// What one variant contributes to the file.
struct VariantText {
  std::string kernels;
  std::string host;
};

class VariantEmitter {
 public:
  VariantEmitter(const CompiledVariant& variant, const Signature& signature,
                 const Schedule& schedule, std::vector<Gene>* genes, size_t number)
      : signature_(signature),
        family_(variant.family),
        number_(number),
        program_(SplitReductions(Fold(variant.program, schedule, genes), variant.family, schedule,
                                 genes)),
        kernels_(Group(program_, variant.family, schedule, genes)),
        context_{program_, variant.family, schedule, genes, {}, {}, "int", {}} {}

  std::set<std::string>& helpers() { return context_.helpers; }
  bool uses(DType dtype) const {
    return std::any_of(program_.buffers.begin(), program_.buffers.end(),
                       [&](const Buffer& buffer) { return buffer.dtype == dtype; });
  }

  VariantText Run(const std::string& function) {
    FindNeeded();
    StoreInPlace();
    ChooseIndexType();
    VariantText text;
    for (Kernel& kernel : kernels_) {
      if (number_ > 0) kernel.name += fmt::format("V{}", number_ + 1);
      context_.kernel = kernel.name;
      const KernelText emitted = Emit(kernel);
      text.kernels += emitted.source + "\n";
      launches_.insert(launches_.end(), emitted.launches.begin(), emitted.launches.end());
      launch_ends_.push_back(launches_.size());
    }
    text.host = Host(function);
    return text;
  }

 private:
  KernelText Emit(const Kernel& kernel) {
    switch (kernel.kind) {
      case Kernel::Kind::kElementwise:
        return EmitElementwise(context_, kernel);
      case Kernel::Kind::kRows:
        return EmitRows(context_, kernel);
      case Kernel::Kind::kContraction:
        return EmitContraction(context_, kernel);
      case Kernel::Kind::kAttention:
        return EmitAttention(context_, kernel);
      case Kernel::Kind::kScan:
        return EmitScan(context_, kernel);
      case Kernel::Kind::kScatter:
        return EmitScatter(context_, kernel);
      case Kernel::Kind::kSort:
        return EmitSort(context_, kernel);
    }
    return {};
  }

  void FindNeeded() {
    context_.needed.insert(program_.results.begin(), program_.results.end());
    for (const auto& [target, source] : program_.updates) context_.needed.insert(source);
    for (size_t i = 0; i < kernels_.size(); ++i) {
      std::set<BufferId> own;
      for (const Nest& nest : kernels_[i].nests)
        own.insert(nest.outputs.begin(), nest.outputs.end());
      for (const Nest& nest : kernels_[i].nests) {
        for (const BufferId id : LoadedBy(nest)) {
          if (!own.contains(id)) context_.needed.insert(id);
        }
      }
    }
  }

  // A new value of an argument is written over it if only the thread that writes an element reads
  // it.
  void StoreInPlace() {
    for (const auto& [target, source] : program_.updates) {
      bool possible = true;
      for (const Kernel& kernel : kernels_) {
        const bool writes =
            std::any_of(kernel.nests.begin(), kernel.nests.end(),
                        [&](const Nest& nest) { return nest.outputs[0] == source; });
        const Nest* writer = nullptr;
        for (const Nest& nest : kernel.nests) {
          if (nest.outputs[0] == source) writer = &nest;
        }
        for (const Nest& nest : kernel.nests) {
          const std::set<BufferId> loaded = LoadedBy(nest);
          if (!writes) {
            possible = possible && !loaded.contains(target) && !loaded.contains(source);
          } else if (kernel.kind != Kernel::Kind::kElementwise) {
            possible = false;
          } else {
            VisitScalars(nest.body, [&](const Scalar& node) {
              if (node->kind != ScalarNode::Kind::kLoad || node->buffer != target) return;
              possible = possible && node->index == writer->axes;
            });
          }
        }
      }
      possible = possible && std::find(program_.results.begin(), program_.results.end(), source) ==
                                 program_.results.end();
      if (possible) context_.stored_as[source] = target;
    }
  }

  void ChooseIndexType() {
    for (const Buffer& buffer : program_.buffers) {
      const auto counts = family_.ValuesOf(Product(buffer.shape));
      for (const int64_t count : counts) {
        if (count > std::numeric_limits<int32_t>::max()) context_.index_type = "int64_t";
      }
    }
  }

  bool Exists(BufferId id) const { return context_.needed.contains(id); }

  std::string Options(DType dtype) const {
    return fmt::format("options.dtype({})", ScalarTypeName(dtype));
  }

  std::string Pointer(const std::string& name) const {
    for (const Buffer& buffer : program_.buffers) {
      if (buffer.name != name) continue;
      if (buffer.dtype == DType::kFloat16 || buffer.dtype == DType::kBfloat16) {
        return fmt::format("static_cast<{}*>({}.data_ptr())", MemoryType(buffer.dtype), name);
      }
      return fmt::format("{}.data_ptr<{}>()", name, MemoryType(buffer.dtype));
    }
    return name;
  }

  std::string ShapeText(const std::vector<Int>& shape) const {
    std::string text;
    for (const Int& size : shape) text += (text.empty() ? "" : ", ") + HostText(size);
    return "{" + text + "}";
  }

  std::string ConstantText(const Buffer& buffer) const {
    std::string values;
    const int64_t count = buffer.data.count();
    for (int64_t i = 0; i < count; ++i) {
      values += fmt::format(
          "{}{}", i ? ", " : "",
          LoadElement(buffer.dtype, buffer.data.bytes.data() + i * SizeOf(buffer.dtype)));
    }
    return fmt::format(
        "  auto {} = torch::tensor(std::vector<double>{{{}}}, "
        "options.dtype(torch::kFloat64)).to({});\n",
        buffer.name, values, ScalarTypeName(buffer.dtype));
  }

  std::string Host(const std::string& function) {
    std::string text = Parameters(signature_, function);
    std::string first_tensor;
    for (const HostArgument& argument : signature_.arguments) {
      for (size_t i = 0; i < argument.tensors.size(); ++i) {
        const std::string& name = argument.tensors[i];
        const Buffer* buffer = nullptr;
        for (const Buffer& each : program_.buffers) {
          if (each.name == name && each.kind == Buffer::Kind::kArgument) buffer = &each;
        }
        if (!buffer) continue;
        if (first_tensor.empty()) first_tensor = name;
        const bool updated = std::any_of(
            program_.updates.begin(), program_.updates.end(),
            [&](const auto& update) { return &program_.buffers[update.first] == buffer; });
        switch (argument.kind) {
          case HostArgument::Kind::kOptionalTensor:
            text += fmt::format("  const torch::Tensor {} = {}.value().contiguous();\n", name,
                                argument.name);
            break;
          case HostArgument::Kind::kTensorList:
            text += fmt::format("  const torch::Tensor {} = {}.at({}).contiguous();\n", name,
                                argument.name, i);
            break;
          default:
            // What is changed in place must be the caller's memory.
            if (!updated) {
              text += fmt::format("  {} = {}.contiguous();\n", name, name);
            } else {
              text += fmt::format(
                  "  TORCH_CHECK({0}.is_contiguous(), \"{0} must be contiguous\");\n", name);
            }
        }
        text += fmt::format("  CheckTensor({}, {}, {}, \"{}\");\n", name,
                            ScalarTypeName(buffer->dtype), buffer->shape.size(), name);
      }
    }
    for (const Family::Symbol& symbol : family_.symbols()) {
      if (!symbol.text.empty())
        text += fmt::format("  const int64_t {} = {};\n", symbol.name, symbol.text);
    }
    std::vector<std::string> conditions;
    for (const Family::Assumption& assumption : family_.assumptions()) {
      conditions.push_back(fmt::format("{} == {}", assumption.text, HostText(assumption.expected)));
    }
    for (const std::string& condition : conditions) {
      text += fmt::format("  TORCH_CHECK({0}, \"expected {0}\");\n", condition);
    }
    if (first_tensor.empty()) {
      text += "  const auto options = torch::TensorOptions().device(torch::kCUDA);\n";
    } else {
      text += fmt::format("  const auto options = {}.options();\n", first_tensor);
    }
    text += "  const auto stream = at::cuda::getCurrentCUDAStream();\n";
    std::set<BufferId> loaded;
    for (const Kernel& kernel : kernels_) {
      for (const Nest& nest : kernel.nests) loaded.merge(LoadedBy(nest));
    }
    for (size_t id = 0; id < program_.buffers.size(); ++id) {
      const Buffer& buffer = program_.buffers[id];
      if (buffer.kind == Buffer::Kind::kConstant && loaded.contains(id))
        text += ConstantText(buffer);
    }
    text += "\n";
    // Each buffer right before the kernel that writes it.
    size_t next = 0;
    for (size_t k = 0; k < kernels_.size(); ++k) {
      for (const Nest& nest : kernels_[k].nests) {
        for (const BufferId id : nest.outputs) {
          if (!Exists(id) || context_.stored_as.contains(id)) continue;
          const Buffer& buffer = program_.buffers[id];
          text += fmt::format("  auto {} = torch::empty({}, {});\n", buffer.name,
                              ShapeText(buffer.shape), Options(buffer.dtype));
        }
      }
      for (; next < launch_ends_[k]; ++next) {
        const Launch& launch = launches_[next];
        std::vector<std::string> arguments;
        for (const std::string& argument : launch.arguments) {
          arguments.push_back(argument[0] == '@'   ? Pointer(argument.substr(1))
                              : argument[0] == '#' ? argument.substr(1)
                                                   : argument);
        }
        text += Wrapped(
            fmt::format("  {}<<<{}, {}, 0, stream>>>(", launch.kernel, launch.grid, launch.block),
            arguments, ");", 6);
      }
    }
    text += "  C10_CUDA_KERNEL_LAUNCH_CHECK();\n";
    for (const auto& [target, source] : program_.updates) {
      if (context_.stored_as.contains(source)) continue;
      text += fmt::format("  {}.copy_({});\n", program_.buffers[target].name,
                          program_.buffers[source].name);
    }
    if (signature_.results.size() == 1) {
      text += fmt::format("  return {};\n", program_.buffers[program_.results[0]].name);
    } else if (!signature_.results.empty()) {
      std::string list;
      for (const BufferId id : program_.results)
        list += (list.empty() ? "" : ", ") + program_.buffers[id].name;
      text += fmt::format("  return {{{}}};\n", list);
    }
    return text + "}\n";
  }

  const Signature& signature_;
  const Family& family_;
  size_t number_;
  Program program_;
  std::vector<Kernel> kernels_;
  EmitContext context_;
  std::vector<Launch> launches_;
  std::vector<size_t> launch_ends_;
};

// Identifiers that mean something: results after what they are, everything else after its operator.
void NameBuffers(Program& program, const Signature& signature,
                 const std::vector<std::string>& results) {
  std::set<std::string> taken;
  for (const HostArgument& argument : signature.arguments) {
    taken.insert(argument.name);
    taken.insert(argument.tensors.begin(), argument.tensors.end());
  }
  const auto unique = [&](const std::string& wanted) {
    std::string name = wanted;
    for (int n = 2; IsReserved(name) || !taken.insert(name).second; ++n)
      name = fmt::format("{}_{}", wanted, n);
    return name;
  };
  for (size_t i = 0; i < program.results.size(); ++i) {
    std::string name = results[i];
    if (name.rfind("gradient.", 0) == 0) {
      name = "grad_" + name.substr(9);
    } else {
      name = program.results.size() == 1 ? "out"
                                         : fmt::format("out{}", name.substr(name.rfind('.') + 1));
    }
    program.buffers[program.results[i]].name = unique(name);
  }
  for (const auto& [target, source] : program.updates) {
    program.buffers[source].name = unique("new_" + program.buffers[target].name);
  }
  for (Buffer& buffer : program.buffers) {
    if (buffer.kind != Buffer::Kind::kTemporary && buffer.kind != Buffer::Kind::kConstant) continue;
    if (taken.contains(buffer.name) && buffer.name.rfind("new_", 0) == 0) continue;
    buffer.name = unique(buffer.name + "_");
  }
}

}  // namespace

Result<Model> MakeModel(std::vector<Variant> variants, Signature signature) {
  Model model;
  model.signature = std::move(signature);
  for (const Variant& variant : variants) {
    if (variant.results.size() > model.signature.results.size())
      model.signature.results = variant.results;
  }
  for (Variant& variant : variants) {
    CompiledVariant compiled{std::move(variant.family), {}, variant.condition};
    KS_TRY(compiled.program, Lower(compiled.family, {.results = variant.results}));
    NameBuffers(compiled.program, model.signature, variant.results);
    const Program folded = Fold(compiled.program, {});
    for (const Nest& nest : folded.nests) {
      for (const BufferId id : LoadedBy(nest)) {
        const Buffer& buffer = folded.buffers[id];
        if (buffer.kind == Buffer::Kind::kConstant && buffer.data.count() > 4096) {
          return Unsupported(fmt::format("a constant of {} elements", buffer.data.count()));
        }
        if (buffer.kind != Buffer::Kind::kArgument) continue;
        const auto& arguments = model.signature.arguments;
        const bool given =
            std::any_of(arguments.begin(), arguments.end(), [&](const HostArgument& each) {
              return std::find(each.tensors.begin(), each.tensors.end(), buffer.name) !=
                     each.tensors.end();
            });
        if (!given)
          return Unsupported(
              fmt::format("the result depends on {}, which is no argument", buffer.name));
      }
    }
    model.variants.push_back(std::move(compiled));
  }
  return model;
}

std::vector<Gene> GenesOf(const Model& model, const Schedule& schedule) {
  std::vector<Gene> genes, unique;
  for (size_t i = 0; i < model.variants.size(); ++i) {
    VariantEmitter emitter(model.variants[i], model.signature, schedule, &genes, i);
    emitter.Run("f");
  }
  for (Gene& gene : genes) {
    if (std::none_of(unique.begin(), unique.end(),
                     [&](const Gene& each) { return each.name == gene.name; })) {
      unique.push_back(std::move(gene));
    }
  }
  return unique;
}

Result<std::string> EmitCandidate(const Model& model, const Schedule& schedule) {
  std::string kernels, hosts;
  std::set<std::string> helpers;
  bool half = false, bfloat = false;
  for (size_t i = 0; i < model.variants.size(); ++i) {
    VariantEmitter emitter(model.variants[i], model.signature, schedule, nullptr, i);
    const std::string function = model.variants.size() == 1
                                     ? model.signature.function
                                     : fmt::format("{}_{}", model.signature.function, i + 1);
    const VariantText text = emitter.Run(function);
    kernels += text.kernels;
    hosts += text.host + "\n";
    helpers.merge(emitter.helpers());
    half = half || emitter.uses(DType::kFloat16);
    bfloat = bfloat || emitter.uses(DType::kBfloat16);
  }
  std::string text = fmt::format("// {}\n", model.signature.title);
  text += "#include <ATen/cuda/CUDAContext.h>\n#include <c10/cuda/CUDAException.h>\n";
  if (bfloat) text += "#include <cuda_bf16.h>\n";
  if (half) text += "#include <cuda_fp16.h>\n";
  if (helpers.contains("CopyAsync")) text += "#include <cuda_pipeline_primitives.h>\n";
  if (helpers.contains("wmma")) text += "#include <mma.h>\n";
  text +=
      "#include <torch/extension.h>\n\n#include <climits>\n#include <cmath>\n#include "
      "<optional>\n#include <string>\n#include <vector>\n\nnamespace {\n\n";
  text += HelperSource(helpers);
  text += kernels;
  text +=
      "// Blocks of `per_block` that hold `count`.\n"
      "unsigned Blocks(int64_t count, int64_t per_block) {\n"
      "  return static_cast<unsigned>((count + per_block - 1) / per_block);\n"
      "}\n\n"
      "void CheckTensor(const torch::Tensor& tensor, torch::ScalarType dtype, int64_t rank, const "
      "char* name) {\n"
      "  TORCH_CHECK(tensor.is_cuda(), name, \" must be on a GPU\");\n"
      "  TORCH_CHECK(tensor.scalar_type() == dtype, name, \" has another dtype than this file is "
      "for\");\n"
      "  TORCH_CHECK(tensor.dim() == rank, name, \" must have \", rank, \" dimensions\");\n"
      "  TORCH_CHECK(tensor.numel() > 0, name, \" is empty\");\n"
      "}\n\n}  // namespace\n\n";
  text += hosts;
  if (model.variants.size() > 1) {
    text += Parameters(model.signature, model.signature.function);
    std::vector<std::string> names;
    for (const HostArgument& argument : model.signature.arguments) names.push_back(argument.name);
    for (size_t i = 0; i < model.variants.size(); ++i) {
      const std::string& condition = model.variants[i].condition;
      const std::string head =
          condition.empty() ? "  " : fmt::format("  if ({}) {{\n    ", condition);
      text += Wrapped(fmt::format("{}return {}_{}(", head, model.signature.function, i + 1), names,
                      ");", 6);
      if (!condition.empty()) text += "  }\n";
    }
    text += "}\n\n";
  }
  text += fmt::format("PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{ m.def(\"{0}\", &{0}); }}\n",
                      model.signature.function);
  return text;
}

}  // namespace kernelsmith::codegen
