#include "vgpu/block_interaction.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_set>
#include <vector>

#include "ptx/ptx.h"
#include "vgpu/ir.h"
#include "vgpu/memory.h"
#include "vgpu/module.h"

namespace kernelsmith::vgpu {
namespace {

bool HasMemoryEffect(Op op) {
  return op == Op::kStore || op == Op::kRed || op == Op::kAtom || op == Op::kAtomVector ||
         op == Op::kCall;
}

// Whether what the instruction learns of other threads decides something: it reaches a branch, or
// memory, from where it could. A sum whose old value nobody looks at waits for nobody.
bool Decides(const Function& function, const Instruction& source) {
  if (!source.d.exists() && source.list_count == 0) return true;  // a pause
  std::unordered_set<uint32_t> known;
  const auto add = [&](Operand operand) {
    return operand.exists() && known.insert(operand.raw).second;
  };
  const auto add_results = [&](const Instruction& in) {
    bool any = add(in.d);
    any = add(in.d2) || any;
    if (in.op != Op::kLoad && in.op != Op::kAtomVector) return any;
    for (uint32_t k = 0; k < in.list_count; ++k) any = add(function.list[in.list_first + k]) || any;
    return any;
  };
  const auto reads = [&](const Instruction& in) {
    const std::array<Operand, 5> operands{in.a, in.b, in.c, in.e, in.guard};
    const auto is_known = [&](Operand each) { return each.exists() && known.contains(each.raw); };
    if (std::any_of(operands.begin(), operands.end(), is_known)) return true;
    if (in.op == Op::kLoad) return false;  // its list are results
    for (uint32_t k = 0; k < in.list_count; ++k) {
      if (is_known(function.list[in.list_first + k])) return true;
    }
    return false;
  };
  add_results(source);
  for (bool more = true; more;) {
    more = false;
    for (const Instruction& in : function.code) {
      if (!reads(in)) continue;
      if (in.control || HasMemoryEffect(in.op)) return true;
      more = add_results(in) || more;
    }
  }
  return false;
}

// Is the register written anywhere read?
bool IsRead(const Function& function, Operand reg) {
  for (const Instruction& in : function.code) {
    if (in.a == reg || in.b == reg || in.c == reg || in.e == reg || in.guard == reg) return true;
    for (uint32_t i = 0; i < in.list_count; ++i) {
      // Elements of loads are written, but which are which does not matter here.
      if (in.op != Op::kLoad && function.list[in.list_first + i] == reg) return true;
    }
  }
  return false;
}

// Whether memory is the same in whatever order the operation is done several times. Sums of floats
// are not, nor is the smaller of two zeros.
bool Commutes(AtomicOp op, ptx::Type type) {
  switch (op) {
    case AtomicOp::kAdd:
    case AtomicOp::kMin:
    case AtomicOp::kMax:
    case AtomicOp::kAnd:
    case AtomicOp::kOr:
    case AtomicOp::kXor:
      return !ptx::IsFloat(type);
    case AtomicOp::kInc:  // their limits may differ
    case AtomicOp::kDec:
    case AtomicOp::kExch:
    case AtomicOp::kCas:
      return false;
  }
  return false;
}

// The instruction is a reduction by the copy engine: cp.reduce.async.bulk.
const BulkInfo* ReductionOf(const Function& function, const Instruction& in) {
  if (in.op != Op::kBulkCopy) return nullptr;
  const BulkInfo& info = function.bulks[in.target];
  return info.reduces ? &info : nullptr;
}

// May what the instruction leaves in memory, or what it reads there, depend on when it is done?
bool OrderShows(const Function& function, const Instruction& in) {
  if (in.op == Op::kAtom || in.op == Op::kRed) {
    if (in.op == Op::kAtom && in.d.exists() && IsRead(function, in.d)) return true;
    return !Commutes(static_cast<AtomicOp>(in.variant), in.type);
  }
  // The type of a tensor's elements is known only when it runs.
  if (const BulkInfo* info = ReductionOf(function, in)) {
    return info->type == ptx::Type::kNone || !Commutes(info->reduce, info->type);
  }
  return in.op == Op::kAtomVector || in.is_volatile;
}

// One function's part of the analysis.
void Analyse(const Kernel& kernel, uint32_t number, BlockInteraction* result) {
  const Function& function = *kernel.functions[number];
  for (const CallSite& call : function.calls) {
    if (call.system != 0 || call.callee == nullptr) result->order_of_blocks_shows = true;
  }
  const bool known = result->order_of_threads_shows.has_value();
  size_t loops_to = function.code.size();  // the first that the code behind can go back to
  for (size_t i = function.code.size(); i-- > 0;) {
    const Instruction& in = function.code[i];
    if (in.op == Op::kBra) loops_to = std::min<size_t>(loops_to, in.target);
    if (in.op == Op::kBrxIdx) loops_to = 0;
    // Functions may be called in a loop.
    const bool in_loop = loops_to <= i || &function != kernel.entry;
    if (in.waits && in_loop && !result->blocks_wait) result->blocks_wait = Decides(function, in);
    if (in.is_volatile || ReductionOf(function, in) != nullptr) result->blocks_share_memory = true;
    if (in.op == Op::kFence) result->has_fences = true;
    if (in.waits) result->order_of_blocks_shows = true;
    if (!OrderShows(function, in)) continue;
    result->order_of_blocks_shows = true;
    if (!known) {
      result->order_of_threads_shows = {.function = number,
                                        .instruction = static_cast<uint32_t>(i)};
    }
  }
}

}  // namespace

BlockInteraction AnalyseInteraction(const Kernel& kernel) {
  BlockInteraction result;
  for (uint32_t i = 0; i < kernel.functions.size(); ++i) Analyse(kernel, i, &result);
  return result;
}

BlockInteraction InteractionOf(const Kernel& kernel, bool resident_together) {
  BlockInteraction result = kernel.interaction;
  result.blocks_wait |= resident_together;
  result.blocks_share_memory |= resident_together;
  result.order_of_blocks_shows |= resident_together;
  return result;
}

Result<BlockInteraction> InteractionIn(const std::string& ptx, std::string_view entry,
                                       bool resident_together) {
  KS_TRY(const std::unique_ptr<DeviceMemory> memory, DeviceMemory::Create({}));
  KS_TRY(ptx::Module parsed, ptx::Parse(ptx, "module.ptx"));
  KS_TRY(const std::unique_ptr<LoadedModule> module,
         LoadedModule::Load({std::make_shared<const ptx::Module>(std::move(parsed))}, *memory,
                            "module.ptx"));
  KS_TRY(const Kernel* kernel, module->Prepare(entry));
  return InteractionOf(*kernel, resident_together);
}

}  // namespace kernelsmith::vgpu
