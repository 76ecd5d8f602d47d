// Convolutions of any rank, transposed or not, with groups, and their gradients: sums of products
// whose indices are shifted by the window.
#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

struct Convolution {
  std::vector<Int> stride, padding, dilation;
  bool transposed = false;
  Int groups;
  size_t spatial = 0;
};

std::vector<Int> Spread(std::vector<Int> values, size_t count) {
  while (values.size() < count) values.push_back(values[0]);
  return values;
}

Convolution Options(Lowering& l, size_t first, size_t spatial) {
  Convolution c;
  c.spatial = spatial;
  c.stride = Spread(l.integers(first), spatial);
  c.padding = Spread(l.integers(first + 1), spatial);
  c.dilation = Spread(l.integers(first + 2), spatial);
  c.transposed = l.flag(first + 3);
  c.groups = l.integer(first + 5);
  return c;
}

// Where the window of output position `o` reads: o·stride + k·dilation - padding, and whether that
// is inside.
Scalar Forward(const Convolution& c, const Indices& o, const Indices& k, const Indices& sizes,
               Indices* at) {
  Scalar inside = Truth(true);
  for (size_t d = 0; d < c.spatial; ++d) {
    const Int position = o[d] * c.stride[d] + k[d] * c.dilation[d] - c.padding[d];
    at->push_back(position);
    // Without padding a window never leaves its input.
    if (c.padding[d].is(0)) continue;
    inside = And(inside, And(NotNegative(position), LessThan(position, sizes[d])));
  }
  return inside;
}

// The other way round: which output position reads input position `i` by window element `k`, if any
// does.
Scalar Backward(const Convolution& c, const Indices& i, const Indices& k, const Indices& sizes,
                Indices* at) {
  Scalar inside = Truth(true);
  for (size_t d = 0; d < c.spatial; ++d) {
    const Int distance = i[d] + c.padding[d] - k[d] * c.dilation[d];
    const Int position = Divide(distance, c.stride[d]);
    at->push_back(position);
    inside = And(inside, NotNegative(distance));
    if (!c.stride[d].is(1))
      inside = And(inside, Call("eq", {Index(Modulo(distance, c.stride[d])), Integer(0)}));
    inside = And(inside, LessThan(position, sizes[d]));
  }
  return inside;
}

Indices Spatial(const Indices& shape) { return Indices(shape.begin() + 2, shape.end()); }

Indices Join(Indices a, const Indices& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Scalar Guarded(const Scalar& inside, const Scalar& value) {
  return Guard(inside, value, Number(0, value->dtype));
}

// out[n, c, o...] = sum over channels of the group and the window of x·weight. `forward`: the
// window moves over x as in a convolution; otherwise as in its transpose. The weight's first
// dimension belongs to the output if `out_first`, else to the input.
BufferId Correlate(Lowering& l, const Convolution& c, BufferId x, BufferId weight,
                   const Indices& out, DType type, bool forward, bool out_first) {
  const Indices& xs = l.shape(x);
  const Indices& ws = l.shape(weight);
  const bool grouped = !c.groups.is(1);
  const Int in_per_group = grouped ? Divide(xs[1], c.groups) : xs[1];
  const Int out_per_group = grouped ? Divide(out[1], c.groups) : out[1];
  const DType sums = AccumulateType(type);
  Indices window{in_per_group};
  for (const Int& size : Spatial(ws)) window.push_back(size);
  return l.reduce(sums, out, window, Combine::kSum, [&](const Indices& o, const Indices& r) {
    const Int group = grouped ? Divide(o[1], out_per_group) : Int(0);
    const Int in_channel = grouped ? group * in_per_group + r[0] : r[0];
    const Int out_in_group = grouped ? Modulo(o[1], out_per_group) : o[1];
    const Indices k(r.begin() + 1, r.end());
    Indices at{o[0], in_channel};
    const Indices position(o.begin() + 2, o.end());
    const Scalar inside = forward ? Forward(c, position, k, Spatial(xs), &at)
                                  : Backward(c, position, k, Spatial(xs), &at);
    const Indices w = Join(out_first ? Indices{o[1], r[0]} : Indices{in_channel, out_in_group}, k);
    return Guarded(inside, Cast(l.load(x, at), sums)) * Cast(l.load(weight, w), sums);
  });
}

// The gradient of the weight: `fine` moves with the window, `coarse` is what the window was placed
// by.
BufferId WeightGradient(Lowering& l, const Convolution& c, BufferId coarse, BufferId fine,
                        const Indices& shape, DType type) {
  // weight[a, b, k...]: a is a channel of `coarse`, b one of `fine` within the group.
  const Indices &cs = l.shape(coarse), &fs = l.shape(fine);
  const bool grouped = !c.groups.is(1);
  const Int coarse_per_group = grouped ? Divide(cs[1], c.groups) : cs[1];
  const Int fine_per_group = grouped ? Divide(fs[1], c.groups) : fs[1];
  const DType sums = AccumulateType(type);
  const Indices domain = Join({cs[0]}, Spatial(cs));
  return l.reduce(sums, shape, domain, Combine::kSum, [&](const Indices& w, const Indices& r) {
    const Int group = grouped ? Divide(w[0], coarse_per_group) : Int(0);
    const Indices position(r.begin() + 1, r.end());
    const Indices k(w.begin() + 2, w.end());
    Indices at{r[0], grouped ? group * fine_per_group + w[1] : w[1]};
    const Scalar inside = Forward(c, position, k, Spatial(fs), &at);
    return Cast(l.load(coarse, Join({r[0], w[0]}, position)), sums) *
           Guarded(inside, Cast(l.load(fine, at), sums));
  });
}

BufferId InType(Lowering& l, BufferId x, DType type) {
  if (l.dtype(x) == type) return x;
  return l.map(type, l.shape(x), [&](const Indices& index) { return l.load(x, index); });
}

// Sizes that a fit could not find from products and quotients alone.
void OfferSizes(Lowering& l, const Convolution& c, const Indices& xs, const Indices& ws) {
  for (size_t d = 0; d < c.spatial; ++d) {
    const Int &size = xs[d + 2], &kernel = ws[d + 2];
    const Int reach = c.dilation[d] * (kernel - Int(1)) + Int(1);
    l.family().Offer(Divide(size + Int(2) * c.padding[d] - reach, c.stride[d]) + Int(1));
    l.family().Offer((size - Int(1)) * c.stride[d] - Int(2) * c.padding[d] + reach);
  }
  if (!c.groups.is(1)) l.family().Offer(ws[1] * c.groups);
}

void Convolve(Lowering& l) {
  const BufferId x = l.tensor(0), weight = l.tensor(1);
  if (l.rank(x) != l.rank(weight)) l.fail("an input without a batch");
  const Convolution c = Options(l, 3, l.rank(x) - 2);
  OfferSizes(l, c, l.shape(x), l.shape(weight));
  const DType type = l.result_type();
  const Indices out = l.result_shape();
  const BufferId sum = Correlate(l, c, x, weight, out, type, !c.transposed, !c.transposed);
  if (!l.has(2)) return l.set(0, InType(l, sum, type));
  const BufferId bias = l.tensor(2);
  l.set(0, l.map(type, out, [&](const Indices& index) {
    return l.load(sum, index) + Cast(l.broadcast(bias, {index[1]}), AccumulateType(type));
  }));
}

void ConvolveBackward(Lowering& l) {
  const BufferId g = l.tensor(0), x = l.tensor(1), weight = l.tensor(2);
  const Convolution c = Options(l, 4, l.rank(x) - 2);
  const auto* mask = std::get_if<Argument::List>(&l.node().args[10].value);
  const auto wanted = [&](size_t i) {
    const auto* value = mask && i < mask->size() ? std::get_if<bool>(&(*mask)[i].value) : nullptr;
    return value && *value && l.has_result(i);
  };
  const DType type = l.dtype(x);
  if (wanted(0)) {
    l.set(0, InType(l, Correlate(l, c, g, weight, l.shape(x), type, c.transposed, c.transposed),
                    type));
  }
  if (wanted(1)) {
    const BufferId gradient = c.transposed ? WeightGradient(l, c, x, g, l.shape(weight), type)
                                           : WeightGradient(l, c, g, x, l.shape(weight), type);
    l.set(1, InType(l, gradient, type));
  }
  if (wanted(2)) {
    const Indices& gs = l.shape(g);
    const DType sums = AccumulateType(type);
    const BufferId sum =
        l.reduce(sums, {gs[1]}, Join({gs[0]}, Spatial(gs)), Combine::kSum,
                 [&](const Indices& channel, const Indices& r) {
                   const Indices position(r.begin() + 1, r.end());
                   return Cast(l.load(g, Join({r[0], channel[0]}, position)), sums);
                 });
    l.set(2, InType(l, sum, l.result_type(2)));
  }
}

}  // namespace

void AddConvolutionRules(Rules& rules) {
  using enum AtenOp;
  rules[kConvolution] = Convolve;
  rules[kConvolutionBackward] = ConvolveBackward;
}

}  // namespace kernelsmith::codegen
