// Operands of instructions.
#include "ptx/parser.h"
#include "ptx/special_registers.h"

namespace kernelsmith::ptx {
namespace {

// A vector in an address in a parameter list is as deep as PTX goes.
constexpr int kDeepestOperand = 4;

Selector SelectorOf(std::string_view text) {
  if (text.size() == 2) {
    switch (text[1]) {
      case 'x':
      case 'r':
        return Selector::kX;
      case 'y':
      case 'g':
        return Selector::kY;
      case 'z':
      case 'b':
        return Selector::kZ;
      case 'w':
      case 'a':
        return Selector::kW;
      default:
        return Selector::kNone;
    }
  }
  if (text == ".b0") return Selector::kB0;
  if (text == ".b1") return Selector::kB1;
  if (text == ".b2") return Selector::kB2;
  if (text == ".b3") return Selector::kB3;
  if (text == ".h0") return Selector::kH0;
  if (text == ".h1") return Selector::kH1;
  return Selector::kNone;
}

// ".b3210" or ".h10": see Selector::kMask; 0 if the text is no mask.
int64_t MaskOf(std::string_view text) {
  if (text.size() < 3 || text.size() > 6 || (text[1] != 'b' && text[1] != 'h')) return 0;
  int64_t mask = text[1] == 'b' ? 1 : 2;
  for (const char c : text.substr(2)) {
    if (c < '0' || c > '7') return 0;
    mask = mask << 4 | (c - '0');
  }
  return mask;
}

}  // namespace

bool Parser::ParseOperand(bool in_call, int depth, Operand* operand) {
  if (depth > kDeepestOperand) return Fail("operand is nested too deeply");
  if (!ParseSimpleOperand(in_call, depth, operand)) return false;
  if (!token_.Is("|")) return true;
  Operand pair;
  pair.where = operand->where;
  pair.kind = OperandKind::kPair;
  pair.elements.push_back(std::move(*operand));
  while (Accept("|")) {
    if (pair.elements.size() == 2) return Fail("more than two operands joined by '|'");
    if (!ParseSimpleOperand(false, depth + 1, &pair.elements.emplace_back())) return false;
  }
  *operand = std::move(pair);
  return true;
}

bool Parser::ParseSimpleOperand(bool in_call, int depth, Operand* operand) {
  operand->where = token_.where;
  if (token_.kind == TokenKind::kName && !token_.Is("WARP_SZ")) return ParseNameOperand(operand);
  if (Accept("[")) {
    operand->kind = OperandKind::kAddress;
    if (!ParseOperandList("]", depth, &operand->elements)) return false;
    if (token_.Is(".unified")) {
      operand->name = token_.text;
      Advance();
    }
    return true;
  }
  if (Accept("{")) {
    operand->kind = OperandKind::kVector;
    return ParseOperandList("}", depth, &operand->elements);
  }
  if (in_call && Accept("(")) {
    operand->kind = OperandKind::kList;
    if (Accept(")")) return true;
    return ParseOperandList(")", depth, &operand->elements);
  }
  if (token_.Is("!")) {
    // Either !predicate or a constant expression.
    Advance();
    if (token_.kind == TokenKind::kName && !token_.Is("WARP_SZ")) {
      if (!ParseNameOperand(operand)) return false;
      operand->negated = true;
      return true;
    }
    Constant value;
    if (!ParseUnary(0, &value)) return false;
    operand->kind = OperandKind::kInteger;
    operand->integer = value.IsZero() ? 1 : 0;
    return true;
  }
  if (token_.kind == TokenKind::kEnd || token_.Is(";") || token_.Is(",") || token_.Is("}") ||
      token_.Is("]") || token_.Is(")") || token_.kind == TokenKind::kDirective ||
      token_.kind == TokenKind::kString) {
    return FailExpected("an operand");
  }
  return ParseConstantOperand(operand);
}

bool Parser::ParseOperandList(std::string_view close, int depth, std::vector<Operand>* operands) {
  do {
    if (!ParseOperand(false, depth + 1, &operands->emplace_back())) return false;
  } while (Accept(","));
  return Expect(close);
}

bool Parser::ParseNameOperand(Operand* operand) {
  if (token_.Is("_")) {
    operand->kind = OperandKind::kSink;
    Advance();
    return true;
  }
  operand->kind = OperandKind::kName;
  operand->name = token_.text;
  const SpecialRegister* special = FindSpecialRegister(token_.text);
  Advance();
  if (special != nullptr) {
    operand->kind = OperandKind::kSpecialRegister;
    if (token_.kind != TokenKind::kDirective) return true;
    const char letter = token_.text.size() == 2 ? token_.text[1] : '\0';
    if (letter == '\0' || special->components.find(letter) == std::string_view::npos) {
      return Fail("special register '" + operand->name + "' has no component '" +
                  std::string(token_.text) + "'");
    }
    operand->name += token_.text;
    operand->selector = SelectorOf(token_.text);
    Advance();
    return true;
  }
  if (token_.kind == TokenKind::kDirective) {
    operand->selector = SelectorOf(token_.text);
    if (operand->selector == Selector::kNone) {
      operand->integer = MaskOf(token_.text);
      if (operand->integer != 0) operand->selector = Selector::kMask;
    }
    if (operand->selector == Selector::kNone) {
      return Fail("unknown selector '" + std::string(token_.text) + "'");
    }
    Advance();
  } else if (Accept("[")) {
    operand->has_index = true;
    if (!ParseInteger("the index", &operand->integer) || !Expect("]")) return false;
  }
  if (token_.Is("+") || token_.Is("-")) {
    if (operand->has_index) return Fail("an array element with an offset");
    // [%r1+-4] and [%r1-4] are both in use. Multiplication binds stronger, so all of what follows
    // is one sum.
    if (token_.Is("+")) Advance();
    if (!ParseInteger("the offset", &operand->integer)) return false;
  }
  return true;
}

bool Parser::ParseConstantOperand(Operand* operand) {
  Constant value;
  if (!ParseConstant(&value)) return false;
  if (value.is_float) {
    operand->kind = OperandKind::kFloat;
    operand->is_single = value.is_single;
    operand->bits = value.bits;
  } else {
    operand->kind = OperandKind::kInteger;
    operand->is_unsigned = value.is_unsigned;
    operand->integer = static_cast<int64_t>(value.bits);
  }
  return true;
}

}  // namespace kernelsmith::ptx
