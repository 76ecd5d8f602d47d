// The memory of the race checker: for every cell of device memory who last wrote and read it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace kernelsmith::checkers {

// One access. All zero: none.
struct Entry {
  // `who`: the thread of the block and what kind of access it was.
  static constexpr uint16_t kThread = 0x3ff;
  static constexpr uint16_t kStrong = 1 << 10;
  static constexpr uint16_t kDeviceScope = 1 << 11;
  static constexpr uint16_t kVolatile = 1 << 12;  // and no atomic
  static constexpr uint16_t kAsync = 1 << 13;     // the access was made by cp.async
  static constexpr uint16_t kPending = 1 << 14;   // whose group was not waited for yet

  uint32_t stamp = 0;  // block and clock
  uint16_t site = 0;   // instruction
  uint16_t who = 0;

  uint32_t thread() const { return who & kThread; }
};

// A block at one of its clocks. Entries share them: a block has far fewer than accesses.
struct Stamp {
  uint32_t launch = 0;
  uint32_t block = 0;
  uint32_t clock = 0;
};

// The second of each is of another thread and unordered with the first.
struct Cell {
  Entry write;
  Entry other_write;
  Entry read;
  Entry other_read;
};

inline constexpr uint64_t kPageBytes = 4096;

struct Page {
  uint32_t shift = 2;  // log2 of the bytes a cell stands for
  std::vector<Cell> cells;

  Page() : cells(kPageBytes >> 2) {}
  // Makes cells no coarser than that.
  void Refine(uint32_t finer) {
    if (finer >= shift) return;
    const uint32_t copies = 1u << (shift - finer);
    std::vector<Cell> split;
    split.reserve(kPageBytes >> finer);
    for (const Cell& cell : cells) split.insert(split.end(), copies, cell);
    cells = std::move(split);
    shift = finer;
  }
};

// Pages of shared memory that ended blocks leave behind. Their entries name blocks that are gone,
// so they need no clearing.
class PagePool {
 public:
  std::unique_ptr<Page> Take() {
    if (pages_.empty()) return std::make_unique<Page>();
    std::unique_ptr<Page> page = std::move(pages_.back());
    pages_.pop_back();
    return page;
  }
  void Return(std::unique_ptr<Page> page) {
    if (page != nullptr) pages_.push_back(std::move(page));
  }

 private:
  std::vector<std::unique_ptr<Page>> pages_;
};

// Shadow of all other addresses.
class Shadow {
 public:
  Page& At(uint64_t address) {
    const uint64_t number = address / kPageBytes;
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number != number || recent.page == nullptr) {
      std::unique_ptr<Page>& page = pages_[number];
      if (page == nullptr) page = std::make_unique<Page>();
      recent = {number, page.get()};
    }
    return *recent.page;
  }
  // Null: nobody accessed it.
  const Page* Find(uint64_t address) const {
    const auto it = pages_.find(address / kPageBytes);
    return it == pages_.end() ? nullptr : it->second.get();
  }
  // Forgets pages that lie wholly inside; allocations have pages of their own.
  void Forget(uint64_t address, uint64_t bytes);
  void Clear() {
    pages_.clear();
    recent_ = {};
  }
  size_t pages() const { return pages_.size(); }

 private:
  struct Recent {
    uint64_t number = 0;
    Page* page = nullptr;
  };
  std::array<Recent, 64> recent_{};
  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace kernelsmith::checkers
