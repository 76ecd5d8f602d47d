// Logic, shifts and bit fields.

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"
#include "vgpu/math/integer.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using ptx::Type;

// The table applied to whole vectors: only the terms it has.
template <bool kPredicate>
void Lop3(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t* a = w.Lanes<uint32_t>(in.a);
  const uint32_t* b = w.Lanes<uint32_t>(in.b);
  const uint32_t* c = w.Lanes<uint32_t>(in.c);
  const uint32_t table = in.variant;
  uint32_t term[8];
  for (int i = 0; i < 8; ++i) term[i] = (table >> i & 1) != 0 ? ~0u : 0u;
  LaneArray<uint32_t> r;
  for (int i = 0; i < kWarpSize; ++i) {
    const uint32_t x = a[i];
    const uint32_t y = b[i];
    const uint32_t z = c[i];
    const uint32_t low =
        (~y & ((~z & term[0]) | (z & term[1]))) | (y & ((~z & term[2]) | (z & term[3])));
    const uint32_t high =
        (~y & ((~z & term[4]) | (z & term[5]))) | (y & ((~z & term[6]) | (z & term[7])));
    r.at[i] = (~x & low) | (x & high);
  }
  if constexpr (kPredicate) {
    uint32_t nonzero = 0;
    for (int i = 0; i < kWarpSize; ++i) nonzero |= static_cast<uint32_t>(r.at[i] != 0) << i;
    const uint32_t q = w.Predicate(in.e) ^ (in.negate_c ? kFullMask : 0u);
    nonzero = in.bool_op == ptx::BoolOp::kAnd   ? nonzero & q
              : in.bool_op == ptx::BoolOp::kXor ? nonzero ^ q
                                                : nonzero | q;
    CommitPredicate(w.Predicate(in.d2), nonzero, mask);
  }
  Commit(w.Lanes<uint32_t>(in.d), r, mask);
}

Handler FindPrmt(uint8_t mode) {
  using math::Prmt;
  constexpr Handler kModes[] = {
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::PrmtBytes<Prmt::kIndex>>,
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::PrmtBytes<Prmt::kF4e>>,
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::PrmtBytes<Prmt::kB4e>>,
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::PrmtBytes<Prmt::kRc8>>,
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::PrmtBytes<Prmt::kEcl>>,
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::PrmtBytes<Prmt::kEcr>>,
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::PrmtBytes<Prmt::kRc16>>,
  };
  return kModes[mode];
}

Handler FindShf(uint8_t variant) {
  constexpr Handler kModes[] = {
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::ShfLeft<false>>,
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::ShfRight<false>>,
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::ShfLeft<true>>,
      Map3<uint32_t, uint32_t, uint32_t, uint32_t, math::ShfRight<true>>,
  };
  return kModes[variant];
}

// Logic by width alone, of 16, 32 and 64 bits.
template <typename Make>
Handler ForBits(Type type, Make make) {
  switch (ptx::BitsOf(type)) {
    case 16:
      return make(uint16_t{});
    case 32:
      return make(uint32_t{});
    case 64:
      return make(uint64_t{});
    default:
      return nullptr;
  }
}

}  // namespace

Handler FindBitHandler(const Instruction& in) {
  switch (in.op) {
    case Op::kAnd:
      return ForBits(in.type, []<typename T>(T) -> Handler {
        return Map2<T, T, T, [](T a, T b) { return static_cast<T>(a & b); }>;
      });
    case Op::kOr:
      return ForBits(in.type, []<typename T>(T) -> Handler {
        return Map2<T, T, T, [](T a, T b) { return static_cast<T>(a | b); }>;
      });
    case Op::kXor:
      return ForBits(in.type, []<typename T>(T) -> Handler {
        return Map2<T, T, T, [](T a, T b) { return static_cast<T>(a ^ b); }>;
      });
    case Op::kNot:
      return ForBits(in.type, []<typename T>(T) -> Handler {
        return Map1<T, T, [](T a) { return static_cast<T>(~a); }>;
      });
    case Op::kCnot:
      return ForBits(in.type, []<typename T>(T) -> Handler { return Map1<T, T, math::Cnot<T>>; });
    case Op::kShl:
      return ForInteger(
          in.type, []<typename T>(T) -> Handler { return Map2<T, T, uint32_t, math::Shl<T>>; });
    case Op::kShr:
      return ForInteger(
          in.type, []<typename T>(T) -> Handler { return Map2<T, T, uint32_t, math::Shr<T>>; });
    case Op::kShf:
      return FindShf(in.variant);
    case Op::kLop3:
      return Lop3<false>;
    case Op::kLop3Pred:
      return Lop3<true>;
    case Op::kPrmt:
      return FindPrmt(in.variant);
    case Op::kPopc:
      return ForWord(in.type,
                     []<typename T>(T) -> Handler { return Map1<uint32_t, T, math::Popc<T>>; });
    case Op::kClz:
      return ForWord(in.type,
                     []<typename T>(T) -> Handler { return Map1<uint32_t, T, math::Clz<T>>; });
    case Op::kBfind:
      return ForWord(in.type, [&]<typename T>(T) -> Handler {
        return in.variant != 0 ? Map1<uint32_t, T, math::Bfind<true, T>>
                               : Map1<uint32_t, T, math::Bfind<false, T>>;
      });
    case Op::kBrev:
      return ForBits(in.type, []<typename T>(T) -> Handler {
        if constexpr (sizeof(T) == 2) {
          return nullptr;
        } else {
          return Map1<T, T, [](T a) { return math::Brev(a); }>;
        }
      });
    case Op::kFns:
      return Map3<uint32_t, uint32_t, uint32_t, int32_t, math::Fns>;
    case Op::kBfe:
      return ForWord(in.type, []<typename T>(T) -> Handler {
        return Map3<T, T, uint32_t, uint32_t, math::Bfe<T>>;
      });
    case Op::kBfi:
      return ForWord(in.type, []<typename T>(T) -> Handler {
        return Map4<T, T, T, uint32_t, uint32_t, math::Bfi<T>>;
      });
    case Op::kSzext:
      if (in.type == Type::kS32) {
        return in.variant != 0 ? Map2<int32_t, int32_t, uint32_t, math::Szext<true, int32_t>>
                               : Map2<int32_t, int32_t, uint32_t, math::Szext<false, int32_t>>;
      }
      return in.variant != 0 ? Map2<uint32_t, uint32_t, uint32_t, math::Szext<true, uint32_t>>
                             : Map2<uint32_t, uint32_t, uint32_t, math::Szext<false, uint32_t>>;
    case Op::kBmsk:
      return in.variant != 0 ? Map2<uint32_t, uint32_t, uint32_t, math::Bmsk<true>>
                             : Map2<uint32_t, uint32_t, uint32_t, math::Bmsk<false>>;
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
