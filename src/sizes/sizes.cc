#include "sizes/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "ptx/ptx.h"
#include "sizes/coverage.h"
#include "sizes/family.h"
#include "sizes/flow.h"
#include "sizes/run.h"
#include "vgpu/ir.h"
#include "vgpu/memory.h"
#include "vgpu/module.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::sizes {
namespace {

// Elements of a buffer that a proof is tried for. Where sums of indices need room above the last
// element, 32 bits are enough for a smaller count.
constexpr int64_t kCounts[] = {(int64_t{1} << 31) - 1, 2'000'000'000, 1'000'000'000,
                               int64_t{1} << 29, int64_t{1} << 24};
// See Prover::work: some tenths of a second.
constexpr uint64_t kMostWork = 200'000'000;

class KernelProof {
 public:
  KernelProof(const vgpu::Kernel& kernel, std::span<const TracedLaunch> launches,
              const std::vector<std::string>& names, int64_t most)
      : kernel_(*kernel.entry), prover_(symbols_), facts_(symbols_, prover_) {
    prover_.set_limit(kMostWork);
    family_ = FitFamily(kernel_, launches, names, most, symbols_, facts_);
    shared_bytes_ = SharedBytes(kernel, launches);
    proof_.most = most;
    proof_.domain = family_.domain;
    proof_.assumptions = family_.assumptions;
  }

  SizesProof Run() {
    const Result<Flow> flow = MakeFlow(kernel_);
    if (!flow.ok()) {
      proof_.why_not = flow.error().message();
      return std::move(proof_);
    }
    sizes::Run run(kernel_, *flow, symbols_, facts_, family_.values);
    run.Go([&](const State& state, const Access& access) { Visit(state, access); });
    if (!run.problem().empty()) {
      proof_.why_not = fmt::format("{}: {}", Place(run.problem_pc()), run.problem());
    } else if (prover_.exhausted()) {
      proof_.why_not = "it takes too long";
    }
    proof_.in_bounds = proof_.why_not.empty();
    proof_.shared_in_bounds = proof_.in_bounds && shared_in_bounds_;
    if (proof_.in_bounds) FindCovered();
    return std::move(proof_);
  }

 private:
  std::string Place(uint32_t pc) const {
    const vgpu::Instruction& in = kernel_.code[pc];
    const SourceLocation source = vgpu::SourceLocationOf(kernel_, in);
    const int line = source.line > 0 ? source.line : vgpu::PtxLocationOf(kernel_, in).line;
    return fmt::format("{} {}", source.line > 0 ? "line" : "PTX line", line);
  }

  void Visit(const State& state, const Access& access) {
    if (!proof_.why_not.empty()) return;
    if (access.shared) {
      shared_in_bounds_ = shared_in_bounds_ && InShared(state, access);
      return;
    }
    const std::string why = WhyNot(state, access);
    if (!why.empty()) proof_.why_not = fmt::format("{}: {}", Place(access.pc), why);
  }

  // Of all arrays together; nothing: it differs from launch to launch.
  static std::optional<Integer> SharedBytes(const vgpu::Kernel& kernel,
                                            std::span<const TracedLaunch> launches) {
    const uint32_t dynamic = launches[0].step->dynamic_shared;
    for (const TracedLaunch& each : launches) {
      if (each.step->dynamic_shared != dynamic) return std::nullopt;
    }
    return dynamic == 0 ? kernel.static_shared_bytes : kernel.dynamic_shared_offset + dynamic;
  }

  bool InShared(const State& state, const Access& access) {
    if (!shared_bytes_ || access.bytes == 0 || access.address.kind != Value::Kind::kNumber) {
      return false;
    }
    const Polynomial& address = access.address.number;
    return IsAligned(state, address, access.bytes) && facts_.Natural(state, address) &&
           facts_.Natural(state, Polynomial(*shared_bytes_ - access.bytes) - address);
  }

  // Whether the offset is a multiple of the access, perhaps because the rest of a division is 0.
  bool IsAligned(const State& state, const Polynomial& offset, Integer bytes) {
    return offset.DividedBy(bytes) || facts_.WithoutRests(state, offset).DividedBy(bytes);
  }

  std::string WhyNot(const State& state, const Access& access) {
    if (access.address.kind != Value::Kind::kNumber) {
      return facts_.ReasonText(access.address.reason);
    }
    const Polynomial& address = access.address.number;
    for (const auto& [symbol, target] : family_.targets) {
      if (!address.Has(symbol)) continue;
      const Polynomial offset = address - Polynomial::Of(symbol);
      if (offset.Has(symbol)) return "an address that is no pointer and an index";
      if (!target.bytes) {
        return fmt::format("the length of {} follows from nothing that the kernel gets",
                           target.name);
      }
      if (!target.aligned || !IsAligned(state, offset, access.bytes)) {
        return fmt::format("{}[{} bytes] may be misaligned", target.name, symbols_.Text(offset));
      }
      if (target.output) NoteStore(state, access, symbol, offset);
      if (!facts_.Natural(state, offset)) {
        return fmt::format("{}[{} bytes] may be in front of it", target.name,
                           symbols_.Text(offset));
      }
      const Polynomial room = *target.bytes - offset - Polynomial(access.bytes);
      if (!facts_.Natural(state, room)) {
        return fmt::format("{}[{} bytes] may be behind its {} bytes", target.name,
                           symbols_.Text(offset), symbols_.Text(*target.bytes));
      }
      return "";
    }
    return "an address that is of no pointer parameter";
  }

  void NoteStore(const State& state, const Access& access, Symbol symbol,
                 const Polynomial& offset) {
    const vgpu::Op op = kernel_.code[access.pc].op;
    if (!vgpu::WritesMemory(op) || op == vgpu::Op::kCpAsync) return;
    Site site{.pc = access.pc, .offset = offset, .bytes = access.bytes, .exact = state.exact};
    site.exact &= op == vgpu::Op::kStore;
    for (const uint32_t guard : state.guards) site.guards.push_back(facts_.Of(guard));
    std::vector<Site>& sites = sites_[symbol];
    // The same place a second time: in another state.
    for (Site& other : sites) {
      if (other.pc == site.pc) other.exact = site.exact = false;
    }
    sites.push_back(std::move(site));
  }

  void FindCovered() {
    for (auto& [symbol, sites] : sites_) {
      const Target& target = family_.targets.at(symbol);
      const std::string why =
          WhyNotWrittenOnce(sites, *target.bytes, family_.ids, symbols_, facts_);
      if (why.empty()) {
        proof_.covered.push_back(target.name);
      } else {
        proof_.not_covered.push_back(target.name + ": " + why);
      }
    }
  }

  const vgpu::Function& kernel_;
  SymbolTable symbols_;
  Prover prover_;
  Facts facts_;
  Family family_;
  SizesProof proof_;
  std::optional<Integer> shared_bytes_;
  bool shared_in_bounds_ = true;
  std::map<Symbol, std::vector<Site>> sites_;  // stores to results, by the symbol of the pointer
};

SizesProof Prove(const vgpu::Kernel& kernel, std::span<const TracedLaunch> launches,
                 const std::vector<std::string>& names) {
  // The smallest count first: what fails there fails everywhere.
  constexpr size_t kLast = std::size(kCounts) - 1;
  SizesProof smallest = KernelProof(kernel, launches, names, kCounts[kLast]).Run();
  if (!smallest.in_bounds) return smallest;
  for (size_t i = 0; i < kLast; ++i) {
    SizesProof proof = KernelProof(kernel, launches, names, kCounts[i]).Run();
    if (proof.in_bounds) return proof;
  }
  return smallest;
}

// Launches with the same numbers, grid and buffers tell no more than one of them.
bool SameSize(const TracedLaunch& a, const TracedLaunch& b) {
  if (!(a.step->grid == b.step->grid) || !(a.step->block == b.step->block) ||
      a.step->parameters.size() != b.step->parameters.size() ||
      a.step->pointers.size() != b.step->pointers.size()) {
    return false;
  }
  for (size_t i = 0; i < a.step->pointers.size(); ++i) {
    const BufferRef x = a.step->pointers[i].target;
    const BufferRef y = b.step->pointers[i].target;
    if (a.step->pointers[i].at != b.step->pointers[i].at || x.offset != y.offset ||
        a.plan->buffers[x.buffer].bytes != b.plan->buffers[y.buffer].bytes) {
      return false;
    }
  }
  return a.step->parameters == b.step->parameters;
}

}  // namespace

Result<std::vector<SizesProof>> ProveAllSizes(const SizesQuestion& question) {
  KS_TRY(const std::unique_ptr<vgpu::DeviceMemory> memory, vgpu::DeviceMemory::Create({}));
  KS_TRY(ptx::Module parsed, ptx::Parse(question.ptx, question.name));
  KS_TRY(const std::unique_ptr<vgpu::LoadedModule> module,
         vgpu::LoadedModule::Load({std::make_shared<const ptx::Module>(std::move(parsed))}, *memory,
                                  question.name));
  // By kernel and by which of its launches in the plan it is.
  std::map<std::pair<std::string, size_t>, std::vector<TracedLaunch>> launches;
  std::vector<std::pair<std::string, size_t>> order;
  for (const Plan* plan : question.plans) {
    std::map<std::string, size_t> number;
    for (const PlanStep& step : plan->steps) {
      const auto* launch = std::get_if<LaunchStep>(&step.action);
      if (launch == nullptr) continue;
      const std::pair<std::string, size_t> key = {launch->kernel, number[launch->kernel]++};
      std::vector<TracedLaunch>& group = launches[key];
      if (group.empty()) order.push_back(key);
      const TracedLaunch traced{.plan = plan, .step = launch};
      const bool known = std::any_of(group.begin(), group.end(), [&](const TracedLaunch& each) {
        return SameSize(each, traced);
      });
      if (!known) group.push_back(traced);
    }
  }
  std::vector<SizesProof> proofs;
  for (const auto& key : order) {
    const std::vector<TracedLaunch>& group = launches[key];
    SizesProof proof;
    const Result<const vgpu::Kernel*> kernel = module->Prepare(key.first);
    if (!kernel.ok()) {
      proof.why_not = kernel.error().message();
    } else if (group.size() < 2) {
      proof.why_not = "it was launched at one size alone";
    } else {
      static const std::vector<std::string> kNoNames;
      const auto names = question.parameter_names.find(key.first);
      proof = Prove(**kernel, group,
                    names == question.parameter_names.end() ? kNoNames : names->second);
    }
    proof.kernel = key.first;
    proof.number = key.second;
    proof.launches = group.size();
    proofs.push_back(std::move(proof));
  }
  return proofs;
}

}  // namespace kernelsmith::sizes
