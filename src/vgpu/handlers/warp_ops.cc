// Instructions across the lanes of a warp. The scheduler has brought the lanes together: `mask` is
// those that take part.

#include <algorithm>

#include "vgpu/handlers/handlers.h"
#include "vgpu/handlers/lanes.h"
#include "vgpu/math/compare.h"
#include "vgpu/math/integer.h"

namespace kernelsmith::vgpu {

namespace {

using namespace KS_MATH_ISA;  // NOLINT: the lane helpers of this build
using ptx::Type;

// Semantics as in the ISA's pseudocode: c holds the clamp value and the segment mask.
template <ShuffleMode kMode>
void Shfl(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t* a = w.Lanes<uint32_t>(in.a);
  const uint32_t* b = w.Lanes<uint32_t>(in.b);
  const uint32_t* c = w.Lanes<uint32_t>(in.c);
  LaneArray<uint32_t> r;
  uint32_t in_range = 0;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const int bval = static_cast<int>(b[lane] & 0x1f);
    const int cval = static_cast<int>(c[lane] & 0x1f);
    const int segment = static_cast<int>(c[lane] >> 8 & 0x1f);
    const int max_lane = (lane & segment) | (cval & ~segment);
    const int min_lane = lane & segment;
    int j = 0;
    bool p = false;
    switch (kMode) {
      case ShuffleMode::kUp:
        j = lane - bval;
        p = j >= max_lane;
        break;
      case ShuffleMode::kDown:
        j = lane + bval;
        p = j <= max_lane;
        break;
      case ShuffleMode::kBfly:
        j = lane ^ bval;
        p = j <= max_lane;
        break;
      case ShuffleMode::kIdx:
        j = min_lane | (bval & ~segment);
        p = j <= max_lane;
        break;
    }
    if (!p) j = lane;
    // A source that does not take part gives an undefined value: here the lane's own.
    if ((mask >> j & 1) == 0) j = lane;
    r.at[lane] = a[j];
    in_range |= static_cast<uint32_t>(p) << lane;
  }
  Commit(w.Lanes<uint32_t>(in.d), r, mask);
  if (in.d2.exists()) CommitPredicate(w.Predicate(in.d2), in_range, mask);
}

// The lanes a lane speaks with: its member mask, as far as present; all that are here for the forms
// without one.
uint32_t MembersOf(const Warp& w, const Instruction& in, uint32_t mask, int lane) {
  const uint32_t members = w.Lanes<uint32_t>(in.e)[lane];
  return members == 0 ? mask : members & mask;
}

void Vote(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t values = w.Predicate(in.c) ^ (in.negate_c ? kFullMask : 0u);
  const auto mode = static_cast<VoteMode>(in.variant);
  LaneArray<uint32_t> ballot{};
  uint32_t bits = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint32_t members = MembersOf(w, in, mask, lane);
    const uint32_t set = values & members;
    ballot.at[lane] = set;
    const bool result = mode == VoteMode::kAll   ? set == members
                        : mode == VoteMode::kAny ? set != 0
                                                 : set == members || set == 0;
    bits |= static_cast<uint32_t>(result) << lane;
  }
  if (mode == VoteMode::kBallot) {
    Commit(w.Lanes<uint32_t>(in.d), ballot, mask);
  } else {
    CommitPredicate(w.Predicate(in.d), bits, mask);
  }
}

template <typename T, bool kAll>
void Match(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  LaneArray<uint32_t> r{};
  uint32_t all_equal = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint32_t members = MembersOf(w, in, mask, lane);
    uint32_t equal = 0;
    for (uint32_t others = members; others != 0; others &= others - 1) {
      const int other = std::countr_zero(others);
      if (a[other] == a[lane]) equal |= 1u << other;
    }
    if constexpr (kAll) {
      r.at[lane] = equal == members ? members : 0;
      if (equal == members) all_equal |= 1u << lane;
    } else {
      r.at[lane] = equal;
    }
  }
  Commit(w.Lanes<uint32_t>(in.d), r, mask);
  if (in.d2.exists()) CommitPredicate(w.Predicate(in.d2), all_equal, mask);
}

void Activemask(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint32_t> r;
  for (int i = 0; i < kWarpSize; ++i) r.at[i] = mask;
  Commit(w.Lanes<uint32_t>(in.d), r, mask);
}

template <typename T>
T Combine(ReduxOp op, T x, T y, bool nan) {
  if constexpr (std::is_same_v<T, float>) {
    if (op == ReduxOp::kMin) return nan ? math::Min<false, true>(x, y) : math::Min(x, y);
    return nan ? math::Max<false, true>(x, y) : math::Max(x, y);
  } else {
    switch (op) {
      case ReduxOp::kAdd:
        return math::AddInt(x, y);
      case ReduxOp::kMin:
        return std::min(x, y);
      case ReduxOp::kMax:
        return std::max(x, y);
      case ReduxOp::kAnd:
        return x & y;
      case ReduxOp::kOr:
        return x | y;
      case ReduxOp::kXor:
        return x ^ y;
    }
    return x;
  }
}

template <typename T>
void Redux(Warp& w, const Instruction& in, uint32_t mask) {
  const T* a = w.Lanes<T>(in.a);
  const auto op = static_cast<ReduxOp>(in.variant);
  const auto value = [&](int lane) {
    if constexpr (std::is_same_v<T, float>) {
      return in.xorsign ? math::Abs(a[lane]) : a[lane];  // .abs
    } else {
      return a[lane];
    }
  };
  LaneArray<T> r{};
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint32_t members = MembersOf(w, in, mask, lane);
    T sum = value(std::countr_zero(members));
    for (uint32_t others = members & (members - 1); others != 0; others &= others - 1) {
      sum = Combine(op, sum, value(std::countr_zero(others)), in.nan);
    }
    r.at[lane] = sum;
  }
  Commit(w.Lanes<T>(in.d), r, mask);
}

// The lowest lane is elected: PTX says only that the choice is always the same.
void Elect(Warp& w, const Instruction& in, uint32_t mask) {
  LaneArray<uint32_t> r{};
  uint32_t elected = 0;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint32_t members = MembersOf(w, in, mask, lane);
    const int leader = std::countr_zero(members);
    r.at[lane] = static_cast<uint32_t>(leader);
    elected |= static_cast<uint32_t>(leader == lane) << lane;
  }
  Commit(w.Lanes<uint32_t>(in.d), r, mask);
  CommitPredicate(w.Predicate(in.d2), elected, mask);
}

void Nothing(Warp&, const Instruction&, uint32_t) {}

}  // namespace

Handler FindWarpHandler(const Instruction& in) {
  const bool wide = ptx::BitsOf(in.type) == 64;
  switch (in.op) {
    case Op::kShfl:
      switch (static_cast<ShuffleMode>(in.variant)) {
        case ShuffleMode::kUp:
          return Shfl<ShuffleMode::kUp>;
        case ShuffleMode::kDown:
          return Shfl<ShuffleMode::kDown>;
        case ShuffleMode::kBfly:
          return Shfl<ShuffleMode::kBfly>;
        case ShuffleMode::kIdx:
          return Shfl<ShuffleMode::kIdx>;
      }
      return nullptr;
    case Op::kVote:
      return Vote;
    case Op::kMatchAny:
      return wide ? Match<uint64_t, false> : Match<uint32_t, false>;
    case Op::kMatchAll:
      return wide ? Match<uint64_t, true> : Match<uint32_t, true>;
    case Op::kActivemask:
      return Activemask;
    case Op::kRedux:
      if (in.type == Type::kF32) return Redux<float>;
      return in.type == Type::kS32 ? Redux<int32_t> : Redux<uint32_t>;
    case Op::kElect:
      return Elect;
    case Op::kBarWarpSync:
      return Nothing;
    default:
      return nullptr;
  }
}

}  // namespace kernelsmith::vgpu
