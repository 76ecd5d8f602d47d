// The counting of one launch. Private to the folder.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "counters/access_shape.h"
#include "counters/async_waits.h"
#include "counters/cache_model.h"
#include "counters/classify.h"
#include "counters/counter_observer.h"
#include "counters/footprint.h"

namespace kernelsmith::counters {

struct CounterObserver::Launch {
  Launch(const vgpu::LaunchInfo& info, const CounterOptions& options, SectoredCache& l2);

  vgpu::BlockChoice Choose();
  bool WantsMore() const;
  void BeginBlock(uint64_t number);
  void Execute(const vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask);
  void EndInstruction();
  void Access(const vgpu::MemoryAccess& access);
  void Barrier() { ++counters.barriers; }
  LaunchCounters Finish(const vgpu::Fault* fault);

 private:
  struct Record {
    InstructionFacts facts;
    uint64_t warps = 0;
    uint64_t lanes = 0;
    uint64_t divergent = 0;
  };
  // The records of one function: those of instruction i at [i].
  struct Code {
    const vgpu::Instruction* begin = nullptr;
    const vgpu::Instruction* end = nullptr;
    std::vector<Record> records;
  };
  enum class Place : uint8_t { kGlobal, kShared, kLocal };
  // Accesses of an instruction that comes in parts: where, and whether they write.
  struct Gathered {
    std::vector<LaneAccess> parts[2][2];  // [shared][write]
    bool any = false;
  };

  Record& RecordOf(const vgpu::Instruction& in);
  Place PlaceOf(uint64_t address) const;
  void Global(std::span<const LaneAccess> lanes, bool write, bool atomic, bool through_l1);
  void Shared(std::span<const LaneAccess> lanes, const Wavefronts& passes);
  void Local(std::span<const LaneAccess> lanes);
  void Atomic(std::span<const LaneAccess> lanes, bool shared);
  void SumRecords();
  void Scale(double factor);
  // DRAM and L2 of a sampled launch, from the footprints.
  void ModelTraffic();
  std::vector<uint64_t> RegionStarts(std::vector<uint64_t>& limits) const;

  const CounterOptions& options_;
  SectoredCache& l2_;
  SectoredCache l1_;
  vgpu::LaunchInfo info_;
  std::vector<Code> code_;
  Code* last_code_ = nullptr;
  LaunchCounters counters;
  std::vector<uint64_t> neighbours_;  // the watched run of blocks, ascending
  FootprintTable scattered_;
  FootprintTable run_;
  FootprintTable* footprint_ = nullptr;
  uint64_t instructions_ = 0;
  uint64_t written_back_before_ = 0;
  uint64_t l2_read_misses_ = 0;
  Gathered gathered_;
  std::vector<LaneAccess> lanes_;
  std::vector<uint64_t> sectors_;
  AsyncWaits async_;
  // Lanes of atomics by address, as far as there is room.
  std::unordered_map<uint64_t, uint64_t> hot_;
};

}  // namespace kernelsmith::counters
