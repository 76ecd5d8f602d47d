#include "verify/verify.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "graph/graph.h"
#include "support/rng.h"
#include "tensor/tensor.h"
#include "verify/arguments.h"
#include "verify/oracle.h"

namespace kernelsmith {
namespace {

// "illegal address" as a word for programs: illegal_address.
std::string Word(std::string text) {
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

// The name in the source: without the namespace and parameters that the mangled name carries.
std::string KernelName(const std::string& mangled) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  if (demangled == nullptr) return mangled;
  std::string name = demangled;
  std::free(demangled);
  constexpr char kAnonymous[] = "(anonymous namespace)::";
  if (const size_t at = name.find(kAnonymous); at != std::string::npos) {
    name.erase(at, sizeof kAnonymous - 1);
  }
  name = name.substr(0, name.find('('));
  return name.starts_with("void ") ? name.substr(5) : name;
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

// One verification under way. The verdict starts as verified and can only get worse.
class Verification {
 public:
  Verification(const Task& task, const std::filesystem::path& candidate,
               const VerifyOptions& options, const VerifyTools& tools)
      : task_(task), candidate_(candidate), options_(options), tools_(tools) {
    verdict_.kind = VerdictKind::kVerified;
    verdict_.task = task.name;
    verdict_.direction = Name(options.direction);
    verdict_.dtype = options.dtype;
    verdict_.candidate = candidate.string();
    verdict_.seed = options.seed;
  }

  Result<Verdict> Run() {
    const Clock::Duration start = tools_.clock.Now();
    KS_RETURN_IF_ERROR(RunStages());
    verdict_.seconds = std::chrono::duration<double>(tools_.clock.Now() - start).count();
    return std::move(verdict_);
  }

 private:
  Status RunStages() {
    Result<CompiledCandidate> compiled = tools_.compiler.Compile(candidate_, options_.compile);
    if (!compiled.ok()) return CompileFailed(compiled.error());
    const std::vector<TaskConfiguration> configurations = Choose();
    if (configurations.empty()) {
      return InvalidInput(
          fmt::format("task {} has no {} configuration", task_.name, Name(options_.direction)));
    }
    tools_.progress.Begin("verify", configurations.size());
    Status status;
    for (size_t i = 0; i < configurations.size() && status.ok() && StillVerified(); ++i) {
      status = CheckConfiguration(*compiled, configurations[i]);
      tools_.progress.Update(i + 1, configurations[i].name);
    }
    tools_.progress.End();
    return status;
  }

  bool StillVerified() const { return verdict_.kind == VerdictKind::kVerified; }

  void Add(VerdictKind kind, Finding finding) {
    // Refuted is the strongest word; among the others the first stands.
    if (StillVerified() || kind == VerdictKind::kRefuted) verdict_.kind = kind;
    verdict_.findings.push_back(std::move(finding));
  }

  // The compiler's own words, with their lines. A candidate that is no CUDA is wrong; one that uses
  // an API we lack may be right; a missing compiler or file is nobody's fault but the caller's.
  Status CompileFailed(const Error& error) {
    const Diagnostic& first = error.diagnostics().front();
    const bool placed = !first.where.file.empty();
    if (error.kind() == ErrorKind::kInvalidInput && placed) {
      for (const Diagnostic& each : error.diagnostics()) {
        Add(VerdictKind::kRefuted,
            {.kind = "compile_error", .message = each.message, .where = each.where});
      }
      return {};
    }
    if (error.kind() == ErrorKind::kUnsupported) {
      Add(VerdictKind::kUnsupported,
          {.kind = "unsupported", .message = first.message, .where = first.where});
      return {};
    }
    return error;
  }

  // The quick configurations, then the others that are not meant for timing.
  std::vector<TaskConfiguration> Choose() const {
    std::vector<TaskConfiguration> chosen;
    const auto& all = task_.Configurations(options_.direction);
    for (const bool quick : {true, false}) {
      for (const TaskConfiguration& each : all) {
        if ((each.group == "quick") == quick && each.group != "timing") chosen.push_back(each);
      }
    }
    if (chosen.empty()) chosen = all;
    if (chosen.size() > options_.configurations) chosen.resize(options_.configurations);
    return chosen;
  }

  Status CheckConfiguration(const CompiledCandidate& compiled,
                            const TaskConfiguration& configuration) {
    TaskRequest request{
        .direction = options_.direction, .configuration = configuration, .dtype = options_.dtype};
    KS_TRY(request.configuration, tools_.tasks.Reduce(task_, request, options_.work));
    KS_TRY(const TaskGraph task_graph, tools_.tasks.Export(task_, request));
    KS_TRY(const Graph graph, ReadGraph(task_graph.file));
    const Rng rng(options_.seed);
    // The candidate's host code sees this draw and no other.
    KS_TRY(const CaseTensors seen, Draw(request, rng.Fork(0).Next()));
    KS_TRY(const std::vector<CallArgument> seen_arguments, MakeCallArguments(task_graph, seen));
    TraceOptions trace = options_.trace;
    trace.function = options_.direction == TaskDirection::kForward ? "forward" : "backward";
    trace.results = ResultTensors(task_graph, seen);
    KS_TRY(const TraceOutcome traced, Trace(compiled, seen_arguments, trace, tools_.processes));
    for (const HostFinding& finding : traced.findings) {
      Add(Refutes(finding.kind) ? VerdictKind::kRefuted : VerdictKind::kUnsupported,
          {.kind = Word(Name(finding.kind)), .message = finding.message, .where = finding.where});
    }
    if (!traced.plan) {
      if (traced.findings.empty()) {
        Add(VerdictKind::kInconclusive,
            {.kind = "no_plan", .message = "the host code has no plan"});
      }
      return {};
    }
    NoteSteps(*traced.plan);
    for (int draw = 1; draw <= options_.draws && StillVerified(); ++draw) {
      const uint64_t seed = rng.Fork(static_cast<uint64_t>(draw)).Next();
      KS_TRY(const CaseTensors values, Draw(request, seed));
      KS_RETURN_IF_ERROR(
          CheckDraw(compiled, *traced.plan, task_graph, graph, request, values, seed));
    }
    return {};
  }

  Result<CaseTensors> Draw(const TaskRequest& request, uint64_t seed) {
    // PyTorch's generators take 63 bits.
    KS_TRY(const TaskCase sample, tools_.tasks.Evaluate(task_, request, seed >> 1));
    return ReadCase(sample);
  }

  // Row-major tensors like the expected results, for launchers that write into given outputs.
  static std::vector<PlanTensor> ResultTensors(const TaskGraph& graph, const CaseTensors& values) {
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

  void NoteSteps(const Plan& plan) {
    const auto note = [](std::vector<std::string>& list, const std::string& name) {
      if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    };
    for (const PlanStep& step : plan.steps) {
      if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
        note(verdict_.kernels, KernelName(launch->kernel));
      } else if (const auto* library = std::get_if<LibraryStep>(&step.action)) {
        note(verdict_.libraries, library->op);
      }
    }
  }

  Status CheckDraw(const CompiledCandidate& compiled, const Plan& plan, const TaskGraph& task_graph,
                   const Graph& graph, const TaskRequest& request, const CaseTensors& values,
                   uint64_t seed) {
    KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(task_graph, values));
    Result<RunOutcome> ran = tools_.device.Run({.plan = &plan,
                                                .ptx = compiled.ptx,
                                                .ptx_name = compiled.ptx_path.string(),
                                                .inputs = FlattenTensors(arguments),
                                                .poison_seed = seed | 1});
    if (!ran.ok()) {
      if (ran.error().kind() != ErrorKind::kUnsupported) return ran.error();
      const Diagnostic& first = ran.error().diagnostics().front();
      Add(VerdictKind::kUnsupported,
          {.kind = "unsupported", .message = first.message, .where = first.where});
      return {};
    }
    if (ran->failure) {
      RunFailed(*ran->failure);
      return {};
    }
    CheckInputs(*ran, arguments, task_graph, graph);
    KS_TRY(const std::vector<ExpectedOutput> expected,
           ExpectedOutputs(graph, values, task_graph.results));
    if (expected.size() != ran->outputs.size()) {
      Add(VerdictKind::kRefuted, {.kind = "wrong_output_count",
                                  .message = fmt::format("returned {} tensors, the task has {}",
                                                         ran->outputs.size(), expected.size())});
      return {};
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      CheckOutput(expected[i], ran->outputs[i], ran->unwritten[i], graph,
                  request.configuration.name, seed);
    }
    KS_TRY(const std::vector<ExpectedOutput> mutated,
           ExpectedOutputs(graph, values, task_graph.mutated));
    for (const ExpectedOutput& each : mutated) {
      const HostTensor* after = InputAfter(*ran, arguments, each.name);
      if (after == nullptr) continue;
      CheckOutput(each, *after, {}, graph, request.configuration.name, seed);
    }
    return {};
  }

  void RunFailed(const RunOutcome::Failure& failure) {
    if (!failure.fault) {
      Add(VerdictKind::kRefuted, {.kind = "launch_error", .message = failure.message});
      return;
    }
    const vgpu::Fault& fault = *failure.fault;
    // A kernel that only spins may be waiting for something that our time limit did not allow.
    const bool sure = fault.kind != vgpu::FaultKind::kNoProgress;
    Add(sure ? VerdictKind::kRefuted : VerdictKind::kInconclusive,
        {.kind = Word(vgpu::FaultKindName(fault.kind)),
         .message = fault.message,
         .where = fault.source.file.empty() ? fault.ptx : fault.source});
  }

  // The input tensor that "mutated.running_mean" speaks of.
  static const HostTensor* InputAfter(const RunOutcome& outcome,
                                      const std::vector<CallArgument>& arguments,
                                      const std::string& name) {
    const std::vector<const CallArgument*> tensors = FlattenTensors(arguments);
    for (size_t i = 0; i < tensors.size() && i < outcome.inputs.size(); ++i) {
      if ("mutated." + tensors[i]->name == name) return &outcome.inputs[i];
    }
    return nullptr;
  }

  void CheckInputs(const RunOutcome& outcome, const std::vector<CallArgument>& arguments,
                   const TaskGraph& task_graph, const Graph& graph) {
    const std::vector<const CallArgument*> tensors = FlattenTensors(arguments);
    for (size_t i = 0; i < outcome.input_changed.size() && i < tensors.size(); ++i) {
      if (!outcome.input_changed[i]) continue;
      const std::string& name = tensors[i]->name;
      const auto& mutated = task_graph.mutated;
      if (std::find(mutated.begin(), mutated.end(), "mutated." + name) != mutated.end()) continue;
      Add(VerdictKind::kRefuted,
          {.kind = "input_modified",
           .message = fmt::format("input '{}' was overwritten; the task leaves it alone", name)});
    }
  }

  void CheckOutput(const ExpectedOutput& expected, const HostTensor& got,
                   const std::vector<bool>& unwritten, const Graph& graph,
                   const std::string& configuration, uint64_t seed) {
    if (got.shape != expected.shape || got.dtype != expected.dtype) {
      Add(VerdictKind::kRefuted,
          {.kind = got.shape != expected.shape ? "wrong_shape" : "wrong_dtype",
           .message = fmt::format("{} is {} {}, the task's is {} {}", expected.name,
                                  DTypeName(got.dtype), FormatShape(got.shape),
                                  DTypeName(expected.dtype), FormatShape(expected.shape))});
      return;
    }
    const auto missing =
        static_cast<uint64_t>(std::count(unwritten.begin(), unwritten.end(), true));
    if (missing > 0) {
      const auto first = static_cast<size_t>(std::find(unwritten.begin(), unwritten.end(), true) -
                                             unwritten.begin());
      Add(VerdictKind::kRefuted,
          {.kind = "unwritten",
           .message = fmt::format("{} of {} elements of {} were never written, the first at [{}]",
                                  missing, unwritten.size(), expected.name,
                                  fmt::join(IndexOf(first, expected.shape), ", "))});
      return;
    }
    std::vector<double> elements(static_cast<size_t>(got.count()));
    for (size_t i = 0; i < elements.size(); ++i) elements[i] = got.at(static_cast<int64_t>(i));
    const NumericComparison comparison = CompareNumbers(elements, expected.Reference());
    // The usual check of kernel benchmarks, for the report alone.
    const bool allclose = AllClose(elements, expected.torch, 1e-3, 1e-3);
    verdict_.numbers.push_back({.configuration = configuration,
                                .seed = seed,
                                .output = expected.name,
                                .elements = comparison.elements,
                                .worst = comparison.worst,
                                .allclose = allclose});
    if (comparison.passed()) return;
    Counterexample example{.configuration = configuration,
                           .seed = seed,
                           .output = expected.name,
                           .index = IndexOf(comparison.worst_index, expected.shape),
                           .expected = comparison.expected,
                           .got = comparison.got,
                           .scales = comparison.worst,
                           .wrong = comparison.wrong,
                           .elements = comparison.elements};
    if (HasSeveralAnswers(graph)) {
      Add(VerdictKind::kInconclusive,
          {.kind = "several_answers",
           .message =
               fmt::format("{} differs from PyTorch's, but the task chooses among equals and "
                           "another choice may be right",
                           expected.name),
           .counterexample = std::move(example)});
      return;
    }
    Add(VerdictKind::kRefuted,
        {.kind = "wrong_value",
         .message = fmt::format("{} is off by {:.3g} times what rounding explains", expected.name,
                                comparison.worst / kLimit),
         .counterexample = std::move(example)});
  }

  const Task& task_;
  const std::filesystem::path& candidate_;
  const VerifyOptions& options_;
  const VerifyTools& tools_;
  Verdict verdict_;
};

}  // namespace

Result<Verdict> Verify(const Task& task, const std::filesystem::path& candidate,
                       const VerifyOptions& options, const VerifyTools& tools) {
  return Verification(task, candidate, options, tools).Run();
}

}  // namespace kernelsmith
