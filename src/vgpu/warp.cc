#include "vgpu/warp.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "support/demangle.h"
#include "vgpu/heap.h"
#include "vgpu/slice_run.h"

namespace kernelsmith::vgpu {

const char* FaultKindName(FaultKind kind) {
  switch (kind) {
    case FaultKind::kIllegalAddress:
      return "illegal address";
    case FaultKind::kMisalignedAddress:
      return "misaligned address";
    case FaultKind::kIllegalInstruction:
      return "illegal instruction";
    case FaultKind::kAssert:
      return "assertion failed";
    case FaultKind::kTrap:
      return "trap";
    case FaultKind::kStackOverflow:
      return "stack overflow";
    case FaultKind::kDeadlock:
      return "deadlock";
    case FaultKind::kNoProgress:
      return "no progress";
    case FaultKind::kEndlessLoop:
      return "endless loop";
    case FaultKind::kLaunchFailure:
      return "launch failure";
  }
  KS_UNREACHABLE();
}

FindingKind FindingKindOf(FaultKind kind) {
  switch (kind) {
    case FaultKind::kIllegalAddress:
      return FindingKind::kIllegalAddress;
    case FaultKind::kMisalignedAddress:
      return FindingKind::kMisaligned;
    case FaultKind::kIllegalInstruction:
      return FindingKind::kIllegalInstruction;
    case FaultKind::kAssert:
      return FindingKind::kAssertionFailed;
    case FaultKind::kTrap:
      return FindingKind::kTrap;
    case FaultKind::kStackOverflow:
      return FindingKind::kStackOverflow;
    case FaultKind::kDeadlock:
      return FindingKind::kDeadlock;
    case FaultKind::kNoProgress:
      return FindingKind::kLivelock;
    case FaultKind::kEndlessLoop:
      return FindingKind::kEndlessLoop;
    case FaultKind::kLaunchFailure:
      return FindingKind::kLaunchError;
  }
  KS_UNREACHABLE();
}

void Warp::Fail(FaultKind kind, int lane, uint64_t address, std::string what,
                std::string_view details) {
  stopped = true;
  if (launch->fault) return;
  Fault fault;
  fault.kind = kind;
  fault.kernel = launch->kernel->entry->name;
  fault.block = block->index;
  fault.thread = WarpPicture(*this).thread_index(lane);
  fault.address = address;
  fault.what = std::move(what);
  if (frame != nullptr && pc < frame->function->code.size()) {
    const Instruction& in = instruction();
    fault.ptx = PtxLocationOf(function(), in);
    fault.source = SourceLocationOf(function(), in);
    fault.instruction = TextOf(function(), in);
  }
  if (kind == FaultKind::kAssert) {  // what CUDA prints, to the letter
    fault.message = fault.what;
    launch->fault = std::move(fault);
    return;
  }
  fault.message = fmt::format("{}{} in kernel {}, block ({},{},{}), thread ({},{},{})", fault.what,
                              details, KernelName(fault.kernel), fault.block.x, fault.block.y,
                              fault.block.z, fault.thread.x, fault.thread.y, fault.thread.z);
  if (!fault.instruction.empty()) fault.message += fmt::format(", at `{}`", fault.instruction);
  if (fault.ptx.line > 0) fault.message += fmt::format(", {}:{}", fault.ptx.file, fault.ptx.line);
  if (!fault.source.file.empty()) {
    fault.message += fmt::format(" ({}:{})", fault.source.file, fault.source.line);
  }
  launch->fault = std::move(fault);
}

bool Warp::FindWindow(uint64_t address, uint64_t bytes) {
  const auto contains = [&](const MemoryWindow& w) {
    return address >= w.low && address < w.high && bytes <= w.high - address;
  };
  if (contains(window)) return true;
  std::swap(window, old_window);
  if (contains(window)) return true;
  std::swap(window, old_window);
  const auto find = [&] {
    const auto& all = launch->allocations;
    auto it = std::upper_bound(all.begin(), all.end(), address,
                               [](uint64_t a, const Allocation& b) { return a < b.address; });
    if (it == all.begin()) return false;
    --it;
    MemoryWindow found{it->address, it->end(), it->host_delta};
    if (!contains(found)) return false;
    if (launch->Wants(interest::kBadAccesses)) {
      found.writable = !it->read_only && it->kind != AllocationKind::kConstant &&
                       it->kind != AllocationKind::kParameter;
      if (it->kind == AllocationKind::kHeap) {
        const auto [start, size] = launch->gpu->heap().BlockAt(address);
        found.low = start;
        found.high = start + size;
        if (!contains(found)) return false;
      }
    }
    old_window = window;
    window = found;
    if (launch->slice != nullptr && !launch->slice->marking) launch->slice->NoteRead(window);
    return true;
  };
  if (find()) return true;
  const uint64_t generation = launch->memory->generation();
  if (generation == launch->memory_generation) return false;
  launch->memory_generation = generation;
  launch->allocations = launch->memory->LiveAllocations();
  return find();
}

void Warp::FailAddress(int lane, uint64_t address, uint32_t bytes, MemorySpace space, bool write) {
  const char* verb = write ? "write" : "read";
  const uint64_t generic = GenericAddress(*launch, space, address);
  if (bytes > 0 && address % bytes != 0) {
    Fail(FaultKind::kMisalignedAddress, lane, generic,
         fmt::format("{} of {} bytes at 0x{:x}, which is not a multiple of {}", verb, bytes,
                     address, bytes));
    return;
  }
  std::string where;
  if (generic - launch->shared_window < kSharedWindowSize * kSharedWindows) {
    where = fmt::format("shared memory offset 0x{:x}; the block has {} bytes",
                        generic - launch->shared_window, block->shared_bytes);
  } else if (generic - launch->local_window < kLocalWindowSize) {
    where = fmt::format("local memory offset 0x{:x}; the thread has {} bytes",
                        generic - launch->local_window, local_stride);
  } else if (const auto near = launch->memory->FindForReport(generic); !near) {
    where = "no allocation";
  } else if (near->freed) {
    where = fmt::format("{} bytes into a freed allocation of {} bytes ({})",
                        generic - near->address, near->size, near->where);
  } else if (near->kind != AllocationKind::kHostRegistered && generic - near->end() < 1 << 20) {
    where = fmt::format("{} bytes behind the end of an allocation of {} bytes ({})",
                        generic - near->end(), near->size, near->where);
  } else {
    where = "no allocation";
  }
  Fail(FaultKind::kIllegalAddress, lane, generic,
       fmt::format("{} of {} bytes at 0x{:x}: {}", verb, bytes, generic, where));
}

void WarpPicture::Track() {
  if (warp_.tracked) return;
  warp_.tracked = true;
  for (const auto& frame : warp_.frames) {
    frame->undefined.assign(frame->function->register_bytes, std::byte{0});
  }
}

void* WarpPicture::UndefinedLanes(Operand operand) {
  if (!warp_.tracked || operand.base() != OperandBase::kRegister) return nullptr;
  return warp_.frame->undefined.data() + operand.offset();
}

Dim3 WarpPicture::thread_index(int lane) const {
  const auto at = [&](Special which) { return warp_.special[static_cast<size_t>(which)][lane]; };
  return {at(Special::kTidX), at(Special::kTidY), at(Special::kTidZ)};
}

uint64_t WarpPicture::ReadOperand(Operand operand, int lane, int part) const {
  if (!operand.exists()) return 0;
  if (operand.is_predicate()) return warp_.Predicate(operand) >> lane & 1;
  const uint32_t bytes = operand.bytes();
  uint64_t value = 0;
  std::memcpy(&value, warp_.Lanes<std::byte>(operand) + lane * bytes + part * sizeof value,
              std::min<size_t>(bytes, sizeof value));
  return value;
}

bool WarpPicture::ReadMemory(int lane, uint64_t address, void* to, uint32_t bytes) const {
  const LaunchState& launch = *warp_.launch;
  if (address - launch.shared_window < kSharedWindowSize) {
    const uint64_t offset = address - launch.shared_window;
    if (offset + bytes > warp_.block->shared_bytes) return false;
    std::memcpy(to, warp_.block->shared + offset, bytes);
    return true;
  }
  if (address - launch.local_window < kLocalWindowSize) {
    const uint64_t offset = address - launch.local_window;
    if (offset + bytes > warp_.local_stride) return false;
    std::memcpy(to, warp_.local + static_cast<size_t>(lane) * warp_.local_stride + offset, bytes);
    return true;
  }
  if (!warp_.FindWindow(address, bytes)) return false;
  std::memcpy(to, reinterpret_cast<const void*>(address + warp_.window.delta), bytes);
  return true;
}

bool WarpPicture::WriteMemory(int lane, uint64_t address, std::span<const std::byte> bytes) {
  const LaunchState& launch = *warp_.launch;
  if (address - launch.shared_window < kSharedWindowSize) {
    const uint64_t offset = address - launch.shared_window;
    if (offset + bytes.size() > warp_.block->shared_bytes) return false;
    std::memcpy(warp_.block->shared + offset, bytes.data(), bytes.size());
    auto& defined = warp_.block->defined_shared;
    if (!defined.empty()) std::memset(defined.data() + offset, 0xff, bytes.size());
    return true;
  }
  if (address - launch.local_window < kLocalWindowSize) {
    const uint64_t offset = address - launch.local_window;
    if (offset + bytes.size() > warp_.local_stride) return false;
    std::memcpy(warp_.local + static_cast<size_t>(lane) * warp_.local_stride + offset, bytes.data(),
                bytes.size());
    if (!warp_.defined_local.empty()) std::memset(DefinedLocal(lane) + offset, 0xff, bytes.size());
    return true;
  }
  if (!warp_.FindWindow(address, bytes.size())) return false;
  std::memcpy(reinterpret_cast<void*>(address + warp_.window.delta), bytes.data(), bytes.size());
  if (launch.observer != nullptr) {
    launch.observer->OnResultWritten(*this, address, bytes.size());
  }
  return true;
}

void WarpPicture::WriteOperand(Operand operand, int lane, uint64_t bits, int part) {
  if (!operand.exists() || operand.base() != OperandBase::kRegister) return;
  if (operand.is_predicate()) {
    uint32_t& word = warp_.Predicate(operand);
    word = (word & ~(1u << lane)) | static_cast<uint32_t>(bits & 1) << lane;
    return;
  }
  const uint32_t bytes = operand.bytes();
  std::memcpy(warp_.Lanes<std::byte>(operand) + lane * bytes + part * sizeof bits, &bits,
              std::min<size_t>(bytes, sizeof bits));
}

}  // namespace kernelsmith::vgpu
