#include "codegen/schedule.h"

#include <nlohmann/json.hpp>

namespace kernelsmith::codegen {

nlohmann::json ToJson(const Schedule& schedule) { return {{"genes", schedule.genes}}; }

Result<Schedule> ParseSchedule(std::string_view text, const std::string& file) {
  const nlohmann::json document = nlohmann::json::parse(text, nullptr, false, true);
  if (document.is_discarded()) return InvalidInput(file + ": not JSON");
  const auto genes = document.find("genes");
  if (!document.is_object() || genes == document.end() || !genes->is_object()) {
    return InvalidInput(file + ": a schedule is {\"genes\": {\"name\": number}}");
  }
  Schedule schedule;
  for (const auto& [name, value] : genes->items()) {
    if (!value.is_number_integer()) return InvalidInput(file + ": gene " + name + " is no integer");
    schedule.genes[name] = value.get<int64_t>();
  }
  return schedule;
}

}  // namespace kernelsmith::codegen
