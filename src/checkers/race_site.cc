#include "checkers/race_site.h"

#include <algorithm>
#include <vector>

#include "checkers/race_shadow.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::checkers {

using vgpu::MemoryUse;
using vgpu::Op;

namespace {

// Could a loop contain the instruction? Then it may be waiting for another thread.
bool IsInLoop(const vgpu::Function& function, const vgpu::Instruction& in) {
  const auto at = static_cast<uint32_t>(&in - function.code.data());
  for (uint32_t pc = at; pc < function.code.size(); ++pc) {
    const vgpu::Instruction& other = function.code[pc];
    if (other.op == Op::kBra && other.target <= at) return true;
    if (other.op != Op::kBrxIdx) continue;
    for (const uint32_t target : function.branch_targets[other.target]) {
      if (target <= at) return true;
    }
  }
  return false;
}

// The first guess of a loop with compare-and-swap may be stale or torn, the swap finds out: CUDA's
// guide makes other atomics from atomicCAS by `old = *address`.
bool IsGuessOfSwap(const vgpu::Function& function, const vgpu::Instruction& load) {
  std::vector<vgpu::Operand> holders{load.d};  // registers with the value
  const auto holds = [&](vgpu::Operand operand) {
    return operand.exists() && std::find(holders.begin(), holders.end(), operand) != holders.end();
  };
  for (const vgpu::Instruction* in = &load + 1;
       !holders.empty() && in < function.code.data() + function.code.size(); ++in) {
    if (in->op == Op::kAtom && static_cast<vgpu::AtomicOp>(in->variant) == vgpu::AtomicOp::kCas &&
        in->bytes == load.bytes && holds(in->b)) {
      return true;
    }
    if (in->op == Op::kMov && holds(in->a)) {
      holders.push_back(in->d);
    } else {
      std::erase(holders, in->d);
    }
  }
  return false;
}

}  // namespace

RaceSite MakeRaceSite(const std::string& kernel, const vgpu::Function& function,
                      const vgpu::Instruction& in, bool in_cluster) {
  RaceSite site;
  site.place = {.kernel = kernel,
                .source = vgpu::SourceLocationOf(function, in),
                .ptx = vgpu::PtxLocationOf(function, in),
                .instruction = vgpu::TextOf(function, in)};
  site.in_loop = IsInLoop(function, in);
  ptx::Semantics semantics = ptx::Semantics::kNone;
  ptx::Scope scope = ptx::Scope::kNone;
  ptx::Space space = ptx::Space::kNone;
  bool is_proxy_fence = false;
  if (const ptx::Instruction* syntax = function.locations[in.location].syntax; syntax != nullptr) {
    const ptx::Mnemonic& mnemonic = *syntax->mnemonic;
    semantics = mnemonic.semantics;
    scope = mnemonic.scope;
    space = mnemonic.SpaceAt(0);
    is_proxy_fence =
        syntax->opcode() == ptx::Opcode::kFenceProxy || mnemonic.Has(ptx::Modifier::kProxy);
  }
  switch (vgpu::FactsOf(in.op).memory) {
    case MemoryUse::kRead:
      site.reads = true;
      site.constant = space == ptx::Space::kConst;
      site.ignored = in.address == vgpu::AddressBase::kParameters ||
                     in.space == vgpu::MemorySpace::kLocal || space == ptx::Space::kConst ||
                     space == ptx::Space::kParam || space == ptx::Space::kParamEntry;
      break;
    case MemoryUse::kAtomic:
      site.reads = site.writes = site.is_atomic = true;
      break;
    case MemoryUse::kReduce:
      site.writes = site.is_atomic = true;
      break;
    case MemoryUse::kUpdate: {
      const auto op = static_cast<vgpu::MbarrierOp>(in.variant);
      site.writes = true;
      // Nobody may use it before it is made; inval comes after the last use by the barrier's count.
      site.is_atomic = op != vgpu::MbarrierOp::kInit;
      site.releases = op == vgpu::MbarrierOp::kArrive || op == vgpu::MbarrierOp::kArriveDrop ||
                      op == vgpu::MbarrierOp::kArriveExpect ||
                      op == vgpu::MbarrierOp::kArriveDropExpect;
      break;
    }
    case MemoryUse::kCopy:
      // Its source comes as a load of the same instruction.
      site.writes = true;
      if (in.op == Op::kCpAsync) {
        site.flags = Entry::kAsync | Entry::kPending;
      } else {
        // A write of the thread that issued it; its completion at the mbarrier makes it known.
        site.releases = true;
        site.bulk = in.e.exists();
      }
      break;
    case MemoryUse::kWrite:
      site.writes = true;
      site.ignored = in.space == vgpu::MemorySpace::kLocal;
      break;
    case MemoryUse::k_:  // a fence
      site.ignored = is_proxy_fence;
      break;
  }
  const bool strong = site.is_atomic || (in.is_volatile && in.op != Op::kMbarrier) ||
                      (in.op == Op::kLoad && IsGuessOfSwap(function, in));
  if (strong) site.flags |= Entry::kStrong;
  if (strong && semantics == ptx::Semantics::kVolatile) site.flags |= Entry::kVolatile;
  site.scope = scope == ptx::Scope::kCta ? SyncScope::kBlock : SyncScope::kDevice;
  if (in.op == Op::kMbarrier && !in_cluster) site.scope = SyncScope::kBlock;
  if (site.scope == SyncScope::kDevice) site.flags |= Entry::kDeviceScope;
  site.acquires = semantics == ptx::Semantics::kAcquire || semantics == ptx::Semantics::kAcqRel ||
                  semantics == ptx::Semantics::kSc;
  site.releases = site.releases || semantics == ptx::Semantics::kRelease ||
                  semantics == ptx::Semantics::kAcqRel || semantics == ptx::Semantics::kSc;
  return site;
}

}  // namespace kernelsmith::checkers
