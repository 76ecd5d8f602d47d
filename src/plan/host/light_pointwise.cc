// Operators of the table, and other element-wise ones.
#include <algorithm>

#include "plan/host/light_runtime.h"
#include "support/check.h"

namespace at {

using kernelsmith::AtenOp;
using kernelsmith::light::Op1;
using kernelsmith::light::OpArgument;
using kernelsmith::light::ThrowUnsupported;
using Sizes = std::vector<int64_t>;

std::vector<int64_t> infer_size(IntArrayRef a, IntArrayRef b) {
  Sizes sizes(std::max(a.size(), b.size()));
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    TORCH_CHECK(x == y || x == 1 || y == 1, "The size of tensor a (", x,
                ") must match the size of tensor b (", y, ") at non-singleton dimension ",
                sizes.size() - 1 - i);
    sizes[sizes.size() - 1 - i] = x == 1 ? y : x;
  }
  return sizes;
}

namespace {

// Numbers and tensors without dimensions take part in promotion only by their kind.
ScalarType Promote(const Tensor& a, const Tensor& b) {
  const auto category = [](ScalarType t) {
    return isFloatingType(t) ? 2 : t == ScalarType::Bool ? 0 : 1;
  };
  const ScalarType x = a.scalar_type(), y = b.scalar_type();
  if ((a.dim() == 0) != (b.dim() == 0)) {
    const ScalarType whole = a.dim() == 0 ? y : x, single = a.dim() == 0 ? x : y;
    if (category(whole) >= category(single)) return whole;
    return category(single) == 2 && category(whole) < 2 && single == ScalarType::Double
               ? ScalarType::Float
               : single;
  }
  return promoteTypes(x, y);
}

ScalarType Promote(const Tensor& a, const Scalar& b) {
  if (isFloatingType(a.scalar_type())) return a.scalar_type();
  if (b.isFloatingPoint()) return ScalarType::Float;
  if (a.scalar_type() == ScalarType::Bool && !b.isBoolean()) return ScalarType::Long;
  return a.scalar_type();
}

// What an operator gives: the type of its operands, the float that they become, or a truth.
enum class ResultType { kSame, kFloat, kBool };

ScalarType TypeOf(ResultType result, ScalarType operands) {
  switch (result) {
    case ResultType::kSame:
      return operands;
    case ResultType::kFloat:
      return isFloatingType(operands) ? operands : ScalarType::Float;
    case ResultType::kBool:
      return ScalarType::Bool;
  }
  KS_UNREACHABLE();
}

Tensor Unary(AtenOp op, ResultType result, const Tensor& self) {
  return Op1(op, {self}, self.sizes().vec(), TypeOf(result, self.scalar_type()));
}
Tensor Binary(AtenOp op, ResultType result, const Tensor& a, const Tensor& b) {
  return Op1(op, {a, b}, infer_size(a.sizes(), b.sizes()), TypeOf(result, Promote(a, b)));
}
Tensor Binary(AtenOp op, ResultType result, const Tensor& a, const Scalar& b) {
  return Op1(op, {a, b}, a.sizes().vec(), TypeOf(result, Promote(a, b)));
}

// `result` in place of `self`, as op_ does it.
Tensor& Assign(const Tensor& self, const Tensor& result) {
  TORCH_CHECK(self.sizes() == result.sizes(), "output with shape ", self.sizes(),
              " doesn't match the broadcast shape ", result.sizes());
  return self.copy_(result);
}

Tensor MatrixProduct(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dim() > 0 && b.dim() > 0, "both arguments to matmul need to be at least 1D");
  const ScalarType type = promoteTypes(a.scalar_type(), b.scalar_type());
  TORCH_CHECK(a.scalar_type() == b.scalar_type(), "expected m1 and m2 to have the same dtype");
  if (a.dim() == 1 && b.dim() == 1) return Op1(AtenOp::kDot, {a, b}, {}, type);
  if (a.dim() == 1) return MatrixProduct(a.unsqueeze(0), b).squeeze(-2);
  if (b.dim() == 1) return MatrixProduct(a, b.unsqueeze(1)).squeeze(-1);
  TORCH_CHECK(a.size(-1) == b.size(-2), "mat1 and mat2 shapes cannot be multiplied (", a.size(-2),
              "x", a.size(-1), " and ", b.size(-2), "x", b.size(-1), ")");
  if (a.dim() == 2 && b.dim() == 2) {
    return Op1(AtenOp::kMm, {a, b}, {a.size(0), b.size(1)}, type);
  }
  if (b.dim() == 2) {
    Sizes sizes = a.sizes().vec();
    sizes.back() = b.size(1);
    return MatrixProduct(a.reshape({-1, a.size(-1)}), b).view(sizes);
  }
  const Sizes batch = infer_size(a.sizes().slice(0, a.dim() - 2), b.sizes().slice(0, b.dim() - 2));
  Sizes a_sizes = batch, b_sizes = batch, sizes = batch;
  int64_t count = 1;
  for (const int64_t size : batch) count *= size;
  a_sizes.insert(a_sizes.end(), {a.size(-2), a.size(-1)});
  b_sizes.insert(b_sizes.end(), {b.size(-2), b.size(-1)});
  sizes.insert(sizes.end(), {a.size(-2), b.size(-1)});
  return Op1(AtenOp::kBmm,
             {a.expand(a_sizes).reshape({count, a.size(-2), a.size(-1)}),
              b.expand(b_sizes).reshape({count, b.size(-2), b.size(-1)})},
             {count, a.size(-2), b.size(-1)}, type)
      .view(sizes);
}

Tensor Mm(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2, "mm: both tensors must be matrices");
  return MatrixProduct(a, b);
}
Tensor Bmm(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0),
              "bmm: both tensors must be batches of matrices, of the same number");
  return MatrixProduct(a, b);
}
Tensor Mv(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 1, "mv: a matrix and a vector expected");
  return MatrixProduct(a, b);
}
Tensor Dot(const Tensor& a, const Tensor& b) {
  TORCH_CHECK(a.dim() == 1 && b.dim() == 1 && a.numel() == b.numel(),
              "dot: two vectors of the same length expected");
  return MatrixProduct(a, b);
}
Tensor Outer(const Tensor& a, const Tensor& b) { return a.unsqueeze(1).mul(b.unsqueeze(0)); }

}  // namespace

#define KS_UNARY(name, op, result)                                                           \
  Tensor Tensor::name() const { return Unary(AtenOp::k##op, ResultType::k##result, *this); } \
  Tensor& Tensor::name##_() const { return Assign(*this, name()); }
#define KS_FUNCTION(name, op, result) \
  Tensor name(const Tensor& self) { return Unary(AtenOp::k##op, ResultType::k##result, self); }
#define KS_PREDICATE(name, op) \
  Tensor Tensor::name() const { return Unary(AtenOp::k##op, ResultType::kBool, *this); }
#define KS_BINARY(name, op, op_scalar, result)                                              \
  Tensor Tensor::name(const Tensor& other) const {                                          \
    return Binary(AtenOp::k##op, ResultType::k##result, *this, other);                      \
  }                                                                                         \
  Tensor Tensor::name(const Scalar& other) const {                                          \
    return Binary(AtenOp::k##op_scalar, ResultType::k##result, *this, other);               \
  }                                                                                         \
  Tensor& Tensor::name##_(const Tensor& other) const { return Assign(*this, name(other)); } \
  Tensor& Tensor::name##_(const Scalar& other) const { return Assign(*this, name(other)); }
#define KS_BINARY_TENSOR(name, op, result)                             \
  Tensor Tensor::name(const Tensor& other) const {                     \
    return Binary(AtenOp::k##op, ResultType::k##result, *this, other); \
  }
#define KS_PRODUCT(name, function) \
  Tensor Tensor::name(const Tensor& other) const { return function(*this, other); }
#define KS_COMPARE(name, op, op_scalar)                                   \
  Tensor Tensor::name(const Tensor& other) const {                        \
    return Binary(AtenOp::k##op, ResultType::kBool, *this, other);        \
  }                                                                       \
  Tensor Tensor::name(const Scalar& other) const {                        \
    return Binary(AtenOp::k##op_scalar, ResultType::kBool, *this, other); \
  }
#include <kernelsmith/light/operators.def>

Tensor Tensor::add(const Tensor& other, const Scalar& alpha) const {
  return Op1(AtenOp::kAddTensor, {*this, other, alpha}, infer_size(sizes(), other.sizes()),
             Promote(*this, other));
}
Tensor Tensor::add(const Scalar& other, const Scalar& alpha) const {
  return Op1(AtenOp::kAddScalar, {*this, other, alpha}, sizes().vec(), Promote(*this, other));
}
Tensor Tensor::sub(const Tensor& other, const Scalar& alpha) const {
  return Op1(AtenOp::kSubTensor, {*this, other, alpha}, infer_size(sizes(), other.sizes()),
             Promote(*this, other));
}
Tensor Tensor::sub(const Scalar& other, const Scalar& alpha) const {
  return Op1(AtenOp::kSubScalar, {*this, other, alpha}, sizes().vec(), Promote(*this, other));
}
Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha) const {
  return Assign(*this, add(other, alpha));
}
Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha) const {
  return Assign(*this, add(other, alpha));
}
Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha) const {
  return Assign(*this, sub(other, alpha));
}
Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha) const {
  return Assign(*this, sub(other, alpha));
}
Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return Assign(*this, Op1(AtenOp::kAddcmul, {*this, a, b, value}, sizes().vec(), scalar_type()));
}
Tensor Tensor::clamp(const std::optional<Scalar>& low, const std::optional<Scalar>& high) const {
  return Op1(AtenOp::kClamp,
             {*this, low ? OpArgument(*low) : OpArgument(nullptr),
              high ? OpArgument(*high) : OpArgument(nullptr)},
             sizes().vec(), scalar_type());
}
Tensor& Tensor::clamp_(const std::optional<Scalar>& low, const std::optional<Scalar>& high) const {
  return Assign(*this, clamp(low, high));
}
Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  return Op1(AtenOp::kMaskedFillScalar, {*this, mask, value}, infer_size(sizes(), mask.sizes()),
             scalar_type());
}
Tensor& Tensor::masked_fill_(const Tensor& mask, const Scalar& value) const {
  return Assign(*this, masked_fill(mask, value));
}
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return Op1(AtenOp::kWhereSelf, {condition, a, b},
             infer_size(condition.sizes(), infer_size(a.sizes(), b.sizes())), Promote(a, b));
}
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b) {
  return Op1(AtenOp::kWhereScalarOther, {condition, a, b}, infer_size(condition.sizes(), a.sizes()),
             Promote(a, b));
}
Tensor Tensor::where(const Tensor& condition, const Tensor& other) const {
  return at::where(condition, *this, other);
}
Tensor Tensor::addmm(const Tensor& a, const Tensor& b, const Scalar& beta,
                     const Scalar& alpha) const {
  TORCH_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0),
              "mat1 and mat2 shapes cannot be multiplied");
  return Op1(AtenOp::kAddmm, {*this, a, b, beta, alpha}, {a.size(0), b.size(1)}, a.scalar_type());
}
Tensor Tensor::baddbmm(const Tensor& a, const Tensor& b, const Scalar& beta,
                       const Scalar& alpha) const {
  TORCH_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(2) == b.size(1),
              "batch1 and batch2 shapes cannot be multiplied");
  return Op1(AtenOp::kBaddbmm, {*this, a, b, beta, alpha}, {a.size(0), a.size(1), b.size(2)},
             a.scalar_type());
}
Tensor gelu(const Tensor& self, const std::string& approximate) {
  return Op1(AtenOp::kGelu, {self, approximate.c_str()}, self.sizes().vec(), self.scalar_type());
}
Tensor elu(const Tensor& self, const Scalar& alpha) {
  return Op1(AtenOp::kElu, {self, alpha}, self.sizes().vec(), self.scalar_type());
}
Tensor leaky_relu(const Tensor& self, const Scalar& slope) {
  return Op1(AtenOp::kLeakyRelu, {self, slope}, self.sizes().vec(), self.scalar_type());
}
Tensor softplus(const Tensor& self, const Scalar& beta, const Scalar& threshold) {
  return Op1(AtenOp::kSoftplus, {self, beta, threshold}, self.sizes().vec(), self.scalar_type());
}
Tensor hardtanh(const Tensor& self, const Scalar& low, const Scalar& high) {
  return Op1(AtenOp::kHardtanh, {self, low, high}, self.sizes().vec(), self.scalar_type());
}

}  // namespace at
