#include "cli/judge_tools.h"

namespace kernelsmith {

JudgeTools::JudgeTools(Session& session)
    : session_(session),
      store_(DefaultTaskStoreOptions(session), session.files),
      compiler_(session.files, session.processes, session.tools),
      progress_(session.MakeProgress()) {}

Status JudgeTools::Start() {
  KS_TRY(device_, MakeVirtualDevice());
  return {};
}

VerifyTools JudgeTools::Verification() {
  return {.tasks = store_,
          .device = *device_,
          .files = session_.files,
          .clock = session_.clock,
          .progress = *progress_};
}

}  // namespace kernelsmith
