#include "campaign.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>

#include "generator.h"
#include "shrink.h"
#include "support/check.h"

namespace kernelsmith::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

// Processor time after which a kernel counts as hung. Most take a fraction of a second, but LLVM
// needs up to ten for the largest when lanes that part are compiled thoroughly.
constexpr rlim_t kHangs = 60;
constexpr rlim_t kHangsWhileShrinking = 20;
// The same in wall time, for one that waits; the machine may be busy with other things.
constexpr auto kWaits = std::chrono::seconds(900);
constexpr double kShrinkSeconds = 90;
constexpr size_t kMostText = 4000;

// Set by ctrl-C: the kernel at hand is the last.
volatile sig_atomic_t g_interrupted = 0;

// What a child tells its parent, and `stop` the parent the child.
struct Shared {
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> seed{0};
  std::atomic<int> shape{0};
  std::atomic<uint64_t> kernels{0};
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> compiled{0};
  std::atomic<uint64_t> faulted{0};
  std::atomic<uint64_t> sliced{0};
  std::atomic<uint64_t> lane_instructions{0};
  std::atomic<double> compile_ms{0};
  char text[kMostText] = {};

  void Say(const std::string& what) {
    const size_t size = std::min(what.size(), kMostText - 1);
    std::memcpy(text, what.data(), size);
    text[size] = 0;
  }
};

class SharedMemory {
 public:
  SharedMemory() {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    KS_CHECK(memory != MAP_FAILED);
    shared_ = new (memory) Shared;
  }
  ~SharedMemory() { ::munmap(shared_, sizeof(Shared)); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  Shared* operator->() { return shared_; }
  Shared& operator*() { return *shared_; }

 private:
  Shared* shared_;
};

enum class Ended { kWell, kDiffers, kInvalid, kCrashed, kHung };

constexpr int kExitDiffers = 10;
constexpr int kExitInvalid = 11;

// Runs `work` in a child, whose result is its exit code. It hangs if launches stop going up.
Ended InChild(Shared& shared, const std::function<int()>& work, std::string& how) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  KS_CHECK(child >= 0);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::_exit(work());
  }
  auto moved = Clock::now();
  uint64_t last = shared.launches;
  while (true) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status)) {
        if (WTERMSIG(status) == SIGXCPU) {
          how = "it did not end";
          return Ended::kHung;
        }
        how = fmt::format("compiled code ended with signal {}", WTERMSIG(status));
        return Ended::kCrashed;
      }
      how = shared.text;
      if (WEXITSTATUS(status) == 0) return Ended::kWell;
      if (WEXITSTATUS(status) == kExitDiffers) return Ended::kDiffers;
      if (WEXITSTATUS(status) != kExitInvalid) how = fmt::format("exit code {}", status);
      return Ended::kInvalid;
    }
    if (g_interrupted != 0) shared.stop = true;
    if (shared.launches != last) {
      last = shared.launches;
      moved = Clock::now();
    }
    if (Clock::now() - moved > kWaits) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      how = "it did not end";
      return Ended::kHung;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

// From now on.
void LimitProcessorTime(rlim_t seconds) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1 + seconds;
  ::setrlimit(RLIMIT_CPU, &limit);
}

int CompareOne(Differential& differential, const Program& program, Shared& shared) {
  const auto comparison = differential.Compare(program);
  if (!comparison.ok()) {
    shared.Say(comparison.error().Format());
    return kExitInvalid;
  }
  shared.compiled += comparison->compiled ? 1 : 0;
  shared.faulted += comparison->faulted ? 1 : 0;
  shared.sliced += comparison->sliced ? 1 : 0;
  shared.lane_instructions += comparison->lane_instructions;
  shared.compile_ms = shared.compile_ms + comparison->compile_ms;
  ++shared.launches;
  if (comparison->difference.empty()) return 0;
  shared.Say(comparison->difference);
  return kExitDiffers;
}

}  // namespace

namespace {

// Faults, memory, crashes, hangs: a smaller program must differ in the same way.
std::string KindOf(const std::string& difference) {
  for (const char* kind : {"the interpreter:", "words of the output", "words of the input",
                           "coverage differs", "slice differs", "did not end", "signal"}) {
    if (difference.find(kind) != std::string::npos) return kind;
  }
  return {};
}

}  // namespace

std::string DifferenceOf(const Program& program, const std::optional<Breakage>& breakage) {
  SharedMemory shared;
  std::string how;
  const Ended ended = InChild(
      *shared,
      [&] {
        LimitProcessorTime(kHangsWhileShrinking);
        auto differential = Differential::Create(breakage);
        return differential.ok() ? CompareOne(**differential, program, *shared) : kExitInvalid;
      },
      how);
  return ended == Ended::kWell || ended == Ended::kInvalid ? std::string() : how;
}

Result<CampaignResult> RunCampaign(const CampaignOptions& options) {
  const auto begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  CampaignResult result;
  SharedMemory shared;
  uint64_t seed = options.seed;
  bool more = true;
  for (const int signal : {SIGINT, SIGTERM}) {
    ::signal(signal, [](int) { g_interrupted = 1; });
  }
  const auto goes_on = [&] {
    return !shared->stop && passed() < options.seconds && shared->kernels < options.kernels;
  };
  while (more && goes_on() && result.findings.size() < options.most_findings) {
    std::string how;
    const Ended ended = InChild(
        *shared,
        [&] {
          auto differential = Differential::Create(options.breakage);
          if (!differential.ok()) return kExitInvalid;
          for (; goes_on(); ++seed) {
            shared->seed = seed;
            Program program = Generate(seed);
            for (int shape = 0; shape < options.shapes; ++shape) {
              shared->shape = shape;
              SetShape(program, shape);
              LimitProcessorTime(kHangs);
              const int code = CompareOne(**differential, program, *shared);
              if (code != 0) return code;
            }
            ++shared->kernels;
          }
          return 0;
        },
        how);
    if (ended == Ended::kInvalid) {
      return InvalidInput(fmt::format("seed {}: {}", shared->seed.load(), how));
    }
    more = ended != Ended::kWell;
    if (!more) continue;
    seed = shared->seed + 1;
    Finding finding{Generate(shared->seed), how};
    SetShape(finding.program, shared->shape);
    if (!options.quiet) {
      fmt::print("seed {}, shape {}: {}\n", shared->seed.load(), shared->shape.load(), how);
      std::fflush(stdout);
    }
    if (DifferenceOf(finding.program, options.breakage).empty()) {
      finding.difference += " (not again when run alone)";
    } else {
      const auto until = Clock::now() + std::chrono::duration<double>(kShrinkSeconds);
      finding.program = Shrink(std::move(finding.program), [&](const Program& smaller) {
        return Clock::now() < until &&
               KindOf(DifferenceOf(smaller, options.breakage)) == KindOf(how);
      });
      finding.difference = DifferenceOf(finding.program, options.breakage);
    }
    result.findings.push_back(std::move(finding));
  }
  result.kernels = shared->kernels;
  result.launches = shared->launches;
  result.compiled = shared->compiled;
  result.faulted = shared->faulted;
  result.sliced = shared->sliced;
  result.lane_instructions = shared->lane_instructions;
  result.compile_ms = shared->compile_ms;
  result.seconds = passed();
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  result.processor_seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec);
  result.next_seed = shared->seed + 1;
  return result;
}

std::string Reproducer(const Finding& finding) {
  return fmt::format("// found by ks_jit_fuzz, seed {}: {}\n// RUN: %kernelsmith launch %s {}\n{}",
                     finding.program.seed, finding.difference, finding.program.LaunchOptions(),
                     finding.program.Text());
}

}  // namespace kernelsmith::fuzz
