#include "vgpu/block_interaction.h"

#include <algorithm>
#include <memory>
#include <unordered_set>
#include <vector>

#include "ptx/ptx.h"
#include "vgpu/ir.h"
#include "vgpu/memory.h"
#include "vgpu/module.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::vgpu {
namespace {

// Of the registers in the instruction's list: how many may be results, and from which on they may
// be sources.
struct ListParts {
  uint32_t results = 0;
  uint32_t first_source = 0;
};
ListParts PartsOfList(const Instruction& in) {
  switch (FactsOf(in.op).list) {
    case ListUse::k_:
    case ListUse::kSources:
      return {};
    case ListUse::kResults:
      return {.results = in.list_count, .first_source = in.list_count};
    case ListUse::kBoth:
      return {.results = in.width, .first_source = in.width};
    case ListUse::kSums:
      return {.results = in.width};
    case ListUse::kMixed:
      return {.results = in.list_count};
  }
  return {};
}

// Whether visit(operand) is true for anything that the instruction reads.
template <typename Visit>
bool AnySource(const Function& function, const Instruction& in, const Visit& visit) {
  for (const Operand operand : {in.a, in.b, in.c, in.e, in.guard}) {
    if (operand.exists() && visit(operand)) return true;
  }
  for (uint32_t k = PartsOfList(in).first_source; k < in.list_count; ++k) {
    if (visit(function.list[in.list_first + k])) return true;
  }
  return false;
}

// Whether what the instruction learns of other threads decides something: it reaches a branch, or
// memory, from where it could. A sum whose old value nobody looks at waits for nobody.
bool Decides(const Function& function, const Instruction& source) {
  if (!source.d.exists() && source.list_count == 0) return true;  // a pause
  std::unordered_set<uint32_t> known;
  const auto add_results = [&](const Instruction& in) {
    bool any = false;
    const auto add = [&](Operand operand) {
      if (operand.exists() && known.insert(operand.raw).second) any = true;
    };
    add(in.d);
    add(in.d2);
    for (uint32_t k = 0; k < PartsOfList(in).results; ++k) add(function.list[in.list_first + k]);
    return any;
  };
  add_results(source);
  for (bool more = true; more;) {
    more = false;
    for (const Instruction& in : function.code) {
      const bool reads =
          AnySource(function, in, [&](Operand operand) { return known.contains(operand.raw); });
      if (!reads) continue;
      if (in.control || WritesMemory(in.op)) return true;
      more = add_results(in) || more;
    }
  }
  return false;
}

// Is the register written anywhere read?
bool IsRead(const Function& function, Operand reg) {
  return std::any_of(function.code.begin(), function.code.end(), [&](const Instruction& in) {
    return AnySource(function, in, [&](Operand operand) { return operand == reg; });
  });
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

// A load, store or atomic by which threads may meet. Mbarriers and bulk copies are strong as well,
// but what they order is within the block.
bool IsStrongAccess(const Instruction& in) { return in.is_volatile && IsLaneAccess(in.op); }

// May what the instruction leaves in memory, or what it reads there, depend on when it is done?
bool OrderShows(const Function& function, const Instruction& in) {
  if (IsAtomic(in.op)) {
    if (in.op == Op::kAtomVector) return true;  // sums of floats
    if (in.d.exists() && IsRead(function, in.d)) return true;
    return !Commutes(static_cast<AtomicOp>(in.variant), in.type);
  }
  // The type of a tensor's elements is known only when it runs.
  if (const BulkInfo* info = ReductionOf(function, in)) {
    return info->type == ptx::Type::kNone || !Commutes(info->reduce, info->type);
  }
  return IsStrongAccess(in);
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
    if (IsStrongAccess(in) || ReductionOf(function, in) != nullptr) {
      result->blocks_share_memory = true;
    }
    // What is strong hands on what was written before it, as fences do.
    if (in.op == Op::kFence || in.is_volatile) result->has_fences = true;
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
