#include "vgpu/slice_run.h"

#include <algorithm>

#include "support/check.h"

namespace kernelsmith::vgpu {

SliceRun::SliceRun(SliceRecord& record, uint64_t blocks) : record_(record) {
  record.back_edges.assign(blocks, 0);
  for (SliceOutput& output : record.outputs) {
    KS_CHECK(output.element_bytes > 0 && output.bytes % output.element_bytes == 0);
    const uint64_t elements = output.bytes / output.element_bytes;
    output.writes.assign(elements, 0);
    output.last_block.assign(elements, 0);
    outputs_.push_back({&output, std::make_unique<std::atomic_flag[]>(elements / kLocked + 1)});
  }
  std::sort(outputs_.begin(), outputs_.end(),
            [](const Output& a, const Output& b) { return a.record->address < b.record->address; });
}

// The first output that has some byte of the range.
SliceRun::Output* SliceRun::Find(uint64_t address, uint64_t bytes) {
  for (Output& output : outputs_) {
    const SliceOutput& range = *output.record;
    if (address < range.address + range.bytes && range.address < address + bytes) return &output;
  }
  return nullptr;
}

void SliceRun::Count(Output& output, uint64_t first, uint64_t last, uint32_t block) {
  SliceOutput& record = *output.record;
  while (first <= last) {
    std::atomic_flag& lock = output.locks[first / kLocked];
    const uint64_t end = std::min(last, first / kLocked * kLocked + kLocked - 1);
    while (lock.test_and_set(std::memory_order_acquire)) {
    }
    uint8_t* writes = record.writes.data();
    uint32_t* blocks = record.last_block.data();
    for (uint64_t i = first; i <= end; ++i) {
      writes[i] = static_cast<uint8_t>(writes[i] + (writes[i] != 255 ? 1 : 0));
      blocks[i] = std::max(blocks[i], block);
    }
    lock.clear(std::memory_order_release);
    first = end + 1;
  }
}

void SliceRun::Mark(uint64_t address, uint64_t bytes, uint32_t block) {
  while (bytes > 0) {
    Output* output = Find(address, bytes);
    if (output == nullptr) return;
    const SliceOutput& range = *output->record;
    const uint64_t begin = std::max(address, range.address) - range.address;
    const uint64_t end = std::min(address + bytes, range.address + range.bytes) - range.address;
    Count(*output, begin / range.element_bytes, (end - 1) / range.element_bytes, block);
    // What lies behind it may be in the next output.
    const uint64_t done = range.address + end - address;
    address += done;
    bytes -= done;
  }
}

void SliceRun::MarkRow(uint64_t address, uint64_t bytes, uint64_t lanes, uint32_t block) {
  const Output* output = Find(address, bytes * lanes);
  if (output == nullptr) return;
  const SliceOutput& range = *output->record;
  // Whole elements of one output: no element is touched by two lanes.
  if (bytes % range.element_bytes == 0 && address >= range.address &&
      (address - range.address) % range.element_bytes == 0 &&
      address + bytes * lanes <= range.address + range.bytes) {
    return Mark(address, bytes * lanes, block);
  }
  for (uint64_t lane = 0; lane < lanes; ++lane) Mark(address + bytes * lane, bytes, block);
}

void SliceRun::Note(const std::set<uint64_t>& read, const std::set<uint64_t>& marked) {
  const std::lock_guard lock(mutex_);
  read_.insert(read.begin(), read.end());
  marked_.insert(marked.begin(), marked.end());
}

bool SliceRun::ReadsWhatItMarks() const {
  return std::any_of(read_.begin(), read_.end(),
                     [&](uint64_t start) { return marked_.contains(start); });
}

void SliceRun::GiveUp(std::string why) {
  const std::lock_guard lock(mutex_);
  why_ = std::move(why);
  gave_up_ = true;
}

}  // namespace kernelsmith::vgpu
