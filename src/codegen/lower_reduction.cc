// Sums, extremes, statistics, softmax.
#include <cmath>
#include <limits>

#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

// Sums of integers and bools are int64 in PyTorch; the graph says the result's type.
Rule ReduceWith(Combine combine, size_t dims_arg, size_t keep_arg) {
  return [=](Lowering& l) {
    const BufferId x = l.tensor(0);
    const bool all = dims_arg == 0;
    const std::vector<int64_t> dims =
        all || !l.has(dims_arg) ? std::vector<int64_t>{} : l.fixed_list(dims_arg);
    const bool keep = !all && l.flag(keep_arg);
    const DType type = l.result_type();
    l.set(0, l.reduce_dims(type, l.shape(x), dims, keep, combine, [&](const Indices& index) {
      return Cast(l.load(x, index), RegisterType(type));
    }));
  };
}

Int CountOf(const Indices& shape, const std::vector<int64_t>& dims) {
  Int count(1);
  for (const int64_t d : NormalizedDims(dims, shape.size()))
    count = count * shape[static_cast<size_t>(d)];
  return count;
}

void Mean(Lowering& l, const std::vector<int64_t>& dims, bool keep) {
  const BufferId x = l.tensor(0);
  const DType type = l.result_type(), sums = AccumulateType(type);
  const BufferId sum =
      l.reduce_dims(sums, l.shape(x), dims, keep, Combine::kSum,
                    [&](const Indices& index) { return Cast(l.load(x, index), sums); });
  const Int count = CountOf(l.shape(x), dims);
  l.set(0, l.map(type, l.shape(sum),
                 [&](const Indices& index) { return l.load(sum, index) / Index(count, sums); }));
}

struct Moments {
  BufferId mean, variance;
};
Moments MomentsOf(Lowering& l, BufferId x, const std::vector<int64_t>& dims,
                  const Scalar& correction, bool keep) {
  const DType type = AccumulateType(l.dtype(x));
  const Indices shape = l.shape(x);
  const Int count = CountOf(shape, dims);
  const BufferId sum =
      l.reduce_dims(type, shape, dims, true, Combine::kSum,
                    [&](const Indices& index) { return Cast(l.load(x, index), type); });
  const BufferId mean = l.map(type, l.shape(sum), [&](const Indices& index) {
    return l.load(sum, index) / Index(count, type);
  });
  const BufferId squares =
      l.reduce_dims(type, shape, dims, keep, Combine::kSum, [&](const Indices& index) {
        const Scalar distance = Cast(l.load(x, index), type) - l.broadcast(mean, index);
        return distance * distance;
      });
  const BufferId variance = l.map(type, l.shape(squares), [&](const Indices& index) {
    return l.load(squares, index) / (Index(count, type) - Cast(correction, type));
  });
  return {mean, variance};
}

Scalar Correction(Lowering& l, size_t arg) {
  return l.has(arg) ? l.number(arg, DType::kFloat32) : Number(1);
}

// The same elements without the dimensions that were kept as 1.
BufferId InShape(Lowering& l, BufferId x, DType type, const Indices& shape) {
  return l.map(type, shape, [&](const Indices& index) {
    return l.load(x, l.reshape(l.shape(x), shape, index));
  });
}

std::vector<int64_t> DimsArgument(Lowering& l, size_t arg) {
  return l.has(arg) ? l.fixed_list(arg) : std::vector<int64_t>{};
}

struct SoftmaxParts {
  BufferId largest, sum;  // keep the reduced dimension
};
// -inf rows: the largest value is replaced by 0 there, as PyTorch's logsumexp does, so that nothing
// is inf - inf.
SoftmaxParts Parts(Lowering& l, BufferId x, const std::vector<int64_t>& dims, bool finite) {
  const DType type = AccumulateType(l.dtype(x));
  BufferId largest =
      l.reduce_dims(type, l.shape(x), dims, true, Combine::kMax,
                    [&](const Indices& index) { return Cast(l.load(x, index), type); });
  if (finite) {
    largest = l.map(type, l.shape(largest), [&](const Indices& index) {
      const Scalar m = l.load(largest, index);
      return Call("where", {Call("isinf", {m}), Number(0, type), m});
    });
  }
  const BufferId sum =
      l.reduce_dims(type, l.shape(x), dims, true, Combine::kSum, [&](const Indices& index) {
        return Call("exp", {Cast(l.load(x, index), type) - l.broadcast(largest, index)});
      });
  return {largest, sum};
}

void Softmax(Lowering& l, bool logarithm) {
  const BufferId x = l.tensor(0);
  const DType type = AccumulateType(l.dtype(x));
  const SoftmaxParts parts = Parts(l, x, {l.fixed(1)}, false);
  l.set(0, l.map(l.result_type(), l.shape(x), [&](const Indices& index) {
    const Scalar shifted = Cast(l.load(x, index), type) - l.broadcast(parts.largest, index);
    const Scalar sum = l.broadcast(parts.sum, index);
    return logarithm ? shifted - Call("log", {sum}) : Call("exp", {shifted}) / sum;
  }));
}

void SoftmaxBackward(Lowering& l, bool logarithm) {
  const BufferId g = l.tensor(0), y = l.tensor(1);
  const DType type = AccumulateType(l.dtype(g));
  const BufferId sum =
      l.reduce_dims(type, l.shape(g), {l.fixed(2)}, true, Combine::kSum, [&](const Indices& index) {
        const Scalar value = Cast(l.load(g, index), type);
        return logarithm ? value : value * l.load(y, index);
      });
  l.set(0, l.map(l.result_type(), l.shape(g), [&](const Indices& index) {
    const Scalar grad = Cast(l.load(g, index), type), out = Cast(l.load(y, index), type);
    const Scalar total = l.broadcast(sum, index);
    return logarithm ? grad - Call("exp", {out}) * total : (grad - total) * out;
  }));
}

}  // namespace

void AddReductionRules(Rules& rules) {
  using enum AtenOp;
  rules[kAmax] = ReduceWith(Combine::kMax, 1, 2);
  rules[kAmin] = ReduceWith(Combine::kMin, 1, 2);
  rules[{kAny, kAnyDim, kAnyDims}] = ReduceWith(Combine::kAny, 1, 2);
  rules[{kAll, kAllDim}] = ReduceWith(Combine::kAll, 1, 2);
  // Without dimensions the second argument is a dtype.
  rules[kSum] = ReduceWith(Combine::kSum, 0, 2);
  rules[kSumDimIntList] = ReduceWith(Combine::kSum, 1, 2);
  rules[kProd] = ReduceWith(Combine::kProduct, 0, 2);
  rules[kProdDimInt] = ReduceWith(Combine::kProduct, 1, 2);
  rules[kMean] = [](Lowering& l) { Mean(l, {}, false); };
  rules[kMeanDim] = [](Lowering& l) { Mean(l, DimsArgument(l, 1), l.flag(2)); };
  rules[kVarCorrection] = [](Lowering& l) {
    const Moments m = MomentsOf(l, l.tensor(0), DimsArgument(l, 1), Correction(l, 2), l.flag(3));
    l.set(0, l.map(l.result_type(), l.shape(m.variance),
                   [&](const Indices& i) { return l.load(m.variance, i); }));
  };
  rules[kVarMeanCorrection] = [](Lowering& l) {
    const Moments m = MomentsOf(l, l.tensor(0), DimsArgument(l, 1), Correction(l, 2), l.flag(3));
    l.set(0, l.map(l.result_type(), l.shape(m.variance),
                   [&](const Indices& i) { return l.load(m.variance, i); }));
    l.set(1, InShape(l, m.mean, l.result_type(1), l.result_shape(1)));
  };
  rules[kLogsumexp] = [](Lowering& l) {
    const BufferId x = l.tensor(0);
    const SoftmaxParts parts = Parts(l, x, DimsArgument(l, 1), true);
    const Indices shape = l.result_shape();
    l.set(0, l.map(l.result_type(), shape, [&](const Indices& index) {
      const Indices at = l.reshape(l.shape(parts.sum), shape, index);
      return l.load(parts.largest, at) + Call("log", {l.load(parts.sum, at)});
    }));
  };
  rules[kSoftmax] = [](Lowering& l) { Softmax(l, false); };
  rules[kLogSoftmax] = [](Lowering& l) { Softmax(l, true); };
  rules[kSoftmaxBackwardData] = [](Lowering& l) { SoftmaxBackward(l, false); };
  rules[kLogSoftmaxBackwardData] = [](Lowering& l) { SoftmaxBackward(l, true); };
}

}  // namespace kernelsmith::codegen
