// Which operations of the host (launches, copies, fills) run after which: Checker::OnSubmit and
// OnHostWait as a question that can be asked.
#pragma once

#include <cstdint>
#include <map>
#include <span>

namespace kernelsmith::checkers {

// A set of operation numbers. Streams make long runs of them, so runs are what is kept.
class OperationSet {
 public:
  void Add(uint64_t operation) { AddRun(operation, operation + 1); }
  void Add(const OperationSet& other);
  bool Contains(uint64_t operation) const;
  bool ContainsAll(const OperationSet& other) const;
  void Clear() { runs_.clear(); }

 private:
  void AddRun(uint64_t first, uint64_t end);
  std::map<uint64_t, uint64_t> runs_;  // first -> one behind the last
};

class OperationOrder {
 public:
  void Submit(uint64_t operation, std::span<const uint64_t> after);
  void HostWait(std::span<const uint64_t> operations);
  // All that surely ended before `operation` began.
  const OperationSet& Before(uint64_t operation) const;
  // Did the host wait for it?
  bool IsSettled(uint64_t operation) const { return settled_.Contains(operation); }

 private:
  std::map<uint64_t, OperationSet> before_;
  OperationSet settled_;  // the host waited for these
};

}  // namespace kernelsmith::checkers
