// Loads by which a kernel says that nobody writes the memory while it runs (ld.global.nc, __ldg,
// const __restrict__), and its writes to the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "checkers/finding.h"
#include "vgpu/ir.h"
#include "vgpu/observer.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::checkers {

// One launch of one kernel.
class ReadOnlyLoads {
 public:
  ReadOnlyLoads(const vgpu::LaunchInfo& launch, vgpu::VirtualGpu& gpu);

  // The kernel has such loads, and it writes to global memory.
  bool useful() const { return has_loads_ && has_writes_; }
  // A pointer that it loads through and one that it writes through point to the same allocation.
  bool overlap() const { return overlap_; }

  struct Conflict {
    int lane = 0;
    bool stale = false;  // the load came behind the write
    Place load;
    Place write;
  };
  // Remembers the access. The first lane of it that meets an access of the other kind, if one does.
  std::optional<Conflict> Add(const std::string& kernel, vgpu::WarpView& warp,
                              const vgpu::MemoryAccess& access);

 private:
  struct Side {
    std::unordered_map<uint64_t, uint8_t> bytes;  // by address / 8, a bit for each byte
    std::unordered_map<uint64_t, uint32_t> site;  // by address / 8, the last access: places
    std::vector<Place> places;
    std::map<const vgpu::Instruction*, uint32_t> known;
  };

  void Scan(const vgpu::Function& function, std::vector<uint32_t>* loads,
            std::vector<uint32_t>* writes);
  uint64_t PointerOf(const vgpu::LaunchInfo& launch, const ptx::Function& entry,
                     uint32_t parameter);
  bool IsWindow(uint64_t address) const;

  vgpu::VirtualGpu& gpu_;
  uint64_t shared_window_;
  uint64_t local_window_;
  bool has_loads_ = false;
  bool has_writes_ = false;
  bool overlap_ = false;
  Side loads_;
  Side writes_;
};

}  // namespace kernelsmith::checkers
