#include "checkers/race_shadow.h"

namespace kernelsmith::checkers {

void Shadow::Forget(uint64_t address, uint64_t bytes) {
  recent_ = {};
  const uint64_t first = (address + kPageBytes - 1) / kPageBytes;
  const uint64_t end = (address + bytes) / kPageBytes;
  if (end <= first) return;
  if (end - first > pages_.size()) {
    std::erase_if(pages_,
                  [&](const auto& page) { return page.first >= first && page.first < end; });
    return;
  }
  for (uint64_t page = first; page < end; ++page) pages_.erase(page);
}

}  // namespace kernelsmith::checkers
