#include "candidate/cuda_file.h"

namespace kernelsmith {
namespace {

class CudaFile final : public CandidateForm {
 public:
  CudaFile(std::filesystem::path path, const CandidateTools& tools)
      : path_(std::move(path)), tools_(tools) {}

  const std::filesystem::path& path() const override { return path_; }

  Result<CompiledCandidate> Compile() override {
    return tools_.compiler.Compile(path_, tools_.compile);
  }

  Result<std::string> CompileVisibleMath(const CompiledCandidate& compiled) override {
    return tools_.compiler.CompileVisibleMath(compiled, tools_.compile);
  }

  counters::PtxasAnswer Assemble(const CompiledCandidate& compiled) override {
    return tools_.compiler.Assemble(compiled);
  }

  Result<TraceOutcome> Trace(const CompiledCandidate& compiled,
                             const CandidateCall& call) override {
    TraceOptions options = tools_.trace;
    options.function = call.function;
    options.results = call.results;
    options.other_stream = call.other_stream;
    return kernelsmith::Trace(compiled, call.arguments, options, tools_.processes);
  }

  Result<SequenceOutcome> TraceSequence(const CompiledCandidate& compiled,
                                        const std::vector<CandidateCall>& calls,
                                        const std::vector<uint32_t>& sequence) override {
    TraceOptions options = tools_.trace;
    options.function = calls.front().function;
    std::vector<CallSet> sets;
    for (const CandidateCall& call : calls) sets.push_back({call.arguments, call.results});
    return kernelsmith::TraceSequence(compiled, sets, sequence, options, tools_.processes);
  }

 private:
  std::filesystem::path path_;
  CandidateTools tools_;
};

}  // namespace

std::shared_ptr<Candidate> OpenCandidate(const std::filesystem::path& path,
                                         const CandidateTools& tools) {
  return std::make_shared<Candidate>(std::make_unique<CudaFile>(path, tools), tools.counter);
}

}  // namespace kernelsmith
