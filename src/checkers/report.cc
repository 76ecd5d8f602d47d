#include "checkers/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "support/demangle.h"

namespace kernelsmith::checkers {

namespace {

using nlohmann::json;

json DimJson(const vgpu::Dim3& d) { return json::array({d.x, d.y, d.z}); }

void PlaceJson(const Place& place, json& to) {
  const bool source = !place.source.file.empty();
  to["file"] = source ? json(place.source.file) : json(nullptr);
  to["line"] = source ? json(place.source.line) : json(nullptr);
  to["kernel"] = place.kernel.empty() ? json(nullptr) : json(place.kernel);
  to["kernel_name"] = place.kernel.empty() ? json(nullptr) : json(KernelName(place.kernel));
  to["block"] = place.block ? DimJson(*place.block) : json(nullptr);
  to["thread"] = place.thread ? DimJson(*place.thread) : json(nullptr);
  if (place.ptx.line > 0) to["ptx"] = {{"file", place.ptx.file}, {"line", place.ptx.line}};
  if (!place.instruction.empty()) to["instruction"] = place.instruction;
  if (!place.function.empty()) to["function"] = place.function;
}

// -- the file between two processes: everything, by field -----------------------------------------

json Pack(const Place& p) {
  json j{{"k", p.kernel},    {"f", p.source.file}, {"l", p.source.line}, {"pf", p.ptx.file},
         {"pl", p.ptx.line}, {"i", p.instruction}, {"fn", p.function}};
  if (p.block) j["b"] = DimJson(*p.block);
  if (p.thread) j["t"] = DimJson(*p.thread);
  for (const HostFrame& frame : p.frames) {
    j["fr"].push_back(json::array({frame.module, frame.offset, frame.symbol}));
  }
  return j;
}

std::optional<vgpu::Dim3> UnpackDim(const json& j, const char* name) {
  if (!j.contains(name)) return std::nullopt;
  return vgpu::Dim3{j[name].at(0), j[name].at(1), j[name].at(2)};
}

Place UnpackPlace(const json& j) {
  Place p{.kernel = j.at("k"),
          .source = {.file = j.at("f"), .line = j.at("l")},
          .ptx = {.file = j.at("pf"), .line = j.at("pl")},
          .instruction = j.at("i"),
          .function = j.at("fn"),
          .block = UnpackDim(j, "b"),
          .thread = UnpackDim(j, "t")};
  if (j.contains("fr")) {
    for (const json& frame : j["fr"]) {
      p.frames.push_back({.module = frame.at(0), .offset = frame.at(1), .symbol = frame.at(2)});
    }
  }
  return p;
}

}  // namespace

json ToJson(const Finding& finding) {
  json j;
  j["kind"] = Name(finding.kind);
  j["severity"] = NameOf(finding.severity);
  j["space"] = finding.space == Space::kNone ? json(nullptr) : json(NameOf(finding.space));
  PlaceJson(finding.place, j);
  j["message"] = finding.message;
  j["count"] = finding.count;
  if (finding.address != 0) j["address"] = fmt::format("0x{:x}", finding.address);
  j["other"] = nullptr;
  if (finding.other) {
    json other;
    PlaceJson(*finding.other, other);
    other["message"] = finding.other_message;
    j["other"] = std::move(other);
  }
  if (finding.allocation) {
    json allocation{{"address", fmt::format("0x{:x}", finding.allocation->address)},
                    {"size", finding.allocation->size},
                    {"what", finding.allocation->where}};
    if (finding.allocated) PlaceJson(*finding.allocated, allocation);
    j["allocation"] = std::move(allocation);
  }
  return j;
}

json ReportJson(const std::vector<Finding>& findings) {
  json all = json::array();
  int errors = 0;
  int warnings = 0;
  for (const Finding& finding : findings) {
    all.push_back(ToJson(finding));
    errors += finding.severity == Severity::kError;
    warnings += finding.severity == Severity::kWarning;
  }
  return {{"findings", std::move(all)}, {"errors", errors}, {"warnings", warnings}};
}

namespace {

json SarifLocation(const Place& place, const std::string& message) {
  json location;
  const SourceLocation& line = place.source.file.empty() ? place.ptx : place.source;
  if (!line.file.empty()) {
    location["physicalLocation"]["artifactLocation"]["uri"] = line.file;
    if (line.line > 0) location["physicalLocation"]["region"]["startLine"] = line.line;
  }
  if (!place.kernel.empty()) {
    location["logicalLocations"] = json::array({{{"fullyQualifiedName", KernelName(place.kernel)},
                                                 {"decoratedName", place.kernel},
                                                 {"kind", "function"}}});
  } else if (!place.function.empty()) {
    location["logicalLocations"] =
        json::array({{{"fullyQualifiedName", place.function}, {"kind", "function"}}});
  }
  if (!message.empty()) location["message"]["text"] = message;
  return location;
}

json SarifResult(const Finding& finding) {
  json result{{"ruleId", Name(finding.kind)},
              {"level", NameOf(finding.severity)},
              {"message", {{"text", finding.message}}},
              {"locations", json::array({SarifLocation(finding.place, "")})},
              {"occurrenceCount", finding.count},
              {"properties", ToJson(finding)}};
  json related = json::array();
  if (finding.other) related.push_back(SarifLocation(*finding.other, finding.other_message));
  if (finding.allocated) related.push_back(SarifLocation(*finding.allocated, "allocated here"));
  if (!related.empty()) result["relatedLocations"] = std::move(related);
  return result;
}

json SarifRule(FindingKind kind, const std::string& home) {
  const FindingKindRow& row = RowOf(kind);
  json rule{{"id", row.word},
            {"shortDescription", {{"text", row.meaning}}},
            {"help", {{"text", fmt::format("{} {}", row.meaning, row.advice)}}},
            {"defaultConfiguration", {{"level", NameOf(row.severity)}}}};
  if (!home.empty()) rule["helpUri"] = home + "/" + DocumentationOf(kind);
  return rule;
}

}  // namespace

json ReportSarif(const std::vector<Finding>& findings, const SarifTool& tool) {
  json results = json::array();
  std::set<FindingKind> kinds;
  for (const Finding& finding : findings) {
    kinds.insert(finding.kind);
    results.push_back(SarifResult(finding));
  }
  json rules = json::array();
  for (const FindingKind kind : kinds) rules.push_back(SarifRule(kind, tool.home));
  return {{"version", "2.1.0"},
          {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"runs", json::array({{{"tool",
                                  {{"driver",
                                    {{"name", "kernelsmith"},
                                     {"version", tool.version},
                                     {"rules", std::move(rules)}}}}},
                                 {"results", std::move(results)}}})}};
}

std::string EncodeFinding(const Finding& finding) {
  json j{{"kind", Name(finding.kind)},
         {"sev", static_cast<int>(finding.severity)},
         {"space", static_cast<int>(finding.space)},
         {"place", Pack(finding.place)},
         {"msg", finding.message},
         {"addr", finding.address},
         {"count", finding.count}};
  if (finding.other) {
    j["other"] = Pack(*finding.other);
    j["omsg"] = finding.other_message;
    j["host"] = finding.host_sees_it;
  }
  if (finding.allocation) {
    j["alloc"] = json::array({finding.allocation->address, finding.allocation->size,
                              finding.allocation->where, finding.allocation->freed});
  }
  if (finding.allocated) j["made"] = Pack(*finding.allocated);
  return json{{"finding", std::move(j)}}.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string EncodeCounts(const std::vector<Finding>& findings) {
  json counts = json::array();
  for (const Finding& f : findings) {
    counts.push_back(json::array({f.count, static_cast<int>(f.severity)}));
  }
  return json{{"counts", std::move(counts)}}.dump();
}

Result<std::vector<Finding>> DecodeReport(std::string_view text) {
  std::vector<Finding> findings;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // the program was killed while it wrote this
    const json line = json::parse(text.substr(0, end), nullptr, false);
    text.remove_prefix(end + 1);
    try {
      if (line.contains("finding")) {
        const json& j = line["finding"];
        const std::optional<FindingKind> kind = FindingKindOf(j.at("kind").get<std::string>());
        if (!kind) return InvalidInput("the report of the checked run has an unknown finding");
        Finding f{.kind = *kind,
                  .severity = static_cast<Severity>(j.at("sev").get<int>()),
                  .space = static_cast<Space>(j.at("space").get<int>()),
                  .place = UnpackPlace(j.at("place")),
                  .message = j.at("msg"),
                  .address = j.at("addr"),
                  .count = j.at("count")};
        if (j.contains("other")) {
          f.other = UnpackPlace(j["other"]);
          f.other_message = j.at("omsg");
          f.host_sees_it = j.at("host");
        }
        if (j.contains("alloc")) {
          vgpu::Allocation a;
          a.address = j["alloc"].at(0);
          a.size = j["alloc"].at(1);
          a.where = j["alloc"].at(2);
          a.freed = j["alloc"].at(3);
          f.allocation = std::move(a);
        }
        if (j.contains("made")) f.allocated = UnpackPlace(j["made"]);
        findings.push_back(std::move(f));
      } else if (line.contains("counts")) {
        const json& counts = line["counts"];
        for (size_t i = 0; i < std::min(findings.size(), counts.size()); ++i) {
          findings[i].count = counts[i].at(0);
          findings[i].severity = static_cast<Severity>(counts[i].at(1).get<int>());
        }
      }
    } catch (const json::exception& error) {
      return InvalidInput(fmt::format("the report of the program can't be read: {}", error.what()));
    }
  }
  return findings;
}

namespace {

bool IsCudaHeader(const std::string& file) {
  return file.ends_with("/cuda_runtime.h") || file.ends_with("/cuda_runtime_api.h") ||
         file.ends_with(".stub.c");
}

// Below main there is nothing of the program.
bool IsSystemLibrary(const std::string& module) {
  const size_t slash = module.rfind('/');
  const std::string name = slash == std::string::npos ? module : module.substr(slash + 1);
  return name.starts_with("libc.so") || name.starts_with("libpthread.so") ||
         name.starts_with("ld-linux");
}

}  // namespace

void ResolveHostPlaces(std::vector<Finding>& findings, const Symbolize& symbolize) {
  std::map<std::string, std::set<uint64_t>> wanted;
  const auto each = [&](const auto& visit) {
    for (Finding& f : findings) {
      visit(f.place);
      if (f.other) visit(*f.other);
      if (f.allocated) visit(*f.allocated);
    }
  };
  each([&](Place& p) {
    for (const HostFrame& frame : p.frames) wanted[frame.module].insert(frame.offset);
  });
  std::map<std::pair<std::string, uint64_t>, std::vector<HostLine>> lines;
  for (const auto& [module, offsets] : wanted) {
    const std::vector<uint64_t> list(offsets.begin(), offsets.end());
    const std::vector<std::vector<HostLine>> found = symbolize(module, list);
    for (size_t i = 0; i < std::min(list.size(), found.size()); ++i) {
      lines[{module, list[i]}] = found[i];
    }
  }
  each([&](Place& p) {
    if (!p.source.file.empty()) return;
    for (const HostFrame& frame : p.frames) {
      if (IsSystemLibrary(frame.module)) continue;
      for (const HostLine& line : lines[{frame.module, frame.offset}]) {
        if (IsCudaHeader(line.source.file)) continue;
        if (p.function.empty()) p.function = line.function;
        if (line.source.file.empty() || line.source.line == 0) continue;
        p.source = line.source;
        p.function = line.function;
        return;
      }
    }
    if (p.function.empty() && !p.frames.empty()) {
      const HostFrame& frame = p.frames[0];
      p.function = frame.symbol.empty() ? fmt::format("{}+0x{:x}", frame.module, frame.offset)
                                        : frame.symbol;
    }
  });
}

}  // namespace kernelsmith::checkers
