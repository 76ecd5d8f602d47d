// A launch of a slice: who marked what. Private to the engine.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "vgpu/slice.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

// What the threads of the host that run a slice have in common.
class SliceRun {
 public:
  // The record's outputs must not overlap.
  SliceRun(SliceRecord& record, uint64_t blocks);

  // Block `block` stored `bytes` at `address`; once for every store of a thread.
  void Mark(uint64_t address, uint64_t bytes, uint32_t block);
  // `lanes` threads store side by side from `address` on, `bytes` each.
  void MarkRow(uint64_t address, uint64_t bytes, uint64_t lanes, uint32_t block);
  void EndBlock(uint64_t block, uint64_t back_edges) { record_.back_edges[block] = back_edges; }

  // Allocations that were read or marked, by their start.
  void Note(const std::set<uint64_t>& read, const std::set<uint64_t>& marked);
  // Something that was kept reads where something else would have stored.
  bool ReadsWhatItMarks() const;

  void GiveUp(std::string why);
  bool gave_up() const { return gave_up_.load(std::memory_order_relaxed); }
  const std::string& why() const { return why_; }

 private:
  // Elements that one lock guards: a warp's row seldom needs two, and threads seldom meet.
  static constexpr uint64_t kLocked = 1024;
  struct Output {
    SliceOutput* record = nullptr;
    std::unique_ptr<std::atomic_flag[]> locks;
  };
  Output* Find(uint64_t address, uint64_t bytes);
  static void Count(Output& output, uint64_t first, uint64_t last, uint32_t block);

  SliceRecord& record_;
  std::vector<Output> outputs_;  // by address
  std::mutex mutex_;
  std::set<uint64_t> read_;
  std::set<uint64_t> marked_;
  std::atomic<bool> gave_up_{false};
  std::string why_;
};

// One thread of the host.
class SliceThread {
 public:
  explicit SliceThread(SliceRun& run) : run_(run) {}
  ~SliceThread() { run_.Note(read_, marked_); }
  SliceThread(const SliceThread&) = delete;
  SliceThread& operator=(const SliceThread&) = delete;

  SliceRun& run() { return run_; }
  void NoteRead(const MemoryWindow& window) { read_.insert(window.low); }
  void NoteMarked(const MemoryWindow& window) { marked_.insert(window.low); }

  bool marking = false;  // windows that are found now are not read

 private:
  SliceRun& run_;
  std::set<uint64_t> read_;
  std::set<uint64_t> marked_;
};

}  // namespace kernelsmith::vgpu
