// `kernelsmith translate TASK`: PyTorch to readable CUDA, verified before it is handed over.
#include "translate/translate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "cli/commands.h"
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
  std::string schedule;
  std::string from;
  std::vector<std::string> only;
  DirectionChoice direction;
  bool no_verify = false;
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
  KS_TRY(const Task task, command.store().Load(options.task));
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
  if (session.json) {
    nlohmann::json document = {{"task", task.name},
                               {"direction", Name(direction)},
                               {"file", file.string()},
                               {"module", module.string()}};
    document["verdict"] = result.verdict ? ToJson(*result.verdict) : nlohmann::json("not verified");
    session.PrintJson(document);
  } else {
    session.out << fmt::format("{}\n{}\n", file.string(), module.string());
    if (result.verdict) {
      session.out << ToText(*result.verdict, session.ColorOut());
    } else {
      session.out << "not verified: --no-verify was given\n";
    }
  }
  return result.verdict ? ExitCodeOf(result.verdict->kind) : kExitOk;
}

// Every task of a collection in every direction: one line each, and the totals.
Result<ExitCode> RunSuite(Session& session, const Options& options) {
  Command command(session, options);
  KS_RETURN_IF_ERROR(command.Start());
  KS_TRY(const std::vector<fs::path> paths, command.store().List(options.from));
  const fs::path folder = options.out.empty() ? session.settings.folders.Cache() / "translations"
                                              : fs::path(options.out);
  KS_RETURN_IF_ERROR(session.files.MakeDirectories(folder));
  struct Count {
    int done = 0, all = 0;  // done: verified, or only translated where that was asked
  } counts[2];
  nlohmann::json rows = nlohmann::json::array();
  for (const fs::path& path : paths) {
    const std::string stem = path.stem().string();
    if (!options.only.empty() &&
        std::none_of(options.only.begin(), options.only.end(), [&](const std::string& part) {
          return stem.find(part) != std::string::npos;
        })) {
      continue;
    }
    const Result<Task> task = command.store().Load(path.string());
    if (!task.ok()) {
      session.out << fmt::format("{:<28} {:<9} {}\n", stem, "", "error: " + task.error().message());
      continue;
    }
    const fs::path own = folder / task->name;
    KS_RETURN_IF_ERROR(session.files.MakeDirectories(own));
    std::optional<codegen::Model> models[2];
    for (const TaskDirection direction : task->directions) {
      if (!options.direction.Covers(direction)) continue;
      if (task->Configurations(direction).empty()) continue;
      Count& count = counts[direction == TaskDirection::kBackward];
      ++count.all;
      const fs::path file = own / fmt::format("{}.cu", Name(direction));
      const auto started = session.clock.Now();
      Result<Command::Translated> result = command.Translate(*task, direction, file);
      const double seconds = std::chrono::duration<double>(session.clock.Now() - started).count();
      std::string verdict, why;
      if (!result.ok()) {
        verdict = result.error().kind() == ErrorKind::kUnsupported ? "unsupported" : "error";
        why = result.error().message();
      } else if (!result->verdict) {
        verdict = "not verified";
        ++count.done;
      } else {
        verdict = Name(result->verdict->kind);
        why = FirstFinding(*result->verdict);
        if (result->verdict->kind == VerdictKind::kVerified) {
          ++count.done;
          if (options.quick) verdict = "passed";
        }
      }
      if (result.ok()) {
        models[direction == TaskDirection::kBackward] = std::move(result->model);
      }
      rows.push_back({{"task", task->name},
                      {"direction", Name(direction)},
                      {"verdict", verdict},
                      {"why", why},
                      {"seconds", seconds}});
      if (!session.json) {
        session.out << fmt::format("{:<28} {:<9} {:<13} {:5.1f} s  {}\n", task->name,
                                   Name(direction), verdict, seconds, why)
                    << std::flush;
      }
    }
    if (models[0] || models[1]) {
      KS_RETURN_IF_ERROR(session.files.Write(own / "module.py",
                                             PythonModule(*task, models[0] ? &*models[0] : nullptr,
                                                          models[1] ? &*models[1] : nullptr)));
    }
  }
  if (session.json) {
    const char* key = options.no_verify ? "translated" : "verified";
    session.PrintJson({{"tasks", rows},
                       {"quick", options.quick},
                       {"forward", {{key, counts[0].done}, {"all", counts[0].all}}},
                       {"backward", {{key, counts[1].done}, {"all", counts[1].all}}}});
  } else {
    session.out << fmt::format("{}: forward {} of {}, backward {} of {}\n",
                               options.no_verify ? "translated, not verified"
                               : options.quick   ? "passed the quick checks"
                                                 : "verified",
                               counts[0].done, counts[0].all, counts[1].done, counts[1].all);
  }
  const bool all = counts[0].done == counts[0].all && counts[1].done == counts[1].all;
  return all ? kExitOk : kExitInconclusive;
}

Result<ExitCode> RunTranslate(Session& session, const Options& options) {
  if (options.suite && !options.by_model.flags.model.empty()) {
    return InvalidInput("--model does not go with --suite: it translates one task");
  }
  if (options.suite) return RunSuite(session, options);
  if (options.task.empty()) return InvalidInput("translate needs a task, or --suite");
  if (options.quick) return InvalidInput("--quick is for --suite; a single file is verified");
  if (!options.by_model.flags.model.empty()) {
    if (options.no_verify || options.genes || !options.schedule.empty()) {
      return InvalidInput("--model does not go with --no-verify, --genes or --schedule");
    }
    ModelTranslation request = options.by_model;
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
  command->add_option("-o,--out", options->out,
                      "Folder to write to [TASK_cuda]; with --suite one folder a task in it");
  command->add_option("--schedule", options->schedule,
                      "JSON file with genes: how kernels are tiled and fused");
  command->add_flag("--genes", options->genes,
                    "List what a schedule can choose, and write nothing");
  command->add_flag("--no-verify", options->no_verify, "Do not verify the file");
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
