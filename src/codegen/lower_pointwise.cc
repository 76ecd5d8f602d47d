// Elementwise operators, types and creation.
#include <cmath>
#include <numbers>

#include "codegen/lowering.h"

namespace kernelsmith::codegen {
namespace {

using Body = std::function<Scalar(Lowering&, const std::vector<Scalar>&)>;

// Operands are converted to the type the result is computed in; for comparisons to their common
// type.
Rule Elementwise(size_t operands, Body body, bool convert = true) {
  return [=](Lowering& l) {
    const DType type = l.result_type();
    l.set(0, l.map(type, l.result_shape(), [&](const Indices& index) {
      std::vector<Scalar> values;
      for (size_t i = 0; i < operands; ++i) {
        if (!l.has(i)) {
          values.push_back(nullptr);
        } else if (!l.is_tensor(i) && convert) {
          values.push_back(l.number(i, type));
        } else {
          const Scalar value = l.read(i, index);
          values.push_back(convert ? Cast(value, RegisterType(type)) : value);
        }
      }
      return body(l, values);
    }));
  };
}
Rule Unary(const char* function) {
  return Elementwise(
      1, [=](Lowering&, const std::vector<Scalar>& v) { return Call(function, {v[0]}); });
}
Rule Binary(const char* function, bool convert = true) {
  return Elementwise(
      2, [=](Lowering&, const std::vector<Scalar>& v) { return Call(function, {v[0], v[1]}); },
      convert);
}

Scalar One() { return Number(1); }
Scalar Sigmoid(const Scalar& x) { return One() / (One() + Call("exp", {Call("neg", {x})})); }
Scalar Where(const Scalar& c, const Scalar& a, const Scalar& b) { return Call("where", {c, a, b}); }
Scalar Greater(const Scalar& a, const Scalar& b) { return Call("gt", {a, b}); }

Scalar Power(const Scalar& x, const Scalar& exponent) {
  const auto is = [&](double e) { return IsConstant(exponent, e); };
  if (is(0)) return Number(1, x->dtype);
  if (is(1)) return x;
  if (is(2)) return x * x;
  if (is(3)) return x * x * x;
  if (is(4)) return (x * x) * (x * x);
  if (is(0.5)) return Call("sqrt", {x});
  if (is(-0.5)) return Call("rsqrt", {x});
  if (is(-1)) return One() / x;
  if (is(-2)) return One() / (x * x);
  return Call("pow", {x, exponent});
}

constexpr double kTanhScale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
constexpr double kTanhCubic = 0.044715;

Scalar Gelu(const Scalar& x, bool tanh) {
  if (tanh) {
    const Scalar inner = Number(kTanhScale) * (x + Number(kTanhCubic) * x * x * x);
    return Number(0.5) * x * (One() + Call("tanh", {inner}));
  }
  return Number(0.5) * x * (One() + Call("erf", {x * Number(std::numbers::sqrt2 / 2)}));
}
Scalar GeluSlope(const Scalar& x, bool tanh) {
  if (tanh) {
    const Scalar t = Call("tanh", {Number(kTanhScale) * (x + Number(kTanhCubic) * x * x * x)});
    const Scalar inner = Number(kTanhScale) * (One() + Number(3 * kTanhCubic) * x * x);
    return Number(0.5) * (One() + t) + Number(0.5) * x * (One() - t * t) * inner;
  }
  const Scalar cdf = Number(0.5) * (One() + Call("erf", {x * Number(std::numbers::sqrt2 / 2)}));
  const Scalar pdf = Number(0.5 * kTanhScale) * Call("exp", {Number(-0.5) * x * x});
  return cdf + x * pdf;
}

Scalar Clamp(const std::vector<Scalar>& v) {
  Scalar x = v[0];
  if (v.size() > 1 && v[1]) x = Call("max", {x, v[1]});
  if (v.size() > 2 && v[2]) x = Call("min", {x, v[2]});
  return x;
}

void Fill(Lowering& l, const std::function<Scalar(DType)>& value) {
  const DType type = l.result_type();
  l.set(0, l.map(type, l.result_shape(), [&](const Indices&) { return value(type); }));
}
Rule FillWith(double value) {
  return [=](Lowering& l) { Fill(l, [&](DType type) { return Number(value, type); }); };
}
Rule FillFrom(size_t arg) {
  return [=](Lowering& l) { Fill(l, [&](DType type) { return l.number(arg, type); }); };
}

void Progression(Lowering& l, const std::function<Scalar(DType)>& start,
                 const std::function<Scalar(DType)>& step) {
  const DType type = l.result_type();
  l.set(0, l.map(type, l.result_shape(), [&](const Indices& index) {
    return start(type) + Index(index[0], type) * step(type);
  }));
}

}  // namespace

void AddPointwiseRules(Rules& rules) {
  using enum AtenOp;
  const std::pair<AtenOp, const char*> unary[] = {
      {kNeg, "neg"},     {kAbs, "abs"},       {kSqrt, "sqrt"},   {kRsqrt, "rsqrt"},
      {kFloor, "floor"}, {kCeil, "ceil"},     {kRound, "round"}, {kTrunc, "trunc"},
      {kExp, "exp"},     {kExp2, "exp2"},     {kExpm1, "expm1"}, {kLog, "log"},
      {kLog2, "log2"},   {kLog10, "log10"},   {kLog1p, "log1p"}, {kSin, "sin"},
      {kCos, "cos"},     {kTan, "tan"},       {kAsin, "asin"},   {kAcos, "acos"},
      {kAtan, "atan"},   {kSinh, "sinh"},     {kCosh, "cosh"},   {kTanh, "tanh"},
      {kAsinh, "asinh"}, {kAcosh, "acosh"},   {kAtanh, "atanh"}, {kErf, "erf"},
      {kErfc, "erfc"},   {kLgamma, "lgamma"}, {kSign, "sign"},   {kSgn, "sign"}};
  for (const auto& [op, function] : unary) rules[op] = Unary(function);
  const std::pair<AtenOp, const char*> binary[] = {{kMulTensor, "mul"},
                                                   {kMulScalar, "mul"},
                                                   {kFmodTensor, "fmod"},
                                                   {kFmodScalar, "fmod"},
                                                   {kRemainderTensor, "floor_remainder"},
                                                   {kRemainderScalar, "floor_remainder"},
                                                   {kHypot, "hypot"},
                                                   {kAtan2, "atan2"},
                                                   {kMaximum, "max"},
                                                   {kMinimum, "min"},
                                                   {kBitwiseLeftShiftTensor, "shift_left"},
                                                   {kBitwiseLeftShiftTensorScalar, "shift_left"},
                                                   {kBitwiseRightShiftTensor, "shift_right"},
                                                   {kBitwiseRightShiftTensorScalar, "shift_right"},
                                                   {kFloorDivide, "floor_quotient"}};
  for (const auto& [op, function] : binary) rules[op] = Binary(function);
  const std::pair<AtenOp, const char*> comparisons[] = {
      {kEqTensor, "eq"}, {kEqScalar, "eq"}, {kNeTensor, "ne"}, {kNeScalar, "ne"},
      {kLtTensor, "lt"}, {kLtScalar, "lt"}, {kLeTensor, "le"}, {kLeScalar, "le"},
      {kGtTensor, "gt"}, {kGtScalar, "gt"}, {kGeTensor, "ge"}, {kGeScalar, "ge"}};
  for (const auto& [op, function] : comparisons) rules[op] = Binary(function, false);
  const std::pair<AtenOp, const char*> predicates[] = {{kIsnan, "isnan"}, {kIsinf, "isinf"}};
  for (const auto& [op, function] : predicates) {
    rules[op] = Elementwise(
        1, [=](Lowering&, const std::vector<Scalar>& v) { return Call(function, {v[0]}); }, false);
  }
  const std::pair<AtenOp, const char*> logical[] = {
      {kLogicalAnd, "and"}, {kLogicalOr, "or"}, {kLogicalXor, "xor"}};
  for (const auto& [op, function] : logical) {
    rules[op] = Elementwise(
        2,
        [=](Lowering&, const std::vector<Scalar>& v) {
          return Call(function, {Cast(v[0], DType::kBool), Cast(v[1], DType::kBool)});
        },
        false);
  }
  rules[kLogicalNot] = Elementwise(
      1,
      [](Lowering&, const std::vector<Scalar>& v) {
        return Call("not", {Cast(v[0], DType::kBool)});
      },
      false);
  const std::tuple<AtenOp, const char*, const char*> bitwise[] = {
      {kBitwiseAndTensor, "bit_and", "and"}, {kBitwiseAndScalar, "bit_and", "and"},
      {kBitwiseOrTensor, "bit_or", "or"},    {kBitwiseOrScalar, "bit_or", "or"},
      {kBitwiseXorTensor, "bit_xor", "xor"}, {kBitwiseXorScalar, "bit_xor", "xor"}};
  for (const auto& [op, bits, truth] : bitwise) {
    rules[op] = Elementwise(2, [=](Lowering& l, const std::vector<Scalar>& v) {
      return Call(l.result_type() == DType::kBool ? truth : bits, {v[0], v[1]});
    });
  }
  rules[kBitwiseNot] = Elementwise(1, [](Lowering& l, const std::vector<Scalar>& v) {
    return Call(l.result_type() == DType::kBool ? "not" : "bit_not", {v[0]});
  });

  rules[{kAddTensor, kAddScalar}] =
      Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) { return v[0] + v[2] * v[1]; });
  rules[{kSubTensor, kSubScalar}] =
      Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) { return v[0] - v[2] * v[1]; });
  rules[{kRsubScalar, kRsubTensor}] =
      Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) { return v[1] - v[2] * v[0]; });
  rules[{kDivTensor, kDivScalar, kDivTensorMode, kDivScalarMode}] =
      Elementwise(2, [](Lowering& l, const std::vector<Scalar>& v) {
        const std::string mode = l.text(2);
        return Call(mode == "floor"   ? "floor_quotient"
                    : mode == "trunc" ? "quotient"
                                      : "div",
                    {v[0], v[1]});
      });
  rules[kAddcmul] = Elementwise(
      4, [](Lowering&, const std::vector<Scalar>& v) { return v[0] + v[3] * v[1] * v[2]; });
  rules[kAddcdiv] = Elementwise(
      4, [](Lowering&, const std::vector<Scalar>& v) { return v[0] + v[3] * v[1] / v[2]; });
  rules[{kLerpScalar, kLerpTensor}] = Elementwise(
      3, [](Lowering&, const std::vector<Scalar>& v) { return v[0] + v[2] * (v[1] - v[0]); });
  rules[kReciprocal] =
      Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) { return One() / v[0]; });
  rules[{kPowTensorScalar, kPowTensorTensor, kPowScalar}] =
      Elementwise(2, [](Lowering&, const std::vector<Scalar>& v) { return Power(v[0], v[1]); });
  rules[kFrac] = Elementwise(
      1, [](Lowering&, const std::vector<Scalar>& v) { return v[0] - Call("trunc", {v[0]}); });
  rules[kLogaddexp] = Elementwise(2, [](Lowering&, const std::vector<Scalar>& v) {
    const Scalar high = Call("max", {v[0], v[1]}), low = Call("min", {v[0], v[1]});
    return high + Call("log1p", {Call("exp", {low - high})});
  });
  rules[kSigmoid] =
      Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) { return Sigmoid(v[0]); });
  rules[kRelu] = Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) {
    return Call("max", {v[0], Number(0, v[0]->dtype)});
  });
  rules[kLeakyRelu] = Elementwise(2, [](Lowering&, const std::vector<Scalar>& v) {
    return Where(Greater(v[0], Number(0)), v[0], v[0] * v[1]);
  });
  rules[kElu] = Elementwise(4, [](Lowering&, const std::vector<Scalar>& v) {
    return Where(Greater(v[0], Number(0)), v[2] * v[0], v[1] * v[2] * Call("expm1", {v[3] * v[0]}));
  });
  rules[kGelu] = Elementwise(
      1, [](Lowering& l, const std::vector<Scalar>& v) { return Gelu(v[0], l.text(1) == "tanh"); });
  rules[kGeluBackward] = Elementwise(2, [](Lowering& l, const std::vector<Scalar>& v) {
    return v[0] * GeluSlope(v[1], l.text(2) == "tanh");
  });
  rules[kSilu] =
      Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) { return v[0] * Sigmoid(v[0]); });
  rules[kSoftplus] = Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) {
    const Scalar x = v[1] * v[0];
    return Where(Greater(x, v[2]), v[0], Call("log1p", {Call("exp", {x})}) / v[1]);
  });
  rules[kMish] = Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) {
    const Scalar soft =
        Where(Greater(v[0], Number(20)), v[0], Call("log1p", {Call("exp", {v[0]})}));
    return v[0] * Call("tanh", {soft});
  });
  rules[kHardsigmoid] = Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) {
    return Clamp({v[0] + Number(3), Number(0), Number(6)}) * Number(1.0 / 6);
  });
  rules[kHardswish] = Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) {
    return v[0] * Clamp({v[0] + Number(3), Number(0), Number(6)}) * Number(1.0 / 6);
  });
  rules[kThreshold] = Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) {
    return Where(Call("le", {v[0], v[1]}), v[2], v[0]);
  });
  rules[kThresholdBackward] = Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) {
    return Where(Call("le", {v[1], v[2]}), Number(0), v[0]);
  });
  rules[kSigmoidBackward] = Elementwise(
      2, [](Lowering&, const std::vector<Scalar>& v) { return v[0] * v[1] * (One() - v[1]); });
  rules[kTanhBackward] = Elementwise(
      2, [](Lowering&, const std::vector<Scalar>& v) { return v[0] * (One() - v[1] * v[1]); });
  rules[{kHardshrinkBackward, kSoftshrinkBackward}] =
      Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) {
        const Scalar inside =
            And(Call("ge", {v[1], Call("neg", {v[2]})}), Call("le", {v[1], v[2]}));
        return Where(inside, Number(0), v[0]);
      });
  rules[{kClamp, kClampTensor, kHardtanh}] =
      Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) { return Clamp(v); });
  rules[{kClampMin, kClampMinTensor}] = Elementwise(
      2, [](Lowering&, const std::vector<Scalar>& v) { return Call("max", {v[0], v[1]}); });
  rules[{kClampMax, kClampMaxTensor}] = Elementwise(
      2, [](Lowering&, const std::vector<Scalar>& v) { return Call("min", {v[0], v[1]}); });
  rules[kWhereSelf] = [](Lowering& l) {
    const DType type = l.result_type();
    l.set(0, l.map(type, l.result_shape(), [&](const Indices& index) {
      const auto value = [&](size_t i) {
        return l.is_tensor(i) ? Cast(l.read(i, index), RegisterType(type)) : l.number(i, type);
      };
      return Where(l.read(0, index), value(1), value(2));
    }));
  };
  rules[{kMaskedFillScalar, kMaskedFillTensor}] = [](Lowering& l) {
    const DType type = l.result_type();
    l.set(0, l.map(type, l.result_shape(), [&](const Indices& index) {
      return Where(l.read(1, index), l.number(2, type), l.read(0, index));
    }));
  };
  rules[kBucketizeTensor] = [](Lowering& l) {
    // The number of boundaries below the value (not above it, with right=true).
    const BufferId bounds = l.tensor(1);
    const bool right = l.flag(3);
    const BufferId count =
        l.reduce(DType::kInt64, l.result_shape(), l.shape(bounds), Combine::kSum,
                 [&](const Indices& index, const Indices& at) {
                   const Scalar bound = l.load(bounds, at);
                   return Cast(Call(right ? "le" : "lt", {bound, l.read(0, index)}), DType::kInt64);
                 });
    l.set(0, l.map(l.result_type(), l.result_shape(),
                   [&](const Indices& index) { return l.load(count, index); }));
  };
  rules[{kToCopy, kConvertElementType}] = Elementwise(
      1, [](Lowering& l, const std::vector<Scalar>& v) { return Cast(v[0], l.result_type()); },
      false);

  rules[{kZeros, kZerosLike, kNewZeros, kEmptyMemoryFormat, kEmptyLike, kEmptyPermuted,
         kEmptyStrided, kNewEmpty, kNewEmptyStrided}] = FillWith(0);
  rules[{kOnes, kOnesLike, kNewOnes}] = FillWith(1);
  rules[{kFull, kFullLike, kFillScalar, kFillTensor}] = FillFrom(1);
  rules[kNewFull] = FillFrom(2);
  rules[kScalarTensor] = FillFrom(0);
  rules[kArange] = [](Lowering& l) {
    Progression(
        l, [](DType type) { return Number(0, type); }, [](DType type) { return Number(1, type); });
  };
  rules[kArangeStart] = [](Lowering& l) {
    Progression(
        l, [&](DType type) { return l.number(0, type); },
        [](DType type) { return Number(1, type); });
  };
  rules[kArangeStartStep] = [](Lowering& l) {
    Progression(
        l, [&](DType type) { return l.number(0, type); },
        [&](DType type) { return l.number(2, type); });
  };
  rules[kLinspace] = [](Lowering& l) {
    Progression(
        l, [&](DType type) { return l.number(0, type); },
        [&](DType type) {
          const Scalar steps = Index(Max(l.result_shape()[0] - Int(1), 1), type);
          return (l.number(1, type) - l.number(0, type)) / steps;
        });
  };
  rules[{kEye, kEyeM}] = [](Lowering& l) {
    l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& index) {
      return Cast(Call("eq", {Index(index[0]), Index(index[1])}), l.result_type());
    }));
  };
}

}  // namespace kernelsmith::codegen
