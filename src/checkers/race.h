// Data races in shared and global memory, thread by thread, within a warp, a block, a grid and
// between kernels that no stream or event orders.
//
// Every cell of memory (4 bytes, finer where a kernel accesses less) remembers its last writes and
// reads: who, when by the block's clock, and by which instruction. An access that conflicts with
// one of them and does not happen after it (race_order.h) is a race, whatever order this run had
// them in. Two entries of each kind are enough for block barriers, where any third thread is
// unordered with at least one of two; a kernel whose threads synchronise in pairs may hide a third
// reader.
//
// Strong accesses (volatile, relaxed, atomic ...) do not race with one another as long as their
// scopes reach, as PTX says; only volatile accesses of lanes of one warp to shared memory do, where
// the read waits for nothing: __syncwarp is missing there.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "checkers/checker.h"
#include "checkers/operation_order.h"
#include "checkers/race_order.h"
#include "checkers/race_shadow.h"
#include "checkers/race_site.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::checkers {

class RaceChecker final : public Checker {
 public:
  RaceChecker(FindingSink& sink, vgpu::VirtualGpu& gpu);
  ~RaceChecker() override;

  uint32_t interests() const override {
    return vgpu::interest::kAccesses | vgpu::interest::kClusterAccesses;
  }
  std::optional<vgpu::ScreenChecks> ScreenedChecks() const override {
    return vgpu::ScreenChecks{.races = true};
  }
  // A launch that may begin before the one before it has ended is not for the screen.
  bool MayScreen() override;
  bool IsInOrder(std::span<const vgpu::ScreenFootprint> touched) override;
  bool WantsExactReads() const override { return exact_reads_; }
  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override;
  void OnLaunchEnd(const vgpu::Fault* fault) override;
  void OnResume(uint64_t launch_id) override;
  void OnBlockBegin(uint64_t block_number) override;
  void OnBlockEnd(uint64_t block_number) override;
  bool OnMemoryAccess(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override;
  void OnBarrier(vgpu::WarpView& warp, const vgpu::BarrierEvent& event) override;
  void OnBarrierReleased(uint64_t block_number, uint32_t barrier) override;
  void OnFence(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  void OnWarpBarrier(vgpu::WarpView& warp, uint32_t lanes) override;
  void OnAsyncGroup(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override;
  void OnMbarrierEnded(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override;
  void OnClusterArrive(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask,
                       uint32_t phase) override;
  void OnClusterEnded(vgpu::WarpView& warp, uint32_t mask, uint32_t phase) override;
  void OnExit(vgpu::WarpView& warp, uint32_t mask) override;
  void OnCopy(const HostCopy& copy) override;
  void OnFill(const HostCopy& fill) override;
  void OnFree(const vgpu::Allocation& allocation, uint64_t operation, const Place& where) override;
  void OnSubmit(uint64_t operation, std::span<const uint64_t> after) override;
  void OnHostWait(std::span<const uint64_t> operations) override;
  void OnMayBeginEarly(uint64_t operation, std::span<const uint64_t> beside) override;

 private:
  struct HostAccess;
  struct SharedCopy;
  struct BlockState;
  struct Launch;
  struct Actor;
  struct Race;
  struct Screened;
  class Repetition;

  const RaceSite& SiteOf(const vgpu::WarpView& warp, const vgpu::Instruction& in);
  BlockState& StateOf(uint64_t block_number);
  uint32_t StampOf(BlockState& state);
  void AccessLane(Actor& actor, uint64_t address, uint32_t bytes);
  void Read(Actor& actor, Cell& cell);
  void CheckProxy(const Actor& actor, const Cell& cell);  // race_sync.cc
  void Write(Actor& actor, Cell& cell);
  bool IsPast(const Actor& actor, const Entry& entry) const;
  bool Observed(const Actor& actor, const Cell& cell) const;
  void Check(Actor& actor, const Entry& entry, bool entry_writes);
  void Report(Actor& actor, const Entry& entry, bool entry_writes, bool volatile_pair);
  bool WritesSameValue(const Actor& actor, const Entry& entry) const;
  Place PlaceOfEntry(const Entry& entry) const;
  // An access to a word of shared memory by which threads synchronise.
  static uint64_t SharedKey(uint64_t block_number, uint64_t offset) {
    return offset + (block_number << 24);
  }
  uint64_t SharedKeyAt(vgpu::WarpView& warp, uint64_t address) const;
  void CompleteCopies(BlockState& state, uint32_t thread, size_t leave);
  void Arrived(BlockState& home, const SharedCopy& copy, std::optional<uint32_t> stamp = {});
  void EndClusterBlock(uint64_t number, BlockState& state);
  void ReportEnded(const Entry& entry, bool writes, uint64_t block_number);
  // race_host.cc
  void HostDoes(HostAccess access);
  bool MayOverlap(uint64_t operation, uint64_t other) const;
  void CheckHost(const Actor& actor, uint64_t address, uint32_t bytes, bool writes);
  void ReportHost(const HostAccess& access, Place kernel, const char* what, uint64_t address);
  // race_screened.cc
  bool MayMeetScreened(uint64_t operation) const;
  bool MeetsShadow(const vgpu::ScreenFootprint& touched) const;
  void RepeatBeside(Launch& launch);
  void RepeatBeside(const HostAccess& access);
  void Repeat(Screened& launch);
  bool IsLater(const Entry& entry) const;
  void ForgetSettled();

  vgpu::VirtualGpu& gpu_;
  const vgpu::DeviceMemory& memory_;
  OperationOrder operations_;
  std::map<uint64_t, OperationSet> beside_;  // what a launch runs beside until it has waited
  uint32_t stamp_base_ = 0;
  std::vector<Stamp> stamps_;                      // indexed by Entry::stamp - 1 - stamp_base_
  std::vector<std::unique_ptr<Launch>> launches_;  // indexed by Stamp::launch
  Launch* launch_ = nullptr;
  Shadow global_;
  PagePool shared_pages_;
  std::vector<std::unique_ptr<RaceSite>> sites_;
  std::unordered_map<const vgpu::Instruction*, uint32_t> site_of_;
  OperationSet begun_;                                   // the operations of launches_
  std::vector<std::shared_ptr<const HostAccess>> host_;  // not waited for yet
  // Launches that the shadow knows nothing of, as the screen found nothing in them; not waited for.
  std::vector<std::unique_ptr<Screened>> screened_;
  OperationSet screened_operations_;
  bool exact_reads_ = false;
  bool repeating_ = false;  // launch_ is one of them that runs again
  // Launches and bulk copies in them that lack a fence, each told once.
  std::set<std::pair<uint64_t, const vgpu::Instruction*>> without_fence_;
  std::vector<Race> races_;
  std::map<std::array<uint32_t, 4>, size_t> race_of_;  // sites, kind, space
};

}  // namespace kernelsmith::checkers
