// Launches that the screen judged (vgpu/screen.h), beside others that nothing orders with them.
//
// A screened launch leaves nothing in the shadow, only the ends of what it read and wrote in each
// allocation. As long as no unordered launch, copy, fill or free meets these, no race with it is
// possible. Otherwise it runs again, with memory put back afterwards, so that the shadow knows each
// of its accesses.
#include <algorithm>
#include <bit>
#include <map>

#include "checkers/race_state.h"

namespace kernelsmith::checkers {

using vgpu::ScreenFootprint;

namespace {

// Pieces of memory that are kept as they were.
constexpr uint64_t kPieceBytes = 4096;

// One of the two writes what the other touches.
bool Conflict(const ScreenFootprint& a, const ScreenFootprint& b) {
  return a.Touches(b.write_begin, b.write_end) || b.Touches(a.write_begin, a.write_end);
}

}  // namespace

// A launch that runs again: its accesses go to the race checker alone.
class RaceChecker::Repetition final : public vgpu::Observer {
 public:
  explicit Repetition(RaceChecker& checker) : checker_(checker) {}
  ~Repetition() override {
    for (const auto& [address, bytes] : saved_) {
      void* to = checker_.gpu_.memory().HostAlias(address, bytes.size());
      if (to != nullptr) std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(to));
    }
  }

  uint32_t interests() const override {
    return checker_.interests() | vgpu::interest::kBadAccesses;
  }
  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override { checker_.OnLaunchBegin(launch); }
  void OnLaunchEnd(const vgpu::Fault* fault) override { checker_.OnLaunchEnd(fault); }
  void OnBlockBegin(uint64_t number) override { checker_.OnBlockBegin(number); }
  void OnBlockEnd(uint64_t number) override { checker_.OnBlockEnd(number); }
  bool OnBadAccess(vgpu::WarpView&, const vgpu::MemoryAccess&, uint32_t, vgpu::BadAccess) override {
    return true;
  }
  bool OnMemoryAccess(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override {
    const bool go_on = checker_.OnMemoryAccess(warp, access);
    if (access.kind != vgpu::AccessKind::kLoad && access.kind != vgpu::AccessKind::kPrefetch) {
      ForEachLane(access.mask,
                  [&](int lane) { Save(access.address[static_cast<size_t>(lane)], access.bytes); });
    }
    return go_on;
  }
  void OnBarrier(vgpu::WarpView& warp, const vgpu::BarrierEvent& event) override {
    checker_.OnBarrier(warp, event);
  }
  void OnBarrierReleased(uint64_t block_number, uint32_t barrier) override {
    checker_.OnBarrierReleased(block_number, barrier);
  }
  void OnFence(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override {
    checker_.OnFence(warp, in, mask);
  }
  void OnWarpBarrier(vgpu::WarpView& warp, uint32_t lanes) override {
    checker_.OnWarpBarrier(warp, lanes);
  }
  void OnAsyncGroup(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override {
    checker_.OnAsyncGroup(warp, access);
  }
  void OnExit(vgpu::WarpView& warp, uint32_t mask) override { checker_.OnExit(warp, mask); }

 private:
  void Save(uint64_t address, uint64_t bytes) {
    const vgpu::DeviceMemory& memory = checker_.memory_;
    if (address - memory.shared_window() < vgpu::kSharedWindows * vgpu::kSharedWindowSize ||
        address - memory.local_window() < vgpu::kLocalWindowSize) {
      return;
    }
    if (!recent_ || address < recent_->address || address >= recent_->end()) {
      recent_ = memory.Find(address);
      if (!recent_) return;
    }
    const uint64_t start = recent_->address;
    for (uint64_t at = start + (address - start) / kPieceBytes * kPieceBytes; at < address + bytes;
         at += kPieceBytes) {
      if (saved_.contains(at)) continue;
      const uint64_t size = std::min(kPieceBytes, recent_->end() - at);
      const void* from = checker_.gpu_.memory().HostAlias(at, size);
      if (from == nullptr) return;
      const auto* first = static_cast<const std::byte*>(from);
      saved_[at].assign(first, first + size);
    }
  }

  RaceChecker& checker_;
  std::optional<vgpu::Allocation> recent_;
  std::map<uint64_t, std::vector<std::byte>> saved_;  // pieces of allocations, by address
};

bool RaceChecker::MayMeetScreened(uint64_t operation) const {
  return operation != 0 && !operations_.Before(operation).ContainsAll(screened_operations_);
}

// Has a launch that may overlap with this one left something in the shadow that conflicts with it?
bool RaceChecker::MeetsShadow(const ScreenFootprint& touched) const {
  const auto conflicts = [&](const Entry& entry) {
    if (entry.stamp <= stamp_base_) return false;
    const Launch& launch = *launches_[stamps_[entry.stamp - 1 - stamp_base_].launch];
    return MayOverlap(launch_->operation, launch.operation);
  };
  const auto look = [&](uint64_t begin, uint64_t end, bool writes) {
    for (uint64_t at = begin; at < end;) {
      const uint64_t page_end = std::min(end, (at / kPageBytes + 1) * kPageBytes);
      if (const Page* page = global_.Find(at)) {
        for (; at < page_end; at += uint64_t{1} << page->shift) {
          const Cell& cell = page->cells[(at % kPageBytes) >> page->shift];
          if (conflicts(cell.write) || conflicts(cell.other_write)) return true;
          if (writes && (conflicts(cell.read) || conflicts(cell.other_read))) return true;
        }
      }
      at = page_end;
    }
    return false;
  };
  return look(touched.read_begin, touched.read_end, false) ||
         look(touched.write_begin, touched.write_end, true);
}

bool RaceChecker::IsInOrder(std::span<const ScreenFootprint> touched) {
  const uint64_t operation = launch_->operation;
  if (operation == 0) return true;
  launch_->footprint_known = true;
  bool in_order = true;
  if (MayMeetScreened(operation)) {
    for (const auto& other : screened_) {
      if (!MayOverlap(operation, other->operation())) continue;
      for (const ScreenFootprint& theirs : other->touched) {
        const bool meets = std::any_of(touched.begin(), touched.end(),
                                       [&](const auto& own) { return Conflict(own, theirs); });
        if (!meets) continue;
        other->met = operation;
        in_order = false;
      }
    }
  }
  for (const ScreenFootprint& own : touched) {
    for (const auto& access : launch_->host) {
      access->rows.ForEachRow([&](uint64_t row, uint64_t) {
        const uint64_t end = row + access->rows.width;
        in_order = in_order && !(access->writes ? own.Touches(row, end) : own.Writes(row, end));
      });
    }
    if (launch_->first_stamp != launch_->own_stamp) in_order = in_order && !MeetsShadow(own);
  }
  if (!in_order) {
    exact_reads_ = true;
    return false;
  }
  auto screened = std::make_unique<Screened>();
  screened->request = *launch_->request;
  screened->parameters.assign(screened->request.parameters.begin(),
                              screened->request.parameters.end());
  screened->request.parameters = screened->parameters;
  screened->request.observer = nullptr;
  screened->request.coverage = nullptr;
  for (const ScreenFootprint& own : touched) {
    const auto allocation = memory_.Find(std::min(own.read_begin, own.write_begin));
    // Nothing unordered can write to parameters: they are this launch's alone.
    if (allocation && allocation->kind != vgpu::AllocationKind::kParameter) {
      screened->touched.push_back(own);
    }
  }
  screened_operations_.Add(operation);
  screened_.push_back(std::move(screened));
  return true;
}

// The launch is about to be watched: those that may run beside it must be in the shadow. What it
// will touch is known if the screen has seen all of it.
void RaceChecker::RepeatBeside(Launch& launch) {
  launch.watched = true;
  if (!MayMeetScreened(launch.operation)) return;
  for (const auto& other : screened_) {
    const bool wanted = launch.footprint_known ? other->met == launch.operation
                                               : MayOverlap(launch.operation, other->operation());
    if (wanted) Repeat(*other);
  }
}

void RaceChecker::RepeatBeside(const HostAccess& access) {
  if (!MayMeetScreened(access.rows.operation)) return;
  for (const auto& launch : screened_) {
    if (!MayOverlap(access.rows.operation, launch->operation())) continue;
    bool meets = false;
    for (const ScreenFootprint& touched : launch->touched) {
      access.rows.ForEachRow([&](uint64_t row, uint64_t) {
        const uint64_t end = row + access.rows.width;
        meets = meets || (access.writes ? touched.Touches(row, end) : touched.Writes(row, end));
      });
    }
    if (!meets) continue;
    exact_reads_ = true;
    Repeat(*launch);
  }
}

// Its accesses go to the shadow, as if they were there since it ran.
void RaceChecker::Repeat(Screened& screened) {
  if (screened.touched.empty()) return;
  screened.touched.clear();
  Launch* const outer = launch_;
  repeating_ = true;
  {
    Repetition repetition(*this);
    vgpu::LaunchRequest request = screened.request;
    request.observer = &repetition;
    static_cast<void>(gpu_.Launch(request));
  }
  repeating_ = false;
  launch_ = outer;
}

// Is it of a launch that surely came after the one that runs again?
bool RaceChecker::IsLater(const Entry& entry) const {
  if (entry.stamp <= stamp_base_) return false;
  const Launch& launch = *launches_[stamps_[entry.stamp - 1 - stamp_base_].launch];
  return operations_.Before(launch.operation).Contains(launch_->operation);
}

void RaceChecker::ForgetSettled() {
  if (screened_.empty()) return;
  std::erase_if(screened_,
                [&](const auto& launch) { return operations_.IsSettled(launch->operation()); });
  screened_operations_.Clear();
  for (const auto& launch : screened_) screened_operations_.Add(launch->operation());
}

}  // namespace kernelsmith::checkers
