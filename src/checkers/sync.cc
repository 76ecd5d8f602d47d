// Wrong synchronisation: barriers that part of a block reaches, shuffles and votes whose lanes do
// not come, deadlock and livelock.
//
// Barriers of a whole block (__syncthreads):
// - threads that wait at different instructions, or are elsewhere: an error (CUDA wants conditions
//   around it to be the same for the whole block);
// - threads that went past it and exited: an error too, the barrier was left out by them;
// - threads that left the kernel at once (`if (i >= n) return;`): a note. PTX defines that an
// exiting
//   thread counts as arrived; CUDA's guide says that the barrier waits for all threads that have
//   not exited, and at the same time forbids it in conditions that differ.
// Named barriers with a thread count may be reached from different places: that is what they are
// for.
//
// Masks: every lane must be in the mask it gives, the lanes it names must come (exited ones need
// not) and give the same mask. Reading a lane that does not take part gives an undefined value;
// that is reported where the program goes on with it.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "checkers/suite.h"
#include "checkers/undefined_bits.h"
#include "support/check.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::checkers {

namespace {

using vgpu::Function;
using vgpu::Instruction;
using vgpu::Op;
using vgpu::Partners;
using vgpu::WarpView;

constexpr uint32_t kLanes = 32;

// Of an operation for which the lanes of a warp come together.
const char* IntrinsicOf(Op op) {
  switch (vgpu::FactsOf(op).partners) {
    case Partners::kShuffle:
      return "shuffle";
    case Partners::kVote:
      return "vote";
    case Partners::kMatch:
      return "match";
    case Partners::kReduce:
      return "reduction of the warp";
    case Partners::kWarpSync:
      return "__syncwarp";
    case Partners::kElect:
      return "election";
    case Partners::kMatrix:
    case Partners::kWarpgroup:
      return "matrix instruction";
    case Partners::k_:
    case Partners::kActive:
    case Partners::kBlock:
    case Partners::kCluster:
      break;
  }
  KS_UNREACHABLE();
}

// The lane a shuffle reads, as in the ISA's pseudocode; the lane itself where out of range.
int SourceLane(vgpu::ShuffleMode mode, int lane, uint32_t b, uint32_t c) {
  const int bval = static_cast<int>(b & 31);
  const int cval = static_cast<int>(c & 31);
  const int segment = static_cast<int>(c >> 8 & 31);
  const int max_lane = (lane & segment) | (cval & ~segment);
  switch (mode) {
    case vgpu::ShuffleMode::kUp:
      return lane - bval >= max_lane ? lane - bval : lane;
    case vgpu::ShuffleMode::kDown:
      return lane + bval <= max_lane ? lane + bval : lane;
    case vgpu::ShuffleMode::kBfly:
      return (lane ^ bval) <= max_lane ? lane ^ bval : lane;
    case vgpu::ShuffleMode::kIdx: {
      const int from = (lane & segment) | (bval & ~segment);
      return from <= max_lane ? from : lane;
    }
  }
  return lane;
}

class SyncChecker final : public Checker {
 public:
  explicit SyncChecker(FindingSink& sink) : Checker(sink) {}

  uint32_t interests() const override { return vgpu::interest::kAccesses; }
  std::optional<vgpu::ScreenChecks> ScreenedChecks() const override {
    return vgpu::ScreenChecks{.synchronisation = true};
  }

  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override {
    Launch& state = launches_[launch.id];
    state.kernel = launch.kernel;
    state.grid = launch.grid;
    state.block = launch.block;
    current_ = &state;
    current_id_ = launch.id;
  }

  void OnResume(uint64_t launch_id) override {
    current_ = &launches_[launch_id];
    current_id_ = launch_id;
  }

  void OnLaunchEnd(const vgpu::Fault* fault) override {
    if (fault != nullptr) ReportFault(*fault);
    launches_.erase(current_id_);
    recent_ = nullptr;
    current_ = nullptr;
  }

  void OnBlockBegin(uint64_t number) override {
    Block& block = current_->blocks[number];
    const auto threads = static_cast<uint32_t>(current_->block.Count());
    block.live.assign((threads + kLanes - 1) / kLanes, 0xffffffff);
    if (threads % kLanes != 0) block.live.back() = (1u << threads % kLanes) - 1;
    block.initial = block.live;
    block.last.resize(block.live.size() * kLanes);
  }

  void OnBlockEnd(uint64_t number) override {
    current_->blocks.erase(number);
    recent_ = nullptr;
  }

  void OnExit(WarpView& warp, uint32_t mask) override {
    BlockOf(warp).live[warp.warp_in_block()] &= ~mask;
  }

  bool OnMemoryAccess(WarpView& warp, const vgpu::MemoryAccess& access) override {
    const Instruction** last = &BlockOf(warp).last[warp.warp_in_block() * kLanes];
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      last[std::countr_zero(rest)] = access.instruction;
    }
    return true;
  }

  void OnBarrier(WarpView& warp, const vgpu::BarrierEvent& event) override {
    Block& block = BlockOf(warp);
    Barrier& barrier = block.barriers[event.barrier];
    Arrival* arrival = nullptr;
    for (Arrival& other : barrier) {
      if (other.instruction == event.instruction) arrival = &other;
    }
    const uint32_t asked = AskedCount(warp, event);
    if (arrival == nullptr) {
      barrier.push_back({.instruction = event.instruction,
                         .function = &warp.function(),
                         .place = PlaceOf(current_->kernel, warp, *event.instruction,
                                          std::countr_zero(event.mask)),
                         .expected = asked,
                         .waits = event.kind != vgpu::BarrierEvent::Kind::kArrive,
                         .lanes = std::vector<uint32_t>(block.live.size())});
      arrival = &barrier.back();
    }
    arrival->lanes[warp.warp_in_block()] |= event.mask;
    if (barrier.front().expected != asked) {
      sink().Add({.kind = FindingKind::kBarrierDivergence,
                  .place = PlaceOf(current_->kernel, warp, *event.instruction,
                                   std::countr_zero(event.mask)),
                  .message = fmt::format("barrier {} is waited for with different thread counts: "
                                         "{} here, {} there",
                                         event.barrier, CountText(asked),
                                         CountText(barrier.front().expected)),
                  .other = barrier.front().place,
                  .other_message = "the other count"});
    }
  }

  void OnBarrierReleased(uint64_t number, uint32_t id) override {
    Block& block = current_->blocks[number];
    const Barrier barrier = std::exchange(block.barriers[id], {});
    if (barrier.empty() || barrier.front().expected != 0 || !barrier.front().waits) return;
    const Arrival& first = barrier.front();
    if (barrier.size() > 1) {
      // Reported at the later place, for the sake of one order.
      const Arrival& second = barrier[1];
      sink().Add({.kind = FindingKind::kBarrierDivergence,
                  .place = second.place,
                  .message = fmt::format(
                      "{} threads wait here for the whole block while {} wait at another barrier: "
                      "__syncthreads() in a condition that differs within the block",
                      Count(second.lanes), Count(first.lanes)),
                  .other = first.place,
                  .other_message = "the other barrier"});
      return;
    }
    uint32_t elsewhere = 0;
    uint32_t passed = 0;
    uint32_t left = 0;
    uint32_t example = 0;  // a thread that did not come
    for (size_t w = 0; w < block.live.size(); ++w) {
      for (uint32_t rest = block.initial[w] & ~first.lanes[w]; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<uint32_t>(std::countr_zero(rest));
        const auto thread = static_cast<uint32_t>(w * kLanes) + lane;
        uint32_t* count = (block.live[w] >> lane & 1) != 0 ? &elsewhere
                          : RanBehind(block, thread, *first.function, *first.instruction) ? &passed
                                                                                          : &left;
        if (elsewhere + passed == 0) example = thread;
        ++*count;
      }
    }
    if (elsewhere + passed + left == 0) return;
    const bool error = elsewhere + passed > 0;
    std::string message =
        fmt::format("only {} of {} threads of the block reach this barrier: ", Count(first.lanes),
                    current_->block.Count());
    if (elsewhere > 0) {
      message += fmt::format("{} are elsewhere", elsewhere);
    } else if (passed > 0) {
      message += fmt::format("{} went past it and ended", passed);
    } else {
      message += fmt::format(
          "{} have exited before; GPUs count them as arrived, CUDA's guide forbids barriers in "
          "conditions that differ within a block",
          left);
    }
    const vgpu::Dim3 thread = Unflatten(example, current_->block);
    message += fmt::format(", for example thread ({},{},{})", thread.x, thread.y, thread.z);
    sink().Add({.kind = FindingKind::kBarrierDivergence,
                .severity = error ? Severity::kError : Severity::kNote,
                .place = first.place,
                .message = std::move(message)});
  }

  void OnWarpSync(WarpView& warp, const Instruction& in, uint32_t now) override {
    const auto* members = static_cast<const uint32_t*>(warp.Lanes(in.e));
    if (members == nullptr || !in.e.exists()) return;
    Block& block = BlockOf(warp);
    const uint32_t live = block.live[warp.warp_in_block()];
    const uint32_t initial = block.initial[warp.warp_in_block()];
    for (uint32_t rest = now; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint32_t mask = members[lane];
      if (mask == 0) continue;  // the forms without a mask
      if ((mask >> lane & 1) == 0) {
        Mask(warp, in, lane,
             fmt::format("lane {} is not in the mask 0x{:08x} that it gives", lane, mask));
        return;
      }
      if (const uint32_t missing = mask & live & ~now; missing != 0) {
        Mask(warp, in, lane,
             fmt::format("the mask 0x{:08x} names lanes that do not come: 0x{:08x} are elsewhere",
                         mask, missing));
        return;
      }
      for (uint32_t others = mask & now; others != 0; others &= others - 1) {
        const int other = std::countr_zero(others);
        if (members[other] == mask) continue;
        Mask(warp, in, lane,
             fmt::format("lanes {} and {} name one another with different masks, 0x{:08x} and "
                         "0x{:08x}",
                         lane, other, mask, members[other]));
        return;
      }
      for (uint32_t gone = mask & initial & ~live; gone != 0; gone &= gone - 1) {
        const auto other = static_cast<uint32_t>(std::countr_zero(gone));
        if (!RanBehind(block, warp.warp_in_block() * kLanes + other, warp.function(), in)) continue;
        Mask(
            warp, in, lane,
            fmt::format("the mask 0x{:08x} names lane {}, which went past and ended", mask, other));
        return;
      }
    }
    if (in.op == Op::kShfl) CheckSources(warp, in, now, members);
  }

 private:
  // Threads that came to a barrier by one instruction.
  struct Arrival {
    const Instruction* instruction = nullptr;
    const Function* function = nullptr;
    Place place;
    uint32_t expected = 0;
    bool waits = true;
    std::vector<uint32_t> lanes;  // lanes of each warp
  };
  using Barrier = std::vector<Arrival>;

  struct Block {
    std::vector<uint32_t> initial;  // lanes of each warp
    std::vector<uint32_t> live;
    std::vector<const Instruction*> last;  // memory instruction of each thread
    std::array<Barrier, 16> barriers;
  };

  struct Launch {
    std::string kernel;
    vgpu::Dim3 grid;
    vgpu::Dim3 block;
    std::map<uint64_t, Block> blocks;
  };

  static vgpu::Dim3 Unflatten(uint64_t number, const vgpu::Dim3& extent) {
    return {static_cast<uint32_t>(number % extent.x),
            static_cast<uint32_t>(number / extent.x % extent.y),
            static_cast<uint32_t>(number / extent.x / extent.y)};
  }

  static uint32_t AskedCount(const WarpView& warp, const vgpu::BarrierEvent& event) {
    const Instruction& in = *event.instruction;
    if (!in.b.exists()) return 0;
    return static_cast<uint32_t>(warp.ReadOperand(in.b, std::countr_zero(event.mask)));
  }

  static std::string CountText(uint32_t count) {
    return count == 0 ? "the whole block" : std::to_string(count);
  }

  static uint32_t Count(const std::vector<uint32_t>& lanes) {
    uint32_t count = 0;
    for (const uint32_t mask : lanes) count += static_cast<uint32_t>(std::popcount(mask));
    return count;
  }

  Block& BlockOf(const WarpView& warp) {
    if (recent_launch_ != current_ || recent_number_ != warp.block_number() || recent_ == nullptr) {
      recent_ = &current_->blocks[warp.block_number()];
      recent_number_ = warp.block_number();
      recent_launch_ = current_;
    }
    return *recent_;
  }

  // Did the thread's last access stand behind `in`? Then it passed by; else it left before.
  static bool RanBehind(const Block& block, uint32_t thread, const Function& function,
                        const Instruction& in) {
    const Instruction* last = block.last[thread];
    return last > &in && last < function.code.data() + function.code.size();
  }

  void Mask(const WarpView& warp, const Instruction& in, int lane, const std::string& why) {
    sink().Add({.kind = FindingKind::kShuffleMask,
                .place = PlaceOf(current_->kernel, warp, in, lane),
                .message = fmt::format("{}: {}", IntrinsicOf(in.op), why)});
  }

  // Lanes that read one which does not take part. Of a shuffle down only the lowest lane's result
  // must be right: that is where sums end, and the upper lanes of partial warps read beyond them.
  void CheckSources(const WarpView& warp, const Instruction& in, uint32_t now,
                    const uint32_t* members) {
    const auto mode = static_cast<vgpu::ShuffleMode>(in.variant);
    for (uint32_t rest = now; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const int from = SourceLane(mode, lane, static_cast<uint32_t>(warp.ReadOperand(in.b, lane)),
                                  static_cast<uint32_t>(warp.ReadOperand(in.c, lane)));
      const bool there = (now & members[lane]) >> from & 1;
      if (there) continue;
      if (mode == vgpu::ShuffleMode::kDown && lane != std::countr_zero(members[lane])) continue;
      if (!UsesAtOnce(warp.function(), in)) return;
      Mask(warp, in, lane,
           fmt::format("lane {} reads lane {}, which does not take part (lanes 0x{:08x} do): the "
                       "value is undefined",
                       lane, from, now & members[lane]));
      return;
    }
  }

  void ReportFault(const vgpu::Fault& fault) {
    const bool deadlock = fault.kind == vgpu::FaultKind::kDeadlock;
    if (!deadlock && fault.kind != vgpu::FaultKind::kNoProgress) return;
    Finding finding{.kind = FindingKindOf(fault.kind),
                    .place = {.kernel = fault.kernel,
                              .source = fault.source,
                              .ptx = fault.ptx,
                              .instruction = fault.instruction,
                              .block = fault.block,
                              .thread = fault.thread},
                    .message = fault.message};
    if (deadlock) DescribeDeadlock(fault, finding);
    sink().Add(std::move(finding));
  }

  // Who waits where, of the block in which nobody can go on.
  void DescribeDeadlock(const vgpu::Fault& fault, Finding& finding) {
    const uint64_t number =
        fault.block.x +
        uint64_t{current_->grid.x} * (fault.block.y + uint64_t{current_->grid.y} * fault.block.z);
    const auto it = current_->blocks.find(number);
    if (it == current_->blocks.end()) return;
    std::vector<std::pair<uint32_t, const Arrival*>> waiting;
    for (uint32_t id = 0; id < it->second.barriers.size(); ++id) {
      for (const Arrival& arrival : it->second.barriers[id]) {
        if (arrival.waits) waiting.emplace_back(id, &arrival);
      }
    }
    if (waiting.empty()) return;
    std::string text = "deadlock: every thread of the block waits for others:";
    for (const auto& [id, arrival] : waiting) {
      const SourceLocation& line =
          arrival->place.source.file.empty() ? arrival->place.ptx : arrival->place.source;
      text += fmt::format(" {} threads at barrier {} in line {}, for {} threads;",
                          Count(arrival->lanes), id, line.line,
                          arrival->expected == 0 ? current_->block.Count() : arrival->expected);
    }
    text.pop_back();
    finding.message = std::move(text);
    finding.place = waiting.front().second->place;
    if (waiting.size() > 1) {
      finding.other = waiting[1].second->place;
      finding.other_message = "others wait here";
    }
  }

  std::map<uint64_t, Launch> launches_;
  Launch* current_ = nullptr;
  uint64_t current_id_ = 0;
  Launch* recent_launch_ = nullptr;
  Block* recent_ = nullptr;
  uint64_t recent_number_ = 0;
};

}  // namespace

std::unique_ptr<Checker> MakeSyncChecker(FindingSink& sink, vgpu::VirtualGpu&) {
  return std::make_unique<SyncChecker>(sink);
}

}  // namespace kernelsmith::checkers
