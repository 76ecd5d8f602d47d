// Reductions, rearrangements and layers.
#include <algorithm>

#include "plan/host/light_runtime.h"

namespace at {
namespace {

using kernelsmith::AtenOp;
using kernelsmith::light::Op;
using kernelsmith::light::Op1;
using kernelsmith::light::OpArgument;
using kernelsmith::light::WrapDim;
using Sizes = std::vector<int64_t>;

Sizes Reduced(const Tensor& self, const Sizes& dims, bool keepdim) {
  Sizes sizes = self.sizes().vec();
  std::vector<bool> gone(sizes.size(), dims.empty());
  for (const int64_t d : dims) {
    if (!sizes.empty()) gone[WrapDim(d, self.dim())] = true;
  }
  Sizes result;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!gone[i]) {
      result.push_back(sizes[i]);
    } else if (keepdim) {
      result.push_back(1);
    }
  }
  return result;
}

ScalarType SumType(const Tensor& self, std::optional<ScalarType> dtype) {
  if (dtype) return *dtype;
  return isFloatingType(self.scalar_type()) ? self.scalar_type() : ScalarType::Long;
}

OpArgument DtypeArgument(std::optional<ScalarType> dtype) {
  return dtype ? OpArgument(*dtype) : OpArgument(nullptr);
}

std::tuple<Tensor, Tensor> WithIndices(AtenOp op, const Tensor& self, int64_t d, bool keepdim) {
  const Sizes sizes = Reduced(self, {d}, keepdim);
  const std::vector<Tensor> both =
      Op(op, {self, d, keepdim}, {{sizes, self.scalar_type()}, {sizes, ScalarType::Long}});
  return {both[0], both[1]};
}

Sizes Repeated(IntArrayRef list, size_t count) {
  return list.size() == 1 ? Sizes(count, list[0]) : list.vec();
}

Tensor Convolve(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                IntArrayRef output_padding, int64_t groups, size_t spatial) {
  if (input.dim() == static_cast<int64_t>(spatial) + 1) {
    return Convolve(input.unsqueeze(0), weight, bias, stride, padding, dilation, transposed,
                    output_padding, groups, spatial)
        .squeeze(0);
  }
  TORCH_CHECK(input.dim() == static_cast<int64_t>(spatial) + 2 && weight.dim() == input.dim(),
              "convolution: input and weight must have ", spatial + 2, " dimensions");
  const Sizes s = Repeated(stride, spatial), p = Repeated(padding, spatial),
              d = Repeated(dilation, spatial), o = Repeated(output_padding, spatial);
  Sizes sizes{input.size(0), transposed ? weight.size(1) * groups : weight.size(0)};
  for (size_t i = 0; i < spatial; ++i) {
    const auto at = static_cast<int64_t>(i) + 2;
    const int64_t kernel = d[i] * (weight.size(at) - 1);
    sizes.push_back(transposed ? (input.size(at) - 1) * s[i] - 2 * p[i] + kernel + o[i] + 1
                               : (input.size(at) + 2 * p[i] - kernel - 1) / s[i] + 1);
    TORCH_CHECK(sizes.back() >= 0, "convolution: kernel size can't be greater than input size");
  }
  return Op1(AtenOp::kConvolution, {input, weight, bias, s, p, d, transposed, o, groups}, sizes,
             input.scalar_type());
}

int64_t PoolSize(int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                 bool ceil_mode) {
  const int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1;
  int64_t count = (span + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  if (ceil_mode && (count - 1) * stride >= size + padding) --count;
  return count;
}

}  // namespace

Tensor Tensor::sum(std::optional<ScalarType> dtype) const {
  return Op1(AtenOp::kSum, {*this, DtypeArgument(dtype)}, {}, SumType(*this, dtype));
}
Tensor Tensor::sum(OptionalIntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) const {
  const Sizes list = dims.has_value() ? dims.value() : Sizes{};
  return Op1(AtenOp::kSumDimIntList, {*this, list, keepdim, DtypeArgument(dtype)},
             Reduced(*this, list, keepdim), SumType(*this, dtype));
}
Tensor Tensor::mean(std::optional<ScalarType> dtype) const {
  return Op1(AtenOp::kMean, {*this, DtypeArgument(dtype)}, {}, dtype.value_or(scalar_type()));
}
Tensor Tensor::mean(OptionalIntArrayRef dims, bool keepdim, std::optional<ScalarType> dtype) const {
  const Sizes list = dims.has_value() ? dims.value() : Sizes{};
  return Op1(AtenOp::kMeanDim, {*this, list, keepdim, DtypeArgument(dtype)},
             Reduced(*this, list, keepdim), dtype.value_or(scalar_type()));
}
Tensor Tensor::amax(OptionalIntArrayRef dims, bool keepdim) const {
  const Sizes list = dims.has_value() ? dims.value() : Sizes{};
  return Op1(AtenOp::kAmax, {*this, list, keepdim}, Reduced(*this, list, keepdim), scalar_type());
}
Tensor Tensor::amin(OptionalIntArrayRef dims, bool keepdim) const {
  const Sizes list = dims.has_value() ? dims.value() : Sizes{};
  return Op1(AtenOp::kAmin, {*this, list, keepdim}, Reduced(*this, list, keepdim), scalar_type());
}
Tensor Tensor::max() const { return Op1(AtenOp::kMax, {*this}, {}, scalar_type()); }
Tensor Tensor::min() const { return Op1(AtenOp::kMin, {*this}, {}, scalar_type()); }
std::tuple<Tensor, Tensor> Tensor::max(int64_t d, bool keepdim) const {
  return WithIndices(AtenOp::kMaxDim, *this, d, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::min(int64_t d, bool keepdim) const {
  return WithIndices(AtenOp::kMinDim, *this, d, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::sort(int64_t d, bool descending) const {
  const std::vector<Tensor> both =
      Op(AtenOp::kSort, {*this, d, descending},
         {{sizes().vec(), scalar_type()}, {sizes().vec(), ScalarType::Long}});
  return {both[0], both[1]};
}
std::tuple<Tensor, Tensor> Tensor::topk(int64_t k, int64_t d, bool largest, bool sorted) const {
  Sizes result = sizes().vec();
  if (!result.empty()) result[WrapDim(d, dim())] = k;
  const std::vector<Tensor> both = Op(AtenOp::kTopk, {*this, k, d, largest, sorted},
                                      {{result, scalar_type()}, {result, ScalarType::Long}});
  return {both[0], both[1]};
}
Tensor Tensor::prod() const { return Op1(AtenOp::kProd, {*this}, {}, SumType(*this, {})); }
Tensor Tensor::prod(int64_t d, bool keepdim) const {
  return Op1(AtenOp::kProdDimInt, {*this, d, keepdim}, Reduced(*this, {d}, keepdim),
             SumType(*this, {}));
}
Tensor Tensor::argmax(std::optional<int64_t> d, bool keepdim) const {
  return Op1(AtenOp::kArgmax, {*this, d ? OpArgument(*d) : OpArgument(nullptr), keepdim},
             Reduced(*this, d ? Sizes{*d} : Sizes{}, keepdim), ScalarType::Long);
}
Tensor Tensor::argmin(std::optional<int64_t> d, bool keepdim) const {
  return Op1(AtenOp::kArgmin, {*this, d ? OpArgument(*d) : OpArgument(nullptr), keepdim},
             Reduced(*this, d ? Sizes{*d} : Sizes{}, keepdim), ScalarType::Long);
}
Tensor Tensor::any() const { return Op1(AtenOp::kAny, {*this}, {}, ScalarType::Bool); }
Tensor Tensor::all() const { return Op1(AtenOp::kAll, {*this}, {}, ScalarType::Bool); }
Tensor Tensor::norm(const Scalar& p) const {
  if (p.toDouble() == 2) return mul(*this).sum().sqrt();
  if (p.toDouble() == 1) return abs().sum();
  return abs().pow(p).sum().pow(1.0 / p.toDouble());
}
Tensor Tensor::norm(const std::optional<Scalar>& p, IntArrayRef dims, bool keepdim) const {
  const double power = p ? p->toDouble() : 2;
  if (power == 2) return mul(*this).sum(dims, keepdim).sqrt();
  if (power == 1) return abs().sum(dims, keepdim);
  return abs().pow(power).sum(dims, keepdim).pow(1.0 / power);
}
Tensor Tensor::var(OptionalIntArrayRef dims, bool unbiased, bool keepdim) const {
  const Sizes list = dims.has_value() ? dims.value() : Sizes{};
  return Op1(AtenOp::kVarCorrection, {*this, list, unbiased ? 1 : 0, keepdim},
             Reduced(*this, list, keepdim), scalar_type());
}
Tensor Tensor::std(OptionalIntArrayRef dims, bool unbiased, bool keepdim) const {
  return var(dims, unbiased, keepdim).sqrt();
}
Tensor Tensor::logsumexp(IntArrayRef dims, bool keepdim) const {
  return Op1(AtenOp::kLogsumexp, {*this, dims.vec(), keepdim}, Reduced(*this, dims.vec(), keepdim),
             scalar_type());
}
Tensor Tensor::cumsum(int64_t d) const {
  return Op1(AtenOp::kCumsum, {*this, d}, sizes().vec(), SumType(*this, {}));
}
Tensor Tensor::cumprod(int64_t d) const {
  return Op1(AtenOp::kCumprod, {*this, d}, sizes().vec(), SumType(*this, {}));
}
Tensor Tensor::softmax(int64_t d, std::optional<ScalarType> dtype) const {
  const Tensor x = dtype ? to(*dtype) : *this;
  return Op1(AtenOp::kSoftmax, {x, d, false}, sizes().vec(), x.scalar_type());
}
Tensor Tensor::log_softmax(int64_t d, std::optional<ScalarType> dtype) const {
  const Tensor x = dtype ? to(*dtype) : *this;
  return Op1(AtenOp::kLogSoftmax, {x, d, false}, sizes().vec(), x.scalar_type());
}
Tensor Tensor::tril(int64_t k) const {
  return Op1(AtenOp::kTril, {*this, k}, sizes().vec(), scalar_type());
}
Tensor Tensor::triu(int64_t k) const {
  return Op1(AtenOp::kTriu, {*this, k}, sizes().vec(), scalar_type());
}
Tensor Tensor::flip(IntArrayRef dims) const {
  return Op1(AtenOp::kFlip, {*this, dims.vec()}, sizes().vec(), scalar_type());
}
Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dims) const {
  return Op1(AtenOp::kRoll, {*this, shifts.vec(), dims.vec()}, sizes().vec(), scalar_type());
}
Tensor Tensor::index_select(int64_t d, const Tensor& index) const {
  Sizes result = sizes().vec();
  if (!result.empty()) result[WrapDim(d, dim())] = index.numel();
  return Op1(AtenOp::kIndexSelect, {*this, d, index}, result, scalar_type());
}
Tensor Tensor::gather(int64_t d, const Tensor& index) const {
  return Op1(AtenOp::kGather, {*this, d, index}, index.sizes().vec(), scalar_type());
}

Tensor cat(TensorList tensors, int64_t d) {
  TORCH_CHECK(!tensors.empty(), "cat: expected a non-empty list of Tensors");
  Sizes sizes = tensors[0].sizes().vec();
  d = WrapDim(d, tensors[0].dim());
  ScalarType type = tensors[0].scalar_type();
  for (size_t i = 1; i < tensors.size(); ++i) {
    TORCH_CHECK(tensors[i].dim() == tensors[0].dim(),
                "Tensors must have same number of dimensions");
    sizes[d] += tensors[i].size(d);
    type = promoteTypes(type, tensors[i].scalar_type());
  }
  return Op1(AtenOp::kCat, {tensors.vec(), d}, sizes, type);
}
Tensor stack(TensorList tensors, int64_t d) {
  std::vector<Tensor> raised;
  for (const Tensor& tensor : tensors) raised.push_back(tensor.unsqueeze(d));
  return cat(raised, d);
}

Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  const Tensor product = input.matmul(weight.t());
  return bias && bias->defined() ? product.add(*bias) : product;
}
Tensor conv1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return Convolve(input, weight, bias, stride, padding, dilation, false, 0, groups, 1);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return Convolve(input, weight, bias, stride, padding, dilation, false, 0, groups, 2);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
              IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, int64_t groups) {
  return Convolve(input, weight, bias, stride, padding, dilation, false, 0, groups, 3);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias, IntArrayRef stride, IntArrayRef padding,
                        IntArrayRef output_padding, int64_t groups, IntArrayRef dilation) {
  return Convolve(input, weight, bias, stride, padding, dilation, true, output_padding, groups, 2);
}
Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups) {
  return Convolve(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                  groups, static_cast<size_t>(weight.dim()) - 2);
}
std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    const std::optional<std::vector<int64_t>>& bias_sizes, IntArrayRef stride, IntArrayRef padding,
    IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
    std::array<bool, 3> output_mask) {
  TORCH_CHECK(output_mask[0] && output_mask[1] && output_mask[2],
              "convolution_backward: all three gradients must be asked for");
  OpArgument mask(nullptr);
  mask.value = {true, true, true};
  const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
  const Sizes bias = bias_sizes ? *bias_sizes : Sizes{channels};
  const std::vector<Tensor> all =
      Op(AtenOp::kConvolutionBackward,
         {grad, input, weight, bias, stride.vec(), padding.vec(), dilation.vec(), transposed,
          output_padding.vec(), groups, mask},
         {{input.sizes().vec(), input.scalar_type()},
          {weight.sizes().vec(), weight.scalar_type()},
          {bias, grad.scalar_type()}});
  return {all[0], all[1], all[2]};
}
Tensor max_pool2d(const Tensor& input, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                  IntArrayRef dilation, bool ceil_mode) {
  const Sizes k = Repeated(kernel, 2), s = stride.empty() ? k : Repeated(stride, 2),
              p = Repeated(padding, 2), d = Repeated(dilation, 2);
  Sizes sizes = input.sizes().vec();
  TORCH_CHECK(sizes.size() >= 3, "max_pool2d: expected 3 or 4 dimensions");
  for (size_t i = 0; i < 2; ++i) {
    int64_t& size = sizes[sizes.size() - 2 + i];
    size = PoolSize(size, k[i], s[i], p[i], d[i], ceil_mode);
  }
  return Op(AtenOp::kMaxPool2dWithIndices, {input, k, s, p, d, ceil_mode},
            {{sizes, input.scalar_type()}, {sizes, ScalarType::Long}})[0];
}
Tensor avg_pool2d(const Tensor& input, IntArrayRef kernel, IntArrayRef stride, IntArrayRef padding,
                  bool ceil_mode, bool count_include_pad) {
  const Sizes k = Repeated(kernel, 2), s = stride.empty() ? k : Repeated(stride, 2),
              p = Repeated(padding, 2);
  Sizes sizes = input.sizes().vec();
  TORCH_CHECK(sizes.size() >= 3, "avg_pool2d: expected 3 or 4 dimensions");
  for (size_t i = 0; i < 2; ++i) {
    int64_t& size = sizes[sizes.size() - 2 + i];
    size = PoolSize(size, k[i], s[i], p[i], 1, ceil_mode);
  }
  return Op1(AtenOp::kAvgPool2d, {input, k, s, p, ceil_mode, count_include_pad}, sizes,
             input.scalar_type());
}
Tensor layer_norm(const Tensor& input, IntArrayRef shape, const std::optional<Tensor>& weight,
                  const std::optional<Tensor>& bias, double eps) {
  Sizes outer = input.sizes().vec();
  TORCH_CHECK(outer.size() >= shape.size(), "layer_norm: the normalised shape is too long");
  for (size_t i = 0; i < shape.size(); ++i) outer[outer.size() - 1 - i] = 1;
  return Op(AtenOp::kNativeLayerNorm, {input, shape.vec(), weight, bias, eps},
            {{input.sizes().vec(), input.scalar_type()},
             {outer, input.scalar_type()},
             {outer, input.scalar_type()}})[0];
}
Tensor embedding(const Tensor& weight, const Tensor& indices) {
  Sizes sizes = indices.sizes().vec();
  sizes.push_back(weight.size(1));
  return Op1(AtenOp::kEmbedding, {weight, indices}, sizes, weight.scalar_type());
}

}  // namespace at
