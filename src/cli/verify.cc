// `kernelsmith verify TASK CANDIDATE`: is the candidate right?
#include "verify/verify.h"

#include "cli/commands.h"
#include "cli/task_store.h"

namespace kernelsmith {
namespace {

struct Options {
  std::string task;
  std::string candidate;
  bool backward = false;
  std::string dtype = "task";
  int draws = 2;
};

Result<ExitCode> RunVerify(Session& session, const Options& options) {
  // The candidate first: a wrong path should not wait for PyTorch.
  KS_RETURN_IF_ERROR(session.files.Read(options.candidate));
  TaskStore store(DefaultTaskStoreOptions(session), session.files);
  KS_TRY(const Task task, store.Load(options.task));
  CandidateCompiler compiler(session.files, session.processes, session.tools);
  KS_TRY(const std::unique_ptr<Device> device, MakeVirtualDevice());
  const std::unique_ptr<Progress> progress = session.MakeProgress();
  const VerifyOptions verify{
      .direction = options.backward ? TaskDirection::kBackward : TaskDirection::kForward,
      .dtype = options.dtype,
      .seed = session.Seed(),
      .draws = options.draws};
  KS_TRY(const Verdict verdict, Verify(task, options.candidate, verify,
                                       {.tasks = store,
                                        .compiler = compiler,
                                        .processes = session.processes,
                                        .device = *device,
                                        .clock = session.clock,
                                        .progress = *progress}));
  if (session.json) {
    session.PrintJson(ToJson(verdict));
  } else {
    session.out << ToText(verdict, session.ColorOut());
  }
  return ExitCodeOf(verdict.kind);
}

}  // namespace

void AddVerify(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("verify", "Judge whether a candidate does what a task asks");
  command->fallthrough();
  command->footer(
      "The candidate's host code runs in a sandbox; its kernels run on the virtual GPU with data "
      "it\n"
      "has never seen. Exit code: 0 verified, 1 refuted, 3 inconclusive or unsupported.");
  auto options = std::make_shared<Options>();
  command
      ->add_option("task", options->task,
                   "A name of the suite, a model.py, a KernelBench file or a robust-kbench folder")
      ->required();
  command->add_option("candidate", options->candidate, "A .cu file")->required();
  command->add_flag("--backward", options->backward, "The task's backward pass");
  command->add_option("--dtype", options->dtype, "float32, float16, bfloat16, or the task's own")
      ->capture_default_str();
  command->add_option("--draws", options->draws, "Data sets for each configuration")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->callback([&session, options] {
    session.action = [&session, options] { return RunVerify(session, *options); };
  });
}

}  // namespace kernelsmith
