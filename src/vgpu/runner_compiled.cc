// Blocks whose warps run as compiled code, with the interpreter for what that leaves over.

#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/runner.h"

namespace kernelsmith::vgpu {

namespace {

constexpr size_t kSaveAlignment = 64;

void Activate(Warp& w) {
  w.frame = w.lane_frame[0];
  w.active = kFullMask;
  w.base[static_cast<size_t>(OperandBase::kRegister)] = w.frame->registers;
  w.base[static_cast<size_t>(OperandBase::kConstant)] =
      const_cast<std::byte*>(w.frame->function->ConstantData());
}

}  // namespace

jit::Helpers RunnerHelpers() {
  return {.prepare = Runner::Prepare, .handle = Runner::Handle, .find = Runner::Find};
}

std::byte* Runner::Prepare(jit::WarpContext* context) {
  if (context->registers != nullptr) return context->registers;
  auto* compiled = static_cast<CompiledWarp*>(context);
  Warp& w = *context->warp;
  compiled->runner->StartWarp(*w.block, w.index);
  Activate(w);
  context->registers = w.frame->registers;
  return context->registers;
}

bool Runner::Handle(jit::WarpContext* context, const Instruction* in, uint32_t pc, uint32_t mask) {
  Prepare(context);
  Warp& w = *context->warp;
  w.pc = pc;
  if (in->op == Op::kCall) {
    RunSystemCall(w, w.function().calls[in->target], mask);
    // It may have freed what sites remember.
    auto& sites = static_cast<CompiledWarp*>(context)->runner->sites_;
    std::fill(sites.begin(), sites.end(), jit::Site{});
  } else {
    in->handler(w, *in, mask);
  }
  return !w.stopped;
}

bool Runner::Find(jit::WarpContext* context, jit::Site* site, uint64_t address, uint64_t bytes,
                  uint64_t group) {
  Warp& w = *context->warp;
  const bool write = (group & jit::kWrites) != 0;
  group &= ~jit::kWrites;
  if (!w.FindWindow(address, bytes) || (write && !w.window.writable)) return false;
  *site = {.low = w.window.low,
           .limit = w.window.high - w.window.low - group + 1,
           .delta = static_cast<uint64_t>(w.window.delta)};
  return true;
}

void Runner::StartCompiled(Block& block) {
  if (block.compiled == nullptr) block.compiled = std::make_shared<CompiledBlock>();
  CompiledBlock& compiled = *block.compiled;
  block.fresh = true;
  const LaunchRequest& request = launch_.request;
  static_assert(jit::kSpecials >= static_cast<size_t>(Special::kCount));
  const auto set = [&](Special which, uint32_t value) {
    compiled.special[static_cast<size_t>(which)] = value;
  };
  set(Special::kNtidX, request.block.x);
  set(Special::kNtidY, request.block.y);
  set(Special::kNtidZ, request.block.z);
  set(Special::kCtaidX, block.index.x);
  set(Special::kCtaidY, block.index.y);
  set(Special::kCtaidZ, block.index.z);
  set(Special::kNctaidX, request.grid.x);
  set(Special::kNctaidY, request.grid.y);
  set(Special::kNctaidZ, request.grid.z);
  set(Special::kNwarpid, static_cast<uint32_t>(block.warps.size()));
  set(Special::kSmid, static_cast<uint32_t>(block.number % launch_.options->multiprocessors));
  set(Special::kNsmid, launch_.options->multiprocessors);
  set(Special::kGridid, static_cast<uint32_t>(launch_.grid_id));
  set(Special::kEnvreg1, static_cast<uint32_t>(launch_.grid_workspace >> 32));
  set(Special::kEnvreg2, static_cast<uint32_t>(launch_.grid_workspace));
  set(Special::kDynamicSmemSize, request.dynamic_shared_bytes);
  set(Special::kTotalSmemSize, launch_.shared_bytes);
  set(Special::kZero, 0);
  set(Special::kOne, 1);
  if (compiled.warps.size() != block.warps.size()) {
    compiled.warps = std::vector<CompiledWarp>(block.warps.size());
    for (CompiledWarp& warp : compiled.warps) {
      warp.storage.resize(compiled_->save_bytes + kSaveAlignment);
      const auto address = reinterpret_cast<uintptr_t>(warp.storage.data());
      warp.save =
          warp.storage.data() + (kSaveAlignment - address % kSaveAlignment) % kSaveAlignment;
    }
  }
  for (uint32_t i = 0; i < block.warps.size(); ++i) {
    Warp& w = block.warps[i];
    const uint32_t lanes = std::min<uint32_t>(kWarpSize, block.threads - i * kWarpSize);
    w.block = &block;
    w.launch = &launch_;
    w.index = i;
    w.live = lanes == kWarpSize ? kFullMask : (1u << lanes) - 1;
    w.blocked = w.deferred = w.at_barrier = w.forced = 0;
    w.stopped = false;
    CompiledWarp& warp = compiled.warps[i];
    warp.warp = &w;
    warp.registers = nullptr;
    warp.sites = sites_.data();
    warp.parameters = launch_.parameters;
    warp.parameters_host = parameters_host_;
    warp.shared_host = reinterpret_cast<uint64_t>(block.shared);
    warp.shared_bytes = block.shared_bytes;
    warp.shared_window = launch_.shared_window;
    warp.local_window = launch_.local_window;
    warp.special = compiled.special.data();
    warp.warp_index = i;
    warp.runner = this;
    warp.state = CompiledWarp::State::kFresh;
    if (lanes != kWarpSize) {
      // Compiled code is for whole warps.
      StartWarp(block, i);
      w.frame = w.lane_frame[std::countr_zero(w.live)];
      warp.registers = w.frame->registers;
      warp.state = CompiledWarp::State::kInterpreted;
    } else if (compiled_->needs_registers) {
      Prepare(&warp);
    }
  }
}

jit::Outcome Runner::RunCode(Warp& w, CompiledWarp& compiled, uint32_t entry) {
  const auto outcome = static_cast<jit::Outcome>(compiled_->code(&compiled, entry));
  switch (outcome) {
    case jit::Outcome::kDone:
      if (compiled.registers != nullptr) DropFrames(w, w.live);
      w.live = 0;
      break;
    case jit::Outcome::kBarrier:
      compiled.state = CompiledWarp::State::kSaved;
      break;
    case jit::Outcome::kLeave:
      compiled.state = CompiledWarp::State::kInterpreted;
      w.lane_pc.fill(compiled.exit_pc);
      w.skip_entry = true;
      break;
    case jit::Outcome::kGiveWay:
      // Let the interpreter find out whether the loop waits for somebody.
      compiled.state = CompiledWarp::State::kInterpreted;
      w.lane_pc.fill(compiled.exit_pc);
      w.entries = nullptr;
      break;
    case jit::Outcome::kGiveWayParted:
      w.entries = nullptr;
      [[fallthrough]];
    case jit::Outcome::kLeaveParted:
      compiled.state = CompiledWarp::State::kInterpreted;
      std::copy(std::begin(compiled.lane_pc), std::end(compiled.lane_pc), w.lane_pc.begin());
      break;
    case jit::Outcome::kMismatch:
      w.skip_entry = true;
      break;
    case jit::Outcome::kFault:
      break;
  }
  return outcome;
}

std::optional<Runner::BlockOutcome> Runner::RunTogether(Block& block) {
  CompiledBlock& compiled = *block.compiled;
  const size_t count = block.warps.size();
  block.fresh = false;
  for (const CompiledWarp& warp : compiled.warps) {
    if (warp.state != CompiledWarp::State::kFresh) return std::nullopt;
  }
  const Function& function = *launch_.kernel->entry;
  uint32_t entry = jit::kStart;
  const auto barrier_of = [&](const CompiledWarp& warp) {
    const Instruction& in = function.code[warp.exit_pc];
    uint32_t id;
    std::memcpy(&id, function.ConstantData() + in.a.offset(), sizeof id);
    return id;
  };
  while (true) {
    size_t done = 0;
    size_t at_barrier = 0;
    bool same = true;
    std::optional<uint32_t> barrier;
    for (size_t i = 0; i < count; ++i) {
      CompiledWarp& warp = compiled.warps[i];
      if (entry != jit::kStart) {
        entry = jit::FromSave(compiled_->block_of_pc[warp.exit_pc + 1]);
      }
      switch (RunCode(block.warps[i], warp, entry)) {
        case jit::Outcome::kFault:
          return BlockOutcome::kFault;
        case jit::Outcome::kDone:
          ++done;
          break;
        case jit::Outcome::kBarrier:
          ++at_barrier;
          if (!barrier) barrier = barrier_of(warp);
          same = same && barrier_of(warp) == *barrier;
          break;
        default: {
          // Runs on at once, before the warps behind it, as it would in the interpreter.
          switch (RunMixed(block.warps[i])) {
            case WarpOutcome::kFault:
              return BlockOutcome::kFault;
            case WarpOutcome::kDone:
              ++done;
              break;
            default:
              break;
          }
          break;
        }
      }
    }
    if (done == count) {
      block.finished_warps = static_cast<uint32_t>(count);
      return BlockOutcome::kDone;
    }
    if (at_barrier == count && same) {
      entry = jit::FromSave(0);
      continue;
    }
    // Not all together: the interpreter's barriers take over.
    block.finished_warps = static_cast<uint32_t>(done);
    for (size_t i = 0; i < count; ++i) {
      Warp& w = block.warps[i];
      CompiledWarp& warp = compiled.warps[i];
      if (w.live != 0 && warp.state == CompiledWarp::State::kSaved) Arrive(w, warp);
      if (w.stopped) return BlockOutcome::kFault;
    }
    CheckBarriers(block);
    return std::nullopt;
  }
}

// Tells the block's barriers that the warp has come.
void Runner::Arrive(Warp& w, CompiledWarp& compiled) {
  if (compiled.registers == nullptr) {
    Prepare(&compiled);
  } else {
    Activate(w);
  }
  w.pc = compiled.exit_pc;
  w.lane_pc.fill(w.pc + 1);
  compiled.state = CompiledWarp::State::kArrived;
  ArriveAtBarrier(w, w.instruction(), kFullMask);
}

WarpOutcome Runner::RunMixed(Warp& w) {
  CompiledWarp& compiled = w.block->compiled->warps[w.index];
  std::optional<uint32_t> entry;
  if (compiled.state == CompiledWarp::State::kFresh) {
    entry = jit::kStart;
  } else if (compiled.state == CompiledWarp::State::kArrived) {
    entry = jit::FromSave(compiled_->block_of_pc[compiled.exit_pc + 1]);
  }
  compiled.state = CompiledWarp::State::kInterpreted;
  while (true) {
    if (entry) {
      switch (RunCode(w, compiled, *entry)) {
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
    }
    const WarpOutcome outcome = RunWarp(w);
    w.entries = compiled_->entry_of_pc.data();
    if (outcome != WarpOutcome::kEntry) return outcome;
    entry = jit::FromRegisters(static_cast<uint32_t>(compiled_->entry_of_pc[w.pc]));
  }
}

}  // namespace kernelsmith::vgpu
