// Element-by-element operators.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "graph/call.h"
#include "tensor/layout.h"
#include "tensor/map.h"

namespace kernelsmith {
namespace {

template <typename T>
T N(double value) {
  return Number<T>(value);
}

// !b, with its near tie.
template <typename T>
T Not(const T& b) {
  return Select(b, MakeBool<T>(false), MakeBool<T>(true));
}
template <typename T>
T NonZero(const T& x) {
  if (std::isnan(Float(x))) return MakeBool<T>(true);
  return Not(Equal(x, N<T>(0)));
}
template <typename T>
T And(const T& a, const T& b) {
  return Select(a, NonZero(b), MakeBool<T>(false));
}
template <typename T>
T Or(const T& a, const T& b) {
  return Select(a, MakeBool<T>(true), NonZero(b));
}

#define KS_UNARY(name, expression)                                            \
  template <typename T>                                                       \
  Tensors<T> name(const Call<T>& c) {                                         \
    return {Map<T>(c.tensor(0), [](const T& x) -> T { return expression; })}; \
  }
KS_UNARY(Negate, -x)
KS_UNARY(AbsoluteValue, Abs(x))
KS_UNARY(Signum, Sign(x))
KS_UNARY(Reciprocal, N<T>(1) / x)
KS_UNARY(SquareRoot, Sqrt(x))
KS_UNARY(ReciprocalSquareRoot, Rsqrt(x))
KS_UNARY(RoundDown, Floor(x))
KS_UNARY(RoundUp, Ceil(x))
KS_UNARY(RoundNearest, Round(x))
KS_UNARY(RoundToZero, Trunc(x))
KS_UNARY(Fraction, x - Trunc(x))
KS_UNARY(Exponential, Exp(x))
KS_UNARY(Exponential2, Exp2(x))
KS_UNARY(ExponentialM1, Expm1(x))
KS_UNARY(Logarithm, Log(x))
KS_UNARY(Logarithm2, Log2(x))
KS_UNARY(Logarithm10, Log10(x))
KS_UNARY(Logarithm1P, Log1p(x))
KS_UNARY(Sine, Sin(x))
KS_UNARY(Cosine, Cos(x))
KS_UNARY(Tangent, Tan(x))
KS_UNARY(ArcSine, Asin(x))
KS_UNARY(ArcCosine, Acos(x))
KS_UNARY(ArcTangent, Atan(x))
KS_UNARY(HyperbolicSine, Sinh(x))
KS_UNARY(HyperbolicCosine, Cosh(x))
KS_UNARY(HyperbolicTangent, Tanh(x))
KS_UNARY(AreaSine, Asinh(x))
KS_UNARY(AreaCosine, Acosh(x))
KS_UNARY(AreaTangent, Atanh(x))
KS_UNARY(ErrorFunction, Erf(x))
KS_UNARY(ErrorFunctionC, Erfc(x))
KS_UNARY(LogGamma, Lgamma(x))
KS_UNARY(Logistic, Sigmoid(x))
KS_UNARY(Relu, Maximum(x, N<T>(0)))
KS_UNARY(Silu, x* Sigmoid(x))
KS_UNARY(Mish, x* Tanh(Log1p(Exp(x))))
KS_UNARY(HardSigmoid, Minimum(Maximum(x + N<T>(3), N<T>(0)), N<T>(6)) / N<T>(6))
KS_UNARY(HardSwish, x* Minimum(Maximum(x + N<T>(3), N<T>(0)), N<T>(6)) / N<T>(6))
KS_UNARY(IsNotANumber, MakeBool<T>(std::isnan(Float(x))))
KS_UNARY(IsInfinite, MakeBool<T>(std::isinf(Float(x))))
KS_UNARY(LogicalNot, Not(NonZero(x)))
#undef KS_UNARY

#define KS_BINARY(name, expression)                                                                \
  template <typename T>                                                                            \
  Tensors<T> name(const Call<T>& c) {                                                              \
    return {                                                                                       \
        Map<T>(c.tensor(0), c.tensor(1), [](const T& x, const T& y) -> T { return expression; })}; \
  }
KS_BINARY(Mul, x* y)
KS_BINARY(Div, x / y)
KS_BINARY(FloorDivide, Floor(x / y))
KS_BINARY(Power, Pow(x, y))
KS_BINARY(Hypot, Sqrt(x* x + y * y))
KS_BINARY(ArcTangent2, Atan2(x, y))
KS_BINARY(Max, Maximum(x, y))
KS_BINARY(Min, Minimum(x, y))
KS_BINARY(IsEqual, Equal(x, y))
KS_BINARY(IsNotEqual, Not(Equal(x, y)))
KS_BINARY(IsLess, Less(x, y))
KS_BINARY(IsLessEqual, LessEqual(x, y))
KS_BINARY(IsGreater, Less(y, x))
KS_BINARY(IsGreaterEqual, LessEqual(y, x))
KS_BINARY(LogicalAnd, And(NonZero(x), y))
KS_BINARY(LogicalOr, Or(NonZero(x), y))
KS_BINARY(LogicalXor, Not(Equal(NonZero(x), NonZero(y))))
KS_BINARY(SigmoidBackward, x*(N<T>(1) - y) * y)
KS_BINARY(TanhBackward, x*(N<T>(1) - y * y))
#undef KS_BINARY

// The float's remainder, for integers too; with the sign of x.
template <typename T>
T RemainderOf(const T& x, const T& y) {
  return x - Trunc(x / y) * y;
}

template <typename T>
Tensors<T> Fmod(const Call<T>& c) {
  return {Map<T>(c.tensor(0), c.tensor(1), [](const T& x, const T& y) -> T {
    if constexpr (Machine<T>) return std::fmod(x, y);
    return RemainderOf(x, y);
  })};
}

// With the sign of y, as in Python.
template <typename T>
Tensors<T> Remainder(const Call<T>& c) {
  return {Map<T>(c.tensor(0), c.tensor(1), [](const T& x, const T& y) -> T {
    T rest;
    if constexpr (Machine<T>) {
      rest = std::fmod(x, y);
    } else {
      rest = RemainderOf(x, y);
    }
    const bool other_sign = (Float(rest) < 0) != (Float(y) < 0);
    return Float(rest) != 0 && other_sign ? rest + y : rest;
  })};
}

template <typename T>
Tensors<T> DivMode(const Call<T>& c) {
  const std::string mode = c.has(2) ? c.text(2) : "";
  Require(mode.empty() || mode == "floor" || mode == "trunc", "an unknown rounding mode");
  return {Map<T>(c.tensor(0), c.tensor(1), [&](const T& x, const T& y) -> T {
    const T quotient = x / y;
    return mode.empty() ? quotient : mode == "floor" ? Floor(quotient) : Trunc(quotient);
  })};
}

// x + sign·alpha·y
template <typename T>
Tensors<T> AddScaled(const Tensor<T>& x, const Tensor<T>& y, const T& alpha, bool unit,
                     bool subtract) {
  return {Map<T>(x, y, [&](const T& a, const T& b) -> T {
    const T term = unit ? b : alpha * b;
    return subtract ? a - term : a + term;
  })};
}
template <typename T>
Tensors<T> Add(const Call<T>& c) {
  return AddScaled(c.tensor(0), c.tensor(1), c.scalar(2), c.number(2) == 1, false);
}
template <typename T>
Tensors<T> Sub(const Call<T>& c) {
  return AddScaled(c.tensor(0), c.tensor(1), c.scalar(2), c.number(2) == 1, true);
}
template <typename T>
Tensors<T> ReverseSub(const Call<T>& c) {
  return AddScaled(c.tensor(1), c.tensor(0), c.scalar(2), c.number(2) == 1, true);
}
template <typename T>
Tensors<T> AddCMul(const Call<T>& c) {
  const T value = c.scalar(3);
  return {Map<T>(c.tensor(0), c.tensor(1), c.tensor(2),
                 [&](const T& x, const T& y, const T& z) -> T { return x + value * y * z; })};
}
template <typename T>
Tensors<T> AddCDiv(const Call<T>& c) {
  const T value = c.scalar(3);
  return {Map<T>(c.tensor(0), c.tensor(1), c.tensor(2),
                 [&](const T& x, const T& y, const T& z) -> T { return x + value * y / z; })};
}
template <typename T>
Tensors<T> Lerp(const Call<T>& c) {
  return {Map<T>(c.tensor(0), c.tensor(1), c.tensor(2),
                 [](const T& x, const T& y, const T& w) -> T { return x + w * (y - x); })};
}

template <typename T>
Tensors<T> LogAddExp(const Call<T>& c) {
  return {Map<T>(c.tensor(0), c.tensor(1), [](const T& x, const T& y) -> T {
    // Which is larger does not matter to the sum.
    const bool swap = Float(x) < Float(y);
    const T& high = swap ? y : x;
    const T& low = swap ? x : y;
    return std::isinf(Float(high)) ? high : high + Log1p(Exp(low - high));
  })};
}

template <typename T>
Tensors<T> LeakyRelu(const Call<T>& c) {
  const T slope = c.scalar(1);
  return {
      Map<T>(c.tensor(0), [&](const T& x) -> T { return Select(Less(N<T>(0), x), x, x * slope); })};
}
template <typename T>
Tensors<T> Elu(const Call<T>& c) {
  const T alpha = c.scalar(1), scale = c.scalar(2), input_scale = c.scalar(3);
  return {Map<T>(c.tensor(0), [&](const T& x) -> T {
    return Select(Less(N<T>(0), x), x * scale, alpha * scale * Expm1(x * input_scale));
  })};
}

// sqrt(2/pi) and 0.044715, the constants of the tanh form; 1/sqrt(2) of the exact one.
template <typename T>
T RootTwoOverPi() {
  return Constant<T>(0.79788456080286535588, Precision::kFloat64);
}
template <typename T>
T CubicCoefficient() {
  return Constant<T>(0.044715, Precision::kFloat64);
}
template <typename T>
T RootHalf() {
  return Constant<T>(0.70710678118654752440, Precision::kFloat64);
}

template <typename T>
bool IsTanhForm(const Call<T>& c, size_t i) {
  const std::string form = c.text(i);
  Require(form == "none" || form == "tanh", "an unknown form of gelu");
  return form == "tanh";
}

template <typename T>
Tensors<T> Gelu(const Call<T>& c) {
  const bool tanh_form = IsTanhForm(c, 1);
  const T half = N<T>(0.5), one = N<T>(1);
  const T root = tanh_form ? RootTwoOverPi<T>() : RootHalf<T>(), cubic = CubicCoefficient<T>();
  return {Map<T>(c.tensor(0), [&](const T& x) -> T {
    if (tanh_form) return half * x * (one + Tanh(root * (x + cubic * x * x * x)));
    return half * x * (one + Erf(x * root));
  })};
}

template <typename T>
Tensors<T> GeluBackward(const Call<T>& c) {
  const bool tanh_form = IsTanhForm(c, 2);
  const T half = N<T>(0.5), one = N<T>(1), three = N<T>(3);
  const T root = tanh_form ? RootTwoOverPi<T>() : RootHalf<T>(), cubic = CubicCoefficient<T>();
  // 1/sqrt(2·pi)
  const T density = Constant<T>(0.39894228040143267794, Precision::kFloat64);
  return {Map<T>(c.tensor(0), c.tensor(1), [&](const T& g, const T& x) -> T {
    if (!tanh_form) return g * (half * (one + Erf(x * root)) + x * density * Exp(-half * x * x));
    const T t = Tanh(root * (x + cubic * x * x * x));
    return g * (half * (one + t) + half * x * (one - t * t) * root * (one + three * cubic * x * x));
  })};
}

template <typename T>
Tensors<T> Softplus(const Call<T>& c) {
  const T beta = c.scalar(1), threshold = c.scalar(2);
  return {Map<T>(c.tensor(0), [&](const T& x) -> T {
    const T scaled = x * beta;
    return Float(scaled) > Float(threshold) ? x : Log1p(Exp(scaled)) / beta;
  })};
}

// Selected element by element, so that bounds may be tensors too.
template <typename T>
Tensors<T> Clamp(const Call<T>& c) {
  Tensor<T> x = c.tensor(0);
  if (c.has(1))
    x = Map<T>(x, c.tensor(1), [](const T& a, const T& low) { return Maximum(a, low); });
  if (c.has(2))
    x = Map<T>(x, c.tensor(2), [](const T& a, const T& high) { return Minimum(a, high); });
  return {x};
}
template <typename T>
Tensors<T> ClampMin(const Call<T>& c) {
  return {
      Map<T>(c.tensor(0), c.tensor(1), [](const T& x, const T& low) { return Maximum(x, low); })};
}
template <typename T>
Tensors<T> ClampMax(const Call<T>& c) {
  return {
      Map<T>(c.tensor(0), c.tensor(1), [](const T& x, const T& high) { return Minimum(x, high); })};
}

template <typename T>
Tensors<T> Threshold(const Call<T>& c) {
  const T threshold = c.scalar(1), value = c.scalar(2);
  return {Map<T>(c.tensor(0),
                 [&](const T& x) -> T { return Select(LessEqual(x, threshold), value, x); })};
}
template <typename T>
Tensors<T> ThresholdBackward(const Call<T>& c) {
  const T threshold = c.scalar(2);
  return {Map<T>(c.tensor(0), c.tensor(1), [&](const T& g, const T& x) -> T {
    return Select(LessEqual(x, threshold), N<T>(0), g);
  })};
}
template <typename T>
Tensors<T> ShrinkBackward(const Call<T>& c) {
  const T width = c.scalar(2);
  return {Map<T>(c.tensor(0), c.tensor(1), [&](const T& g, const T& x) -> T {
    return Select(And(LessEqual(-width, x), LessEqual(x, width)), N<T>(0), g);
  })};
}

// Bits of integers; of booleans the logical operator.
template <typename T, typename F>
Tensors<T> Bits(const Call<T>& c, const F& f) {
  return {Map<T>(c.tensor(0), c.tensor(1), [&](const T& x, const T& y) -> T {
    Require(std::fabs(Float(x)) < 0x1p53 && std::fabs(Float(y)) < 0x1p53,
            "an integer too large to be exact");
    const int64_t bits = f(static_cast<int64_t>(Float(x)), static_cast<int64_t>(Float(y)));
    const T value = N<T>(static_cast<double>(bits));
    return Select(x, Select(y, value, value),
                  Select(y, value, value));  // The result has the near ties of both.
  })};
}
template <typename T>
Tensors<T> BitAnd(const Call<T>& c) {
  return Bits(c, [](int64_t a, int64_t b) { return a & b; });
}
template <typename T>
Tensors<T> BitOr(const Call<T>& c) {
  return Bits(c, [](int64_t a, int64_t b) { return a | b; });
}
template <typename T>
Tensors<T> BitXor(const Call<T>& c) {
  return Bits(c, [](int64_t a, int64_t b) { return a ^ b; });
}
template <typename T>
Tensors<T> ShiftLeft(const Call<T>& c) {
  return Bits(c, [](int64_t a, int64_t b) {
    return b < 0 || b > 63 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  });
}
template <typename T>
Tensors<T> ShiftRight(const Call<T>& c) {
  return Bits(c, [](int64_t a, int64_t b) { return a >> (b < 0 || b > 63 ? 63 : b); });
}
template <typename T>
Tensors<T> BitNot(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  if (x.dtype == DType::kBool) return {Map<T>(x, [](const T& b) { return Not(b); })};
  return {Map<T>(x, [](const T& a) -> T { return N<T>(-1) - a; })};
}

template <typename T>
Tensors<T> Where(const Call<T>& c) {
  return {
      Map<T>(c.tensor(0), c.tensor(1), c.tensor(2),
             [](const T& condition, const T& x, const T& y) { return Select(condition, x, y); })};
}
template <typename T>
Tensors<T> MaskedFill(const Call<T>& c) {
  return {Map<T>(c.tensor(0), c.tensor(1), c.tensor(2),
                 [](const T& x, const T& mask, const T& value) { return Select(mask, value, x); })};
}

template <typename T>
Tensors<T> Bucketize(const Call<T>& c) {
  const Tensor<T> boundaries = c.tensor(1);
  const bool right = c.flag(3);
  return {Map<T>(c.tensor(0), [&](const T& x) -> T {
    T position = N<T>(0);
    for (int64_t i = 0; i < boundaries.count(); ++i) {
      const T past = right ? LessEqual(boundaries[i], x) : Less(boundaries[i], x);
      position = position + Select(past, N<T>(1), N<T>(0));
    }
    return position;
  })};
}

template <typename T>
Tensors<T> ToCopy(const Call<T>& c) {
  const Tensor<T> x = c.tensor(0);
  return {Convert(x, c.dtype(1).value_or(x.dtype))};
}

}  // namespace

template <typename T>
Tensor<T> Convert(const Tensor<T>& x, DType dtype) {
  if (dtype == DType::kBool && x.dtype != DType::kBool) {
    return Map<T>(x, [](const T& a) { return NonZero(a); }).WithDType(dtype);
  }
  if (IsInteger(dtype) && IsFloat(x.dtype)) {
    return Map<T>(x,
                  [&](const T& a) -> T {
                    const double value = Float(a);
                    // What C leaves undefined; any value is as good.
                    if (!std::isfinite(value) || std::fabs(value) > 0x1p53)
                      return N<T>(RoundTo(DType::kInt32, 0));
                    return Trunc(a);
                  })
        .WithDType(dtype);
  }
  return x.WithDType(dtype);
}

template <typename T>
void AddPointwise(ImplementationTable<T>* table) {
#define KS_POINTWISE(enumerator, name, implementation, ...) \
  table->Add(AtenOp::k##enumerator, &implementation<T>);
#include "graph/aten_ops.def"
}

#define KS_INSTANTIATE(T)                                 \
  template Tensor<T> Convert<T>(const Tensor<T>&, DType); \
  template void AddPointwise<T>(ImplementationTable<T>*);
KS_FOR_EACH_SCALAR(KS_INSTANTIATE)
#undef KS_INSTANTIATE

}  // namespace kernelsmith
