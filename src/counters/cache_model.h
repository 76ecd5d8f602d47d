// A model of a GPU's caches: 128-byte lines of four 32-byte sectors that are fetched one by one,
// set-associative, least recently used line replaced, sets chosen by a hash as GPUs do (so that
// power-of-two strides do not all meet in one set). It is a model: NVIDIA publishes sizes, not
// replacement policies.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/gpu_model.h"

namespace kernelsmith::counters {

inline constexpr uint32_t kSectorBytes = 32;
inline constexpr uint32_t kLineBytes = 128;

class SectoredCache {
 public:
  // A cache of less than one line per way has one set.
  explicit SectoredCache(uint64_t bytes, uint32_t ways = 16);

  // `sector` is an address divided by kSectorBytes. True: it was there. Afterwards it is; a written
  // one is dirty, and needs nothing from the level below.
  bool Access(uint64_t sector, bool write);
  bool Contains(uint64_t sector) const;
  // Empties it without writing anything back.
  void Clear();

  // Dirty sectors that had to make room so far.
  uint64_t written_back() const { return written_back_; }
  // Makes all sectors clean, as writing them back would: how many there were.
  uint64_t CleanAll();

 private:
  struct Line {
    uint64_t tag = ~uint64_t{0};
    uint64_t stamp = 0;  // the time of the last use; 0: empty
    uint8_t valid = 0;   // a bit a sector
    uint8_t dirty = 0;
  };
  size_t SetOf(uint64_t line) const;

  uint32_t ways_;
  uint64_t sets_;
  uint64_t clock_ = 0;
  uint64_t written_back_ = 0;
  std::vector<Line> lines_;
};

}  // namespace kernelsmith::counters
