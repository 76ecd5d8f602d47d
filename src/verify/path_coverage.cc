#include "verify/path_coverage.h"

#include <algorithm>
#include <bit>

#include "checkers/finding.h"

namespace kernelsmith {
namespace {

constexpr uint8_t kRan = 1;
constexpr uint8_t kTrue = 2;
constexpr uint8_t kFalse = 4;

}  // namespace

// Functions belong to a module that is loaded anew for each run.
void PathCoverage::OnLaunchBegin(const vgpu::LaunchInfo&) { last_ = nullptr; }

void PathCoverage::AfterInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in,
                                    uint32_t mask) {
  ++seen_;
  const vgpu::Function& function = warp.function();
  if (last_ != &function) {
    last_ = &function;
    last_steps_ = &functions_[function.name];
    last_steps_->taken.resize(std::max(last_steps_->taken.size(), function.code.size()));
  }
  const auto place = static_cast<size_t>(&in - function.code.data());
  if (place >= last_steps_->taken.size()) return;
  uint8_t taken = kRan;
  if (in.d.exists() && in.d.is_predicate()) {
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      taken |= warp.ReadOperand(in.d, std::countr_zero(rest)) != 0 ? kTrue : kFalse;
    }
  }
  uint8_t& known = last_steps_->taken[place];
  if ((taken & ~known) == 0) return;
  known |= taken;
  const checkers::Place at =
      checkers::PlaceOf(function.name, warp, in, std::countr_zero(mask == 0 ? 1u : mask));
  last_steps_->places[place] = at.source.file.empty() ? at.ptx : at.source;
}

std::vector<PathCoverage::Way> PathCoverage::Beyond(const PathCoverage& known) const {
  std::vector<Way> ways;
  for (const auto& [name, steps] : functions_) {
    const auto other = known.functions_.find(name);
    for (size_t i = 0; i < steps.taken.size(); ++i) {
      const uint8_t before = other != known.functions_.end() && i < other->second.taken.size()
                                 ? other->second.taken[i]
                                 : uint8_t{0};
      if ((steps.taken[i] & ~before) == 0) continue;
      const auto place = steps.places.find(i);
      Way way{.function = name,
              .where = place == steps.places.end() ? SourceLocation{} : place->second};
      way.where.column = 0;
      if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(std::move(way));
    }
  }
  return ways;
}

}  // namespace kernelsmith
