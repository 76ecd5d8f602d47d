#include "verify/replay.h"

#include <fmt/format.h>

#include "support/json.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

using nlohmann::json;

Result<ReplayFile> ParseReplay(std::string_view text, const std::string& file) {
  KS_TRY(const json report, ParseJson(text, file));
  const auto text_of = [](const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!report.is_object() || !report.contains("findings") || !report["findings"].is_array()) {
    return InvalidInput(fmt::format("{}: not a report of kernelsmith verify --json", file));
  }
  ReplayFile replay{
      .task = text_of(report, "task_path"),
      .direction = text_of(report, "direction"),
      .dtype = text_of(report, "dtype"),
      .mode = report.contains("mode") ? text_of(report, "mode") : "task",
      .gpu = report.contains("gpu") ? text_of(report, "gpu") : std::string(DefaultGpuModel().key),
      .candidate = text_of(report, "candidate"),
      .candidate_hash = text_of(report, "candidate_sha256"),
      .example = {}};
  if (replay.task.empty()) replay.task = text_of(report, "task");
  for (const json& finding : report["findings"]) {
    if (!finding.is_object() || !finding.contains("counterexample")) continue;
    const json& example = finding["counterexample"];
    if (!example.is_object() || !example.contains("seed") ||
        !example["seed"].is_number_unsigned() || !example.contains("values")) {
      continue;
    }
    replay.example.configuration = text_of(example, "configuration");
    replay.example.values = example["values"];
    replay.example.inputs = text_of(example, "inputs");
    replay.example.seed = example["seed"].get<uint64_t>();
    replay.example.output = text_of(example, "output");
    return replay;
  }
  return InvalidInput(fmt::format("{}: no finding has a counterexample", file));
}

}  // namespace kernelsmith
