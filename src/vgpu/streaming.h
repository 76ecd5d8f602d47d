// Stores past the caches. An ordinary store reads its cache line from memory first; of an output
// that does not fit in the caches anyway, that is a third of an addition's traffic. Compiled code
// stores whole cache lines without reading them (non-temporal stores) where this pays:
// - into an allocation that is as large as the host's last-level cache, by an instruction whose
//   threads store as much: nothing that is stored would stay in the caches,
// - as long as the kernel has not been seen to load from the same allocation.
// Other threads of the host see such stores late: kernels whose threads may tell one another about
// memory (atomics, fences, strong accesses, calls of the system) never make them, and each host
// thread makes all of its own visible before its share of the launch counts as done. A thread
// itself sees them at once.
#pragma once

#include <cstdint>
#include <set>
#include <span>

#include "vgpu/jit/abi.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

// Whether compiled code of the launch should have stores past the caches at all. The same for all
// launches of a kernel that share code.
bool MayStream(const LaunchState& launch);

// How large an output must be: the size of the last-level cache, unless the settings say otherwise.
uint64_t StreamedFrom(const EngineSettings& settings);

// Makes the calling thread's stores past the caches visible to others.
void FinishStreaming();

// Which sites of one host thread store past the caches.
class Streaming {
 public:
  // `threads`: of the launch.
  Streaming(uint64_t threads, uint64_t least_bytes)
      : threads_(threads), least_bytes_(least_bytes) {}

  // The call's site, one of `sites`, has been filled with this allocation: decides on its stores,
  // and takes back what it decided on others if this is the first load from there.
  void OnSite(std::span<jit::Site> sites, const jit::HandlerCall& call, const MemoryWindow& window);

 private:
  uint64_t threads_;
  uint64_t least_bytes_;
  std::set<uint64_t> read_;  // allocations, by their start
};

}  // namespace kernelsmith::vgpu
