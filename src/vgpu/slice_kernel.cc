#include "vgpu/slice_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "vgpu/handlers/handlers.h"
#include "vgpu/op_facts.h"
#include "vgpu/touch.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

// Why kernels with such an instruction can't be sliced; null: they can.
const char* WhyNot(const Instruction& in) {
  if (in.op == Op::kWgmma || in.op == Op::kBulkCopy || IsTexture(in.op) || IsAboutClusters(in.op)) {
    return "it has instructions about clusters, tensors or textures";
  }
  switch (in.op) {
    case Op::kCall:
      return "it calls functions";
    case Op::kMbarrier:
      return "it has mbarriers";
    case Op::kAlloca:
    case Op::kStackSave:
    case Op::kStackRestore:
      return "it has a stack";
    default:
      return nullptr;
  }
}

// The memory that an access may touch.
struct Spaces {
  bool shared = false;
  bool local = false;
  bool global = false;

  bool Meets(const Spaces& other) const {
    return (shared && other.shared) || (local && other.local) || (global && other.global);
  }
};

Spaces SpacesOf(const Instruction& in) {
  if (in.address == AddressBase::kFrame) return {.local = true};
  if (in.address == AddressBase::kParameters) return {};  // nobody writes there
  switch (in.space) {
    case MemorySpace::kShared:
      return {.shared = true};
    case MemorySpace::kLocal:
      return {.local = true};
    case MemorySpace::kGlobal:
      return {.global = true};
    case MemorySpace::kGeneric:
      break;
  }
  return {.shared = true, .local = true, .global = true};
}

class Slicer {
 public:
  Slicer(const Function& function, SliceStores stores)
      : function_(function), size_(static_cast<uint32_t>(function.code.size())) {
    wanted_.global = stores == SliceStores::kMade;
    skipped_.resize(size_);
  }

  void Run() {
    FindBlocks();
    // Without what a branch would skip, it decides nothing; neither does what its guard is made of.
    do {
      FindNeeded();
    } while (SkipEmptyBranches());
  }

  // Writes the slice; returns how many of the kernel's instructions it has.
  uint32_t Build(Function& to) const {
    uint32_t kept = 0;
    std::vector<uint32_t> moved(size_ + 1);
    to.code.clear();
    for (uint32_t pc = 0; pc < size_; ++pc) {
      moved[pc] = static_cast<uint32_t>(to.code.size());
      if (marks_[pc]) {
        to.code.push_back(MarkOf(function_.code[pc]));
        to.code.back().variant = needed_[pc] ? kMarkOfMade : 0;
      }
      if (needed_[pc]) to.code.push_back(function_.code[pc]);
      kept += marks_[pc] || needed_[pc] ? 1 : 0;
    }
    moved[size_] = static_cast<uint32_t>(to.code.size());
    for (Instruction& in : to.code) {
      if (in.op == Op::kBra) in.target = moved[in.target];
    }
    for (std::vector<uint32_t>& targets : to.branch_targets) {
      for (uint32_t& target : targets) target = moved[target];
    }
    return kept;
  }

  bool uses_shared() const { return uses_shared_; }
  bool has_atomics() const { return has_atomics_; }
  // Something that is kept may read what another thread writes, or waits for it.
  bool waits() const { return waits_; }

 private:
  struct Block {
    uint32_t first = 0;
    uint32_t last = 0;  // one behind
    std::vector<uint32_t> next;
    std::vector<bool> live;  // by place, at its beginning
  };

  bool Guarded(const Instruction& in) const {
    if (in.guard.base() != OperandBase::kConstant) return true;
    uint32_t word;
    std::memcpy(&word, function_.ConstantData() + in.guard.offset(), sizeof word);
    return in.guard_negated ? word != 0 : word != kFullMask;
  }

  void FindBlocks() {
    std::vector<bool> starts(size_ + 1);
    starts[0] = true;
    touched_.resize(size_);
    for (uint32_t pc = 0; pc < size_; ++pc) {
      const Instruction& in = function_.code[pc];
      if (in.op == Op::kBra) starts[in.target] = true;
      if (in.op == Op::kBrxIdx) {
        for (const uint32_t target : function_.branch_targets[in.target]) starts[target] = true;
      }
      if (EndsBlock(in.op)) starts[pc + 1] = true;
      ForEachTouch(in, function_.list, Guarded(in), [&](Operand operand, Touch touch) {
        touched_[pc].emplace_back(PlaceOf(operand), touch);
      });
    }
    std::vector<uint32_t> block_of(size_);
    for (uint32_t pc = 0; pc < size_; ++pc) {
      if (starts[pc]) blocks_.push_back({.first = pc});
      block_of[pc] = static_cast<uint32_t>(blocks_.size() - 1);
      blocks_.back().last = pc + 1;
    }
    for (Block& block : blocks_) {
      const Instruction& in = function_.code[block.last - 1];
      if ((!LeavesSequence(in.op) || Guarded(in)) && block.last < size_) {
        block.next.push_back(block_of[block.last]);
      }
      if (in.op == Op::kBra) block.next.push_back(block_of[in.target]);
      if (in.op == Op::kBrxIdx) {
        for (const uint32_t target : function_.branch_targets[in.target]) {
          block.next.push_back(block_of[target]);
        }
      }
    }
  }

  uint32_t PlaceOf(Operand operand) {
    return places_.try_emplace(operand.offset(), static_cast<uint32_t>(places_.size()))
        .first->second;
  }

  // What a slice has whatever becomes of its results.
  bool IsRoot(const Instruction& in) const {
    if (in.op == Op::kBarrier || in.op == Op::kBarWarpSync || in.op == Op::kFence ||
        in.op == Op::kAsyncGroup) {
      return meets_;
    }
    if (EndsBlock(in.op)) return true;
    return WritesMemory(in.op) && WrittenBy(in).Meets(wanted_);
  }

  static Spaces WrittenBy(const Instruction& in) {
    return in.op == Op::kCpAsync ? Spaces{.shared = true} : SpacesOf(in);
  }

  // Something that is kept reads memory: what may have written it must be kept.
  void Want(const Instruction& in) {
    if (!ReadsMemory(in.op)) return;
    const bool copy = in.op == Op::kCpAsync;
    const Spaces read = copy ? Spaces{.global = true} : SpacesOf(in);
    const auto set = [&](bool& flag, bool now) {
      if (now && !flag) flag = changed_ = true;
    };
    set(wanted_.shared, read.shared);
    set(wanted_.local, read.local);
    // Whether global memory matters is the caller's business: see SliceStores.
    const bool atomic = IsAtomic(in.op);
    set(meets_, read.shared || atomic || (wanted_.global && read.global));
    set(uses_shared_, read.shared || copy);
    set(has_atomics_, atomic && read.global);
    set(waits_, read.global && (in.waits || in.is_volatile) && !atomic);
  }

  // From the end to the beginning, as liveness, but only what is needed makes its sources live.
  // Nothing is ever taken back, so it ends.
  void FindNeeded() {
    needed_.assign(size_, false);
    marks_.assign(size_, false);
    const bool global = wanted_.global;
    wanted_ = {.global = global};
    meets_ = uses_shared_ = has_atomics_ = waits_ = false;
    for (Block& block : blocks_) block.live.assign(places_.size(), false);
    for (changed_ = true; changed_;) {
      changed_ = false;
      for (size_t b = blocks_.size(); b-- > 0;) StepBack(blocks_[b]);
    }
  }

  void StepBack(Block& block) {
    std::vector<bool> live(places_.size());
    for (const uint32_t next : block.next) {
      for (size_t i = 0; i < live.size(); ++i) live[i] = live[i] || blocks_[next].live[i];
    }
    for (uint32_t pc = block.last; pc-- > block.first;) {
      const Instruction& in = function_.code[pc];
      if (skipped_[pc]) continue;
      const bool writes_live =
          std::any_of(touched_[pc].begin(), touched_[pc].end(),
                      [&](const auto& t) { return t.second != Touch::kRead && live[t.first]; });
      const bool needed = needed_[pc] || writes_live || IsRoot(in);
      if (needed && !needed_[pc]) {
        needed_[pc] = changed_ = true;
        Want(in);
      }
      if (WritesMemory(in.op) && WrittenBy(in).global) marks_[pc] = true;
      // A mark by a generic address may be one of shared memory.
      if ((needed || marks_[pc]) && WritesMemory(in.op) && WrittenBy(in).shared) {
        uses_shared_ = true;
      }
      if (needed) {
        for (const auto& [place, touch] : touched_[pc]) {
          if (touch == Touch::kWrite) live[place] = false;
        }
        for (const auto& [place, touch] : touched_[pc]) {
          if (touch != Touch::kWrite) live[place] = true;
        }
      } else if (marks_[pc]) {
        const Instruction mark = MarkOf(in);
        ForEachTouch(mark, function_.list, false,
                     [&](Operand operand, Touch) { live[PlaceOf(operand)] = true; });
      }
    }
    if (live == block.live) return;
    block.live = std::move(live);
    changed_ = true;
  }

  bool SkipEmptyBranches() {
    bool some = false;
    for (uint32_t pc = 0; pc < size_; ++pc) {
      const Instruction& in = function_.code[pc];
      if (in.op != Op::kBra || skipped_[pc] || in.target <= pc) continue;
      bool empty = true;
      for (uint32_t at = pc + 1; at < in.target; ++at) empty &= !needed_[at] && !marks_[at];
      if (empty) skipped_[pc] = some = true;
    }
    return some;
  }

  static Instruction MarkOf(const Instruction& in) {
    Instruction mark = in;
    const bool fragment = in.op == Op::kWmmaStore;
    mark.op = fragment ? Op::kMarkFragment : Op::kMark;
    mark.handler = FindMarkHandler(mark);
    mark.d = mark.d2 = mark.c = Operand{};
    if (!fragment) mark.b = mark.e = Operand{};
    mark.list_count = 0;
    mark.waits = mark.is_volatile = mark.index = false;
    return mark;
  }

  const Function& function_;
  uint32_t size_;
  std::vector<Block> blocks_;
  std::map<uint32_t, uint32_t> places_;  // by the operand's offset
  std::vector<std::vector<std::pair<uint32_t, Touch>>> touched_;
  std::vector<bool> skipped_;  // branches over nothing
  std::vector<bool> needed_;
  std::vector<bool> marks_;
  Spaces wanted_;  // memory whose contents matter
  bool meets_ = false;
  bool uses_shared_ = false;
  bool has_atomics_ = false;
  bool waits_ = false;
  bool changed_ = false;
};

bool ReadsSharedSize(const Function& function) {
  const auto is_size = [](Operand operand) {
    return operand.exists() && operand.base() == OperandBase::kSpecial &&
           operand.offset() / (kWarpSize * sizeof(uint32_t)) ==
               static_cast<uint32_t>(Special::kTotalSmemSize);
  };
  return std::any_of(function.code.begin(), function.code.end(), [&](const Instruction& in) {
    return is_size(in.a) || is_size(in.b) || is_size(in.c) || is_size(in.e);
  });
}

}  // namespace

KernelSlice SliceKernel(const Kernel& kernel, SliceStores stores) {
  KernelSlice slice{.stores = stores};
  const Function& entry = *kernel.entry;
  for (const Instruction& in : entry.code) {
    if (const char* why = WhyNot(in)) {
      slice.why = why;
      return slice;
    }
  }
  // A loop that waits for a store must see it.
  if (kernel.interaction.blocks_wait) slice.stores = SliceStores::kMade;
  auto slicer = std::make_unique<Slicer>(entry, slice.stores);
  slicer->Run();
  if (slicer->waits() && slice.stores == SliceStores::kMarked) {
    slice.stores = SliceStores::kMade;
    slicer = std::make_unique<Slicer>(entry, slice.stores);
    slicer->Run();
  }
  slice.kernel = std::make_unique<Kernel>();
  Kernel& own = *slice.kernel;
  own.functions.push_back(std::make_unique<Function>(entry));
  Function& function = *own.functions[0];
  function.constants.clear();  // constant_data points to those of the kernel
  const uint32_t kept = slicer->Build(function);
  own.entry = &function;
  own.static_shared_bytes = kernel.static_shared_bytes;
  own.dynamic_shared_offset = kernel.dynamic_shared_offset;
  own.local_bytes = kernel.local_bytes;
  own.bounded_stack = kernel.bounded_stack;
  own.interaction = AnalyseInteraction(own);
  slice.uses_shared = slicer->uses_shared() || ReadsSharedSize(function);
  slice.has_atomics = slicer->has_atomics();
  slice.share = static_cast<double>(kept) / static_cast<double>(entry.code.size());
  return slice;
}

}  // namespace kernelsmith::vgpu
