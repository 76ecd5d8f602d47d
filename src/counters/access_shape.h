// What one memory instruction of a warp asks of the hardware: sectors of global memory, wavefronts
// of shared memory, lanes that fight for one address. Pure functions of addresses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kernelsmith::counters {

inline constexpr uint32_t kBanks = 32;     // banks of shared memory
inline constexpr uint32_t kBankBytes = 4;  // bytes of a bank's word
                                           // (CUDA C++ Programming Guide, "Shared Memory")

// `bytes` at `address`, of lane `lane`.
struct LaneAccess {
  uint64_t address = 0;
  uint32_t bytes = 0;
  uint32_t lane = 0;
};

// The distinct 32-byte sectors that are touched (addresses divided by 32), ascending, into `to`.
void SectorsOf(std::span<const LaneAccess> lanes, std::vector<uint64_t>& to);

struct Wavefronts {
  uint32_t needed = 0;  // passes through shared memory
  uint32_t ideal = 0;   // without bank conflicts
};
// Lanes of up to 4 bytes go together; those of 8 bytes in half warps, of 16 in quarters. Of a
// group, each pass serves one 4-byte word of every bank; lanes that want the same word share it.
// Loads go in groups of twice that size if lanes n and n^1, or n and n^2, want the same all over
// the warp (NVIDIA's developer forum, "Unexpected shared memory bank conflict", 77228, and
// "Discrepancy in LDS.128 Wavefronts", 373160, measured on CC 8.6 and 9.0).
Wavefronts WavefrontsOf(std::span<const LaneAccess> lanes, bool read);
// The same for accesses that the hardware arranges itself (matrix loads): all words together.
Wavefronts WavefrontsOfAll(std::span<const LaneAccess> lanes);

struct Contention {
  uint32_t addresses = 0;  // distinct
  uint32_t most = 0;       // lanes at the same one: they take turns
};
Contention ContentionOf(std::span<const LaneAccess> lanes);

}  // namespace kernelsmith::counters
