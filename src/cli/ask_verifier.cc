// `kernelsmith ask-verifier`: what a language model thinks of a candidate. It answers as `mutants
// --outside` wants it, so that models are measured with the same confusion matrix as our stages.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "cli/task_options.h"
#include "cli/task_store.h"
#include "llm/soft_verifier.h"
#include "propose/llm_task.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

struct Options {
  ModelFlags flags;
  std::string file;
  std::string task;
  DirectionChoice direction;
  double threshold = 0.5;
  bool no_reflection = false;
};

Result<ExitCode> RunAskVerifier(Session& session, const Options& options) {
  KS_TRY(const std::string code, session.files.Read(options.file));
  const std::string task_name = options.task.empty() ? session.settings.task : options.task;
  if (task_name.empty()) return InvalidInput("no task: give --task or set KERNELSMITH_TASK");
  std::string direction =
      options.direction.given ? Name(*options.direction.given) : session.settings.direction;
  if (direction.empty()) direction = "forward";
  if (direction != "forward" && direction != "backward") {
    return InvalidInput(fmt::format("direction '{}': expected forward or backward", direction));
  }
  // The source is all that the model gets of the task: PyTorch is not needed for it.
  const TaskStoreOptions store_options = DefaultTaskStoreOptions(session, false);
  const TaskStore store(store_options, session.files);
  fs::path path = task_name;
  if (!session.files.Exists(path) && task_name.find('/') == std::string::npos) {
    path = store_options.suite / (task_name + ".py");
    if (!session.files.Exists(path)) {
      return InvalidInput(
          fmt::format("no task '{}': not a file, not a folder, not a name that "
                      "`kernelsmith tasks list` shows",
                      task_name));
    }
  }
  KS_TRY(const Task task, store.Glance(path));
  KS_TRY(const std::string reference,
         ReferenceOf(task,
                     direction == "backward" ? TaskDirection::kBackward : TaskDirection::kForward,
                     session.files));
  KS_TRY(const std::unique_ptr<OpenedModel> opened, OpenModel(session, options.flags));
  llm::LanguageModel* const model = opened->model.get();
  llm::SoftOptions soft{.reflect = !options.no_reflection};
  soft.ask = opened->ask;
  KS_TRY(const llm::SoftVerdict verdict,
         llm::AskSoftVerifiers(*model, *opened->prompts, {task.name, direction, reference}, code,
                               soft));

  const std::string word = !verdict.score                        ? "none"
                           : *verdict.score >= options.threshold ? "yes"
                                                                 : "no";
  const ExitCode exit = word == "yes" ? kExitOk : word == "no" ? kExitRefuted : kExitInconclusive;
  if (session.json) {
    nlohmann::json opinions = nlohmann::json::object();
    for (const llm::SoftOpinion& each : verdict.opinions) {
      opinions[each.aspect] = {{"score", each.score ? nlohmann::json(*each.score) : nullptr},
                               {"reason", each.reason}};
    }
    session.PrintJson({{"answer", word},
                       {"score", verdict.score ? nlohmann::json(*verdict.score) : nullptr},
                       {"opinions", opinions},
                       {"model", model->Describe()},
                       {"input_tokens", verdict.input_tokens},
                       {"output_tokens", verdict.output_tokens},
                       {"cost", verdict.cost ? nlohmann::json(*verdict.cost) : nullptr}});
    return exit;
  }
  session.out << word;
  if (verdict.score) session.out << fmt::format(" (score {:.2f})", *verdict.score);
  session.out << "\n";
  for (const llm::SoftOpinion& each : verdict.opinions) {
    session.out << fmt::format("{:<9} {:<5} {}\n", each.aspect,
                               each.score ? fmt::format("{:.2f}", *each.score) : "-",
                               EscapeForTerminal(each.reason));
  }
  session.out << fmt::format("{}: {} tokens in, {} out", model->Describe(), verdict.input_tokens,
                             verdict.output_tokens);
  if (verdict.cost) session.out << fmt::format(", cost {:.4f}", *verdict.cost);
  session.out << "\n";
  return exit;
}

}  // namespace

void AddAskVerifier(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("ask-verifier", "A language model's opinion of a candidate");
  command->fallthrough();
  command->footer(
      "Three questions (compile, memory, numerics), each with a round of reflection; the score is\n"
      "the smallest of the three. It is an opinion, not a verdict. The first word is yes, no or\n"
      "none, so that models can be measured: kernelsmith mutants --outside\n"
      "'llm=kernelsmith ask-verifier --model SPEC'.\n"
      "Without --task and --direction they are $KERNELSMITH_TASK and $KERNELSMITH_DIRECTION.\n"
      "Exit code: 0 yes, 1 no, 3 no judgement.\n" +
      KeysHelp());
  auto options = std::make_shared<Options>();
  options->flags.max_output_tokens = 4096;  // a judgement is short
  AddModelOptions(*command, options->flags)->required();
  AddCandidate(*command, options->file)->required();
  AddTaskOption(*command, options->task);
  AddDirection(*command, options->direction);
  command->add_option("--threshold", options->threshold, "Score from which the answer is yes")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_flag("--no-reflection", options->no_reflection, "Take the first judgement");
  command->callback([&session, options] {
    session.action = [&session, options] { return RunAskVerifier(session, *options); };
  });
}

}  // namespace kernelsmith
