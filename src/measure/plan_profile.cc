#include "measure/plan_profile.h"

#include <fmt/format.h>

#include "counters/ptxas.h"

namespace kernelsmith {

namespace {

using counters::CounterObserver;
using counters::LaunchCounters;

uint64_t BytesOf(const PlanTensor& tensor) {
  return static_cast<uint64_t>(ElementCount(tensor.shape).value_or(0) * SizeOf(tensor.dtype));
}

// Everything but a launch; nothing for steps that take no time on the GPU.
struct StepCost {
  StepProfile profile;
  bool counts = false;

  void operator()(const LaunchStep&) {}
  void operator()(const FillStep& step) {
    Set(StepProfile::Kind::kFill, "fill",
        step.width * step.height * step.depth * step.element_bytes);
  }
  void operator()(const CopyStep& step) {
    Set(StepProfile::Kind::kCopy, "copy", 2 * step.width * step.height * step.depth);
  }
  void operator()(const UploadStep& step) {
    Set(StepProfile::Kind::kUpload, "upload", step.data.size());
  }
  void operator()(const HostReadStep&) {}
  void operator()(const EventStep&) {}
  void operator()(const LibraryStep& step) {
    uint64_t bytes = 0;
    for (const PlanTensor& tensor : step.tensors) bytes += BytesOf(tensor);
    for (const PlanTensor& tensor : step.outputs) bytes += BytesOf(tensor);
    Set(StepProfile::Kind::kLibrary, step.op, bytes);
    profile.library.op = step.op;
    for (const PlanTensor& tensor : step.tensors) {
      profile.library.inputs.push_back({.shape = tensor.shape, .dtype = tensor.dtype});
    }
    for (const PlanTensor& tensor : step.outputs) {
      profile.library.outputs.push_back({.shape = tensor.shape, .dtype = tensor.dtype});
    }
  }

 private:
  void Set(StepProfile::Kind kind, std::string name, uint64_t bytes) {
    profile.kind = kind;
    profile.name = std::move(name);
    profile.bytes = bytes;
    counts = true;
  }
};

struct Counted {
  WatchedRun outcome;
  std::vector<LaunchCounters> launches;
};

Result<Counted> Count(const MeasuredPlan& plan, ObservableDevice& device,
                      const PlanProfileOptions& options, bool run_others) {
  CounterObserver observer({.gpu = options.gpu,
                            .memory = &device.gpu().memory(),
                            .max_blocks = options.max_blocks,
                            .max_instructions = options.max_instructions,
                            .seed = options.seed,
                            .run_others = run_others});
  RunRequest run;
  const CompiledCandidate& compiled = plan.candidate->compiled();
  run.plan = &plan.plan();
  run.ptx = compiled.ptx;
  run.ptx_name = compiled.ptx_path.filename().string();
  run.inputs = FlattenTensors(plan.measured->call.arguments);
  run.results = false;
  Counted counted;
  KS_TRY(counted.outcome, device.RunWatched(run, {.observer = &observer}));
  counted.launches = observer.launches();
  return counted;
}

}  // namespace

const char* Name(StepProfile::Kind kind) {
  switch (kind) {
    case StepProfile::Kind::kLaunch:
      return "launch";
    case StepProfile::Kind::kFill:
      return "fill";
    case StepProfile::Kind::kCopy:
      return "copy";
    case StepProfile::Kind::kUpload:
      return "upload";
    case StepProfile::Kind::kLibrary:
      return "library";
  }
  return "";
}

Result<PlanProfile> ProfilePlan(const MeasuredPlan& plan, ObservableDevice& device,
                                ToolFinder& tools, ProcessRunner& processes,
                                const PlanProfileOptions& options) {
  KS_TRY(Counted counted, Count(plan, device, options, options.run_all_blocks));
  if (counted.outcome.failure && !options.run_all_blocks) {
    KS_TRY(counted, Count(plan, device, options, /*run_others=*/true));
  }
  const std::map<std::string, counters::PtxasKernel> known =
      counters::RunPtxas(plan.candidate->compiled().ptx_path, tools, processes).kernels;
  PlanProfile profile{.registers_from_ptxas = !known.empty()};
  if (counted.outcome.failure) {
    profile.failure = counted.outcome.failure->message;
    profile.failure_kind = counted.outcome.failure->kind;
  }
  size_t next = 0;
  for (size_t i = 0; i < plan.plan().steps.size(); ++i) {
    const PlanStep& step = plan.plan().steps[i];
    if (std::holds_alternative<LaunchStep>(step.action)) {
      if (next >= counted.launches.size()) break;
      StepProfile each{.step = i, .name = counted.launches[next].kernel, .stream = step.stream};
      each.counters = counted.launches[next++];
      const auto found = known.find(each.name);
      counters::SetOccupancy(each.counters, *options.gpu,
                             found == known.end() ? nullptr : &found->second);
      profile.steps.push_back(std::move(each));
      continue;
    }
    StepCost cost;
    std::visit(cost, step.action);
    if (!cost.counts) continue;
    cost.profile.step = i;
    cost.profile.stream = step.stream;
    profile.steps.push_back(std::move(cost.profile));
  }
  return profile;
}

nlohmann::json ToJson(const PlanProfile& profile) {
  nlohmann::json steps = nlohmann::json::array();
  for (const StepProfile& step : profile.steps) {
    nlohmann::json each{{"kind", Name(step.kind)}, {"name", step.name}, {"step", step.step}};
    if (step.kind == StepProfile::Kind::kLaunch) {
      each["counters"] = counters::ToJson(step.counters);
    } else {
      each["bytes"] = step.bytes;
    }
    steps.push_back(std::move(each));
  }
  nlohmann::json json{{"steps", std::move(steps)}};
  if (!profile.failure.empty()) json["failure"] = profile.failure;
  return json;
}

std::string ToText(const PlanProfile& profile) {
  std::string text;
  for (const StepProfile& step : profile.steps) {
    if (step.kind == StepProfile::Kind::kLaunch) {
      text += counters::ToText(step.counters);
    } else {
      text += fmt::format("{} {}: {} bytes read and written\n", Name(step.kind),
                          EscapeForTerminal(step.name), step.bytes);
    }
  }
  if (!profile.failure.empty()) {
    text += "the run ended early: " + EscapeForTerminal(profile.failure) + "\n";
  }
  return text;
}

}  // namespace kernelsmith
