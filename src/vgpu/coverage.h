// Which ways through a kernel a launch took. The items of a kernel are known before it runs; a
// launch that is asked for coverage sets the bit of every item that some thread did. Compiled code
// and the interpreter fill the same record, and launches that are not asked pay nothing.
//
//   CoverageRecord record;
//   gpu->Launch({..., .coverage = &record});
//   for (const CoverageItem& item : CoverageItems(kernel)) if (!record.Covers(item.number)) ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace kernelsmith::vgpu {

struct Kernel;

enum class CoverageKind : uint8_t {
  // Control went from one block of the flow graph to another. Branches with a guard have no such
  // items: the sides of the guard say the same.
  kEdge,
  // A thread came to the instruction with its guard true, or false; or, for a selection, chose by
  // a predicate that was.
  kTrue,
  kFalse,
  // A thread left a loop after it had gone back to the loop's head not at all, once, or more often.
  kLoopNever,
  kLoopOnce,
  kLoopMany,
};

struct CoverageItem {
  size_t number = 0;  // its bit in the record
  CoverageKind kind = CoverageKind::kEdge;
  std::string function;
  uint32_t pc = 0;        // the instruction: an edge's last one before it, a loop's first one
  SourceLocation ptx;     // where it stands in the PTX text
  SourceLocation source;  // and in the CUDA source; without a file: not known
  std::string words;      // "the loop at k.cu:12 runs more than once"
};

// A bitmap over the items of one kernel. Launches add to it.
class CoverageRecord {
 public:
  size_t items() const { return items_; }  // 0: no launch has filled it yet
  bool Covers(size_t number) const {
    return number < items_ && (words_[number / 64] >> (number % 64) & 1) != 0;
  }
  size_t CountCovered() const;
  // Adds what `other`, of the same kernel, covers. True: there was something new.
  bool Merge(const CoverageRecord& other);
  bool operator==(const CoverageRecord&) const = default;

  // -- for the engine
  void Prepare(size_t items);
  // Sets the bits of items whose entry is not 0. Several threads may do so at a time.
  void Add(const uint32_t* done);

 private:
  size_t items_ = 0;
  std::vector<uint64_t> words_;
};

// All items of the kernel and of the functions that it may call, by number.
std::vector<CoverageItem> CoverageItems(const Kernel& kernel);

}  // namespace kernelsmith::vgpu
