#include "verify/repeated_plan.h"

#include "plan/references.h"

namespace kernelsmith {

Plan AfterCalls(const Plan& plan, int calls) {
  Plan result = plan;
  std::vector<BufferIndex> earlier(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan.buffers[i];
    const bool own = !buffer.prepared && buffer.kind != PlanBuffer::Kind::kInput &&
                     buffer.kind != PlanBuffer::Kind::kVariable;
    earlier[i] = static_cast<BufferIndex>(own ? result.buffers.size() : i);
    if (own) result.buffers.push_back(buffer);
  }
  const auto move = [&](BufferRef& ref) { ref.buffer = earlier[ref.buffer]; };
  std::vector<PlanStep> steps = plan.steps;
  for (PlanStep& step : steps) ForEachReference(step, move);
  for (int call = 0; call < calls; ++call) {
    result.preparation.insert(result.preparation.end(), steps.begin(), steps.end());
  }
  return result;
}

}  // namespace kernelsmith
