#include "ptx/vocabulary.h"

#include <array>
#include <unordered_map>

#include "ptx/types.h"

namespace kernelsmith::ptx {
namespace {

struct TypeEntry {
  std::string_view text;
  int bits;
  TypeKind kind;
};

constexpr TypeEntry kTypes[] = {
    {"", 0, TypeKind::kNone},
#define PTX_TYPE(id, text, bits, kind) {text, bits, TypeKind::kind},
#include "ptx/types.def"
};

constexpr std::string_view kModifiers[] = {
#define PTX_MODIFIER(id, text) text,
#include "ptx/modifiers.def"
};

const TypeEntry& EntryOf(Type type) { return kTypes[static_cast<size_t>(type)]; }

}  // namespace

int BitsOf(Type type) { return EntryOf(type).bits; }
TypeKind KindOf(Type type) { return EntryOf(type).kind; }
std::string_view NameOf(Type type) { return EntryOf(type).text; }
std::string_view NameOf(Modifier modifier) { return kModifiers[static_cast<size_t>(modifier)]; }

std::string_view NameOf(Space space) {
  switch (space) {
    case Space::kNone:
      return "";
    case Space::kReg:
      return ".reg";
    case Space::kSreg:
      return ".sreg";
    case Space::kConst:
      return ".const";
    case Space::kGlobal:
      return ".global";
    case Space::kLocal:
      return ".local";
    case Space::kParam:
      return ".param";
    case Space::kParamEntry:
      return ".param::entry";
    case Space::kParamFunc:
      return ".param::func";
    case Space::kShared:
      return ".shared";
    case Space::kSharedCta:
      return ".shared::cta";
    case Space::kSharedCluster:
      return ".shared::cluster";
    case Space::kTex:
      return ".tex";
  }
  return "";
}

Type FindType(std::string_view text) {
  static const auto kByText = [] {
    std::unordered_map<std::string_view, Type> map;
    for (size_t i = 1; i < std::size(kTypes); ++i) {
      map.emplace(kTypes[i].text, static_cast<Type>(i));
    }
    return map;
  }();
  const auto found = kByText.find(text);
  return found == kByText.end() ? Type::kNone : found->second;
}

std::optional<Modifier> FindModifier(std::string_view text) {
  static const auto kByText = [] {
    std::unordered_map<std::string_view, Modifier> map;
    for (size_t i = 0; i < std::size(kModifiers); ++i) {
      map.emplace(kModifiers[i].substr(1), static_cast<Modifier>(i));
    }
    map.erase("shape");
    return map;
  }();
  const auto found = kByText.find(text);
  if (found == kByText.end()) return std::nullopt;
  return found->second;
}

std::optional<MatrixShape> ParseShape(std::string_view text) {
  MatrixShape shape;
  for (const auto& [letter, number] :
       {std::pair{'m', &shape.m}, {'n', &shape.n}, {'k', &shape.k}}) {
    if (text.empty() || text[0] != letter) return std::nullopt;
    text.remove_prefix(1);
    size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') {
      *number = *number * 10 + (text[digits++] - '0');
      if (digits > 4) return std::nullopt;
    }
    if (digits == 0 || text[0] == '0') return std::nullopt;
    text.remove_prefix(digits);
  }
  if (!text.empty()) return std::nullopt;
  return shape;
}

Type TypeOf(Modifier modifier) {
  switch (modifier) {
#define PTX_TYPE(id, text, bits, kind) \
  case Modifier::k##id:                \
    return Type::k##id;
#include "ptx/types.def"
    default:
      return Type::kNone;
  }
}

Space SpaceOf(Modifier modifier) {
  switch (modifier) {
    case Modifier::kConst:
      return Space::kConst;
    case Modifier::kGlobal:
      return Space::kGlobal;
    case Modifier::kLocal:
      return Space::kLocal;
    case Modifier::kParam:
      return Space::kParam;
    case Modifier::kParamEntry:
      return Space::kParamEntry;
    case Modifier::kParamFunc:
      return Space::kParamFunc;
    case Modifier::kShared:
      return Space::kShared;
    case Modifier::kSharedCta:
      return Space::kSharedCta;
    case Modifier::kSharedCluster:
      return Space::kSharedCluster;
    default:
      return Space::kNone;
  }
}

Rounding RoundingOf(Modifier modifier) {
  switch (modifier) {
    case Modifier::kRn:
      return Rounding::kRn;
    case Modifier::kRz:
      return Rounding::kRz;
    case Modifier::kRm:
      return Rounding::kRm;
    case Modifier::kRp:
      return Rounding::kRp;
    case Modifier::kRna:
      return Rounding::kRna;
    case Modifier::kRs:
      return Rounding::kRs;
    case Modifier::kRni:
      return Rounding::kRni;
    case Modifier::kRzi:
      return Rounding::kRzi;
    case Modifier::kRmi:
      return Rounding::kRmi;
    case Modifier::kRpi:
      return Rounding::kRpi;
    default:
      return Rounding::kNone;
  }
}

Comparison ComparisonOf(Modifier modifier) {
  switch (modifier) {
    case Modifier::kEq:
      return Comparison::kEq;
    case Modifier::kNe:
      return Comparison::kNe;
    case Modifier::kLt:
      return Comparison::kLt;
    case Modifier::kLe:
      return Comparison::kLe;
    case Modifier::kGt:
      return Comparison::kGt;
    case Modifier::kGe:
      return Comparison::kGe;
    case Modifier::kLo:
      return Comparison::kLo;
    case Modifier::kLs:
      return Comparison::kLs;
    case Modifier::kHi:
      return Comparison::kHi;
    case Modifier::kHs:
      return Comparison::kHs;
    case Modifier::kEqu:
      return Comparison::kEqu;
    case Modifier::kNeu:
      return Comparison::kNeu;
    case Modifier::kLtu:
      return Comparison::kLtu;
    case Modifier::kLeu:
      return Comparison::kLeu;
    case Modifier::kGtu:
      return Comparison::kGtu;
    case Modifier::kGeu:
      return Comparison::kGeu;
    case Modifier::kNum:
      return Comparison::kNum;
    case Modifier::kNan:
      return Comparison::kNan;
    default:
      return Comparison::kNone;
  }
}

BoolOp BoolOpOf(Modifier modifier) {
  switch (modifier) {
    case Modifier::kAnd:
      return BoolOp::kAnd;
    case Modifier::kOr:
      return BoolOp::kOr;
    case Modifier::kXor:
      return BoolOp::kXor;
    default:
      return BoolOp::kNone;
  }
}

Scope ScopeOf(Modifier modifier) {
  switch (modifier) {
    case Modifier::kCta:
      return Scope::kCta;
    case Modifier::kCluster:
      return Scope::kCluster;
    case Modifier::kGpu:
    case Modifier::kGl:
      return Scope::kGpu;
    case Modifier::kSys:
      return Scope::kSys;
    default:
      return Scope::kNone;
  }
}

Semantics SemanticsOf(Modifier modifier) {
  switch (modifier) {
    case Modifier::kWeak:
      return Semantics::kWeak;
    case Modifier::kVolatile:
      return Semantics::kVolatile;
    case Modifier::kRelaxed:
      return Semantics::kRelaxed;
    case Modifier::kAcquire:
      return Semantics::kAcquire;
    case Modifier::kRelease:
      return Semantics::kRelease;
    case Modifier::kAcqRel:
      return Semantics::kAcqRel;
    case Modifier::kSc:
      return Semantics::kSc;
    case Modifier::kMmio:
      return Semantics::kMmio;
    default:
      return Semantics::kNone;
  }
}

CacheOp CacheOpOf(Modifier modifier) {
  switch (modifier) {
    case Modifier::kCa:
      return CacheOp::kCa;
    case Modifier::kCg:
      return CacheOp::kCg;
    case Modifier::kCs:
      return CacheOp::kCs;
    case Modifier::kLu:
      return CacheOp::kLu;
    case Modifier::kCv:
      return CacheOp::kCv;
    case Modifier::kWb:
      return CacheOp::kWb;
    case Modifier::kWt:
      return CacheOp::kWt;
    default:
      return CacheOp::kNone;
  }
}

}  // namespace kernelsmith::ptx
