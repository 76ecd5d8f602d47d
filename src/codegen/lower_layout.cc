// Views and movement: nothing but index arithmetic.
#include <algorithm>

#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

size_t Dim(int64_t dim, size_t rank) {
  return static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(rank) : dim);
}

// The element of argument 0 that stands at `index` of the result.
Rule Moved(
    const std::function<Indices(Lowering&, const Indices& shape, const Indices& index)>& source) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    const Indices shape = l.shape(x);
    l.set(0, l.map(l.result_type(), l.result_shape(),
                   [&](const Indices& index) { return l.load(x, source(l, shape, index)); }));
  };
}

void Reshape(Lowering& l) {
  const BufferId x = l.tensor(0);
  const Indices shape = l.result_shape();
  l.set(0, l.map(l.result_type(), shape, [&](const Indices& index) {
    return l.load(x, l.reshape(l.shape(x), shape, index));
  }));
}

// Start of a slice; negative ones count from the end, too large ones are cut.
struct SliceBounds {
  size_t dim = 0;
  Int start, step;
};
SliceBounds Bounds(Lowering& l, size_t first, const Indices& shape) {
  SliceBounds bounds;
  bounds.dim = Dim(l.fixed(first), shape.size());
  bounds.start = 0;
  if (l.has(first + 1)) {
    const Int start = l.integer(first + 1);
    const auto values = l.family().ValuesOf(start);
    const bool negative =
        std::any_of(values.begin(), values.end(), [](int64_t v) { return v < 0; });
    bounds.start = negative ? shape[bounds.dim] + start : start;
  }
  bounds.step = l.integer(first + 3);
  return bounds;
}

void Concatenate(Lowering& l, bool stack) {
  std::vector<BufferId> parts;
  for (const auto& part : l.tensors(0)) {
    if (part && !(l.rank(*part) == 1 && l.shape(*part)[0].is(0))) parts.push_back(*part);
  }
  const Indices shape = l.result_shape();
  const size_t dim = Dim(l.fixed(1), shape.size());
  l.set(0, l.map(l.result_type(), shape, [&](const Indices& index) {
    // From the last part back: each guard holds for indices below the end of its part.
    std::vector<Int> starts{Int(0)};
    for (const BufferId part : parts)
      starts.push_back(starts.back() + (stack ? Int(1) : l.shape(part)[dim]));
    Scalar value;
    for (size_t i = parts.size(); i-- > 0;) {
      Indices at = index;
      if (stack) {
        at.erase(at.begin() + static_cast<std::ptrdiff_t>(dim));
      } else {
        at[dim] = l.shape(parts[i])[dim].is(1) ? Int(0) : index[dim] - starts[i];
      }
      const Scalar own = Cast(l.load(parts[i], at), RegisterType(l.result_type()));
      // Both sides of the guard load: each only where it may.
      value = value ? Guard(LessThan(index[dim], starts[i + 1]), own, value) : own;
    }
    return value;
  }));
}

void Split(Lowering& l) {
  const BufferId x = l.tensor(0);
  const size_t dim = Dim(l.fixed(2), l.rank(x));
  Int start;
  for (size_t i = 0; i < l.result_count(); ++i) {
    const Indices shape = l.result_shape(i);
    l.set(i, l.map(l.result_type(i), shape, [&](const Indices& index) {
      Indices at = index;
      at[dim] = index[dim] + start;
      return l.load(x, at);
    }));
    start = start + shape[dim];
  }
}

// Where `index` lies in the slice, and its position there.
Scalar InSlice(const SliceBounds& bounds, const Int& length, const Int& index, Int* at) {
  const Int distance = index - bounds.start;
  *at = Divide(distance, bounds.step);
  Scalar inside = And(NotNegative(distance), LessThan(distance, length * bounds.step));
  if (!bounds.step.is(1))
    inside = And(inside, Call("eq", {Index(Modulo(distance, bounds.step)), Integer(0)}));
  return inside;
}

void Pad(Lowering& l) {
  const BufferId x = l.tensor(0);
  const Indices shape = l.shape(x);
  const std::vector<Int> pads = l.integers(1);
  const DType type = l.result_type();
  l.set(0, l.map(type, l.result_shape(), [&](const Indices& index) {
    Indices at = index;
    Scalar inside = Truth(true);
    for (size_t i = 0; 2 * i < pads.size(); ++i) {
      const size_t d = shape.size() - 1 - i;
      at[d] = index[d] - pads[2 * i];
      if (!pads[2 * i].is(0)) inside = And(inside, NotNegative(at[d]));
      if (!pads[2 * i + 1].is(0)) inside = And(inside, LessThan(at[d], shape[d]));
    }
    return Guard(inside, l.load(x, at), l.number(2, type));
  }));
}

// The elements of a dense tensor lie where its strides say; a strided view of them is index
// arithmetic as long as the operand is dense and row-major.
void AsStrided(Lowering& l) {
  const BufferId x = l.tensor(0);
  const std::vector<Int> strides = l.integers(2);
  const Int offset = l.has(3) ? l.integer(3) : Int(0);
  const Indices shape = l.result_shape();
  const Indices flat{Product(l.shape(x))};
  l.set(0, l.map(l.result_type(), shape, [&](const Indices& index) {
    Int position = offset;
    for (size_t d = 0; d < index.size(); ++d) position = position + index[d] * strides[d];
    return l.load(x, l.reshape(l.shape(x), flat, {position}));
  }));
}

Rule Triangle(bool lower) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    const Int diagonal = l.integer(1);
    l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& index) {
      const Int row = index[index.size() - 2], column = index.back();
      const Scalar distance = Index(column - row);
      return Call("where", {Call(lower ? "le" : "ge", {distance, Index(diagonal)}),
                            l.load(x, index), Number(0, l.result_type())});
    }));
  };
}

// Each padded position's gradient goes to the border element that it repeats: gathered, so no two
// threads meet.
void ReplicationPadBackward(Lowering& l) {
  const BufferId g = l.tensor(0), x = l.tensor(1);
  const Indices shape = l.shape(x), padded = l.shape(g);
  const std::vector<Int> pads = l.integers(2);
  const size_t spatial = pads.size() / 2;
  Indices window;
  for (size_t i = 0; i < spatial; ++i) window.push_back(padded[shape.size() - spatial + i]);
  const DType type = AccumulateType(l.result_type());
  l.set(0, l.reduce(l.result_type(), shape, window, Combine::kSum,
                    [&](const Indices& index, const Indices& r) {
                      Indices at = index;
                      Scalar hit = Truth(true);
                      for (size_t i = 0; i < spatial; ++i) {
                        const size_t d = shape.size() - spatial + i;
                        const Int from =
                            Max(Min(r[i] - pads[2 * (spatial - 1 - i)], shape[d] - Int(1)), Int(0));
                        hit = And(hit, Call("eq", {Index(from), Index(index[d])}));
                        at[d] = r[i];
                      }
                      return Guard(hit, Cast(l.load(g, at), type), Number(0, type));
                    }));
}

}  // namespace

void AddLayoutRules(Rules& rules) {
  using enum AtenOp;
  rules[{kAlias, kClone, kLiftFreshCopy}] =
      Moved([](Lowering&, const Indices&, const Indices& index) { return index; });
  rules[kCopy] = [](Lowering& l) {
    l.set(0, l.map(l.result_type(), l.result_shape(),
                   [&](const Indices& index) { return l.read(1, index); }));
  };
  rules[{kView, kUnsafeView, kSqueeze, kSqueezeDim, kSqueezeDims, kUnsqueeze}] = Reshape;
  rules[kPermute] = Moved([](Lowering& l, const Indices& shape, const Indices& index) {
    const std::vector<int64_t> dims = l.fixed_list(1);
    Indices at(shape.size());
    for (size_t d = 0; d < dims.size(); ++d) at[Dim(dims[d], shape.size())] = index[d];
    return at;
  });
  rules[kTransposeInt] = Moved([](Lowering& l, const Indices& shape, const Indices& index) {
    Indices at = index;
    if (!shape.empty())
      std::swap(at[Dim(l.fixed(1), shape.size())], at[Dim(l.fixed(2), shape.size())]);
    return at;
  });
  rules[kT] = Moved([](Lowering&, const Indices&, const Indices& index) {
    return Indices(index.rbegin(), index.rend());
  });
  rules[kExpand] = [](Lowering& l) {
    const BufferId x = l.tensor(0);
    l.set(0, l.map(l.result_type(), l.result_shape(),
                   [&](const Indices& index) { return l.broadcast(x, index); }));
  };
  rules[kRepeat] = Moved([](Lowering&, const Indices& shape, const Indices& index) {
    Indices at;
    for (size_t d = 0; d < shape.size(); ++d) {
      at.push_back(Modulo(index[index.size() - shape.size() + d], shape[d]));
    }
    return at;
  });
  rules[kSliceTensor] = Moved([](Lowering& l, const Indices& shape, const Indices& index) {
    const SliceBounds bounds = Bounds(l, 1, shape);
    Indices at = index;
    at[bounds.dim] = bounds.start + index[bounds.dim] * bounds.step;
    return at;
  });
  rules[kSelectInt] = Moved([](Lowering& l, const Indices& shape, const Indices& index) {
    const size_t dim = Dim(l.fixed(1), shape.size());
    const Int chosen = l.integer(2);
    const auto value = chosen.constant();
    Indices at = index;
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(dim),
              value && *value < 0 ? shape[dim] + chosen : chosen);
    return at;
  });
  rules[kSliceScatter] = [](Lowering& l) {
    const BufferId x = l.tensor(0), source = l.tensor(1);
    const SliceBounds bounds = Bounds(l, 2, l.shape(x));
    l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& index) {
      Indices at = index;
      const Scalar inside =
          InSlice(bounds, l.shape(source)[bounds.dim], index[bounds.dim], &at[bounds.dim]);
      return Guard(inside, Cast(l.load(source, at), l.result_type()), l.load(x, index));
    }));
  };
  rules[kSelectScatter] = [](Lowering& l) {
    const BufferId x = l.tensor(0), source = l.tensor(1);
    const size_t dim = Dim(l.fixed(2), l.rank(x));
    const Int chosen = l.integer(3);
    const auto value = chosen.constant();
    const Int wanted = value && *value < 0 ? l.shape(x)[dim] + chosen : chosen;
    l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& index) {
      Indices at = index;
      at.erase(at.begin() + static_cast<std::ptrdiff_t>(dim));
      return Call("where", {Call("eq", {Index(index[dim]), Index(wanted)}),
                            Cast(l.load(source, at), l.result_type()), l.load(x, index)});
    }));
  };
  rules[kDiagonal] = Moved([](Lowering& l, const Indices& shape, const Indices& index) {
    const int64_t offset = l.fixed(1);
    const size_t first = Dim(l.fixed(2), shape.size()), second = Dim(l.fixed(3), shape.size());
    Indices at(shape.size());
    size_t next = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      if (d != first && d != second) at[d] = index[next++];
    }
    at[first] = index.back() + Int(std::max<int64_t>(0, -offset));
    at[second] = index.back() + Int(std::max<int64_t>(0, offset));
    return at;
  });
  rules[kUnfold] = Moved([](Lowering& l, const Indices& shape, const Indices& index) {
    const size_t dim = Dim(l.fixed(1), shape.size());
    Indices at(index.begin(), index.end() - 1);
    at[dim] = index[dim] * l.integer(3) + index.back();
    return at;
  });
  rules[kAsStrided] = AsStrided;
  rules[kFlip] = Moved([](Lowering& l, const Indices& shape, const Indices& index) {
    Indices at = index;
    for (const int64_t dim : l.fixed_list(1)) {
      const size_t d = Dim(dim, shape.size());
      if (!shape[d].is(1)) at[d] = shape[d] - Int(1) - index[d];
    }
    return at;
  });
  rules[kRoll] = Moved([](Lowering& l, const Indices& shape, const Indices& index) {
    const std::vector<Int> shifts = l.integers(1);
    const std::vector<int64_t> dims = l.fixed_list(2);
    Indices at = index;
    if (dims.empty()) {
      const Int count = Product(shape);
      const Int flat = FlatIndex(shape, index) + count - Modulo(shifts[0] + count, count);
      return l.reshape(shape, {count}, {Modulo(flat, count)});
    }
    for (size_t i = 0; i < dims.size(); ++i) {
      const size_t d = Dim(dims[i], shape.size());
      if (shape[d].is(1)) continue;
      at[d] = Modulo(index[d] + shape[d] - Modulo(shifts[i] + shape[d], shape[d]), shape[d]);
    }
    return at;
  });
  rules[kCat] = [](Lowering& l) { Concatenate(l, false); };
  rules[kStack] = [](Lowering& l) { Concatenate(l, true); };
  rules[kSplitWithSizes] = Split;
  rules[kSplitTensor] = Split;
  rules[kUnbindInt] = [](Lowering& l) {
    const BufferId x = l.tensor(0);
    const size_t dim = Dim(l.fixed(1), l.rank(x));
    for (size_t i = 0; i < l.result_count(); ++i) {
      l.set(i, l.map(l.result_type(i), l.result_shape(i), [&](const Indices& index) {
        Indices at = index;
        at.insert(at.begin() + static_cast<std::ptrdiff_t>(dim), Int(static_cast<int64_t>(i)));
        return l.load(x, at);
      }));
    }
  };
  rules[kConstantPadNd] = Pad;
  rules[kReplicationPad2dBackward] = ReplicationPadBackward;
  rules[kReplicationPad3dBackward] = ReplicationPadBackward;
  rules[kTril] = Triangle(true);
  rules[kTriu] = Triangle(false);
}

}  // namespace kernelsmith::codegen
