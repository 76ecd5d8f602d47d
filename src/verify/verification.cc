#include "verify/verification.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <variant>

#include "graph/aten_ops.h"
#include "support/demangle.h"
#include "support/rng.h"
#include "tasks/signature.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "verify/arguments.h"
#include "verify/tiled.h"
#include "verify/work.h"

namespace kernelsmith {
namespace {

// Row-major tensors like the expected results, for launchers that write into given outputs.
std::vector<PlanTensor> ResultTensors(const TaskGraph& graph, const CaseTensors& values) {
  std::vector<PlanTensor> tensors;
  for (const std::string& name : graph.results) {
    const auto found = values.values.find(name);
    if (found == values.values.end()) continue;
    tensors.push_back({.dtype = found->second.dtype,
                       .shape = found->second.shape,
                       .strides = RowMajorStrides(found->second.shape)});
  }
  return tensors;
}

// Whether an earlier call may have prepared this argument: parameters and buffers of a model, and
// what functions call so.
bool IsWeight(const Graph& graph, const std::string& name) {
  for (const size_t node : graph.placeholders) {
    if (graph.nodes[node].name != name) continue;
    const PlaceholderRole role = graph.nodes[node].role;
    if (role == PlaceholderRole::kParameter || role == PlaceholderRole::kBuffer) return true;
  }
  for (const char* word : {"weight", "bias", "gamma", "beta", "filter", "kernel", "running_"}) {
    if (name.find(word) != std::string::npos) return true;
  }
  return name == "w" || name.starts_with("w_") || name.ends_with("_w");
}

// PyTorch's results on `seen` against those of src/graph: structured inputs are judged by the
// latter, so it must have shown that it can do this task.
bool AgreesWithTorch(const Graph& graph, const CaseTensors& seen) {
  const Result<CaseTensors> here = EvaluateHere(graph, seen.values);
  if (!here.ok()) return false;
  std::vector<std::string> names;
  for (const GraphOutput& output : graph.outputs) names.push_back(graph.OutputName(output));
  const auto expected = ExpectedOutputs(graph, seen, names);
  if (!expected.ok()) return false;
  for (const ExpectedOutput& each : *expected) {
    const auto found = here->expected.find(each.name);
    if (found == here->expected.end() || found->second.shape != each.shape) return false;
    const OutputJudgement judgement =
        JudgeOutput(graph, each, found->second, seen.values, JudgementOptions{});
    if (!judgement.right) return false;
  }
  return true;
}

bool AllArePlaceholders(const TracedShape& subject) {
  return std::all_of(
      subject.task.tensors.begin(), subject.task.tensors.end(), [&](const TensorSpec& tensor) {
        return std::any_of(
            subject.graph.placeholders.begin(), subject.graph.placeholders.end(),
            [&](size_t node) { return subject.graph.nodes[node].name == tensor.name; });
      });
}

}  // namespace

std::set<std::string> KernelsOf(const Plan& plan) {
  std::set<std::string> names;
  for (const PlanStep& step : plan.steps) {
    if (const auto* launch = std::get_if<LaunchStep>(&step.action)) names.insert(launch->kernel);
  }
  return names;
}

std::vector<std::string> NewKernels(const Plan& plan, const std::set<std::string>& judged) {
  std::vector<std::string> fresh;
  for (const std::string& kernel : KernelsOf(plan)) {
    if (!judged.contains(kernel)) fresh.push_back(KernelName(kernel));
  }
  return fresh;
}

std::vector<int64_t> IndexOf(size_t flat, const Shape& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(std::max<int64_t>(shape[axis], 1));
    index[axis] = static_cast<int64_t>(flat % size);
    flat /= size;
  }
  return index;
}

Verification::Verification(const Task& task, const std::filesystem::path& candidate,
                           const VerifyOptions& options, const VerifyTools& tools)
    : task(task), candidate(candidate), options(options), tools(tools) {
  verdict.kind = VerdictKind::kVerified;
  verdict.task = task.name;
  verdict.task_path = task.path.string();
  verdict.direction = Name(options.direction);
  verdict.dtype = options.dtype;
  verdict.candidate = candidate.string();
  verdict.seed = options.seed;
}

void Verification::Add(VerdictKind kind, Finding finding) {
  // Refuted is the strongest word; among the others the first stands.
  if (!Ended() || kind == VerdictKind::kRefuted) verdict.kind = kind;
  Tell(std::move(finding), Weight::kDecides);
}

void Verification::Tell(Finding finding, Weight weight) {
  finding.weight = weight;
  finding.stage = stage;
  // Compiled code is kept by content: its lines may name the file that had this content first.
  if (finding.where.file.ends_with(".cu")) finding.where.file = candidate.string();
  // One defect shows at many shapes; it is told once.
  for (const Finding& known : verdict.findings) {
    if (known.kind == finding.kind && known.weight == weight &&
        (known.message == finding.message || finding.kind == FindingKind::kUnstable)) {
      return;
    }
  }
  verdict.findings.push_back(std::move(finding));
}

std::string FaultText(const vgpu::Fault& fault) {
  if (fault.kernel.empty()) return fault.what;
  return fmt::format("{}; kernel {}, block ({}, {}, {}), thread ({}, {}, {})", fault.what,
                     KernelName(fault.kernel), fault.block.x, fault.block.y, fault.block.z,
                     fault.thread.x, fault.thread.y, fault.thread.z);
}

uint64_t Verification::Secret(uint64_t stream) const {
  return Rng(options.seed).Fork(stream).Next();
}

uint64_t Verification::DrawSecret(uint64_t stream) const {
  const uint64_t kept = options.seed >> 32;
  return Rng(kept == 0 ? options.seed : kept).Fork(stream).Next();
}

uint64_t Verification::CaseSecret(const TracedShape& subject, const std::string& inputs,
                                  uint64_t stream) const {
  return inputs == "task" || !subject.evaluated_here ? DrawSecret(stream) : Secret(stream);
}

double Verification::AllowedEpsilon() const {
  const std::string& precision = options.policy.precision;
  if (precision == "tf32" || precision == "float16") return 0x1p-11;
  if (precision == "bfloat16") return 0x1p-8;
  return 0;
}

namespace {

// Of all tensors of a judged shape, which is run some dozen times.
constexpr int64_t kMostElements = 1 << 20;

int64_t Elements(const TaskGraph& graph) {
  int64_t elements = 0;
  for (const TensorSpec& tensor : graph.tensors) {
    elements += ElementCount(tensor.shape).value_or(0);
  }
  return elements;
}

}  // namespace

Result<TracedShape*> Verification::Prepare(size_t configuration) {
  if (subjects.size() < configurations.size()) subjects.resize(configurations.size());
  std::unique_ptr<TracedShape>& slot = subjects[configuration];
  if (slot != nullptr) return slot.get();
  TaskRequest request{.direction = options.direction,
                      .configuration = configurations[configuration],
                      .dtype = options.dtype};
  if (options.policy.shapes == VerifyPolicy::Shapes::kFamily) {
    const int64_t work =
        request.configuration.group == "timing" ? options.timing_work : options.work;
    KS_TRY(request.configuration, tools.tasks.Reduce(task, request, work));
    // One operation an element: what is cheap to compute may still be slow to draw and compare.
    const Result<TaskGraph> graph = tools.tasks.Export(task, request);
    const int64_t elements = graph.ok() ? Elements(*graph) : 0;
    if (elements > kMostElements) {
      Result<TaskConfiguration> smaller =
          tools.tasks.Reduce(task, request, work / (elements / kMostElements + 1));
      if (smaller.ok()) request.configuration = *std::move(smaller);
    }
  }
  KS_TRY(slot, PrepareRequest(std::move(request)));
  return slot.get();
}

Result<std::unique_ptr<TracedShape>> Verification::PrepareRequest(TaskRequest request) {
  auto subject = std::make_unique<TracedShape>();
  subject->request = std::move(request);
  KS_TRY(subject->task, tools.tasks.Export(task, subject->request));
  if (verdict.call.empty()) {
    verdict.call = fmt::format("{}({})", Name(options.direction), Describe(subject->task));
  }
  KS_TRY(subject->graph, ReadGraph(subject->task.file));
  subject->work = GraphWork(subject->graph);
  // A shape for timing is large, and PyTorch and src/graph agree on the first one: no need to ask.
  std::optional<CaseTensors> here;
  if (subject->request.configuration.group == "timing" && !subjects.empty() &&
      subjects[0] != nullptr && subjects[0]->evaluated_here) {
    CaseTensors tiled = Tiled(subject->task, subjects[0]->seen);
    if (AllFloats(tiled)) {
      Result<CaseTensors> evaluated = EvaluateHere(subject->graph, std::move(tiled.values));
      if (evaluated.ok()) here = *std::move(evaluated);
    }
  }
  if (here) {
    subject->seen = *std::move(here);
    subject->seen_is_right = true;
  } else {
    KS_TRY(const TaskCase sample, tools.tasks.Evaluate(task, subject->request, kSeenSeed));
    KS_TRY(subject->seen, ReadCase(sample));
    subject->seen_is_right = AgreesWithTorch(subject->graph, subject->seen);
  }
  subject->evaluated_here = subject->seen_is_right && AllArePlaceholders(*subject);
  KS_TRY(const std::vector<CallArgument> arguments,
         MakeCallArguments(subject->task, subject->seen));
  TraceOptions trace = options.trace;
  trace.function = options.direction == TaskDirection::kForward ? "forward" : "backward";
  trace.results = ResultTensors(subject->task, subject->seen);
  KS_TRY(TraceOutcome traced, Trace(compiled, arguments, trace, tools.processes));
  for (const HostFinding& finding : traced.findings) {
    if (finding.kind == FindingKind::kFailedLaunch) {
      subject->failed_launch = finding.message;
      Note({.kind = FindingKind::kFailedLaunch,
            .message = fmt::format("a launch failed ({}) and the host code cleared the error",
                                   finding.message),
            .where = finding.where});
      continue;
    }
    Add(Refutes(finding.kind) ? VerdictKind::kRefuted : VerdictKind::kUnsupported,
        {.kind = finding.kind, .message = finding.message, .where = finding.where});
  }
  if (!traced.plan) {
    if (traced.findings.empty()) {
      Add(VerdictKind::kInconclusive,
          {.kind = FindingKind::kNoPlan, .message = "the host code has no plan"});
    }
    return std::unique_ptr<TracedShape>();
  }
  subject->plan = *std::move(traced.plan);
  for (const CallArgument* argument : FlattenTensors(arguments)) {
    subject->kept.push_back(IsWeight(subject->graph, argument->name));
  }
  std::vector<std::string> names = subject->task.results;
  names.insert(names.end(), subject->task.mutated.begin(), subject->task.mutated.end());
  KS_TRY(const std::vector<ExpectedOutput> expected,
         ExpectedOutputs(subject->graph, subject->seen, names));
  for (const ExpectedOutput& each : expected) subject->usual_rms.push_back(each.Rms());
  return subject;
}

std::vector<InputTensor> Verification::Inputs(const TracedShape& subject) const {
  std::vector<InputTensor> inputs;
  for (const TensorSpec& tensor : subject.task.tensors) {
    inputs.push_back({.name = tensor.name, .fixed = false});
  }
  return inputs;
}

Result<std::optional<Case>> Verification::MakeCase(const TracedShape& subject,
                                                   const std::string& inputs, uint64_t seed) {
  if (inputs == "task") {
    KS_TRY(const TaskCase sample, tools.tasks.Evaluate(task, subject.request, seed));
    KS_TRY(CaseTensors tensors, ReadCase(sample));
    return std::optional<Case>(Case{.seed = seed, .tensors = std::move(tensors)});
  }
  const Recipe* recipe = FindRecipe(inputs);
  if (recipe == nullptr) return InvalidInput(fmt::format("no inputs are called '{}'", inputs));
  // Positions written twice have no defined winner, so integers stay where some are written to.
  const bool permute =
      std::none_of(subject.graph.nodes.begin(), subject.graph.nodes.end(),
                   [](const Node& node) { return OperatorOf(node.aten).facts.collides; });
  TensorMap values = MakeInputs(*recipe, subject.seen.values, Inputs(subject), seed, permute);
  KS_TRY(std::optional<Case> made, MakeCaseOf(subject, std::move(values), inputs, seed));
  if (made) made->harsh = recipe->harsh;
  return made;
}

Result<std::optional<Case>> Verification::MakeCaseOf(const TracedShape& subject, TensorMap values,
                                                     const std::string& inputs, uint64_t seed) {
  Case made{.inputs = inputs, .seed = seed};
  // Arguments that the graph computes from others (what a forward pass saved) can't be chosen.
  const bool here =
      subject.seen_is_right && std::all_of(values.begin(), values.end(), [&](const auto& each) {
        return std::any_of(
            subject.graph.placeholders.begin(), subject.graph.placeholders.end(),
            [&](size_t node) { return subject.graph.nodes[node].name == each.first; });
      });
  if (here) {
    TensorMap all = subject.seen.values;
    for (auto& [name, tensor] : values) all[name] = std::move(tensor);
    Result<CaseTensors> evaluated = EvaluateHere(subject.graph, std::move(all));
    if (!evaluated.ok()) return std::optional<Case>();
    made.tensors = *std::move(evaluated);
  } else {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / fmt::format("kernelsmith-{:016x}", seed);
    KS_RETURN_IF_ERROR(WriteSafetensors(file, {.tensors = std::move(values), .metadata = {}}));
    Result<TaskCase> sample = tools.tasks.Evaluate(task, subject.request, seed, file);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    if (!sample.ok()) return std::optional<Case>();  // the task's own checks refuse these values
    KS_TRY(made.tensors, ReadCase(*sample));
  }
  std::vector<std::string> names = subject.task.results;
  names.insert(names.end(), subject.task.mutated.begin(), subject.task.mutated.end());
  KS_TRY(const std::vector<ExpectedOutput> expected,
         ExpectedOutputs(subject.graph, made.tensors, names));
  for (const ExpectedOutput& each : expected) {
    if (!each.Finite()) return std::optional<Case>();
  }
  return std::optional<Case>(std::move(made));
}

}  // namespace kernelsmith
