// Gathers and scatters: indices that are loaded.
#include <algorithm>

#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

size_t Dim(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

// A loaded index as PyTorch takes it: negative ones count from the end. `wrap` false where PyTorch
// does not.
Int Loaded(const Scalar& value, const Int& size, bool wrap) {
  const Scalar index = Cast(value, DType::kInt64);
  if (!wrap) return Value(index);
  const Scalar from_end = index + Index(size);
  return Value(Call("where", {Call("lt", {index, Integer(0)}), from_end, index}));
}

// x[i0, i1, ...] with index tensors that broadcast against each other; none stands for a whole
// dimension.
struct Indexing {
  Indices broadcast;          // shape of the index tensors together
  size_t first = 0;           // where those dimensions stand in the result
  std::vector<bool> indexed;  // one entry a dimension of x
};
Indexing IndexingOf(Lowering& l, const Indices& shape,
                    const std::vector<std::optional<BufferId>>& indices) {
  Indexing result;
  result.indexed.assign(shape.size(), false);
  std::optional<size_t> first, last;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d]) continue;
    if (l.dtype(*indices[d]) == DType::kBool)
      l.fail("an index by a mask, whose result has no known size");
    result.indexed[d] = true;
    if (!first) first = d;
    last = d;
    const Indices& own = l.shape(*indices[d]);
    if (own.size() > result.broadcast.size()) {
      result.broadcast.insert(result.broadcast.begin(), own.size() - result.broadcast.size(),
                              Int(1));
    }
    for (size_t i = 0; i < own.size(); ++i) {
      Int& size = result.broadcast[result.broadcast.size() - own.size() + i];
      if (size.is(1)) size = own[i];
    }
  }
  bool together = true;
  for (size_t d = first.value_or(0); d <= last.value_or(0); ++d)
    together = together && result.indexed[d];
  result.first = together ? first.value_or(0) : 0;
  return result;
}

// Index into x of an element of the indexed view.
Indices At(Lowering& l, const Indices& shape, const std::vector<std::optional<BufferId>>& indices,
           const Indexing& indexing, const Indices& index) {
  const size_t width = indexing.broadcast.size();
  const Indices part(index.begin() + static_cast<std::ptrdiff_t>(indexing.first),
                     index.begin() + static_cast<std::ptrdiff_t>(indexing.first + width));
  Indices at;
  size_t next = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (indexing.indexed[d]) {
      at.push_back(Loaded(l.broadcast(*indices[d], part), shape[d], true));
      continue;
    }
    if (next == indexing.first) next += width;
    at.push_back(index[next++]);
  }
  return at;
}

BufferId Scatter(Lowering& l, const Indices& source,
                 const std::function<Indices(const Indices&)>& target,
                 const std::function<Scalar(const Indices&)>& value, Combine combine,
                 const Indices& shape, DType type,
                 const std::function<Scalar(const Indices&)>& base,
                 const std::function<Scalar(const Indices&)>& condition = nullptr) {
  Nest nest;
  nest.kind = Nest::Kind::kScatter;
  nest.axes = l.axes(source);
  nest.target = target(nest.axes);
  nest.body = Cast(value(nest.axes), type);
  if (condition) nest.condition = condition(nest.axes);
  nest.combine = combine;
  nest.out_axes = l.axes(shape);
  nest.base = Cast(base(nest.out_axes), type);
  return l.add(std::move(nest), type, shape);
}

// Half types have no atomics worth the name: sums are kept in float and rounded once.
void SetScattered(Lowering& l, BufferId scattered) {
  const DType type = l.result_type();
  if (l.dtype(scattered) == type) return l.set(0, scattered);
  l.set(0, l.map(type, l.shape(scattered),
                 [&](const Indices& index) { return l.load(scattered, index); }));
}

void ScatterDim(Lowering& l, Combine combine) {
  const BufferId x = l.tensor(0), index = l.tensor(2);
  const Indices shape = l.shape(x);
  const size_t dim = shape.empty() ? 0 : Dim(l.fixed(1), shape.size());
  const DType type = combine == Combine::kSet ? l.result_type() : AccumulateType(l.result_type());
  SetScattered(l, Scatter(
                      l, l.shape(index),
                      [&](const Indices& at) {
                        Indices target = at;
                        if (!target.empty())
                          target[dim] = Loaded(l.load(index, at), shape[dim], false);
                        return target;
                      },
                      [&](const Indices& at) {
                        return l.is_tensor(3) ? l.load(l.tensor(3), at) : l.number(3, type);
                      },
                      combine, shape, type, [&](const Indices& at) { return l.load(x, at); }));
}

void IndexPut(Lowering& l) {
  const BufferId x = l.tensor(0);
  const auto indices = l.tensors(1);
  const Indices shape = l.shape(x);
  const Indexing indexing = IndexingOf(l, shape, indices);
  const bool accumulate = l.flag(3);
  const DType type = accumulate ? AccumulateType(l.result_type()) : l.result_type();
  // The shape of x[indices].
  Indices source;
  size_t kept = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (indexing.indexed[d]) continue;
    if (kept++ == indexing.first)
      source.insert(source.end(), indexing.broadcast.begin(), indexing.broadcast.end());
    source.push_back(shape[d]);
  }
  if (kept <= indexing.first) {
    source.insert(
        source.begin() + static_cast<std::ptrdiff_t>(std::min(indexing.first, source.size())),
        indexing.broadcast.begin(), indexing.broadcast.end());
  }
  SetScattered(
      l, Scatter(
             l, source, [&](const Indices& at) { return At(l, shape, indices, indexing, at); },
             [&](const Indices& at) { return l.read(2, at); },
             accumulate ? Combine::kSum : Combine::kSet, shape, type,
             [&](const Indices& at) { return l.load(x, at); }));
}

}  // namespace

void AddIndexRules(Rules& rules) {
  using enum AtenOp;
  rules[kGather] = [](Lowering& l) {
    const BufferId x = l.tensor(0), index = l.tensor(2);
    const Indices shape = l.shape(x);
    l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& at) {
      Indices from = at;
      if (!from.empty()) {
        const size_t dim = Dim(l.fixed(1), shape.size());
        from[dim] = Loaded(l.load(index, at), shape[dim], false);
      }
      return l.load(x, from);
    }));
  };
  rules[kIndexSelect] = [](Lowering& l) {
    const BufferId x = l.tensor(0), index = l.tensor(2);
    const size_t dim = Dim(l.fixed(1), l.rank(x));
    l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& at) {
      Indices from = at;
      from[dim] = Loaded(l.broadcast(index, {at[dim]}), l.shape(x)[dim], false);
      return l.load(x, from);
    }));
  };
  rules[kEmbedding] = [](Lowering& l) {
    const BufferId table = l.tensor(0), indices = l.tensor(1);
    l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& at) {
      const Indices which(at.begin(), at.end() - 1);
      return l.load(table, {Loaded(l.load(indices, which), l.shape(table)[0], false), at.back()});
    }));
  };
  rules[kEmbeddingDenseBackward] = [](Lowering& l) {
    if (l.flag(4)) l.fail("gradients scaled by frequency");
    const BufferId g = l.tensor(0), indices = l.tensor(1);
    const int64_t padding = l.fixed(3);
    const DType type = AccumulateType(l.result_type());
    const auto row = [&](const Indices& at) {
      return l.load(indices, Indices(at.begin(), at.end() - 1));
    };
    SetScattered(
        l, Scatter(
               l, l.shape(g), [&](const Indices& at) { return Indices{Value(row(at)), at.back()}; },
               [&](const Indices& at) { return l.load(g, at); }, Combine::kSum, l.result_shape(),
               type, [&](const Indices&) { return Number(0, type); },
               [&](const Indices& at) -> Scalar {
                 return padding < 0 ? Truth(true) : Call("ne", {row(at), Integer(padding)});
               }));
  };
  rules[{kIndexTensor, kUnsafeIndexTensor}] = [](Lowering& l) {
    const BufferId x = l.tensor(0);
    const auto indices = l.tensors(1);
    const Indexing indexing = IndexingOf(l, l.shape(x), indices);
    l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& index) {
      return l.load(x, At(l, l.shape(x), indices, indexing, index));
    }));
  };
  rules[kIndexPut] = IndexPut;
  rules[kUnsafeIndexPut] = IndexPut;
  rules[kIndexAdd] = [](Lowering& l) {
    const BufferId x = l.tensor(0), index = l.tensor(2), source = l.tensor(3);
    const size_t dim = Dim(l.fixed(1), l.rank(x));
    const DType type = AccumulateType(l.result_type());
    SetScattered(
        l,
        Scatter(
            l, l.shape(source),
            [&](const Indices& at) {
              Indices target = at;
              target[dim] = Loaded(l.broadcast(index, {at[dim]}), l.shape(x)[dim], false);
              return target;
            },
            [&](const Indices& at) { return l.number(4, type) * Cast(l.load(source, at), type); },
            Combine::kSum, l.shape(x), type, [&](const Indices& at) { return l.load(x, at); }));
  };
  rules[{kScatterSrc, kScatterValue}] = [](Lowering& l) { ScatterDim(l, Combine::kSet); };
  rules[kScatterAdd] = [](Lowering& l) { ScatterDim(l, Combine::kSum); };
  rules[kScatterReduceTwo] = [](Lowering& l) {
    if (!l.flag(5)) l.fail("include_self=False");
    const std::string how = l.text(4);
    if (how == "sum") return ScatterDim(l, Combine::kSum);
    l.fail("a reduction by " + how);
  };
}

}  // namespace kernelsmith::codegen
