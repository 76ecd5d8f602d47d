#include "cli/measured_candidate.h"

#include "cli/judge_tools.h"

namespace kernelsmith {

void AddMeasuredOptions(CLI::App* command, MeasuredOptions& options, const std::string& run_all) {
  AddDirection(*command, options.direction);
  AddDtype(*command, options.dtype);
  AddMode(*command, options.mode);
  AddShape(*command, options.shape);
  command->add_flag("--run-all", options.all_blocks_run, run_all);
}

Result<MeasuredCandidate> MakeMeasuredCandidate(Session& session, const std::string& task,
                                                const std::string& candidate,
                                                const MeasuredOptions& options) {
  KS_RETURN_IF_ERROR(session.files.Read(candidate));
  TaskStore store(DefaultTaskStoreOptions(session), session.files);
  MeasuredCandidate result;
  KS_TRY(result.task, store.Load(task, options.mode));
  KS_TRY(std::shared_ptr<const MeasuredCall> call,
         MakeMeasuredCall(result.task,
                          {.direction = options.direction.value(),
                           .dtype = options.dtype,
                           .group = options.shape.group,
                           .configuration = options.shape.configuration,
                           .seed = session.Seed()},
                          store));
  result.compiler.reset(new CandidateCompiler(MakeCompiler(session)));
  KS_TRY(result.plan,
         MakeMeasuredPlan(OpenCandidate(candidate, OpenerOf(session, *result.compiler)),
                          std::move(call)));
  return result;
}

}  // namespace kernelsmith
