// 32-bit index arithmetic that wraps and then becomes part of an address: an error if the access is
// bad, a warning if it happens to hit something. Hashes and remainders of what wraps on purpose
// (and, shr, rem ...) are no index any more (vgpu/index_slice.cc).
#include <fmt/format.h>

#include <bit>
#include <map>
#include <unordered_map>

#include "checkers/suite.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::checkers {

using vgpu::Instruction;
using vgpu::Op;
using vgpu::Operand;
using vgpu::WarpView;

namespace {

using Exact = __int128;

Exact Result(Op op, Exact a, Exact b, Exact c) {
  switch (op) {
    case Op::kAdd:
      return a + b;
    case Op::kSub:
      return a - b;
    case Op::kMulLo:
      return a * b;
    case Op::kMadLo:
      return a * b + c;
    case Op::kShl:
      return b >= 64 ? Exact{0} : a * (Exact{1} << static_cast<int>(b));
    default:
      return 0;
  }
}

Exact Number(uint32_t bits, bool sign) {
  return sign ? Exact{static_cast<int32_t>(bits)} : Exact{bits};
}

// Whether d = op(a, b, c) of 32-bit integers is not what it would be without a limit: read as
// signed numbers, or as unsigned ones (then an operand may also be a negative number).
struct Wrapped {
  bool as_signed = false;
  bool as_unsigned = false;
};

Wrapped Wraps(Op op, uint32_t a, uint32_t b, uint32_t c) {
  const bool shift = op == Op::kShl;
  const auto number_b = [&](bool sign) { return Number(b, sign && !shift); };
  const Exact as_signed = Result(op, Number(a, true), number_b(true), Number(c, true));
  Wrapped wrapped;
  constexpr Exact kHalf = Exact{1} << 31;
  wrapped.as_signed = as_signed < -kHalf || as_signed >= kHalf;
  wrapped.as_unsigned = true;
  for (int signs = 0; signs < 8 && wrapped.as_unsigned; ++signs) {
    const Exact value = Result(op, Number(a, (signs & 1) != 0), number_b((signs & 2) != 0),
                               Number(c, (signs & 4) != 0));
    if (value >= 0 && value < 2 * kHalf) wrapped.as_unsigned = false;
  }
  // A negative number in between is no harm: what is added later may make up for it.
  if (!wrapped.as_signed) wrapped.as_unsigned = false;
  return wrapped;
}

struct Mark {
  uint32_t as_signed = 0;  // lanes
  uint32_t as_unsigned = 0;
  std::shared_ptr<const Place> origin;
  std::string what;
};

class IndexOverflowChecker final : public Checker {
 public:
  explicit IndexOverflowChecker(FindingSink& sink) : Checker(sink) {}

  uint32_t interests() const override {
    return vgpu::interest::kIndexArithmetic | vgpu::interest::kAccesses |
           vgpu::interest::kBadAccesses;
  }
  std::optional<vgpu::ScreenChecks> ScreenedChecks() const override {
    return vgpu::ScreenChecks{.bad_accesses = true, .index = true};
  }

  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override {
    kernels_[launch.id] = launch.kernel;
  }
  void OnLaunchEnd(const vgpu::Fault*) override { marks_.clear(); }

  void OnIndexArithmetic(WarpView& warp, const Instruction& in, uint32_t mask) override {
    const bool word = in.d.bytes() == 4;
    uint32_t as_signed = 0;
    uint32_t as_unsigned = 0;
    if (word && MayWrapIndex(in.op) && ptx::KindOf(in.type) != ptx::TypeKind::kFloat) {
      FindWraps(warp, in, mask, &as_signed, &as_unsigned);
    }
    if (marks_.empty() && (as_signed | as_unsigned) == 0) return;
    Carry(warp, in, mask, as_signed, as_unsigned);
  }

  bool OnMemoryAccess(WarpView& warp, const vgpu::MemoryAccess& access) override {
    if (!marks_.empty()) Report(warp, access, access.mask, Severity::kWarning);
    return true;
  }

  bool OnBadAccess(WarpView& warp, const vgpu::MemoryAccess& access, uint32_t bad,
                   vgpu::BadAccess) override {
    if (!marks_.empty()) Report(warp, access, bad, Severity::kError);
    return false;
  }

 private:
  using Key = std::pair<uint64_t, uint32_t>;  // frame and launch, register

  static uint64_t FrameOf(const WarpView& warp) { return warp.launch_id() << 40 ^ warp.frame_id(); }

  static void FindWraps(WarpView& warp, const Instruction& in, uint32_t mask, uint32_t* as_signed,
                        uint32_t* as_unsigned) {
    const auto* d = static_cast<const uint32_t*>(warp.Lanes(in.d));
    const auto* a = static_cast<const uint32_t*>(warp.Lanes(in.a));
    const auto* b = static_cast<const uint32_t*>(warp.Lanes(in.b));
    const auto* c = in.c.exists() ? static_cast<const uint32_t*>(warp.Lanes(in.c)) : nullptr;
    // Sources that the result has overwritten are known only of a sum.
    const bool lost_a = in.a == in.d;
    if (in.b == in.d || (c != nullptr && in.c == in.d) || (lost_a && in.op != Op::kAdd)) return;
    for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const Wrapped wrapped =
          Wraps(in.op, lost_a ? d[lane] - b[lane] : a[lane], b[lane], c != nullptr ? c[lane] : 0);
      *as_signed |= static_cast<uint32_t>(wrapped.as_signed) << lane;
      *as_unsigned |= static_cast<uint32_t>(wrapped.as_unsigned) << lane;
    }
  }

  const Mark* Find(WarpView& warp, Operand operand) const {
    if (!operand.exists() || operand.base() != vgpu::OperandBase::kRegister) return nullptr;
    const auto it = marks_.find({FrameOf(warp), operand.offset()});
    return it == marks_.end() ? nullptr : &it->second;
  }

  void Carry(WarpView& warp, const Instruction& in, uint32_t mask, uint32_t as_signed,
             uint32_t as_unsigned) {
    Mark result;
    for (const Operand source : {in.a, in.b, in.c}) {
      const Mark* mark = CarriesIndex(in.op) ? Find(warp, source) : nullptr;
      if (mark == nullptr) continue;
      // Made wider, the number is read with its sign or without.
      uint32_t lanes_signed = mark->as_signed;
      uint32_t lanes_unsigned = mark->as_unsigned;
      if (source.bytes() == 4 && in.d.bytes() == 8) {
        const ptx::Type type = in.op == Op::kCvt ? in.source_type : in.type;
        const bool sign = in.op == Op::kResize ? in.variant != 0 : ptx::IsSigned(type);
        lanes_signed = lanes_unsigned = sign ? lanes_signed : lanes_unsigned;
      }
      result.as_signed |= lanes_signed;
      result.as_unsigned |= lanes_unsigned;
      result.origin = mark->origin;
      result.what = mark->what;
    }
    if (((as_signed | as_unsigned) & mask) != 0) {
      const int lane = std::countr_zero(as_signed | as_unsigned);
      auto& origin = origins_[{&in, warp.launch_id()}];
      if (origin == nullptr) {
        origin = std::make_shared<Place>(PlaceOf(kernels_[warp.launch_id()], warp, in, lane));
      }
      result.origin = origin;
      result.what = fmt::format("the 32-bit result {} wrapped",
                                static_cast<int32_t>(warp.ReadOperand(in.d, lane)));
      result.as_signed |= as_signed;
      result.as_unsigned |= as_unsigned;
    }
    const Key key{FrameOf(warp), in.d.offset()};
    result.as_signed &= mask;
    result.as_unsigned &= mask;
    const auto old = marks_.find(key);
    if (old != marks_.end()) {
      result.as_signed |= old->second.as_signed & ~mask;
      result.as_unsigned |= old->second.as_unsigned & ~mask;
      if (result.origin == nullptr) {
        result.origin = old->second.origin;
        result.what = old->second.what;
      }
    }
    if ((result.as_signed | result.as_unsigned) == 0) {
      if (old != marks_.end()) marks_.erase(old);
      return;
    }
    marks_[key] = std::move(result);
  }

  void Report(WarpView& warp, const vgpu::MemoryAccess& access, uint32_t lanes, Severity severity) {
    const Instruction& in = *access.instruction;
    const bool in_b = vgpu::FactsOf(in.op).address == vgpu::AddressOperand::kB;
    const Operand base = in_b ? in.b : in.a;
    const Mark* mark = Find(warp, base);
    if (mark == nullptr || base.bytes() != 8) return;
    const uint32_t hit = (mark->as_signed | mark->as_unsigned) & lanes;
    if (hit == 0) return;
    const int lane = std::countr_zero(hit);
    const char* end = severity == Severity::kError ? "is part of the address of a bad access"
                                                   : "is part of an address";
    sink().Add({.kind = FindingKind::kIndexOverflow,
                .severity = severity,
                .space = Space::kGlobal,
                .place = *mark->origin,
                .message = fmt::format("{} and {}", mark->what, end),
                .address = access.address[static_cast<size_t>(lane)],
                .count = static_cast<uint64_t>(std::popcount(hit)),
                .other = PlaceOf(kernels_[warp.launch_id()], warp, in, lane),
                .other_message = "used here"});
  }

  std::map<Key, Mark> marks_;
  std::map<std::pair<const Instruction*, uint64_t>, std::shared_ptr<const Place>> origins_;
  std::map<uint64_t, std::string> kernels_;
};

}  // namespace

std::unique_ptr<Checker> MakeIndexOverflowChecker(FindingSink& sink, vgpu::VirtualGpu&) {
  return std::make_unique<IndexOverflowChecker>(sink);
}

}  // namespace kernelsmith::checkers
