#include "verify/domain.h"

#include <algorithm>

#include "tensor/tensor.h"

namespace kernelsmith {
namespace {

// Row-major strides for these extents, in the order in which `axes` lie in memory, outermost first.
Shape StridesOf(const Shape& extents, const std::vector<size_t>& axes) {
  Shape strides(extents.size(), 1);
  int64_t step = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    strides[*axis] = step;
    step *= std::max<int64_t>(extents[*axis], 1);
  }
  return strides;
}

// The axes along which a tensor has more than one element.
std::vector<size_t> LongAxes(const Shape& shape) {
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] > 1) axes.push_back(axis);
  }
  return axes;
}

Shape EverySecond(const Shape& shape) {
  Shape strides = RowMajorStrides(shape);
  for (int64_t& stride : strides) stride *= 2;
  return strides;
}

}  // namespace

Shape TransposedStrides(const Shape& shape) {
  const std::vector<size_t> long_axes = LongAxes(shape);
  if (long_axes.size() < 2) return EverySecond(shape);
  std::vector<size_t> axes(shape.size());
  for (size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = axis;
  std::swap(axes[long_axes[long_axes.size() - 2]], axes[long_axes.back()]);
  return StridesOf(shape, axes);
}

Shape PaddedStrides(const Shape& shape) {
  const std::vector<size_t> long_axes = LongAxes(shape);
  if (long_axes.size() < 2) return EverySecond(shape);
  Shape extents = shape;
  // Odd, so that rows begin at all residues.
  extents[long_axes.back()] += 3;
  return RowMajorStrides(extents);
}

bool CallerOnDefaultStream(Plan& plan) {
  if (plan.steps.empty()) return false;
  const auto* record = std::get_if<EventStep>(&plan.steps.front().action);
  if (record == nullptr || record->kind != EventStep::Kind::kRecord) return false;
  const uint32_t callers = plan.steps.front().stream;
  if (callers == 0) return false;
  for (std::vector<PlanStep>* steps : {&plan.preparation, &plan.steps}) {
    for (PlanStep& step : *steps) {
      if (step.stream == callers) {
        step.stream = 0;
        step.apart = false;
      } else if (step.stream == 0) {
        step.stream = callers;
        step.apart = true;
      }
    }
  }
  return true;
}

}  // namespace kernelsmith
