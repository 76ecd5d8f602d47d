// `kernelsmith compare OLD.cu NEW.cu --arg x=float32[32,256]` or `--task softmax`: do two
// candidates compute the same?
#include "verify/compare.h"

#include "candidate/cuda_file.h"
#include "cli/commands.h"
#include "cli/judge_tools.h"
#include "cli/task_options.h"
#include "cli/task_store.h"

namespace kernelsmith {
namespace {

struct Options {
  std::string old_candidate;
  std::string new_candidate;
  std::vector<std::string> arguments;
  std::string function = "forward";
  std::string task;
  std::string dtype = "task";
  std::string mode = "task";
  DirectionChoice direction;
};

Result<ExitCode> RunCompare(Session& session, const Options& options) {
  if (!options.task.empty() && !options.arguments.empty()) {
    return InvalidInput("--task has the arguments: --arg can't be given as well");
  }
  if (options.task.empty() &&
      (options.direction.given || options.dtype != "task" || options.mode != "task")) {
    return InvalidInput("--direction, --backward, --dtype and --mode belong to --task");
  }
  std::vector<CallArgument> arguments;
  for (const std::string& text : options.arguments) {
    KS_TRY(CallArgument argument, ParseCallArgument(text));
    arguments.push_back(std::move(argument));
  }
  KS_RETURN_IF_ERROR(session.files.Read(options.old_candidate));
  KS_RETURN_IF_ERROR(session.files.Read(options.new_candidate));
  CandidateCompiler compiler = MakeCompiler(session);
  KS_TRY(const std::unique_ptr<ObservableDevice> device,
         MakeVirtualDevice(DeviceOptionsOf(session)));
  CompareOptions compare;
  compare.function = options.function;
  compare.seed = session.Seed();
  const CandidateTools opener = OpenerOf(session, compiler);
  const std::shared_ptr<Candidate> old_candidate = OpenCandidate(options.old_candidate, opener);
  const std::shared_ptr<Candidate> new_candidate = OpenCandidate(options.new_candidate, opener);
  const CompareTools tools{.device = *device, .clock = session.clock};
  Verdict verdict;
  if (options.task.empty()) {
    KS_TRY(verdict, CompareCandidates(*old_candidate, *new_candidate, arguments, compare, tools));
  } else {
    TaskStore store(DefaultTaskStoreOptions(session), session.files);
    KS_TRY(const Task task, store.Load(options.task, options.mode));
    KS_TRY(verdict, CompareOnTask(*old_candidate, *new_candidate, task, options.direction.value(),
                                  options.dtype, compare, tools, store));
  }
  if (session.json) {
    session.PrintJson(ToJson(verdict));
  } else {
    session.out << ToText(verdict, session.ColorOut());
  }
  return ExitCodeOf(verdict.kind);
}

}  // namespace

void AddCompare(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("compare", "Judge whether two candidates compute the same");
  command->fallthrough();
  command->footer(
      "The old candidate is the reference. With --arg PyTorch is not needed; with --task the task "
      "gives\n"
      "arguments, shapes and data. Exit code: 0 the same (proved as algebra), 1 different, 3 no "
      "proof.");
  auto options = std::make_shared<Options>();
  command->add_option("old", options->old_candidate, "The .cu file that is trusted")->required();
  command->add_option("new", options->new_candidate, "The .cu file that is judged")->required();
  command->add_option("--arg", options->arguments,
                      "An argument of the function, in order: x=float32[32,256], eps=1e-5, k=4");
  command->add_option("--function", options->function, "The function to call")
      ->capture_default_str();
  AddTaskOption(*command, options->task);
  AddDirection(*command, options->direction);
  AddDtype(*command, options->dtype);
  AddMode(*command, options->mode);
  command->callback([&session, options] {
    session.action = [&session, options] { return RunCompare(session, *options); };
  });
}

}  // namespace kernelsmith
