#include "propose/llm_task.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/graph.h"
#include "support/foreign_line.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// Complaints that a question has: a compiler that lost its way says the same a hundred times.
constexpr size_t kMostComplaints = 8;

std::string TensorText(const TensorSpec& spec) {
  return fmt::format("{} of shape [{}]", spec.dtype, fmt::join(spec.shape, ", "));
}

std::string ArgumentLine(const TaskArgument& argument, const std::vector<TensorSpec>& tensors) {
  using Kind = TaskArgument::Kind;
  const std::string& name = argument.name;
  switch (argument.kind) {
    case Kind::kTensor: {
      const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const TensorSpec& each) {
        return each.name == argument.text;
      });
      return fmt::format("torch::Tensor {}: {}", name,
                         found == tensors.end() ? "a tensor" : TensorText(*found));
    }
    case Kind::kInt:
      return fmt::format("int64_t {}: {}", name, argument.integer);
    case Kind::kFloat:
      return fmt::format("double {}: {}", name, argument.number);
    case Kind::kBool:
      return fmt::format("bool {}: {}", name, argument.flag);
    case Kind::kNone:
      return fmt::format("c10::optional<torch::Tensor> {}: none", name);
    case Kind::kString:
      return fmt::format("std::string {}: \"{}\"", name, argument.text);
    case Kind::kOpaque:
      return fmt::format("{} {}", argument.text, name);
    case Kind::kDict:
      return fmt::format("a dictionary {} with {} entries", name, argument.items.size());
    case Kind::kList: {
      const bool floats =
          std::any_of(argument.items.begin(), argument.items.end(),
                      [](const TaskArgument& item) { return item.kind == Kind::kFloat; });
      const bool list_of_tensors =
          !argument.items.empty() && argument.items.front().kind == Kind::kTensor;
      std::vector<std::string> items;
      for (const TaskArgument& item : argument.items) {
        items.push_back(item.kind == Kind::kTensor ? ArgumentLine(item, tensors)
                        : floats                   ? fmt::format("{}", item.number)
                                                   : fmt::format("{}", item.integer));
      }
      return fmt::format("std::vector<{}> {}: [{}]",
                         list_of_tensors ? "torch::Tensor"
                         : floats        ? "double"
                                         : "int64_t",
                         name, fmt::join(items, ", "));
    }
  }
  return name;
}

// Messages of tools name the file by its path, which is nobody's business.
std::string WithoutPath(std::string message, const std::string& path) {
  if (path.empty()) return message;
  for (size_t at = 0; (at = message.find(path, at)) != std::string::npos;) {
    message.replace(at, path.size(), "candidate.cu");
  }
  return message;
}

std::string Describe(const Counterexample& example) {
  return fmt::format(
      "configuration {} ({}), inputs '{}': {}[{}] must be {:.9g} and is {:.9g}; {} of {} elements "
      "are wrong",
      example.configuration, example.values.dump(-1, ' ', false, json::error_handler_t::replace),
      example.inputs, example.output, fmt::join(example.index, ", "), example.expected, example.got,
      example.wrong, example.elements);
}

}  // namespace

Result<std::string> ReferenceOf(const Task& task, TaskDirection direction,
                                const FileSystem& files) {
  if (task.format != TaskFormat::kRobustKbench) return files.Read(task.path);
  KS_TRY(std::string text, files.Read(task.path / "func_forward.py"));
  if (direction == TaskDirection::kBackward) {
    KS_TRY(const std::string backward, files.Read(task.path / "func_backward.py"));
    text += "\n# func_backward.py\n" + backward;
  }
  return text;
}

std::string SignatureText(const TaskGraph& graph, const std::vector<TensorSpec>& results) {
  std::string text = "Arguments in this order, with the values of one of the shapes:\n";
  for (const TaskArgument& each : graph.arguments) {
    text += "  " + ArgumentLine(each, graph.tensors) + "\n";
  }
  text += results.size() == 1 ? "Returns torch::Tensor:\n"
                              : "Returns std::vector<torch::Tensor>, in this order:\n";
  for (const TensorSpec& each : results) {
    text += fmt::format("  {}: {}\n", each.name, TensorText(each));
  }
  for (const std::string& each : graph.mutated) {
    text += fmt::format("Changes in place: {}\n", each);
  }
  return text;
}

Result<llm::KernelTask> KernelTaskOf(const Task& task, TaskDirection direction,
                                     const std::string& dtype, TaskStore& store,
                                     const FileSystem& files) {
  const TaskConfiguration* configuration = task.Find(direction, "quick");
  if (configuration == nullptr) {
    return InvalidInput(fmt::format("task {} has no {} pass", task.name, Name(direction)));
  }
  llm::KernelTask result{
      .name = task.name, .direction = Name(direction), .function = Name(direction), .dtype = dtype};
  KS_TRY(result.reference, ReferenceOf(task, direction, files));
  KS_TRY(const TaskGraph call,
         store.Export(task,
                      {.direction = direction, .configuration = *configuration, .dtype = dtype}));
  KS_TRY(const Graph graph, ReadGraph(call.file));
  std::vector<TensorSpec> results;
  for (const std::string& name : call.results) {
    for (const GraphOutput& output : graph.outputs) {
      if (graph.OutputName(output) != name) continue;
      const TensorMeta& meta = graph.meta(output.value);
      results.push_back(
          {.name = name, .dtype = std::string(DTypeName(meta.dtype)), .shape = meta.shape});
      break;
    }
  }
  result.signature = SignatureText(call, results);
  if (dtype == "task") result.dtype = results.empty() ? "float32" : results.front().dtype;
  return result;
}

Feedback FeedbackOf(const Verdict& verdict) {
  Feedback feedback;
  for (const Weight weight : {Weight::kDecides, Weight::kWarning}) {
    for (const Finding& finding : verdict.findings) {
      if (finding.weight != weight || feedback.complaints.size() >= kMostComplaints) continue;
      const bool in_candidate = finding.where.file == verdict.candidate;
      feedback.complaints.push_back(
          {.source = finding.kind == FindingKind::kCompileError ? "compiler"
                                                                : "verifier, " + finding.stage,
           .line = in_candidate ? finding.where.line : 0,
           .message =
               fmt::format("{}: {}", Name(finding.kind),
                           OneForeignLine(WithoutPath(finding.message, verdict.candidate)))});
      if (finding.counterexample && feedback.counterexample.empty()) {
        feedback.counterexample = Describe(*finding.counterexample);
      }
    }
  }
  return feedback;
}

Feedback FeedbackOf(const json& findings, const std::string& stage, const std::string& reason) {
  Feedback feedback;
  if (findings.is_array()) {
    for (const json& each : findings) {
      if (!each.is_object() || feedback.complaints.size() >= kMostComplaints) continue;
      const auto text = [&](const char* key) {
        const auto found = each.find(key);
        return found != each.end() && found->is_string() ? found->get<std::string>() : "";
      };
      if (text("weight") == "note") continue;
      int line = 0;
      if (const auto where = each.find("line"); where != each.end() && where->is_number_integer()) {
        line = where->get<int>();
      }
      feedback.complaints.push_back(
          {.source = text("stage").empty() ? stage : text("stage"),
           .line = line,
           .message = fmt::format("{}: {}", CurrentWord(text("kind")),
                                  OneForeignLine(WithoutPath(text("message"), text("file"))))});
      const auto example = each.find("counterexample");
      if (example != each.end() && feedback.counterexample.empty()) {
        feedback.counterexample = example->dump(-1, ' ', false, json::error_handler_t::replace);
      }
    }
  }
  if (feedback.complaints.empty() && !reason.empty()) {
    feedback.complaints.push_back({.source = stage, .message = OneForeignLine(reason)});
  }
  return feedback;
}

std::vector<std::string> LimitsOf(const GpuModel& gpu) {
  const GpuRates& rates = gpu.rates;
  std::vector<std::string> limits = {
      fmt::format("{}, {} SMs", gpu.name, gpu.sm_count),
      fmt::format("DRAM {:.0f} GB/s, L2 {:.0f} GB/s, {:.0f} MiB of L2", gpu.memory_bandwidth / 1e9,
                  rates.l2_bandwidth / 1e9, static_cast<double>(gpu.l2_bytes) / (1 << 20)),
      fmt::format("float32 {:.1f} Tflop/s without tensor cores", gpu.fp32_peak() / 1e12)};
  if (rates.tensor_fp16 > 0) {
    limits.push_back(fmt::format("tensor cores: float16 and bfloat16 {:.0f} Tflop/s, tf32 {:.0f}",
                                 rates.tensor_fp16 / 1e12, rates.tensor_tf32 / 1e12));
  }
  return limits;
}

const std::vector<std::string>& StrategyHints() {
  static const std::vector<std::string> hints = {
      "Fuse kernels, so that intermediate tensors never leave registers or shared memory.",
      "Read and write 16 bytes a thread (float4, half2 x 4), with a tail for sizes that do not "
      "fit.",
      "Keep a row in registers and read it once instead of twice.",
      "Reduce inside a warp by shuffles, then once across warps through shared memory.",
      "Give one warp to a short row and one block to a long one.",
      "Compute statistics online in one pass (running maximum and sum, Welford).",
      "Tile through shared memory so that each value is loaded once a block.",
      "Give each thread a tile of results in registers (4 x 4 or 8 x 8) to reuse operands.",
      "Pad or swizzle shared memory against bank conflicts.",
      "Overlap loads with arithmetic: cp.async with two or more stages.",
      "Use tensor cores (mma, wmma) where the dtype allows it; float32 results need float32 sums.",
      "Split the reduction over blocks where there are fewer blocks than multiprocessors.",
      "Raise occupancy: fewer registers or less shared memory a block, other block sizes.",
      "Give each thread several independent elements, to have more loads in flight.",
      "Unroll inner loops, hoist index arithmetic out of them, and use 32-bit indices where sizes "
      "allow.",
      "Replace divisions and special functions in inner loops by multiplications.",
      "Launch fewer, larger kernels: each launch costs microseconds.",
  };
  return hints;
}

std::string TextOf(const llm::Conversation& conversation) {
  std::string text;
  for (const llm::Message& each : conversation) {
    text += fmt::format("--- {}\n{}\n", llm::Name(each.role), each.text);
  }
  return text;
}

}  // namespace kernelsmith
