#include "checkers/environment_labels.h"

#include <algorithm>
#include <bit>

#include "checkers/undefined_bits.h"
#include "vgpu/memory.h"

namespace kernelsmith::checkers {

using vgpu::Instruction;
using vgpu::Op;

namespace {

// Addresses have no more bits, and those within the shared memory of a block no more than these.
constexpr uint8_t kAddressBits = 48;
constexpr uint8_t kOwnBits = 25;
// Kernels step over the end of an object before they stop; how far is the same everywhere as long
// as no address wraps around 0 or 2^64. Addresses of GPUs are larger than the first of these.
constexpr uint64_t kNear = uint64_t{1} << 30;
constexpr uint64_t kNearOwn = uint64_t{1} << 20;
// Symbols beyond these have no identity: only the bits that may vary are known. A kernel needs a
// few for each allocation.
constexpr size_t kMostSymbols = 1 << 20;

uint64_t MaskOf(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
bool IsLowMask(uint64_t mask) { return (mask & (mask + 1)) == 0; }

bool IsInteger(ptx::Type type) {
  const ptx::TypeKind kind = ptx::KindOf(type);
  return kind == ptx::TypeKind::kSigned || kind == ptx::TypeKind::kUnsigned ||
         kind == ptx::TypeKind::kBits;
}

}  // namespace

LabelTable::LabelTable() : symbols_(1) {}

Label LabelTable::Intern(const Key& key, const Symbol& symbol) {
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  if (symbols_.size() >= kMostSymbols && symbol.kind != Kind::kOpaque) {
    return Opaque(symbol.origins, SmearUp(symbol.varies));
  }
  symbols_.push_back(symbol);
  const auto label = static_cast<Label>(symbols_.size() - 1);
  known_[key] = label;
  return label;
}

Label LabelTable::Opaque(uint8_t origins, uint64_t varies) {
  if (origins == 0 || varies == 0) return kSameEverywhere;
  return Intern({Kind::kOpaque, origins, 0, varies, 0},
                {.kind = Kind::kOpaque, .origins = origins, .varies = varies});
}

Label LabelTable::Object(uint64_t base, uint64_t size, uint64_t alignment) {
  return Intern({Kind::kObject, 0, 0, base, 0}, {.kind = Kind::kObject,
                                                 .origins = environment::kAddress,
                                                 .bits = kAddressBits,
                                                 .varies = ~(alignment - 1),
                                                 .base = base,
                                                 .size = size});
}

Label LabelTable::OwnObject(vgpu::MemorySpace space, uint64_t base, uint64_t alignment) {
  return Intern({Kind::kObject, 0, 0, base, 1 + static_cast<uint64_t>(space)},
                {.kind = Kind::kObject,
                 .origins = environment::kAddress,
                 .bits = kOwnBits,
                 .varies = ~(alignment - 1),
                 .base = base});
}

Label LabelTable::Generic(const Labelled& own, uint64_t window) {
  if (own.label != kSameEverywhere && symbols_[own.label].kind != Kind::kObject &&
      symbols_[own.label].kind != Kind::kAligned) {
    return Opaque(OriginsOf(own.label), ~0ULL);
  }
  Symbol symbol = symbols_[own.label];
  // A number is a place in the window, whose first byte is all that varies.
  if (own.label == kSameEverywhere) symbol.varies = ~(vgpu::kSharedWindowSize - 1);
  symbol.kind = Kind::kObject;
  symbol.origins |= environment::kAddress;
  symbol.bits = kAddressBits;
  symbol.base += window;
  symbol.parent = own.label;
  return Intern({Kind::kObject, own.label, 1, window, 0}, symbol);
}

Label LabelTable::FromGeneric(Label generic) {
  const Symbol& symbol = symbols_[generic];
  if (symbol.kind == Kind::kObject && symbol.parent != kSameEverywhere) return symbol.parent;
  if (symbol.kind == Kind::kAligned && symbols_[symbol.parent].parent != kSameEverywhere) {
    const Label own = symbols_[symbol.parent].parent;
    Symbol aligned = symbol;
    aligned.bits = kOwnBits;
    aligned.base -= symbols_[symbol.parent].base - symbols_[own].base;
    aligned.parent = own;
    return Intern({Kind::kAligned, own, 1, aligned.offset, aligned.base}, aligned);
  }
  return Opaque(symbol.origins | environment::kAddress, ~0ULL);
}

Label LabelTable::Moved(Label generic, uint64_t distance) {
  if (generic == kSameEverywhere || symbols_[generic].kind != Kind::kObject) return generic;
  Symbol symbol = symbols_[generic];
  symbol.base += distance;
  return Intern({Kind::kObject, generic, 2, distance, 0}, symbol);
}

uint8_t LabelTable::OriginsOfPlace(Label label) const {
  const Symbol& symbol = symbols_[label];
  switch (symbol.kind) {
    case Kind::kObject:
    case Kind::kScaled:
      return 0;
    case Kind::kAligned:
      // Shared memory is aligned by hand: 1024 bytes are what tensor cores ask for.
      return symbol.bits == kOwnBits || symbols_[symbol.parent].parent != 0 ? 0 : symbol.origins;
    case Kind::kIndexed:
      return symbols_[symbol.other].origins;
    default:
      return symbol.origins;
  }
}

bool LabelTable::IsSum(Label label, int bits) const {
  const Symbol& symbol = symbols_[label];
  switch (symbol.kind) {
    case Kind::kObject:
    case Kind::kScaled:
    case Kind::kAligned:
      return bits == 64 || (bits == 32 && symbol.bits < 32);
    case Kind::kDifference:
      return bits == 64;
    case Kind::kLow:
      return bits == 32;
    default:
      return false;
  }
}

bool LabelTable::IsNear(const Labelled& value) const {
  const Symbol& symbol = symbols_[value.label];
  const uint64_t near = symbol.bits < 32 ? kNearOwn : kNear;
  return value.value - symbol.base + near <= symbol.size + 2 * near;
}

bool LabelTable::SameSymbol(const Labelled& a, const Labelled& b) const {
  return a.label == b.label && symbols_[a.label].kind != Kind::kOpaque;
}

Label LabelTable::LowHalf(const Labelled& whole) {
  if (whole.label == kSameEverywhere) return kSameEverywhere;
  const Symbol& symbol = symbols_[whole.label];
  if (!IsSum(whole.label, 64)) {
    return symbol.kind == Kind::kLow ? whole.label
                                     : Opaque(symbol.origins, symbol.varies & 0xffffffff);
  }
  if (symbol.bits < 32 && IsNear(whole)) return whole.label;
  return Intern({Kind::kLow, whole.label, 0, 0, 0}, {.kind = Kind::kLow,
                                                     .origins = symbol.origins,
                                                     .bits = 32,
                                                     .varies = SmearUp(symbol.varies) & 0xffffffff,
                                                     .base = symbol.base & 0xffffffff,
                                                     .parent = whole.label});
}

Label LabelTable::HighHalf(const Labelled& whole) {
  if (whole.label == kSameEverywhere) return kSameEverywhere;
  const Symbol& symbol = symbols_[whole.label];
  if (!IsSum(whole.label, 64)) return Opaque(symbol.origins, symbol.varies >> 32);
  if (symbol.bits < 32 && IsNear(whole)) return kSameEverywhere;
  const uint64_t offset = whole.value - symbol.base;
  return Intern({Kind::kHigh, whole.label, 0, offset, 0}, {.kind = Kind::kHigh,
                                                           .origins = symbol.origins,
                                                           .bits = 32,
                                                           .varies = 0xffffffff,
                                                           .base = whole.value >> 32,
                                                           .parent = whole.label,
                                                           .offset = offset});
}

Label LabelTable::Join(const Labelled& low, const Labelled& high) {
  if (low.label == kSameEverywhere && high.label == kSameEverywhere) return kSameEverywhere;
  const Symbol& l = symbols_[low.label];
  const Symbol& h = symbols_[high.label];
  if (l.kind == Kind::kLow && (h.kind == Kind::kHigh || h.kind == Kind::kHighPlaced) &&
      l.parent == h.parent) {
    // Both are of the same address: a carry that is another elsewhere must not come in between.
    const uint64_t offset = (low.value - l.base) & 0xffffffff;
    if (offset == (h.offset & 0xffffffff)) return l.parent;
  }
  if (high.label == kSameEverywhere && high.value == 0 && l.bits < 32 && IsSum(low.label, 32) &&
      l.kind != Kind::kLow && IsNear(low)) {
    return low.label;
  }
  return Opaque(l.origins | h.origins, (l.varies & 0xffffffff) | h.varies << 32);
}

Label LabelTable::Difference(Label plus, Label minus) {
  if (plus == minus) return kSameEverywhere;
  if (minus == kSameEverywhere) return plus;
  const Symbol& p = symbols_[plus];
  const Symbol& m = symbols_[minus];
  return Intern({Kind::kDifference, plus, minus, 0, 0},
                {.kind = Kind::kDifference,
                 .origins = static_cast<uint8_t>(p.origins | m.origins),
                 .varies = SmearUp(p.varies | m.varies),
                 .base = p.base - m.base,
                 .parent = plus,
                 .other = minus});
}

// An element of a table; none: `object` is no object, or `index` not opaque.
Label LabelTable::Indexed(Label object, Label index, int bits) {
  if (index == kSameEverywhere || symbols_[index].kind != Kind::kOpaque) return kSameEverywhere;
  if (symbols_[object].kind == Kind::kIndexed) {
    index = Opaque(symbols_[symbols_[object].other].origins | symbols_[index].origins, ~0ULL);
    object = symbols_[object].parent;
  }
  if (symbols_[object].kind != Kind::kObject || !IsSum(object, bits)) return kSameEverywhere;
  const Symbol& o = symbols_[object];
  const Symbol& i = symbols_[index];
  return Intern({Kind::kIndexed, object, index, 0, 0},
                {.kind = Kind::kIndexed,
                 .origins = static_cast<uint8_t>(o.origins | i.origins),
                 .varies = SmearUp(o.varies | i.varies),
                 .base = o.base,
                 .parent = object,
                 .other = index});
}

Label LabelTable::Sum(const Labelled& a, const Labelled& b, bool subtract, int bits) {
  const uint8_t origins = OriginsOf(a.label) | OriginsOf(b.label);
  const Label opaque =
      Opaque(origins, SmearUp(VariesOf(a.label) | VariesOf(b.label)) & MaskOf(bits));
  const auto stays = [&](Label label) {
    return IsSum(label, bits) || symbols_[label].kind == Kind::kIndexed;
  };
  if (b.label == kSameEverywhere) return stays(a.label) ? a.label : opaque;
  if (a.label == kSameEverywhere && !subtract) return stays(b.label) ? b.label : opaque;
  if (const Label indexed = Indexed(a.label, b.label, bits)) return indexed;
  if (!subtract) {
    if (const Label indexed = Indexed(b.label, a.label, bits)) return indexed;
  }
  if (!subtract) {
    const Kind ka = symbols_[a.label].kind;
    const Kind kb = symbols_[b.label].kind;
    if (ka == Kind::kHighPlaced && kb == Kind::kLow) return Join(b, a);
    if (kb == Kind::kHighPlaced && ka == Kind::kLow) return Join(a, b);
  }
  if ((a.label != kSameEverywhere && !IsSum(a.label, bits)) || !IsSum(b.label, bits)) return opaque;
  if (subtract && a.label == b.label) return kSameEverywhere;
  if (bits != 64) return opaque;
  // As symbols that are added and symbols that are taken away.
  std::vector<Label> plus;
  std::vector<Label> minus;
  const auto take = [&](Label label, bool negative) {
    const Symbol& symbol = symbols_[label];
    const bool difference = symbol.kind == Kind::kDifference;
    const Label first = difference ? symbol.parent : label;
    if (first != kSameEverywhere) (negative ? minus : plus).push_back(first);
    if (difference) (negative ? plus : minus).push_back(symbol.other);
  };
  take(a.label, false);
  take(b.label, subtract);
  for (auto it = plus.begin(); it != plus.end();) {
    const auto same = std::find(minus.begin(), minus.end(), *it);
    if (same == minus.end()) {
      ++it;
      continue;
    }
    minus.erase(same);
    it = plus.erase(it);
  }
  if (plus.size() > 1 || minus.size() > 1) return opaque;
  return Difference(plus.empty() ? kSameEverywhere : plus[0],
                    minus.empty() ? kSameEverywhere : minus[0]);
}

// value & mask.
Label LabelTable::And(const Labelled& value, uint64_t mask, int bits) {
  const Symbol& symbol = symbols_[value.label];
  const uint64_t full = MaskOf(bits);
  const uint64_t varies = IsSum(value.label, bits) ? SmearUp(symbol.varies) : symbol.varies;
  mask &= full;
  if ((varies & mask) == 0) return kSameEverywhere;
  if (mask == full) return value.label;
  if (bits == 64 && mask == 0xffffffff) return LowHalf(value);
  if (!IsSum(value.label, bits)) return Opaque(symbol.origins, varies & mask);
  const uint64_t cleared = ~mask & full;
  if (IsLowMask(cleared)) {
    if ((cleared & varies) == 0) return value.label;
    if (symbol.kind == Kind::kObject || symbol.kind == Kind::kAligned) {
      const uint64_t offset = (value.value - symbol.base) & full;
      return Intern({Kind::kAligned, value.label, 0, offset, mask}, {.kind = Kind::kAligned,
                                                                     .origins = symbol.origins,
                                                                     .bits = symbol.bits,
                                                                     .varies = varies & mask,
                                                                     .base = value.value & mask,
                                                                     .size = symbol.size,
                                                                     .parent = value.label,
                                                                     .offset = offset});
    }
  }
  if (IsLowMask(mask) && symbol.bits < 64 && (MaskOf(symbol.bits) & ~mask) == 0 && IsNear(value)) {
    return value.label;
  }
  return Opaque(symbol.origins, varies & mask);
}

// The bits of `changed` are set or inverted.
Label LabelTable::Bits(const Labelled& value, uint64_t changed, int bits) {
  const Symbol& symbol = symbols_[value.label];
  if (!IsSum(value.label, bits)) return Opaque(symbol.origins, symbol.varies);
  const uint64_t varies = SmearUp(symbol.varies);
  // Bits that are the same everywhere, and bits above all of the symbol's.
  if ((changed & varies) == 0) return value.label;
  if (symbol.bits < bits && (changed & MaskOf(symbol.bits)) == 0 && IsNear(value)) {
    return value.label;
  }
  return Opaque(symbol.origins, varies & MaskOf(bits));
}

Label LabelTable::ShiftedRight(const Labelled& value, uint64_t amount, int bits) {
  const Symbol& symbol = symbols_[value.label];
  if (amount == 0) return value.label;
  if (bits == 64 && amount == 32 && IsSum(value.label, 64)) return HighHalf(value);
  if (!IsSum(value.label, bits) || amount >= static_cast<uint64_t>(bits)) {
    return Opaque(symbol.origins, amount >= 64 ? 0 : symbol.varies >> amount);
  }
  const uint64_t varies = SmearUp(symbol.varies);
  const bool nothing_lost = (varies & MaskOf(static_cast<int>(amount))) == 0;
  if (nothing_lost && symbol.bits < bits && symbol.bits > amount && IsNear(value) &&
      symbol.kind != Kind::kAligned) {
    return Intern({Kind::kScaled, value.label, 0, amount, 0},
                  {.kind = Kind::kScaled,
                   .origins = symbol.origins,
                   .bits = static_cast<uint8_t>(symbol.bits - amount),
                   .varies = varies >> amount,
                   .base = symbol.base >> amount,
                   .size = symbol.size >> amount,
                   .parent = value.label});
  }
  return Opaque(symbol.origins, (varies & MaskOf(bits)) >> amount);
}

Label LabelTable::Resized(const Labelled& value, int from, int to, bool sign) {
  if (value.label == kSameEverywhere) return kSameEverywhere;
  const Symbol& symbol = symbols_[value.label];
  if (from == to) return value.label;
  if (to < from) {
    if (from == 64 && to == 32) return LowHalf(value);
    const uint64_t varies = IsSum(value.label, from) ? SmearUp(symbol.varies) : symbol.varies;
    return Opaque(symbol.origins, varies & MaskOf(to));
  }
  if (from == 32 && to == 64) {
    if (symbol.kind == Kind::kHigh || symbol.kind == Kind::kLow) {
      if (!sign) return value.label;
    } else if (IsSum(value.label, 32) && IsNear(value)) {
      return value.label;
    }
  }
  uint64_t varies =
      (IsSum(value.label, from) ? SmearUp(symbol.varies) : symbol.varies) & MaskOf(from);
  if (sign && (varies >> (from - 1) & 1) != 0) varies |= ~MaskOf(from) & MaskOf(to);
  return Opaque(symbol.origins, varies);
}

bool LabelTable::ComparesAlike(const Instruction& in, const Labelled& a, const Labelled& b) const {
  using ptx::Comparison;
  const int bits = static_cast<int>(ptx::BitsOf(in.type));
  const bool equality = in.comparison == Comparison::kEq || in.comparison == Comparison::kNe;
  if (SameSymbol(a, b)) {
    if (!IsSum(a.label, bits)) return false;
    const Kind kind = symbols_[a.label].kind;
    if (equality) return true;
    return kind != Kind::kLow && kind != Kind::kDifference && IsNear(a) && IsNear(b);
  }
  // Null is nowhere an address.
  const Labelled& address = a.label != kSameEverywhere ? a : b;
  const Labelled& number = a.label != kSameEverywhere ? b : a;
  const Symbol& symbol = symbols_[address.label];
  return number.label == kSameEverywhere && number.value == 0 && bits == 64 &&
         (symbol.kind == Kind::kObject || symbol.kind == Kind::kAligned) &&
         symbol.bits == kAddressBits && IsNear(address);
}

Label LabelTable::ByBits(const Instruction& in, const Labelled& a, const Labelled& b,
                         const Labelled& c, const Labelled& e, int bits) {
  const uint8_t origins =
      OriginsOf(a.label) | OriginsOf(b.label) | OriginsOf(c.label) | OriginsOf(e.label);
  const auto shadowed = [&](const Labelled& operand) {
    const uint64_t varies = VariesOf(operand.label);
    const bool sum = symbols_[operand.label].kind != Kind::kOpaque;
    return Shadowed{operand.value, sum ? SmearUp(varies) : varies};
  };
  return Opaque(
      origins,
      UndefinedResult(in, shadowed(a), shadowed(b), shadowed(c), shadowed(e), bits) & MaskOf(bits));
}

Label LabelTable::Result(const Instruction& in, const Labelled& a, const Labelled& b,
                         const Labelled& c, const Labelled& e, int bits) {
  if (a.label == 0 && b.label == 0 && c.label == 0 && e.label == 0) return kSameEverywhere;
  const bool integer = IsInteger(in.type);
  switch (in.op) {
    case Op::kMov:
    case Op::kPredMov:
    case Op::kPredNot:
      return a.label;
    case Op::kIsspacep:
    case Op::kGetctarank:
      return kSameEverywhere;
    case Op::kResize:
      return Resized(a, static_cast<int>(in.a.bytes()) * 8, bits, in.variant != 0);
    case Op::kCvt:
      if (!integer || !IsInteger(in.source_type) || in.sat) break;
      return Resized(a, ptx::BitsOf(in.source_type), std::min(bits, ptx::BitsOf(in.type)),
                     ptx::IsSigned(in.source_type));
    case Op::kAdd:
    case Op::kSub:
      if (!integer || in.sat) break;
      return Sum(a, b, in.op == Op::kSub, bits);
    // How far it is to the next multiple: -(address / 4) & 3.
    case Op::kNeg:
      if (!integer) break;
      return Sum({}, a, /*subtract=*/true, bits);
    case Op::kMadLo:
    case Op::kMadWide: {
      if (!integer || a.label != 0 || b.label != 0) break;
      return Sum(c, {}, false, bits);
    }
    case Op::kAnd:
      if (b.label == kSameEverywhere) return And(a, b.value, bits);
      if (a.label == kSameEverywhere) return And(b, a.value, bits);
      break;
    case Op::kOr:
      if (a.label != 0 && b.label != 0) {
        const Kind ka = symbols_[a.label].kind;
        const Kind kb = symbols_[b.label].kind;
        if (ka == Kind::kHighPlaced && kb == Kind::kLow) return Join(b, a);
        if (kb == Kind::kHighPlaced && ka == Kind::kLow) return Join(a, b);
        break;
      }
      return a.label != 0 ? Bits(a, b.value, bits) : Bits(b, a.value, bits);
    case Op::kXor:
      if (a.label != 0 && b.label != 0) break;
      return a.label != 0 ? Bits(a, b.value, bits) : Bits(b, a.value, bits);
    case Op::kShl:
      if (bits == 64 && b.label == 0 && b.value == 32 && symbols_[a.label].kind == Kind::kHigh) {
        Symbol symbol = symbols_[a.label];
        symbol.kind = Kind::kHighPlaced;
        symbol.varies <<= 32;
        symbol.base <<= 32;
        symbol.bits = 64;
        return Intern({Kind::kHighPlaced, symbol.parent, 0, symbol.offset, 0}, symbol);
      }
      break;
    case Op::kShr:
      if (b.label != 0 || ptx::IsSigned(in.type)) break;
      return ShiftedRight(a, b.value, bits);
    // Halves of addresses are put together and taken apart by these as well: the barrier of
    // cooperative groups does.
    case Op::kBfi:
      if (bits != 64 || c.label != 0 || e.label != 0 || c.value != 32 || e.value != 32) break;
      return Join({b.value & 0xffffffff, LowHalf(b)}, a);
    case Op::kBfe:
      if (bits != 64 || b.label != 0 || c.label != 0 || c.value != 32 || ptx::IsSigned(in.type)) {
        break;
      }
      if (b.value == 0) return LowHalf(a);
      if (b.value == 32) return ShiftedRight(a, 32, 64);
      break;
    case Op::kMin:
    case Op::kMax:
      if (integer && SameSymbol(a, b) && IsSum(a.label, bits) && IsNear(a) && IsNear(b) &&
          symbols_[a.label].kind != Kind::kLow && symbols_[a.label].kind != Kind::kDifference) {
        return a.label;
      }
      break;
    case Op::kSelp:
    case Op::kPredSelp:
      if (c.label != kSameEverywhere) break;
      return ((c.value & 1) != 0) != in.negate_c ? a.label : b.label;
    case Op::kSetp:
      if (integer && ComparesAlike(in, a, b)) return c.label;
      if (integer && in.bool_op != ptx::BoolOp::kNone && c.label == kSameEverywhere) {
        Instruction alone = in;
        alone.bool_op = ptx::BoolOp::kNone;
        return ByBits(alone, a, b, {}, {}, bits);
      }
      break;
    default:
      break;
  }
  return ByBits(in, a, b, c, e, bits);
}

}  // namespace kernelsmith::checkers
