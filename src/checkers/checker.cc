#include "checkers/checker.h"

#include "vgpu/screen.h"

namespace kernelsmith::checkers {

using vgpu::Instruction;
using vgpu::WarpView;
namespace interest = vgpu::interest;

CheckerList::CheckerList(FindingSink& sink) : Checker(sink) {}
CheckerList::~CheckerList() = default;

void CheckerList::Add(std::unique_ptr<Checker> checker) {
  screen_ = nullptr;
  const uint32_t wants = checker->interests();
  interests_ |= wants;
  // Tracked warps tell of their instructions to whom the undefined bits belong.
  if ((wants & (interest::kInstructions | interest::kUndefinedBits)) != 0) {
    instructions_.push_back(checker.get());
  }
  if ((wants & interest::kAccesses) != 0) accesses_.push_back(checker.get());
  if ((wants & interest::kBadAccesses) != 0) bad_accesses_.push_back(checker.get());
  if ((wants & interest::kIndexArithmetic) != 0) index_arithmetic_.push_back(checker.get());
  all_.push_back(std::move(checker));
}

// -- kernels: the lock is held from OnLaunchBegin on ----------------------------------------------

void CheckerList::OnLaunchBegin(const vgpu::LaunchInfo& launch) {
  mutex_.lock();
  for (auto& c : all_) c->OnLaunchBegin(launch);
}
void CheckerList::OnLaunchEnd(const vgpu::Fault* fault) {
  for (auto& c : all_) c->OnLaunchEnd(fault);
  mutex_.unlock();
}
vgpu::Screen* CheckerList::screen() {
  for (auto& c : all_) {
    if (!c->MayScreen()) return nullptr;
  }
  if (screen_ != nullptr) return screen_.get();
  vgpu::ScreenChecks all;
  for (auto& c : all_) {
    const auto checks = c->ScreenedChecks();
    if (!checks) return nullptr;
    all.bad_accesses |= checks->bad_accesses;
    all.initialisation |= checks->initialisation;
    all.races |= checks->races;
    all.synchronisation |= checks->synchronisation;
    all.index |= checks->index;
  }
  screen_.reset(new vgpu::Screen(*this, all));  // make_unique can not see the base
  return screen_.get();
}
vgpu::BlockChoice CheckerList::ChooseBlocks(const vgpu::LaunchInfo& launch) {
  if (!choose_) return {};
  return {.blocks = choose_(launch.grid.Count()), .run_others = false};
}
const uint8_t* CheckerList::DefinedBytes(const vgpu::Allocation& allocation) {
  for (auto& c : all_) {
    if (const uint8_t* bytes = c->DefinedBytes(allocation)) return bytes;
  }
  return nullptr;
}
void CheckerList::OnScreenedWrite(uint64_t address, uint64_t bytes) {
  for (auto& c : all_) c->OnScreenedWrite(address, bytes);
}
bool CheckerList::IsInOrder(std::span<const vgpu::ScreenFootprint> touched) {
  for (auto& c : all_) {
    if (!c->IsInOrder(touched)) return false;
  }
  return true;
}
bool CheckerList::WantsExactReads() const {
  for (const auto& c : all_) {
    if (c->WantsExactReads()) return true;
  }
  return false;
}
void CheckerList::OnPause(uint64_t launch_id) {
  for (auto& c : all_) c->OnPause(launch_id);
  mutex_.unlock();
}
void CheckerList::OnResume(uint64_t launch_id) {
  mutex_.lock();
  for (auto& c : all_) c->OnResume(launch_id);
}
void CheckerList::OnBlockBegin(uint64_t block_number) {
  for (auto& c : all_) c->OnBlockBegin(block_number);
}
void CheckerList::OnBlockEnd(uint64_t block_number) {
  for (auto& c : all_) c->OnBlockEnd(block_number);
}
void CheckerList::OnWarpBegin(WarpView& warp) {
  for (auto& c : all_) c->OnWarpBegin(warp);
}
void CheckerList::OnWarpEnd(WarpView& warp) {
  for (auto& c : all_) c->OnWarpEnd(warp);
}
void CheckerList::BeforeInstruction(WarpView& warp, const Instruction& in, uint32_t mask) {
  for (Checker* c : instructions_) c->BeforeInstruction(warp, in, mask);
}
void CheckerList::AfterInstruction(WarpView& warp, const Instruction& in, uint32_t mask) {
  for (Checker* c : instructions_) c->AfterInstruction(warp, in, mask);
}
bool CheckerList::OnMemoryAccess(WarpView& warp, const vgpu::MemoryAccess& access) {
  bool go_on = true;
  for (Checker* c : accesses_) go_on &= c->OnMemoryAccess(warp, access);
  return go_on;
}
bool CheckerList::OnBadAccess(WarpView& warp, const vgpu::MemoryAccess& access, uint32_t bad,
                              vgpu::BadAccess why) {
  bool go_on = false;
  for (Checker* c : bad_accesses_) go_on |= c->OnBadAccess(warp, access, bad, why);
  return go_on;
}
void CheckerList::OnFrameCopy(WarpView& warp, int lane, uint64_t to, uint64_t from,
                              uint32_t bytes) {
  for (auto& c : all_) c->OnFrameCopy(warp, lane, to, from, bytes);
}
void CheckerList::OnIndexArithmetic(WarpView& warp, const Instruction& in, uint32_t mask) {
  for (Checker* c : index_arithmetic_) c->OnIndexArithmetic(warp, in, mask);
}
void CheckerList::OnDeviceMalloc(WarpView& warp, int lane, uint64_t address, uint64_t size) {
  for (auto& c : all_) c->OnDeviceMalloc(warp, lane, address, size);
}
bool CheckerList::OnDeviceFree(WarpView& warp, int lane, uint64_t address) {
  bool go_on = true;
  for (auto& c : all_) go_on &= c->OnDeviceFree(warp, lane, address);
  return go_on;
}
void CheckerList::OnResultWritten(WarpView&, uint64_t address, uint64_t bytes) {
  for (auto& c : all_) c->OnDefined(address, bytes);
}
void CheckerList::OnDeviceCopy(uint64_t operation, uint64_t to, uint64_t from, uint64_t bytes) {
  const HostCopy copy{.operation = operation,
                      .to = to,
                      .from = from,
                      .to_device = true,
                      .from_device = from != 0,
                      .width = bytes,
                      .what = from != 0 ? "copy by a kernel" : "fill by a kernel"};
  HostEvent([&](Checker& c) { from != 0 ? c.OnCopy(copy) : c.OnFill(copy); });
}
void CheckerList::OnBarrier(WarpView& warp, const vgpu::BarrierEvent& event) {
  for (auto& c : all_) c->OnBarrier(warp, event);
}
void CheckerList::OnBarrierReleased(uint64_t block_number, uint32_t barrier) {
  for (auto& c : all_) c->OnBarrierReleased(block_number, barrier);
}
void CheckerList::OnFence(WarpView& warp, const Instruction& in, uint32_t mask) {
  for (auto& c : all_) c->OnFence(warp, in, mask);
}
void CheckerList::OnWarpSync(WarpView& warp, const Instruction& in, uint32_t mask) {
  for (auto& c : all_) c->OnWarpSync(warp, in, mask);
}
void CheckerList::OnWarpBarrier(vgpu::WarpView& warp, uint32_t lanes) {
  for (const auto& checker : all_) checker->OnWarpBarrier(warp, lanes);
}

void CheckerList::OnAsyncGroup(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) {
  for (const auto& checker : all_) checker->OnAsyncGroup(warp, access);
}

void CheckerList::OnMbarrierEnded(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) {
  for (const auto& checker : all_) checker->OnMbarrierEnded(warp, access);
}

void CheckerList::OnClusterArrive(WarpView& warp, const Instruction& in, uint32_t mask,
                                  uint32_t phase) {
  for (auto& c : all_) c->OnClusterArrive(warp, in, mask, phase);
}
void CheckerList::OnClusterEnded(WarpView& warp, uint32_t mask, uint32_t phase) {
  for (auto& c : all_) c->OnClusterEnded(warp, mask, phase);
}
void CheckerList::OnExit(WarpView& warp, uint32_t mask) {
  for (auto& c : all_) c->OnExit(warp, mask);
}

// -- the host -------------------------------------------------------------------------------------

template <typename Call>
void CheckerList::HostEvent(const Call& call) {
  const std::lock_guard lock(mutex_);
  for (auto& c : all_) call(*c);
}

void CheckerList::OnAllocate(const vgpu::Allocation& allocation, const Place& where) {
  HostEvent([&](Checker& c) { c.OnAllocate(allocation, where); });
}
void CheckerList::OnFree(const vgpu::Allocation& allocation, uint64_t operation,
                         const Place& where) {
  HostEvent([&](Checker& c) { c.OnFree(allocation, operation, where); });
  if (screen_ != nullptr) screen_->OnFree(allocation.address);
}
void CheckerList::OnBadFree(uint64_t address, const Place& where) {
  HostEvent([&](Checker& c) { c.OnBadFree(address, where); });
}
void CheckerList::OnCopy(const HostCopy& copy) {
  HostEvent([&](Checker& c) { c.OnCopy(copy); });
}
void CheckerList::OnFill(const HostCopy& fill) {
  HostEvent([&](Checker& c) { c.OnFill(fill); });
}
void CheckerList::OnDefined(uint64_t address, uint64_t bytes) {
  HostEvent([&](Checker& c) { c.OnDefined(address, bytes); });
}
void CheckerList::OnHostRead(uint64_t address, uint64_t bytes, const Place& where) {
  HostEvent([&](Checker& c) { c.OnHostRead(address, bytes, where); });
}
void CheckerList::OnParameterPointers(std::span<const uint32_t> offsets) {
  HostEvent([&](Checker& c) { c.OnParameterPointers(offsets); });
}
void CheckerList::OnPointersWritten(std::span<const uint64_t> places) {
  HostEvent([&](Checker& c) { c.OnPointersWritten(places); });
}
void CheckerList::OnSubmit(uint64_t operation, std::span<const uint64_t> after) {
  HostEvent([&](Checker& c) { c.OnSubmit(operation, after); });
}
void CheckerList::OnMayBeginEarly(uint64_t operation, std::span<const uint64_t> beside) {
  HostEvent([&](Checker& c) { c.OnMayBeginEarly(operation, beside); });
}
void CheckerList::OnHostWait(std::span<const uint64_t> operations) {
  HostEvent([&](Checker& c) { c.OnHostWait(operations); });
}
void CheckerList::OnApiError(const ApiError& error) {
  HostEvent([&](Checker& c) { c.OnApiError(error); });
}
void CheckerList::Finish() {
  HostEvent([&](Checker& c) { c.Finish(); });
}

}  // namespace kernelsmith::checkers
