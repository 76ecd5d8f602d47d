#include "optimize/subject.h"

#include <algorithm>

#include "graph/graph.h"
#include "support/rng.h"

namespace kernelsmith {

namespace {

// The stream of seeds that data for verification come from; any number that nobody else uses.
constexpr uint64_t kVerifyStream = 0x6f7074;

// PyTorch's own draws depend on the upper half of a seed (VerifyOptions::seed). Runs with a small
// --seed, which anybody can repeat, have these draws in common, so that PyTorch makes them once.
uint64_t VerifySeed(uint64_t seed) {
  const uint64_t upper = seed >> 32 == 0 ? kVerifyStream : seed >> 32;
  return upper << 32 | (Rng(seed).Fork(kVerifyStream).Next() & 0xffffffff);
}

}  // namespace

Result<OptimizeSubject> MakeOptimizeSubject(const Task& task, const OptimizeRequest& request,
                                            const std::filesystem::path& scratch,
                                            const OptimizeTools& tools) {
  OptimizeSubject subject{.task = task, .request = request, .scratch = scratch};
  MeasuredPlanRequest wanted{.candidate = {},
                             .direction = request.direction,
                             .dtype = request.dtype,
                             .group = "timing",
                             .configuration = request.configuration,
                             .seed = request.seed};
  KS_TRY(subject.timed, MakeMeasuredCall(task, wanted, tools.tasks));
  const auto& all = task.Configurations(request.direction);
  if (std::any_of(all.begin(), all.end(), [](const auto& each) { return each.group == "quick"; })) {
    wanted.group = "quick";
    wanted.configuration.clear();
    KS_TRY(subject.quick, MakeMeasuredCall(task, wanted, tools.tasks));
  }
  KS_TRY(const std::vector<EagerOperator> operators, ReadEager(subject.timed->graph.file.string()));
  KS_TRY(const Graph graph, ReadGraph(subject.timed->graph.file));
  subject.floor = FloorOf(graph, operators);
  subject.floor_seconds = subject.floor.Seconds(*request.gpu);
  subject.eager = EstimateEager(operators, *request.gpu);
  subject.verify_seed = VerifySeed(request.seed);
  KS_RETURN_IF_ERROR(tools.files.MakeDirectories(scratch));
  return subject;
}

Result<Workshop::Lease> Workshop::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<Bench> bench = std::move(free_.back());
      free_.pop_back();
      return Lease(*this, std::move(bench));
    }
  }
  auto bench = std::make_unique<Bench>();
  bench->compiler =
      std::make_unique<CandidateCompiler>(tools_.files, tools_.processes, tools_.tools);
  KS_TRY(bench->device, MakeVirtualDevice());
  return Lease(*this, std::move(bench));
}

void Workshop::Return(std::unique_ptr<Bench> bench) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(bench));
}

}  // namespace kernelsmith
