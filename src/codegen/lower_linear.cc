// Products of matrices. All of them are sums of products; fusing and tiling find out the rest.
#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

// sum over k of a(..., k)·b(k, ...)
BufferId Contract(Lowering& l, DType type, const Indices& outer, const Int& length,
                  const std::function<Scalar(const Indices&, const Int&)>& a,
                  const std::function<Scalar(const Indices&, const Int&)>& b) {
  const DType sums = AccumulateType(type);
  return l.reduce(sums, outer, {length}, Combine::kSum,
                  [&](const Indices& index, const Indices& k) {
                    return Cast(a(index, k[0]), sums) * Cast(b(index, k[0]), sums);
                  });
}

BufferId MatrixProduct(Lowering& l, BufferId a, BufferId b, DType type) {
  Indices outer(l.shape(a).begin(), l.shape(a).end() - 1);
  outer.push_back(l.shape(b).back());
  return Contract(
      l, type, outer, l.shape(a).back(),
      [&](const Indices& index, const Int& k) {
        Indices at(index.begin(), index.end() - 1);
        at.push_back(k);
        return l.load(a, at);
      },
      [&](const Indices& index, const Int& k) {
        Indices at(index.begin(), index.end() - 2);
        at.push_back(k);
        at.push_back(index.back());
        return l.load(b, at);
      });
}

void Finish(Lowering& l, BufferId product) {
  if (l.dtype(product) == l.result_type()) return l.set(0, product);
  l.set(0, l.map(l.result_type(), l.shape(product),
                 [&](const Indices& index) { return l.load(product, index); }));
}

// beta·self + alpha·product
void AddProduct(Lowering& l, BufferId product) {
  const DType type = AccumulateType(l.result_type());
  l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& index) {
    return l.number(3, type) * Cast(l.read(0, index), type) +
           l.number(4, type) * l.load(product, index);
  }));
}

BufferId MatrixVector(Lowering& l, BufferId a, BufferId x, DType type) {
  return Contract(
      l, type, {l.shape(a)[0]}, l.shape(a)[1],
      [&](const Indices& index, const Int& k) { return l.load(a, {index[0], k}); },
      [&](const Indices&, const Int& k) { return l.load(x, {k}); });
}

}  // namespace

void AddLinearRules(Rules& rules) {
  using enum AtenOp;
  const auto product = [](Lowering& l) {
    Finish(l, MatrixProduct(l, l.tensor(0), l.tensor(1), l.result_type()));
  };
  rules[kMm] = product;
  rules[kBmm] = product;
  const auto add = [](Lowering& l) {
    AddProduct(l, MatrixProduct(l, l.tensor(1), l.tensor(2), l.result_type()));
  };
  rules[kAddmm] = add;
  rules[kBaddbmm] = add;
  rules[kMv] = [](Lowering& l) {
    Finish(l, MatrixVector(l, l.tensor(0), l.tensor(1), l.result_type()));
  };
  rules[kAddmv] = [](Lowering& l) {
    AddProduct(l, MatrixVector(l, l.tensor(1), l.tensor(2), l.result_type()));
  };
  rules[kDot] = [](Lowering& l) {
    const BufferId a = l.tensor(0), b = l.tensor(1);
    Finish(l, Contract(
                  l, l.result_type(), {}, l.shape(a)[0],
                  [&](const Indices&, const Int& k) { return l.load(a, {k}); },
                  [&](const Indices&, const Int& k) { return l.load(b, {k}); }));
  };
}

}  // namespace kernelsmith::codegen
