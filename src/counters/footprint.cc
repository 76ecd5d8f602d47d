#include "counters/footprint.h"

#include <algorithm>
#include <cmath>

namespace kernelsmith::counters {

void FootprintTable::Find(uint64_t page) {
  std::unique_ptr<Page>& found = pages_[page];
  if (found == nullptr) found = std::make_unique<Page>();
  last_ = found.get();
  last_page_ = page;
}

std::vector<Footprint> FootprintTable::ByRegion(const std::vector<uint64_t>& starts) const {
  std::vector<Footprint> result(starts.size() + 1);
  for (const auto& [number, page] : pages_) {
    const uint64_t first = number * kPageSectors;
    auto region =
        static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), first) - starts.begin());
    for (uint64_t i = 0; i < kPageSectors; ++i) {
      while (region < starts.size() && first + i >= starts[region]) ++region;
      const Entry& entry = page->entries[i];
      if (entry.blocks == 0) continue;
      Footprint& to = result[region];
      ++to.sectors;
      to.once += entry.blocks == 1;
      to.twice += entry.blocks == 2;
      to.read_first += entry.read_first;
      to.written += entry.written;
      to.block_sectors += entry.blocks;
    }
  }
  return result;
}

void FootprintTable::Clear() {
  pages_.clear();
  last_page_ = ~uint64_t{0};
  last_ = nullptr;
  block_ = 0;
}

double ExtrapolateDistinct(const Footprint& seen, uint64_t watched, uint64_t total) {
  const auto distinct = static_cast<double>(seen.sectors);
  if (watched == 0 || total <= watched || seen.once == 0) return distinct;
  const auto n = static_cast<double>(watched);
  const auto once = static_cast<double>(seen.once);
  const auto twice = static_cast<double>(seen.twice);
  const auto more = static_cast<double>(total - watched);
  // Every block touches as many new ones as the watched ones did: the most there can be.
  const double most = once / n * more;
  if (seen.twice == 0) return distinct + most;  // no sign of sharing
  const double unseen = (n - 1) / n * once * once / (2 * twice);
  return distinct +
         std::min(most, unseen * -std::expm1(more * std::log1p(-once / (n * unseen + once))));
}

}  // namespace kernelsmith::counters
