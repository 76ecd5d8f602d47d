// Algebraic equivalence of candidates with their tasks: verdict, time and shadow operations a
// second for each, medians over all.
//   algebra_bench [--dtype NAME] [--work N] [--expect VERDICT] [FILE.cu ...]
// Without files: all of kernels/. With --expect the exit code says whether all got that verdict.
// A file's folder is the name of its task; a first line that begins with "// Backward" means the
// backward pass. `FILE.cu=TASK` names another task.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "algebra/equivalence.h"
#include "candidate/call.h"
#include "compile/compile.h"
#include "plan/trace.h"
#include "support/rng.h"
#include "support/testing/real_settings.h"
#include "tasks/task.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// The names of the tensors among a call's arguments, lists taken apart: the graph's placeholders.
void TensorNames(const std::vector<TaskArgument>& arguments, std::vector<std::string>* names) {
  for (const TaskArgument& argument : arguments) {
    if (argument.kind == TaskArgument::Kind::kTensor) names->push_back(argument.text);
    if (argument.kind == TaskArgument::Kind::kList) TensorNames(argument.items, names);
  }
}

struct Outcome {
  std::string verdict;
  std::string detail;
  double seconds = 0;
  double kernel = 0;
  double graph = 0;
  double rate = 0;
  std::vector<std::string> notes;
};

class Bench {
 public:
  Bench(std::string dtype, int64_t work, bool verbose)
      : dtype_(std::move(dtype)),
        work_(work),
        verbose_(verbose),
        tools_(processes_, files_, RealSettings().tools, KS_SOURCE_DIR),
        compiler_(files_, processes_, tools_, {}),
        tasks_({.python = fs::path(KS_SOURCE_DIR) / ".venv" / "bin" / "python",
                .torch_version = "bench",
                .bridge = fs::path(KS_SOURCE_DIR) / "python",
                .suite = fs::path(KS_SOURCE_DIR) / "tasks",
                .cache = KS_BENCH_CACHE},
               files_) {}

  Result<Outcome> Run(const fs::path& path, const std::string& task_name) {
    KS_TRY(const std::string text, files_.Read(path));
    const bool backward = text.rfind("// Backward", 0) == 0;
    KS_TRY(const Task task, tasks_.Load(task_name));
    const TaskDirection direction = backward ? TaskDirection::kBackward : TaskDirection::kForward;
    const TaskConfiguration* configuration = task.Find(direction, "quick");
    if (configuration == nullptr) return InvalidInput("no configuration");
    TaskRequest request{.direction = direction, .configuration = *configuration, .dtype = dtype_};
    KS_TRY(request.configuration, tasks_.Reduce(task, request, work_));
    KS_TRY(const TaskGraph task_graph, tasks_.Export(task, request));
    KS_TRY(const Graph graph, ReadGraph(task_graph.file));
    const CompileOptions compile{.cache = fs::path(KS_BENCH_CACHE) / "candidates"};
    KS_TRY(const CompiledCandidate compiled, compiler_.Compile(path, compile));
    KS_TRY(const std::string ptx, compiler_.CompileVisibleMath(compiled, compile));
    std::vector<CaseTensors> values;
    for (const uint64_t seed : {11, 12, 13}) {
      KS_TRY(const TaskCase sample, tasks_.Evaluate(task, request, seed));
      KS_TRY(CaseTensors each, ReadCase(sample));
      values.push_back(std::move(each));
    }
    KS_TRY(const std::vector<CallArgument> seen, MakeCallArguments(task_graph, values[0]));
    TraceOptions trace{.tracer = KS_TRACER_PROGRAM};
    trace.function = backward ? "backward" : "forward";
    for (const std::string& name : task_graph.results) {
      const auto found = values[0].values.find(name);
      if (found == values[0].values.end()) continue;
      trace.results.push_back({.dtype = found->second.dtype,
                               .shape = found->second.shape,
                               .strides = RowMajorStrides(found->second.shape)});
    }
    KS_TRY(const TraceOutcome traced, Trace(compiled, seen, trace, processes_));
    if (!traced.plan) {
      return InvalidInput("no plan: " +
                          (traced.findings.empty() ? "" : traced.findings[0].message));
    }
    EquivalenceRequest equivalence{.graph = &graph,
                                   .plan = &*traced.plan,
                                   .ptx = ptx,
                                   .ptx_name = path.filename().string(),
                                   .results = task_graph.results,
                                   .mutated = task_graph.mutated};
    TensorNames(task_graph.arguments, &equivalence.input_names);
    std::vector<std::vector<CallArgument>> arguments;
    for (const CaseTensors& each : values) {
      KS_TRY(std::vector<CallArgument> list, MakeCallArguments(task_graph, each));
      arguments.push_back(std::move(list));
    }
    for (size_t i = 0; i < values.size(); ++i) {
      equivalence.draws.push_back(
          {.inputs = FlattenTensors(arguments[i]), .values = &values[i].values, .seed = 1000 + i});
    }
    KS_TRY(const std::unique_ptr<ObservableDevice> device, MakeVirtualDevice());
    KS_TRY(const EquivalenceReport report, CompareWithGraph(equivalence, *device));
    Outcome outcome;
    outcome.verdict = report.verdict == Equality::kEqual       ? "equal"
                      : report.verdict == Equality::kDifferent ? "different"
                                                               : "inconclusive";
    outcome.detail =
        report.proved() ? (report.bound ? fmt::format("chance of error below {:.1e}", *report.bound)
                                        : "heuristic")
                        : report.reason;
    outcome.seconds = Seconds(report.duration).count();
    outcome.kernel = Seconds(report.kernel_duration).count();
    outcome.graph = Seconds(report.graph_duration).count();
    outcome.rate = static_cast<double>(report.lane_operations) / outcome.kernel;
    outcome.notes = report.notes;
    if (verbose_) {
      for (const OutputEquivalence& output : report.outputs) {
        fmt::print("    {}: {} equal, {} different, {} inconclusive\n", output.name, output.equal,
                   output.different, output.inconclusive);
        for (const auto& [reason, elements] : output.reasons)
          fmt::print("      {} {}\n", elements.count, reason);
        for (size_t i = 0; i < std::min<size_t>(3, output.mismatches.size()); ++i) {
          fmt::print("      [{}] expected {} got {}\n", output.mismatches[i].index,
                     output.mismatches[i].expected, output.mismatches[i].got);
        }
      }
    }
    return outcome;
  }

 private:
  std::string dtype_;
  int64_t work_;
  bool verbose_;
  SystemProcessRunner processes_;
  DiskFileSystem files_;
  ToolFinder tools_;
  CandidateCompiler compiler_;
  TaskStore tasks_;
};

int Main(int argc, char** argv) {
  std::string dtype = "task";
  int64_t work = 2'000'000;
  std::string expected;
  bool verbose = false;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--dtype") == 0 && i + 1 < argc) {
      dtype = argv[++i];
    } else if (std::strcmp(argv[i], "--work") == 0 && i + 1 < argc) {
      work = std::atoll(argv[++i]);
    } else if (std::strcmp(argv[i], "--expect") == 0 && i + 1 < argc) {
      expected = argv[++i];
    } else if (std::strcmp(argv[i], "--verbose") == 0) {
      verbose = true;
    } else {
      paths.emplace_back(argv[i]);
    }
  }
  if (paths.empty()) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(KS_SOURCE_DIR) / "kernels")) {
      if (entry.path().extension() == ".cu") paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
  }
  Bench bench(dtype, work, verbose);
  std::vector<double> times;
  std::map<std::string, int> verdicts;
  for (const std::string& argument : paths) {
    const size_t equals = argument.find('=');
    const fs::path path = argument.substr(0, equals);
    const std::string task = equals == std::string::npos ? path.parent_path().filename().string()
                                                         : argument.substr(equals + 1);
    const Result<Outcome> outcome = bench.Run(path, task);
    const std::string name = task + "/" + path.filename().string();
    if (!outcome.ok()) {
      ++verdicts["error"];
      fmt::print("{:<44} error: {}\n", name, outcome.error().diagnostics().front().message);
      std::fflush(stdout);
      continue;
    }
    ++verdicts[outcome->verdict];
    times.push_back(outcome->seconds);
    fmt::print("{:<44} {:<12} {:6.2f} s (kernel {:.2f}, graph {:.2f}) {:5.1f} M/s  {}\n", name,
               outcome->verdict, outcome->seconds, outcome->kernel, outcome->graph,
               outcome->rate / 1e6, outcome->detail);
    for (const std::string& note : outcome->notes) fmt::print("    bits: {}\n", note);
    std::fflush(stdout);
  }
  for (const auto& [verdict, count] : verdicts) fmt::print("{} {}\n", count, verdict);
  fmt::print("median {:.2f} s\n", Median(times));
  if (expected.empty()) return 0;
  return verdicts[expected] == static_cast<int>(paths.size()) ? 0 : 1;
}

}  // namespace
}  // namespace kernelsmith

int main(int argc, char** argv) { return kernelsmith::Main(argc, argv); }
