#include "plan/trace.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "plan/merge.h"
#include "plan/raw_trace.h"
#include "support/rng.h"
#include "support/toolchain_walls.h"
#include "tensor/tensor.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// What the candidate may print before it is cut off.
constexpr size_t kMaxPrinted = 1 << 20;

std::filesystem::path FindTracer(const TraceOptions& options) {
  if (!options.tracer.empty()) return options.tracer;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside = self.parent_path() / "kernelsmith-tracer";
  if (!error && std::filesystem::exists(beside, error)) return beside;
  return KS_TRACER;
}

// Elements that are shuffled; of larger tensors the rest only moves to another place. Millions of
// random swaps would cost more than all else about a trace.
constexpr int64_t kShuffled = 1 << 16;

// Other data of the same kind: the elements in another order, floats a little smaller. Integers
// stay valid indices, probabilities stay probabilities.
std::vector<std::byte> OtherData(const CallArgument& argument, Rng rng) {
  CallArgument other = argument;
  HostTensor& tensor = other.tensor;
  const int64_t count = tensor.count();
  const int64_t bytes = SizeOf(tensor.dtype);
  std::vector<std::byte> element(static_cast<size_t>(bytes));
  if (count > kShuffled) {
    const auto by = static_cast<ptrdiff_t>(rng.Below(static_cast<uint64_t>(count)));
    std::rotate(tensor.bytes.begin(), tensor.bytes.begin() + by * bytes, tensor.bytes.end());
  }
  for (int64_t i = std::min(count, kShuffled) - 1; i > 0; --i) {
    const auto j = static_cast<int64_t>(rng.Below(static_cast<uint64_t>(i) + 1));
    std::byte* a = tensor.bytes.data() + i * bytes;
    std::byte* b = tensor.bytes.data() + j * bytes;
    std::memcpy(element.data(), a, element.size());
    std::memmove(a, b, element.size());
    std::memcpy(b, element.data(), element.size());
  }
  if (tensor.dtype == DType::kFloat32) {
    auto* values = reinterpret_cast<float*>(tensor.bytes.data());
    for (int64_t i = 0; i < count; ++i) values[i] *= 0.875F;
  } else if (IsFloat(tensor.dtype)) {
    for (int64_t i = 0; i < count; ++i) tensor.set(i, tensor.at(i) * 0.875);
  }
  return StorageBytes(other);
}

json Describe(const CallArgument& argument) {
  using Kind = CallArgument::Kind;
  switch (argument.kind) {
    case Kind::kNone:
      return {{"kind", "none"}};
    case Kind::kInt:
      return {{"kind", "int"}, {"name", argument.name}, {"value", argument.integer}};
    case Kind::kFloat: {
      uint64_t bits = 0;
      std::memcpy(&bits, &argument.number, sizeof bits);
      return {{"kind", "float"}, {"name", argument.name}, {"bits", bits}};
    }
    case Kind::kBool:
      return {{"kind", "bool"}, {"name", argument.name}, {"value", argument.flag}};
    case Kind::kString:
      return {{"kind", "string"}, {"value", argument.text}};
    case Kind::kList: {
      json items = json::array();
      for (const CallArgument& item : argument.items) items.push_back(Describe(item));
      return {{"kind", "list"}, {"items", std::move(items)}};
    }
    case Kind::kTensor:
      return {{"kind", "tensor"},
              {"name", argument.name},
              {"dtype", std::string(DTypeName(argument.tensor.dtype))},
              {"shape", argument.tensor.shape},
              {"blank", IsBlank(argument)},
              {"strides", argument.strides.empty() ? RowMajorStrides(argument.tensor.shape)
                                                   : argument.strides}};
  }
  return nullptr;
}

// Comments of the form "// kernelsmith: rows = x.size(0)", "n = x.numel()", "eps = 1e-5" that say
// what a launcher's parameter stands for.
json LauncherHints(const std::string& text) {
  static const std::regex kHint(
      R"re(//\s*kernelsmith:\s*(\w+)\s*=\s*(?:(\w+)\.(?:size\((-?\d+)\)|numel\(\))|([-+.\deE]+))\s*$)re");
  json hints = json::array();
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line)) {
    std::smatch match;
    if (line.size() > 400 || line.find("kernelsmith:") == std::string::npos ||
        !std::regex_search(line, match, kHint)) {
      continue;
    }
    json hint = {{"parameter", match[1].str()}};
    if (match[4].matched) {
      hint["number"] = std::strtod(match[4].str().c_str(), nullptr);
    } else {
      hint["tensor"] = match[2].str();
      hint["dim"] = match[3].matched ? json(std::atoll(match[3].str().c_str())) : json();
    }
    hints.push_back(std::move(hint));
  }
  return hints;
}

std::string MakeRequest(const CompiledCandidate& candidate,
                        const std::vector<CallArgument>& arguments, const TraceOptions& options,
                        int number) {
  json described = json::array();
  for (const CallArgument& argument : arguments) described.push_back(Describe(argument));
  json results = json::array();
  for (const PlanTensor& result : options.results) {
    results.push_back({{"dtype", std::string(DTypeName(result.dtype))}, {"shape", result.shape}});
  }
  const json header = {{"library", std::filesystem::absolute(candidate.host_library).string()},
                       {"function", options.function},
                       {"style", candidate.style == CandidateStyle::kTorch ? "torch" : "launcher"},
                       {"arguments", std::move(described)},
                       {"results", std::move(results)},
                       {"hints", LauncherHints(candidate.text)},
                       {"memory", options.memory_bytes},
                       {"device_memory", options.device_memory_bytes},
                       {"direct", options.direct && number == 0},
                       {"ptx", std::filesystem::absolute(candidate.ptx_path).string()},
                       {"without", options.without_walls},
                       // The second child differs in all that is no argument.
                       {"disguise", number != 0}};
  const std::string text = header.dump();
  std::string request;
  const auto length = static_cast<uint64_t>(text.size());
  request.append(reinterpret_cast<const char*>(&length), sizeof length);
  request += text;
  const Rng rng(20);
  uint64_t stream = 0;
  for (const CallArgument* tensor : FlattenTensors(arguments)) {
    if (IsBlank(*tensor)) continue;
    std::vector<std::byte> storage;
    if (number != 0) storage = OtherData(*tensor, rng.Fork(stream++));
    const std::span<const std::byte> bytes = number == 0 ? StorageOf(*tensor, storage) : storage;
    request.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return request;
}

struct Child {
  std::optional<RawTrace> trace;
  std::vector<HostFinding> findings;
  std::vector<uint64_t> sites;  // where each finding was made; 0: not known
  std::string printed;
};

Child Examine(const ProcessResult& result, const TraceOptions& options) {
  Child child;
  child.printed = result.err.substr(0, kMaxPrinted);
  const auto add = [&](FindingKind kind, std::string message, uint64_t site = 0) {
    child.findings.push_back({kind, std::move(message), {}});
    child.sites.push_back(site);
  };
  std::string_view text = result.out;
  const bool died = result.timed_out || result.signal != 0 || result.exit_code != 0;
  // One that was killed may have been writing; all lines before count.
  if (died) text = text.substr(0, text.rfind('\n') == text.npos ? 0 : text.rfind('\n') + 1);
  Result<RawTrace> trace = ParseRawTrace(text, options.limits);
  if (trace.ok()) {
    for (const RawFinding& finding : trace->findings) {
      add(finding.kind, finding.message, finding.site);
      child.findings.back().out_of_memory = finding.out_of_memory;
    }
  }
  if (result.truncated && result.out.size() >= options.max_reply) {
    add(FindingKind::kOutput, "the trace is too long");
    return child;
  }
  if (result.timed_out) {
    add(FindingKind::kTimeout,
        fmt::format("the host code took longer than {} s", options.timeout.count() / 1000.0));
    return child;
  }
  if (died) {
    // The tracer is ours: that it fails says nothing about the candidate.
    add(FindingKind::kUnsupported,
        fmt::format("the tracer failed: {}",
                    result.signal != 0 ? ::strsignal(result.signal) : result.err.substr(0, 400)));
    return child;
  }
  if (!trace.ok()) {
    add(FindingKind::kForged, "what came back is no trace: " + trace.error().message());
    return child;
  }
  if (!trace->complete) {
    if (child.findings.empty()) add(FindingKind::kUnsupported, "the tracer gave no reason");
    return child;
  }
  if (result.truncated) add(FindingKind::kOutput, "the host code printed too much");
  child.trace = *std::move(trace);
  return child;
}

FindingKind KindOf(MergeProblem::Kind kind) {
  switch (kind) {
    case MergeProblem::Kind::kDataDependent:
      return FindingKind::kDataDependent;
    case MergeProblem::Kind::kHostComputed:
      return FindingKind::kHostComputed;
    case MergeProblem::Kind::kNotReproducible:
      return FindingKind::kNotReproducible;
  }
  return FindingKind::kUnsupported;
}

}  // namespace

bool Refutes(FindingKind kind) {
  return kind != FindingKind::kUnsupported && kind != FindingKind::kDataDependent &&
         kind != FindingKind::kNotReproducible && kind != FindingKind::kFailedLaunch;
}

Result<TraceOutcome> Trace(const CompiledCandidate& candidate,
                           const std::vector<CallArgument>& arguments, const TraceOptions& options,
                           ProcessRunner& processes) {
  const auto start = std::chrono::steady_clock::now();
  const std::filesystem::path tracer = FindTracer(options);
  const auto run = [&](int number) {
    return processes.Run({.argv = {tracer.string()},
                          .unset_env = {"LD_PRELOAD", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"},
                          .input = MakeRequest(candidate, arguments, options, number),
                          .timeout = options.timeout,
                          .max_output = options.max_reply});
  };
  std::future<Result<ProcessResult>> other = std::async(std::launch::async, [&] { return run(1); });
  Result<ProcessResult> first = run(0);
  Result<ProcessResult> second = other.get();
  if (!first.ok()) return std::move(first).error();
  if (!second.ok()) return std::move(second).error();

  TraceOutcome outcome;
  Child a = Examine(*first, options);
  Child b = Examine(*second, options);
  outcome.printed = a.printed;
  outcome.findings = a.findings;
  std::vector<uint64_t> sites = a.sites;
  if (a.trace && !b.trace) {
    outcome.findings.insert(outcome.findings.end(), b.findings.begin(), b.findings.end());
    sites.insert(sites.end(), b.sites.begin(), b.sites.end());
  }
  if (a.trace && b.trace) {
    outcome.direct = a.trace->data;
    Merged merged = MergeTraces(*a.trace, *b.trace, ParameterUse(candidate.ptx), options.merge);
    if (merged.problem) {
      outcome.findings.push_back({KindOf(merged.problem->kind), merged.problem->message, {}});
      sites.push_back(merged.problem->site);
    } else if (const Status valid = Validate(merged.plan, options.limits); !valid.ok()) {
      outcome.findings.push_back(
          {FindingKind::kForged, "the plan is not valid: " + valid.error().message(), {}});
      sites.push_back(0);
    } else {
      outcome.plan = std::move(merged.plan);
    }
  }
  const std::vector<SourceLocation> places = ResolveSites(candidate, sites, processes);
  for (size_t i = 0; i < places.size(); ++i) outcome.findings[i].where = places[i];
  outcome.duration = std::chrono::steady_clock::now() - start;
  return outcome;
}

Result<SandboxState> TrySandbox(ProcessRunner& processes) {
  KS_TRY(const ProcessResult result, processes.Run({.argv = {FindTracer({}).string(), "--walls"},
                                                    .env = {{"KS_CANARY", "1"}},
                                                    .unset_env = {"LD_PRELOAD", "LD_LIBRARY_PATH"},
                                                    .timeout = std::chrono::seconds(60)}));
  const json walls = json::parse(result.out, nullptr, false);
  if (result.exit_code != 0 || !walls.is_array()) {
    return MissingTool("the sandbox can't be set up: " +
                       (result.err.empty() ? "no reason given" : result.err));
  }
  SandboxState state;
  for (const json& wall : walls) {
    if (wall.is_string()) state.walls.push_back(wall.get<std::string>());
  }
  std::istringstream lines(result.err);
  std::string how;
  std::string what;
  while (lines >> how >> what) {
    if (how != "held" && how != "broken") continue;
    // It is tried in two calls.
    const auto known = state.tried.emplace(what, true).first;
    known->second &= how == "held";
  }
  return state;
}

std::vector<SourceLocation> ResolveSites(const CompiledCandidate& candidate,
                                         const std::vector<uint64_t>& sites,
                                         ProcessRunner& processes) {
  std::vector<SourceLocation> places(sites.size());
  ProcessRequest request{.argv = {"addr2line", "-e", candidate.host_library.string()},
                         .timeout = std::chrono::seconds(20)};
  std::vector<size_t> asked;
  for (size_t i = 0; i < sites.size(); ++i) {
    if (sites[i] == 0) continue;
    // A return address lies behind the call.
    request.argv.push_back(fmt::format("{:#x}", sites[i] - 1));
    asked.push_back(i);
  }
  if (asked.empty()) return places;
  // The library's debug information is the candidate's.
  request.confinement = Confinement{.processor_time = std::chrono::seconds(10)};
  Confine(request, {.readable = {candidate.host_library}, .scratch = {}});
  const Result<ProcessResult> result = processes.Run(request);
  if (!result.ok() || result->exit_code != 0) return places;
  std::istringstream lines(result->out);
  std::string line;
  for (const size_t i : asked) {
    if (!std::getline(lines, line)) break;
    const size_t colon = line.rfind(':');
    if (colon == std::string::npos) continue;
    const std::string file = line.substr(0, colon);
    if (file == "??" || file.find(candidate.source.filename().string()) == std::string::npos) {
      continue;
    }
    places[i] = {.file = candidate.source.string(), .line = std::atoi(line.c_str() + colon + 1)};
  }
  return places;
}

}  // namespace kernelsmith
