// What the tests of whole candidates share: the tools, and arguments from a candidate's ARGS line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "plan/argument.h"
#include "plan/trace.h"

namespace kernelsmith {

// The arguments and result shapes that a line such as
//   // ARGS: x=f32[4,8] ids=i64[3]<10 w=f32[4,8]^T eps=1e-5 flag=true bias=none -> f32[4,8]
// describes, with values drawn from a fixed seed.
struct CandidateCase {
  std::vector<CallArgument> arguments;
  std::vector<PlanTensor> results;
};
Result<CandidateCase> ParseCase(const std::string& text);

// The value of "// NAME: value" in the text; empty if there is none.
std::string Directive(const std::string& text, const std::string& name);

class CandidateHarness {
 public:
  CandidateHarness();
  Result<CompiledCandidate> Compile(const std::filesystem::path& path, bool nvcc_only = false);
  SystemProcessRunner& processes() { return processes_; }

 private:
  SystemProcessRunner processes_;
  DiskFileSystem files_;
  ToolFinder tools_;
  CandidateCompiler compiler_;
};

}  // namespace kernelsmith
