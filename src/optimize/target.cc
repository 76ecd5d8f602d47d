#include "optimize/target.h"

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

Result<OptimizeTarget> MakeOptimizeTarget(const Task& task, const OptimizeRequest& request,
                                          const std::filesystem::path& scratch,
                                          const OptimizeTools& tools) {
  OptimizeTarget target{.task = task, .request = request, .scratch = scratch};
  MeasuredCallRequest wanted{.direction = request.direction,
                             .dtype = request.dtype,
                             .group = "timing",
                             .configuration = request.configuration,
                             .seed = request.seed};
  KS_TRY(target.timed, MakeMeasuredCall(task, wanted, tools.tasks));
  const auto& all = task.Configurations(request.direction);
  if (std::any_of(all.begin(), all.end(), [](const auto& each) { return each.group == "quick"; })) {
    wanted.group = "quick";
    wanted.configuration.clear();
    KS_TRY(target.quick, MakeMeasuredCall(task, wanted, tools.tasks));
  }
  KS_TRY(const std::vector<EagerOperator> operators, ReadEager(target.timed->graph.file.string()));
  KS_TRY(const Graph graph, ReadGraph(target.timed->graph.file));
  target.floor = FloorOf(graph, operators);
  target.floor_seconds = target.floor.Seconds(*request.gpu);
  target.eager = EstimateEager(operators, *request.gpu);
  target.verify_seed = VerifySeed(request.seed);
  KS_RETURN_IF_ERROR(tools.files.MakeDirectories(scratch));
  return target;
}

Result<JudgePool::DeviceLease> JudgePool::TakeDevice() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      std::unique_ptr<ObservableDevice> device = std::move(free_.back());
      free_.pop_back();
      return DeviceLease(*this, std::move(device));
    }
  }
  VirtualDeviceOptions options;
  options.gpu.settings = tools_.settings.engine;
  KS_TRY(std::unique_ptr<ObservableDevice> device, MakeVirtualDevice(std::move(options)));
  return DeviceLease(*this, std::move(device));
}

void JudgePool::Return(std::unique_ptr<ObservableDevice> device) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(device));
}

std::shared_ptr<Candidate> JudgePool::Open(const std::filesystem::path& file) {
  const std::lock_guard lock(mutex_);
  if (std::shared_ptr<Candidate> known = known_[file].lock()) return known;
  std::shared_ptr<Candidate> opened =
      OpenCandidate(file, {.compiler = compiler_,
                           .processes = tools_.processes,
                           .trace = {.tracer = tools_.settings.folders.tracer},
                           .counter = &counter_});
  known_[file] = opened;
  return opened;
}

void JudgePool::Keep(std::shared_ptr<Candidate> candidate) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(candidate));
}

}  // namespace kernelsmith
