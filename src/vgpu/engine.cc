#include "vgpu/engine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "support/demangle.h"
#include "support/processor_clock.h"
#include "vgpu/block_interaction.h"
#include "vgpu/jit/abi.h"
#include "vgpu/jit_library.h"
#include "vgpu/runner.h"
#include "vgpu/screen.h"
#include "vgpu/streaming.h"

namespace kernelsmith::vgpu {

namespace {

using Clock = ProcessorClock;

// What a kernel may cost in the interpreter before it is compiled: about what compiling costs, so
// that a wrong guess costs at most twice the best choice.
constexpr double kInterpretedMs = 30;

// ---- the compiler's library

// Each is looked for once in a process.
const JitLibrary& CompilerLibrary(const std::string& given) {
  static std::mutex mutex;
  // Never destroyed: programs may still run kernels while they end.
  static auto& libraries = *new std::map<std::string, JitLibrary>;
  const std::lock_guard lock(mutex);
  const auto known = libraries.find(given);
  return known != libraries.end() ? known->second
                                  : libraries.emplace(given, FindJitLibrary(given)).first->second;
}

// ---- compiled kernels, by block shape; kept with the kernel

// How often the code may be left before it is compiled anew, with longer ways of parts of warps:
// about the time that takes.
constexpr uint64_t kMostCodeExits = 4096;

struct Compiled {
  const jit::CompiledKernel* kernel = nullptr;                // the latest
  std::vector<std::unique_ptr<jit::CompiledKernel>> kernels;  // other launches may run older ones
  std::string why;                                            // there is none
  bool tried = false;
  bool thorough = false;
  uint64_t code_exits = 0;
  double interpreted_ms = 0;
};

struct CompiledShapes {
  std::mutex mutex;
  std::map<std::array<uint32_t, 5>, Compiled> shapes;
  std::map<SliceStores, KernelSlice> slices;
};

Compiled& CompiledOf(const LaunchState& launch, CompiledShapes& all) {
  const Dim3 block = launch.request.block;
  const bool index = launch.Wants(interest::kIndexArithmetic);
  // 0: not screened.
  const uint32_t screened =
      launch.screen == nullptr ? 0 : 1 + 2 * launch.screen->shift() + (index ? 1 : 0);
  const uint32_t covered = launch.coverage_map != nullptr ? 1 : 0;
  return all.shapes[{block.x, block.y, block.z, screened, covered}];
}

CompiledShapes& ShapesOf(const Kernel& kernel) {
  std::lock_guard lock(kernel.compiled_mutex);
  if (kernel.compiled == nullptr) kernel.compiled = std::make_shared<CompiledShapes>();
  return *static_cast<CompiledShapes*>(kernel.compiled.get());
}

void Compile(const LaunchState& launch, Compiled& compiled, LaunchResult& result) {
  compiled.tried = true;
  const JitLibrary& library = CompilerLibrary(launch.options->settings.jit_library);
  if (library.compile == nullptr) {
    compiled.why = library.why;
    return;
  }
  const jit::CompileRequest request{
      .kernel = launch.kernel,
      .block = launch.request.block,
      .parameter_bytes = static_cast<uint32_t>(launch.request.parameters.size()),
      .warp_stride = sizeof(CompiledWarp),
      .thorough = compiled.thorough,
      .screened = launch.screen != nullptr,
      .screen_index = launch.screen != nullptr && launch.Wants(interest::kIndexArithmetic),
      .screen_shift = launch.screen != nullptr ? launch.screen->shift() : 0,
      .streams = MayStream(launch),
      .coverage = launch.coverage_map,
      .slice = launch.slice_run != nullptr,
      .dump = launch.options->settings.jit_dump,
      .helpers = RunnerHelpers()};
  std::unique_ptr<jit::CompiledKernel> kernel(library.compile(request, &compiled.why));
  if (kernel == nullptr) return;
  result.compile_ms += kernel->compile_ms;
  compiled.kernel = kernel.get();
  compiled.kernels.push_back(std::move(kernel));
}

// ---- threads

// Threads that stay: a launch may take less time than starting one.
class Pool {
 public:
  explicit Pool(uint32_t threads) : process_(::getpid()) {
    for (uint32_t i = 0; i < threads; ++i) {
      std::thread([this] { Work(); }).detach();
    }
  }

  // Runs work(1) ... work(count) on other threads and work(0) on this one.
  void Run(uint32_t count, const std::function<void(uint32_t)>& work) {
    {
      std::lock_guard lock(mutex_);
      work_ = &work;
      next_ = 1;
      count_ = count;
      left_ = count;
    }
    wake_.notify_all();
    work(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return left_ == 0; });
    work_ = nullptr;
  }

  pid_t process() const { return process_; }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return work_ != nullptr && next_ <= count_; });
      const uint32_t index = next_++;
      const auto* work = work_;
      lock.unlock();
      (*work)(index);
      lock.lock();
      if (--left_ == 0) done_.notify_all();
    }
  }

  pid_t process_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  const std::function<void(uint32_t)>* work_ = nullptr;
  uint32_t next_ = 1;
  uint32_t count_ = 0;
  uint32_t left_ = 0;
};

std::mutex g_pool_mutex;  // one launch at a time has the pool; others do with their own thread
Pool* g_pool = nullptr;

void RunOnThreads(uint32_t threads, const std::function<void(uint32_t)>& work) {
  std::unique_lock lock(g_pool_mutex, std::try_to_lock);
  if (threads <= 1 || !lock) {
    work(0);
    return;
  }
  const uint32_t processors = std::max(1u, std::thread::hardware_concurrency());
  // Threads do not survive a fork; what is left of the old pool is leaked.
  if (g_pool == nullptr || g_pool->process() != ::getpid()) {
    g_pool = new Pool(std::max(processors, 8u) - 1);
  }
  g_pool->Run(std::min(threads - 1, std::max(processors, 8u) - 1), work);
}

// What the launch's blocks may do to one another.
BlockInteraction InteractionOf(const LaunchState& launch) {
  const LaunchRequest& request = launch.request;
  return InteractionOf(*launch.kernel, request.cooperative || request.cluster.Count() > 1);
}

// Threads that may run its blocks.
uint32_t ThreadsFor(const LaunchState& launch) {
  if (InteractionOf(launch).order_of_blocks_shows && !launch.options->settings.parallel_atomics) {
    return 1;
  }
  const uint32_t threads = launch.options->settings.threads;
  return std::max(threads != 0 ? threads : std::thread::hardware_concurrency(), 1u);
}

// All blocks that are left, as compiled code, or until it was left too often.
void RunCompiled(LaunchState& launch, std::atomic<uint64_t>& next,
                 const jit::CompiledKernel& compiled, CodeExitCount& code_exits, Screen* screen) {
  std::atomic<uint64_t> last{std::numeric_limits<uint64_t>::max()};
  const uint64_t left = launch.Turns() - std::min(next.load(), launch.Turns());
  const auto threads = static_cast<uint32_t>(std::min<uint64_t>(ThreadsFor(launch), left));
  if (threads <= 1) {
    launch.one_thread = launch.request.alone;
    Runner(launch, next, &compiled, &code_exits).Run(last, std::nullopt);
    FinishStreaming();
    return;
  }
  // Each thread has a launch state of its own; the fault of the first block counts.
  std::mutex mutex;
  uint64_t failed = std::numeric_limits<uint64_t>::max();
  const LaunchState prototype = launch;
  RunOnThreads(threads, [&](uint32_t) {
    LaunchState own = prototype;
    own.statistics = {};
    if (screen != nullptr) own.observer = own.screen = screen->NewThread();
    Runner runner(own, next, &compiled, &code_exits);
    runner.Run(last, std::nullopt);
    FinishStreaming();
    std::lock_guard lock(mutex);
    launch.statistics.blocks += own.statistics.blocks;
    launch.statistics.warps += own.statistics.warps;
    launch.statistics.warp_instructions += own.statistics.warp_instructions;
    launch.statistics.lane_instructions += own.statistics.lane_instructions;
    if (own.fault && runner.failed_block() < failed) {
      failed = runner.failed_block();
      launch.fault = std::move(own.fault);
      last = failed;
    }
  });
}

// Why compiled code can't run the launch; null: it can, if it can be compiled.
const char* WhyInterpreted(const LaunchState& launch) {
  if (launch.request.schedule != 0) return "it runs in an order of its own";
  return nullptr;
}

// With nobody watching but perhaps the screen.
void RunUnwatched(LaunchState& launch, LaunchResult& result, Screen* screen) {
  std::atomic<uint64_t> next{0};
  const std::atomic<uint64_t> last{std::numeric_limits<uint64_t>::max()};
  const auto interpret = [&](std::optional<Clock::time_point> deadline) {
    Runner(launch, next, nullptr).Run(last, deadline);
  };
  const Engine engine = launch.options->settings.engine;
  CompiledShapes& shapes = ShapesOf(*launch.kernel);
  std::unique_lock lock(shapes.mutex);
  Compiled& compiled = CompiledOf(launch, shapes);
  if (!compiled.tried && engine == Engine::kAuto) {
    const double budget = kInterpretedMs - compiled.interpreted_ms;
    lock.unlock();
    const auto start = Clock::now();
    if (budget > 0) {
      interpret(start + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double, std::milli>(budget)));
    }
    lock.lock();
    compiled.interpreted_ms +=
        std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    if (launch.fault || next >= launch.Turns()) return;
    if (screen != nullptr && screen->stopped()) return;
  }
  if (!compiled.tried) {
    // For tests: at once what kernels get that leave their code often.
    compiled.thorough = launch.options->settings.jit_thorough;
    Compile(launch, compiled, result);
  }
  if (compiled.kernel == nullptr) {
    lock.unlock();
    result.fallback = compiled.why;
    return interpret(std::nullopt);
  }
  result.compiled = true;
  const auto goes_on = [&] { return screen == nullptr || !screen->stopped(); };
  while (!launch.fault && next < launch.Turns() && goes_on()) {
    const jit::CompiledKernel& kernel = *compiled.kernel;
    CodeExitCount code_exits;
    if (!compiled.thorough) {
      code_exits.most = kMostCodeExits - std::min(kMostCodeExits, compiled.code_exits);
    }
    lock.unlock();
    RunCompiled(launch, next, kernel, code_exits, screen);
    lock.lock();
    compiled.code_exits += code_exits.count;
    if (compiled.code_exits <= kMostCodeExits || compiled.thorough) continue;
    compiled.thorough = true;
    Compile(launch, compiled, result);
  }
}

// Attempts that each see more than the one before: cells for allocations that are read and then
// written, smaller cells.
constexpr int kScreenAttempts = 4;

// True: the launch is done, and its observer need not hear of it.
bool RunScreened(LaunchState& launch, LaunchResult& result) {
  if (launch.options->settings.full_checks) return false;
  Screen* screen = launch.observer->screen();
  if (screen == nullptr || launch.options->settings.engine == Engine::kInterpreter) return false;
  if (WhyInterpreted(launch) != nullptr || !screen->Accepts(launch, &result.suspicion)) {
    return false;
  }
  for (int attempt = 0; attempt < kScreenAttempts; ++attempt) {
    LaunchState own = launch;
    screen->Begin(own, ThreadsFor(launch) > 1);
    own.observer = own.screen = screen->NewThread();
    own.interests = own.screen->interests();
    LaunchResult own_result;
    RunUnwatched(own, own_result, screen);
    result.compile_ms += own_result.compile_ms;
    if (own.fault) screen->Suspect("a fault");
    if (screen->IsSilent()) {
      screen->Commit();
      launch.statistics = own.statistics;
      result.compiled = own_result.compiled;
      result.fallback = own_result.fallback;
      result.screened = true;
      return true;
    }
    result.suspicion = screen->why();
    if (!screen->Undo()) return false;
  }
  return false;
}

void RunBlocks(LaunchState& launch, LaunchResult& result) {
  const bool watched = launch.observer != nullptr;
  if (watched && RunScreened(launch, result)) return;
  const Engine engine = launch.options->settings.engine;
  const char* why = watched ? "an observer watches the launch" : WhyInterpreted(launch);
  if (engine != Engine::kInterpreter && why == nullptr) {
    return RunUnwatched(launch, result, nullptr);
  }
  if (engine == Engine::kJit) result.fallback = why;
  std::atomic<uint64_t> next{0};
  const std::atomic<uint64_t> last{std::numeric_limits<uint64_t>::max()};
  Runner(launch, next, nullptr).Run(last, std::nullopt);
}

// The blocks that the observer chose, then the others without it.
void RunChosen(LaunchState& launch, LaunchResult& result) {
  launch.chosen_blocks = launch.choice.blocks.size();
  std::atomic<uint64_t> next{0};
  const std::atomic<uint64_t> last{std::numeric_limits<uint64_t>::max()};
  Runner(launch, next, nullptr).Run(last, std::nullopt);
  launch.choice.blocks.resize(std::min<uint64_t>(next.load(), launch.chosen_blocks));
  launch.chosen_blocks = 0;
  if (launch.fault || !launch.choice.run_others) return;
  std::sort(launch.choice.blocks.begin(), launch.choice.blocks.end());
  launch.other_blocks = true;
  Observer* const observer = std::exchange(launch.observer, nullptr);
  const uint32_t interests = std::exchange(launch.interests, 0u);
  if (launch.Turns() > 0) RunBlocks(launch, result);
  launch.observer = observer;
  launch.interests = interests;
}

}  // namespace

const KernelSlice& SliceOf(const Kernel& kernel, SliceStores stores) {
  CompiledShapes& shapes = ShapesOf(kernel);
  const std::lock_guard lock(shapes.mutex);
  const auto known = shapes.slices.find(stores);
  if (known != shapes.slices.end()) return known->second;
  return shapes.slices.emplace(stores, SliceKernel(kernel, stores)).first->second;
}

void RunGrid(LaunchState& launch, LaunchResult& result) {
  if (!launch.choice.blocks.empty() && !InteractionOf(launch).blocks_wait) {
    RunChosen(launch, result);
  } else {
    RunBlocks(launch, result);
  }
  if (!launch.options->settings.verbose) return;
  const std::string name = KernelName(launch.request.entry);
  if (result.screened) {
    fmt::print(stderr, "kernelsmith: {} was screened: nothing is suspicious\n", name);
  } else if (!result.suspicion.empty()) {
    fmt::print(stderr, "kernelsmith: {} is checked in full: {}\n", name, result.suspicion);
  }
  if (!result.fallback.empty()) {
    fmt::print(stderr, "kernelsmith: {} runs in the interpreter: {}\n", name, result.fallback);
  } else if (result.compile_ms > 0) {
    fmt::print(stderr, "kernelsmith: {} was compiled for blocks of {} x {} x {} in {:.1f} ms\n",
               name, launch.request.block.x, launch.request.block.y, launch.request.block.z,
               result.compile_ms);
  }
}

}  // namespace kernelsmith::vgpu
