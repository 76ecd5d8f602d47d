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
      2,
      [=](Lowering&, const std::vector<Scalar>& v) {
        return Call(function, {v[0], v[1]});
      },
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
  for (const char* name : {"neg",   "abs",   "sqrt",  "rsqrt", "floor", "ceil",   "round", "trunc",
                           "exp",   "exp2",  "expm1", "log",   "log2",  "log10",  "log1p", "sin",
                           "cos",   "tan",   "asin",  "acos",  "atan",  "sinh",   "cosh",  "tanh",
                           "asinh", "acosh", "atanh", "erf",   "erfc",  "lgamma", "sign"}) {
    rules[std::string("aten.") + name] = Unary(name);
  }
  rules["aten.sgn"] = Unary("sign");
  const std::pair<const char*, const char*> binary[] = {{"mul", "mul"},
                                                        {"fmod", "fmod"},
                                                        {"remainder", "floor_remainder"},
                                                        {"hypot", "hypot"},
                                                        {"atan2", "atan2"},
                                                        {"maximum", "max"},
                                                        {"minimum", "min"},
                                                        {"bitwise_left_shift", "shift_left"},
                                                        {"bitwise_right_shift", "shift_right"},
                                                        {"div", "div"},
                                                        {"floor_divide", "floor_quotient"}};
  for (const auto& [name, function] : binary) rules[std::string("aten.") + name] = Binary(function);
  for (const char* name : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    rules[std::string("aten.") + name] = Binary(name, false);
  }
  for (const char* name : {"isnan", "isinf"}) {
    rules[std::string("aten.") + name] = Elementwise(
        1, [=](Lowering&, const std::vector<Scalar>& v) { return Call(name, {v[0]}); }, false);
  }
  const std::pair<const char*, const char*> logical[] = {
      {"logical_and", "and"}, {"logical_or", "or"}, {"logical_xor", "xor"}};
  for (const auto& [name, function] : logical) {
    rules[std::string("aten.") + name] = Elementwise(
        2,
        [=](Lowering&, const std::vector<Scalar>& v) {
          return Call(function, {Cast(v[0], DType::kBool), Cast(v[1], DType::kBool)});
        },
        false);
  }
  rules["aten.logical_not"] = Elementwise(
      1,
      [](Lowering&, const std::vector<Scalar>& v) {
        return Call("not", {Cast(v[0], DType::kBool)});
      },
      false);
  for (const auto& [name, bits, truth] :
       {std::tuple{"bitwise_and", "bit_and", "and"}, std::tuple{"bitwise_or", "bit_or", "or"},
        std::tuple{"bitwise_xor", "bit_xor", "xor"}}) {
    rules[std::string("aten.") + name] =
        Elementwise(2, [=](Lowering& l, const std::vector<Scalar>& v) {
          return Call(l.result_type() == DType::kBool ? truth : bits, {v[0], v[1]});
        });
  }
  rules["aten.bitwise_not"] = Elementwise(1, [](Lowering& l, const std::vector<Scalar>& v) {
    return Call(l.result_type() == DType::kBool ? "not" : "bit_not", {v[0]});
  });

  rules["aten.add"] =
      Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) { return v[0] + v[2] * v[1]; });
  rules["aten.sub"] =
      Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) { return v[0] - v[2] * v[1]; });
  rules["aten.rsub"] =
      Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) { return v[1] - v[2] * v[0]; });
  rules["aten.div"] = Elementwise(2, [](Lowering& l, const std::vector<Scalar>& v) {
    const std::string mode = l.text(2);
    return Call(mode == "floor"   ? "floor_quotient"
                : mode == "trunc" ? "quotient"
                                  : "div",
                {v[0], v[1]});
  });
  rules["aten.addcmul"] = Elementwise(
      4, [](Lowering&, const std::vector<Scalar>& v) { return v[0] + v[3] * v[1] * v[2]; });
  rules["aten.addcdiv"] = Elementwise(
      4, [](Lowering&, const std::vector<Scalar>& v) { return v[0] + v[3] * v[1] / v[2]; });
  rules["aten.lerp"] = Elementwise(
      3, [](Lowering&, const std::vector<Scalar>& v) { return v[0] + v[2] * (v[1] - v[0]); });
  rules["aten.reciprocal"] =
      Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) { return One() / v[0]; });
  rules["aten.pow"] =
      Elementwise(2, [](Lowering&, const std::vector<Scalar>& v) { return Power(v[0], v[1]); });
  rules["aten.frac"] = Elementwise(
      1, [](Lowering&, const std::vector<Scalar>& v) { return v[0] - Call("trunc", {v[0]}); });
  rules["aten.logaddexp"] = Elementwise(2, [](Lowering&, const std::vector<Scalar>& v) {
    const Scalar high = Call("max", {v[0], v[1]}), low = Call("min", {v[0], v[1]});
    return high + Call("log1p", {Call("exp", {low - high})});
  });
  rules["aten.sigmoid"] =
      Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) { return Sigmoid(v[0]); });
  rules["aten.relu"] = Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) {
    return Call("max", {v[0], Number(0, v[0]->dtype)});
  });
  rules["aten.leaky_relu"] = Elementwise(2, [](Lowering&, const std::vector<Scalar>& v) {
    return Where(Greater(v[0], Number(0)), v[0], v[0] * v[1]);
  });
  rules["aten.elu"] = Elementwise(4, [](Lowering&, const std::vector<Scalar>& v) {
    return Where(Greater(v[0], Number(0)), v[2] * v[0], v[1] * v[2] * Call("expm1", {v[3] * v[0]}));
  });
  rules["aten.gelu"] = Elementwise(
      1, [](Lowering& l, const std::vector<Scalar>& v) { return Gelu(v[0], l.text(1) == "tanh"); });
  rules["aten.gelu_backward"] = Elementwise(2, [](Lowering& l, const std::vector<Scalar>& v) {
    return v[0] * GeluSlope(v[1], l.text(2) == "tanh");
  });
  rules["aten.silu"] =
      Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) { return v[0] * Sigmoid(v[0]); });
  rules["aten.softplus"] = Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) {
    const Scalar x = v[1] * v[0];
    return Where(Greater(x, v[2]), v[0], Call("log1p", {Call("exp", {x})}) / v[1]);
  });
  rules["aten.mish"] = Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) {
    const Scalar soft =
        Where(Greater(v[0], Number(20)), v[0], Call("log1p", {Call("exp", {v[0]})}));
    return v[0] * Call("tanh", {soft});
  });
  rules["aten.hardsigmoid"] = Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) {
    return Clamp({v[0] + Number(3), Number(0), Number(6)}) * Number(1.0 / 6);
  });
  rules["aten.hardswish"] = Elementwise(1, [](Lowering&, const std::vector<Scalar>& v) {
    return v[0] * Clamp({v[0] + Number(3), Number(0), Number(6)}) * Number(1.0 / 6);
  });
  rules["aten.threshold"] = Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) {
    return Where(Call("le", {v[0], v[1]}), v[2], v[0]);
  });
  rules["aten.threshold_backward"] = Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) {
    return Where(Call("le", {v[1], v[2]}), Number(0), v[0]);
  });
  rules["aten.sigmoid_backward"] = Elementwise(
      2, [](Lowering&, const std::vector<Scalar>& v) { return v[0] * v[1] * (One() - v[1]); });
  rules["aten.tanh_backward"] = Elementwise(
      2, [](Lowering&, const std::vector<Scalar>& v) { return v[0] * (One() - v[1] * v[1]); });
  for (const char* name : {"hardshrink_backward", "softshrink_backward"}) {
    rules[std::string("aten.") + name] = Elementwise(3, [](Lowering&,
                                                           const std::vector<Scalar>& v) {
      const Scalar inside = And(Call("ge", {v[1], Call("neg", {v[2]})}), Call("le", {v[1], v[2]}));
      return Where(inside, Number(0), v[0]);
    });
  }
  for (const char* name : {"clamp", "hardtanh"}) {
    rules[std::string("aten.") + name] =
        Elementwise(3, [](Lowering&, const std::vector<Scalar>& v) { return Clamp(v); });
  }
  rules["aten.clamp_min"] = Elementwise(2, [](Lowering&, const std::vector<Scalar>& v) {
    return Call("max", {v[0], v[1]});
  });
  rules["aten.clamp_max"] = Elementwise(2, [](Lowering&, const std::vector<Scalar>& v) {
    return Call("min", {v[0], v[1]});
  });
  rules["aten.where"] = [](Lowering& l) {
    const DType type = l.result_type();
    l.set(0, l.map(type, l.result_shape(), [&](const Indices& index) {
      const auto value = [&](size_t i) {
        return l.is_tensor(i) ? Cast(l.read(i, index), RegisterType(type)) : l.number(i, type);
      };
      return Where(l.read(0, index), value(1), value(2));
    }));
  };
  rules["aten.masked_fill"] = [](Lowering& l) {
    const DType type = l.result_type();
    l.set(0, l.map(type, l.result_shape(), [&](const Indices& index) {
      return Where(l.read(1, index), l.number(2, type), l.read(0, index));
    }));
  };
  rules["aten.bucketize"] = [](Lowering& l) {
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
  for (const char* name : {"aten._to_copy", "prims.convert_element_type"}) {
    rules[name] = Elementwise(
        1, [](Lowering& l, const std::vector<Scalar>& v) { return Cast(v[0], l.result_type()); },
        false);
  }

  for (const char* name : {"zeros", "zeros_like", "new_zeros", "empty", "empty_like",
                           "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}) {
    rules[std::string("aten.") + name] = FillWith(0);
  }
  for (const char* name : {"ones", "ones_like", "new_ones"})
    rules[std::string("aten.") + name] = FillWith(1);
  for (const char* name : {"full", "full_like", "fill"})
    rules[std::string("aten.") + name] = FillFrom(1);
  rules["aten.new_full"] = FillFrom(2);
  rules["aten.scalar_tensor"] = FillFrom(0);
  rules["aten.arange"] = [](Lowering& l) {
    const std::string& op = l.node().op;
    const bool plain = op == "aten.arange.default";
    Progression(
        l, [&](DType type) { return plain ? Number(0, type) : l.number(0, type); },
        [&](DType type) {
          return op == "aten.arange.start_step" ? l.number(2, type) : Number(1, type);
        });
  };
  rules["aten.linspace"] = [](Lowering& l) {
    Progression(
        l, [&](DType type) { return l.number(0, type); },
        [&](DType type) {
          const Scalar steps = Index(Max(l.result_shape()[0] - Int(1), 1), type);
          return (l.number(1, type) - l.number(0, type)) / steps;
        });
  };
  rules["aten.eye"] = [](Lowering& l) {
    l.set(0, l.map(l.result_type(), l.result_shape(), [&](const Indices& index) {
      return Cast(Call("eq", {Index(index[0]), Index(index[1])}), l.result_type());
    }));
  };
}

}  // namespace kernelsmith::codegen
