// Random programs with and without the screen: launches, copies, fills and waits in several
// streams, some ordered by events and some not. Both ways must find the same and leave the same
// memory.
//
// The tests run a sample; KERNELSMITH_SCREEN_KERNELS=20000 makes it a long run.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "checkers/suite.h"
#include "support/rng.h"
#include "vgpu/testing.h"

namespace kernelsmith::checkers {
namespace {

constexpr uint64_t kWords = 512;  // of each buffer
constexpr uint32_t kThreads = 64;

// Each works on `n` words from `a` on, and reads as many from `b` on.
const char* const kKernels[] = {"store", "copy", "count", "through_shared", "racing"};
constexpr std::string_view kText = R"(
.visible .entry store(.param .u64 a, .param .u64 b, .param .u64 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
  ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x;
  setp.ge.u32 %p0, %r1, %r0; @%p0 bra end;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd0, %rd0, %rd2;
  st.global.u32 [%rd0], %r1;
end: ret;
}
.visible .entry copy(.param .u64 a, .param .u64 b, .param .u64 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
  ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x;
  setp.ge.u32 %p0, %r1, %r0; @%p0 bra end;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r2, [%rd1];
  st.global.u32 [%rd0], %r2;
end: ret;
}
.visible .entry count(.param .u64 a, .param .u64 b, .param .u64 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
  ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x;
  setp.ge.u32 %p0, %r1, %r0; @%p0 bra end;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r2, [%rd1];
  red.global.add.u32 [%rd0], %r2;
end: ret;
}
.visible .entry through_shared(.param .u64 a, .param .u64 b, .param .u64 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>; .shared .align 16 .b8 s[256];
  ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; ld.param.u32 %r0, [n]; mov.u32 %r1, %tid.x;
  setp.ge.u32 %p0, %r1, %r0; @%p0 bra end;
  mul.wide.u32 %rd2, %r1, 4; add.u64 %rd0, %rd0, %rd2; add.u64 %rd1, %rd1, %rd2;
  mov.u32 %r3, s; mad.lo.u32 %r3, %r1, 4, %r3;
  cp.async.ca.shared.global [%r3], [%rd1], 4;
  cp.async.wait_all;
  ld.shared.u32 %r2, [%r3];
  st.global.u32 [%rd0], %r2;
end: ret;
}
.visible .entry racing(.param .u64 a, .param .u64 b, .param .u64 n) {
  .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<4>;
  ld.param.u64 %rd0, [a]; mov.u32 %r1, %tid.x;
  st.global.u32 [%rd0], %r1;
  ret;
}
)";

struct Outcome {
  std::string findings;
  std::vector<uint32_t> memory;
  int screened = 0;
  int launches = 0;
};

Outcome RunProgram(uint64_t seed, bool screening) {
  vgpu::VirtualGpu::Options options;
  options.settings.engine = vgpu::Engine::kJit;
  options.settings.threads = 1;
  options.settings.full_checks = !screening;
  vgpu::TestGpu gpu(options);
  const Status loaded = gpu.Load(kText);
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().Format());
  if (!loaded.ok()) return {};
  FindingSink sink;
  CheckerList list(sink);
  AddCheckers(list, {"memory", "init", "race", "sync", "index"}, sink, gpu.gpu());
  std::vector<uint64_t> buffers;
  for (int i = 0; i < 3; ++i) {
    buffers.push_back(gpu.Buffer(std::vector<uint32_t>(kWords, 7)));
    list.OnAllocate(*gpu.memory().Find(buffers.back()), {});
    list.OnDefined(buffers.back(), kWords * 4);
  }
  Rng rng(seed);
  const auto below = [&](uint64_t n) { return rng.Below(n); };
  // Most streams keep to a part of the memory of their own.
  const uint64_t parts = 3;
  const auto place = [&](uint64_t stream) {
    const uint64_t part = below(8) == 0 ? below(parts) : stream;
    return buffers[below(buffers.size())] + (part * (kWords / parts) + below(4) * 24) * 4;
  };
  std::vector<uint64_t> last(parts, 0);
  uint64_t operation = 0;
  Outcome outcome;
  const uint64_t operations = 4 + below(12);
  for (uint64_t i = 0; i < operations; ++i) {
    const uint64_t stream = below(parts);
    if (below(8) == 0) {  // the host waits for a stream
      if (last[stream] != 0) list.OnHostWait(std::vector<uint64_t>{last[stream]});
      continue;
    }
    std::vector<uint64_t> after;
    if (last[stream] != 0) after.push_back(last[stream]);
    if (const uint64_t other = below(parts); below(3) == 0 && last[other] != 0) {
      after.push_back(last[other]);
    }
    list.OnSubmit(++operation, after);
    last[stream] = operation;
    const uint64_t kind = below(8);
    const uint64_t to = place(stream);
    const uint64_t from = place(stream);
    const uint64_t words = 8 + below(40);
    if (kind < 2) {
      list.OnFill({.operation = operation, .to = to, .to_device = true, .width = words * 4});
      std::memset(gpu.memory().HostAlias(to, words * 4), static_cast<int>(i), words * 4);
    } else if (kind == 2) {
      list.OnCopy({.operation = operation,
                   .to = to,
                   .from = from,
                   .to_device = true,
                   .from_device = true,
                   .width = words * 4});
      std::memmove(gpu.memory().HostAlias(to, words * 4), gpu.memory().HostAlias(from, words * 4),
                   words * 4);
    } else {
      const uint64_t which = below(40);
      const std::vector<uint64_t> arguments{to, from, words};
      const vgpu::LaunchRequest request{.module = &gpu.module(),
                                        .entry = kKernels[which == 0 ? 4 : which % 4],
                                        .grid = {1, 1, 1},
                                        .block = {kThreads, 1, 1},
                                        .parameters = std::as_bytes(std::span(arguments)),
                                        .observer = &list,
                                        .operation = operation};
      const auto result = gpu.gpu().Launch(request);
      EXPECT_TRUE(result.ok() && !result->fault);
      ++outcome.launches;
      outcome.screened += result.ok() && result->screened ? 1 : 0;
    }
  }
  list.Finish();
  const auto text = [](const Place& place) {
    return place.kernel + " line " + std::to_string(place.ptx.line);
  };
  std::vector<std::string> lines;
  for (const Finding& finding : sink.Findings()) {
    lines.push_back(std::string(Name(finding.kind)) + " " + text(finding.place) + ", " +
                    (finding.other ? text(*finding.other) : "") + ": " + finding.message + "\n");
  }
  // Which of several is told first depends on when they are found.
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) outcome.findings += line;
  for (const uint64_t buffer : buffers) {
    for (const uint32_t word : gpu.Read<uint32_t>(buffer, kWords)) outcome.memory.push_back(word);
  }
  return outcome;
}

TEST(ScreenedPrograms, HaveTheSameFindingsAsCheckedOnes) {
  const char* wanted = std::getenv("KERNELSMITH_SCREEN_KERNELS");
  const uint64_t goal = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 30;
  const char* only = std::getenv("KERNELSMITH_SCREEN_SEED");
  const uint64_t first = only != nullptr ? std::strtoull(only, nullptr, 10) : 1;
  int with_findings = 0;
  int clean = 0;
  int screened = 0;
  int launches = 0;
  for (uint64_t seed = first; seed < (only != nullptr ? first + 1 : first + goal); ++seed) {
    const Outcome full = RunProgram(seed, false);
    const Outcome quick = RunProgram(seed, true);
    ASSERT_EQ(full.findings, quick.findings) << "seed " << seed;
    ASSERT_EQ(full.memory, quick.memory) << "seed " << seed;
    EXPECT_EQ(full.screened, 0);
    (full.findings.empty() ? clean : with_findings) += 1;
    screened += quick.screened;
    launches += quick.launches;
  }
  std::printf("%d programs with findings, %d clean; %d of %d launches needed the screen only\n",
              with_findings, clean, screened, launches);
  if (only != nullptr) return;
  EXPECT_GT(with_findings, static_cast<int>(goal / 5));
  EXPECT_GT(clean, static_cast<int>(goal / 10));
  EXPECT_GT(screened, launches / 3);
}

}  // namespace
}  // namespace kernelsmith::checkers
