#include "vgpu/block_waits.h"

#include <algorithm>
#include <array>
#include <unordered_set>

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

}  // namespace

bool BlocksMayWait(const LaunchState& launch) {
  if (launch.request.cooperative || launch.request.cluster.Count() > 1) return true;
  for (const auto& function : launch.kernel->functions) {
    const std::vector<Instruction>& code = function->code;
    size_t loops_to = code.size();  // the first instruction that the code behind can go back to
    for (size_t i = code.size(); i-- > 0;) {
      const Instruction& in = code[i];
      if (in.op == Op::kBra) loops_to = std::min<size_t>(loops_to, in.target);
      if (in.op == Op::kBrxIdx) loops_to = 0;
      // Functions may be called in a loop.
      const bool in_loop = loops_to <= i || function.get() != launch.kernel->entry;
      if (in.waits && in_loop && Decides(*function, in)) return true;
    }
  }
  return false;
}

}  // namespace kernelsmith::vgpu
