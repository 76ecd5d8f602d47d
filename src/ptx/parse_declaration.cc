// Variables and registers: qualifiers, names with array dimensions, initialisers.
#include <bit>

#include "ptx/parser.h"
#include "ptx/vocabulary.h"

namespace kernelsmith::ptx {
namespace {

constexpr size_t kMostDimensions = 16;
// Real kernels declare some 100,000 registers; each costs a slot when a kernel is lowered.
constexpr uint64_t kMostRegisters = uint64_t{1} << 24;
// Beyond any GPU's memory.
constexpr uint64_t kLargestVariable = uint64_t{1} << 40;
// An initialiser's bytes follow from the text, except that braces can skip over rows.
constexpr uint64_t kLargestImageBeyondText = uint64_t{1} << 26;

bool IsDeclarationSpace(std::string_view directive, Space* space) {
  if (directive == ".reg") *space = Space::kReg;
  if (directive == ".sreg") *space = Space::kSreg;
  if (directive == ".const") *space = Space::kConst;
  if (directive == ".global") *space = Space::kGlobal;
  if (directive == ".local") *space = Space::kLocal;
  if (directive == ".param") *space = Space::kParam;
  if (directive == ".shared" || directive == ".shared::cta") *space = Space::kShared;
  if (directive == ".tex") *space = Space::kTex;
  return *space != Space::kNone;
}

// The types a declaration can use; the others exist in instructions only.
bool IsDeclarableType(Type type) {
  switch (type) {
    case Type::kPred:
    case Type::kB8:
    case Type::kB16:
    case Type::kB32:
    case Type::kB64:
    case Type::kB128:
    case Type::kU8:
    case Type::kU16:
    case Type::kU32:
    case Type::kU64:
    case Type::kS8:
    case Type::kS16:
    case Type::kS32:
    case Type::kS64:
    case Type::kF16:
    case Type::kF16x2:
    case Type::kBf16:
    case Type::kBf16x2:
    case Type::kF32:
    case Type::kF64:
    case Type::kTexref:
    case Type::kSamplerref:
    case Type::kSurfref:
      return true;
    default:
      return false;
  }
}

uint64_t FloatBits(const Constant& value, Type type) {
  if (type == Type::kF64) {
    return value.is_float && !value.is_single ? value.bits
                                              : std::bit_cast<uint64_t>(value.AsDouble());
  }
  // The bits of a 0f constant are kept as they are, a signalling NaN too.
  if (value.is_float && value.is_single) return value.bits;
  return std::bit_cast<uint32_t>(static_cast<float>(value.AsDouble()));
}

}  // namespace

bool Parser::ParseDeclaration(Where where, Linkage linkage, std::vector<Variable>* declared) {
  Variable qualifiers;
  qualifiers.linkage = linkage;
  if (!ParseQualifiers(where, &qualifiers)) return false;
  do {
    Variable variable = qualifiers;
    if (!ParseDeclarator(where, &variable)) return false;
    declared->push_back(std::move(variable));
  } while (where != Where::kParameter && where != Where::kPrototype && Accept(","));
  return where == Where::kParameter || where == Where::kPrototype || Expect(";");
}

bool Parser::ParseQualifiers(Where where, Variable* variable) {
  while (token_.kind == TokenKind::kDirective) {
    Space space = Space::kNone;
    if (IsDeclarationSpace(token_.text, &space)) {
      if (variable->space != Space::kNone) return Fail("more than one state space");
      variable->space = space;
      Advance();
      if (space == Space::kConst && Accept("[")) {
        uint32_t bank = 0;
        if (!ExpectUint32("a bank number", &bank) || !Expect("]")) return false;
        if (bank > 10) return Fail(".const banks are 0 to 10");
        variable->const_bank = static_cast<int>(bank);
      }
    } else if (Accept(".align")) {
      uint32_t alignment = 0;
      const Position at = token_.where;
      if (!ExpectUint32("an alignment", &alignment)) return false;
      if (!std::has_single_bit(alignment) || alignment > (1U << 20)) {
        return FailAt(at, "an alignment must be a power of two up to 2^20");
      }
      variable->alignment = static_cast<int>(alignment);
    } else if (token_.Is(".attribute")) {
      if (!ParseAttribute(variable, nullptr)) return false;
    } else if (token_.Is(".v2") || token_.Is(".v4") || token_.Is(".v8")) {
      if (variable->vector_width != 1) return Fail("more than one vector width");
      variable->vector_width = token_.text[2] - '0';
      Advance();
    } else if (where == Where::kParameter && Accept(".ptr")) {
      variable->is_pointer = true;
      Space pointee = Space::kNone;
      if (token_.kind == TokenKind::kDirective && IsDeclarationSpace(token_.text, &pointee)) {
        variable->pointer_space = pointee;
        Advance();
      }
      if (Accept(".align")) {
        uint32_t alignment = 0;
        const Position at = token_.where;
        if (!ExpectUint32("an alignment", &alignment)) return false;
        if (!std::has_single_bit(alignment) || alignment > (1U << 20)) {
          return FailAt(at, "an alignment must be a power of two up to 2^20");
        }
        variable->pointer_alignment = static_cast<int>(alignment);
      }
    } else {
      const Type type = FindType(token_.text);
      if (type == Type::kNone) {
        reporter_->Unknown(token_.where, "unknown directive '" + std::string(token_.text) + "'");
        return false;
      }
      if (!IsDeclarableType(type)) {
        return Fail("a variable cannot have type '" + std::string(token_.text) + "'");
      }
      if (variable->type != Type::kNone) return Fail("more than one type");
      variable->type = type;
      Advance();
    }
  }
  if (variable->space == Space::kNone) return FailExpected("a state space");
  if (variable->type == Type::kNone) return FailExpected("a type");
  if (variable->type == Type::kPred && variable->space != Space::kReg) {
    return Fail("predicates exist in registers only");
  }
  // There is no way to hand one over: ptxas refuses it for every target that has calls.
  if (variable->type == Type::kPred && (where == Where::kParameter || where == Where::kPrototype)) {
    return Fail("functions neither take nor return predicates");
  }
  if (variable->vector_width > 1) {
    if (variable->type == Type::kPred) return Fail("a vector of predicates");
    // Only loads and stores go beyond, with registers in braces.
    if (variable->vector_width > 4 || BitsOf(variable->type) * variable->vector_width > 128) {
      return Fail("a vector has 2 or 4 elements and at most 128 bits");
    }
  }
  return true;
}

bool Parser::ParseDeclarator(Where where, Variable* variable) {
  variable->where = token_.where;
  if (!ExpectName("a name", &variable->name)) return false;
  if (Accept("<")) {
    if (token_.kind != TokenKind::kInteger) return FailExpected("a number of names");
    if (token_.integer > kMostRegisters) return Fail("too many names");
    variable->parameterized = true;
    variable->count = token_.integer;
    Advance();
    if (!Expect(">")) return false;
  }
  if (!ParseDimensions(variable)) return false;
  if (variable->space == Space::kReg && !variable->dimensions.empty()) {
    return FailAt(variable->where, "arrays of registers do not exist");
  }
  if (token_.Is("=")) {
    if (where == Where::kParameter || where == Where::kPrototype) {
      return Fail("a parameter cannot be initialised");
    }
    if (variable->space != Space::kGlobal && variable->space != Space::kConst) {
      return Fail("only .global and .const variables can be initialised");
    }
    Advance();
    if (!ParseInitializer(variable)) return false;
  }
  if ((where == Where::kModule || where == Where::kBody) && !variable->dimensions.empty() &&
      variable->dimensions[0] == 0 && variable->linkage != Linkage::kExtern) {
    return FailAt(variable->where, "an array without a size must be .extern");
  }
  return true;
}

bool Parser::ParseDimensions(Variable* variable) {
  const Position where = token_.where;
  uint64_t size = static_cast<uint64_t>(BytesOf(variable->type)) *
                  static_cast<uint64_t>(variable->vector_width);
  while (Accept("[")) {
    if (variable->dimensions.size() == kMostDimensions) return Fail("too many array dimensions");
    if (token_.Is("]")) {
      if (!variable->dimensions.empty()) return Fail("only the first dimension can be left out");
      Advance();
      variable->dimensions.push_back(0);
      continue;
    }
    int64_t dimension = 0;
    if (!ParseInteger("an array dimension", &dimension) || !Expect("]")) return false;
    if (dimension < 0) return FailAt(where, "negative array dimension");
    if (dimension == 0 && !variable->dimensions.empty()) {
      return FailAt(where, "only the first dimension can be 0");
    }
    if (dimension != 0 && size > kLargestVariable / static_cast<uint64_t>(dimension)) {
      return FailAt(where, "array is too large");
    }
    if (dimension != 0) size *= static_cast<uint64_t>(dimension);
    variable->dimensions.push_back(static_cast<uint64_t>(dimension));
  }
  return true;
}

bool Parser::ParseInitializer(Variable* variable) {
  variable->has_initializer = true;
  if (KindOf(variable->type) == TypeKind::kOpaque) {
    if (!token_.Is("{")) return FailExpected("'{'");
    std::string_view inner;
    if (!lexer_.TakeBraced(&inner)) return Fail("initialiser does not end");
    variable->opaque_initializer = inner;
    Advance();
    return true;
  }
  // The vector width is one more dimension, the innermost.
  std::vector<uint64_t> dimensions = variable->dimensions;
  if (variable->vector_width > 1) {
    dimensions.push_back(static_cast<uint64_t>(variable->vector_width));
  }
  if (dimensions.empty()) {
    const bool braced = Accept("{");
    return ParseInitialValue(variable, 0) && (!braced || Expect("}"));
  }
  std::vector<uint64_t> strides(dimensions.size());
  uint64_t stride = static_cast<uint64_t>(BytesOf(variable->type));
  for (size_t i = dimensions.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dimensions[i];
  }
  if (!Expect("{")) return false;
  if (!ParseInitialList(variable, strides, dimensions, 0, 0)) return false;
  if (!variable->dimensions.empty() && variable->dimensions[0] == 0) {
    variable->dimensions[0] = (variable->image.size() + strides[0] - 1) / strides[0];
  }
  return true;
}

bool Parser::ParseInitialList(Variable* variable, const std::vector<uint64_t>& strides,
                              const std::vector<uint64_t>& dimensions, size_t level,
                              uint64_t base) {
  if (Accept("}")) return true;
  const bool bounded = dimensions[level] != 0;
  const uint64_t limit = dimensions[level] * strides[level];
  const auto element = static_cast<uint64_t>(BytesOf(variable->type));
  uint64_t offset = 0;
  do {
    if (token_.Is("}")) break;  // a trailing comma
    const bool nested = token_.Is("{");
    if (nested) offset = (offset + strides[level] - 1) / strides[level] * strides[level];
    if (bounded && offset >= limit) return Fail("more initial values than the array has elements");
    if (nested) {
      if (level + 1 >= dimensions.size()) return Fail("braces nest deeper than the array");
      Advance();
      if (!ParseInitialList(variable, strides, dimensions, level + 1, base + offset)) return false;
      offset += strides[level];
    } else {
      if (!ParseInitialValue(variable, base + offset)) return false;
      offset += element;
    }
  } while (Accept(","));
  return Expect("}");
}

bool Parser::StoreInitialBits(Variable* variable, uint64_t offset, int size, uint64_t bits) {
  const uint64_t end = offset + static_cast<uint64_t>(size);
  if (end > variable->image.size()) {
    if (end > kLargestImageBeyondText + 16 * static_cast<uint64_t>(text_.size())) {
      return Fail("initialiser is too large");
    }
    variable->image.resize(end);
  }
  for (int i = 0; i < size; ++i) {
    variable->image[offset + static_cast<uint64_t>(i)] =
        i < 8 ? static_cast<uint8_t>(bits >> (8 * i)) : 0;
  }
  return true;
}

bool Parser::ParseInitialValue(Variable* variable, uint64_t offset) {
  if (token_.kind == TokenKind::kName && !token_.Is("WARP_SZ")) {
    return ParseRelocation(variable, offset);
  }
  const Position where = token_.where;
  Constant value;
  if (!ParseConstant(&value)) return false;
  const int size = BytesOf(variable->type);
  // 0xFF00(symbol): one byte of an address.
  if (!value.is_float && token_.Is("(")) {
    const int shift = value.bits == 0 ? -1 : std::countr_zero(value.bits);
    if (shift < 0 || shift % 8 != 0 || value.bits != uint64_t{0xff} << shift || size != 1) {
      return FailAt(where, "a mask must select one byte of an address, for a variable of bytes");
    }
    Advance();
    if (!ParseRelocation(variable, offset)) return false;
    variable->relocations.back().shift = shift;
    return Expect(")");
  }
  if (IsFloat(variable->type)) {
    if (size < 4) {
      if (value.is_float) return FailAt(where, "16-bit floats are initialised by their bits");
      return StoreInitialBits(variable, offset, size, value.bits);
    }
    if (variable->type == Type::kF32 || variable->type == Type::kF64) {
      return StoreInitialBits(variable, offset, size, FloatBits(value, variable->type));
    }
    return StoreInitialBits(variable, offset, size, value.bits);
  }
  // Untyped bits take the bits of a float of their size.
  if (value.is_float && KindOf(variable->type) != TypeKind::kBits) {
    return FailAt(where, "a float as the initial value of an integer");
  }
  if (value.is_float && size == 4) {
    return StoreInitialBits(variable, offset, size, FloatBits(value, Type::kF32));
  }
  return StoreInitialBits(variable, offset, size, value.bits);
}

bool Parser::ParseRelocation(Variable* variable, uint64_t offset) {
  Relocation relocation;
  relocation.where = token_.where;
  relocation.offset = offset;
  relocation.size = BytesOf(variable->type);
  std::string name;
  if (!ExpectName("a symbol", &name)) return false;
  if (name == "generic" && Accept("(")) {
    relocation.generic = true;
    if (!ExpectName("a symbol", &name) || !Expect(")")) return false;
  }
  if (IsFloat(variable->type)) {
    return FailAt(relocation.where, "an address as the initial value of a float");
  }
  relocation.name = std::move(name);
  if (token_.Is("+") || token_.Is("-")) {
    if (token_.Is("+")) Advance();
    if (!ParseInteger("the offset", &relocation.addend)) return false;
  } else if (Accept("[")) {
    // An element of an array of the same module; its size is known once all is parsed, so only the
    // byte form is taken.
    return FailAt(relocation.where, "write the offset of an initial address as 'name + bytes'");
  }
  if (!StoreInitialBits(variable, offset, relocation.size, 0)) return false;
  variable->relocations.push_back(std::move(relocation));
  return true;
}

}  // namespace kernelsmith::ptx
