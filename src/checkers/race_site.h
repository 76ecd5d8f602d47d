// What the race checker needs to know of an instruction.
#pragma once

#include <string>

#include "checkers/finding.h"
#include "checkers/race_order.h"
#include "vgpu/ir.h"

namespace kernelsmith::checkers {

struct RaceSite {
  uint16_t id = 0;
  Place place;            // without block and thread
  bool ignored = false;   // memory that no thread writes
  bool constant = false;  // constant memory that the host may write
  bool reads = false;
  bool writes = false;
  bool is_atomic = false;
  bool acquires = false;
  bool releases = false;
  bool in_loop = false;
  bool bulk = false;  // an asynchronous copy that ends at an mbarrier
  SyncScope scope = SyncScope::kDevice;
  uint16_t flags = 0;  // Entry::who without the thread
};

// `in_cluster`: the launch has clusters, in which mbarriers are for more than one block.
RaceSite MakeRaceSite(const std::string& kernel, const vgpu::Function& function,
                      const vgpu::Instruction& in, bool in_cluster);

}  // namespace kernelsmith::checkers
