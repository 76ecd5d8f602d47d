#include "verify/kept_state.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "ptx/constants.h"
#include "ptx/ptx.h"

namespace kernelsmith {
namespace {

// Calls beyond this do not happen to anybody; a counter of 32 bits that overflows then is no
// defect.
constexpr uint64_t kMostCalls = 10'000'000;
// Constants are tried from small to large.
constexpr size_t kMostPoints = 256;

uint32_t WordAt(const std::vector<std::byte>& bytes, size_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, std::min(sizeof word, bytes.size() - offset));
  return word;
}

}  // namespace

Result<Plan> WithKeptState(const Plan& plan, std::string_view ptx, std::vector<BufferIndex>* kept) {
  KS_TRY(const ptx::Module module, ptx::Parse(ptx, "candidate.ptx"));
  Plan result = plan;
  std::set<std::string> known;
  for (const PlanBuffer& buffer : plan.buffers) known.insert(buffer.name);
  for (const ptx::Variable& variable : module.variables) {
    const bool writable = variable.space == ptx::Space::kGlobal;
    if (!writable || variable.Size() == 0 || !known.insert(variable.name).second) continue;
    result.buffers.push_back({.kind = PlanBuffer::Kind::kVariable,
                              .bytes = variable.Size(),
                              .name = variable.name,
                              .prepared = true});
  }
  for (size_t i = 0; i < result.buffers.size(); ++i) {
    const PlanBuffer& buffer = result.buffers[i];
    const bool stays = buffer.prepared || buffer.kind == PlanBuffer::Kind::kVariable;
    if (stays && buffer.kind != PlanBuffer::Kind::kInput && buffer.bytes > 0) {
      kept->push_back(static_cast<BufferIndex>(i));
    }
  }
  return result;
}

Plan ShowingState(Plan plan, const std::vector<BufferIndex>& kept) {
  plan.outputs.clear();
  for (const BufferIndex buffer : kept) {
    plan.outputs.push_back({.dtype = DType::kUint8,
                            .shape = {static_cast<int64_t>(plan.buffers[buffer].bytes)},
                            .strides = {1},
                            .at = {buffer, 0}});
  }
  return plan;
}

StateChange ChangeOf(const std::vector<StateBytes>& states) {
  StateChange change;
  const StateBytes& first = states.front();
  for (size_t buffer = 0; buffer < first.size(); ++buffer) {
    for (size_t offset = 0; offset < first[buffer].size(); offset += sizeof(uint32_t)) {
      std::vector<uint32_t> words;
      for (const StateBytes& state : states) words.push_back(WordAt(state[buffer], offset));
      if (std::all_of(words.begin(), words.end(), [&](uint32_t w) { return w == words[0]; })) {
        continue;
      }
      const uint32_t step = words[1] - words[0];
      const float float_step = std::bit_cast<float>(words[1]) - std::bit_cast<float>(words[0]);
      bool counts = step != 0;
      bool counts_as_float = std::isfinite(float_step) && float_step != 0;
      for (size_t i = 1; i < words.size(); ++i) {
        counts &= words[i] - words[i - 1] == step;
        counts_as_float &=
            std::bit_cast<float>(words[i]) - std::bit_cast<float>(words[i - 1]) == float_step;
      }
      if (!counts && !counts_as_float) return {.kind = StateChange::Kind::kUnknown, .counters = {}};
      change.kind = StateChange::Kind::kCounts;
      change.counters.push_back({.buffer = buffer,
                                 .offset = offset,
                                 .is_float = !counts,
                                 .start = words[0],
                                 .step = counts ? step : std::bit_cast<uint32_t>(float_step)});
    }
  }
  return change;
}

StateBytes StateAfter(const StateBytes& state, const StateChange& change, uint64_t calls) {
  StateBytes result = state;
  for (const StateChange::Counter& counter : change.counters) {
    uint32_t word = counter.start + static_cast<uint32_t>(calls - 1) * counter.step;
    if (counter.is_float) {
      word = std::bit_cast<uint32_t>(std::bit_cast<float>(counter.start) +
                                     static_cast<float>(calls - 1) *
                                         std::bit_cast<float>(counter.step));
    }
    std::vector<std::byte>& bytes = result[counter.buffer];
    std::memcpy(bytes.data() + counter.offset, &word,
                std::min(sizeof word, bytes.size() - counter.offset));
  }
  return result;
}

std::vector<uint64_t> TurningPoints(const StateChange& change, std::string_view ptx) {
  const Result<ptx::Module> module = ptx::Parse(ptx, "candidate.ptx");
  const ptx::Constants constants = module.ok() ? ptx::ConstantsOf(*module) : ptx::Constants();
  std::set<uint64_t> points;
  const auto near = [&](double call) {
    if (!(call > 0) || call > static_cast<double>(kMostCalls)) return;
    for (int64_t i = -1; i <= 2; ++i) {
      const int64_t point = static_cast<int64_t>(std::floor(call)) + i;
      if (point > 1) points.insert(static_cast<uint64_t>(point));
    }
  };
  for (const StateChange::Counter& counter : change.counters) {
    const double start = counter.is_float ? std::bit_cast<float>(counter.start)
                                          : static_cast<int32_t>(counter.start);
    const double step =
        counter.is_float ? std::bit_cast<float>(counter.step) : static_cast<int32_t>(counter.step);
    const auto reaches = [&](double value) { near(1 + (value - start) / step); };
    for (const int64_t value : constants.integers) reaches(static_cast<double>(value));
    for (const double value : constants.floats) reaches(value);
    // Counters are shifted and masked as well.
    for (int bit = 3; bit < 24; ++bit) reaches(std::ldexp(1.0, bit));
  }
  points.insert({100, 1000, 12'345});
  std::vector<uint64_t> result(points.begin(), points.end());
  if (result.size() > kMostPoints) result.resize(kMostPoints);
  return result;
}

}  // namespace kernelsmith
