// Waits for asynchronous copies (cp.async). A group that was sent long before it is waited for has
// arrived: what a warp did in between is counted along.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/ir.h"

namespace kernelsmith::counters {

class AsyncWaits {
 public:
  // Before anything runs: whether the function has such copies.
  void Look(const vgpu::Function& function);
  bool used() const { return used_; }
  void BeginBlock() { warps_.clear(); }
  // A warp executes an instruction that becomes `issue` machine instructions.
  void Execute(uint32_t warp, const vgpu::Instruction& in, uint64_t issue);

  uint64_t waits() const { return waits_; }
  uint64_t overlap() const { return overlap_; }

 private:
  struct Group {
    uint64_t sent = 0;  // the warp's slots then
    bool has_copies = false;
  };
  struct Warp {
    uint64_t slots = 0;         // issued so far
    bool open = false;          // copies that are in no group yet
    std::vector<Group> groups;  // groups that were not waited for
  };
  void Wait(Warp& warp, size_t but);

  bool used_ = false;
  std::vector<Warp> warps_;
  uint64_t waits_ = 0;
  uint64_t overlap_ = 0;
};

}  // namespace kernelsmith::counters
