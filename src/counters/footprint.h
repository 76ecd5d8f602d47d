// Which sectors of global memory the watched blocks touched, and how many the whole grid touches.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace kernelsmith::counters {

// Sectors by how many of the watched blocks touched them.
struct Footprint {
  uint64_t sectors = 0;     // distinct
  uint64_t once = 0;        // sectors that one block alone touches
  uint64_t twice = 0;       // sectors that two blocks touch
  uint64_t read_first = 0;  // first touched by a read: their bytes must come from somewhere
  uint64_t written = 0;
  uint64_t block_sectors = 0;  // sum over blocks of the sectors that each touched
};

class FootprintTable {
 public:
  void BeginBlock() { ++block_; }
  void Touch(uint64_t sector, bool write) {
    const uint64_t page = sector / kPageSectors;
    if (page != last_page_) Find(page);
    Entry& entry = last_->entries[sector % kPageSectors];
    if (entry.last_block != block_) {
      if (entry.blocks == 0 && !write) entry.read_first = 1;
      entry.last_block = block_;
      if (entry.blocks < 0xffff) ++entry.blocks;
    }
    if (write) entry.written = 1;
  }
  uint32_t blocks() const { return block_; }

  // The sectors of [first, last) in units of sectors. `starts` are ascending first sectors of
  // regions (allocations); the result has one footprint for each, and one more, in front, for what
  // lies before the first.
  std::vector<Footprint> ByRegion(const std::vector<uint64_t>& starts) const;
  void Clear();

 private:
  static constexpr uint64_t kPageSectors = 2048;  // 64 KiB
  struct Entry {
    uint32_t last_block = 0;
    uint16_t blocks = 0;
    uint8_t read_first = 0;
    uint8_t written = 0;
  };
  struct Page {
    std::array<Entry, kPageSectors> entries{};
  };
  void Find(uint64_t page);

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  uint64_t last_page_ = ~uint64_t{0};
  Page* last_ = nullptr;
  uint32_t block_ = 0;
};

// Distinct sectors that `total` blocks touch, from what `watched` blocks chosen at random did: the
// extrapolation of Chao (Biometrics 1987; Colwell and others, J. Plant Ecology 2012) that
// ecologists use for species. Exact where blocks share nothing or everything.
double ExtrapolateDistinct(const Footprint& seen, uint64_t watched, uint64_t total);

}  // namespace kernelsmith::counters
