// What depends on order: positions of extremes, scans, sorting.
#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

// Reduces dimension `dim` (all of them: none) of argument 0 to its extreme and the position of it.
std::pair<BufferId, BufferId> Extreme(Lowering& l, std::optional<int64_t> dim, bool keep,
                                      Combine combine) {
  const BufferId x = l.tensor(0);
  const Indices shape = l.shape(x);
  const auto at =
      dim ? static_cast<size_t>(*dim < 0 ? *dim + static_cast<int64_t>(shape.size()) : *dim) : 0;
  Indices outer, inner;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (dim && d != at) {
      outer.push_back(shape[d]);
    } else {
      inner.push_back(shape[d]);
      if (keep) outer.push_back(1);
    }
  }
  return l.arg_reduce(l.dtype(x), outer, inner, combine,
                      [&](const Indices& out, const Indices& in) {
                        Indices index;
                        size_t next_out = 0, next_in = 0;
                        for (size_t d = 0; d < shape.size(); ++d) {
                          if (dim && d != at) {
                            index.push_back(out[next_out++]);
                          } else {
                            index.push_back(in[next_in++]);
                            if (keep) ++next_out;
                          }
                        }
                        return l.load(x, index);
                      });
}

std::optional<int64_t> OptionalDim(Lowering& l, size_t arg) {
  return l.has(arg) ? std::optional(l.fixed(arg)) : std::nullopt;
}

Rule ArgExtreme(Combine combine) {
  return [=](Lowering& l) { l.set(0, Extreme(l, OptionalDim(l, 1), l.flag(2), combine).second); };
}
// max.default has one result, max.dim two.
Rule ExtremeOf(Combine combine) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    if (l.result_count() == 1) {
      l.set(0, l.reduce_dims(l.result_type(), l.shape(x), {}, false, combine,
                             [&](const Indices& index) { return l.load(x, index); }));
      return;
    }
    const auto [value, position] = Extreme(l, l.fixed(1), l.flag(2), combine);
    l.set(0, value);
    l.set(1, position);
  };
}

// A tensor without dimensions has one of size 1 for these operators.
Int LengthAlong(Lowering& l, BufferId x, size_t dim) {
  return l.rank(x) == 0 ? Int(1) : l.shape(x)[dim];
}

size_t ScanDim(Lowering& l, size_t arg, size_t rank) {
  const int64_t dim = l.fixed(arg);
  if (rank == 0) return 0;
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

BufferId Scan(Lowering& l, BufferId x, size_t dim, Combine combine, DType type) {
  const Indices shape = l.shape(x);
  Nest nest;
  nest.kind = Nest::Kind::kScan;
  nest.axes = l.axes(shape);
  nest.scan = dim;
  nest.combine = combine;
  nest.last_wins = true;  // as PyTorch's cummax: >=
  nest.body = Cast(l.load(x, nest.axes), type);
  if (shape.empty() || shape[dim].is(1)) nest.kind = Nest::Kind::kMap;
  return l.add(std::move(nest), type, shape);
}

Rule ScanWith(Combine combine) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    const DType type = l.result_type();
    l.set(0, Scan(l, x, ScanDim(l, 1, l.rank(x)), combine, type));
  };
}
Rule ScanExtreme(Combine combine) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    const size_t dim = ScanDim(l, 1, l.rank(x));
    const BufferId value = Scan(l, x, dim, combine, l.result_type());
    l.set(0, value);
    if (l.program.nests.back().kind == Nest::Kind::kMap) {
      l.set(1, l.map(DType::kInt64, l.shape(x), [](const Indices&) { return Integer(0); }));
      return;
    }
    const BufferId position = l.buffer(DType::kInt64, l.shape(x), l.node().name + "_position");
    l.program.nests.back().outputs.push_back(position);
    l.set(1, position);
  };
}

// Values and positions of the first `keep` along `dim`, in order. The sorted axis becomes the last
// one.
std::pair<BufferId, BufferId> Sorted(Lowering& l, BufferId x, size_t dim, const Int& keep,
                                     bool descending) {
  const Indices shape = l.shape(x);
  Indices moved, out;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d != dim) moved.push_back(shape[d]);
  }
  out = moved;
  moved.push_back(LengthAlong(l, x, dim));
  out.push_back(keep);
  Nest nest;
  nest.kind = Nest::Kind::kSort;
  nest.axes = l.axes(moved);
  // A sorted axis of size 1 is an axis still: the kernel has a loop over it.
  if (nest.axes.back().is(0)) nest.axes.back() = Axis("one", Int(1));
  Indices index;
  size_t next = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    index.push_back(d == dim ? nest.axes.back() : nest.axes[next++]);
  nest.body = l.load(x, index);
  nest.keep = keep;
  nest.descending = descending;
  const BufferId values = l.add(std::move(nest), l.dtype(x), out);
  const BufferId positions = l.buffer(DType::kInt64, out, l.node().name + "_position");
  l.program.nests.back().outputs.push_back(positions);
  return {values, positions};
}

// Element `k` of the sorted axis back in its place; `take` none: all of them.
BufferId FromSorted(Lowering& l, BufferId sorted, size_t dim, const Indices& shape, DType type,
                    std::optional<Int> take, bool keep_dim = true) {
  return l.map(type, shape, [&](const Indices& index) {
    Indices at;
    for (size_t d = 0; d < index.size(); ++d) {
      if (!keep_dim || d != dim) at.push_back(index[d]);
    }
    at.push_back(take ? *take : index.empty() ? Int(0) : index[dim]);
    return l.load(sorted, at);
  });
}

void Sort(Lowering& l, size_t dim_arg, size_t descending_arg) {
  const BufferId x = l.tensor(0);
  const size_t dim = ScanDim(l, dim_arg, l.rank(x));
  const auto [values, positions] =
      Sorted(l, x, dim, LengthAlong(l, x, dim), l.flag(descending_arg));
  l.set(0, FromSorted(l, values, dim, l.shape(x), l.dtype(x), std::nullopt));
  l.set(1, FromSorted(l, positions, dim, l.shape(x), DType::kInt64, std::nullopt));
}

void Kth(Lowering& l, const Int& k, size_t dim_arg, size_t keep_arg) {
  const BufferId x = l.tensor(0);
  const size_t dim = ScanDim(l, dim_arg, l.rank(x));
  const auto [values, positions] = Sorted(l, x, dim, LengthAlong(l, x, dim), false);
  const bool keep = l.flag(keep_arg);
  l.set(0, FromSorted(l, values, dim, l.result_shape(0), l.dtype(x), k, keep));
  l.set(1, FromSorted(l, positions, dim, l.result_shape(1), DType::kInt64, k, keep));
}

}  // namespace

void AddOrderRules(Rules& rules) {
  using enum AtenOp;
  rules[kArgmax] = ArgExtreme(Combine::kMax);
  rules[kArgmin] = ArgExtreme(Combine::kMin);
  rules[{kMax, kMaxDim}] = ExtremeOf(Combine::kMax);
  rules[{kMin, kMinDim}] = ExtremeOf(Combine::kMin);
  rules[kCumsum] = ScanWith(Combine::kSum);
  rules[kCumprod] = ScanWith(Combine::kProduct);
  rules[kCummax] = ScanExtreme(Combine::kMax);
  rules[kCummin] = ScanExtreme(Combine::kMin);
  rules[kSort] = [](Lowering& l) { Sort(l, 1, 2); };
  rules[kSortStable] = [](Lowering& l) { Sort(l, 2, 3); };
  rules[kTopk] = [](Lowering& l) {
    const BufferId x = l.tensor(0);
    const size_t dim = ScanDim(l, 2, l.rank(x));
    const auto [values, positions] = Sorted(l, x, dim, l.integer(1), l.flag(3));
    l.set(0, FromSorted(l, values, dim, l.result_shape(0), l.dtype(x), std::nullopt));
    l.set(1, FromSorted(l, positions, dim, l.result_shape(1), DType::kInt64, std::nullopt));
  };
  rules[kKthvalue] = [](Lowering& l) { Kth(l, l.integer(1) - Int(1), 2, 3); };
  rules[kMedianDim] = [](Lowering& l) {
    const BufferId x = l.tensor(0);
    const size_t dim = ScanDim(l, 1, l.rank(x));
    Kth(l, Divide(LengthAlong(l, x, dim) - Int(1), Int(2)), 1, 2);
  };
}

}  // namespace kernelsmith::codegen
