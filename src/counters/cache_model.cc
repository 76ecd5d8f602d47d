#include "counters/cache_model.h"

#include <algorithm>
#include <bit>

namespace kernelsmith::counters {

namespace {
constexpr uint64_t kSectorsPerLine = kLineBytes / kSectorBytes;
}  // namespace

SectoredCache::SectoredCache(uint64_t bytes, uint32_t ways)
    : ways_(ways), sets_(std::max<uint64_t>(1, bytes / kLineBytes / ways)) {
  lines_.resize(sets_ * ways_);
}

size_t SectoredCache::SetOf(uint64_t line) const {
  const uint64_t mixed = (line ^ line >> 17) * 0x9E3779B97F4A7C15ull;
  return static_cast<size_t>((static_cast<unsigned __int128>(mixed) * sets_) >> 64) * ways_;
}

bool SectoredCache::Access(uint64_t sector, bool write) {
  const uint64_t tag = sector / kSectorsPerLine;
  const auto bit = static_cast<uint8_t>(1u << sector % kSectorsPerLine);
  Line* const set = &lines_[SetOf(tag)];
  Line* oldest = set;
  ++clock_;
  for (Line* line = set; line != set + ways_; ++line) {
    if (line->tag == tag) {
      const bool hit = (line->valid & bit) != 0;
      line->valid |= bit;
      if (write) line->dirty |= bit;
      line->stamp = clock_;
      return hit;
    }
    if (line->stamp < oldest->stamp) oldest = line;
  }
  written_back_ += static_cast<uint64_t>(std::popcount(oldest->dirty));
  *oldest = {.tag = tag, .stamp = clock_, .valid = bit, .dirty = write ? bit : uint8_t{0}};
  return false;
}

bool SectoredCache::Contains(uint64_t sector) const {
  const uint64_t tag = sector / kSectorsPerLine;
  const Line* const set = &lines_[SetOf(tag)];
  return std::any_of(set, set + ways_, [&](const Line& line) {
    return line.tag == tag && (line.valid >> sector % kSectorsPerLine & 1) != 0;
  });
}

void SectoredCache::Clear() {
  if (clock_ == 0) return;
  std::fill(lines_.begin(), lines_.end(), Line{});
  clock_ = 0;
}

uint64_t SectoredCache::CleanAll() {
  uint64_t count = 0;
  for (Line& line : lines_) {
    count += static_cast<uint64_t>(std::popcount(line.dirty));
    line.dirty = 0;
  }
  return count;
}

}  // namespace kernelsmith::counters
