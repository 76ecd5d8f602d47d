// A `.cu` file as a candidate: nvcc and clang compile it, the sandboxed tracer runs its host code.
#pragma once

#include <filesystem>
#include <memory>

#include "candidate/candidate.h"

namespace kernelsmith {

// Who turns CUDA sources into candidates. One set serves any number of candidates and threads.
struct CandidateTools {
  CandidateCompiler& compiler;
  ProcessRunner& processes;
  CompileOptions compile = {};
  TraceOptions trace = {};  // function and results come from the call
  CandidateCounter* counter = nullptr;
};

std::shared_ptr<Candidate> OpenCandidate(const std::filesystem::path& path,
                                         const CandidateTools& tools);

}  // namespace kernelsmith
