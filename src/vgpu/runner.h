// Runs blocks of a grid on one thread. Private to the engine.
//
// One block runs at a time, to its end if it can. A block that only spins, or that ran for a long
// while, gives way: to the other resident blocks and, while there is room, to one that has not
// begun. So grids of any size need memory for a few blocks only, and blocks that wait for one
// another (look-back scans, grid barriers, locks) get along as long as the GPU could hold them at
// the same time.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "support/processor_clock.h"
#include "vgpu/jit/abi.h"
#include "vgpu/slice_run.h"
#include "vgpu/streaming.h"
#include "vgpu/turn_order.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

class Runner;

// A warp that compiled code may run. The interpreter's Warp beside it is made ready only when
// something needs it: most warps begin and end without.
struct CompiledWarp : jit::WarpContext {
  enum class State : uint8_t {
    kFresh,        // has not begun
    kSaved,        // came to the barrier exit_pc, state in `save`
    kArrived,      // the same, and the block's barriers know
    kInterpreted,  // state in the interpreter's warp
  };
  State state = State::kFresh;  // kFresh also while all warps of the block go on together
  Runner* runner = nullptr;
  uint64_t seen = 0;  // the hash of what the last such test saw: see `spins`
};

struct CompiledBlock {
  jit::BlockContext context;
  std::vector<CompiledWarp> warps;
  std::vector<std::byte> storage;  // the memory of the warps' `save`
  std::array<uint32_t, jit::kSpecials> special{};
};

// How often compiled code was left for the interpreter, on all threads of a launch.
struct CodeExitCount {
  std::atomic<uint64_t> count{0};
  uint64_t most = ~uint64_t{0};  // beyond this, runners stop between two blocks

  bool TooMany() const { return count.load(std::memory_order_relaxed) > most; }
};

class Runner {
 public:
  using Clock = ProcessorClock;

  // Takes blocks from `next` on, which runners of several threads share. `compiled` may be null.
  Runner(LaunchState& launch, std::atomic<uint64_t>& next, const jit::CompiledKernel* compiled,
         CodeExitCount* code_exits = nullptr);
  // Adds what was covered to the launch's record.
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Until no block is left, or the launch failed, or `last_block` is below all that is left, or no
  // block is in the middle of its work after `deadline`.
  void Run(const std::atomic<uint64_t>& last_block, std::optional<Clock::time_point> deadline);

  // What compiled code calls for accesses that it can't do itself (jit::Helpers).
  static uint32_t Access(jit::BlockContext* block, jit::WarpContext* context,
                         const jit::HandlerCall* call, uint32_t mask);

  // The block that failed.
  uint64_t failed_block() const { return failed_block_; }

 private:
  enum class BlockOutcome { kDone, kSpinning, kQuantum, kFault };

  uint64_t BlockOfTurn(uint64_t turn) const;
  // A block, or all blocks of a cluster.
  void StartNext(uint64_t number);
  std::unique_ptr<Block> Start(uint64_t number, Cluster* cluster, uint32_t rank);
  void Begin(Block& block, uint64_t number);
  std::optional<uint64_t> Take(const std::atomic<uint64_t>& last_block);
  void StartWarp(Block& block, size_t index);
  void FillSpecial(Warp& w, uint32_t first);
  void Finish();
  BlockOutcome RunBlock(Block& block);
  bool Unlock(Block& block);
  void Deadlock(Block& block);
  bool WaitForOthers(Clock::time_point last_progress);
  Clock::time_point waiting_since_;  // the last progress that WaitForOthers knows of ...
  uint64_t waits_ = 0;               // ... and what it did since then
  Clock::duration napped_{};
  // By VirtualGpu::Options::time_limit; the launch has its fault then.
  bool TimeIsUp(Clock::time_point begun);
  void FailFirst(Block& block, FaultKind kind, const std::string& what,
                 std::string_view details = "");
  // How many blocks of the launch the GPU holds at a time.
  uint64_t ResidentBlocks() const;

  // ---- compiled code
  static bool Handle(jit::BlockContext* block, jit::WarpContext* context,
                     const jit::HandlerCall* call, uint32_t mask);
  static bool FindSite(Runner& runner, jit::BlockContext& block, Warp& w,
                       const jit::HandlerCall& call, uint32_t mask);
  static void CountSpin(jit::WarpContext& context);
  static void PrepareCall(jit::WarpContext& context, const jit::HandlerCall& call);
  static void Multiply(const MatrixInfo* info, void* const* registers);
  static bool MultiplyShared(jit::BlockContext* block, jit::WarpContext* context,
                             const WgmmaInfo* info, uint64_t a, uint64_t b, bool add,
                             void* const* registers);
  static std::optional<uint64_t> MatrixDelta(jit::BlockContext& block, Warp& w,
                                             const jit::MatrixAccess& access, uint64_t low,
                                             uint64_t bytes);
  static jit::Site LikelyPlace(const jit::BlockContext& block, const jit::MatrixAccess& access,
                               uint64_t address);
  static bool MatrixAccess(jit::BlockContext* block, jit::WarpContext* context,
                           const jit::MatrixAccess* access, const uint64_t* address,
                           uint32_t stride, void* const* registers);
  static bool ScreenRow(jit::WarpContext* context, void* region, uint64_t address, int64_t stride,
                        uint64_t access, uint32_t mask);
  static bool ScreenLanes(jit::WarpContext* context, void* region, const uint64_t* address,
                          uint32_t mask, uint64_t access);
  static void Suspect(jit::WarpContext* context, uint32_t why);
  static void MarkRow(jit::WarpContext* context, uint64_t address, int64_t stride, uint32_t bytes,
                      uint32_t mask);
  static void MarkEach(jit::WarpContext* context, const uint64_t* address, uint32_t bytes,
                       uint32_t mask);
  friend jit::Helpers RunnerHelpers();

  void MakeCompiled(Block& block);
  void StartCompiled(Block& block);
  void MakeWarpsReady(Block& block);
  void ForgetShared(const jit::BlockContext& block);
  void Prepare(jit::WarpContext& context);
  bool Enter(CompiledWarp& compiled, uint32_t b);
  void NoteOutcome(Warp& w, CompiledWarp& compiled);
  // All warps of a block from barrier to barrier, as long as all arrive at the same one. Nullopt:
  // they do not; RunBlock goes on.
  std::optional<BlockOutcome> RunTogether(Block& block);
  WarpOutcome RunMixed(Warp& w);
  void Arrive(Warp& w, CompiledWarp& compiled);

  LaunchState& launch_;
  std::atomic<uint64_t>& next_;
  const jit::CompiledKernel* compiled_;
  CodeExitCount* code_exits_;
  uint64_t taken_ = 0;  // blocks [taken_, taken_end_) are this runner's
  uint64_t taken_end_ = 0;
  uint64_t piece_ = 1;
  TurnOrder blocks_;
  TurnOrder warps_;
  uint64_t failed_block_ = 0;
  std::deque<std::unique_ptr<Block>> resident_;
  std::vector<std::unique_ptr<Block>> spare_;
  std::vector<std::unique_ptr<Cluster>> clusters_;
  std::vector<jit::Site> sites_;
  bool sites_in_shared_ = false;  // some are in the shared memory at
  uint64_t sites_shared_host_ = 0;
  Streaming streaming_;
  std::vector<std::byte> garbage_;  // what fresh shared memory holds; empty: zeros
  uint64_t parameters_host_ = 0;
  std::vector<uint32_t> coverage_;    // LaunchState::coverage
  std::optional<SliceThread> slice_;  // LaunchState::slice
};

jit::Helpers RunnerHelpers();

}  // namespace kernelsmith::vgpu
