#include "measure/plan_estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "graph/aten_ops.h"
#include "support/demangle.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

namespace {

double BytesOf(const TensorMeta& meta) {
  // Expanded tensors (stride 0) are smaller than their shape.
  double count = 1;
  double extent = 1;
  for (size_t i = 0; i < meta.shape.size(); ++i) {
    if (meta.shape[i] == 0) return 0;
    count *= static_cast<double>(meta.shape[i]);
    if (i < meta.strides.size()) {
      extent += static_cast<double>((meta.shape[i] - 1) * meta.strides[i]);
    }
  }
  return std::min(count, extent) * static_cast<double>(SizeOf(meta.dtype));
}

void Visit(const Argument& argument, const std::function<void(const ValueRef&)>& use) {
  if (const auto* ref = std::get_if<ValueRef>(&argument.value)) use(*ref);
  if (const auto* list = std::get_if<Argument::List>(&argument.value)) {
    for (const Argument& item : *list) Visit(item, use);
  }
}

}  // namespace

double TaskFloor::Seconds(const GpuModel& gpu) const {
  return std::max(bytes / gpu.memory_bandwidth, flops / gpu.rates.tensor_fp16);
}

TaskFloor FloorOf(const Graph& graph, const std::vector<EagerOperator>& eager) {
  TaskFloor floor;
  std::vector<double> read(graph.nodes.size(), 0);
  const auto whole = [&](size_t node) { return BytesOf(*graph.nodes[node].outputs.front()); };
  for (const Node& node : graph.nodes) {
    for (const Argument& argument : node.args) {
      Visit(argument, [&](const ValueRef& ref) {
        if (graph.nodes[ref.node].kind != NodeKind::kPlaceholder) return;
        double bytes = whole(ref.node);
        if (OperatorOf(node.aten).facts.reads_part) {
          double part = 0;
          for (const auto& output : node.outputs) part += output ? BytesOf(*output) : 0;
          bytes = std::min(bytes, part);
        }
        read[ref.node] += bytes;
      });
    }
  }
  for (const size_t placeholder : graph.placeholders) {
    floor.bytes += std::min(read[placeholder], whole(placeholder));
  }
  for (const GraphOutput& output : graph.outputs) floor.bytes += BytesOf(graph.meta(output.value));
  for (const EagerOperator& op : eager) floor.flops += WorkOf(op).flops;
  return floor;
}

PlanEstimate EstimatePlan(const PlanProfile& profile, const TaskFloor& floor, const GpuModel& gpu,
                          const CallOverhead& overhead) {
  PlanEstimate estimate;
  estimate.seconds = overhead.call;
  double longest = -1;
  for (const StepProfile& step : profile.steps) {
    PlanEstimate::Step each{.name = step.name};
    std::string limit;
    switch (step.kind) {
      case StepProfile::Kind::kLaunch:
        each.launch = EstimateLaunch(step.counters, gpu);
        each.seconds = each.launch->seconds;
        limit = each.launch->limit;
        break;
      case StepProfile::Kind::kLibrary: {
        const OperatorWork work = WorkOf(step.library);
        each.seconds = OperatorSeconds(work, gpu) - OperatorOverheadSeconds(work);
        limit = "a library's operator: " + step.name;
        break;
      }
      default:
        each.seconds = static_cast<double>(step.bytes) / gpu.memory_bandwidth;
        limit = "DRAM: " + step.name;
    }
    if (each.seconds > longest) {
      longest = each.seconds;
      estimate.limit = limit;
    }
    estimate.device_seconds += each.seconds;
    estimate.seconds += each.seconds + overhead.launch;
    estimate.steps.push_back(std::move(each));
  }
  estimate.floor_seconds = floor.Seconds(gpu);
  if (estimate.device_seconds < estimate.floor_seconds) {
    estimate.at_floor = true;
    estimate.seconds += estimate.floor_seconds - estimate.device_seconds;
    estimate.device_seconds = estimate.floor_seconds;
  }
  return estimate;
}

Result<CandidateEstimate> EstimateCandidate(const MeasuredPlan& plan, ObservableDevice& device,
                                            ToolFinder& tools, ProcessRunner& processes,
                                            const PlanProfileOptions& options) {
  CandidateEstimate result;
  KS_TRY(result.profile, ProfilePlan(plan, device, tools, processes, options));
  if (!result.profile.failure.empty()) {
    return InvalidInput(
        fmt::format("{} goes wrong: {}", plan.candidate->path().string(), result.profile.failure));
  }
  KS_TRY(const std::vector<EagerOperator> operators, ReadEager(plan.measured->graph.file.string()));
  KS_TRY(const Graph graph, ReadGraph(plan.measured->graph.file));
  result.floor = FloorOf(graph, operators);
  result.candidate = EstimatePlan(result.profile, result.floor, *options.gpu);
  result.eager = EstimateEager(operators, *options.gpu);
  return result;
}

std::string StepsText(const nlohmann::json& steps) {
  const auto field = [](const nlohmann::json& of, const char* name) {
    return of.contains(name) && of[name].is_string() ? of[name].get<std::string>() : std::string();
  };
  std::string text;
  if (!steps.is_array()) return text;
  for (const nlohmann::json& each : steps) {
    std::string part;
    if (each.is_string()) {
      part = each.get<std::string>();
    } else if (each.is_object()) {
      const bool timed = each.contains("us") && each["us"].is_number();
      part = fmt::format("{} {:.2f} us", KernelName(field(each, "name")),
                         timed ? each["us"].get<double>() : 0.0);
      if (each.contains("launch") && each["launch"].is_object()) {
        part += ", " + field(each["launch"], "limit");
      }
    }
    if (!part.empty()) text += (text.empty() ? "" : "; ") + part;
  }
  return text;
}

nlohmann::json ToJson(const PlanEstimate& estimate) {
  nlohmann::json steps = nlohmann::json::array();
  for (const PlanEstimate::Step& step : estimate.steps) {
    nlohmann::json each{{"name", step.name}, {"us", step.seconds * 1e6}};
    if (step.launch) each["launch"] = ToJson(*step.launch);
    steps.push_back(std::move(each));
  }
  return {{"kind", "estimated"},
          {"us", estimate.seconds * 1e6},
          {"device_us", estimate.device_seconds * 1e6},
          {"floor_us", estimate.floor_seconds * 1e6},
          {"at_floor", estimate.at_floor},
          {"limit", estimate.limit},
          {"steps", std::move(steps)}};
}

}  // namespace kernelsmith
