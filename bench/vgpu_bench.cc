// Speed of the interpreter in lane-instructions a second: a tiled matmul (shared memory, barriers,
// fma), a loop of pure arithmetic, and a copy through global memory. One thread. `Counted`: how
// much longer the interpreter takes when all blocks are counted (src/counters).

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "counters/counter_observer.h"
#include "ptx/ptx.h"
#include "support/testing/real_settings.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::vgpu {
namespace {

constexpr char kHeader[] = ".version 8.0\n.target sm_80\n.address_size 64\n";

// What nvcc makes of the usual 16 x 16 tiles, inner loop unrolled.
std::string Matmul() {
  std::string text = kHeader;
  text += R"(
.visible .entry matmul(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
  .reg .pred %p<4>;
  .reg .f32 %f<64>;
  .reg .b32 %r<32>;
  .reg .b64 %rd<24>;
  .shared .align 4 .b8 tile_a[1024];
  .shared .align 4 .b8 tile_b[1024];
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %tid.y;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %ctaid.y;
  shl.b32 %r6, %r5, 4;
  add.s32 %r6, %r6, %r3;          // row
  shl.b32 %r7, %r4, 4;
  add.s32 %r7, %r7, %r2;          // column
  mul.lo.s32 %r8, %r6, %r1;
  add.s32 %r9, %r8, %r2;
  mul.wide.s32 %rd4, %r9, 4;
  add.s64 %rd4, %rd1, %rd4;       // a[row][tx]
  mad.lo.s32 %r10, %r3, %r1, %r7;
  mul.wide.s32 %rd5, %r10, 4;
  add.s64 %rd5, %rd2, %rd5;       // b[ty][column]
  shl.b32 %r11, %r1, 4;
  mul.wide.s32 %rd6, %r11, 4;
  mov.u32 %r12, tile_a;
  shl.b32 %r13, %r3, 6;
  add.s32 %r14, %r12, %r13;
  shl.b32 %r15, %r2, 2;
  add.s32 %r16, %r14, %r15;
  mov.u32 %r17, tile_b;
  add.s32 %r18, %r17, %r15;
  add.s32 %r19, %r18, %r13;
  mov.f32 %f1, 0f00000000;
  mov.u32 %r20, 0;
LOOP:
  ld.global.f32 %f2, [%rd4];
  st.shared.f32 [%r16], %f2;
  ld.global.f32 %f3, [%rd5];
  st.shared.f32 [%r19], %f3;
  bar.sync 0;
)";
  for (int k = 0; k < 16; ++k) {
    text += "  ld.shared.f32 %f" + std::to_string(4 + 2 * k) + ", [%r18+" + std::to_string(64 * k) +
            "];\n";
    text += "  ld.shared.f32 %f" + std::to_string(5 + 2 * k) + ", [%r14+" + std::to_string(4 * k) +
            "];\n";
    text += "  fma.rn.f32 %f1, %f" + std::to_string(5 + 2 * k) + ", %f" +
            std::to_string(4 + 2 * k) + ", %f1;\n";
  }
  text += R"(
  bar.sync 0;
  add.s64 %rd5, %rd5, %rd6;
  add.s64 %rd4, %rd4, 64;
  add.s32 %r20, %r20, 16;
  setp.lt.s32 %p1, %r20, %r1;
  @%p1 bra LOOP;
  add.s32 %r21, %r8, %r7;
  mul.wide.s32 %rd7, %r21, 4;
  add.s64 %rd8, %rd3, %rd7;
  st.global.f32 [%rd8], %f1;
  ret;
}
)";
  return text;
}

constexpr char kArithmetic[] = R"(
.visible .entry arithmetic(.param .u64 out, .param .u64 rounds)
{
  .reg .pred %p<2>;
  .reg .f32 %f<8>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [rounds];
  mov.u32 %r2, %tid.x;
  cvt.rn.f32.u32 %f1, %r2;
  mov.f32 %f2, 0f3F7FFFFF;
LOOP:
  fma.rn.f32 %f1, %f1, %f2, %f2;
  mul.f32 %f3, %f1, %f2;
  add.f32 %f1, %f3, %f2;
  xor.b32 %r2, %r2, %r1;
  mad.lo.s32 %r2, %r2, 5, 1;
  sub.s32 %r1, %r1, 1;
  setp.ne.s32 %p1, %r1, 0;
  @%p1 bra LOOP;
  mov.b32 %r3, %f1;
  add.s32 %r3, %r3, %r2;
  mov.u32 %r4, %tid.x;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
}
)";

constexpr char kCopy[] = R"(
.visible .entry copy(.param .u64 from, .param .u64 to)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [from];
  ld.param.u64 %rd2, [to];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  mul.wide.s32 %rd3, %r4, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  ld.global.u32 %r5, [%rd4];
  st.global.u32 [%rd5], %r5;
  ret;
}
)";

struct Machine {
  explicit Machine(const std::string& text) {
    gpu = *VirtualGpu::Create({.settings = RealSettings().engine});
    auto parsed = ptx::Parse(text, "bench.ptx");
    KS_CHECK(parsed.ok(), parsed.ok() ? "" : parsed.error().Format());
    module = *LoadedModule::Load({std::make_shared<const ptx::Module>(*std::move(parsed))},
                                 gpu->memory(), "bench");
  }
  uint64_t Buffer(uint64_t bytes) {
    return *gpu->memory().Allocate(bytes, AllocationKind::kDevice, "bench");
  }
  LaunchStatistics Run(const std::string& entry, Dim3 grid, Dim3 block,
                       const std::vector<uint64_t>& arguments, Observer* observer = nullptr) {
    const auto result = gpu->Launch({.module = module.get(),
                                     .entry = entry,
                                     .grid = grid,
                                     .block = block,
                                     .parameters = std::as_bytes(std::span(arguments)),
                                     .observer = observer});
    KS_CHECK(result.ok() && !result->fault);
    return result->statistics;
  }

  std::unique_ptr<VirtualGpu> gpu;
  std::unique_ptr<LoadedModule> module;
};

void Count(benchmark::State& state, uint64_t lanes) {
  state.counters["lane_instructions/s"] =
      benchmark::Counter(static_cast<double>(lanes), benchmark::Counter::kIsRate);
}

void TiledMatmul(benchmark::State& state) {
  const auto n = static_cast<uint32_t>(state.range(0));
  Machine machine(Matmul());
  const uint64_t bytes = uint64_t{n} * n * sizeof(float);
  const uint64_t a = machine.Buffer(bytes);
  const uint64_t b = machine.Buffer(bytes);
  const uint64_t c = machine.Buffer(bytes);
  auto* values = static_cast<float*>(machine.gpu->memory().HostAlias(a, bytes));
  for (uint32_t i = 0; i < n * n; ++i) values[i] = static_cast<float>(i % 13) * 0.25f;
  std::memcpy(machine.gpu->memory().HostAlias(b, bytes), values, bytes);
  uint64_t lanes = 0;
  for (auto _ : state) {
    lanes +=
        machine.Run("matmul", {n / 16, n / 16, 1}, {16, 16, 1}, {a, b, c, n}).lane_instructions;
  }
  Count(state, lanes);
  state.counters["flop/s"] = benchmark::Counter(
      2.0 * n * n * n * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}
BENCHMARK(TiledMatmul)->Arg(128)->Arg(256)->Unit(benchmark::kMillisecond);

void Arithmetic(benchmark::State& state) {
  Machine machine(std::string(kHeader) + kArithmetic);
  const uint64_t out = machine.Buffer(256 * sizeof(float));
  uint64_t lanes = 0;
  for (auto _ : state) {
    lanes += machine.Run("arithmetic", {8, 1, 1}, {256, 1, 1}, {out, 1000}).lane_instructions;
  }
  Count(state, lanes);
}
BENCHMARK(Arithmetic)->Unit(benchmark::kMillisecond);

void Copy(benchmark::State& state) {
  Machine machine(std::string(kHeader) + kCopy);
  constexpr uint64_t kBytes = 1 << 22;
  const uint64_t from = machine.Buffer(kBytes);
  const uint64_t to = machine.Buffer(kBytes);
  uint64_t lanes = 0;
  for (auto _ : state) {
    lanes += machine.Run("copy", {kBytes / 1024, 1, 1}, {256, 1, 1}, {from, to}).lane_instructions;
  }
  Count(state, lanes);
  state.SetBytesProcessed(static_cast<int64_t>(2 * kBytes) * state.iterations());
}
BENCHMARK(Copy)->Unit(benchmark::kMillisecond);

// Plain and counted in turns, so that both meet the same machine.
void Counted(benchmark::State& state, const std::string& text, const std::string& entry, Dim3 grid,
             Dim3 block, bool rounds) {
  using Clock = std::chrono::steady_clock;
  Machine machine(text);
  machine.gpu->options().settings.engine = Engine::kInterpreter;
  constexpr uint64_t kBytes = 1 << 22;
  const uint64_t a = machine.Buffer(kBytes);
  const uint64_t b = rounds ? 1000 : machine.Buffer(kBytes);
  const std::vector<uint64_t> arguments{a, b, machine.Buffer(kBytes), 128};
  Clock::duration plain{};
  Clock::duration counted{};
  for (auto _ : state) {
    counters::CounterObserver observer({.max_blocks = 0, .max_instructions = 0});
    const auto start = Clock::now();
    machine.Run(entry, grid, block, arguments);
    const auto middle = Clock::now();
    machine.Run(entry, grid, block, arguments, &observer);
    plain += middle - start;
    counted += Clock::now() - middle;
  }
  state.counters["counted/plain"] =
      std::chrono::duration<double>(counted).count() / std::chrono::duration<double>(plain).count();
}
BENCHMARK_CAPTURE(Counted, matmul, Matmul(), "matmul", Dim3{8, 8, 1}, Dim3{16, 16, 1}, false)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Counted, arithmetic, std::string(kHeader) + kArithmetic, "arithmetic",
                  Dim3{8, 1, 1}, Dim3{256, 1, 1}, true)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Counted, copy, std::string(kHeader) + kCopy, "copy", Dim3{4096, 1, 1},
                  Dim3{256, 1, 1}, false)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kernelsmith::vgpu

BENCHMARK_MAIN();
