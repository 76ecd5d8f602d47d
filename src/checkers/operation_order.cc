#include "checkers/operation_order.h"

#include <algorithm>

namespace kernelsmith::checkers {

void OperationSet::AddRun(uint64_t first, uint64_t end) {
  auto it = runs_.upper_bound(first);
  if (it != runs_.begin() && std::prev(it)->second >= first) {
    --it;
    first = it->first;
  }
  while (it != runs_.end() && it->first <= end) {
    end = std::max(end, it->second);
    it = runs_.erase(it);
  }
  runs_[first] = end;
}

void OperationSet::Add(const OperationSet& other) {
  for (const auto& [first, end] : other.runs_) AddRun(first, end);
}

bool OperationSet::Contains(uint64_t operation) const {
  const auto it = runs_.upper_bound(operation);
  return it != runs_.begin() && std::prev(it)->second > operation;
}

bool OperationSet::ContainsAll(const OperationSet& other) const {
  for (const auto& [first, end] : other.runs_) {
    const auto it = runs_.upper_bound(first);
    if (it == runs_.begin() || std::prev(it)->second < end) return false;
  }
  return true;
}

void OperationOrder::Submit(uint64_t operation, std::span<const uint64_t> after) {
  OperationSet before = settled_;
  for (const uint64_t other : after) {
    before.Add(other);
    before.Add(Before(other));
  }
  before_[operation] = std::move(before);
}

void OperationOrder::HostWait(std::span<const uint64_t> operations) {
  for (const uint64_t operation : operations) {
    settled_.Add(Before(operation));
    settled_.Add(operation);
  }
}

const OperationSet& OperationOrder::Before(uint64_t operation) const {
  const auto it = before_.find(operation);
  return it != before_.end() ? it->second : settled_;
}

}  // namespace kernelsmith::checkers
