// `kernelsmith translate TASK`: PyTorch to readable CUDA, verified before it is handed over.
#include "translate/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/commands.h"
#include "cli/final_build.h"
#include "cli/judge_tools.h"
#include "cli/task_options.h"
#include "cli/translate_model.h"
#include "support/diagnostic.h"
#include "verify/quick_verify.h"
#include "verify/verify.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string task;
  std::string out;
  std::string mode = "task";
  std::string schedule;
  std::string from;
  std::vector<std::string> only;
  DirectionChoice direction;
  bool no_verify = false;
  std::optional<bool> final_build;
  bool suite = false;
  bool quick = false;
  bool genes = false;
  TranslateOptions translate;
  ModelTranslation by_model;
};

class Command {
 public:
  Command(Session& session, const Options& options)
      : session_(session), options_(options), tools_(session) {}

  Status Start() {
    if (!options_.schedule.empty()) {
      KS_TRY(const std::string text, session_.files.Read(options_.schedule));
      KS_TRY(schedule_, codegen::ParseSchedule(text, options_.schedule));
    }
    KS_RETURN_IF_ERROR(tools_.Start());
    return {};
  }
  TaskStore& store() { return tools_.store(); }

  struct Translated {
    codegen::Model model;
    std::string source;
    std::optional<Verdict> verdict;
  };

  Result<Translated> Translate(const Task& task, TaskDirection direction, const fs::path& file) {
    TranslateOptions translate = options_.translate;
    translate.direction = direction;
    Translated result;
    KS_TRY(result.model, ModelOf(tools_.store(), task, translate));
    if (!options_.suite) WarnOfIdleGenes(result.model);
    KS_TRY(result.source, codegen::EmitCandidate(result.model, schedule_));
    KS_RETURN_IF_ERROR(session_.files.Write(file, result.source));
    if (options_.no_verify) return result;
    VerifyOptions verify;
    verify.direction = direction;
    verify.dtype = translate.dtype;
    verify.seed = VerificationSeed(session_);
    const VerifyTools tools = tools_.Verification();
    const std::shared_ptr<Candidate> candidate = tools_.Open(file);
    if (options_.quick) {
      KS_TRY(result.verdict, QuickVerify(task, *candidate, verify, tools));
    } else {
      KS_TRY(result.verdict, Verify(task, *candidate, verify, tools));
    }
    return result;
  }
  const codegen::Schedule& schedule() const { return schedule_; }

 private:
  // What the schedule says and nothing listens to: a misspelt name, a value that is not offered.
  void WarnOfIdleGenes(const codegen::Model& model) {
    if (schedule_.genes.empty()) return;
    std::map<std::string, codegen::Gene> genes;
    for (const codegen::Gene& gene : codegen::GenesOf(model, schedule_)) genes[gene.name] = gene;
    for (const auto& [name, value] : schedule_.genes) {
      const auto at = genes.find(name);
      if (at != genes.end() && at->second.value == value) continue;
      const std::string why = at == genes.end()
                                  ? fmt::format("there is no gene {} here (see --genes)", name)
                                  : fmt::format("{} can't be {}: it is one of {}", name, value,
                                                nlohmann::json(at->second.values).dump());
      session_.err << FormatDiagnostic({.severity = Severity::kWarning,
                                        .where = {.file = options_.schedule},
                                        .message = why},
                                       session_.ColorErr())
                   << '\n';
    }
  }

  Session& session_;
  const Options& options_;
  JudgeTools tools_;
  codegen::Schedule schedule_;
};

std::string FirstFinding(const Verdict& verdict) {
  const Finding* finding = verdict.Deciding();
  return finding ? fmt::format("{}: {}", Name(finding->kind), finding->message) : "";
}

Result<ExitCode> RunOne(Session& session, const Options& options) {
  Command command(session, options);
  KS_RETURN_IF_ERROR(command.Start());
  KS_TRY(const Task task, command.store().Load(options.task, options.mode));
  const TaskDirection direction = options.direction.value();
  if (std::find(task.directions.begin(), task.directions.end(), direction) ==
      task.directions.end()) {
    return InvalidInput(fmt::format("task {} has no {} pass", task.name, Name(direction)));
  }
  if (options.genes) {
    TranslateOptions translate = options.translate;
    translate.direction = direction;
    KS_TRY(const codegen::Model model, ModelOf(command.store(), task, translate));
    nlohmann::json genes = nlohmann::json::array();
    for (const codegen::Gene& gene : codegen::GenesOf(model, command.schedule())) {
      genes.push_back({{"name", gene.name}, {"value", gene.value}, {"values", gene.values}});
      if (!session.json)
        session.out << fmt::format("{} = {}  {}\n", gene.name, gene.value,
                                   nlohmann::json(gene.values).dump());
    }
    if (session.json) session.PrintJson({{"genes", genes}});
    return kExitOk;
  }
  const fs::path folder =
      options.out.empty() ? fs::path(task.name + "_cuda") : fs::path(options.out);
  const fs::path file = folder / (std::string(Name(direction)) + ".cu");
  KS_RETURN_IF_ERROR(session.files.MakeDirectories(folder));
  KS_TRY(const Command::Translated result, command.Translate(task, direction, file));
  const fs::path module = folder / "module.py";
  // With the other direction beside it the module has gradients.
  const TaskDirection other =
      options.direction.backward() ? TaskDirection::kForward : TaskDirection::kBackward;
  std::optional<codegen::Model> partner;
  if (session.files.Exists(folder / (std::string(Name(other)) + ".cu"))) {
    TranslateOptions translate = options.translate;
    translate.direction = other;
    KS_TRY(partner, ModelOf(command.store(), task, translate));
  }
  const codegen::Model* models[] = {&result.model, partner ? &*partner : nullptr};
  KS_RETURN_IF_ERROR(
      session.files.Write(module, PythonModule(task, models[options.direction.backward() ? 1 : 0],
                                               models[options.direction.backward() ? 0 : 1])));
  std::optional<RealComparison> real;
  if (options.final_build.value_or(false) && result.verdict &&
      result.verdict->kind == VerdictKind::kVerified) {
    KS_TRY(real, FinalBuild(session, file));
  }
  if (session.json) {
    nlohmann::json document = {{"task", task.name},
                               {"direction", Name(direction)},
                               {"file", file.string()},
                               {"module", module.string()}};
    document["verdict"] = result.verdict ? ToJson(*result.verdict) : nlohmann::json("not verified");
    if (real) document["real_headers"] = ToJson(*real);
    session.PrintJson(document);
  } else {
    session.out << fmt::format("{}\n{}\n", file.string(), module.string());
    if (result.verdict) {
      session.out << ToText(*result.verdict, session.ColorOut());
    } else {
      session.out << "not verified: --no-verify was given\n";
    }
    if (real) session.out << ToText(*real);
  }
  if (real && !real->differences.empty()) return kExitInconclusive;
  return result.verdict ? ExitCodeOf(result.verdict->kind) : kExitOk;
}

// Every task of a collection in every direction: one line each, and the totals.
class SuiteRun {
 public:
  SuiteRun(Session& session, const Options& options)
      : session_(session), options_(options), command_(session, options) {}

  Result<ExitCode> Run() {
    KS_RETURN_IF_ERROR(command_.Start());
    KS_TRY(const std::vector<fs::path> paths, command_.store().List(options_.from));
    folder_ = options_.out.empty() ? session_.settings.folders.Cache() / "translations"
                                   : fs::path(options_.out);
    for (const fs::path& path : paths) {
      if (!IsChosen(path.stem().string())) continue;
      const Result<Task> task = command_.store().Load(path.string(), options_.mode);
      if (task.ok()) {
        KS_RETURN_IF_ERROR(TranslateTask(*task));
      } else {
        Report({.task = path.stem().string(), .verdict = "error", .why = task.error().message()});
      }
    }
    PrintTotals();
    const bool all = counts_[0].done == counts_[0].all && counts_[1].done == counts_[1].all;
    return all ? kExitOk : kExitInconclusive;
  }

 private:
  struct Row {
    std::string task;
    std::string direction;  // empty: there is no task
    std::string verdict;
    std::string why;
    double seconds = 0;
  };
  struct Count {
    int done = 0, all = 0;  // done: verified, or only translated where that was asked
  };

  bool IsChosen(const std::string& name) const {
    return options_.only.empty() ||
           std::any_of(options_.only.begin(), options_.only.end(), [&](const std::string& part) {
             return name.find(part) != std::string::npos;
           });
  }

  Status TranslateTask(const Task& task) {
    const fs::path own = folder_ / task.name;
    KS_RETURN_IF_ERROR(session_.files.MakeDirectories(own));
    std::optional<codegen::Model> models[2];
    for (const TaskDirection direction : task.directions) {
      if (!options_.direction.Covers(direction)) continue;
      if (task.Configurations(direction).empty()) continue;
      models[direction == TaskDirection::kBackward] = TranslateOne(task, direction, own);
    }
    if (!models[0] && !models[1]) return {};
    return session_.files.Write(
        own / "module.py",
        PythonModule(task, models[0] ? &*models[0] : nullptr, models[1] ? &*models[1] : nullptr));
  }

  std::optional<codegen::Model> TranslateOne(const Task& task, TaskDirection direction,
                                             const fs::path& folder) {
    const auto started = session_.clock.Now();
    Result<Command::Translated> result =
        command_.Translate(task, direction, folder / fmt::format("{}.cu", Name(direction)));
    Row row{.task = task.name, .direction = Name(direction)};
    row.seconds = std::chrono::duration<double>(session_.clock.Now() - started).count();
    bool done = false;
    if (!result.ok()) {
      row.verdict = result.error().kind() == ErrorKind::kUnsupported ? "unsupported" : "error";
      row.why = result.error().message();
    } else if (!result->verdict) {
      row.verdict = "not verified";
      done = true;
    } else {
      done = result->verdict->kind == VerdictKind::kVerified;
      row.verdict = done && options_.quick ? "passed" : Name(result->verdict->kind);
      row.why = FirstFinding(*result->verdict);
    }
    Count& count = counts_[direction == TaskDirection::kBackward];
    ++count.all;
    count.done += done ? 1 : 0;
    Report(row);
    if (!result.ok()) return std::nullopt;
    return std::move(result->model);
  }

  void Report(const Row& row) {
    rows_.push_back({{"task", row.task},
                     {"direction", row.direction},
                     {"verdict", row.verdict},
                     {"why", row.why},
                     {"seconds", row.seconds}});
    if (session_.json) return;
    session_.out << fmt::format("{:<28} {:<9} {:<13} {:5.1f} s  {}\n", row.task, row.direction,
                                row.verdict, row.seconds, row.why)
                 << std::flush;
  }

  void PrintTotals() {
    if (session_.json) {
      const char* key = options_.no_verify ? "translated" : "verified";
      session_.PrintJson({{"tasks", rows_},
                          {"quick", options_.quick},
                          {"forward", {{key, counts_[0].done}, {"all", counts_[0].all}}},
                          {"backward", {{key, counts_[1].done}, {"all", counts_[1].all}}}});
      return;
    }
    session_.out << fmt::format("{}: forward {} of {}, backward {} of {}\n",
                                options_.no_verify ? "translated, not verified"
                                : options_.quick   ? "passed the quick checks"
                                                   : "verified",
                                counts_[0].done, counts_[0].all, counts_[1].done, counts_[1].all);
  }

  Session& session_;
  const Options& options_;
  Command command_;
  fs::path folder_;
  Count counts_[2];
  nlohmann::json rows_ = nlohmann::json::array();
};

Result<ExitCode> RunTranslate(Session& session, const Options& options) {
  if (options.suite && !options.by_model.flags.model.empty()) {
    return InvalidInput("--model does not go with --suite: it translates one task");
  }
  if (options.suite) return SuiteRun(session, options).Run();
  if (options.task.empty()) return InvalidInput("translate needs a task, or --suite");
  if (options.quick) return InvalidInput("--quick is for --suite; a single file is verified");
  if (!options.by_model.flags.model.empty()) {
    if (options.no_verify || options.genes || !options.schedule.empty()) {
      return InvalidInput("--model does not go with --no-verify, --genes or --schedule");
    }
    ModelTranslation request = options.by_model;
    request.final_build = options.final_build.value_or(true);
    request.task = options.task;
    request.direction = options.direction.value();
    request.dtype = options.translate.dtype;
    request.out = options.out;
    return TranslateByModel(session, request);
  }
  return RunOne(session, options);
}

}  // namespace

void AddTranslate(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("translate", "Make a CUDA file of a task's PyTorch code, and verify it");
  command->fallthrough();
  command->footer(
      "Writes DIR/forward.cu (or backward.cu) and DIR/module.py, which loads them into PyTorch. "
      "Shapes are runtime\n"
      "values: the file is for the task's whole family. Exit code: 0 verified (or --no-verify), 1 "
      "refuted,\n"
      "3 inconclusive, or unsupported, with the operator that can't be translated.\n"
      "With --model a language model writes the file (docs/agents.md); what is not verified is\n"
      "named forward.not_verified.cu.");
  auto options = std::make_shared<Options>();
  AddTask(*command, options->task);
  AddDirection(*command, options->direction);
  AddForward(*command, options->direction);
  AddDtype(*command, options->translate.dtype);
  AddMode(*command, options->mode);
  command->add_option("-o,--out", options->out,
                      "Folder to write to [TASK_cuda]; with --suite one folder a task in it");
  command->add_option("--schedule", options->schedule,
                      "JSON file with genes: how kernels are tiled and fused");
  command->add_flag("--genes", options->genes,
                    "List what a schedule can choose, and write nothing");
  command->add_flag("--no-verify", options->no_verify, "Do not verify the file");
  AddFinalBuild(*command, options->final_build);
  command->add_flag("--suite", options->suite,
                    "Every task of the suite (or of --from), forward and backward");
  command->add_flag("--quick", options->quick,
                    "With --suite: only compile, watch and compare numbers at one shape; "
                    "no verdict");
  command->add_option("--from", options->from, "A folder of tasks for --suite");
  command->add_option("--only", options->only, "Tasks of --suite whose name contains one of these")
      ->delimiter(',');
  AddModelOptions(*command, options->by_model.flags)->group("With a language model");
  command
      ->add_option("--rounds", options->by_model.rounds,
                   "With --model: the most files that are judged")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--archive", options->by_model.archive,
                      "With --model: keep every attempt in this archive");
  command->callback([&session, options] {
    session.action = [&session, options] { return RunTranslate(session, *options); };
  });
}

}  // namespace kernelsmith
