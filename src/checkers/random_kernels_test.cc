// Random valid PTX under all checkers: whatever a kernel does, they survive it. Most kernels race,
// some run out of bounds, deadlock or exit in the middle of everything.
//
// The tests run a sample. The long run:
//   KERNELSMITH_RANDOM_INSTRUCTIONS=10000000 build/src/checkers/ks_checkers_test
//       --gtest_filter='RandomKernels.*'

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "checkers/determinism.h"
#include "checkers/suite.h"
#include "support/rng.h"
#include "vgpu/testing.h"

namespace kernelsmith::checkers {
namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : rng_(seed) {}

  // The body of one kernel with about `count` instructions; instructions() says how many exactly.
  std::string Kernel(int count) {
    text_ =
        ".visible .entry k(.param .u64 p) {\n"
        ".reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .pred %p<8>; .reg .f32 %f<8>; .reg .f64 %d<4>; "
        ".reg .b16 %h<8>;\n.shared .align 16 .b8 s[4096];\n.local .align 16 .b8 l[256];\n";
    instructions_ = 0;
    labels_ = 0;
    Add("ld.param.u64 %rd0, [p]");
    for (int i = 0; i < 16; ++i) {
      Add("mov.u32 %r" + N(i) + ", " +
          Pick({"%tid.x", "%ctaid.x", "%laneid", "%warpid", "7", "-3", "0x3f800000"}));
    }
    for (int i = 1; i < 16; ++i) Add("mov.u64 %rd" + N(i) + ", " + N(Below(1000)));
    for (int i = 0; i < 8; ++i) Add("cvt.rn.f32.s32 %f" + N(i) + ", " + R());
    for (int i = 0; i < 8; ++i) Add("cvt.u16.u32 %h" + N(i) + ", " + R());
    for (int i = 0; i < 4; ++i) Add("cvt.f64.f32 %d" + N(i) + ", " + F());
    for (int i = 0; i < 8; ++i) Add("setp.lt.s32 %p" + N(i) + ", " + R() + ", " + R());
    while (instructions_ < count) Statement(3);
    Add("ret");
    return text_ + "}\n";
  }
  int instructions() const { return instructions_; }

 private:
  static std::string N(uint64_t n) { return std::to_string(n); }
  uint64_t Below(uint64_t n) { return rng_.Next() % n; }
  std::string Pick(std::initializer_list<const char*> all) {
    return all.begin()[Below(all.size())];
  }
  std::string R() { return "%r" + N(Below(15)); }  // the last one counts loops
  std::string RD() { return "%rd" + N(1 + Below(13)); }
  std::string F() { return "%f" + N(Below(8)); }
  std::string D() { return "%d" + N(Below(4)); }
  std::string P() { return "%p" + N(Below(8)); }
  std::string H() { return "%h" + N(Below(8)); }
  void Add(const std::string& instruction) {
    text_ += instruction + ";\n";
    ++instructions_;
  }
  std::string Guard() { return Below(4) == 0 ? Pick({"@", "@!"}) + P() + " " : ""; }
  std::string Mask() { return Pick({"-1", "-1", "0xffff", "0xffff0000", "0x55555555", "1"}); }

  // A random address of `bytes` alignment in %rd14 (global), %r14 would be taken: uses %rd15 too.
  std::string Address(const std::string& space, int bytes) {
    const std::string mask =
        N((Below(400) == 0 ? 65535 : 2047) & ~static_cast<uint64_t>(bytes - 1));
    Add("cvt.u64.u32 %rd14, " + R());
    Add("and.b64 %rd14, %rd14, " + mask);
    if (space == "shared" || space == "local") {
      Add("mov.u64 %rd15, " + std::string(space == "shared" ? "s" : "l"));
      if (space == "local") Add("and.b64 %rd14, %rd14, 127");
      if (space == "local") Add("and.b64 %rd14, %rd14, -" + N(bytes));
      Add("add.u64 %rd15, %rd15, %rd14");
    } else {
      Add("add.u64 %rd15, %rd0, %rd14");
    }
    return "[%rd15]";
  }

  void Memory() {
    const std::string space = Pick({"global", "global", "shared", "shared", "local"});
    switch (Below(9)) {
      case 0:
        return Add(Guard() + "ld." + Strength(space) + space + ".u32 " + R() + ", " +
                   Address(space, 4));
      case 1: {
        const std::string at = Address(space, 4);
        return Add(Guard() + "st." + Strength(space) + space + ".u32 " + at + ", " + R());
      }
      case 2: {
        const std::string at = Address(space, 16);
        return Add(Guard() + "ld." + space + ".v4.f32 {%f0, %f1, %f2, %f3}, " + at);
      }
      case 3: {
        const std::string at = Address(space, 8);
        return Add(Guard() + "st." + space + ".v2.u32 " + at + ", {" + R() + ", " + R() + "}");
      }
      case 4: {
        const std::string at = Address(space, 1);
        return Add(Guard() + "st." + space + ".u8 " + at + ", " + R());
      }
      case 5: {
        const std::string at = Address(space, 2);
        return Add(Guard() + "ld." + space + ".u16 " + H() + ", " + at);
      }
      case 6: {
        const std::string place = space == "local" ? "global" : space;
        const std::string at = Address(place, 4);
        const std::string scope = Pick({"", ".relaxed.cta", ".acq_rel.gpu", ".acquire.gpu"});
        if (Below(3) == 0) {
          return Add(Guard() + "red." + place + ".add.f32 " + at + ", " + F());
        }
        if (Below(3) == 0) {
          return Add(Guard() + "atom" + scope + "." + place + ".cas.b32 " + R() + ", " + at + ", " +
                     R() + ", " + R());
        }
        return Add(Guard() + "atom" + scope + "." + place + "." +
                   Pick({"add.u32", "min.s32", "max.u32", "exch.b32", "and.b32", "inc.u32"}) + " " +
                   R() + ", " + at + ", " + R());
      }
      case 7: {
        const std::string from = Address("global", 4);
        Add("mov.u64 %rd13, %rd15");
        const std::string to = Address("shared", 4);
        return Add(Guard() + "cp.async.ca.shared.global " + to + ", [%rd13], 4");
      }
      default:
        return Add(Pick({"cp.async.commit_group", "cp.async.wait_group 0", "cp.async.wait_group 1",
                         "cp.async.wait_all", "membar.gl", "membar.cta", "fence.acq_rel.gpu",
                         "fence.sc.cta"}));
    }
  }
  std::string Strength(const std::string& space) {
    if (space == "local") return "";
    return Pick({"", "", "", "volatile.", "relaxed.gpu."});
  }

  void Matrix() {
    switch (Below(4)) {
      case 0:
        return Add("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {" +
                   R() + ", " + R() + ", " + R() + ", " + R() + "}, {" + R() + ", " + R() +
                   "}, {%f4, %f5, %f6, %f7}");
      case 1:
        return Add("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1, %r2}, {" + R() + ", " +
                   R() + "}, {" + R() + "}, {" + R() + ", " + R() + "}");
      case 2: {
        const std::string at = Address("shared", 16);
        return Add("ldmatrix.sync.aligned.m8n8.x2" + Pick({"", ".trans"}) +
                   ".shared.b16 {%r3, %r4}, " + at);
      }
      default: {
        const std::string at = Address("shared", 16);
        return Add("stmatrix.sync.aligned.m8n8.x2.shared.b16 " + at + ", {" + R() + ", " + R() +
                   "}");
      }
    }
  }

  void Cluster() {
    switch (Below(3)) {
      case 0:
        Add("barrier.cluster.arrive.aligned");
        return Add("barrier.cluster.wait.aligned");
      case 1: {
        Address("shared", 4);
        Add("cvt.u32.u64 %r13, %rd15");
        Add("mapa.shared::cluster.u32 %r13, %r13, " + Pick({"0", "1"}));
        return Add("st.shared::cluster.u32 [%r13], " + R());
      }
      default: {
        Address("shared", 4);
        Add("cvt.u32.u64 %r13, %rd15");
        Add("mapa.shared::cluster.u32 %r13, %r13, " + Pick({"0", "1"}));
        return Add("ld.shared::cluster.u32 " + R() + ", [%r13]");
      }
    }
  }

  void Warp() {
    switch (Below(9)) {
      case 7:
        return Add(Below(2) == 0 ? "bar.red.or.pred " + P() + ", 0, " + P()
                                 : "bar.red.popc.u32 " + R() + ", 0, " + P());
      case 0:
        return Add(Guard() + "shfl.sync." + Pick({"up", "down", "bfly", "idx"}) + ".b32 " + R() +
                   ", " + R() + ", " + R() + ", " + Pick({"31", "0", "0x1c1f", "0x181f"}) + ", " +
                   Mask());
      case 1:
        return Add(Guard() + "vote.sync.ballot.b32 " + R() + ", " + P() + ", " + Mask());
      case 2:
        return Add(Guard() + "vote.sync.any.pred " + P() + ", " + P() + ", " + Mask());
      case 3:
        return Add(Guard() + "match.any.sync.b32 " + R() + ", " + R() + ", " + Mask());
      case 4:
        return Add(Guard() + "redux.sync.add.s32 " + R() + ", " + R() + ", " + Mask());
      case 5:
        return Add(Guard() + "bar.warp.sync " + Mask());
      case 6:
        return Add("activemask.b32 " + R());
      default:
        return Add((Below(6) == 0 ? Guard() : "") +
                   Pick({"bar.sync 0", "bar.sync 0", "barrier.sync 1", "bar.arrive 2, 64",
                         "bar.sync 2, 64", "bar.sync 3, 32"}));
    }
  }

  void Arithmetic() {
    switch (Below(12)) {
      case 0:
        return Add(Guard() +
                   Pick({"add.u32 ", "sub.s32 ", "mul.lo.u32 ", "min.s32 ", "max.u32 ", "and.b32 ",
                         "or.b32 ", "xor.b32 ", "shl.b32 ", "shr.s32 ", "div.u32 ", "rem.s32 "}) +
                   R() + ", " + R() + ", " + R());
      case 1:
        return Add(Guard() + "mad.lo.s32 " + R() + ", " + R() + ", " + R() + ", " + R());
      case 2:
        return Add(Guard() +
                   Pick({"add.f32 ", "mul.rn.f32 ", "div.rn.f32 ", "max.f32 ", "sub.ftz.f32 "}) +
                   F() + ", " + F() + ", " + F());
      case 3:
        return Add(Guard() + "fma.rn.f32 " + F() + ", " + F() + ", " + F() + ", " + F());
      case 4:
        return Add(Guard() + Pick({"sqrt.rn.f32 ", "ex2.approx.f32 ", "rcp.rn.f32 ", "abs.f32 "}) +
                   F() + ", " + F());
      case 5:
        return Add(Guard() + "setp." + Pick({"lt", "eq", "ge"}) + ".s32 " + P() + ", " + R() +
                   ", " + R());
      case 6:
        return Add(Guard() + "selp.b32 " + R() + ", " + R() + ", " + R() + ", " + P());
      case 7:
        return Add(Guard() + "prmt.b32 " + R() + ", " + R() + ", " + R() + ", " + R());
      case 8:
        return Add(Guard() + "lop3.b32 " + R() + ", " + R() + ", " + R() + ", " + R() + ", " +
                   N(Below(256)));
      case 9:
        return Add(Guard() + "cvt.rni.s32.f32 " + R() + ", " + F());
      case 10:
        return Add(Guard() + "fma.rn.f64 " + D() + ", " + D() + ", " + D() + ", " + D());
      default:
        return Add(Guard() + "mul.wide.u32 " + RD() + ", " + R() + ", " + R());
    }
  }

  void Statement(int depth) {
    const uint64_t kind = Below(40);
    if (kind < 14) return Memory();
    if (kind < 18) return Warp();
    if (kind == 39) return Below(4) == 0 ? Cluster() : Matrix();
    if (kind == 18 && Below(20) == 0) return Add("@" + P() + " exit");
    if (kind < 22 && depth > 0) {  // if
      const std::string label = "L" + N(labels_++);
      Add("@" + P() + " bra " + label);
      for (uint64_t i = 1 + Below(5); i > 0; --i) Statement(depth - 1);
      text_ += label + ":\n";
      return;
    }
    if (kind == 22 && depth == 3) {  // loop; only the outermost has the counter
      const std::string label = "L" + N(labels_++);
      Add("mov.u32 %r15, 0");
      text_ += label + ":\n";
      for (uint64_t i = 1 + Below(6); i > 0; --i) Statement(depth - 1);
      Add("add.u32 %r15, %r15, 1");
      Add("setp.lt.u32 %p7, %r15, " + N(1 + Below(4)));
      Add("@%p7 bra " + label);
      return;
    }
    Arithmetic();
  }

  Rng rng_;
  std::string text_;
  int instructions_ = 0;
  uint64_t labels_ = 0;
};

TEST(RandomKernels, CheckersSurviveThem) {
  const char* wanted = std::getenv("KERNELSMITH_RANDOM_INSTRUCTIONS");
  const uint64_t goal = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 30'000;
  uint64_t written = 0;
  uint64_t executed = 0;
  uint64_t kernels = 0;
  uint64_t faults = 0;
  uint64_t findings = 0;
  const std::vector<std::string> checks = *ParseChecks("all");
  vgpu::VirtualGpu::Options options;
  options.watchdog = std::chrono::milliseconds(20);
  for (uint64_t seed = 1; written < goal; ++seed) {
    Generator generator(seed);
    // Long ones in the long run: less of it is spent on beginning.
    const std::string text = generator.Kernel(wanted != nullptr ? 1000 : 300);
    vgpu::TestGpu gpu(options);
    const Status loaded = gpu.Load(text);
    ASSERT_TRUE(loaded.ok()) << "seed " << seed << ": " << loaded.error().Format();
    const std::vector<uint64_t> arguments{gpu.Buffer(std::vector<uint32_t>(1024, 1))};
    FindingSink sink;
    CheckerList list(sink);
    AddCheckers(list, checks, sink, gpu.gpu());
    // Half of them have memory that nobody wrote.
    if (seed % 2 == 0) list.OnAllocate(*gpu.memory().Find(arguments[0]), {});
    // Orders are another test's business, and cost a run each.
    DeterminismLimits limits;
    limits.orders = seed % 8 == 0 ? 2 : 0;
    const auto result = LaunchInSeveralOrders(gpu.gpu(),
                                              {.module = &gpu.module(),
                                               .entry = "k",
                                               .grid = {2, 1, 1},
                                               .block = {seed % 3 == 0 ? 80u : 64u, 1, 1},
                                               .cluster = {seed % 5 == 0 ? 2u : 1u, 1, 1},
                                               .parameters = std::as_bytes(std::span(arguments)),
                                               .observer = &list},
                                              sink, limits);
    list.Finish();
    ASSERT_TRUE(result.ok()) << "seed " << seed << ": " << result.error().Format();
    written += static_cast<uint64_t>(generator.instructions());
    executed += result->statistics.lane_instructions;
    faults += result->fault ? 1 : 0;
    findings += sink.size();
    ++kernels;
    if (wanted != nullptr && kernels % 100 == 0) {
      std::printf("%lu kernels with %lu instructions so far\n", kernels, written);
      std::fflush(stdout);
    }
  }
  std::printf(
      "%lu kernels with %lu instructions; %lu executed by threads; %lu faults, %lu findings\n",
      kernels, written, executed, faults, findings);
  EXPECT_GT(findings, kernels / 2);  // they do look
}

}  // namespace
}  // namespace kernelsmith::checkers
