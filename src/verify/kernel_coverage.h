// Which ways through a candidate's kernels were taken (vgpu/coverage.h), by kernel and kind of
// launch. Inside of src/verify only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "device/observable_device.h"
#include "vgpu/coverage.h"

namespace kernelsmith {

class KernelCoverage {
 public:
  // Launches as asked, and records the ways.
  Result<vgpu::LaunchResult> Launch(vgpu::VirtualGpu& gpu, vgpu::LaunchRequest request);
  // A run whose launches are recorded, as long as this object lives.
  Watch Recording();

  // Adds what `other` covers.
  void Merge(const KernelCoverage& other);
  size_t CountCovered() const;
  // Ways that were taken here and not in `known`: how many, and some in words for people.
  size_t CountBeyond(const KernelCoverage& known) const;
  std::vector<std::string> Beyond(const KernelCoverage& known, size_t most) const;

 private:
  // A kernel that is launched in another way may do other things: with other threads in a block,
  // in clusters or not, with much shared memory or little.
  struct Kind {
    std::string kernel;
    uint64_t threads = 0;  // of a block
    uint64_t cluster = 0;
    bool cooperative = false;
    bool much_shared = false;
    auto operator<=>(const Kind&) const = default;
  };
  std::map<Kind, vgpu::CoverageRecord> records_;
  std::map<std::string, std::vector<vgpu::CoverageItem>> items_;  // by kernel
};

}  // namespace kernelsmith
