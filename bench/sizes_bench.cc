// Which of the bundled kernels are proved to stay in bounds, and to write every element of their
// results once, at all sizes (src/sizes).
//   sizes_bench [--verbose] [--run] [--mutants] [--expect-all] [--cases FOLDER] [FILE.cu ...]
// Without files: all of kernels/. A file's folder is the name of its task; `FILE.cu=TASK` names
// another. --run runs what is proved at all traced sizes; --mutants changes PTX and launches of
// what is proved, one thing at a time, and does the same with the changed ones that are proved. A
// proof that a run contradicts is a false one: exit code 1, which --expect-all gives as well if a
// launch is not proved. With --cases the PTX and the plans are kept there, and taken from there
// next time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "candidate/call.h"
#include "compile/compile.h"
#include "graph/graph.h"
#include "plan/plan_text.h"
#include "plan/trace.h"
#include "sizes/sizes.h"
#include "sizes_mutants.h"
#include "support/demangle.h"
#include "support/testing/real_settings.h"
#include "tasks/task.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// Configurations of the task beside those that are drawn, and the work of each.
constexpr size_t kListed = 6;
constexpr int64_t kWork = 2'000'000;
constexpr uint64_t kSeed = 20;
// Of a file, spread evenly over all that there are.
constexpr size_t kMostMutants = 40;

double ProcessorSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

class Bench {
 public:
  explicit Bench(fs::path cases)
      : cases_(std::move(cases)),
        tools_(processes_, files_, RealSettings().tools, KS_SOURCE_DIR),
        compiler_(files_, processes_, tools_, {}),
        tasks_({.python = fs::path(KS_SOURCE_DIR) / ".venv" / "bin" / "python",
                .torch_version = "bench",
                .bridge = fs::path(KS_SOURCE_DIR) / "python",
                .suite = fs::path(KS_SOURCE_DIR) / "tasks",
                .cache = KS_BENCH_CACHE},
               files_) {}

  Result<SizesCase> Make(const fs::path& path, const std::string& task_name) {
    const fs::path folder = cases_ / task_name / path.stem();
    if (!cases_.empty() && files_.Exists(folder / "kernel.ptx")) return Load(folder);
    SizesCase made;
    KS_TRY(const std::string text, files_.Read(path));
    const bool backward = text.rfind("// Backward", 0) == 0;
    KS_TRY(const Task task, tasks_.Load(task_name));
    const TaskDirection direction = backward ? TaskDirection::kBackward : TaskDirection::kForward;
    const CompileOptions compile{.cache = fs::path(KS_BENCH_CACHE) / "candidates"};
    KS_TRY(const CompiledCandidate compiled, compiler_.Compile(path, compile));
    made.ptx = compiled.ptx;
    std::vector<TaskConfiguration> configurations;
    for (const TaskConfiguration& each : task.Configurations(direction)) {
      if (configurations.size() < kListed) configurations.push_back(each);
    }
    const Result<DrawnConfigurations> drawn =
        tasks_.Draw(task, {.direction = direction}, kSeed, {});
    if (drawn.ok()) {
      configurations.insert(configurations.end(), drawn->shapes.begin(), drawn->shapes.end());
    }
    for (const TaskConfiguration& each : configurations) {
      TaskRequest request{.direction = direction, .configuration = each};
      Result<TaskConfiguration> reduced = tasks_.Reduce(task, request, kWork);
      if (!reduced.ok()) continue;
      request.configuration = *std::move(reduced);
      KS_TRY(const TaskGraph task_graph, tasks_.Export(task, request));
      KS_TRY(const Graph graph, ReadGraph(task_graph.file));
      KS_TRY(const CandidateCall call, MakeBlankCall(direction, task_graph, graph));
      TraceOptions trace{.tracer = KS_TRACER_PROGRAM};
      trace.function = call.function;
      trace.results = call.results;
      KS_TRY(TraceOutcome traced, Trace(compiled, call.arguments, trace, processes_));
      if (traced.plan) made.plans.push_back(*std::move(traced.plan));
    }
    if (!cases_.empty()) KS_RETURN_IF_ERROR(Save(folder, made));
    return made;
  }

 private:
  Result<SizesCase> Load(const fs::path& folder) {
    SizesCase made;
    KS_TRY(made.ptx, files_.Read(folder / "kernel.ptx"));
    for (size_t i = 0; files_.Exists(folder / fmt::format("{}.plan", i)); ++i) {
      const fs::path file = folder / fmt::format("{}.plan", i);
      KS_TRY(const std::string text, files_.Read(file));
      KS_TRY(Plan plan, ParsePlan(text, file.string()));
      made.plans.push_back(std::move(plan));
    }
    return made;
  }

  Status Save(const fs::path& folder, const SizesCase& made) {
    fs::create_directories(folder);
    KS_RETURN_IF_ERROR(files_.Write(folder / "kernel.ptx", made.ptx));
    for (size_t i = 0; i < made.plans.size(); ++i) {
      KS_RETURN_IF_ERROR(
          files_.Write(folder / fmt::format("{}.plan", i), FormatPlan(made.plans[i])));
    }
    return {};
  }

  fs::path cases_;
  SystemProcessRunner processes_;
  DiskFileSystem files_;
  ToolFinder tools_;
  CandidateCompiler compiler_;
  TaskStore tasks_;
};

sizes::SizesQuestion QuestionOf(const SizesCase& made, const std::string& name) {
  sizes::SizesQuestion question{.ptx = made.ptx, .name = name};
  for (const Plan& plan : made.plans) question.plans.push_back(&plan);
  return question;
}

struct MutantCount {
  size_t mutants = 0;  // of launches that were proved
  size_t not_proved = 0;
  size_t not_covered = 0;  // in bounds, but no longer written once
  size_t proved = 0;
  size_t false_proofs = 0;
};

// What becomes of the proofs when something changes.
MutantCount TryMutants(const SizesCase& right, const std::vector<sizes::SizesProof>& proofs,
                       bool verbose) {
  MutantCount count;
  size_t all = 0;
  ForEachMutant(right, [&](const SizesMutant&) { ++all; });
  const size_t step = (all + kMostMutants - 1) / kMostMutants;
  size_t number = 0;
  ForEachMutant(right, [&](const SizesMutant& mutant) {
    if (number++ % step != 0) return;
    const auto changed = sizes::ProveAllSizes(QuestionOf(mutant.changed, "mutant"));
    if (!changed.ok()) return;  // no PTX any more
    for (const sizes::SizesProof& before : proofs) {
      const auto now = std::find_if(changed->begin(), changed->end(), [&](const auto& each) {
        return each.kernel == before.kernel && each.number == before.number;
      });
      if (!before.in_bounds || now == changed->end()) continue;
      ++count.mutants;
      if (!now->in_bounds) {
        ++count.not_proved;
        continue;
      }
      const bool once = !now->covered.empty() && now->not_covered.empty();
      const Result<std::string> wrong =
          WhatGoesWrong(mutant.changed, now->kernel, now->number, once, now->shared_in_bounds);
      if (wrong.ok() && !wrong->empty()) {
        ++count.false_proofs;
        fmt::print("    FALSE PROOF of {}: {}: {}\n", KernelName(now->kernel), mutant.what, *wrong);
      } else if (!before.covered.empty() && !once) {
        ++count.not_covered;
      } else {
        ++count.proved;
        if (verbose) fmt::print("    proved, and true: {}\n", mutant.what);
      }
    }
  });
  return count;
}

int Main(int argc, char** argv) {
  bool mutants = false;
  bool run = false;
  bool expect_all = false;
  bool verbose = false;
  fs::path cases;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--verbose") == 0) {
      verbose = true;
    } else if (std::strcmp(argv[i], "--expect-all") == 0) {
      expect_all = true;
    } else if (std::strcmp(argv[i], "--run") == 0) {
      run = true;
    } else if (std::strcmp(argv[i], "--mutants") == 0) {
      mutants = true;
    } else if (std::strcmp(argv[i], "--cases") == 0 && i + 1 < argc) {
      cases = argv[++i];
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
  Bench bench(cases);
  size_t launches = 0;
  size_t in_bounds = 0;
  size_t files = 0;
  size_t files_in_bounds = 0;
  size_t files_covered = 0;
  double most = 0;
  MutantCount total;
  for (const std::string& argument : paths) {
    const size_t equals = argument.find('=');
    const fs::path path = argument.substr(0, equals);
    const std::string task = equals == std::string::npos ? path.parent_path().filename().string()
                                                         : argument.substr(equals + 1);
    const std::string name = task + "/" + path.stem().string();
    ++files;
    const Result<SizesCase> made = bench.Make(path, task);
    if (!made.ok()) {
      fmt::print("{:<40} error: {}\n", name, made.error().message());
      continue;
    }
    const sizes::SizesQuestion question = QuestionOf(*made, name);
    const double start = ProcessorSeconds();
    const auto proofs = sizes::ProveAllSizes(question);
    const double seconds = ProcessorSeconds() - start;
    most = std::max(most, seconds);
    if (!proofs.ok()) {
      fmt::print("{:<40} error: {}\n", name, proofs.error().message());
      continue;
    }
    bool all = !proofs->empty();
    bool covered = all;
    bool any_covered = false;
    for (const sizes::SizesProof& proof : *proofs) {
      ++launches;
      in_bounds += proof.in_bounds ? 1 : 0;
      all &= proof.in_bounds;
      const bool once = proof.in_bounds && !proof.covered.empty() && proof.not_covered.empty();
      covered &= proof.in_bounds && proof.not_covered.empty();
      any_covered |= once;
      fmt::print("{:<40} {:<14} {:<28} {}\n", name,
                 !proof.in_bounds            ? "not proved"
                 : proof.not_covered.empty() ? "in bounds, all"
                                             : "in bounds",
                 KernelName(proof.kernel),
                 proof.in_bounds ? fmt::format("up to {} elements", proof.most) : proof.why_not);
      if (!verbose) continue;
      fmt::print("    for {}; {} launches\n", proof.domain, proof.launches);
      for (const std::string& each : proof.assumptions) fmt::print("    given {}\n", each);
      for (const std::string& each : proof.covered) fmt::print("    written once: {}\n", each);
      for (const std::string& each : proof.not_covered) fmt::print("    not shown: {}\n", each);
    }
    files_in_bounds += all ? 1 : 0;
    files_covered += covered && any_covered ? 1 : 0;
    if (verbose) fmt::print("    {:.2f} s\n", seconds);
    if (run) {
      for (const sizes::SizesProof& proof : *proofs) {
        if (!proof.in_bounds) continue;
        const bool once = !proof.covered.empty() && proof.not_covered.empty();
        const Result<std::string> wrong =
            WhatGoesWrong(*made, proof.kernel, proof.number, once, proof.shared_in_bounds);
        if (!wrong.ok() || wrong->empty()) continue;
        ++total.false_proofs;
        fmt::print("    FALSE PROOF of {}: {}\n", KernelName(proof.kernel), *wrong);
      }
    }
    const bool any = std::any_of(proofs->begin(), proofs->end(),
                                 [](const sizes::SizesProof& proof) { return proof.in_bounds; });
    if (mutants && any) {
      const MutantCount count = TryMutants(*made, *proofs, verbose);
      total.mutants += count.mutants;
      total.not_proved += count.not_proved;
      total.not_covered += count.not_covered;
      total.proved += count.proved;
      total.false_proofs += count.false_proofs;
      fmt::print(
          "    {} mutants: {} not proved, {} in bounds but not written once, {} proved and "
          "true at the traced sizes, {} false\n",
          count.mutants, count.not_proved, count.not_covered, count.proved, count.false_proofs);
    }
    std::fflush(stdout);
  }
  fmt::print(
      "{} of {} launches in bounds at all sizes; {} of {} files, {} of them with every "
      "element of their results written once; at most {:.2f} s of processor time\n",
      in_bounds, launches, files_in_bounds, files, files_covered, most);
  if (mutants) {
    fmt::print(
        "{} mutants of proved launches: {} not proved, {} in bounds but not written once, {} "
        "proved "
        "and true at the traced sizes, {} false proofs\n",
        total.mutants, total.not_proved, total.not_covered, total.proved, total.false_proofs);
  }
  if (total.false_proofs > 0 || (expect_all && files_in_bounds != files)) return 1;
  return 0;
}

}  // namespace
}  // namespace kernelsmith

int main(int argc, char** argv) { return kernelsmith::Main(argc, argv); }
