// cvt.

#include "vgpu/math/convert.h"

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"
#include "vgpu/math/minifloat.h"

namespace kernelsmith::vgpu::KS_MATH_ISA {

namespace {

using math::CvtMode;
using math::Round;
using ptx::Rounding;
using ptx::Type;

template <typename To, typename From, typename M>
To Convert(From x) {
  return math::Cvt<To, M>(x);
}

template <typename T>
inline constexpr bool kIsInteger = std::is_integral_v<T>;

Round RoundOf(Rounding rounding) {
  switch (rounding) {
    case Rounding::kRz:
    case Rounding::kRzi:
      return Round::kRz;
    case Rounding::kRm:
    case Rounding::kRmi:
      return Round::kRm;
    case Rounding::kRp:
    case Rounding::kRpi:
      return Round::kRp;
    case Rounding::kRna:
      return Round::kRna;
    default:
      return Round::kRn;
  }
}

bool IsIntegral(Rounding rounding) {
  return rounding == Rounding::kRni || rounding == Rounding::kRzi || rounding == Rounding::kRmi ||
         rounding == Rounding::kRpi;
}

// Calls `make` with the Round of the instruction.
template <typename Make>
Handler ForRound(const Instruction& in, Make make) {
  switch (RoundOf(in.rounding)) {
    case Round::kRn:
      return make.template operator()<Round::kRn>();
    case Round::kRz:
      return make.template operator()<Round::kRz>();
    case Round::kRm:
      return make.template operator()<Round::kRm>();
    case Round::kRp:
      return make.template operator()<Round::kRp>();
    default:
      return nullptr;
  }
}

// Only what PTX has: rounding to an integral value keeps the type, directed modes are for narrower
// results, .relu and .satfinite for f32 to 16 bits.
template <typename To, typename From>
Handler FloatToFloat(const Instruction& in) {
  const auto with_ftz = [&]<Round kRound, bool kIntegral, bool kSat>() -> Handler {
    if constexpr (std::is_same_v<To, float> || std::is_same_v<From, float>) {
      if (in.ftz) {
        return Map1<To, From, Convert<To, From, CvtMode<kRound, kIntegral, true, kSat>>>;
      }
    }
    return Map1<To, From, Convert<To, From, CvtMode<kRound, kIntegral, false, kSat>>>;
  };
  if (IsIntegral(in.rounding)) {
    if constexpr (std::is_same_v<To, From>) {
      return ForRound(in, [&]<Round kRound>() -> Handler {
        return in.sat ? with_ftz.template operator()<kRound, true, true>()
                      : with_ftz.template operator()<kRound, true, false>();
      });
    } else {
      return nullptr;
    }
  }
  if constexpr (math::kIsHalf<To> && std::is_same_v<From, float>) {
    if (in.relu || in.satfinite) {
      const auto with_round = [&]<Round kRound>() -> Handler {
        if (!in.satfinite) {
          return Map1<To, From, Convert<To, From, CvtMode<kRound, false, false, false, true>>>;
        }
        return in.relu ? Map1<To, From,
                              Convert<To, From, CvtMode<kRound, false, false, false, true, true>>>
                       : Map1<To, From,
                              Convert<To, From, CvtMode<kRound, false, false, false, false, true>>>;
      };
      return RoundOf(in.rounding) == Round::kRz ? with_round.template operator()<Round::kRz>()
                                                : with_round.template operator()<Round::kRn>();
    }
  }
  if (in.sat) {
    return RoundOf(in.rounding) == Round::kRn
               ? with_ftz.template operator()<Round::kRn, false, true>()
               : nullptr;
  }
  if constexpr (sizeof(To) >= sizeof(From) && !math::kIsHalf<To>) {
    // Exact: no rounding.
    return with_ftz.template operator()<Round::kRn, false, false>();
  } else {
    return ForRound(in, [&]<Round kRound>() -> Handler {
      return with_ftz.template operator()<kRound, false, false>();
    });
  }
}

template <typename To, typename From>
Handler FromTo(const Instruction& in) {
  if constexpr (kIsInteger<To> && kIsInteger<From>) {
    using Plain = CvtMode<>;
    using Sat = CvtMode<Round::kRn, false, false, true>;
    return in.sat ? Map1<To, From, Convert<To, From, Sat>>
                  : Map1<To, From, Convert<To, From, Plain>>;
  } else if constexpr (kIsInteger<From>) {
    using Sat = CvtMode<Round::kRn, false, false, true>;
    if (in.sat) {
      return RoundOf(in.rounding) == Round::kRn ? Map1<To, From, Convert<To, From, Sat>> : nullptr;
    }
    return ForRound(in, []<Round kRound>() -> Handler {
      return Map1<To, From, Convert<To, From, CvtMode<kRound>>>;
    });
  } else if constexpr (kIsInteger<To>) {
    // Conversions to integers saturate whether they say so or not.
    return ForRound(in, [&]<Round kRound>() -> Handler {
      if constexpr (std::is_same_v<From, float>) {
        if (in.ftz) return Map1<To, From, Convert<To, From, CvtMode<kRound, true, true>>>;
      }
      return Map1<To, From, Convert<To, From, CvtMode<kRound, true>>>;
    });
  } else {
    return FloatToFloat<To, From>(in);
  }
}

template <typename Make>
Handler ForScalar(Type type, Make make) {
  switch (type) {
    case Type::kU8:
    case Type::kB8:
      return make(uint8_t{});
    case Type::kS8:
      return make(int8_t{});
    case Type::kF16:
      return make(math::F16{});
    case Type::kBf16:
      return make(math::BF16{});
    case Type::kF32:
      return make(float{});
    case Type::kF64:
      return make(double{});
    default:
      return ForInteger(type, make);
  }
}

template <typename M>
uint32_t ToTf32(float x) {
  return math::CvtF32ToTF32<M>(x);
}

Handler FindTf32(const Instruction& in) {
  const auto with_flags = [&]<Round kRound>() -> Handler {
    if (in.relu) {
      return in.satfinite
                 ? Map1<uint32_t, float, ToTf32<CvtMode<kRound, false, false, false, true, true>>>
                 : Map1<uint32_t, float, ToTf32<CvtMode<kRound, false, false, false, true>>>;
    }
    return in.satfinite
               ? Map1<uint32_t, float, ToTf32<CvtMode<kRound, false, false, false, false, true>>>
               : Map1<uint32_t, float, ToTf32<CvtMode<kRound>>>;
  };
  switch (in.rounding) {
    case Rounding::kRna:
      return with_flags.template operator()<Round::kRna>();
    case Rounding::kRz:
      return with_flags.template operator()<Round::kRz>();
    default:
      return with_flags.template operator()<Round::kRn>();
  }
}

// ---- two values in one register

template <typename Pair, typename M>
Pair PackHalf(float a, float b) {
  return math::CvtPackHalf<Pair, M>(a, b);
}

template <typename Pair>
Handler FindPackHalf(const Instruction& in) {
  const auto with_flags = [&]<Round kRound>() -> Handler {
    if (in.relu) {
      return in.satfinite ? Map2<Pair, float, float,
                                 PackHalf<Pair, CvtMode<kRound, false, false, false, true, true>>>
                          : Map2<Pair, float, float,
                                 PackHalf<Pair, CvtMode<kRound, false, false, false, true>>>;
    }
    return in.satfinite ? Map2<Pair, float, float,
                               PackHalf<Pair, CvtMode<kRound, false, false, false, false, true>>>
                        : Map2<Pair, float, float, PackHalf<Pair, CvtMode<kRound>>>;
  };
  return in.rounding == Rounding::kRz ? with_flags.template operator()<Round::kRz>()
                                      : with_flags.template operator()<Round::kRn>();
}

// The narrow format of a packed type, through `make`.
template <typename Make>
Handler ForMini(Type type, Make make) {
  switch (type) {
    case Type::kE4m3x2:
      return make(math::E4M3{});
    case Type::kE5m2x2:
      return make(math::E5M2{});
    case Type::kE3m2x2:
      return make(math::E3M2{});
    case Type::kE2m3x2:
      return make(math::E2M3{});
    case Type::kE2m1x2:
      return make(math::E2M1{});
    default:
      return nullptr;
  }
}

template <typename Word, typename Format, bool kRelu>
Word PackMini(float a, float b) {
  return static_cast<Word>(math::CvtPackMini<Format, kRelu>(a, b));
}
template <typename Word, typename Format, bool kRelu, typename Pair>
Word PairToMini(Pair a) {
  return static_cast<Word>(math::CvtPairToMini<Format, kRelu>(a));
}
template <typename Word, typename Format, bool kRelu, typename Pair>
Pair MiniToPair(Word codes) {
  return math::CvtMiniToPair<Format, Pair, kRelu>(codes);
}

template <typename Format>
using MiniWord = std::conditional_t<Format::kBits == 4, uint8_t, uint16_t>;

Handler FindPacked(const Instruction& in) {
  if (in.source_type != Type::kF32) return nullptr;
  if (in.type == Type::kF16x2) return FindPackHalf<math::F16x2>(in);
  if (in.type == Type::kBf16x2) return FindPackHalf<math::BF16x2>(in);
  return ForMini(in.type, [&]<typename Format>(Format) -> Handler {
    using Word = MiniWord<Format>;
    return in.relu ? Map2<Word, float, float, PackMini<Word, Format, true>>
                   : Map2<Word, float, float, PackMini<Word, Format, false>>;
  });
}

template <typename Pair>
Handler FindMiniPair(const Instruction& in, bool to_mini) {
  return ForMini(to_mini ? in.type : in.source_type, [&]<typename Format>(Format) -> Handler {
    using Word = MiniWord<Format>;
    if (to_mini) {
      return in.relu ? Map1<Word, Pair, PairToMini<Word, Format, true, Pair>>
                     : Map1<Word, Pair, PairToMini<Word, Format, false, Pair>>;
    }
    return in.relu ? Map1<Pair, Word, MiniToPair<Word, Format, true, Pair>>
                   : Map1<Pair, Word, MiniToPair<Word, Format, false, Pair>>;
  });
}

template <int kBits, bool kSigned>
uint32_t PackSat2(int32_t a, int32_t b) {
  return math::CvtPackSat<kBits, kSigned>(a, b);
}
template <int kBits, bool kSigned>
uint32_t PackSat3(int32_t a, int32_t b, uint32_t c) {
  return math::CvtPackSat<kBits, kSigned>(a, b, c);
}

template <int kBits, bool kSigned>
Handler PickPackSat(const Instruction& in) {
  return in.c.exists() ? Map3<uint32_t, int32_t, int32_t, uint32_t, PackSat3<kBits, kSigned>>
                       : Map2<uint32_t, int32_t, int32_t, PackSat2<kBits, kSigned>>;
}

Handler FindPackSat(const Instruction& in) {
  switch (in.type) {
    case Type::kS16:
      return PickPackSat<16, true>(in);
    case Type::kU16:
      return PickPackSat<16, false>(in);
    case Type::kS8:
      return PickPackSat<8, true>(in);
    case Type::kU8:
      return PickPackSat<8, false>(in);
    case Type::kS4:
      return PickPackSat<4, true>(in);
    case Type::kU4:
      return PickPackSat<4, false>(in);
    default:
      return nullptr;
  }
}

}  // namespace

Handler FindConvertHandler(const Instruction& in) {
  switch (in.op) {
    case Op::kCvt:
      if (in.type == Type::kTf32) return in.source_type == Type::kF32 ? FindTf32(in) : nullptr;
      if (in.source_type == Type::kF16x2) return FindMiniPair<math::F16x2>(in, true);
      if (in.source_type == Type::kBf16x2) return FindMiniPair<math::BF16x2>(in, true);
      if (in.type == Type::kF16x2) return FindMiniPair<math::F16x2>(in, false);
      if (in.type == Type::kBf16x2) return FindMiniPair<math::BF16x2>(in, false);
      return ForScalar(in.type, [&]<typename To>(To) -> Handler {
        return ForScalar(in.source_type,
                         [&]<typename From>(From) -> Handler { return FromTo<To, From>(in); });
      });
    case Op::kCvtPacked:
      return FindPacked(in);
    case Op::kCvtPack:
      return FindPackSat(in);
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu::KS_MATH_ISA
