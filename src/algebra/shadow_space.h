// Shadows of a memory: cells by address. A cell belongs to the 4-byte word it starts in; the upper
// halves of words, which only 16-bit floats use, have cells of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "algebra/cell.h"

namespace kernelsmith {

class ShadowSpace {
 public:
  // Null: no shadow there. `address` is even.
  const Cell* Find(uint64_t address) const;
  // The cell of the double or float that the word at `address` is a part of: for loads of parts.
  void Set(uint64_t address, const Cell& cell);
  // Bytes that were overwritten by something without a shadow.
  void Clear(uint64_t address, uint64_t bytes);
  // As memmove does.
  void Copy(uint64_t to, uint64_t from, uint64_t bytes);
  void Reset();

 private:
  static constexpr int kPageBits = 8;
  static constexpr uint64_t kWords = (1 << kPageBits) / 4;
  static_assert(kWords == 64);
  struct Page {
    uint64_t present = 0;
    uint64_t odd_present = 0;
    Cell words[kWords];
    std::unique_ptr<Cell[]> odd;
  };

  Page* FindPage(uint64_t address) const;
  Page& GetPage(uint64_t address);

  static constexpr size_t kRecent = 256;  // a direct-mapped cache
  struct Recent {
    uint64_t number = ~uint64_t{0};
    Page* page = nullptr;
  };
  mutable std::vector<Recent> recent_ = std::vector<Recent>(kRecent);
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
  std::vector<std::unique_ptr<Page>> spare_;
};

}  // namespace kernelsmith
