// Private to the race checker: what it keeps of launches, blocks and the access it looks at.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkers/race.h"

namespace kernelsmith::checkers {

// What a host call does to memory while others may still run.
struct RaceChecker::HostAccess {
  HostCopy rows;  // `to` and its pitch say where, also of what is read
  bool writes = false;
  const char* what = "";

  bool Touches(uint64_t address, uint64_t bytes) const;
  bool Touches(const HostAccess& other) const;
};

// Bytes of shared memory that an asynchronous copy writes.
struct RaceChecker::SharedCopy {
  uint32_t offset = 0;
  uint32_t bytes = 0;
  uint32_t thread = 0;
  uint16_t site = 0;
};

// A launch that the screen judged. Should something meet what it touched in memory, unordered with
// it, then it runs once more, for the shadow.
struct RaceChecker::Screened {
  vgpu::LaunchRequest request;
  std::vector<std::byte> parameters;
  std::vector<vgpu::ScreenFootprint> touched;  // empty: its accesses are in the shadow after all
  uint64_t met = 0;  // the last unordered launch with which it may have memory in common

  uint64_t operation() const { return request.operation; }
};

struct RaceChecker::BlockState {
  // What one thread copies by cp.async.
  struct Copies {
    std::deque<std::vector<SharedCopy>> groups;
    std::vector<SharedCopy> open;
  };

  LaunchOrder::Block* order = nullptr;
  std::vector<uint32_t> live;  // lanes of each warp
  std::vector<std::unique_ptr<Page>> shared;
  std::map<uint32_t, Copies> copies;                 // copies by thread
  std::map<uint32_t, std::vector<SharedCopy>> bulk;  // by the offset of their mbarrier
  bool ended = false;                                // but other blocks of the cluster have not
  uint32_t proxy_fence = 0;                          // the interval of the last fence.proxy
  bool waited = false;                               // for the kernel before it
};

struct RaceChecker::Launch {
  Launch(const vgpu::LaunchInfo& info, uint32_t number)
      : id(info.id),
        number(number),
        operation(info.operation),
        kernel(info.kernel),
        grid(info.grid),
        block(info.block),
        cluster(info.cluster),
        threads(static_cast<uint32_t>(info.block.Count())),
        request(info.request),
        order(std::make_unique<LaunchOrder>(threads)) {}

  uint64_t id;
  uint32_t number;
  uint64_t operation;
  OperationSet before;
  OperationSet beside;  // before a block once it has waited
  std::string kernel;
  vgpu::Dim3 grid;
  vgpu::Dim3 block;
  vgpu::Dim3 cluster;
  uint32_t threads;
  const vgpu::LaunchRequest* request;  // while it runs
  bool footprint_known = false;        // `Screened::met` says whom it may meet
  bool watched = false;                // its accesses go to the shadow
  uint32_t own_stamp = 1;              // its own begin here
  // Entries below are of launches that ended before this one began.
  uint32_t first_stamp = 1;
  std::unique_ptr<LaunchOrder> order;  // null once ended
  std::map<uint64_t, BlockState> blocks;
  uint64_t recent_number = 0;
  BlockState* recent = nullptr;
  std::vector<std::shared_ptr<const HostAccess>> host;  // host accesses that may overlap with it

  uint32_t ClusterOf(uint64_t number) const {
    const uint64_t x = number % grid.x / cluster.x;
    const uint64_t y = number / grid.x % grid.y / cluster.y;
    const uint64_t z = number / grid.x / grid.y / cluster.z;
    return static_cast<uint32_t>((z * (grid.y / cluster.y) + y) * (grid.x / cluster.x) + x);
  }
  bool HasClusters() const { return cluster.Count() > 1; }
};

// The thread whose access is looked at.
struct RaceChecker::Actor {
  vgpu::WarpView& warp;
  const vgpu::MemoryAccess& access;
  const RaceSite& site;
  BlockState& block;
  BlockState* home = nullptr;  // whose shared memory it is
  Entry me;
  uint32_t lane = 0;
  uint32_t thread = 0;
  bool shared = false;
  uint64_t address = 0;  // the address of the cell
  uint32_t cell_bytes = 4;
};

struct RaceChecker::Race {
  Finding finding;
  std::array<uint32_t, 4> key;
};

}  // namespace kernelsmith::checkers
