// For tests: what a launch writes and how often it branches back, told by the interpreter. What a
// slice says of the same launch (slice.h) must be the same.
#pragma once

#include <algorithm>
#include <bit>
#include <string>

#include "vgpu/observer.h"
#include "vgpu/slice.h"

namespace kernelsmith::vgpu {

class WriteCounter final : public Observer {
 public:
  // Fills the record's outputs and back edges.
  WriteCounter(SliceRecord& record, uint64_t blocks) : record_(record) {
    record.back_edges.assign(blocks, 0);
    for (SliceOutput& output : record.outputs) {
      output.writes.assign(output.bytes / output.element_bytes, 0);
      output.last_block.assign(output.bytes / output.element_bytes, 0);
    }
  }

  uint32_t interests() const override { return interest::kInstructions | interest::kAccesses; }

  bool OnMemoryAccess(WarpView& warp, const MemoryAccess& access) override {
    if (access.kind != AccessKind::kStore && access.kind != AccessKind::kAtomic &&
        access.kind != AccessKind::kReduction) {
      return true;
    }
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      const uint64_t address = access.address[static_cast<size_t>(std::countr_zero(rest))];
      for (SliceOutput& output : record_.outputs) {
        const uint64_t end = output.address + output.bytes;
        if (address >= end || address + access.bytes <= output.address) continue;
        const uint64_t first = std::max(address, output.address) - output.address;
        const uint64_t last = std::min(address + access.bytes, end) - 1 - output.address;
        for (uint64_t i = first / output.element_bytes; i <= last / output.element_bytes; ++i) {
          if (output.writes[i] != 255) ++output.writes[i];
          output.last_block[i] =
              std::max(output.last_block[i], static_cast<uint32_t>(warp.block_number()));
        }
      }
    }
    return true;
  }

  void BeforeInstruction(WarpView& warp, const Instruction& in, uint32_t mask) override {
    const Function& function = warp.function();
    const auto pc = static_cast<uint32_t>(&in - function.code.data());
    uint64_t& count = record_.back_edges[warp.block_number()];
    if (in.op == Op::kBra && in.target <= pc) {
      count += static_cast<uint64_t>(std::popcount(mask));
    } else if (in.op == Op::kBrxIdx) {
      for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const uint64_t index = warp.ReadOperand(in.a, std::countr_zero(rest));
        const auto& targets = function.branch_targets[in.target];
        count += index < targets.size() && targets[index] <= pc ? 1 : 0;
      }
    }
  }

 private:
  SliceRecord& record_;
};

// Where the records differ; empty: nowhere.
inline std::string DifferenceOf(const SliceRecord& expected, const SliceRecord& found) {
  for (size_t o = 0; o < expected.outputs.size(); ++o) {
    const SliceOutput& a = expected.outputs[o];
    const SliceOutput& b = found.outputs[o];
    for (size_t i = 0; i < a.writes.size(); ++i) {
      if (a.writes[i] == b.writes[i] && a.last_block[i] == b.last_block[i]) continue;
      return "element " + std::to_string(i) + " of output " + std::to_string(o) +
             " is written by " + std::to_string(a.writes[i]) + " stores, last by block " +
             std::to_string(a.last_block[i]) + "; in the slice by " + std::to_string(b.writes[i]) +
             " and " + std::to_string(b.last_block[i]);
    }
  }
  for (size_t i = 0; i < expected.back_edges.size(); ++i) {
    if (expected.back_edges[i] == found.back_edges[i]) continue;
    return "block " + std::to_string(i) + " branches back " +
           std::to_string(expected.back_edges[i]) + " times, in the slice " +
           std::to_string(found.back_edges[i]);
  }
  return {};
}

}  // namespace kernelsmith::vgpu
