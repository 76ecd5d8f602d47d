// `kernelsmith optimize TASK`: translate, then look for faster schedules until the budget is used
// up; every candidate is judged, and the best is handed over verified.
#include "optimize/optimize.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "cli/commands.h"
#include "cli/final_build.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/session_cache.h"
#include "cli/task_options.h"
#include "cli/task_store.h"
#include "propose/llm_proposer.h"
#include "propose/llm_soft_stage.h"
#include "propose/llm_task.h"
#include "propose/schedule_proposer.h"
#include "translate/translate.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string task;
  std::string output;
  bool resume = false;
  DirectionChoice direction;
  std::string dtype = "task";
  std::string mode = "task";
  std::vector<std::string> allow;
  std::string gpu{DefaultGpuModel().key};
  std::string configuration;
  std::string search = "evolution";
  std::vector<std::string> start;
  int64_t candidates = 60;
  double minutes = 0;
  int jobs = 0;
  uint64_t blocks = 48;
  ModelFlags model;
  bool opinion = false;
  std::optional<bool> final_build;
  double opinion_threshold = SoftStageOptions().threshold;
  // Which of the above the command line names: a resumed run has its own.
  std::vector<CLI::Option*> fixed;
};

Result<OptimizeOptions> OptionsOf(Session& session, const Options& options,
                                  const fs::path& output) {
  OptimizeOptions result;
  if (options.resume) {
    for (const CLI::Option* option : options.fixed) {
      if (option->count() == 0) continue;
      return InvalidInput(fmt::format("{} can't be given with --resume: a run goes on as it began",
                                      option->get_name()));
    }
    if (session.seed_option) {
      return InvalidInput("--seed can't be given with --resume: a run goes on as it began");
    }
    KS_TRY(result, StoredOptions(output));
  } else {
    KS_TRY(result.request.gpu, FindGpuModel(options.gpu));
    result.request.direction = options.direction.value();
    result.request.dtype = options.dtype;
    result.request.allow = options.allow;
    result.request.configuration = options.configuration;
    result.request.blocks = options.blocks;
    result.request.seed = VerificationSeed(session);
    result.search = options.search;
    for (const std::string& file : options.start) {
      KS_TRY(std::string source, session.files.Read(file));
      result.start.push_back(std::move(source));
    }
  }
  result.output = output;
  result.stop = &Interrupt::flag();
  result.scratch = session.settings.folders.Cache() / "optimize";
  result.budget.candidates = options.candidates;
  result.budget.seconds = 60 * options.minutes;
  result.budget.dollars = options.model.money_budget;
  result.jobs = options.jobs > 0
                    ? options.jobs
                    : static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  return result;
}

// "12.34 us, 1.52x the first version, 2.10x eager"
std::string Standing(double seconds, double first, double eager) {
  std::string text = FormatSeconds(seconds);
  if (first > 0) text += fmt::format(", {:.2f}x the first version", first / seconds);
  return text + fmt::format(", {:.2f}x eager", eager / seconds);
}

// Says how the run goes: a bar on a terminal, a line for each new best elsewhere.
class Watcher {
 public:
  Watcher(Session& session, const OptimizeOptions& options, const Optimization& optimization)
      : session_(session),
        progress_(session.MakeProgress()),
        eager_(optimization.target().eager.seconds) {
    progress_->Begin(fmt::format("optimize {}", optimization.target().task.name),
                     static_cast<uint64_t>(options.budget.candidates));
    for (const ArchivedCandidate& each : optimization.earlier()) Note(each);
    Show("");
  }
  void operator()(const ArchivedCandidate& candidate) {
    const bool better = Note(candidate);
    if (better && !session_.quiet && !session_.err_is_terminal) {
      session_.err << fmt::format("candidate {}: {} (estimated){}\n", candidate.number.value_or(-1),
                                  Standing(best_, first_, eager_),
                                  candidate.note.empty() ? "" : ": " + candidate.note)
                   << std::flush;
    }
    Show(candidate.verdict + ": " + candidate.reason);
    KeepCacheSmall(session_);  // a run may go on for days
  }
  void End() { progress_->End(); }

 private:
  // True: the best so far.
  bool Note(const ArchivedCandidate& candidate) {
    ++done_;
    const double seconds = candidate.time_ns.value_or(0) * 1e-9;
    if (!candidate.verified() || seconds <= 0) return false;
    if (first_ == 0) first_ = seconds;
    if (best_ > 0 && seconds >= best_) return false;
    best_ = seconds;
    return true;
  }
  void Show(const std::string& otherwise) {
    progress_->Update(done_, best_ > 0 ? "best " + Standing(best_, first_, eager_) : otherwise);
  }

  Session& session_;
  std::unique_ptr<Progress> progress_;
  double eager_;
  uint64_t done_ = 0;
  double first_ = 0;
  double best_ = 0;
};

struct Written {
  fs::path best;
  fs::path first;
  fs::path module;
  fs::path json;
  fs::path report;
};

Result<Written> WriteFiles(Session& session, TaskStore& store, const OptimizeOptions& options,
                           const Optimization& optimization, const OptimizeResult& result) {
  const OptimizeTarget& target = optimization.target();
  const bool backward = target.request.direction == TaskDirection::kBackward;
  Written written{.best = options.output / (backward ? "backward.cu" : "forward.cu"),
                  .first = options.output / (backward ? "first_backward.cu" : "first_forward.cu"),
                  .module = options.output / "module.py",
                  .json = options.output / "result.json",
                  .report = options.output / "report.html"};
  KS_RETURN_IF_ERROR(session.files.Write(written.best, result.best.source));
  KS_RETURN_IF_ERROR(session.files.Write(written.first, result.first.source));
  KS_RETURN_IF_ERROR(session.files.Write(written.json, ToJson(result, target).dump(1)));
  KS_RETURN_IF_ERROR(session.files.Write(written.report, OptimizeHtml(PageOf(result, target))));
  if (optimization.model() == nullptr) {
    written.module.clear();
    return written;
  }
  // With the other direction beside it the module has gradients.
  const TaskDirection other = backward ? TaskDirection::kForward : TaskDirection::kBackward;
  std::optional<codegen::Model> partner;
  if (session.files.Exists(options.output / (std::string(Name(other)) + ".cu"))) {
    KS_TRY(partner,
           ModelOf(store, target.task, {.direction = other, .dtype = target.request.dtype}));
  }
  const codegen::Model* models[] = {optimization.model(), partner ? &*partner : nullptr};
  KS_RETURN_IF_ERROR(session.files.Write(
      written.module,
      PythonModule(target.task, models[backward ? 1 : 0], models[backward ? 0 : 1])));
  return written;
}

std::string EndedBy(const std::string& why) {
  if (why == "candidates") return "the budget of candidates is used up";
  if (why == "seconds") return "the time is used up";
  if (why == "dollars") return "the money is used up";
  if (why == "stopped") return "interrupted";
  return why;
}

void Print(Session& session, const OptimizeOptions& options, const OptimizeTarget& target,
           const OptimizeResult& result, const Written& written) {
  const EvolutionReport& report = result.report;
  const double first = result.first_seconds();
  const double best = result.best_seconds();
  const double eager = target.eager.seconds;
  std::ostream& out = session.out;
  out << fmt::format("{} ({}, {}) with {}, {}: estimated, no GPU was used\n", target.task.name,
                     Name(target.request.direction), target.request.dtype,
                     target.timed->configuration.name, target.request.gpu->name);
  out << fmt::format("  best           {:>10}  candidate {}, {}\n", FormatSeconds(best),
                     result.best.number.value_or(-1),
                     result.confirmed
                         ? fmt::format("{} again on fresh data, seed {}",
                                       session.Paint("32", "verified"), result.confirmed->seed)
                         : session.Paint("32", "verified"));
  out << fmt::format("  first version  {:>10}  {:.2f} times as long\n", FormatSeconds(first),
                     first / best);
  out << fmt::format("  PyTorch eager  {:>10}  {:.2f} times as long, {} operators{}\n",
                     FormatSeconds(eager), eager / best, target.eager.steps.size(),
                     target.eager.LaunchBound() ? ", mostly launches" : "");
  out << fmt::format(
      "  floor          {:>10}  {:.4g} MB and {:.4g} Gflop that every "
      "implementation needs, without launches\n",
      FormatSeconds(target.floor_seconds), target.floor.bytes / 1e6, target.floor.flops / 1e9);
  out << "why:\n";
  for (const std::string& reason : result.why.reasons) {
    out << "  " << EscapeForTerminal(reason) << "\n";
  }
  if (!result.changes.empty()) out << fmt::format("changed: {}\n", result.changes);
  out << "lineage:\n";
  for (const ArchivedCandidate& each : result.lineage) {
    out << fmt::format("  {:>4}  {:>10}  {}{}\n", each.number.value_or(-1),
                       FormatSeconds(each.time_ns.value_or(0) * 1e-9),
                       EscapeForTerminal(each.proposer),
                       each.note.empty() ? "" : ": " + EscapeForTerminal(each.note));
  }
  for (const std::string& line : result.withdrawn) {
    out << "withdrawn: " << EscapeForTerminal(line) << "\n";
  }
  std::string verdicts;
  for (const auto& [verdict, count] : report.verdicts) {
    verdicts += fmt::format("{}{} {}", verdicts.empty() ? "" : ", ", count, verdict);
  }
  out << fmt::format("{} candidates ({}) in {:.0f} s, {:.1f} a minute; {}\n", report.candidates,
                     verdicts, report.seconds,
                     60 * static_cast<double>(report.candidates) / std::max(report.seconds, 1e-9),
                     EndedBy(report.ended_by));
  out << fmt::format(
      "host code: {} calls of {} candidates traced once each ({:.1f} s); {} more were answered "
      "from "
      "memory ({:.1f} s)\n",
      result.work.traced, result.work.candidates, result.work.traced_seconds, result.work.repeated,
      result.work.spared_seconds);
  out << fmt::format("{}\n", written.best.string());
  if (!written.module.empty()) out << fmt::format("{}\n", written.module.string());
  out << fmt::format("{}\n", written.report.string());
  if (report.ended_by == "stopped") {
    const std::string mode =
        target.task.mode == "task" ? "" : fmt::format(" --mode {}", target.task.mode);
    out << fmt::format("go on with: kernelsmith optimize {}{} --output {} --resume\n",
                       target.task.path.string(), mode, options.output.string());
  }
}

// What a language model adds to a run.
struct ModelParts {
  std::unique_ptr<OpenedModel> opened;
  std::unique_ptr<LlmProposer> proposer;
  Optimization::Filters filters;
};

Result<ModelParts> MakeModelParts(Session& session, const Options& options, const Task& task,
                                  const OptimizeRequest& request, TaskStore& store) {
  ModelParts parts;
  KS_TRY(parts.opened, OpenModel(session, options.model));
  KS_TRY(llm::KernelTask words,
         KernelTaskOf(task, request.direction, request.dtype, store, session.files));
  if (options.opinion) {
    SoftStageOptions soft{.threshold = options.opinion_threshold};
    soft.soft.ask = parts.opened->ask;
    parts.filters.push_back(std::make_unique<SoftVerifierStage>(
        *parts.opened->model, *parts.opened->prompts,
        llm::SoftTask{words.name, words.direction, words.reference}, std::move(soft)));
  }
  parts.proposer =
      std::make_unique<LlmProposer>(*parts.opened->model, *parts.opened->prompts, std::move(words),
                                    *request.gpu, LlmProposerOptions{.ask = parts.opened->ask});
  return parts;
}

// Whether the built-in generator wrote it: no model, and no file that was given.
bool ByGenerator(const OptimizeOptions& options, const ArchivedCandidate& candidate) {
  if (candidate.proposer == RandomScheduleProposer::kName ||
      candidate.proposer == MutateScheduleProposer::kName) {
    return true;
  }
  return candidate.proposer == Evolution::kInitial && options.start.empty();
}

Result<ExitCode> RunOptimize(Session& session, const Options& options) {
  TaskStore store(DefaultTaskStoreOptions(session), session.files);
  KS_TRY(const Task task, store.Load(options.task, options.mode));
  const fs::path output =
      options.output.empty() ? fs::path(task.name + "_optimized") : fs::path(options.output);
  KS_TRY(const OptimizeOptions optimize, OptionsOf(session, options, output));
  const OptimizeTools tools{.tasks = store,
                            .files = session.files,
                            .processes = session.processes,
                            .tools = session.tools,
                            .clock = session.clock,
                            .settings = session.settings};
  if (options.opinion && options.model.model.empty()) {
    return InvalidInput("--opinion needs --model");
  }
  ModelParts by_model;
  std::vector<Proposer*> more;
  if (!options.model.model.empty()) {
    KS_TRY(by_model, MakeModelParts(session, options, task, optimize.request, store));
    more.push_back(by_model.proposer.get());
  }
  KS_TRY(const std::unique_ptr<Optimization> optimization,
         options.resume
             ? Optimization::Resume(task, optimize, tools, more, std::move(by_model.filters))
             : Optimization::Make(task, optimize, tools, more, std::move(by_model.filters)));
  Watcher watcher(session, optimize, *optimization);
  Result<OptimizeResult> ran = [&] {
    const Interrupt interrupt;
    return optimization->Run([&](const ArchivedCandidate& candidate) { watcher(candidate); });
  }();
  watcher.End();
  KS_TRY(const OptimizeResult result, std::move(ran));
  KS_TRY(const Written written, WriteFiles(session, store, optimize, *optimization, result));
  std::optional<RealComparison> real;
  if (options.final_build.value_or(!ByGenerator(optimize, result.best))) {
    KS_TRY(real, FinalBuild(session, written.best));
  }
  if (session.json) {
    nlohmann::json document = ToJson(result, optimization->target());
    document["file"] = written.best.string();
    if (real) document["real_headers"] = ToJson(*real);
    if (!written.module.empty()) document["module"] = written.module.string();
    document["report"] = written.report.string();
    session.PrintJson(document);
  } else {
    Print(session, optimize, optimization->target(), result, written);
    if (real) session.out << ToText(*real);
    if (by_model.proposer) {
      const std::string answers = by_model.proposer->answers().Text();
      session.out << fmt::format(
          "{}: {}{}\n", by_model.opened->model->Describe(),
          SpentText(by_model.opened->budget->spent(), !options.model.prices.empty()),
          answers.empty() ? "" : "; answers: " + answers);
    }
  }
  if (real && !real->differences.empty()) return kExitInconclusive;
  return kExitOk;
}

}  // namespace

void AddOptimize(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "optimize", "Look for the fastest CUDA for a task; every candidate is judged");
  command->fallthrough();
  command->footer(
      "The first version is that of `kernelsmith translate`; evolution changes how it is tiled,\n"
      "fused and launched. A candidate goes through stages from cheap to expensive: compile, the\n"
      "smallest shape under checkers and its numbers, estimated time at the timed shape, full\n"
      "verification. The best is verified once more on fresh data. Times are estimated by the\n"
      "model of `kernelsmith estimate`. DIR gets forward.cu (or backward.cu), module.py,\n"
      "report.html and result.json, and archive.db with every candidate (kernelsmith archive list\n"
      "--archive DIR/archive.db). Ctrl-C ends with the best so far; a run that was stopped or\n"
      "killed goes on with --resume, and nothing is lost.\n"
      "Exit code: 0 a verified candidate was handed over, 3 nothing could be verified, or the\n"
      "task can't be translated.");
  auto options = std::make_shared<Options>();
  AddTask(*command, options->task)->required();
  AddMode(*command, options->mode);
  command
      ->add_option("--candidates", options->candidates,
                   "Candidates to try, those of earlier sessions included; 0: no limit")
      ->check(CLI::Range(int64_t{0}, int64_t{1'000'000}))
      ->capture_default_str();
  command->add_option("--minutes", options->minutes, "Time to use in all sessions; 0: no limit")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_option("--jobs", options->jobs, "Candidates at a time; 0: one a processor")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  command->add_option("-o,--output", options->output, "Folder to write to [TASK_optimized]");
  command->add_flag("--resume", options->resume, "Go on with the run in --output");
  options->fixed = AddDirection(*command, options->direction);
  options->fixed.insert(
      options->fixed.end(),
      {AddDtype(*command, options->dtype), AddAllow(*command, options->allow),
       AddGpu(*command, options->gpu), AddConfiguration(*command, options->configuration),
       command
           ->add_option("--search", options->search,
                        "evolution, or random schedules at the same budget")
           ->check(CLI::IsMember({"evolution", "random"}))
           ->capture_default_str(),
       command->add_option("--start", options->start,
                           "A .cu file to begin with beside the first translation"),
       command->add_option("--blocks", options->blocks, "Blocks of a launch to count")
           ->capture_default_str()});
  AddModelOptions(*command, options->model);
  AddFinalBuild(*command, options->final_build);
  command->add_flag("--opinion", options->opinion,
                    "Ask the model what it thinks of its own candidates before they are judged");
  command
      ->add_option("--opinion-threshold", options->opinion_threshold,
                   "Score below which a candidate is dropped")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->callback([&session, options] {
    session.action = [&session, options] { return RunOptimize(session, *options); };
  });
}

}  // namespace kernelsmith
