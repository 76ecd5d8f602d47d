#include "verify/verification.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <variant>

#include "candidate/call.h"
#include "graph/aten_ops.h"
#include "ptx/constants.h"
#include "support/demangle.h"
#include "support/foreign_line.h"
#include "support/rng.h"
#include "tasks/signature.h"
#include "tensor/safetensors.h"
#include "tensor/tensor.h"
#include "verify/tiled.h"
#include "verify/work.h"

namespace kernelsmith {
namespace {

// Our longest message lists the kernels of a plan and stays below it.
constexpr size_t kMostMessage = 2000;

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

// Other strides than PyTorch's are seen by whoever calls view() or looks at the memory.
void NoteStrides(const TracedShape& traced, StageResult& stage) {
  for (size_t i = 0; i < traced.plan().outputs.size() && i < traced.task.results.size(); ++i) {
    const PlanTensor& got = traced.plan().outputs[i];
    for (const GraphOutput& output : traced.graph.outputs) {
      if (traced.graph.OutputName(output) != traced.task.results[i]) continue;
      const TensorMeta& expected = traced.graph.meta(output.value);
      if (got.shape != expected.shape || expected.strides.size() != got.strides.size()) break;
      bool same = got.shape.empty();
      for (size_t axis = 0; axis < got.shape.size() && !same; ++axis) {
        if (got.shape[axis] > 1 && got.strides[axis] != expected.strides[axis]) break;
        same = axis + 1 == got.shape.size();
      }
      if (same) break;
      stage.Note({.kind = FindingKind::kWrongStrides,
                  .message = fmt::format("narrowing: result {} has strides {}, PyTorch's has {}", i,
                                         FormatShape(got.strides), FormatShape(expected.strides))});
      break;
    }
  }
}

bool AllArePlaceholders(const TracedShape& traced) {
  return std::all_of(
      traced.task.tensors.begin(), traced.task.tensors.end(), [&](const TensorSpec& tensor) {
        return std::any_of(
            traced.graph.placeholders.begin(), traced.graph.placeholders.end(),
            [&](size_t node) { return traced.graph.nodes[node].name == tensor.name; });
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

StageResult StageResult::Skipped(std::string why) {
  StageResult outcome;
  outcome.note = std::move(why);
  outcome.skipped = true;
  return outcome;
}

void StageResult::Add(VerdictKind verdict, Finding finding) {
  // Refuted is the strongest word; among the others the first stands.
  if (!Ended() || verdict == VerdictKind::kRefuted) kind = verdict;
  finding.weight = Weight::kDecides;
  findings.push_back(std::move(finding));
}

void StageResult::Add(const CandidateProblem& problem) {
  Add(problem.verdict, {.kind = problem.kind, .message = problem.message, .where = problem.where});
}

void StageResult::Warn(Finding finding) {
  finding.weight = Weight::kWarning;
  findings.push_back(std::move(finding));
}

void StageResult::Note(Finding finding) {
  finding.weight = Weight::kNote;
  findings.push_back(std::move(finding));
}

Verification::Verification(const Task& task, Candidate& candidate, const VerifyOptions& options,
                           const VerifyTools& tools)
    : task(task), candidate(candidate), options(options), tools(tools) {
  verdict.kind = VerdictKind::kVerified;
  verdict.task = task.name;
  verdict.task_path = task.path.string();
  verdict.direction = Name(options.direction);
  verdict.dtype = options.dtype;
  verdict.mode = task.mode;
  verdict.gpu = options.gpu->key;
  verdict.architecture = fmt::format("{}.{}", options.gpu->major, options.gpu->minor);
  verdict.candidate = candidate.path().string();
  verdict.seed = options.seed;
  verdict.allowed = options.policy.allow;
}

void Verification::Take(const std::string& stage, StageResult outcome) {
  if (outcome.Ended() && (!Ended() || outcome.kind == VerdictKind::kRefuted)) {
    verdict.kind = outcome.kind;
  }
  for (Finding& finding : outcome.findings) {
    finding.stage = stage;
    // Messages quote names and texts of the candidate: of kernels, of printf, of assertions. Here
    // all of them pass on their way to terminals, reports, archives and models.
    finding.message = OneForeignLine(finding.message, kMostMessage);
    // So do names of files, which `#line` chooses.
    finding.where.file = OneForeignLine(finding.where.file);
    // Compiled code is kept by content: its lines may name the file that had this content first.
    if (finding.where.file.ends_with(".cu")) finding.where.file = candidate.path().string();
    // One defect shows at many shapes; it is told once.
    const bool known =
        std::any_of(verdict.findings.begin(), verdict.findings.end(), [&](const Finding& each) {
          return each.kind == finding.kind && each.weight == finding.weight &&
                 (each.message == finding.message || finding.kind == FindingKind::kUnstable);
        });
    if (!known) verdict.findings.push_back(std::move(finding));
  }
}

std::string FaultText(const vgpu::Fault& fault) {
  if (fault.kernel.empty()) return fault.what;
  return fmt::format("{}; kernel {}, block ({}, {}, {}), thread ({}, {}, {})", fault.what,
                     KernelName(fault.kernel), fault.block.x, fault.block.y, fault.block.z,
                     fault.thread.x, fault.thread.y, fault.thread.z);
}

namespace {

uint64_t SeedOf(uint64_t root, SeedStream stream, uint64_t index) {
  return Rng(root).Fork(static_cast<uint64_t>(stream)).Fork(index).Next();
}

}  // namespace

uint64_t Verification::Secret(SeedStream stream, uint64_t index) const {
  return SeedOf(options.seed, stream, index);
}

uint64_t Verification::DrawSecret(SeedStream stream, uint64_t index) const {
  const uint64_t kept = options.seed >> 32;
  return SeedOf(kept == 0 ? options.seed : kept, stream, index);
}

uint64_t Verification::CaseSecret(const TracedShape& traced, const std::string& inputs,
                                  SeedStream stream, uint64_t index) const {
  return inputs == "task" || !traced.evaluated_here ? DrawSecret(stream, index)
                                                    : Secret(stream, index);
}

double Verification::AllowedEpsilon() const {
  const std::string& precision = options.policy.precision;
  if (precision == "tf32" || precision == "float16") return 0x1p-11;
  if (precision == "bfloat16") return 0x1p-8;
  return 0;
}

namespace {

// The most bytes of all tensors of a judged shape, which is run some dozen times.
constexpr int64_t kMostElements = 1 << 20;

int64_t Elements(const TaskGraph& graph) {
  int64_t elements = 0;
  for (const TensorSpec& tensor : graph.tensors) {
    elements += ElementCount(tensor.shape).value_or(0);
  }
  return elements;
}

}  // namespace

Result<TracedShape*> Verification::Prepare(size_t configuration, StageResult& stage) {
  if (shapes.size() < configurations.size()) shapes.resize(configurations.size());
  std::unique_ptr<TracedShape>& slot = shapes[configuration];
  if (slot != nullptr) return slot.get();
  TaskRequest request{.direction = options.direction,
                      .configuration = configurations[configuration],
                      .dtype = options.dtype};
  if (options.policy.shapes != VerifyPolicy::Shapes::kExact) {
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
  KS_TRY(slot, PrepareRequest(std::move(request), stage));
  return slot.get();
}

Result<std::unique_ptr<TracedShape>> Verification::PrepareRequest(TaskRequest request,
                                                                  StageResult& stage) {
  auto traced = std::make_unique<TracedShape>();
  traced->request = std::move(request);
  KS_TRY(traced->task, tools.tasks.Export(task, traced->request));
  if (verdict.call.empty()) {
    verdict.call = fmt::format("{}({})", Name(options.direction), Describe(traced->task));
  }
  KS_TRY(traced->graph, ReadGraph(traced->task.file));
  traced->work = GraphWork(traced->graph);
  // A shape for timing is large, and a drawn one is another every day; PyTorch and src/graph agree
  // on the first one: no need to ask.
  std::optional<CaseTensors> here;
  const std::string& group = traced->request.configuration.group;
  if ((group == "timing" || group == kDrawnGroup) && !shapes.empty() && shapes[0] != nullptr &&
      shapes[0]->evaluated_here) {
    CaseTensors tiled = Tiled(traced->task, shapes[0]->seen);
    if (AllFloats(tiled)) {
      Result<CaseTensors> evaluated = EvaluateHere(traced->graph, std::move(tiled.values));
      if (evaluated.ok()) here = *std::move(evaluated);
    }
  }
  if (here) {
    traced->seen = *std::move(here);
    traced->seen_is_right = true;
  } else {
    KS_TRY(const TaskCase sample, tools.tasks.Evaluate(task, traced->request, kSeenSeed));
    KS_TRY(traced->seen, ReadCase(sample));
    traced->seen_is_right = AgreesWithTorch(traced->graph, traced->seen);
  }
  traced->evaluated_here = traced->seen_is_right && AllArePlaceholders(*traced);
  KS_TRY(const CandidateCall call,
         MakeCall(options.direction, traced->task, traced->graph, traced->seen));
  KS_TRY(traced->call, candidate.Trace(call));
  if (traced->call->cleared_launch) {
    const CandidateProblem& launch = *traced->call->cleared_launch;
    stage.Note({.kind = FindingKind::kFailedLaunch,
                .message = fmt::format("a launch failed ({}) and the host code cleared the error",
                                       launch.message),
                .where = launch.where});
  }
  for (const CandidateProblem& problem : traced->call->problems) stage.Add(problem);
  if (!traced->call->plan) return std::unique_ptr<TracedShape>();
  NoteStrides(*traced, stage);
  for (const CallArgument* argument : FlattenTensors(call.arguments)) {
    traced->kept.push_back(IsWeight(traced->graph, argument->name));
  }
  for (const std::string& name : traced->task.AllResults()) {
    const auto exact = traced->seen.expected.find(name);
    if (exact == traced->seen.expected.end()) {
      return InternalError(fmt::format("the bridge gave no expected values for '{}'", name));
    }
    traced->usual_rms.push_back(RmsOfFinite(exact->second));
  }
  return traced;
}

std::vector<InputTensor> Verification::Inputs(const TracedShape& traced) const {
  std::vector<InputTensor> inputs;
  for (const TensorSpec& tensor : traced.task.tensors) {
    inputs.push_back({.name = tensor.name, .fixed = false});
  }
  return inputs;
}

Result<std::optional<Case>> Verification::MakeCase(const TracedShape& traced,
                                                   const std::string& inputs, uint64_t seed) {
  if (inputs == "task") {
    KS_TRY(const TaskCase sample, tools.tasks.Evaluate(task, traced.request, seed));
    KS_TRY(CaseTensors tensors, ReadCase(sample));
    return std::optional<Case>(Case{.seed = seed, .tensors = std::move(tensors)});
  }
  const Recipe* recipe = FindRecipe(inputs);
  if (recipe == nullptr) return InvalidInput(fmt::format("no inputs are called '{}'", inputs));
  // Positions written twice have no defined winner, so integers stay where some are written to.
  const bool permute =
      std::none_of(traced.graph.nodes.begin(), traced.graph.nodes.end(),
                   [](const Node& node) { return OperatorOf(node.aten).facts.collides; });
  TensorMap values =
      MakeInputs(*recipe, traced.seen.values, Inputs(traced), seed,
                 {.permute_integers = permute,
                  .numbers = recipe->numbers ? KernelNumbers() : std::vector<double>()});
  KS_TRY(std::optional<Case> made, MakeCaseOf(traced, std::move(values), inputs, seed));
  if (made) made->harsh = recipe->harsh;
  return made;
}

namespace {

// More are a table of data, not of numbers that values are compared with.
constexpr size_t kMostTableBytes = 1024;

}  // namespace

const std::vector<double>& Verification::KernelNumbers() {
  if (kernel_numbers_) return *kernel_numbers_;
  std::set<double> numbers;
  const Result<ptx::Module> module = ptx::Parse(compiled().ptx, compiled().ptx_path.string());
  // What can't be parsed can't run either.
  const ptx::Constants constants = module.ok() ? ptx::ConstantsOf(*module) : ptx::Constants();
  const auto add = [&](double number) {
    if (std::isnormal(number)) numbers.insert({number, -number});
  };
  for (const double number : constants.floats) add(number);
  const auto add_small = [&](double number) {
    if (std::abs(number) > 1e-6 && std::abs(number) < 1e6) add(number);
  };
  // Numbers that the host hands over are compared with values as well: as arguments, in memory that
  // it sends or fills, and in variables that begin with them.
  const auto add_bytes = [&](const void* data, size_t size) {
    if (size > kMostTableBytes) return;
    const auto* bytes = static_cast<const std::byte*>(data);
    for (size_t at = 0; at + sizeof(float) <= size; at += sizeof(float)) {
      float number = 0;
      std::memcpy(&number, bytes + at, sizeof number);
      add_small(number);
    }
    for (size_t at = 0; at + sizeof(double) <= size; at += sizeof(double)) {
      double number = 0;
      std::memcpy(&number, bytes + at, sizeof number);
      add_small(number);
    }
  };
  const Plan& plan = shapes[0]->plan();
  for (const std::vector<PlanStep>* steps : {&plan.preparation, &plan.steps}) {
    for (const PlanStep& step : *steps) {
      if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
        add_bytes(launch->parameters.data(), launch->parameters.size());
      } else if (const auto* upload = std::get_if<UploadStep>(&step.action)) {
        add_bytes(upload->data.data(), upload->data.size());
      } else if (const auto* fill = std::get_if<FillStep>(&step.action)) {
        add_bytes(&fill->value, fill->element_bytes);
      }
    }
  }
  if (module.ok()) {
    for (const ptx::Variable& variable : module->variables) {
      add_bytes(variable.image.data(), variable.image.size());
    }
  }
  // Those of the task: a kernel that has them in another form decides at the same places.
  for (const Node& node : shapes[0]->graph.nodes) {
    for (const Argument& argument : node.args) {
      if (const auto* number = std::get_if<double>(&argument.value)) add_small(*number);
    }
  }
  // Values are compared as bits, and as what they become when they are converted.
  for (const int64_t integer : constants.integers) {
    if (integer == INT64_MIN) continue;  // it has no other sign
    constexpr int64_t kSmallestBits = int64_t{1} << 23;
    // Subtracted ones stand there with the other sign.
    if (std::abs(integer) > kSmallestBits && std::abs(integer) <= UINT32_MAX) {
      add(std::bit_cast<float>(static_cast<uint32_t>(integer)));
      add(std::bit_cast<float>(static_cast<uint32_t>(-integer)));
    } else if (std::abs(integer) <= 1024) {
      add(static_cast<double>(integer));
    }
    // The first bits of a float, or all of them of a half.
    for (const int shift : {8, 16}) {
      if (integer > 0 && integer <= UINT32_MAX >> shift) {
        add_small(std::bit_cast<float>(static_cast<uint32_t>(integer) << shift));
      }
    }
  }
  kernel_numbers_.emplace(numbers.begin(), numbers.end());
  return *kernel_numbers_;
}

Result<std::optional<Case>> Verification::DrawnCase(size_t configuration, uint64_t draw) {
  const TracedShape& traced = *shapes.at(configuration);
  const bool first = configuration == 0;
  // For a large shape an order that nobody knows is enough, and it is there sooner than PyTorch's
  // draw.
  const bool timing = !first && traced.request.configuration.group == "timing";
  const std::string inputs = timing && traced.evaluated_here ? "redrawn" : "task";
  return MakeCase(
      traced, inputs,
      CaseSecret(traced, inputs, first ? SeedStream::kTaskDraws : SeedStream::kShapeDraws,
                 first ? draw : configuration));
}

Result<std::optional<Case>> Verification::MakeCaseOf(const TracedShape& traced, TensorMap values,
                                                     const std::string& inputs, uint64_t seed) {
  Case made{.inputs = inputs, .seed = seed};
  // Arguments that the graph computes from others (what a forward pass saved) can't be chosen.
  const bool here =
      traced.seen_is_right && std::all_of(values.begin(), values.end(), [&](const auto& each) {
        return std::any_of(
            traced.graph.placeholders.begin(), traced.graph.placeholders.end(),
            [&](size_t node) { return traced.graph.nodes[node].name == each.first; });
      });
  if (here) {
    TensorMap all = traced.seen.values;
    for (auto& [name, tensor] : values) all[name] = std::move(tensor);
    Result<CaseTensors> evaluated = EvaluateHere(traced.graph, std::move(all));
    if (!evaluated.ok()) return std::optional<Case>();
    made.tensors = *std::move(evaluated);
  } else {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / fmt::format("kernelsmith-{:016x}", seed);
    KS_RETURN_IF_ERROR(WriteSafetensors(file, {.tensors = std::move(values), .metadata = {}}));
    Result<TaskCase> sample = tools.tasks.Evaluate(task, traced.request, seed, file);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    if (!sample.ok()) return std::optional<Case>();  // the task's own checks refuse these values
    KS_TRY(made.tensors, ReadCase(*sample));
  }
  if (!HasFiniteResults(made.tensors, traced.task.AllResults())) return std::optional<Case>();
  return std::optional<Case>(std::move(made));
}

}  // namespace kernelsmith
