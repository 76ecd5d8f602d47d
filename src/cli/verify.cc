// `kernelsmith verify TASK CANDIDATE`: is the candidate right?
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/judge_tools.h"
#include "cli/task_options.h"
#include "support/hash.h"
#include "verify/corpus.h"
#include "verify/replay.h"

namespace kernelsmith {
namespace {

struct Options {
  std::string task;
  std::string candidate;
  std::string mode = "task";
  std::string gpu{DefaultGpuModel().key};
  std::string replay;
  std::string corpus;
  std::string only;
  std::string report;
  DirectionChoice direction;
  VerifyOptions verify;
};

Result<ExitCode> Print(Session& session, const Verdict& verdict, const std::string& report) {
  if (!report.empty()) KS_RETURN_IF_ERROR(session.files.Write(report, ToJson(verdict).dump(1)));
  if (session.json) {
    session.PrintJson(ToJson(verdict));
  } else {
    session.out << ToText(verdict, session.ColorOut());
  }
  return ExitCodeOf(verdict.kind);
}

Result<ExitCode> RunCorpusCommand(Session& session, const Options& options) {
  KS_TRY(const std::vector<CorpusRow> rows,
         ReadCorpus(options.corpus, session.files, options.only));
  JudgeTools tools(session);
  KS_RETURN_IF_ERROR(tools.Start());
  VerifyOptions verify = options.verify;
  verify.seed = VerificationSeed(session);
  KS_TRY(const std::vector<CorpusResult> results,
         RunCorpus(rows, verify, tools.Verification(), tools.opener(),
                   [&](const CorpusResult& result) {
                     if (!session.json) session.out << ToText(result) << std::flush;
                   }));
  if (session.json) {
    session.PrintJson(ToJson(rows, results));
  } else {
    session.out << Summary(rows, results);
  }
  const bool passed = std::all_of(results.begin(), results.end(),
                                  [](const CorpusResult& each) { return each.passed(); });
  return passed ? kExitOk : kExitRefuted;
}

Result<ExitCode> RunReplay(Session& session, const Options& options) {
  KS_TRY(const std::string text, session.files.Read(options.replay));
  KS_TRY(const ReplayFile replay, ParseReplay(text, options.replay));
  const std::string candidate = options.task.empty() ? replay.candidate : options.task;
  KS_TRY(const std::string source, session.files.Read(candidate));
  if (Sha256(source) != replay.candidate_hash) {
    session.err << fmt::format("kernelsmith: note: {} has changed since the report\n", candidate);
  }
  KS_TRY(const GpuModel* gpu, FindGpuModel(replay.gpu));
  JudgeTools tools(session, *gpu);
  KS_RETURN_IF_ERROR(tools.Start());
  KS_TRY(const Task task, tools.store().Load(replay.task, replay.mode));
  VerifyOptions verify = options.verify;
  verify.direction =
      replay.direction == "backward" ? TaskDirection::kBackward : TaskDirection::kForward;
  verify.dtype = replay.dtype;
  verify.gpu = gpu;
  verify.seed = replay.example.seed;
  KS_TRY(const Verdict verdict,
         Replay(task, *tools.Open(candidate), replay.example, verify, tools.Verification()));
  return Print(session, verdict, options.report);
}

Result<ExitCode> RunVerify(Session& session, const Options& options) {
  if (!options.corpus.empty()) return RunCorpusCommand(session, options);
  if (!options.replay.empty()) return RunReplay(session, options);
  if (options.task.empty() || options.candidate.empty()) {
    return InvalidInput("verify needs a task and a candidate, or --corpus, or --replay");
  }
  // The candidate first: a wrong path should not wait for PyTorch.
  KS_RETURN_IF_ERROR(session.files.Read(options.candidate));
  KS_TRY(const GpuModel* gpu, FindGpuModel(options.gpu));
  JudgeTools tools(session, *gpu);
  KS_TRY(const Task task, tools.store().Load(options.task, options.mode));
  KS_RETURN_IF_ERROR(tools.Start());
  VerifyOptions verify = options.verify;
  verify.gpu = gpu;
  verify.direction = options.direction.value();
  verify.seed = VerificationSeed(session);
  KS_TRY(const Verdict verdict,
         Verify(task, *tools.Open(options.candidate), verify, tools.Verification()));
  return Print(session, verdict, options.report);
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
  AddTask(*command, options->task);
  AddCandidate(*command, options->candidate);
  AddDirection(*command, options->direction);
  AddDtype(*command, options->verify.dtype);
  AddMode(*command, options->mode);
  AddGpu(*command, options->gpu);
  command->add_option("--draws", options->verify.draws, "Data sets at the first shape")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  VerifyPolicy& policy = options->verify.policy;
  command
      ->add_option("--inputs", policy.inputs,
                   "What decides: the task's own inputs, or structured (large, tiny, shifted) ones "
                   "as well")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, VerifyPolicy::Inputs>{
              {"task", VerifyPolicy::Inputs::kTask},
              {"structured", VerifyPolicy::Inputs::kStructured}},
          CLI::ignore_case))
      ->option_text("task|structured [task]");
  command
      ->add_option("--domain", policy.domain,
                   "What decides: the task's own calls, or views, unaligned inputs, NaN and "
                   "infinities, and other streams as well; else what does not hold narrows the "
                   "verdict")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, VerifyPolicy::Domain>{{"task", VerifyPolicy::Domain::kTask},
                                                      {"strict", VerifyPolicy::Domain::kStrict}},
          CLI::ignore_case))
      ->option_text("task|strict [task]");
  command
      ->add_option("--shapes", policy.shapes,
                   "What decides: the task's shapes (and drawn ones, unless it has a single one), "
                   "drawn ones for every task, or only the first shape as it is")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, VerifyPolicy::Shapes>{{"task", VerifyPolicy::Shapes::kTask},
                                                      {"family", VerifyPolicy::Shapes::kFamily},
                                                      {"exact", VerifyPolicy::Shapes::kExact}},
          CLI::ignore_case))
      ->option_text("task|family|exact [task]");
  command
      ->add_option("--precision", policy.precision,
                   "Arithmetic that is allowed: the task's own, tf32, float16 or bfloat16")
      ->check(CLI::IsMember({"task", "tf32", "float16", "bfloat16"}))
      ->option_text("task|tf32|float16|bfloat16 [task]");
  command->add_flag("--no-libraries", policy.no_libraries,
                    "Refute candidates that delegate work to ATen or cuBLAS");
  AddAllow(*command, policy.allow);
  command->add_flag("--require-deterministic", policy.require_deterministic,
                    "Refute candidates whose results change from run to run");
  command
      ->add_option(
          "--rtol", options->verify.rtol,
          "The relative tolerance of the allclose that the report shows beside our own comparison")
      ->capture_default_str();
  command->add_option("--atol", options->verify.atol, "The absolute tolerance of that allclose")
      ->capture_default_str();
  command->add_option("--report", options->report, "Write the JSON report to this file as well");
  command->add_option("--replay", options->replay,
                      "Run the counterexample of a JSON report again; CANDIDATE may be another "
                      "file");
  command->add_option("--corpus", options->corpus,
                      "Judge every case of a folder of tricks and compare with what is demanded");
  command->add_option("--only", options->only,
                      "Cases of the corpus whose folder/file contains this (a,b: either)");
  command->callback([&session, options] {
    session.action = [&session, options] { return RunVerify(session, *options); };
  });
}

}  // namespace kernelsmith
