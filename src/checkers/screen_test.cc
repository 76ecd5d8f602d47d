// The screen beside the checkers it stands for: the same launch both ways has the same findings and
// the same results. Random kernels with accesses of every shape, half of them clean.
//
// The tests run a sample. The long run:
//   KERNELSMITH_SCREEN_KERNELS=20000 build/src/checkers/ks_checkers_test
//       --gtest_filter='Screen.*'

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "checkers/suite.h"
#include "support/rng.h"
#include "vgpu/testing.h"

namespace kernelsmith::checkers {
namespace {

constexpr uint32_t kThreads = 64;
constexpr uint32_t kBlocks = 3;
constexpr uint64_t kWords = 2048;  // of each buffer

// Small kernels whose accesses are mostly one thread's own, so that one odd access decides.
class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  std::string Kernel() {
    text_ =
        ".visible .entry k(.param .u64 a, .param .u64 b) {\n"
        ".reg .b32 %r<20>; .reg .b64 %rd<12>; .reg .pred %p<4>; .reg .b16 %h<4>; .reg .f32 %f<4>;\n"
        ".shared .align 16 .b8 s[4096];\n.local .align 16 .b8 l[64];\n"
        "ld.param.u64 %rd0, [a];\nld.param.u64 %rd1, [b];\n"
        "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %laneid;\n"
        "mad.lo.s32 %r3, %r1, 80, %r0;\nmov.u32 %r4, 1;\nmov.u32 %r5, 2;\nmov.u32 %r6, 3;\n"
        "mov.b32 %r9, 0;\nmov.b32 %r10, 0;\nmov.b32 %r11, 0;\nmov.b32 %r12, 0;\n"
        "mov.u16 %h0, 5;\nsetp.lt.u32 %p0, %r0, " +
        N(Below(70)) + ";\n";
    odd_ = Below(2) == 0 ? 0 : 1 + Below(2);
    if (Below(8) != 0) {
      // What is read has a value, but for odd accesses.
      Add("mov.u32 %r7, s");
      Add("shl.b32 %r8, %r0, 4");
      Add("add.s32 %r7, %r7, %r8");
      for (int i = 0; i < 3; ++i)
        Add("st.shared.v4.u32 [%r7+" + N(1280 * i) + "], {%r4, %r5, %r6, %r3}");
      for (int i = 0; i < 4; ++i)
        Add("st.local.v4.u32 [l+" + N(16 * i) + "], {%r4, %r5, %r6, %r3}");
      if (Below(8) != 0) Add("bar.sync 0");
    }
    if (Below(12) != 0) text_ += "setp.eq.u32 %p1, %r2, 3;\n";  // else it was never written
    const uint64_t statements = 2 + Below(10);
    for (uint64_t i = 0; i < statements; ++i) Statement();
    return text_ + "ret;\n}\n";
  }

 private:
  static std::string N(uint64_t n) { return std::to_string(n); }
  uint64_t Below(uint64_t n) { return rng_.Next() % n; }
  void Add(const std::string& line) { text_ += line + ";\n"; }

  // An index in %r8, in units of the access: mostly a thread's own.
  void Index(bool global) {
    const bool odd = odd_ > 0 && Below(4) == 0;
    if (odd) --odd_;
    const std::string own = global ? "%r3" : "%r0";
    switch (odd ? 3 + Below(6) : 0) {
      case 0:
        return Add("mov.u32 %r8, " + own);
      case 3:
        return Add("add.s32 %r8, " + own + ", 1");
      case 4:
        return Add("xor.b32 %r8, " + own + ", 1");
      case 5:
        return Add("mov.u32 %r8, " + N(Below(64)));
      case 6:
        return Add("mov.u32 %r8, %r2");
      case 7:
        return Add("shl.b32 %r8, " + own + ", " + N(1 + Below(6)));
      default:
        return Add("sub.s32 %r8, 63, %r0");
    }
  }

  void Access() {
    static constexpr const char* kType[] = {"u8", "u16", "u32", "v2.u32", "v4.u32"};
    static constexpr const char* kValue[] = {"%r4", "%h0", "%r5", "{%r4, %r5}",
                                             "{%r4, %r5, %r6, %r3}"};
    static constexpr const char* kTarget[] = {"%r9", "%h1", "%r10", "{%r9, %r10}",
                                              "{%r9, %r10, %r11, %r12}"};
    const uint64_t where = Below(8);
    const bool global = where >= 4;
    const bool local = where == 0 && Below(2) == 0;
    const uint64_t size = Below(3) != 0 ? 2 : Below(5);
    const std::string space = local ? "local" : global ? "global" : "shared";
    std::string at;
    if (local) {
      at = "[l+" + N(16 * Below(3)) + "]";
    } else {
      Index(global);
      Add("shl.b32 %r8, %r8, " + N(size));
      // Each size of access has a part of the memory to itself.
      Add("add.s32 %r8, %r8, " + N(((uint64_t{1} << size) - 1) * (global ? 240 : 80)));
      if (global) {
        Add("cvt.s64.s32 %rd4, %r8");
        Add(std::string("add.s64 %rd4, %rd4, ") + (Below(3) == 0 ? "%rd0" : "%rd1"));
        at = "[%rd4]";
      } else {
        Add("mov.u32 %r7, s");
        Add("add.s32 %r7, %r7, %r8");
        at = "[%r7]";
      }
    }
    const std::string guard = Below(4) == 0 ? (Below(2) == 0 ? "@%p0 " : "@!%p1 ") : "";
    switch (Below(9)) {
      case 0:
        // Atomics are of words: with smaller units they are misaligned, a finding too.
        if (!local && (size >= 2 || Below(8) == 0))
          return Add(guard + "red." + space + ".add.u32 " + at + ", 1");
        [[fallthrough]];
      case 1:
      case 2:
      case 3:
        return Add(guard + "ld." + space + "." + kType[size] + " " + kTarget[size] + ", " + at);
      default:
        return Add(guard + "st." + space + "." + kType[size] + " " + at + ", " + kValue[size]);
    }
  }
  void Statement() {
    switch (Below(14)) {
      case 0:
      case 1:
      case 2:
        return Add(Below(12) == 0 ? "@%p0 bar.sync 0" : "bar.sync 0");
      case 3:
        return Add(Below(8) == 0 ? "shfl.sync.bfly.b32 %r9, %r9, 1, 31, 0xffff"
                                 : "shfl.sync.down.b32 %r9, %r9, 1, 31, -1");
      case 4: {
        const std::string label = "L" + N(labels_++);
        Add(std::string(Below(2) == 0 ? "@%p0" : "@!%p1") + " bra " + label);
        Access();
        if (Below(2) == 0) Access();
        text_ += label + ":\n";
        return;
      }
      case 5: {
        const std::string label = "L" + N(labels_++);
        Add("mov.u32 %r13, 0");
        text_ += label + ":\n";
        Access();
        if (Below(2) == 0) Add("bar.sync 0");
        Add("add.u32 %r13, %r13, 1");
        Add("setp.lt.u32 %p2, %r13, " + N(1 + Below(3)));
        return Add("@%p2 bra " + label);
      }
      case 6:
        if (Below(8) == 0) return Add("@%p0 exit");
        if (Below(8) == 0) return Add("bar.warp.sync -1");
        if (Below(8) == 0) return Add("mad.lo.s32 %r3, %r3, 2000000, %r3");
        [[fallthrough]];
      default:
        return Access();
    }
  }

  Rng rng_;
  std::string text_;
  uint64_t odd_ = 0;
  uint64_t labels_ = 0;
};

struct Outcome {
  std::string findings;
  std::vector<uint32_t> memory;
  bool screened = false;
  bool faulted = false;
};

Outcome RunKernel(const std::string& text, uint64_t seed, bool screening) {
  vgpu::VirtualGpu::Options options;
  options.watchdog = std::chrono::milliseconds(50);
  options.settings.engine = vgpu::Engine::kJit;
  options.settings.threads = 2;
  options.settings.full_checks = !screening;
  vgpu::TestGpu gpu(options);
  const Status loaded = gpu.Load(text);
  EXPECT_TRUE(loaded.ok()) << "seed " << seed << ": " << loaded.error().Format() << "\n" << text;
  if (!loaded.ok()) return {};
  FindingSink sink;
  CheckerList list(sink);
  AddCheckers(list, {"memory", "init", "race", "sync", "index"}, sink, gpu.gpu());
  std::vector<uint64_t> buffers;
  for (int i = 0; i < 2; ++i) {
    buffers.push_back(gpu.Buffer(std::vector<uint32_t>(kWords, 7)));
    list.OnAllocate(*gpu.memory().Find(buffers.back()), {});
  }
  // Of the second only a part has a value, sometimes an odd one.
  list.OnDefined(buffers[0], kWords * 4);
  const uint64_t defined = seed % 4 != 0 ? kWords * 4 : seed % 8 == 0 ? 0 : 512 + seed % 7;
  list.OnDefined(buffers[1], defined);
  Outcome outcome;
  const auto result =
      gpu.Launch("k", {kBlocks, 1, 1}, {seed % 5 == 0 ? kThreads + 16 : kThreads, 1, 1}, buffers, 0,
                 false, &list);
  EXPECT_TRUE(result.ok());
  if (!result.ok()) return outcome;
  outcome.screened = result->screened;
  outcome.faulted = result->fault.has_value();
  // What the host looks at shows whether both know the same bytes as written.
  list.OnHostRead(buffers[1], kWords * 4, {});
  list.Finish();
  for (const Finding& finding : sink.Findings()) {
    outcome.findings += std::string(Name(finding.kind)) + " line " +
                        std::to_string(finding.place.ptx.line) + " count " +
                        std::to_string(finding.count) + ": " + finding.message + "\n";
  }
  for (const uint64_t buffer : buffers) {
    for (const uint32_t word : gpu.Read<uint32_t>(buffer, kWords)) outcome.memory.push_back(word);
  }
  return outcome;
}

// A thread's own write, then its atomic, then another thread's atomic.
TEST(Screen, RemembersTheWriteBeforeAnAtomic) {
  const std::string text = Generator(1405).Kernel();
  EXPECT_NE(RunKernel(text, 1405, false).findings, "");
  EXPECT_EQ(RunKernel(text, 1405, false).findings, RunKernel(text, 1405, true).findings) << text;
}

TEST(Screen, SaysTheSameAsTheCheckers) {
  const char* wanted = std::getenv("KERNELSMITH_SCREEN_KERNELS");
  const uint64_t goal = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 120;
  const char* only = std::getenv("KERNELSMITH_SCREEN_SEED");
  uint64_t screened = 0;
  uint64_t with_findings = 0;
  uint64_t clean = 0;
  const uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  for (uint64_t seed = first; seed < (only != nullptr ? first + 1 : first + goal); ++seed) {
    const std::string text = Generator(seed).Kernel();
    const Outcome full = RunKernel(text, seed, false);
    const Outcome quick = RunKernel(text, seed, true);
    EXPECT_FALSE(full.screened);
    ASSERT_EQ(full.findings, quick.findings) << "seed " << seed << "\n" << text;
    // Racing kernels may leave anything; in the screen's blocks run on two threads.
    EXPECT_EQ(full.memory, quick.memory) << "seed " << seed << "\n" << text;
    screened += quick.screened ? 1 : 0;
    with_findings += full.findings.empty() ? 0 : 1;
    clean += full.findings.empty() && !full.faulted ? 1 : 0;
    if (only != nullptr)
      std::printf("%s%s%d\n", text.c_str(), full.findings.c_str(), quick.screened);
  }
  std::printf("%lu kernels: %lu with findings, %lu clean, %lu screened\n", goal, with_findings,
              clean, screened);
  if (only != nullptr) return;
  EXPECT_GT(with_findings, goal / 5);
  EXPECT_GT(screened, goal / 5);
}

}  // namespace
}  // namespace kernelsmith::checkers
