// Free functions of at:: and torch::. A function that torch has and this file lacks makes a
// candidate `unsupported`, by name.
#pragma once

#include <string>

#include "tensor.h"

namespace at {

// -- creation
Tensor empty(IntArrayRef sizes, const TensorOptions& options = {},
             std::optional<MemoryFormat> format = {});
Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {});
Tensor ones(IntArrayRef sizes, const TensorOptions& options = {});
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options = {});
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor empty_like(const Tensor& like, const TensorOptions& options = {},
                  std::optional<MemoryFormat> format = {});
Tensor zeros_like(const Tensor& like, const TensorOptions& options = {});
Tensor ones_like(const Tensor& like, const TensorOptions& options = {});
Tensor full_like(const Tensor& like, const Scalar& value, const TensorOptions& options = {});
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              const TensorOptions& options = {});
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options = {});
Tensor eye(int64_t n, const TensorOptions& options = {});
// Random numbers have no place in a kernel that is to be compared: these throw `unsupported`.
Tensor rand(IntArrayRef sizes, const TensorOptions& options = {});
Tensor randn(IntArrayRef sizes, const TensorOptions& options = {});
Tensor rand_like(const Tensor& like, const TensorOptions& options = {});
Tensor randn_like(const Tensor& like, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides,
                 const TensorOptions& options = {});
Tensor TensorFromBytes(const void* data, size_t bytes, IntArrayRef sizes, ScalarType dtype,
                       const TensorOptions& options);
template <typename T>
inline Tensor tensor(ArrayRef<T> values, const TensorOptions& options = {}) {
  return TensorFromBytes(values.data(), values.size() * sizeof(T),
                         {static_cast<int64_t>(values.size())}, CppTypeToScalarType<T>::value,
                         options);
}
template <typename T>
inline Tensor tensor(const std::vector<T>& values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<T>(values), options);
}
template <typename T>
inline Tensor tensor(std::initializer_list<T> values, const TensorOptions& options = {}) {
  return tensor(ArrayRef<T>(values), options);
}
template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
inline Tensor tensor(T value, const TensorOptions& options = {}) {
  return TensorFromBytes(&value, sizeof value, {}, CppTypeToScalarType<T>::value, options);
}

// -- methods as functions
#define KS_UNARY(name, ...)                                      \
  inline Tensor name(const Tensor& self) { return self.name(); } \
  inline Tensor& name##_(Tensor& self) { return self.name##_(), self; }
#define KS_FUNCTION(name, ...) Tensor name(const Tensor& self);
#define KS_PREDICATE(name, ...) \
  inline Tensor name(const Tensor& self) { return self.name(); }
#define KS_BINARY(name, ...)                                                               \
  inline Tensor name(const Tensor& self, const Tensor& other) { return self.name(other); } \
  inline Tensor name(const Tensor& self, const Scalar& other) { return self.name(other); }
#define KS_BINARY_TENSOR(name, ...) \
  inline Tensor name(const Tensor& self, const Tensor& other) { return self.name(other); }
#define KS_PRODUCT(name, ...) KS_BINARY_TENSOR(name)
#define KS_COMPARE(name, ...) KS_BINARY(name)
#include "operators.def"

inline Tensor add(const Tensor& self, const Tensor& other, const Scalar& alpha = 1) {
  return self.add(other, alpha);
}
inline Tensor add(const Tensor& self, const Scalar& other, const Scalar& alpha = 1) {
  return self.add(other, alpha);
}
inline Tensor sub(const Tensor& self, const Tensor& other, const Scalar& alpha = 1) {
  return self.sub(other, alpha);
}
inline Tensor sub(const Tensor& self, const Scalar& other, const Scalar& alpha = 1) {
  return self.sub(other, alpha);
}
inline Tensor square(const Tensor& self) { return self.square(); }
inline Tensor clamp(const Tensor& self, const std::optional<Scalar>& low,
                    const std::optional<Scalar>& high = {}) {
  return self.clamp(low, high);
}
inline Tensor clamp_min(const Tensor& self, const Scalar& low) { return self.clamp(low); }
inline Tensor clamp_max(const Tensor& self, const Scalar& high) { return self.clamp({}, high); }
inline Tensor addmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                    const Scalar& alpha = 1) {
  return self.addmm(a, b, beta, alpha);
}
inline Tensor baddbmm(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta = 1,
                      const Scalar& alpha = 1) {
  return self.baddbmm(a, b, beta, alpha);
}
// A chain of products of matrices; repeated letters in one operand and "..." are unsupported.
Tensor einsum(const std::string& equation, TensorList tensors);
Tensor one_hot(const Tensor& self, int64_t classes = -1);
inline Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  return self.masked_fill(mask, value);
}
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b);
Tensor cat(TensorList tensors, int64_t dim = 0);
inline Tensor concat(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
Tensor stack(TensorList tensors, int64_t dim = 0);
inline Tensor flatten(const Tensor& self, int64_t first = 0, int64_t last = -1) {
  return self.flatten(first, last);
}
inline Tensor reshape(const Tensor& self, IntArrayRef sizes) { return self.reshape(sizes); }
inline Tensor squeeze(const Tensor& self) { return self.squeeze(); }
inline Tensor squeeze(const Tensor& self, int64_t dim) { return self.squeeze(dim); }
inline Tensor unsqueeze(const Tensor& self, int64_t dim) { return self.unsqueeze(dim); }
inline Tensor transpose(const Tensor& self, int64_t a, int64_t b) { return self.transpose(a, b); }
inline Tensor t(const Tensor& self) { return self.t(); }
inline Tensor permute(const Tensor& self, IntArrayRef dims) { return self.permute(dims); }
inline Tensor narrow(const Tensor& self, int64_t dim, int64_t start, int64_t length) {
  return self.narrow(dim, start, length);
}
inline Tensor select(const Tensor& self, int64_t dim, int64_t index) {
  return self.select(dim, index);
}
inline Tensor clone(const Tensor& self) { return self.clone(); }
inline std::vector<Tensor> chunk(const Tensor& self, int64_t chunks, int64_t dim = 0) {
  return self.chunk(chunks, dim);
}
inline std::vector<Tensor> split(const Tensor& self, int64_t size, int64_t dim = 0) {
  return self.split(size, dim);
}
inline std::vector<Tensor> unbind(const Tensor& self, int64_t dim = 0) { return self.unbind(dim); }
inline Tensor tril(const Tensor& self, int64_t diagonal = 0) { return self.tril(diagonal); }
inline Tensor triu(const Tensor& self, int64_t diagonal = 0) { return self.triu(diagonal); }
inline Tensor flip(const Tensor& self, IntArrayRef dims) { return self.flip(dims); }
inline Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  return self.index_select(dim, index);
}
inline Tensor gather(const Tensor& self, int64_t dim, const Tensor& index) {
  return self.gather(dim, index);
}
inline Tensor sum(const Tensor& self) { return self.sum(); }
inline Tensor sum(const Tensor& self, OptionalIntArrayRef dims, bool keepdim = false) {
  return self.sum(dims, keepdim);
}
inline Tensor mean(const Tensor& self) { return self.mean(); }
inline Tensor mean(const Tensor& self, OptionalIntArrayRef dims, bool keepdim = false) {
  return self.mean(dims, keepdim);
}
inline Tensor amax(const Tensor& self, OptionalIntArrayRef dims = {}, bool keepdim = false) {
  return self.amax(dims, keepdim);
}
inline Tensor amin(const Tensor& self, OptionalIntArrayRef dims = {}, bool keepdim = false) {
  return self.amin(dims, keepdim);
}
inline Tensor max(const Tensor& self) { return self.max(); }
inline Tensor min(const Tensor& self) { return self.min(); }
inline Tensor max(const Tensor& self, const Tensor& other) { return self.maximum(other); }
inline Tensor min(const Tensor& self, const Tensor& other) { return self.minimum(other); }
inline std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim = false) {
  return self.max(dim, keepdim);
}
inline std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim = false) {
  return self.min(dim, keepdim);
}
inline std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim = -1,
                                       bool largest = true, bool sorted = true) {
  return self.topk(k, dim, largest, sorted);
}
inline std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim = -1,
                                       bool descending = false) {
  return self.sort(dim, descending);
}
inline Tensor argmax(const Tensor& self, std::optional<int64_t> dim = {}, bool keepdim = false) {
  return self.argmax(dim, keepdim);
}
inline Tensor argmin(const Tensor& self, std::optional<int64_t> dim = {}, bool keepdim = false) {
  return self.argmin(dim, keepdim);
}
inline Tensor norm(const Tensor& self, const Scalar& p = 2) { return self.norm(p); }
inline Tensor var(const Tensor& self, OptionalIntArrayRef dims, bool unbiased,
                  bool keepdim = false) {
  return self.var(dims, unbiased, keepdim);
}
inline Tensor logsumexp(const Tensor& self, IntArrayRef dims, bool keepdim = false) {
  return self.logsumexp(dims, keepdim);
}
inline Tensor cumsum(const Tensor& self, int64_t dim) { return self.cumsum(dim); }
inline Tensor cumprod(const Tensor& self, int64_t dim) { return self.cumprod(dim); }
inline Tensor softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype = {}) {
  return self.softmax(dim, dtype);
}
inline Tensor log_softmax(const Tensor& self, int64_t dim, std::optional<ScalarType> dtype = {}) {
  return self.log_softmax(dim, dtype);
}

// -- layers
Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias = {});
Tensor gelu(const Tensor& self, const std::string& approximate = "none");
Tensor elu(const Tensor& self, const Scalar& alpha = 1);
Tensor leaky_relu(const Tensor& self, const Scalar& slope = 0.01);
Tensor softplus(const Tensor& self, const Scalar& beta = 1, const Scalar& threshold = 20);
Tensor hardtanh(const Tensor& self, const Scalar& low = -1, const Scalar& high = 1);
Tensor conv1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias = {},
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias = {},
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias = {},
              IntArrayRef stride = 1, IntArrayRef padding = 0, IntArrayRef dilation = 1,
              int64_t groups = 1);
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const std::optional<Tensor>& bias = {}, IntArrayRef stride = 1,
                        IntArrayRef padding = 0, IntArrayRef output_padding = 0, int64_t groups = 1,
                        IntArrayRef dilation = 1);
Tensor convolution(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups);
std::tuple<Tensor, Tensor, Tensor> convolution_backward(
    const Tensor& grad, const Tensor& input, const Tensor& weight,
    const std::optional<std::vector<int64_t>>& bias_sizes, IntArrayRef stride, IntArrayRef padding,
    IntArrayRef dilation, bool transposed, IntArrayRef output_padding, int64_t groups,
    std::array<bool, 3> output_mask);
Tensor max_pool2d(const Tensor& input, IntArrayRef kernel, IntArrayRef stride = {},
                  IntArrayRef padding = 0, IntArrayRef dilation = 1, bool ceil_mode = false);
Tensor avg_pool2d(const Tensor& input, IntArrayRef kernel, IntArrayRef stride = {},
                  IntArrayRef padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor layer_norm(const Tensor& input, IntArrayRef shape, const std::optional<Tensor>& weight = {},
                  const std::optional<Tensor>& bias = {}, double eps = 1e-5);
Tensor embedding(const Tensor& weight, const Tensor& indices);

inline std::optional<Device> device_of(const Tensor& self) { return self.device(); }
inline int64_t numel(const Tensor& self) { return self.numel(); }
inline bool is_floating_point(const Tensor& self) { return self.is_floating_point(); }
std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b);

// at::acc_type<scalar_t, true>: what sums of scalar_t are kept in on a GPU.
template <typename T, bool is_cuda>
struct AccumulateType {
  using type = std::conditional_t<std::is_floating_point_v<T>, T,
                                  std::conditional_t<std::is_integral_v<T>, int64_t, float>>;
};
template <typename T, bool is_cuda>
using acc_type = typename AccumulateType<T, is_cuda>::type;
template <typename T>
struct OpMathType {
  using type = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
};
template <typename T>
using opmath_type = typename OpMathType<T>::type;

template <typename A, typename B>
constexpr auto ceil_div(A a, B b) {
  return (a + b - 1) / b;
}

}  // namespace at
