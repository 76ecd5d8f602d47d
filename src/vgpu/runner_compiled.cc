// Blocks whose warps run as compiled code, with the interpreter for what that leaves over.

#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/cold_call.h"
#include "vgpu/handlers/handlers.h"
#include "vgpu/matrix_kernels.h"
#include "vgpu/op_facts.h"
#include "vgpu/runner.h"
#include "vgpu/screen.h"
#include "vgpu/slice_kernel.h"

namespace kernelsmith::vgpu {

namespace {

constexpr size_t kSaveAlignment = 64;
// Entries of compiled code in a row where registers do not have its form, before the interpreter
// goes on alone for a turn.
constexpr uint32_t kMostRefused = 8;

void Activate(Warp& w, uint32_t lanes) {
  w.frame = w.lane_frame[0];
  w.active = lanes;
  w.base[static_cast<size_t>(OperandBase::kRegister)] = w.frame->registers;
  w.base[static_cast<size_t>(OperandBase::kConstant)] =
      const_cast<std::byte*>(w.frame->function->ConstantData());
}

// ---- values between `save` and the interpreter's registers

constexpr uint32_t kCanonicalNan = 0x7fffffff;

template <typename T>
void ExpandTo(const jit::SavedValue& value, const std::byte* save, uint32_t mask,
              std::byte* registers) {
  T lanes[kWarpSize];
  if (value.form == jit::SavedValue::Form::kLanes) {
    std::memcpy(lanes, save + value.slot, sizeof lanes);
  } else {
    const uint32_t groups = value.form == jit::SavedValue::Form::kAffine ? value.groups : 1;
    const uint32_t each = kWarpSize / groups;
    for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
      uint64_t base;
      std::memcpy(&base, save + value.slot + lane / each * 8, sizeof base);
      lanes[lane] = static_cast<T>(base + static_cast<uint64_t>(value.stride) * (lane % each));
    }
  }
  if constexpr (sizeof(T) == 4) {
    if (value.raw) {
      for (T& lane : lanes) {
        if ((lane & 0x7fffffff) > 0x7f800000) lane = kCanonicalNan;
      }
    }
  }
  T* to = reinterpret_cast<T*>(registers + value.place);
  if (mask == kFullMask) {
    std::memcpy(to, lanes, sizeof lanes);
    return;
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    to[lane] = lanes[lane];
  }
}

void Expand(const jit::SavedValue& value, const std::byte* save, uint32_t mask,
            std::byte* registers) {
  switch (value.width) {
    case LaneWidth::k1:
      return ExpandTo<uint8_t>(value, save, mask, registers);
    case LaneWidth::k2:
      return ExpandTo<uint16_t>(value, save, mask, registers);
    case LaneWidth::k4:
      return ExpandTo<uint32_t>(value, save, mask, registers);
    case LaneWidth::k8:
      return ExpandTo<uint64_t>(value, save, mask, registers);
    case LaneWidth::k16:
      return;
    case LaneWidth::kPredicate: {
      uint64_t bits;
      if (value.form == jit::SavedValue::Form::kLanes) {
        uint32_t word;
        std::memcpy(&word, save + value.slot, sizeof word);
        bits = word;
      } else {
        std::memcpy(&bits, save + value.slot, sizeof bits);
        bits = (bits & 1) != 0 ? kFullMask : 0;
      }
      uint32_t old;
      std::memcpy(&old, registers + value.place, sizeof old);
      const uint32_t now = (old & ~mask) | (static_cast<uint32_t>(bits) & mask);
      std::memcpy(registers + value.place, &now, sizeof now);
      return;
    }
  }
}

// The other way. False: the lanes, those of `mask`, do not have the form.
template <typename T>
bool Compress(const jit::SavedValue& value, uint32_t mask, const std::byte* registers,
              std::byte* save) {
  T lanes[kWarpSize];
  std::memcpy(lanes, registers + value.place, sizeof lanes);
  if (value.form == jit::SavedValue::Form::kLanes) {
    std::memcpy(save + value.slot, lanes, sizeof lanes);
    return true;
  }
  const uint32_t groups = value.form == jit::SavedValue::Form::kAffine ? value.groups : 1;
  const uint32_t each = kWarpSize / groups;
  for (uint32_t lane = 0; lane < kWarpSize; ++lane) {
    const T base = lanes[lane / each * each];
    if ((mask >> lane & 1) != 0 &&
        lanes[lane] != static_cast<T>(base + static_cast<uint64_t>(value.stride) * (lane % each))) {
      return false;
    }
  }
  for (uint32_t g = 0; g < groups; ++g) {
    const uint64_t base = lanes[g * each];
    std::memcpy(save + value.slot + size_t{8} * g, &base, sizeof base);
  }
  return true;
}

bool Compress(const jit::SavedValue& value, uint32_t mask, const std::byte* registers,
              std::byte* save) {
  switch (value.width) {
    case LaneWidth::k1:
      return Compress<uint8_t>(value, mask, registers, save);
    case LaneWidth::k2:
      return Compress<uint16_t>(value, mask, registers, save);
    case LaneWidth::k4:
      return Compress<uint32_t>(value, mask, registers, save);
    case LaneWidth::k8:
      return Compress<uint64_t>(value, mask, registers, save);
    case LaneWidth::k16:
      return false;
    case LaneWidth::kPredicate: {
      uint32_t word;
      std::memcpy(&word, registers + value.place, sizeof word);
      if (value.form == jit::SavedValue::Form::kLanes) {
        std::memcpy(save + value.slot, &word, sizeof word);
        return true;
      }
      const uint64_t bit = word & 1;
      std::memcpy(save + value.slot, &bit, sizeof bit);
      return (word & mask) == 0 || (word & mask) == mask;
    }
  }
  return false;
}

uint32_t MaskAt(const jit::WarpContext& context, uint32_t slot) {
  if (slot == jit::Exit::Lanes::kAll) return context.lanes;
  uint32_t mask;
  std::memcpy(&mask, context.save + slot, sizeof mask);
  return mask;
}

}  // namespace

extern "C" {
__attribute__((visibility("hidden"))) const ColdFunction kernelsmith_cold_function = Runner::Access;
}

jit::Helpers RunnerHelpers() {
  return {.handle = Runner::Handle,
          .access = kernelsmith_cold_call,
          .find_atomic = FindAtomicKernel,
          .screen_row = Runner::ScreenRow,
          .screen_lanes = Runner::ScreenLanes,
          .suspect = Runner::Suspect,
          .mark_row = Runner::MarkRow,
          .mark_lanes = Runner::MarkEach,
          .matrix = FindMatrixKernels(DetectCpu()),
          .multiply_shared = Runner::MultiplyShared,
          .multiply = Runner::Multiply,
          .matrix_access = Runner::MatrixAccess};
}

// Makes the interpreter's warp ready.
void Runner::Prepare(jit::WarpContext& context) {
  Warp& w = *context.warp;
  if (context.registers == nullptr) {
    StartWarp(*w.block, w.index);
    context.registers = w.lane_frame[0]->registers;
  }
  Activate(w, context.lanes);
}

void Runner::PrepareCall(jit::WarpContext& context, const jit::HandlerCall& call) {
  auto& compiled = static_cast<CompiledWarp&>(context);
  compiled.runner->Prepare(context);
  for (const jit::SavedValue& value : call.operands) {
    // Lanes that there are not keep what the interpreter's have: some instructions read them.
    Expand(value, context.save, context.lanes, context.registers);
  }
  context.warp->pc = call.pc;
}

// What the warp just saw of other threads.
void Runner::CountSpin(jit::WarpContext& context) {
  auto& compiled = static_cast<CompiledWarp&>(context);
  const uint64_t seen = compiled.warp->wait_hash;
  compiled.spins = seen == compiled.seen ? compiled.spins + 1 : 0;
  compiled.seen = seen;
}

bool Runner::Handle(jit::BlockContext*, jit::WarpContext* context, const jit::HandlerCall* call,
                    uint32_t mask) {
  PrepareCall(*context, *call);
  Warp& w = *context->warp;
  const Instruction& in = *call->instruction;
  if (in.op == Op::kCall) {
    RunSystemCall(w, w.function().calls[in.target], mask);
    // It may have freed what sites remember.
    auto& sites = static_cast<CompiledWarp*>(context)->runner->sites_;
    std::fill(sites.begin(), sites.end(), jit::Site{});
  } else {
    if (in.control && w.launch->screen != nullptr) {
      WarpPicture picture(w);
      w.launch->screen->OnWarpSync(picture, in, mask);
      if (w.stopped) return false;
    }
    if (in.waits) w.wait_hash = 0;
    in.handler(w, in, mask);
    if (in.waits) CountSpin(*context);
    if (in.index && w.launch->screen != nullptr && w.launch->Wants(interest::kIndexArithmetic)) {
      WarpPicture picture(w);
      w.launch->screen->OnIndexArithmetic(picture, in, mask);
    }
  }
  return !w.stopped;
}

namespace {

// Stands for shared memory in sites of generic addresses.
char shared_region = 0;

}  // namespace

bool Runner::ScreenRow(jit::WarpContext* context, void* region, uint64_t address, int64_t stride,
                       uint64_t access, uint32_t mask) {
  Warp& w = *context->warp;
  const bool write = (access & jit::kWrites) != 0;
  const auto bytes = static_cast<uint32_t>(access & 0xff);
  auto lanes = static_cast<uint32_t>(access >> 8 & 0xff);
  auto first = static_cast<uint32_t>(access >> 16 & 0xff);
  ScreenThread& screen = *w.launch->screen;
  if (region == &shared_region) {
    region = nullptr;
    address -= w.launch->shared_window;
  }
  if (mask != kFullMask) {
    // One group then. Most masks are runs of lanes.
    const auto skipped = static_cast<uint32_t>(std::countr_zero(mask));
    lanes = static_cast<uint32_t>(std::popcount(mask));
    if (uint64_t{mask >> skipped} + 1 != uint64_t{1} << lanes) {
      uint64_t each[kWarpSize];
      for (uint64_t i = 0; i < kWarpSize; ++i) {
        each[i] = address + static_cast<uint64_t>(stride) * i;
      }
      return screen.AccessLanes(w, region, each, mask, bytes,
                                write ? AccessKind::kStore : AccessKind::kLoad);
    }
    first = skipped;
    address += static_cast<uint64_t>(stride) * skipped;
  }
  return screen.AccessRow(w, region, address, stride, first, lanes, bytes, write);
}

bool Runner::ScreenLanes(jit::WarpContext* context, void* region, const uint64_t* address,
                         uint32_t mask, uint64_t access) {
  Warp& w = *context->warp;
  uint64_t offset[kWarpSize];
  if (region == &shared_region) {
    region = nullptr;
    for (int i = 0; i < kWarpSize; ++i) offset[i] = address[i] - w.launch->shared_window;
    address = offset;
  }
  return w.launch->screen->AccessLanes(
      w, region, address, mask, static_cast<uint32_t>(access & 0xff),
      (access & jit::kWrites) != 0 ? AccessKind::kStore : AccessKind::kLoad);
}

void Runner::Suspect(jit::WarpContext* context, uint32_t why) {
  context->warp->launch->screen->Suspect(
      why == jit::kSuspectIndex ? "index arithmetic that wraps"
                                : "shared memory: a race, or a read of what was not written");
}

void Runner::MarkRow(jit::WarpContext* context, uint64_t address, int64_t stride, uint32_t bytes,
                     uint32_t mask) {
  const Warp& w = *context->warp;
  SliceRun& run = w.launch->slice->run();
  const auto block = static_cast<uint32_t>(w.block->number);
  const auto skipped = static_cast<uint32_t>(std::countr_zero(mask));
  const auto lanes = static_cast<uint32_t>(std::popcount(mask));
  if (stride == bytes && uint64_t{mask >> skipped} + 1 == uint64_t{1} << lanes) {
    return run.MarkRow(address + uint64_t{bytes} * skipped, bytes, lanes, block);
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<uint64_t>(std::countr_zero(rest));
    run.Mark(address + static_cast<uint64_t>(stride) * lane, bytes, block);
  }
}

void Runner::MarkEach(jit::WarpContext* context, const uint64_t* address, uint32_t bytes,
                      uint32_t mask) {
  const Warp& w = *context->warp;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    w.launch->slice->run().Mark(address[std::countr_zero(rest)], bytes,
                                static_cast<uint32_t>(w.block->number));
  }
}

// Fills the site with the allocation that contains all that the lanes access. False: none does.
bool Runner::FindSite(Runner& runner, jit::BlockContext& block, Warp& w,
                      const jit::HandlerCall& call, uint32_t mask) {
  const Instruction& in = *call.instruction;
  uint64_t low = ~uint64_t{0};
  uint64_t high = 0;
  uint64_t bits = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    auto address = static_cast<uint64_t>(call.begin);
    if (in.address == AddressBase::kRegister32) {
      address = static_cast<uint32_t>(w.Lanes<uint32_t>(in.a)[lane] + address);
    } else if (in.address == AddressBase::kRegister64) {
      address += w.Lanes<uint64_t>(in.a)[lane];
    } else if (in.address == AddressBase::kParameters) {
      address += block.parameters;
    }
    low = std::min(low, address);
    high = std::max(high, address);
    bits |= address;
  }
  if ((bits & (call.align - 1)) != 0 || high + call.bytes < high) return false;
  // Shared memory by its generic address.
  if (in.space == MemorySpace::kGeneric && low >= block.shared_window &&
      high + call.bytes <= block.shared_window + block.shared_bytes) {
    if (block.shared_bytes < call.room) return false;
    runner.sites_in_shared_ = true;
    block.sites[call.site] = {.low = block.shared_window,
                              .limit = block.shared_bytes - call.room + 1,
                              .delta = block.shared_host - block.shared_window,
                              .screen = w.launch->screen != nullptr ? &shared_region : nullptr};
    return true;
  }
  SliceThread* slice = w.launch->slice;
  if (slice != nullptr) slice->marking = !call.reads;
  const bool found = w.FindWindow(low, high - low + call.bytes);
  const MemoryWindow window = w.window;
  if (slice != nullptr) {
    // Stores of a slice are marks, unless they are made beside these. What is read later in a
    // window that was found for a mark must be noted.
    const bool made = in.op == Op::kMark && in.variant == kMarkOfMade;
    if (found && call.stored != 0 && !IsAtomic(in.op) && !made) slice->NoteMarked(window);
    slice->marking = false;
    w.ForgetWindows();
  }
  if (!found || (call.stored != 0 && !window.writable)) return false;
  block.sites[call.site] = {.low = window.low,
                            .limit = window.high - window.low - call.room + 1,
                            .delta = static_cast<uint64_t>(window.delta)};
  runner.streaming_.OnSite(runner.sites_, call, window);
  return w.launch->screen == nullptr ||
         w.launch->screen->FindSite(low, high - low + call.bytes, call.stored != 0,
                                    &block.sites[call.site].screen);
}

uint32_t Runner::Access(jit::BlockContext* block, jit::WarpContext* context,
                        const jit::HandlerCall* call, uint32_t mask) {
  PrepareCall(*context, *call);
  Warp& w = *context->warp;
  const Instruction& in = *call->instruction;
  if (call->site != ~0u &&
      FindSite(*static_cast<CompiledWarp*>(context)->runner, *block, w, *call, mask)) {
    return 1;
  }
  if (w.launch->screen != nullptr && w.launch->screen->stopped()) return 0;
  if (call->find_only) return 2;
  if (in.waits) w.wait_hash = 0;
  in.handler(w, in, mask);
  if (in.waits) CountSpin(*context);
  return w.stopped ? 0 : 2;
}

void Runner::MakeCompiled(Block& block) {
  block.compiled = std::make_shared<CompiledBlock>();
  CompiledBlock& compiled = *block.compiled;
  const LaunchRequest& request = launch_.request;
  static_assert(jit::kSpecials >= static_cast<size_t>(Special::kCount));
  const auto set = [&](Special which, uint32_t value) {
    compiled.special[static_cast<size_t>(which)] = value;
  };
  set(Special::kNtidX, request.block.x);
  set(Special::kNtidY, request.block.y);
  set(Special::kNtidZ, request.block.z);
  set(Special::kNctaidX, request.grid.x);
  set(Special::kNctaidY, request.grid.y);
  set(Special::kNctaidZ, request.grid.z);
  set(Special::kNwarpid, static_cast<uint32_t>(block.warps.size()));
  set(Special::kNsmid, launch_.options->multiprocessors);
  set(Special::kGridid, static_cast<uint32_t>(launch_.grid_id));
  set(Special::kEnvreg1, static_cast<uint32_t>(launch_.grid_workspace >> 32));
  set(Special::kEnvreg2, static_cast<uint32_t>(launch_.grid_workspace));
  set(Special::kDynamicSmemSize, request.dynamic_shared_bytes);
  set(Special::kTotalSmemSize, launch_.shared_bytes);
  set(Special::kClusterNctaidX, request.cluster.x);
  set(Special::kClusterNctaidY, request.cluster.y);
  set(Special::kClusterNctaidZ, request.cluster.z);
  set(Special::kClusterNctarank, static_cast<uint32_t>(request.cluster.Count()));
  set(Special::kNclusteridX, request.grid.x / request.cluster.x);
  set(Special::kNclusteridY, request.grid.y / request.cluster.y);
  set(Special::kNclusteridZ, request.grid.z / request.cluster.z);
  set(Special::kIsExplicitCluster, request.cluster.Count() > 1 ? kFullMask : 0);
  set(Special::kOne, 1);
  compiled.context = {.sites = sites_.data(),
                      .parameters = launch_.parameters,
                      .parameters_host = parameters_host_,
                      .shared_bytes = block.shared_bytes,
                      .shared_window = launch_.shared_window,
                      .local_window = launch_.local_window,
                      .special = compiled.special.data(),
                      .coverage = coverage_.data(),
                      .back_edges = &block.back_edges};
  const size_t count = block.warps.size();
  const size_t each =
      (compiled_->save_bytes + kSaveAlignment - 1) / kSaveAlignment * kSaveAlignment;
  compiled.storage.resize(count * each + kSaveAlignment);
  const auto address = reinterpret_cast<uintptr_t>(compiled.storage.data());
  std::byte* save =
      compiled.storage.data() + (kSaveAlignment - address % kSaveAlignment) % kSaveAlignment;
  compiled.warps = std::vector<CompiledWarp>(count);
  for (uint32_t i = 0; i < count; ++i) {
    CompiledWarp& warp = compiled.warps[i];
    warp.warp = &block.warps[i];
    warp.warp->block = &block;
    warp.warp->launch = &launch_;
    warp.warp->index = i;
    warp.save = save + i * each;
    warp.warp_index = i;
    const uint32_t lanes = std::min<uint32_t>(kWarpSize, block.threads - i * kWarpSize);
    warp.lanes = lanes == kWarpSize ? kFullMask : (1u << lanes) - 1;
    warp.runner = this;
  }
}

// Cheap: most blocks need nothing else, and many have little to do.
void Runner::StartCompiled(Block& block) {
  if (block.compiled == nullptr) MakeCompiled(block);
  CompiledBlock& compiled = *block.compiled;
  block.fresh = true;
  block.warps_ready = false;
  const auto set = [&](Special which, uint32_t value) {
    compiled.special[static_cast<size_t>(which)] = value;
  };
  set(Special::kCtaidX, block.index.x);
  set(Special::kCtaidY, block.index.y);
  set(Special::kCtaidZ, block.index.z);
  set(Special::kSmid, static_cast<uint32_t>(block.number % launch_.options->multiprocessors));
  const Dim3 cluster = launch_.request.cluster;
  set(Special::kClusterCtaidX, block.index.x % cluster.x);
  set(Special::kClusterCtaidY, block.index.y % cluster.y);
  set(Special::kClusterCtaidZ, block.index.z % cluster.z);
  set(Special::kClusterCtarank, block.rank);
  set(Special::kClusteridX, block.index.x / cluster.x);
  set(Special::kClusteridY, block.index.y / cluster.y);
  set(Special::kClusteridZ, block.index.z / cluster.z);
  compiled.context.shared_host = reinterpret_cast<uint64_t>(block.shared);
  if (block.screen != nullptr) compiled.context.screen = &block.screen->view;
  for (CompiledWarp& warp : compiled.warps) {
    warp.registers = nullptr;
    warp.loops = warp.warp->loops.data();
    warp.spins = 0;
    warp.state = CompiledWarp::State::kFresh;
  }
  // The cluster's barrier looks at the warps of all its blocks.
  if (block.cluster != nullptr) MakeWarpsReady(block);
}

// What the interpreter expects of warps that compiled code has not touched, when something needs
// the interpreter at last.
void Runner::MakeWarpsReady(Block& block) {
  if (block.warps_ready) return;
  block.warps_ready = true;
  for (uint32_t i = 0; i < block.warps.size(); ++i) {
    Warp& w = block.warps[i];
    w.live = block.compiled->warps[i].lanes;
    w.blocked = w.deferred = w.at_barrier = w.forced = 0;
    w.stopped = false;
  }
}

// Sites in the shared memory of another block are no good.
void Runner::ForgetShared(const jit::BlockContext& block) {
  if (sites_in_shared_ && block.shared_host != sites_shared_host_) {
    std::fill(sites_.begin(), sites_.end(), jit::Site{});
    sites_in_shared_ = false;
  }
  sites_shared_host_ = block.shared_host;
}

// Whether the interpreter's registers have the form that compiled code needs at block b; if so
// they are in `save`.
bool Runner::Enter(CompiledWarp& compiled, uint32_t b) {
  return std::all_of(compiled_->entries[b].begin(), compiled_->entries[b].end(),
                     [&](const jit::SavedValue& value) {
                       return Compress(value, compiled.lanes, compiled.registers, compiled.save);
                     });
}

// What a warp's outcome means for the interpreter's picture of it.
void Runner::NoteOutcome(Warp& w, CompiledWarp& compiled) {
  switch (compiled.outcome) {
    case jit::Outcome::kDone:
      if (compiled.registers != nullptr) DropFrames(w, w.live);
      w.live = 0;
      break;
    case jit::Outcome::kBarrier:
      compiled.state = CompiledWarp::State::kSaved;
      break;
    case jit::Outcome::kLeave:
    case jit::Outcome::kGiveWay: {
      compiled.state = CompiledWarp::State::kInterpreted;
      if (code_exits_ != nullptr) code_exits_->count.fetch_add(1, std::memory_order_relaxed);
      Prepare(compiled);
      for (const jit::Exit::Lanes& group : compiled_->exits[compiled.exit].groups) {
        const uint32_t mask = MaskAt(compiled, group.slot);
        for (const jit::SavedValue& value : group.values) {
          Expand(value, compiled.save, mask, compiled.registers);
        }
        for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
          w.lane_pc[std::countr_zero(rest)] = group.pc;
        }
      }
      w.skip_entry = true;
      compiled.spins = 0;
      // Let the interpreter find out whether the loop waits for somebody.
      if (compiled.outcome == jit::Outcome::kGiveWay) w.entries = nullptr;
      break;
    }
    case jit::Outcome::kFault:
      break;
  }
}

std::optional<Runner::BlockOutcome> Runner::RunTogether(Block& block) {
  CompiledBlock& compiled = *block.compiled;
  const size_t count = block.warps.size();
  block.fresh = false;
  ForgetShared(compiled.context);
  uint32_t entry = jit::kStart;
  bool together = true;
  // All warps to the end or to the next barrier, again and again.
  while (true) {
    for (size_t i = 0; i < count; ++i) {
      i += compiled_->code(&compiled.context, &compiled.warps[i], entry,
                           static_cast<uint32_t>(count - i));
      if (i >= count) break;
      // Runs on at once, before the warps behind it, as it would in the interpreter.
      MakeWarpsReady(block);
      Warp& w = block.warps[i];
      NoteOutcome(w, compiled.warps[i]);
      if (compiled.warps[i].outcome == jit::Outcome::kFault) return BlockOutcome::kFault;
      switch (RunMixed(w)) {
        case WarpOutcome::kFault:
          return BlockOutcome::kFault;
        case WarpOutcome::kDone:
          compiled.warps[i].outcome = jit::Outcome::kDone;
          break;
        default:
          together = false;
          break;
      }
    }
    size_t done = 0;
    size_t at_barrier = 0;
    bool same = true;
    for (const CompiledWarp& warp : compiled.warps) {
      done += warp.outcome == jit::Outcome::kDone ? 1 : 0;
      at_barrier += warp.outcome == jit::Outcome::kBarrier ? 1 : 0;
      same = same && warp.exit_pc == compiled.warps[0].exit_pc;
    }
    if (done == count) {
      for (size_t i = 0; i < count; ++i) {
        if (compiled.warps[i].registers != nullptr || block.cluster != nullptr) {
          NoteOutcome(block.warps[i], compiled.warps[i]);
        }
      }
      block.finished_warps = static_cast<uint32_t>(count);
      return BlockOutcome::kDone;
    }
    if (together && at_barrier == count && same) {
      if (launch_.screen != nullptr) launch_.screen->NextInterval(block);
      entry = jit::EntryOf(compiled_->block_of_pc[compiled.warps[0].exit_pc + 1]);
      continue;
    }
    // Not all together: the interpreter's barriers take over.
    MakeWarpsReady(block);
    block.finished_warps = static_cast<uint32_t>(done);
    for (size_t i = 0; i < count; ++i) {
      Warp& w = block.warps[i];
      CompiledWarp& warp = compiled.warps[i];
      if (warp.state != CompiledWarp::State::kFresh) continue;
      NoteOutcome(w, warp);
      if (warp.outcome == jit::Outcome::kBarrier) Arrive(w, warp);
      if (w.stopped) return BlockOutcome::kFault;
    }
    CheckBarriers(block);
    return std::nullopt;
  }
}

// Tells the block's barriers that the warp has come.
void Runner::Arrive(Warp& w, CompiledWarp& compiled) {
  Prepare(compiled);
  w.pc = compiled.exit_pc;
  w.lane_pc.fill(w.pc + 1);
  compiled.state = CompiledWarp::State::kArrived;
  ArriveAtBarrier(w, w.instruction(), compiled.lanes);
}

WarpOutcome Runner::RunMixed(Warp& w) {
  CompiledWarp& compiled = w.block->compiled->warps[w.index];
  ForgetShared(w.block->compiled->context);
  std::optional<uint32_t> entry;
  uint32_t refused = 0;  // times in a row that compiled code could not go on
  if (compiled.state == CompiledWarp::State::kFresh) {
    entry = jit::kStart;
  } else if (compiled.state == CompiledWarp::State::kArrived) {
    entry = jit::EntryOf(compiled_->block_of_pc[compiled.exit_pc + 1]);
  }
  compiled.state = CompiledWarp::State::kInterpreted;
  while (true) {
    if (entry) {
      compiled_->code(&w.block->compiled->context, &compiled, *entry, 1);
      NoteOutcome(w, compiled);
      switch (compiled.outcome) {
        case jit::Outcome::kDone:
          CheckBarriers(*w.block);
          return WarpOutcome::kDone;
        case jit::Outcome::kBarrier:
          Arrive(w, compiled);
          return w.stopped ? WarpOutcome::kFault : WarpOutcome::kWaiting;
        case jit::Outcome::kFault:
          return WarpOutcome::kFault;
        default:
          break;
      }
      entry = std::nullopt;
    }
    const WarpOutcome outcome = w.stopped ? WarpOutcome::kFault : RunWarp(w);
    w.entries = compiled_->entry_of_pc.data();
    if (outcome != WarpOutcome::kEntry) return outcome;
    const auto block = static_cast<uint32_t>(compiled_->entry_of_pc[w.pc]);
    if (Enter(compiled, block)) {
      entry = jit::EntryOf(block);
      refused = 0;
      continue;
    }
    w.skip_entry = true;
    // A loop that waits for somebody must come to give way.
    if (++refused == kMostRefused) {
      w.entries = nullptr;
      refused = 0;
    }
  }
}

}  // namespace kernelsmith::vgpu
