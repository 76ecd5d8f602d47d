#include "checkers/undefined_bits.h"

#include <algorithm>

namespace kernelsmith::checkers {

using vgpu::Instruction;
using vgpu::Op;

namespace {

uint64_t MaskOf(int bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

bool IsInteger(ptx::Type type) {
  const ptx::TypeKind kind = ptx::KindOf(type);
  return kind == ptx::TypeKind::kSigned || kind == ptx::TypeKind::kUnsigned ||
         kind == ptx::TypeKind::kBits;
}

uint64_t Extend(uint64_t undefined, int from, int to, bool sign) {
  undefined &= MaskOf(from);
  if (sign && from < to && (undefined >> (from - 1) & 1) != 0) undefined |= ~MaskOf(from);
  return undefined & MaskOf(to);
}

uint64_t Lop3(uint8_t table, const Shadowed& a, const Shadowed& b, const Shadowed& c) {
  const uint64_t any = a.undefined | b.undefined | c.undefined;
  uint64_t result = 0;
  for (uint64_t rest = any; rest != 0; rest &= rest - 1) {
    const int bit = __builtin_ctzll(rest);
    // All values that the undefined inputs may have: is the result the same for all?
    bool seen[2] = {};
    for (int i = 0; i < 8; ++i) {
      const auto fits = [&](const Shadowed& s, int value) {
        return (s.undefined >> bit & 1) != 0 || static_cast<int>(s.value >> bit & 1) == value;
      };
      if (fits(a, i >> 2 & 1) && fits(b, i >> 1 & 1) && fits(c, i & 1)) seen[table >> i & 1] = true;
    }
    if (seen[0] && seen[1]) result |= uint64_t{1} << bit;
  }
  return result;
}

uint64_t Prmt(const Shadowed& a, const Shadowed& b, const Shadowed& selector) {
  if ((selector.undefined & 0xffff) != 0) return 0xffffffff;
  const uint64_t bytes = (a.undefined & 0xffffffff) | b.undefined << 32;
  uint64_t result = 0;
  for (int i = 0; i < 4; ++i) {
    const auto nibble = static_cast<uint32_t>(selector.value >> (4 * i) & 15);
    uint64_t byte = bytes >> (8 * (nibble & 7)) & 0xff;
    if ((nibble & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;  // the sign, eight times
    result |= byte << (8 * i);
  }
  return result;
}

// Numbers that a value with undefined bits may be: the least and the greatest.
struct Range {
  __int128 low = 0;
  __int128 high = 0;
};
Range RangeOf(const Shadowed& s, int bits, bool sign) {
  const uint64_t mask = MaskOf(bits);
  uint64_t low = s.value & ~s.undefined & mask;
  uint64_t high = (s.value | s.undefined) & mask;
  if (!sign) return {low, high};
  const uint64_t top = uint64_t{1} << (bits - 1);
  if ((s.undefined & top) != 0) {  // the sign itself: least with it, greatest without
    low |= top;
    high &= ~top;
  }
  const auto number = [&](uint64_t v) {
    return (v & top) != 0 ? static_cast<__int128>(v) - (static_cast<__int128>(mask) + 1)
                          : static_cast<__int128>(v);
  };
  return {number(low), number(high)};
}

// Whether a comparison of integers may come out either way.
bool IsOpen(const Instruction& in, const Shadowed& a, const Shadowed& b) {
  const int bits = static_cast<int>(ptx::BitsOf(in.type));
  using ptx::Comparison;
  if (in.comparison == Comparison::kEq || in.comparison == Comparison::kNe) {
    const uint64_t known = ~(a.undefined | b.undefined) & MaskOf(bits);
    return ((a.value ^ b.value) & known) == 0;
  }
  const bool sign = ptx::IsSigned(in.type);
  const Range ra = RangeOf(a, bits, sign);
  const Range rb = RangeOf(b, bits, sign);
  switch (in.comparison) {
    case Comparison::kLt:
    case Comparison::kGe:
    case Comparison::kLo:
    case Comparison::kHs:
      return (ra.low < rb.high) != (ra.high < rb.low);
    case Comparison::kLe:
    case Comparison::kGt:
    case Comparison::kLs:
    case Comparison::kHi:
      return (ra.low <= rb.high) != (ra.high <= rb.low);
    default:
      return true;
  }
}

}  // namespace

uint64_t UndefinedResult(const Instruction& in, const Shadowed& a, const Shadowed& b,
                         const Shadowed& c, const Shadowed& e, int bits) {
  const uint64_t any = a.undefined | b.undefined | c.undefined | e.undefined;
  if (any == 0) return 0;
  const uint64_t mask = MaskOf(bits);
  switch (in.op) {
    case Op::kMov:
    case Op::kCvta:
    case Op::kCvtaTo:
    case Op::kPredMov:
    case Op::kPredNot:
    case Op::kNot:
      return a.undefined & mask;
    case Op::kResize:
      return Extend(a.undefined, static_cast<int>(in.a.bytes()) * 8, bits, in.variant != 0);
    case Op::kAnd:
    case Op::kPredAnd:
      // A defined 0 on one side decides.
      return (a.undefined | b.undefined) & (a.value | a.undefined) & (b.value | b.undefined) & mask;
    case Op::kOr:
    case Op::kPredOr:
      return (a.undefined | b.undefined) & (~a.value | a.undefined) & (~b.value | b.undefined) &
             mask;
    case Op::kXor:
    case Op::kPredXor:
      return (a.undefined | b.undefined) & mask;
    case Op::kLop3:
      return Lop3(in.variant, a, b, c) & mask;
    case Op::kShl:
      if (b.undefined != 0) return mask;
      return b.value >= static_cast<uint64_t>(bits) ? 0 : a.undefined << b.value & mask;
    case Op::kShr: {
      if (b.undefined != 0) return mask;
      const uint64_t amount = std::min<uint64_t>(b.value, static_cast<uint64_t>(bits) - 1);
      uint64_t undefined = a.undefined & mask;
      if (b.value >= static_cast<uint64_t>(bits)) {
        return ptx::IsSigned(in.type) && (undefined >> (bits - 1) & 1) != 0 ? mask : 0;
      }
      const bool sign = ptx::IsSigned(in.type) && (undefined >> (bits - 1) & 1) != 0;
      undefined >>= amount;
      if (sign && amount > 0) undefined |= mask & ~(mask >> amount);
      return undefined;
    }
    case Op::kPrmt:
      if (in.variant == 0) return Prmt(a, b, c);
      return mask;
    case Op::kSelp:
    case Op::kPredSelp: {
      if ((c.undefined & 1) != 0) {
        return ((a.value ^ b.value) | a.undefined | b.undefined) & mask;
      }
      const bool first = ((c.value & 1) != 0) != in.negate_c;
      return (first ? a.undefined : b.undefined) & mask;
    }
    case Op::kAdd:
    case Op::kSub:
    case Op::kMulLo:
    case Op::kMadLo:
      if (!IsInteger(in.type)) return mask;
      return SmearUp(any) & mask;
    case Op::kMulWide:
    case Op::kMadWide:
      return SmearUp(any) & mask;
    case Op::kSetp:
      // What is compared may be decided by the bits that are defined.
      if (!IsInteger(in.type) || in.bool_op != ptx::BoolOp::kNone) return mask;
      return IsOpen(in, a, b) ? mask : 0;
    case Op::kCvt:
      if (!IsInteger(in.type) || !IsInteger(in.source_type) || in.sat) return mask;
      return Extend(a.undefined, static_cast<int>(ptx::BitsOf(in.source_type)), bits,
                    ptx::IsSigned(in.source_type));
    default:
      return mask;
  }
}

int ShuffleSource(vgpu::ShuffleMode mode, int lane, uint32_t b, uint32_t c) {
  const int segment = static_cast<int>(c >> 8 & 31);
  const int clamp = static_cast<int>(c & 31);
  const int last = (lane & segment) | (clamp & ~segment);
  const int first = lane & segment;
  const int amount = static_cast<int>(b & 31);
  int from = lane;
  bool inside = false;
  switch (mode) {
    case vgpu::ShuffleMode::kUp:
      from = lane - amount;
      inside = from >= last;
      break;
    case vgpu::ShuffleMode::kDown:
      from = lane + amount;
      inside = from <= last;
      break;
    case vgpu::ShuffleMode::kBfly:
      from = lane ^ amount;
      inside = from <= last;
      break;
    case vgpu::ShuffleMode::kIdx:
      from = first | (amount & ~segment & 31);
      inside = from <= last;
      break;
  }
  return inside ? from & 31 : lane;
}

bool UsesAtOnce(const vgpu::Function& function, const Instruction& shuffle) {
  const vgpu::Operand always = shuffle.guard;
  for (const Instruction* in = &shuffle + 1; in < function.code.data() + function.code.size();
       ++in) {
    const bool guarded = !(in->guard == always);
    if (in->op == Op::kBra) return false;  // out of sight
    bool uses = in->a == shuffle.d || in->b == shuffle.d || in->c == shuffle.d;
    for (uint32_t i = 0; i < in->list_count; ++i) {
      uses = uses || function.list[in->list_first + i] == shuffle.d;
    }
    if (uses) return !guarded && in->op != Op::kSelp && in->op != Op::kPredSelp;
    if (in->d == shuffle.d && !guarded) return false;
  }
  return false;
}

}  // namespace kernelsmith::checkers
