// Pools and their gradients, and resampling by the nearest element. Gradients gather: each input
// element looks for the windows it was in, so no two threads write to one place.
#include <limits>

#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Pool {
  size_t spatial = 0, leading = 0;
  std::vector<Int> kernel, stride, padding, dilation;
  bool ceil = false;
};

std::vector<Int> Spread(std::vector<Int> values, size_t count, const Int& otherwise) {
  if (values.empty()) values.push_back(otherwise);
  while (values.size() < count) values.push_back(values[0]);
  return values;
}

// kernel, stride and padding stand at first, first + 1, first + 2.
Pool Window(Lowering& l, size_t first, size_t spatial, size_t rank) {
  Pool p;
  p.spatial = spatial;
  p.leading = rank - spatial;
  p.kernel = Spread(l.integers(first), spatial, 1);
  const std::vector<Int> stride = l.has(first + 1) ? l.integers(first + 1) : std::vector<Int>{};
  p.stride = stride.empty() ? p.kernel : Spread(stride, spatial, 1);
  p.padding = Spread(l.integers(first + 2), spatial, 0);
  p.dilation = std::vector<Int>(spatial, Int(1));
  return p;
}

// As for convolutions: (size + 2p - reach) / stride + 1.
void OfferSizes(Lowering& l, const Pool& p, const Indices& shape) {
  for (size_t d = 0; d < p.spatial; ++d) {
    const Int& size = shape[p.leading + d];
    const Int reach = p.dilation[d] * (p.kernel[d] - Int(1)) + Int(1);
    const Int room = size + Int(2) * p.padding[d] - reach;
    l.family().Offer(Divide(room, p.stride[d]) + Int(1));
    l.family().Offer(Divide(room + p.stride[d] - Int(1), p.stride[d]) + Int(1));
  }
}

Scalar Inside(const Pool& p, const Indices& shape, const Indices& o, const Indices& k,
              Indices* at) {
  Scalar inside = Truth(true);
  *at = Indices(o.begin(), o.begin() + static_cast<std::ptrdiff_t>(p.leading));
  for (size_t d = 0; d < p.spatial; ++d) {
    const Int position = o[p.leading + d] * p.stride[d] + k[d] * p.dilation[d] - p.padding[d];
    at->push_back(position);
    if (!p.padding[d].is(0)) inside = And(inside, NotNegative(position));
    if (!p.padding[d].is(0) || p.ceil)
      inside = And(inside, LessThan(position, shape[p.leading + d]));
  }
  return inside;
}

// The output position that reads input `i` by window element `k`.
Scalar Reads(const Pool& p, const Indices& out, const Indices& i, const Indices& k, Indices* at) {
  Scalar inside = Truth(true);
  *at = Indices(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(p.leading));
  for (size_t d = 0; d < p.spatial; ++d) {
    const Int distance = i[p.leading + d] + p.padding[d] - k[d] * p.dilation[d];
    const Int position = Divide(distance, p.stride[d]);
    at->push_back(position);
    inside = And(inside, NotNegative(distance));
    if (!p.stride[d].is(1))
      inside = And(inside, Call("eq", {Index(Modulo(distance, p.stride[d])), Integer(0)}));
    inside = And(inside, LessThan(position, out[p.leading + d]));
  }
  return inside;
}

Int InPlane(const Pool& p, const Indices& shape, const Indices& at) {
  Int flat;
  for (size_t d = 0; d < p.spatial; ++d) flat = flat * shape[p.leading + d] + at[p.leading + d];
  return flat;
}

Rule MaxPool(size_t spatial) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    const Indices shape = l.shape(x);
    Pool p = Window(l, 1, spatial, shape.size());
    p.dilation = Spread(l.integers(4), spatial, 1);
    p.ceil = l.flag(5);
    OfferSizes(l, p, shape);
    const Indices out = l.result_shape();
    const DType type = l.result_type();
    const auto [value, position] =
        l.arg_reduce(type, out, p.kernel, Combine::kMax, [&](const Indices& o, const Indices& k) {
          Indices at;
          const Scalar inside = Inside(p, shape, o, k, &at);
          return Guard(inside, l.load(x, at), Number(-kInfinity, type));
        });
    l.set(0, value);
    // The position in the window as one in the plane.
    l.set(1, l.map(DType::kInt64, out, [&, position = position](const Indices& o) {
      Int rest = Value(l.load(position, o));
      Indices at(o.begin(), o.begin() + static_cast<std::ptrdiff_t>(p.leading));
      Indices k(spatial);
      // Window elements are numbered over the dimensions that are loops, that is over all but those
      // of size 1.
      for (size_t d = spatial; d-- > 0;) {
        k[d] = p.kernel[d].is(1) ? Int(0) : d == 0 ? rest : Modulo(rest, p.kernel[d]);
        rest = p.kernel[d].is(1) ? rest : Divide(rest, p.kernel[d]);
      }
      for (size_t d = 0; d < spatial; ++d) {
        at.push_back(o[p.leading + d] * p.stride[d] + k[d] * p.dilation[d] - p.padding[d]);
      }
      return Index(InPlane(p, shape, at));
    }));
  };
}

Rule MaxPoolBackward(size_t spatial) {
  return [=](Lowering& l) {
    const BufferId g = l.tensor(0), x = l.tensor(1), indices = l.tensor(7);
    const Indices shape = l.shape(x), out = l.shape(g);
    Pool p = Window(l, 2, spatial, shape.size());
    p.dilation = Spread(l.integers(5), spatial, 1);
    const DType type = l.result_type();
    l.set(0,
          l.reduce(type, shape, p.kernel, Combine::kSum, [&](const Indices& i, const Indices& k) {
            Indices at;
            const Scalar reads = Reads(p, out, i, k, &at);
            const Scalar chosen = Call("eq", {l.load(indices, at), Index(InPlane(p, shape, i))});
            return Guard(reads, Call("where", {chosen, l.load(g, at), Number(0, type)}),
                         Number(0, type));
          }));
  };
}

// The number of elements that a window is divided by.
Scalar Divisor(Lowering& l, const Pool& p, const Indices& shape, const Indices& o,
               size_t include_arg) {
  if (l.has(include_arg + 1)) return l.number(include_arg + 1, DType::kFloat32);
  const bool include = l.flag(include_arg);
  Int count(1);
  for (size_t d = 0; d < p.spatial; ++d) {
    const Int &size = shape[p.leading + d], &kernel = p.kernel[d];
    if (p.padding[d].is(0) && !p.ceil) {
      count = count * kernel;
      continue;
    }
    const Int start = o[p.leading + d] * p.stride[d] - p.padding[d];
    const Int end = Min(start + kernel, size + p.padding[d]);
    count = count * (include ? end - start : Min(end, size) - Max(start, Int(0)));
  }
  return Index(count, DType::kFloat32);
}

Rule AveragePool(size_t spatial) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    const Indices shape = l.shape(x);
    Pool p = Window(l, 1, spatial, shape.size());
    p.ceil = l.flag(4);
    OfferSizes(l, p, shape);
    const Indices out = l.result_shape();
    const DType sums = AccumulateType(l.result_type());
    const BufferId sum =
        l.reduce(sums, out, p.kernel, Combine::kSum, [&](const Indices& o, const Indices& k) {
          Indices at;
          const Scalar inside = Inside(p, shape, o, k, &at);
          return Guard(inside, Cast(l.load(x, at), sums), Number(0, sums));
        });
    l.set(0, l.map(l.result_type(), out,
                   [&](const Indices& o) { return l.load(sum, o) / Divisor(l, p, shape, o, 5); }));
  };
}

Rule AveragePoolBackward(size_t spatial) {
  return [=](Lowering& l) {
    const BufferId g = l.tensor(0), x = l.tensor(1);
    const Indices shape = l.shape(x), out = l.shape(g);
    Pool p = Window(l, 2, spatial, shape.size());
    p.ceil = l.flag(5);
    const DType type = l.result_type(), sums = AccumulateType(type);
    l.set(0,
          l.reduce(type, shape, p.kernel, Combine::kSum, [&](const Indices& i, const Indices& k) {
            Indices at;
            const Scalar reads = Reads(p, out, i, k, &at);
            return Guard(reads, Cast(l.load(g, at), sums) / Divisor(l, p, shape, at, 6),
                         Number(0, sums));
          }));
  };
}

// Windows of an adaptive pool: [o·size / out, ceil((o + 1)·size / out)).
struct Adaptive {
  Int start, end;
};
Adaptive AdaptiveWindow(const Int& o, const Int& size, const Int& out) {
  if (out.is(1)) return {0, size};
  return {Divide(o * size, out), CeilDivide((o + Int(1)) * size, out)};
}

// Windows differ in size by at most one; loops have the longest and guards cut the rest.
Indices LongestWindows(const Indices& shape, const Indices& out, size_t leading) {
  Indices window;
  for (size_t d = leading; d < shape.size(); ++d) {
    window.push_back(out[d].is(1) ? shape[d] : CeilDivide(shape[d], out[d]) + Int(1));
  }
  return window;
}

Scalar InAdaptive(const Indices& shape, const Indices& out, size_t leading, const Indices& o,
                  const Indices& k, Indices* at) {
  Scalar inside = Truth(true);
  *at = Indices(o.begin(), o.begin() + static_cast<std::ptrdiff_t>(leading));
  for (size_t d = leading; d < shape.size(); ++d) {
    const Adaptive w = AdaptiveWindow(o[d], shape[d], out[d]);
    at->push_back(w.start + k[d - leading]);
    if (!out[d].is(1)) inside = And(inside, LessThan(at->back(), w.end));
  }
  return inside;
}

Scalar AdaptiveCount(const Indices& shape, const Indices& out, size_t leading, const Indices& o) {
  Int count(1);
  for (size_t d = leading; d < shape.size(); ++d) {
    const Adaptive w = AdaptiveWindow(o[d], shape[d], out[d]);
    count = count * (w.end - w.start);
  }
  return Index(count, DType::kFloat32);
}

Rule AdaptiveAverage(size_t spatial) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    const Indices shape = l.shape(x), out = l.result_shape();
    const size_t leading = shape.size() - spatial;
    const DType sums = AccumulateType(l.result_type());
    const BufferId sum =
        l.reduce(sums, out, LongestWindows(shape, out, leading), Combine::kSum,
                 [&](const Indices& o, const Indices& k) {
                   Indices at;
                   const Scalar inside = InAdaptive(shape, out, leading, o, k, &at);
                   return Guard(inside, Cast(l.load(x, at), sums), Number(0, sums));
                 });
    l.set(0, l.map(l.result_type(), out, [&](const Indices& o) {
      return l.load(sum, o) / AdaptiveCount(shape, out, leading, o);
    }));
  };
}

Rule AdaptiveAverageBackward(size_t spatial) {
  return [=](Lowering& l) {
    const BufferId g = l.tensor(0), x = l.tensor(1);
    const Indices shape = l.shape(x), out = l.shape(g);
    const size_t leading = shape.size() - spatial;
    const Indices outputs(out.begin() + static_cast<std::ptrdiff_t>(leading), out.end());
    const DType type = l.result_type(), sums = AccumulateType(type);
    l.set(0, l.reduce(type, shape, outputs, Combine::kSum, [&](const Indices& i, const Indices& o) {
      Indices at(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(leading));
      Scalar inside = Truth(true);
      for (size_t d = leading; d < shape.size(); ++d) {
        at.push_back(o[d - leading]);
        const Adaptive w = AdaptiveWindow(at[d], shape[d], out[d]);
        if (out[d].is(1)) continue;
        inside = And(inside, And(NotNegative(i[d] - w.start), LessThan(i[d], w.end)));
      }
      return Guard(inside, Cast(l.load(g, at), sums) / AdaptiveCount(shape, out, leading, at),
                   Number(0, sums));
    }));
  };
}

// floor(o·size / out), or o / scale where the caller gave a scale.
Rule UpsampleNearest(size_t spatial) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    const Indices shape = l.shape(x), out = l.result_shape();
    const size_t leading = shape.size() - spatial;
    l.set(0, l.map(l.result_type(), out, [&](const Indices& o) {
      Indices at(o.begin(), o.begin() + static_cast<std::ptrdiff_t>(leading));
      for (size_t d = leading; d < shape.size(); ++d) at.push_back(Divide(o[d] * shape[d], out[d]));
      return l.load(x, at);
    }));
  };
}

}  // namespace

void AddPoolRules(Rules& rules) {
  using enum AtenOp;
  rules[kMaxPool2dWithIndices] = MaxPool(2);
  rules[kMaxPool3dWithIndices] = MaxPool(3);
  rules[kMaxPool2dWithIndicesBackward] = MaxPoolBackward(2);
  rules[kMaxPool3dWithIndicesBackward] = MaxPoolBackward(3);
  rules[kAvgPool2d] = AveragePool(2);
  rules[kAvgPool3d] = AveragePool(3);
  rules[kAvgPool2dBackward] = AveragePoolBackward(2);
  rules[kAvgPool3dBackward] = AveragePoolBackward(3);
  rules[kAdaptiveAvgPool2d] = AdaptiveAverage(2);
  rules[kAdaptiveAvgPool3d] = AdaptiveAverage(3);
  rules[kAdaptiveAvgPool2dBackward] = AdaptiveAverageBackward(2);
  rules[kAdaptiveAvgPool3dBackward] = AdaptiveAverageBackward(3);
  rules[kUpsampleNearest1d] = UpsampleNearest(1);
  rules[kUpsampleNearest2d] = UpsampleNearest(2);
  rules[kUpsampleNearest3d] = UpsampleNearest(3);
}

}  // namespace kernelsmith::codegen
