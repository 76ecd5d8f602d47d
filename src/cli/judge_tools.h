// What a command needs that judges candidates: the tasks, a compiler, a device, and a bar.
#pragma once

#include <memory>

#include "candidate/cuda_file.h"
#include "cli/session.h"
#include "cli/task_store.h"
#include "verify/verify.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

// As the settings have them: a compiler, who opens candidates with it, a virtual GPU.
CandidateCompiler MakeCompiler(Session& session);
CandidateTools OpenerOf(Session& session, CandidateCompiler& compiler);
VirtualDeviceOptions DeviceOptionsOf(const Session& session);

class JudgeTools {
 public:
  explicit JudgeTools(Session& session, const GpuModel& gpu = DefaultGpuModel());

  // Before Verification().
  Status Start();
  TaskStore& store() { return store_; }
  VerifyTools Verification();
  // For the GPU's compute capability, as host code sees it, too.
  CandidateTools opener();
  std::shared_ptr<Candidate> Open(const std::filesystem::path& candidate) {
    return OpenCandidate(candidate, opener());
  }

 private:
  Session& session_;
  const GpuModel& gpu_;
  TaskStore store_;
  CandidateCompiler compiler_;
  std::unique_ptr<Progress> progress_;
  std::unique_ptr<ObservableDevice> device_;
};

}  // namespace kernelsmith
