// Call frames of a warp, and the functions that the engine provides to kernels.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "vgpu/call_arguments.h"
#include "vgpu/device_printf.h"
#include "vgpu/device_runtime.h"
#include "vgpu/heap.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

// Frames without local memory would recurse until the host's memory ends.
constexpr uint32_t kMaxDepth = 1 << 14;
constexpr size_t kRegisterAlignment = 64;

std::unique_ptr<Frame> NewFrame(Warp& w, const Function& function) {
  std::unique_ptr<Frame> frame;
  if (!w.spare_frames.empty()) {
    frame = std::move(w.spare_frames.back());
    w.spare_frames.pop_back();
  } else {
    frame = std::make_unique<Frame>();
  }
  frame->function = &function;
  frame->id = w.launch->next_frame_id++;
  // Registers begin as 0, so that a kernel which reads one it never wrote behaves the same each
  // time.
  frame->storage.assign(function.register_bytes + kRegisterAlignment, std::byte{0});
  const auto address = reinterpret_cast<uintptr_t>(frame->storage.data());
  frame->registers = frame->storage.data() +
                     (kRegisterAlignment - address % kRegisterAlignment) % kRegisterAlignment;
  // A function that reads no register before it wrote it needs no shadow until memory brings
  // undefined bits in.
  if (w.launch->Wants(interest::kUndefinedBits) && function.may_read_unwritten && !w.tracked) {
    WarpPicture(w).Track();
  }
  if (w.tracked) frame->undefined.assign(function.register_bytes, std::byte{0xff});
  return frame;
}

void Leave(Warp& w, Frame* frame, uint32_t lanes) {
  frame->lanes &= ~lanes;
  if (frame->lanes != 0) return;
  const auto it = std::find_if(w.frames.begin(), w.frames.end(),
                               [&](const auto& owned) { return owned.get() == frame; });
  w.spare_frames.push_back(std::move(*it));
  w.frames.erase(it);
}

void Copy(Warp& w, int lane, uint32_t to_base, const std::vector<FrameRange>& to,
          uint32_t from_base, const std::vector<FrameRange>& from) {
  const size_t count = std::min(to.size(), from.size());
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bytes = std::min(to[i].size, from[i].size);
    std::memmove(LocalBytes(w, lane, to_base + to[i].offset),
                 LocalBytes(w, lane, from_base + from[i].offset), bytes);
    if (w.launch->observer != nullptr) {
      const uint64_t window = w.launch->local_window;
      WarpPicture picture(w);
      w.launch->observer->OnFrameCopy(picture, lane, window + to_base + to[i].offset,
                                      window + from_base + from[i].offset, bytes);
    }
    if (!w.defined_local.empty()) {
      std::memmove(DefinedLocal(w, lane, to_base + to[i].offset),
                   DefinedLocal(w, lane, from_base + from[i].offset), bytes);
    }
  }
}

// Reads bytes at generic addresses for printf and assert; stops at what is not accessible.
class LaneMemory final : public PrintfMemory {
 public:
  LaneMemory(Warp& warp, int lane) : warp_(warp), lane_(lane) {}

  bool Read(uint64_t address, void* to, uint64_t bytes) override {
    return WarpPicture(warp_).ReadMemory(lane_, address, to, static_cast<uint32_t>(bytes));
  }

 private:
  Warp& warp_;
  int lane_;
};

void Printf(Warp& w, const CallSite& site, int lane) {
  LaneMemory memory(w, lane);
  const auto format = ReadArgument<uint64_t>(w, lane, site, 0);
  const auto arguments = ReadArgument<uint64_t>(w, lane, site, 1);
  const PrintfResult result = FormatDevicePrintf(memory, format, arguments);
  if (!result.text.empty() && w.launch->options->print) w.launch->options->print(result.text);
  WriteResult<int32_t>(w, lane, site, result.arguments);
}

void AssertFail(Warp& w, const CallSite& site, int lane) {
  LaneMemory memory(w, lane);
  const std::string message = ReadDeviceString(memory, ReadArgument<uint64_t>(w, lane, site, 0));
  const std::string file = ReadDeviceString(memory, ReadArgument<uint64_t>(w, lane, site, 1));
  const auto line = ReadArgument<uint32_t>(w, lane, site, 2);
  const std::string function = ReadDeviceString(memory, ReadArgument<uint64_t>(w, lane, site, 3));
  const Dim3 thread = WarpPicture(w).thread_index(lane);
  const Dim3 block = w.block->index;
  w.Fail(FaultKind::kAssert, lane, 0,
         fmt::format("{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.",
                     file, line, function, block.x, block.y, block.z, thread.x, thread.y, thread.z,
                     message));
}

}  // namespace

void PushFrame(Warp& w, const Function& callee, uint32_t mask, const CallSite* site) {
  if (callee.code.empty()) {
    const auto why = w.launch->kernel->unsupported.find(callee.code_address);
    w.Fail(FaultKind::kIllegalInstruction, std::countr_zero(mask), 0,
           "call of a function that cannot run" +
               (why != w.launch->kernel->unsupported.end() ? ": " + why->second : std::string()));
    return;
  }
  const uint32_t depth = w.frame == nullptr || site == nullptr ? 0 : w.frame->depth + 1;
  std::unique_ptr<Frame> owned = NewFrame(w, callee);
  Frame* frame = owned.get();
  frame->depth = depth;
  frame->lanes = mask;
  w.frames.push_back(std::move(owned));
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint32_t top = w.stack_top[lane];
    const uint32_t base = (top + 15) / 16 * 16;
    if (depth > kMaxDepth ||
        (callee.frame_bytes > 0 && uint64_t{base} + callee.frame_bytes > w.local_stride)) {
      w.Fail(FaultKind::kStackOverflow, lane, 0,
             fmt::format("stack overflow: {} needs {} bytes of local memory, {} of {} are in use "
                         "at call depth {}",
                         callee.name, callee.frame_bytes, top, w.local_stride, depth));
      return;
    }
    frame->saved_stack[lane] = top;
    frame->local_base[lane] = base;
    w.stack_top[lane] = callee.frame_bytes > 0 ? base + callee.frame_bytes : top;
    if (!w.defined_local.empty() && callee.frame_bytes > 0) {
      std::memset(DefinedLocal(w, lane, base), 0, callee.frame_bytes);
    }
    if (site != nullptr) {
      Copy(w, lane, base, callee.parameters, w.frame->local_base[lane], site->arguments);
      frame->return_pc[lane] = w.pc + 1;
      frame->caller[lane] = w.lane_frame[lane];
    } else {
      frame->caller[lane] = nullptr;
    }
    w.lane_frame[lane] = frame;
    w.lane_pc[lane] = 0;
  }
}

void ReturnFrom(Warp& w, uint32_t mask) {
  Frame* frame = w.frame;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Frame* caller = frame->caller[lane];
    const uint32_t pc = frame->return_pc[lane];
    const CallSite& site = caller->function->calls[caller->function->code[pc - 1].target];
    Copy(w, lane, caller->local_base[lane], site.results, frame->local_base[lane],
         frame->function->results);
    w.stack_top[lane] = frame->saved_stack[lane];
    w.lane_frame[lane] = caller;
    w.lane_pc[lane] = pc;
  }
  Leave(w, frame, mask);
}

void DropFrames(Warp& w, uint32_t lanes) {
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    for (Frame* frame = w.lane_frame[lane]; frame != nullptr;) {
      Frame* caller = frame->caller[lane];
      Leave(w, frame, 1u << lane);
      frame = caller;
    }
    w.lane_frame[lane] = nullptr;
  }
}

namespace {

// Copies the registers of one lane.
void MergeRegisters(std::byte* to, const std::byte* from, const Function& function, int lane) {
  const uint32_t bit = 1u << lane;
  for (const RegisterArea& area : function.areas) {
    if (area.width == LaneWidth::kPredicate) {
      for (uint32_t at = area.first; at < area.last; at += sizeof(uint32_t)) {
        uint32_t word;
        uint32_t other;
        std::memcpy(&word, to + at, sizeof word);
        std::memcpy(&other, from + at, sizeof other);
        word = (word & ~bit) | (other & bit);
        std::memcpy(to + at, &word, sizeof word);
      }
      continue;
    }
    const uint32_t bytes = 1u << static_cast<uint32_t>(area.width);
    for (uint32_t at = area.first; at < area.last; at += bytes * kWarpSize) {
      std::memcpy(to + at + lane * bytes, from + at + lane * bytes, bytes);
    }
  }
}

}  // namespace

void MergeFrames(Warp& w, Frame* to, uint32_t mask) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Frame* from = w.lane_frame[lane];
    if (from == to) continue;
    const uint32_t bit = 1u << lane;
    MergeRegisters(to->registers, from->registers, *to->function, lane);
    if (w.tracked) {
      MergeRegisters(to->undefined.data(), from->undefined.data(), *to->function, lane);
    }
    to->return_pc[lane] = from->return_pc[lane];
    to->caller[lane] = from->caller[lane];
    to->local_base[lane] = from->local_base[lane];
    to->saved_stack[lane] = from->saved_stack[lane];
    to->lanes |= bit;
    w.lane_frame[lane] = to;
    Leave(w, from, bit);
  }
}

void RunSystemCall(Warp& w, const CallSite& site, uint32_t mask) {
  for (uint32_t rest = mask; rest != 0 && !w.stopped; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    switch (static_cast<SystemCall>(site.system)) {
      case SystemCall::kVprintf:
        Printf(w, site, lane);
        break;
      case SystemCall::kAssertFail:
        AssertFail(w, site, lane);
        break;
      case SystemCall::kMalloc: {
        const auto size = ReadArgument<uint64_t>(w, lane, site, 0);
        const uint64_t address = w.launch->gpu->heap().Allocate(size);
        WriteResult<uint64_t>(w, lane, site, address);
        if (w.launch->observer != nullptr) {
          WarpPicture picture(w);
          w.launch->observer->OnDeviceMalloc(picture, lane, address, size);
        }
        break;
      }
      case SystemCall::kFree: {
        const auto address = ReadArgument<uint64_t>(w, lane, site, 0);
        if (address != 0 && w.launch->observer != nullptr) {
          WarpPicture picture(w);
          if (!w.launch->observer->OnDeviceFree(picture, lane, address)) break;
        }
        ++w.launch->heap_frees;
        w.ForgetWindows();
        if (address != 0 && !w.launch->gpu->heap().Free(address)) {
          w.Fail(FaultKind::kIllegalAddress, lane, address,
                 fmt::format("free of 0x{:x}, which malloc in a kernel did not return or which was "
                             "freed before",
                             address));
        }
        break;
      }
      case SystemCall::kNone:
        KS_UNREACHABLE();
      default:
        w.launch->device_runtime->Call(w, site, static_cast<SystemCall>(site.system), lane);
        break;
    }
  }
}

}  // namespace kernelsmith::vgpu
