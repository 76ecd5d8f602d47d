#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "tensor/tensor.h"
#include "verify/arguments.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

// Tensors of the arguments in all: what two traced children can take without slowing a verdict
// down.
constexpr uint64_t kMaxBytes = uint64_t{192} << 20;
// Blocks of each launch that run. A block of a timing shape is as dear as a whole quick shape.
constexpr uint32_t kBlocks = 4;
// PyTorch's error stands in for the magnitude here (evaluating it at this size would take longer
// than the kernel), so sums get more room: half precision is a hundred times beyond it.
constexpr double kSampledLimit = 8 * kLimit;

uint64_t Bytes(const TaskGraph& graph) {
  uint64_t bytes = 0;
  for (const TensorSpec& tensor : graph.tensors) {
    const auto dtype = ParseDType(tensor.dtype);
    bytes += static_cast<uint64_t>(ElementCount(tensor.shape).value_or(0) *
                                   (dtype ? SizeOf(*dtype) : 4));
  }
  return bytes;
}

// Values for the host code to look at: those of a small draw, over and over.
CaseTensors Tiled(const TaskGraph& graph, const CaseTensors& small) {
  CaseTensors tiled;
  for (const TensorSpec& spec : graph.tensors) {
    const auto found = small.values.find(spec.name);
    if (found == small.values.end() || found->second.bytes.empty()) continue;
    HostTensor tensor = MakeHostTensor(found->second.dtype, spec.shape);
    for (size_t at = 0; at < tensor.bytes.size();) {
      const size_t part = std::min(found->second.bytes.size(), tensor.bytes.size() - at);
      std::memcpy(tensor.bytes.data() + at, found->second.bytes.data(), part);
      at += part;
    }
    tiled.values.emplace(spec.name, std::move(tensor));
  }
  return tiled;
}

std::set<std::string> Kernels(const Plan& plan) {
  std::set<std::string> names;
  for (const PlanStep& step : plan.steps) {
    if (const auto* launch = std::get_if<LaunchStep>(&step.action)) names.insert(launch->kernel);
  }
  return names;
}

// The first blocks of the plan's only launch. Nothing: the plan is more than that, or its kernel
// asks for the size of its grid and would do the work of the others.
std::optional<Plan> FirstBlocks(const Plan& plan, const std::string& ptx) {
  Plan part = plan;
  LaunchStep* only = nullptr;
  for (PlanStep& step : part.steps) {
    if (auto* launch = std::get_if<LaunchStep>(&step.action)) {
      if (only != nullptr) return std::nullopt;
      only = launch;
    } else if (std::holds_alternative<LibraryStep>(step.action)) {
      return std::nullopt;
    }
  }
  if (only == nullptr || only->cooperative) return std::nullopt;
  const size_t at = ptx.find(".entry " + only->kernel);
  if (at == std::string::npos) return std::nullopt;
  const size_t end = ptx.find(".entry ", at + 7);
  if (ptx.substr(at, end == std::string::npos ? end : end - at).find("%nctaid") !=
      std::string::npos) {
    return std::nullopt;
  }
  only->grid.x = std::min(only->grid.x, kBlocks);
  only->grid.y = std::min(only->grid.y, 1U);
  only->grid.z = std::min(only->grid.z, 1U);
  return part;
}

// What the blocks wrote, against PyTorch at the same shape.
Status CheckSample(Verification& verification, Subject& subject, const Plan& part) {
  const uint64_t seed = verification.Secret(4000);
  KS_TRY(const TaskCase drawn,
         verification.tools.tasks.Evaluate(verification.task, subject.request, seed));
  KS_TRY(const CaseTensors values, ReadCase(drawn));
  KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(subject.task, values));
  KS_TRY(const RunOutcome run,
         verification.tools.device.Run({.plan = &part,
                                        .ptx = verification.compiled.ptx,
                                        .ptx_name = verification.compiled.ptx_path.string(),
                                        .inputs = FlattenTensors(arguments),
                                        .preparation_inputs = {},
                                        .poison_seed = seed | 1}));
  if (run.failure) {
    verification.Add(
        VerdictKind::kRefuted,
        {.kind = run.failure->fault ? Word(vgpu::FaultKindName(run.failure->fault->kind))
                                    : "launch_error",
         .message = run.failure->message});
    return {};
  }
  uint64_t judged = 0;
  for (size_t i = 0; i < run.outputs.size() && i < subject.task.results.size(); ++i) {
    const std::string& name = subject.task.results[i];
    const HostTensor& torch = values.values.at(name);
    const HostTensor& exact = values.expected.at(name);
    if (run.outputs[i].shape != torch.shape || !IsFloat(torch.dtype)) continue;
    ExpectedOutput expected{.name = name, .dtype = torch.dtype, .shape = torch.shape};
    std::vector<double> got;
    std::vector<int64_t> places;
    for (int64_t k = 0; k < torch.count(); ++k) {
      if (run.unwritten[i][static_cast<size_t>(k)]) continue;
      expected.exact.push_back(exact.at(k));
      expected.torch.push_back(torch.at(k));
      got.push_back(run.outputs[i].at(k));
      places.push_back(k);
    }
    OutputReference reference = expected.Reference(verification.AllowedEpsilon());
    reference.row = 0;
    const NumericComparison numbers = CompareNumbers(got, reference);
    judged += got.size();
    if (numbers.worst <= kSampledLimit) continue;
    verification.Add(
        VerdictKind::kRefuted,
        {.kind = "wrong_value",
         .message = fmt::format("{} is off by {:.3g} times what rounding explains at the timing "
                                "shape {}, where kernel {} runs that smaller shapes do not use",
                                name, numbers.worst / kLimit, subject.request.configuration.name,
                                KernelName(*Kernels(part).begin())),
         .counterexample = Counterexample{
             .configuration = subject.request.configuration.name,
             .values = subject.request.configuration.values,
             .inputs = "task",
             .seed = seed,
             .output = name,
             .index = IndexOf(static_cast<size_t>(places[numbers.worst_index]), torch.shape),
             .expected = numbers.expected,
             .got = numbers.got,
             .scales = numbers.worst,
             .wrong = numbers.wrong,
             .elements = numbers.elements}});
    return {};
  }
  verification.note += fmt::format("; {} elements of a part of its grid are right", judged);
  return {};
}

}  // namespace

Status TimingStage(Verification& verification) {
  if (verification.options.policy.shapes == VerifyPolicy::Shapes::kExact) {
    verification.skipped = true;
    verification.note = "the exact shape was judged";
    return {};
  }
  // The largest timing shape that fits.
  Subject subject;
  uint64_t largest = 0;
  for (const TaskConfiguration& each :
       verification.task.Configurations(verification.options.direction)) {
    if (each.group != "timing") continue;
    TaskRequest request{.direction = verification.options.direction,
                        .configuration = each,
                        .dtype = verification.options.dtype};
    Result<TaskGraph> graph = verification.tools.tasks.Export(verification.task, request);
    if (!graph.ok()) continue;
    const uint64_t bytes = Bytes(*graph);
    if (bytes > kMaxBytes || bytes <= largest) continue;
    largest = bytes;
    subject.request = std::move(request);
    subject.task = *std::move(graph);
  }
  if (largest == 0) {
    verification.skipped = true;
    verification.note = "no timing shape, or none that fits";
    return {};
  }
  const CaseTensors tiled = Tiled(subject.task, verification.subjects[0]->seen);
  KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(subject.task, tiled));
  KS_TRY(subject.graph, ReadGraph(subject.task.file));
  TraceOptions trace = verification.options.trace;
  trace.function =
      verification.options.direction == TaskDirection::kForward ? "forward" : "backward";
  for (const GraphOutput& output : subject.graph.outputs) {
    if (output.role == OutputRole::kMutated) continue;
    const TensorMeta& meta = subject.graph.meta(output.value);
    trace.results.push_back(
        {.dtype = meta.dtype, .shape = meta.shape, .strides = RowMajorStrides(meta.shape)});
  }
  KS_TRY(TraceOutcome traced,
         Trace(verification.compiled, arguments, trace, verification.tools.processes));
  for (const HostFinding& finding : traced.findings) {
    if (!Refutes(finding.kind)) continue;
    verification.Add(VerdictKind::kRefuted,
                     {.kind = Word(Name(finding.kind)),
                      .message = fmt::format("at the timing shape {}: {}",
                                             subject.request.configuration.name, finding.message),
                      .where = finding.where});
    return {};
  }
  if (!traced.plan) {
    verification.skipped = true;
    verification.note = "no plan at the timing shape";
    return {};
  }
  NotePlan(verification, *traced.plan);
  if (verification.Ended()) return {};
  std::set<std::string> judged;
  for (const auto& each : verification.subjects) {
    if (each != nullptr) judged.merge(Kernels(each->plan));
  }
  std::vector<std::string> fresh;
  for (const std::string& kernel : Kernels(*traced.plan)) {
    if (!judged.contains(kernel)) fresh.push_back(KernelName(kernel));
  }
  verification.note =
      fmt::format("{}: {}", subject.request.configuration.name,
                  fresh.empty() ? "the kernels of the smaller shapes" : "runs kernels of its own");
  if (fresh.empty()) return {};
  const std::optional<Plan> part = FirstBlocks(*traced.plan, verification.compiled.ptx);
  if (!part) {
    verification.Add(
        VerdictKind::kInconclusive,
        {.kind = "not_judged",
         .message = fmt::format("kernel {} runs at the timing shape {} only, which is "
                                "too large to be judged here",
                                fmt::join(fresh, ", "), subject.request.configuration.name)});
    return {};
  }
  return CheckSample(verification, subject, *part);
}

}  // namespace kernelsmith
