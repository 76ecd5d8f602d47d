// Recording, and what people read of it.

#include "vgpu/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <filesystem>
#include <numeric>

#include "support/check.h"
#include "vgpu/coverage_map.h"
#include "vgpu/op_facts.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

size_t CoverageRecord::CountCovered() const {
  return std::accumulate(words_.begin(), words_.end(), size_t{0}, [](size_t sum, uint64_t word) {
    return sum + static_cast<size_t>(std::popcount(word));
  });
}

bool CoverageRecord::Merge(const CoverageRecord& other) {
  if (other.items_ == 0) return false;
  Prepare(other.items_);
  bool fresh = false;
  for (size_t i = 0; i < words_.size(); ++i) {
    fresh |= (other.words_[i] & ~words_[i]) != 0;
    words_[i] |= other.words_[i];
  }
  return fresh;
}

void CoverageRecord::Prepare(size_t items) {
  KS_CHECK(items_ == 0 || items_ == items);  // a record belongs to one kernel
  items_ = items;
  words_.resize((items + 63) / 64);
}

void CoverageRecord::Add(const uint32_t* done) {
  for (size_t first = 0; first < items_; first += 64) {
    uint64_t word = 0;
    for (size_t i = first; i < std::min(first + 64, items_); ++i) {
      word |= uint64_t{done[i] != 0} << (i - first);
    }
    if (word != 0) {
      std::atomic_ref(words_[first / 64]).fetch_or(word, std::memory_order_relaxed);
    }
  }
}

// ---- the interpreter

void CoverEdge(Warp& w, const Function& code, uint32_t from, uint32_t to, uint32_t lanes) {
  if (lanes == 0) return;
  const CoverageMap& map = *w.launch->coverage_map;
  const FunctionCoverage& function = map.functions[code.number];
  if (!function.ends_block[from]) return;
  const CoverageEdge* edge = function.FindEdge(from, to);
  if (edge == nullptr) return;
  uint32_t* done = w.launch->coverage;
  if (edge->item != kNoItem) done[edge->item] |= lanes;
  for (const uint32_t number : edge->left) {
    uint32_t& once = w.loops[2 * number];
    uint32_t& often = w.loops[2 * number + 1];
    uint32_t* items = done + map.loops[number].item;
    items[0] |= lanes & ~once;
    items[1] |= lanes & once & ~often;
    items[2] |= lanes & often;
    once &= ~lanes;
    often &= ~lanes;
  }
  if (edge->back == kNoItem) return;
  uint32_t& once = w.loops[2 * edge->back];
  w.loops[2 * edge->back + 1] |= once & lanes;
  once |= lanes;
}

void CoverInstruction(Warp& w, const Instruction& in, uint32_t mask) {
  const FunctionCoverage& function = w.launch->coverage_map->functions[w.function().number];
  const FunctionCoverage::Step& step = function.steps[w.pc];
  uint32_t* done = w.launch->coverage;
  if (step.guard != kNoItem) {
    done[step.guard] |= mask;
    done[step.guard + 1] |= w.active & ~mask;
  }
  if (step.condition != kNoItem) {
    const uint32_t chosen = w.Predicate(in.c) ^ (in.negate_c ? kFullMask : 0);
    done[step.condition] |= mask & chosen;
    done[step.condition + 1] |= mask & ~chosen;
  }
  if (!function.ends_block[w.pc]) return;
  const uint32_t others = w.active & ~mask;
  switch (in.op) {
    case Op::kBra:
      CoverEdge(w, w.function(), w.pc, in.target, mask);
      return CoverEdge(w, w.function(), w.pc, w.pc + 1, others);
    case Op::kBrxIdx: {
      const auto& targets = w.function().branch_targets[in.target];
      const uint32_t* index = w.Lanes<uint32_t>(in.a);
      for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        if (index[lane] < targets.size())
          CoverEdge(w, w.function(), w.pc, targets[index[lane]], 1u << lane);
      }
      return CoverEdge(w, w.function(), w.pc, w.pc + 1, others);
    }
    case Op::kRet:
    case Op::kExit:
      CoverEdge(w, w.function(), w.pc, FunctionCoverage::kEnd, mask);
      return CoverEdge(w, w.function(), w.pc, w.pc + 1, others);
    case Op::kTrap:
      return;
    default:
      // Lanes that wait for one another go on when they have met: see Synchronise.
      if (in.control && !EndsBlock(in.op) && mask != 0) return;
      return CoverEdge(w, w.function(), w.pc, w.pc + 1, w.active);
  }
}

// ---- for people

namespace {

std::string PlaceOf(const CoverageItem& item) {
  const SourceLocation& at = item.source.file.empty() ? item.ptx : item.source;
  if (at.line == 0) return "line ?";
  // Its name is enough, and the folder may be one that compilers had for themselves.
  return fmt::format("{}:{}", std::filesystem::path(at.file).filename().string(), at.line);
}

CoverageItem ItemAt(const Function& function, uint32_t pc, uint32_t number, CoverageKind kind) {
  const Instruction& in = function.code[pc];
  return {.number = number,
          .kind = kind,
          .function = function.name,
          .pc = pc,
          .ptx = PtxLocationOf(function, in),
          .source = SourceLocationOf(function, in),
          .words = {}};
}

const char* LoopWords(CoverageKind kind, bool first) {
  switch (kind) {
    case CoverageKind::kLoopNever:
      return first ? "does not run" : "runs once";
    case CoverageKind::kLoopOnce:
      return first ? "runs once" : "runs twice";
    default:
      return first ? "runs more than once" : "runs more than twice";
  }
}

}  // namespace

std::vector<CoverageItem> CoverageItems(const Kernel& kernel) {
  const CoverageMap& map = CoverageMapOf(kernel);
  std::vector<CoverageItem> items(map.items);
  for (const auto& function : kernel.functions) {
    const FunctionCoverage& own = map.functions[function->number];
    const auto sides = [&](uint32_t pc, uint32_t first, const char* yes, const char* no) {
      if (first == kNoItem) return;
      for (const bool side : {true, false}) {
        const uint32_t number = first + (side ? 0 : 1);
        CoverageItem item =
            ItemAt(*function, pc, number, side ? CoverageKind::kTrue : CoverageKind::kFalse);
        item.words = fmt::format("`{}` at {} {}", TextOf(*function, function->code[pc]),
                                 PlaceOf(item), side ? yes : no);
        items[number] = std::move(item);
      }
    };
    for (uint32_t pc = 0; pc < own.steps.size(); ++pc) {
      const bool branch = function->code[pc].op == Op::kBra;
      sides(pc, own.steps[pc].guard, branch ? "is taken" : "is executed",
            branch ? "is not taken" : "is skipped");
      sides(pc, own.steps[pc].condition, "chooses its first operand", "chooses its second operand");
    }
    for (const auto& [way, edge] : own.edges) {
      if (edge.item == kNoItem) continue;
      CoverageItem item = ItemAt(*function, way.first, edge.item, CoverageKind::kEdge);
      const CoverageItem to = ItemAt(*function, way.second, edge.item, CoverageKind::kEdge);
      item.words = fmt::format("control goes on from {} to {}", PlaceOf(item), PlaceOf(to));
      items[edge.item] = std::move(item);
    }
  }
  for (const CoverageLoop& loop : map.loops) {
    const Function& function = *kernel.functions[loop.function];
    for (const CoverageKind kind :
         {CoverageKind::kLoopNever, CoverageKind::kLoopOnce, CoverageKind::kLoopMany}) {
      const uint32_t number =
          loop.item + static_cast<uint32_t>(kind) - static_cast<uint32_t>(CoverageKind::kLoopNever);
      CoverageItem item = ItemAt(function, loop.head, number, kind);
      item.words = fmt::format("the loop at {} {}", PlaceOf(item), LoopWords(kind, loop.first));
      items[number] = std::move(item);
    }
  }
  return items;
}

}  // namespace kernelsmith::vgpu
