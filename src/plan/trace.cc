#include "plan/trace.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "plan/merge.h"
#include "plan/raw_trace.h"
#include "ptx/constants.h"
#include "support/rng.h"
#include "support/toolchain_walls.h"
#include "tensor/tensor.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

// Steps of earlier calls, over all plans of a sequence.
constexpr size_t kMostPreparation = 20'000;
// What the candidate may print before it is cut off.
constexpr size_t kMaxPrinted = 1 << 20;

std::filesystem::path FindTracer(const TraceOptions& options) {
  if (!options.tracer.empty()) return options.tracer;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path beside = self.parent_path() / "kernelsmith-tracer";
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
                                                   : argument.strides},
              {"offset", argument.offset}};
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

json Describe(const CallSet& set) {
  json arguments = json::array();
  for (const CallArgument& argument : set.arguments) arguments.push_back(Describe(argument));
  json results = json::array();
  for (const PlanTensor& result : set.results) {
    results.push_back({{"dtype", std::string(DTypeName(result.dtype))}, {"shape", result.shape}});
  }
  return {{"arguments", std::move(arguments)}, {"results", std::move(results)}};
}

// The request for child `number`, 0 or 1.
std::string MakeRequest(const CompiledCandidate& candidate, const std::vector<CallSet>& sets,
                        const std::vector<uint32_t>& sequence, const TraceOptions& options,
                        int number) {
  json described = json::array();
  for (const CallSet& set : sets) described.push_back(Describe(set));
  const json header = {{"library", std::filesystem::absolute(candidate.host_library).string()},
                       {"function", options.function},
                       {"style", candidate.style == CandidateStyle::kTorch ? "torch" : "launcher"},
                       {"sets", std::move(described)},
                       {"sequence", sequence},
                       {"hints", LauncherHints(candidate.text)},
                       {"memory", options.memory_bytes},
                       {"device_memory", options.device_memory_bytes},
                       {"direct", options.direct && number == 0},
                       {"other_stream", options.other_stream},
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
  for (const CallSet& set : sets) {
    for (const CallArgument* tensor : FlattenTensors(set.arguments)) {
      if (IsBlank(*tensor)) continue;
      std::vector<std::byte> storage;
      if (number != 0) storage = OtherData(*tensor, rng.Fork(stream++));
      const std::span<const std::byte> bytes = number == 0 ? StorageOf(*tensor, storage) : storage;
      request.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
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

struct Children {
  Child a;
  Child b;
};

// Two children at a time, with other data, addresses and all else that is no argument.
Result<Children> RunChildren(const CompiledCandidate& candidate, const std::vector<CallSet>& sets,
                             const std::vector<uint32_t>& sequence, const TraceOptions& options,
                             ProcessRunner& processes) {
  const std::filesystem::path tracer = FindTracer(options);
  std::map<std::string, std::string> environment;
  if (!options.gpu.empty()) environment["KERNELSMITH_GPU"] = options.gpu;
  const auto run = [&](int number) {
    return processes.Run({.argv = {tracer.string()},
                          .env = environment,
                          .unset_env = {"LD_PRELOAD", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES"},
                          .input = MakeRequest(candidate, sets, sequence, options, number),
                          .timeout = options.timeout,
                          .max_output = options.max_reply});
  };
  std::future<Result<ProcessResult>> other = std::async(std::launch::async, [&] { return run(1); });
  Result<ProcessResult> first = run(0);
  Result<ProcessResult> second = other.get();
  if (!first.ok()) return std::move(first).error();
  if (!second.ok()) return std::move(second).error();
  return Children{Examine(*first, options), Examine(*second, options)};
}

// Findings and where each was made, which is known by its site in the host library.
struct Findings {
  std::vector<HostFinding> list;
  std::vector<uint64_t> sites;

  void Add(FindingKind kind, std::string message, uint64_t site) {
    list.push_back({kind, std::move(message), {}});
    sites.push_back(site);
  }
  void Add(const Child& child) {
    list.insert(list.end(), child.findings.begin(), child.findings.end());
    sites.insert(sites.end(), child.sites.begin(), child.sites.end());
  }
  std::vector<HostFinding> Resolve(const CompiledCandidate& candidate, ProcessRunner& processes) {
    const std::vector<SourceLocation> places = ResolveSites(candidate, sites, processes);
    for (size_t i = 0; i < places.size(); ++i) list[i].where = places[i];
    return std::move(list);
  }
};

Findings FindingsOf(const Children& children) {
  Findings findings;
  findings.Add(children.a);
  if (children.a.trace && !children.b.trace) findings.Add(children.b);
  return findings;
}

// Nothing if a child did not come to its end or the two differ; a finding says so.
std::optional<MergedCalls> Merge(const CompiledCandidate& candidate, const Children& children,
                                 const TraceOptions& options, Findings& findings) {
  if (!children.a.trace || !children.b.trace) return std::nullopt;
  MergedCalls merged =
      MergeTraces(*children.a.trace, *children.b.trace, ParameterUse(candidate.ptx), options.merge);
  if (!merged.problem) return merged;
  findings.Add(KindOf(merged.problem->kind), merged.problem->message, merged.problem->site);
  return std::nullopt;
}

// The launch that step `i` of the call is; null: it is none.
const LaunchStep* LaunchAt(const RawTrace::Call& call, size_t i) {
  return i < call.steps.size() ? std::get_if<LaunchStep>(&call.steps[i].action) : nullptr;
}

// Whether a number among the parameters of a launch, which `other` has otherwise, is a constant of
// the device code or next to one.
bool IsAtAConstant(const RawTrace::Call& call, const RawTrace::Call& other,
                   const ptx::Constants& constants) {
  const auto near = [](const auto& numbers, double value) {
    return std::any_of(numbers.begin(), numbers.end(), [&](const auto number) {
      return std::abs(static_cast<double>(number) - value) <= 1;
    });
  };
  for (size_t i = 0; i < call.steps.size(); ++i) {
    const LaunchStep* launch = LaunchAt(call, i);
    const LaunchStep* before = LaunchAt(other, i);
    if (launch == nullptr || before == nullptr) continue;
    const size_t bytes = std::min(launch->parameters.size(), before->parameters.size());
    for (size_t at = 0; at + 4 <= bytes; at += 4) {
      int32_t word = 0;
      float number = 0;
      std::memcpy(&word, launch->parameters.data() + at, 4);
      std::memcpy(&number, launch->parameters.data() + at, 4);
      if (std::memcmp(&word, before->parameters.data() + at, 4) == 0) continue;
      // Small integers look like floats next to nothing.
      const bool is_float = std::isnormal(number);
      if (near(constants.integers, word) || (is_float && near(constants.floats, number))) {
        return true;
      }
    }
  }
  return false;
}

// The calls whose plans are wanted: all of them, or of many the first ones, the last, some between
// them, and those in which a number meets a constant of the device code.
std::vector<size_t> ChooseCalls(const std::vector<RawTrace::Call>& calls, std::string_view ptx) {
  constexpr size_t kMost = 24;
  std::set<size_t> chosen;
  for (size_t i = 0; i < std::min(calls.size(), kMost / 2); ++i) chosen.insert(i);
  for (size_t i = 0; i <= kMost / 2; ++i) chosen.insert((calls.size() - 1) * i / (kMost / 2));
  if (calls.size() > kMost) {
    const Result<ptx::Module> module = ptx::Parse(ptx, "candidate.ptx");
    const ptx::Constants constants = module.ok() ? ptx::ConstantsOf(*module) : ptx::Constants();
    std::map<uint32_t, size_t> first;  // calls of each set
    size_t at_constants = 0;
    for (size_t i = 0; i < calls.size() && at_constants < 2 * kMost; ++i) {
      const RawTrace::Call& other = calls[first.emplace(calls[i].set, i).first->second];
      if (!chosen.contains(i) && IsAtAConstant(calls[i], other, constants)) {
        chosen.insert(i);
        ++at_constants;
      }
    }
  }
  return {chosen.begin(), chosen.end()};
}

bool IsValid(const Plan& plan, const TraceOptions& options, Findings& findings) {
  const Status valid = Validate(plan, options.limits);
  if (!valid.ok()) {
    findings.Add(FindingKind::kForged, "the plan is not valid: " + valid.error().message(), 0);
  }
  return valid.ok();
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
  const std::vector<CallSet> sets = {{arguments, options.results}};
  KS_TRY(Children children, RunChildren(candidate, sets, {}, options, processes));
  TraceOutcome outcome;
  outcome.printed = children.a.printed;
  Findings findings = FindingsOf(children);
  if (std::optional<MergedCalls> merged = Merge(candidate, children, options, findings)) {
    outcome.direct = children.a.trace->data;
    Plan plan = PlanOfCall(*merged, merged->calls.size() - 1).plan;
    if (IsValid(plan, options, findings)) outcome.plan = std::move(plan);
  }
  outcome.findings = findings.Resolve(candidate, processes);
  outcome.duration = std::chrono::steady_clock::now() - start;
  return outcome;
}

Result<SequenceOutcome> TraceSequence(const CompiledCandidate& candidate,
                                      const std::vector<CallSet>& sets,
                                      const std::vector<uint32_t>& sequence,
                                      const TraceOptions& options, ProcessRunner& processes) {
  const auto start = std::chrono::steady_clock::now();
  KS_TRY(Children children, RunChildren(candidate, sets, sequence, options, processes));
  SequenceOutcome outcome;
  Findings findings = FindingsOf(children);
  if (const std::optional<MergedCalls> merged = Merge(candidate, children, options, findings)) {
    const GivenBytes given = [&](const ForeignInput& input) {
      return StorageBytes(*FlattenTensors(sets.at(input.set).arguments).at(input.argument));
    };
    outcome.history.different = merged->calls.size();
    size_t steps = 0;
    for (const size_t i : ChooseCalls(merged->calls, candidate.ptx)) {
      const RawTrace::Call& call = merged->calls[i];
      CallPlan plan = PlanOfCall(*merged, i, given);
      // Where each call needs all those before it, the last ones are too much to run.
      steps += plan.plan.preparation.size();
      if (steps > kMostPreparation) break;
      if (!IsValid(plan.plan, options, findings)) {
        outcome.history.plans.clear();
        break;
      }
      outcome.history.plans.push_back({call.set, call.number, call.times, std::move(plan)});
    }
    outcome.history.calls = children.a.trace->all_calls;
    outcome.history.lost = children.a.trace->lost;
    outcome.history.lost_in = children.a.trace->lost_in;
  }
  outcome.findings = findings.Resolve(candidate, processes);
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
