// Constant expressions: integers in 64 bits with C's operators, floats in double precision with
// + - * / and comparisons.
#include <bit>

#include "ptx/parser.h"

namespace kernelsmith::ptx {
namespace {

// No compiler nests constants deeper; the limit keeps a hostile file from exhausting the stack.
constexpr int kDeepestExpression = 64;

constexpr uint64_t kWarpSize = 32;

// C's precedence; 0: not a binary operator.
int PrecedenceOf(const Token& token) {
  if (token.kind != TokenKind::kPunctuation) return 0;
  const std::string_view op = token.text;
  if (op == "||") return 1;
  if (op == "&&") return 2;
  if (op == "|") return 3;
  if (op == "^") return 4;
  if (op == "&") return 5;
  if (op == "==" || op == "!=") return 6;
  if (op == "<" || op == "<=" || op == ">" || op == ">=") return 7;
  if (op == "<<" || op == ">>") return 8;
  if (op == "+" || op == "-") return 9;
  if (op == "*" || op == "/" || op == "%") return 10;
  return 0;
}

Constant Integer(uint64_t bits, bool is_unsigned = false) {
  return {.is_unsigned = is_unsigned, .bits = bits};
}

Constant Float(double value) { return {.is_float = true, .bits = std::bit_cast<uint64_t>(value)}; }

// Comparisons give signed 0 or 1; nothing else is defined on floats beyond arithmetic.
bool CombineFloats(std::string_view op, double a, double b, Constant* result) {
  if (op == "+") return *result = Float(a + b), true;
  if (op == "-") return *result = Float(a - b), true;
  if (op == "*") return *result = Float(a * b), true;
  if (op == "/") return *result = Float(a / b), true;
  if (op == "==") return *result = Integer(a == b), true;
  if (op == "!=") return *result = Integer(a != b), true;
  if (op == "<") return *result = Integer(a < b), true;
  if (op == "<=") return *result = Integer(a <= b), true;
  if (op == ">") return *result = Integer(a > b), true;
  if (op == ">=") return *result = Integer(a >= b), true;
  return false;
}

Constant ShiftLeft(const Constant& a, uint64_t by) {
  return Integer(by > 63 ? 0 : a.bits << by, a.is_unsigned);
}

Constant ShiftRight(const Constant& a, uint64_t by) {
  if (a.is_unsigned) return Integer(by > 63 ? 0 : a.bits >> by, true);
  return Integer(static_cast<uint64_t>(static_cast<int64_t>(a.bits) >> (by > 63 ? 63 : by)));
}

}  // namespace

bool Constant::IsZero() const { return is_float ? AsDouble() == 0 : bits == 0; }

double Constant::AsDouble() const {
  if (is_float) {
    return is_single ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                     : std::bit_cast<double>(bits);
  }
  return is_unsigned ? static_cast<double>(bits) : static_cast<double>(static_cast<int64_t>(bits));
}

bool Parser::ParseConstant(Constant* value) { return ParseConditional(0, value); }

bool Parser::ParseInteger(const char* what, int64_t* value) {
  const Position where = token_.where;
  Constant constant;
  if (!ParseConstant(&constant)) return false;
  if (constant.is_float) return FailAt(where, std::string(what) + " must be an integer");
  *value = static_cast<int64_t>(constant.bits);
  return true;
}

bool Parser::ParseConditional(int depth, Constant* value) {
  if (depth > kDeepestExpression) return Fail("constant expression is nested too deeply");
  if (!ParseBinary(1, depth, value)) return false;
  if (!Accept("?")) return true;
  Constant yes;
  Constant no;
  if (!ParseConditional(depth + 1, &yes) || !Expect(":") || !ParseConditional(depth + 1, &no)) {
    return false;
  }
  *value = value->IsZero() ? no : yes;
  return true;
}

bool Parser::ParseBinary(int precedence, int depth, Constant* value) {
  if (!ParseUnary(depth, value)) return false;
  while (true) {
    const int found = PrecedenceOf(token_);
    if (found < precedence || found == 0) return true;
    const std::string_view op = token_.text;
    const Position where = token_.where;
    Advance();
    Constant right;
    if (depth > kDeepestExpression) return Fail("constant expression is nested too deeply");
    if (!ParseBinary(found + 1, depth + 1, &right)) return false;
    if (!Combine(where, op, right, value)) return false;
  }
}

bool Parser::Combine(Position where, std::string_view op, const Constant& right, Constant* left) {
  if (left->is_float || right.is_float) {
    if (CombineFloats(op, left->AsDouble(), right.AsDouble(), left)) return true;
    return FailAt(where, "operator '" + std::string(op) + "' needs integers");
  }
  const bool is_unsigned = left->is_unsigned || right.is_unsigned;
  const uint64_t a = left->bits;
  const uint64_t b = right.bits;
  const auto signed_a = static_cast<int64_t>(a);
  const auto signed_b = static_cast<int64_t>(b);
  if (op == "/" || op == "%") {
    if (b == 0) return FailAt(where, "division by zero in a constant expression");
    if (is_unsigned) {
      *left = Integer(op == "/" ? a / b : a % b, true);
    } else if (signed_b == -1) {
      // INT64_MIN / -1 wraps, as the other operators do.
      *left = Integer(op == "/" ? 0 - a : 0);
    } else {
      *left = Integer(static_cast<uint64_t>(op == "/" ? signed_a / signed_b : signed_a % signed_b));
    }
    return true;
  }
  const bool less = is_unsigned ? a < b : signed_a < signed_b;
  if (op == "+") *left = Integer(a + b, is_unsigned);
  if (op == "-") *left = Integer(a - b, is_unsigned);
  if (op == "*") *left = Integer(a * b, is_unsigned);
  if (op == "&") *left = Integer(a & b, is_unsigned);
  if (op == "|") *left = Integer(a | b, is_unsigned);
  if (op == "^") *left = Integer(a ^ b, is_unsigned);
  if (op == "<<") *left = ShiftLeft(*left, b);
  if (op == ">>") *left = ShiftRight(*left, b);
  if (op == "==") *left = Integer(a == b);
  if (op == "!=") *left = Integer(a != b);
  if (op == "<") *left = Integer(less);
  if (op == ">=") *left = Integer(!less);
  if (op == "<=") *left = Integer(less || a == b);
  if (op == ">") *left = Integer(!less && a != b);
  if (op == "&&") *left = Integer(a != 0 && b != 0);
  if (op == "||") *left = Integer(a != 0 || b != 0);
  return true;
}

bool Parser::ParseUnary(int depth, Constant* value) {
  if (depth > kDeepestExpression) return Fail("constant expression is nested too deeply");
  const Position where = token_.where;
  if (Accept("+")) return ParseUnary(depth + 1, value);
  if (Accept("-")) {
    if (!ParseUnary(depth + 1, value)) return false;
    if (!value->is_float) {
      value->bits = 0 - value->bits;
    } else if (value->is_single) {
      value->bits ^= 0x80000000U;
    } else {
      value->bits ^= uint64_t{1} << 63;
    }
    return true;
  }
  if (Accept("!")) {
    if (!ParseUnary(depth + 1, value)) return false;
    *value = Integer(value->IsZero());
    return true;
  }
  if (Accept("~")) {
    if (!ParseUnary(depth + 1, value)) return false;
    if (value->is_float) return FailAt(where, "operator '~' needs an integer");
    value->bits = ~value->bits;
    return true;
  }
  return ParsePrimary(depth, value);
}

bool Parser::ParsePrimary(int depth, Constant* value) {
  if (token_.kind == TokenKind::kInteger) {
    *value = Integer(token_.integer, token_.is_unsigned);
    Advance();
    return true;
  }
  if (token_.kind == TokenKind::kFloat) {
    *value = {.is_float = true, .is_single = token_.is_single, .bits = token_.bits};
    Advance();
    return true;
  }
  if (Accept("WARP_SZ")) {
    *value = Integer(kWarpSize);
    return true;
  }
  if (!Accept("(")) return FailExpected("a constant");
  // A cast: (.s64) x.
  if (token_.Is(".s64") || token_.Is(".u64")) {
    const bool is_unsigned = token_.Is(".u64");
    const Position where = token_.where;
    Advance();
    if (!Expect(")") || !ParseUnary(depth + 1, value)) return false;
    if (value->is_float) return FailAt(where, "cast of a float in a constant expression");
    value->is_unsigned = is_unsigned;
    return true;
  }
  return ParseConditional(depth + 1, value) && Expect(")");
}

}  // namespace kernelsmith::ptx
