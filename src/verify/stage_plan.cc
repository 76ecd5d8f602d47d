#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "support/demangle.h"
#include "verify/device_code.h"
#include "verify/stages.h"

namespace kernelsmith {
namespace {

void NoteOnce(std::vector<std::string>& list, const std::string& name) {
  if (std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
}

// The quick configurations, then the others that are not meant for timing, and the first that is:
// with a long last axis, and with all sizes alike.
std::vector<TaskConfiguration> Choose(const Verification& verification) {
  const auto& all = verification.task.Configurations(verification.options.direction);
  if (verification.options.policy.shapes == VerifyPolicy::Shapes::kExact) {
    return {all.begin(), all.begin() + std::min<ptrdiff_t>(1, std::ssize(all))};
  }
  std::vector<TaskConfiguration> chosen;
  for (const bool quick : {true, false}) {
    for (const TaskConfiguration& each : all) {
      if ((each.group == "quick") == quick && each.group != "timing") chosen.push_back(each);
    }
  }
  if (chosen.empty()) chosen = all;
  if (chosen.size() > verification.options.configurations) {
    chosen.resize(verification.options.configurations);
  }
  if (chosen.front().group == "timing" || verification.options.timing_work == 0) return chosen;
  for (const TaskConfiguration& each : all) {
    if (each.group != "timing") continue;
    chosen.push_back(each);
    chosen.back().keep_inner = true;
    chosen.push_back(each);
    break;
  }
  return chosen;
}

// Several elements in one place: what a broadcast or an expanded tensor is.
bool Overlaps(const PlanTensor& tensor) {
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.shape[axis] > 1 && tensor.strides[axis] == 0) return true;
  }
  return false;
}

}  // namespace

void CheckOutputs(const Plan& plan, StageResult& stage) {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const PlanTensor& output = plan.outputs[i];
    const PlanBuffer& buffer = plan.buffers[output.at.buffer];
    if (Overlaps(output)) {
      stage.Add(
          VerdictKind::kRefuted,
          {.kind = FindingKind::kWrongStrides,
           .message = fmt::format("result {} has several elements in one place "
                                  "(shape {}, strides {})",
                                  i, FormatShape(output.shape), FormatShape(output.strides))});
    }
    const bool allocated = buffer.kind != PlanBuffer::Kind::kInput;
    if (allocated && (buffer.prepared || buffer.kind == PlanBuffer::Kind::kVariable)) {
      stage.Add(VerdictKind::kRefuted,
                {.kind = FindingKind::kStaticOutput,
                 .message = fmt::format("result {} lies in memory that every call returns "
                                        "again: a second call changes the first one's result",
                                        i)});
    }
    const uint64_t bytes = ExtentBytes(output).value_or(0);
    for (size_t j = 0; j < i; ++j) {
      const PlanTensor& other = plan.outputs[j];
      const uint64_t other_bytes = ExtentBytes(other).value_or(0);
      if (other.at.buffer != output.at.buffer || bytes == 0 || other_bytes == 0) continue;
      if (other.at.offset < output.at.offset + bytes &&
          output.at.offset < other.at.offset + other_bytes && other.strides == output.strides) {
        stage.Add(VerdictKind::kRefuted,
                  {.kind = FindingKind::kAliasedOutputs,
                   .message = fmt::format("results {} and {} share memory", j, i)});
      }
    }
  }
}

void NotePlan(Verification& verification, const Plan& plan, StageResult& stage) {
  Verdict& verdict = verification.verdict;
  std::vector<std::string> entries;
  std::set<uint32_t> streams;
  for (const PlanStep& step : plan.steps) {
    if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
      NoteOnce(verdict.kernels, KernelName(launch->kernel));
      entries.push_back(launch->kernel);
      streams.insert(step.stream);
    } else if (const auto* library = std::get_if<LibraryStep>(&step.action)) {
      NoteOnce(verdict.libraries, library->op);
    }
  }
  // What can't be read can't run either: the stages that run it say why.
  const Result<DeviceCode> read = ReadDeviceCode(verification.compiled().ptx, entries);
  const DeviceCode code = read.ok() ? *read : DeviceCode{};
  for (const std::string& each : code.precision) NoteOnce(verdict.proof.precision, each);
  if (!code.environment.empty()) {
    stage.Note({.kind = FindingKind::kReadsEnvironment,
                .message = fmt::format("a kernel reads {}: it could tell one run from "
                                       "another",
                                       fmt::join(code.environment, ", "))});
  }
  if (!code.cache_policy.empty()) {
    stage.Note({.kind = FindingKind::kCachePolicy,
                .message = fmt::format("a kernel asks for data to stay in L2 ({}): calls one "
                                       "after the other may look faster than they are",
                                       fmt::join(code.cache_policy, ", "))});
  }
  // The caller's own stream is number 0.
  if (streams.size() > 1 || (!streams.empty() && !streams.contains(0))) {
    stage.Note({.kind = FindingKind::kSeveralStreams,
                .message = streams.size() > 1
                               ? fmt::format("kernels run on {} streams", streams.size())
                               : "kernels run on a stream that is not the caller's"});
  }
  if (!plan.preparation.empty()) {
    stage.Note({.kind = FindingKind::kPreparation,
                .message = fmt::format("{} steps of the first call are kept for later ones "
                                       "(timed on their own)",
                                       plan.preparation.size())});
  }
  if (!verdict.libraries.empty() && verification.options.policy.no_libraries) {
    stage.Add(VerdictKind::kRefuted,
              {.kind = FindingKind::kLibraryCall,
               .message = fmt::format("delegates to {}, which --no-libraries forbids",
                                      fmt::join(verdict.libraries, ", "))});
  }
}

Result<StageResult> PlanStage(Verification& verification) {
  StageResult stage;
  verification.configurations = Choose(verification);
  if (verification.configurations.empty()) {
    return InvalidInput(fmt::format("task {} has no {} configuration", verification.task.name,
                                    Name(verification.options.direction)));
  }
  KS_TRY(const TracedShape* traced, verification.Prepare(0, stage));
  if (traced == nullptr) return stage;
  NotePlan(verification, traced->plan(), stage);
  CheckOutputs(traced->plan(), stage);
  stage.note = fmt::format("{} steps at {}", traced->plan().steps.size(),
                           traced->request.configuration.name);
  return stage;
}

}  // namespace kernelsmith
