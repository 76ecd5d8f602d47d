#include "counters/access_shape.h"

#include <algorithm>
#include <array>

namespace kernelsmith::counters {

namespace {

constexpr uint64_t kSector = 32;

// Words of the accesses, each once. Passes: the most words that one bank has.
uint32_t Passes(std::span<const LaneAccess> lanes, std::vector<uint64_t>& words) {
  words.clear();
  for (const LaneAccess& lane : lanes) {
    const uint64_t last = (lane.address + lane.bytes - 1) / kBankBytes;
    for (uint64_t word = lane.address / kBankBytes; word <= last; ++word) words.push_back(word);
  }
  if (!std::is_sorted(words.begin(), words.end())) std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  // Consecutive words have banks of their own: the usual case.
  if (!words.empty() && words.size() <= kBanks && words.back() - words.front() < kBanks) return 1;
  std::array<uint32_t, kBanks> in_bank{};
  for (const uint64_t word : words) ++in_bank[word % kBanks];
  return *std::max_element(in_bank.begin(), in_bank.end());
}

// Whether each two lanes whose numbers differ by `bit` want the same.
bool PairsAgree(std::span<const LaneAccess> lanes, uint32_t bit) {
  std::array<const LaneAccess*, 32> by_lane{};
  for (const LaneAccess& lane : lanes) by_lane[lane.lane % 32] = &lane;
  for (const LaneAccess& lane : lanes) {
    const LaneAccess* other = by_lane[(lane.lane % 32) ^ bit];
    if (other != nullptr && other->address != lane.address) return false;
  }
  return true;
}

}  // namespace

void SectorsOf(std::span<const LaneAccess> lanes, std::vector<uint64_t>& to) {
  to.clear();
  bool sorted = true;
  for (const LaneAccess& lane : lanes) {
    const uint64_t last = (lane.address + lane.bytes - 1) / kSector;
    for (uint64_t sector = lane.address / kSector; sector <= last; ++sector) {
      if (!to.empty()) {
        if (to.back() == sector) continue;
        sorted &= to.back() < sector;
      }
      to.push_back(sector);
    }
  }
  if (sorted) return;
  std::sort(to.begin(), to.end());
  to.erase(std::unique(to.begin(), to.end()), to.end());
}

Wavefronts WavefrontsOf(std::span<const LaneAccess> lanes, bool read) {
  if (lanes.empty()) return {};
  thread_local std::vector<uint64_t> words;
  const uint32_t bytes = lanes.front().bytes;
  uint32_t group = bytes >= 16 ? 8 : bytes == 8 ? 16 : 32;
  if (group < 32 && read && (PairsAgree(lanes, 1) || PairsAgree(lanes, 2))) group *= 2;
  Wavefronts result;
  for (size_t first = 0; first < lanes.size();) {
    size_t last = first;
    while (last < lanes.size() && lanes[last].lane / group == lanes[first].lane / group) ++last;
    result.needed += Passes(lanes.subspan(first, last - first), words);
    ++result.ideal;
    first = last;
  }
  return result;
}

Wavefronts WavefrontsOfAll(std::span<const LaneAccess> lanes) {
  if (lanes.empty()) return {};
  thread_local std::vector<uint64_t> words;
  const uint32_t passes = Passes(lanes, words);
  return {
      .needed = passes,
      .ideal = std::max<uint32_t>(1, static_cast<uint32_t>((words.size() + kBanks - 1) / kBanks))};
}

Contention ContentionOf(std::span<const LaneAccess> lanes) {
  thread_local std::vector<uint64_t> addresses;
  addresses.clear();
  for (const LaneAccess& lane : lanes) addresses.push_back(lane.address);
  std::sort(addresses.begin(), addresses.end());
  Contention result;
  for (size_t i = 0; i < addresses.size();) {
    size_t j = i;
    while (j < addresses.size() && addresses[j] == addresses[i]) ++j;
    ++result.addresses;
    result.most = std::max(result.most, static_cast<uint32_t>(j - i));
    i = j;
  }
  return result;
}

}  // namespace kernelsmith::counters
