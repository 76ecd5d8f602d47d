#include "cli/judge_tools.h"

#include <fmt/format.h>

#include "cli/session_cache.h"

namespace kernelsmith {

CandidateCompiler MakeCompiler(Session& session) {
  PrepareCache(session);
  return {session.files, session.processes, session.tools, session.settings.folders};
}

CandidateTools OpenerOf(Session& session, CandidateCompiler& compiler) {
  return {.compiler = compiler,
          .processes = session.processes,
          .trace = {.tracer = session.settings.folders.tracer}};
}

VirtualDeviceOptions DeviceOptionsOf(const Session& session) {
  VirtualDeviceOptions options;
  options.gpu.settings = session.settings.engine;
  return options;
}

JudgeTools::JudgeTools(Session& session, const GpuModel& gpu)
    : session_(session),
      gpu_(gpu),
      store_(DefaultTaskStoreOptions(session), session.files),
      compiler_(MakeCompiler(session)),
      progress_(session.MakeProgress()) {}

Status JudgeTools::Start() {
  VirtualDeviceOptions options = DeviceOptionsOf(session_);
  options.gpu.model = &gpu_;
  KS_TRY(device_, MakeVirtualDevice(options));
  return {};
}

CandidateTools JudgeTools::opener() {
  CandidateTools tools = OpenerOf(session_, compiler_);
  tools.compile.architecture = fmt::format("{}{}", gpu_.major, gpu_.minor);
  tools.trace.gpu = gpu_.key;
  return tools;
}

VerifyTools JudgeTools::Verification() {
  return {.tasks = store_,
          .device = *device_,
          .files = session_.files,
          .clock = session_.clock,
          .progress = *progress_};
}

}  // namespace kernelsmith
