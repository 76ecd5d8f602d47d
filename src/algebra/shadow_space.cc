#include "algebra/shadow_space.h"

#include <optional>

namespace kernelsmith {

ShadowSpace::Page* ShadowSpace::FindPage(uint64_t address) const {
  const uint64_t number = address >> kPageBits;
  Recent& recent = recent_[number % kRecent];
  if (recent.number == number) return recent.page;
  const auto it = pages_.find(number);
  if (it == pages_.end()) return nullptr;
  recent = {number, it->second.get()};
  return recent.page;
}

ShadowSpace::Page& ShadowSpace::GetPage(uint64_t address) {
  if (Page* page = FindPage(address)) return *page;
  std::unique_ptr<Page> page;
  if (!spare_.empty()) {
    page = std::move(spare_.back());
    spare_.pop_back();
    page->present = page->odd_present = 0;
  } else {
    page = std::make_unique<Page>();
  }
  return *(pages_[address >> kPageBits] = std::move(page));
}

const Cell* ShadowSpace::Find(uint64_t address) const {
  const Page* page = FindPage(address);
  if (page == nullptr) return nullptr;
  const uint64_t word = address / 4 % kWords;
  if ((address & 2) != 0) {
    return (page->odd_present >> word & 1) != 0 ? &page->odd[word] : nullptr;
  }
  return (page->present >> word & 1) != 0 ? &page->words[word] : nullptr;
}

void ShadowSpace::Set(uint64_t address, const Cell& cell) {
  Page& page = GetPage(address);
  const uint64_t word = address / 4 % kWords;
  const uint64_t bit = uint64_t{1} << word;
  if ((address & 2) != 0) {
    if (page.odd == nullptr) page.odd = std::make_unique<Cell[]>(kWords);
    page.odd[word] = cell;
    page.odd_present |= bit;
  } else {
    page.words[word] = cell;
    page.present |= bit;
  }
}

void ShadowSpace::Clear(uint64_t address, uint64_t bytes) {
  const uint64_t end = address + bytes;
  for (uint64_t word = address & ~uint64_t{3}; word < end; word += 4) {
    Page* page = FindPage(word);
    if (page == nullptr) {
      // Nothing in the rest of the page.
      word = (word | ((1 << kPageBits) - 4));
      continue;
    }
    const uint64_t bit = uint64_t{1} << (word / 4 % kWords);
    const bool low = address < word + 2 && end > word;
    const bool high = address < word + 4 && end > word + 2;
    if ((page->present & bit) != 0) {
      const CellKind kind = page->words[word / 4 % kWords].kind();
      const bool half = kind == CellKind::kF16 || kind == CellKind::kBf16;
      if (low || !half) page->present &= ~bit;
    }
    if (high) page->odd_present &= ~bit;
  }
  // A double that starts one word before.
  if ((address & 4) != 0) {
    const uint64_t word = (address & ~uint64_t{7});
    Page* page = FindPage(word);
    if (page != nullptr && (page->present >> (word / 4 % kWords) & 1) != 0 &&
        page->words[word / 4 % kWords].kind() == CellKind::kF64) {
      page->present &= ~(uint64_t{1} << (word / 4 % kWords));
    }
  }
}

void ShadowSpace::Copy(uint64_t to, uint64_t from, uint64_t bytes) {
  if (((to | from) & 1) != 0) {
    Clear(to, bytes);
    return;
  }
  std::vector<std::optional<Cell>> cells((bytes + 1) / 2);
  for (uint64_t i = 0; i < cells.size(); ++i) {
    if (const Cell* cell = Find(from + 2 * i)) cells[i] = *cell;
  }
  Clear(to, bytes);
  for (uint64_t i = 0; i < cells.size(); ++i) {
    if (!cells[i]) continue;
    // Only 16-bit floats may lie in the upper half of a word.
    const CellKind kind = cells[i]->kind();
    const bool half = kind == CellKind::kF16 || kind == CellKind::kBf16;
    const uint64_t size = half ? 2 : kind == CellKind::kF64 ? 8 : 4;
    if (2 * i + size > bytes || (!half && ((to + 2 * i) & 3) != 0)) continue;
    Set(to + 2 * i, *cells[i]);
  }
}

void ShadowSpace::Reset() {
  for (auto& [number, page] : pages_) {
    if (spare_.size() < 4096) spare_.push_back(std::move(page));
  }
  pages_.clear();
  recent_.assign(kRecent, {});
}

}  // namespace kernelsmith
