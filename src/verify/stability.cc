#include "verify/stability.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "algebra/equivalence.h"
#include "candidate/call.h"
#include "vgpu/observer.h"
#include "vgpu/op_facts.h"

namespace kernelsmith {
namespace {

// Running error bounds are first-order and approximate functions are off by a few units: far more
// than those, far less than another formula.
constexpr double kRoom = 256;

}  // namespace

void OverflowObserver::AfterInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in,
                                        uint32_t mask) {
  if (overflowed || !in.d.exists() || in.d.is_predicate()) return;
  uint64_t exponent = 0;
  if (in.type == ptx::Type::kF32) exponent = 0x7f800000;
  if (in.type == ptx::Type::kF64) exponent = 0x7ff0000000000000;
  if (in.type == ptx::Type::kF16) exponent = 0x7c00;
  if (in.type == ptx::Type::kBf16) exponent = 0x7f80;
  if (exponent == 0) return;
  // They make nothing new: the start of a maximum is minus infinity.
  if (vgpu::FactsOf(in.op).memory == vgpu::MemoryUse::kRead || in.op == vgpu::Op::kMin ||
      in.op == vgpu::Op::kMax || in.op == vgpu::Op::kMov || in.op == vgpu::Op::kSelp) {
    return;
  }
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    if ((warp.ReadOperand(in.d, std::countr_zero(rest)) & exponent) == exponent) {
      overflowed = true;
    }
  }
}

bool BeyondRounding(const ExpectedOutput& wanted, const Tensor<Symbolic>& got, double eps) {
  const double rms = wanted.Rms();
  for (int64_t k = 0; k < got.count(); ++k) {
    const double exact = wanted.exact[static_cast<size_t>(k)];
    const double error = std::abs(got[k].v - exact);
    const double size = std::max(std::abs(exact), rms);
    const double explained = kRoom * eps * (static_cast<double>(got[k].m) + std::abs(exact));
    // Comparisons with a NaN are false: what is not known explains everything.
    if (error > std::max(1e-3, 32 * eps) * size && error > explained) return true;
  }
  return false;
}

Result<bool> ComputesSomethingElse(const Verification& verification, const TracedShape& traced,
                                   const Case& sample) {
  if (!verification.options.algebra) return false;
  OverflowObserver finite;
  KS_TRY(const CaseOutcome plain, verification.Judge(traced, sample, {.observer = &finite}));
  if (finite.overflowed || plain.run.failure) return false;
  const Result<std::string> ptx = verification.candidate.VisibleMath();
  if (!ptx.ok()) return false;
  KS_TRY(const std::vector<CallArgument> arguments, MakeCallArguments(traced.task, sample.tensors));
  SymbolicRunRequest request{.plan = &traced.plan(),
                             .ptx = *ptx,
                             .ptx_name = verification.compiled().ptx_path.string(),
                             .inputs = FlattenTensors(arguments),
                             .first_input = {},
                             .poison_seed = sample.seed | 1};
  uint64_t next = 0;
  for (const CallArgument* tensor : request.inputs) {
    request.first_input.push_back(next);
    next += static_cast<uint64_t>(tensor->tensor.count());
  }
  const Algebra algebra(sample.seed);
  const AlgebraScope scope(&algebra);
  const Result<SymbolicRun> run = RunSymbolically(request, algebra, verification.tools.device);
  if (!run.ok() || run->failure) return false;
  KS_TRY(const std::vector<ExpectedOutput> expected,
         ExpectedOutputs(traced.graph, sample.tensors, traced.task.results));
  for (size_t i = 0; i < expected.size() && i < run->outputs.size(); ++i) {
    const ExpectedOutput& wanted = expected[i];
    const Tensor<Symbolic>& got = run->outputs[i];
    if (!IsFloat(wanted.dtype) || got.shape != wanted.shape) continue;
    const double eps = std::max(UnitRoundoff(wanted.dtype), verification.AllowedEpsilon());
    if (BeyondRounding(wanted, got, eps)) return true;
  }
  return false;
}

}  // namespace kernelsmith
