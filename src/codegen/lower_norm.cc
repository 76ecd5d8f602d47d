// Layer, group, batch and weight normalisation with their gradients.
#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

using Statistic = std::function<Scalar(const Indices&)>;

// A tensor seen as rows (normalised together) and columns: how an element's index comes from both.
struct Rows {
  Indices outer, inner;
  std::function<Indices(const Indices& outer, const Indices& inner)> at;
};

struct Moments {
  BufferId mean, rstd, variance;
};
Moments MomentsOf(Lowering& l, BufferId x, const Rows& rows, const Scalar& eps) {
  const DType type = AccumulateType(l.dtype(x));
  const Scalar count = Index(Product(rows.inner), type);
  const auto value = [&](const Indices& o, const Indices& i) {
    return Cast(l.load(x, rows.at(o, i)), type);
  };
  const BufferId sum = l.reduce(type, rows.outer, rows.inner, Combine::kSum, value);
  const BufferId mean =
      l.map(type, rows.outer, [&](const Indices& o) { return l.load(sum, o) / count; });
  const BufferId squares = l.reduce(type, rows.outer, rows.inner, Combine::kSum,
                                    [&](const Indices& o, const Indices& i) {
                                      const Scalar distance = value(o, i) - l.load(mean, o);
                                      return distance * distance;
                                    });
  const BufferId variance =
      l.map(type, rows.outer, [&](const Indices& o) { return l.load(squares, o) / count; });
  const BufferId rstd = l.map(type, rows.outer, [&](const Indices& o) {
    return Call("rsqrt", {l.load(variance, o) + eps});
  });
  return {mean, rstd, variance};
}

BufferId Reshaped(Lowering& l, BufferId x, const Indices& shape, DType type) {
  return l.map(type, shape,
               [&](const Indices& i) { return l.load(x, l.reshape(l.shape(x), shape, i)); });
}

Rows LastDims(const Indices& shape, size_t count) {
  const auto cut = static_cast<std::ptrdiff_t>(shape.size() - count);
  return {Indices(shape.begin(), shape.begin() + cut), Indices(shape.begin() + cut, shape.end()),
          [](const Indices& o, const Indices& i) {
            Indices at = o;
            at.insert(at.end(), i.begin(), i.end());
            return at;
          }};
}

void LayerNorm(Lowering& l) {
  const BufferId x = l.tensor(0);
  const Indices shape = l.shape(x);
  const size_t count = l.integers(1).size();
  const Rows rows = LastDims(shape, count);
  const DType type = AccumulateType(l.dtype(x));
  const Moments m = MomentsOf(l, x, rows, l.number(4, type));
  l.set(0, l.map(l.result_type(), shape, [&](const Indices& index) {
    const Indices row(index.begin(), index.end() - static_cast<std::ptrdiff_t>(count));
    const Indices column(index.end() - static_cast<std::ptrdiff_t>(count), index.end());
    Scalar y = (Cast(l.load(x, index), type) - l.load(m.mean, row)) * l.load(m.rstd, row);
    if (l.has(2)) y = y * Cast(l.load(l.tensor(2), column), type);
    if (l.has(3)) y = y + Cast(l.load(l.tensor(3), column), type);
    return y;
  }));
  if (l.has_result(1)) l.set(1, Reshaped(l, m.mean, l.result_shape(1), l.result_type(1)));
  if (l.has_result(2)) l.set(2, Reshaped(l, m.rstd, l.result_shape(2), l.result_type(2)));
}

// rstd·(h - mean(h) - x̂·mean(h·x̂)), means over the rows.
void NormalizedGradient(Lowering& l, size_t result, const Indices& shape, const Rows& rows,
                        const Statistic& h, const Statistic& normal, const Statistic& rstd,
                        const std::function<Indices(const Indices&)>& row_of) {
  const DType type = AccumulateType(l.result_type(result));
  const Scalar count = Index(Product(rows.inner), type);
  const BufferId sum =
      l.reduce(type, rows.outer, rows.inner, Combine::kSum,
               [&](const Indices& o, const Indices& i) { return h(rows.at(o, i)); });
  const BufferId slope = l.reduce(type, rows.outer, rows.inner, Combine::kSum,
                                  [&](const Indices& o, const Indices& i) {
                                    const Indices at = rows.at(o, i);
                                    return h(at) * normal(at);
                                  });
  l.set(result, l.map(l.result_type(result), shape, [&](const Indices& index) {
    const Indices row = row_of(index);
    return (h(index) - l.load(sum, row) / count - normal(index) * (l.load(slope, row) / count)) *
           rstd(index);
  }));
}

void LayerNormBackward(Lowering& l) {
  const BufferId g = l.tensor(0), x = l.tensor(1), mean = l.tensor(3), rstd = l.tensor(4);
  const Indices shape = l.shape(x);
  const size_t count = l.integers(2).size();
  const auto cut = static_cast<std::ptrdiff_t>(shape.size() - count);
  const DType type = AccumulateType(l.dtype(x));
  const auto column = [&](const Indices& i) { return Indices(i.begin() + cut, i.end()); };
  const Statistic scale = [&](const Indices& i) { return Cast(l.broadcast(rstd, i), type); };
  const Statistic grad = [&](const Indices& i) { return Cast(l.load(g, i), type); };
  const Statistic normal = [&](const Indices& i) {
    return (Cast(l.load(x, i), type) - Cast(l.broadcast(mean, i), type)) * scale(i);
  };
  const Statistic h = [&](const Indices& i) {
    return l.has(5) ? grad(i) * Cast(l.load(l.tensor(5), column(i)), type) : grad(i);
  };
  if (l.has_result(0)) {
    NormalizedGradient(l, 0, shape, LastDims(shape, count), h, normal, scale,
                       [&](const Indices& i) { return Indices(i.begin(), i.begin() + cut); });
  }
  const Indices rows(shape.begin(), shape.begin() + cut), columns(shape.begin() + cut, shape.end());
  const auto summed = [&](size_t result, const Statistic& value) {
    if (!l.has_result(result)) return;
    l.set(result, l.reduce(l.result_type(result), columns, rows, Combine::kSum,
                           [&](const Indices& c, const Indices& r) {
                             Indices at = r;
                             at.insert(at.end(), c.begin(), c.end());
                             return value(at);
                           }));
  };
  summed(1, [&](const Indices& i) { return grad(i) * normal(i); });
  summed(2, grad);
}

// [N, C, *] as rows [N, G] and columns [C / G, HxW].
void GroupNorm(Lowering& l) {
  const BufferId x = l.tensor(0);
  const Indices shape = l.shape(x);
  const Int groups = l.integer(6), batch = shape[0], channels = shape[1];
  const Int per_group = Divide(channels, groups);
  const Int plane = Product(Indices(shape.begin() + 2, shape.end()));
  const Indices flat{batch, channels, plane};
  Rows rows;
  rows.outer = {batch, groups};
  rows.inner = {per_group, plane};
  rows.at = [&](const Indices& o, const Indices& i) {
    return l.reshape(shape, flat, {o[0], o[1] * per_group + i[0], i[1]});
  };
  const DType type = AccumulateType(l.dtype(x));
  const Moments m = MomentsOf(l, x, rows, l.number(7, type));
  l.set(0, l.map(l.result_type(), shape, [&](const Indices& index) {
    const Indices row{index[0], Divide(index[1], per_group)};
    Scalar y = (Cast(l.load(x, index), type) - l.load(m.mean, row)) * l.load(m.rstd, row);
    if (l.has(1)) y = y * Cast(l.load(l.tensor(1), {index[1]}), type);
    if (l.has(2)) y = y + Cast(l.load(l.tensor(2), {index[1]}), type);
    return y;
  }));
  if (l.has_result(1)) l.set(1, Reshaped(l, m.mean, l.result_shape(1), l.result_type(1)));
  if (l.has_result(2)) l.set(2, Reshaped(l, m.rstd, l.result_shape(2), l.result_type(2)));
}

// Rows are channels, columns everything else.
Rows Channels(const Indices& shape) {
  Rows rows;
  rows.outer = {shape[1]};
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != 1) rows.inner.push_back(shape[d]);
  }
  rows.at = [](const Indices& o, const Indices& i) {
    Indices at = i;
    at.insert(at.begin() + 1, o[0]);
    return at;
  };
  return rows;
}

struct BatchNormArguments {
  bool training = true;
  bool running = false;  // arguments 3 and 4 are running statistics
  size_t momentum = 0, eps = 0;
};

void BatchNorm(Lowering& l, const BatchNormArguments& a) {
  const BufferId x = l.tensor(0);
  const Indices shape = l.shape(x);
  const DType type = AccumulateType(l.dtype(x));
  const Scalar eps = l.number(a.eps, type);
  Moments m{};
  const Rows rows = Channels(shape);
  if (a.training) {
    m = MomentsOf(l, x, rows, eps);
  } else {
    const BufferId mean = l.tensor(3), variance = l.tensor(4);
    m.mean = mean;
    m.rstd = l.map(type, rows.outer, [&](const Indices& c) {
      return Call("rsqrt", {Cast(l.load(variance, c), type) + eps});
    });
  }
  l.set(0, l.map(l.result_type(), shape, [&](const Indices& index) {
    const Indices c{index[1]};
    Scalar y = (Cast(l.load(x, index), type) - Cast(l.load(m.mean, c), type)) * l.load(m.rstd, c);
    if (l.has(1)) y = y * Cast(l.load(l.tensor(1), c), type);
    if (l.has(2)) y = y + Cast(l.load(l.tensor(2), c), type);
    return y;
  }));
  for (const size_t i : {size_t{1}, size_t{2}}) {
    if (!l.has_result(i) || l.result_shape(i) == Indices{Int(0)}) continue;
    l.set(i, Reshaped(l, i == 1 ? m.mean : m.rstd, l.result_shape(i), l.result_type(i)));
  }
  // The functional form gives the running statistics after this batch, with the unbiased variance.
  if (a.running && l.has_result(3)) {
    const Scalar momentum = l.number(a.momentum, type);
    const Scalar count = Index(Product(rows.inner), type);
    const auto blend = [&](size_t arg, const std::function<Scalar(const Indices&)>& fresh) {
      return l.map(l.result_type(arg), rows.outer, [&](const Indices& c) {
        const Scalar old = Cast(l.load(l.tensor(arg), c), type);
        return a.training ? (Number(1) - momentum) * old + momentum * fresh(c) : old;
      });
    };
    l.set(3, blend(3, [&](const Indices& c) { return l.load(m.mean, c); }));
    l.set(4, blend(4, [&](const Indices& c) {
            return l.load(m.variance, c) * count / (count - Number(1));
          }));
  }
}

void BatchNormBackward(Lowering& l) {
  const BufferId g = l.tensor(0), x = l.tensor(1);
  const Indices shape = l.shape(x);
  const bool training = l.flag(7);
  const DType type = AccumulateType(l.dtype(x));
  const BufferId mean = l.tensor(training ? 5 : 3), spread = l.tensor(training ? 6 : 4);
  const Statistic scale = [&](const Indices& i) -> Scalar {
    const Scalar value = Cast(l.load(spread, {i[1]}), type);
    return training ? value : Call("rsqrt", {value + l.number(8, type)});
  };
  const Statistic grad = [&](const Indices& i) { return Cast(l.load(g, i), type); };
  const Statistic normal = [&](const Indices& i) {
    return (Cast(l.load(x, i), type) - Cast(l.load(mean, {i[1]}), type)) * scale(i);
  };
  const Statistic h = [&](const Indices& i) {
    return l.has(2) ? grad(i) * Cast(l.load(l.tensor(2), {i[1]}), type) : grad(i);
  };
  const Rows rows = Channels(shape);
  if (l.has_result(0)) {
    if (training) {
      NormalizedGradient(l, 0, shape, rows, h, normal, scale,
                         [](const Indices& i) { return Indices{i[1]}; });
    } else {
      l.set(0, l.map(l.result_type(), shape, [&](const Indices& i) { return h(i) * scale(i); }));
    }
  }
  const auto summed = [&](size_t result, const Statistic& value) {
    if (!l.has_result(result)) return;
    l.set(result,
          l.reduce(l.result_type(result), rows.outer, rows.inner, Combine::kSum,
                   [&](const Indices& o, const Indices& i) { return value(rows.at(o, i)); }));
  };
  summed(1, [&](const Indices& i) { return grad(i) * normal(i); });
  summed(2, grad);
}

}  // namespace

void AddNormRules(Rules& rules) {
  using enum AtenOp;
  rules[kNativeLayerNorm] = LayerNorm;
  rules[kNativeLayerNormBackward] = LayerNormBackward;
  rules[kNativeGroupNorm] = GroupNorm;
  rules[{kNativeBatchNorm, kNativeBatchNormLegit, kNativeBatchNormLegitFunctional}] =
      [](Lowering& l) {
        BatchNorm(l, {.training = l.flag(5), .running = l.has(3), .momentum = 6, .eps = 7});
      };
  rules[kNativeBatchNormLegitNoStats] = [](Lowering& l) {
    BatchNorm(l, {.training = l.flag(3), .running = false, .momentum = 4, .eps = 5});
  };
  rules[kNativeBatchNormLegitNoTraining] = [](Lowering& l) {
    BatchNorm(l, {.training = false, .running = true, .momentum = 5, .eps = 6});
  };
  rules[kNativeBatchNormBackward] = BatchNormBackward;
}

}  // namespace kernelsmith::codegen
