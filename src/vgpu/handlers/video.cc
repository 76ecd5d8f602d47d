// The video instructions: parts of registers, saturation, a second operation with c. As in the
// ISA's pseudocode, on integers that are wide enough for every intermediate value.

#include <algorithm>

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"

namespace kernelsmith::vgpu {

namespace {

using namespace KS_MATH_ISA;  // NOLINT: the lane helpers of this build
using Kind = VideoInfo::Kind;
using ptx::Selector;

// Position and width of a selected part.
struct Part {
  int shift = 0;
  int bits = 32;
};

Part PartOf(Selector selector) {
  if (selector >= Selector::kB0 && selector <= Selector::kB3) {
    return {8 * (static_cast<int>(selector) - static_cast<int>(Selector::kB0)), 8};
  }
  if (selector == Selector::kH0) return {0, 16};
  if (selector == Selector::kH1) return {16, 16};
  return {};
}

int64_t Extract(uint32_t value, Part part, bool is_signed) {
  const int64_t bits = static_cast<int64_t>(value >> part.shift) & ((int64_t{1} << part.bits) - 1);
  const int64_t sign = int64_t{1} << (part.bits - 1);
  return is_signed && (bits & sign) != 0 ? bits - 2 * sign : bits;
}

int64_t Saturate(int64_t value, int bits, bool is_signed) {
  const int64_t high = is_signed ? (int64_t{1} << (bits - 1)) - 1 : (int64_t{1} << bits) - 1;
  const int64_t low = is_signed ? -(int64_t{1} << (bits - 1)) : 0;
  return std::clamp(value, low, high);
}

bool Holds(ptx::Comparison comparison, int64_t a, int64_t b) {
  switch (comparison) {
    case ptx::Comparison::kEq:
      return a == b;
    case ptx::Comparison::kNe:
      return a != b;
    case ptx::Comparison::kLt:
    case ptx::Comparison::kLo:
      return a < b;
    case ptx::Comparison::kLe:
    case ptx::Comparison::kLs:
      return a <= b;
    case ptx::Comparison::kGt:
    case ptx::Comparison::kHi:
      return a > b;
    default:
      return a >= b;
  }
}

int64_t Primary(const VideoInfo& info, int64_t a, int64_t b) {
  switch (info.kind) {
    case Kind::kAdd:
      return a + b;
    case Kind::kSub:
      return a - b;
    case Kind::kAbsdiff:
      return a < b ? b - a : a - b;
    case Kind::kMin:
      return std::min(a, b);
    case Kind::kMax:
      return std::max(a, b);
    case Kind::kShl: {
      const int64_t by = info.wrap ? b & 31 : std::min<int64_t>(b, 32);
      return a * (int64_t{1} << by);
    }
    case Kind::kShr:
      return a >> (info.wrap ? b & 31 : std::min<int64_t>(b, 32));
    case Kind::kSet:
      return Holds(info.comparison, a, b) ? 1 : 0;
    case Kind::kAverage:
      return (a + b + 1) >> 1;
    case Kind::kMad:
      return a * b;
  }
  return 0;
}

uint32_t Mad(const VideoInfo& info, int64_t a, int64_t b, uint32_t c) {
  using Wide = __int128;  // 32 x 32 bits plus 32: a bit more than 64
  Wide value = static_cast<Wide>(a) * b;
  if (info.negate_product) value = -value;
  const bool is_signed = info.signed_a || info.signed_b || info.negate_product;
  Wide addend = is_signed ? static_cast<Wide>(static_cast<int32_t>(c)) : static_cast<Wide>(c);
  if (info.negate_c) addend = -addend;
  value += addend + (info.plus_one ? 1 : 0);
  value >>= info.scale;
  if (info.sat) {
    const Wide low = info.signed_d ? INT32_MIN : 0;
    const Wide high = info.signed_d ? INT32_MAX : static_cast<Wide>(UINT32_MAX);
    value = std::clamp(value, low, high);
  }
  return static_cast<uint32_t>(value);
}

uint32_t Scalar(const VideoInfo& info, uint32_t a, uint32_t b, uint32_t c) {
  const int64_t x = Extract(a, PartOf(info.a), info.signed_a);
  const int64_t y = Extract(b, PartOf(info.b), info.signed_b);
  if (info.kind == Kind::kMad) return Mad(info, x, y, c);
  int64_t value = Primary(info, x, y);
  const Part target = PartOf(info.d);
  if (info.sat) value = Saturate(value, target.bits, info.signed_d);
  if (info.d != Selector::kNone) {
    const uint32_t mask = ((1u << target.bits) - 1) << target.shift;
    return (c & ~mask) | (static_cast<uint32_t>(value) << target.shift & mask);
  }
  const int64_t other =
      info.signed_d ? static_cast<int64_t>(static_cast<int32_t>(c)) : static_cast<int64_t>(c);
  const int64_t mine = info.signed_d ? static_cast<int64_t>(static_cast<int32_t>(value))
                                     : static_cast<int64_t>(static_cast<uint32_t>(value));
  switch (info.second) {
    case VideoInfo::Second::kAdd:
      return static_cast<uint32_t>(mine + other);
    case VideoInfo::Second::kMin:
      return static_cast<uint32_t>(std::min(mine, other));
    case VideoInfo::Second::kMax:
      return static_cast<uint32_t>(std::max(mine, other));
    case VideoInfo::Second::kNone:
      break;
  }
  return static_cast<uint32_t>(value);
}

uint32_t Parallel(const VideoInfo& info, uint32_t a, uint32_t b, uint32_t c) {
  const int bits = 32 / info.parts;
  uint32_t packed = 0;
  int64_t sum = 0;
  for (int i = 0; i < info.parts; ++i) {
    const Part part{i * bits, bits};
    int64_t value = Primary(info, Extract(a, part, info.signed_a), Extract(b, part, info.signed_b));
    if (info.sat) value = Saturate(value, bits, info.signed_d);
    const uint32_t low = static_cast<uint32_t>(value) & ((1u << bits) - 1);
    packed |= low << part.shift;
    sum += Extract(low, {0, bits}, info.signed_d);
  }
  return info.second == VideoInfo::Second::kAdd ? c + static_cast<uint32_t>(sum) : packed;
}

void Video(Warp& w, const Instruction& in, uint32_t mask) {
  const VideoInfo& info = w.function().videos[in.target];
  const uint32_t* a = w.Lanes<uint32_t>(in.a);
  const uint32_t* b = w.Lanes<uint32_t>(in.b);
  const uint32_t* c = w.Lanes<uint32_t>(in.c);
  LaneArray<uint32_t> r;
  for (int i = 0; i < kWarpSize; ++i) {
    r.at[i] = info.parts == 1 ? Scalar(info, a[i], b[i], c[i]) : Parallel(info, a[i], b[i], c[i]);
  }
  Commit(w.Lanes<uint32_t>(in.d), r, mask);
}

}  // namespace

Handler FindVideoHandler(const Instruction& in) { return in.op == Op::kVideo ? Video : nullptr; }

}  // namespace kernelsmith::vgpu
