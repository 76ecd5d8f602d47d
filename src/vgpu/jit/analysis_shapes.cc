// The shape of every value over the lanes of a warp, which instructions the generator has code for,
// and which f32 values may be raw.

#include <vector>

#include "support/check.h"
#include "vgpu/jit/analysis.h"
#include "vgpu/op_facts.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

namespace {

// One integer, not a pair of them.
bool IsInteger(ptx::Type type) {
  if (type == ptx::Type::kU16x2 || type == ptx::Type::kS16x2) return false;
  const ptx::TypeKind kind = ptx::KindOf(type);
  return kind == ptx::TypeKind::kBits || kind == ptx::TypeKind::kUnsigned ||
         kind == ptx::TypeKind::kSigned;
}

bool IsNearest(const Instruction& in) {
  return in.rounding == ptx::Rounding::kNone || in.rounding == ptx::Rounding::kRn;
}

bool IsPlainHalf(const Instruction& in) {
  return IsNearest(in) && !in.ftz && !in.sat && !in.satfinite && !in.relu && !in.xorsign;
}

bool IsPlainInteger(const Instruction& in) {
  const int bits = ptx::BitsOf(in.type);
  return IsInteger(in.type) && (bits == 16 || bits == 32 || bits == 64) && !in.sat && !in.relu;
}

}  // namespace

Shape Analysis::Normal(int64_t stride) const {
  if (stride == 0 && groups_ == 1) return kUniformShape;
  return {Shape::Kind::kAffine, stride};
}

Shape Analysis::SpecialShape(Operand operand) const {
  const auto which = static_cast<Special>(operand.offset() / (kWarpSize * sizeof(uint32_t)));
  const bool flat = block_.y == 1 && block_.z == 1;
  const bool rows = block_.x % kWarpSize == 0;
  switch (which) {
    case Special::kTidX:
      return flat || rows || groups_ > 1 ? Shape{Shape::Kind::kAffine, 1} : kVaryingShape;
    case Special::kTidY:
    case Special::kTidZ:
      if (flat || rows) return kUniformShape;
      return groups_ > 1 ? Shape{Shape::Kind::kAffine, 0} : kVaryingShape;
    case Special::kLaneid:
      return groups_ == 1 ? Shape{Shape::Kind::kAffine, 1} : kVaryingShape;
    case Special::kLanemaskEq:
    case Special::kLanemaskLe:
    case Special::kLanemaskLt:
    case Special::kLanemaskGe:
    case Special::kLanemaskGt:
      return kVaryingShape;
    default:
      return kUniformShape;
  }
}

Shape Analysis::ShapeOf(uint32_t pc, Operand operand) const {
  if (!operand.exists() || operand.base() == OperandBase::kConstant) return kUniformShape;
  if (operand.base() == OperandBase::kSpecial) return SpecialShape(operand);
  const uint32_t web = ReadWeb(pc, operand);
  return web == ~0u ? kUniformShape : webs_[web].shape;
}

bool Analysis::IsRaw(uint32_t pc, Operand operand) const {
  if (!operand.exists() || operand.base() != OperandBase::kRegister) return false;
  const uint32_t web = ReadWeb(pc, operand);
  return web != ~0u && webs_[web].raw;
}

bool Analysis::IsNativeAccess(const Instruction& in) const {
  if (in.op != Op::kLoad && in.op != Op::kStore && in.op != Op::kMark) return false;
  if (in.space == MemorySpace::kLocal || in.address == AddressBase::kFrame) return false;
  return in.bytes <= 8 && in.register_bytes <= 8 && !in.waits && !in.is_volatile;
}

bool Analysis::IsNativeAtomic(const Instruction& in) {
  if (in.op != Op::kAtom && in.op != Op::kRed) return false;
  return in.bytes <= 8 && in.space != MemorySpace::kLocal && in.address != AddressBase::kFrame;
}

bool Analysis::IsHalf(ptx::Type type) {
  return type == ptx::Type::kF16 || type == ptx::Type::kBf16 || type == ptx::Type::kF16x2 ||
         type == ptx::Type::kBf16x2;
}

bool Analysis::IsNative(const Instruction& in) const {
  if (IsHalf(in.type)) {
    switch (in.op) {
      case Op::kAdd:
      case Op::kSub:
      case Op::kMul:
      case Op::kFma:
      case Op::kMin:
      case Op::kMax:
      case Op::kAbs:
      case Op::kNeg:
        return IsPlainHalf(in);
      case Op::kSetp:
        return IsPlainHalf(in) && ptx::BitsOf(in.type) == 16;
      default:
        break;
    }
  }
  const int bits = ptx::BitsOf(in.type);
  const bool f32 = in.type == ptx::Type::kF32;
  const bool is_float = f32 || in.type == ptx::Type::kF64;
  switch (FactsOf(in.op).jit) {
    case JitCode::kFlow:
    case JitCode::kHandler:
      return false;
    case JitCode::kAlways:
      return true;
    case JitCode::kNumber:
      return is_float ? IsNearest(in) : IsPlainInteger(in);
    case JitCode::kExact:
      return is_float || IsPlainInteger(in);
    case JitCode::kFloat:
      return is_float && IsNearest(in);
    case JitCode::kF32:
      return f32 && IsNearest(in);
    case JitCode::kF32Approx:
      return f32 && in.approx;
    case JitCode::kInt:
      return IsPlainInteger(in);
    case JitCode::kInt32:
      return IsPlainInteger(in) && bits == 32;
    case JitCode::kIntTo32:
      return IsPlainInteger(in) && bits <= 32;
    case JitCode::kTo64:
      return bits <= 64;
    case JitCode::kOnly64:
      return bits == 64;
    case JitCode::kOwn:
      return IsNativeByOwnRule(in);
  }
  KS_UNREACHABLE();
}

bool Analysis::IsNativeByOwnRule(const Instruction& in) const {
  const int bits = ptx::BitsOf(in.type);
  const bool f32 = in.type == ptx::Type::kF32;
  const bool f64 = in.type == ptx::Type::kF64;
  switch (in.op) {
    case Op::kDiv:
      if (f32) return IsNearest(in);
      return !f64 && IsPlainInteger(in) && bits == 32;
    case Op::kBrev:
      return IsPlainInteger(in) && bits >= 32;
    case Op::kPrmt:
      return in.variant == 0 && ConstantIn(in, in.c).has_value();
    case Op::kMin:
    case Op::kMax:
      return f32 ? !in.xorsign : IsPlainInteger(in);
    case Op::kShfl:
      return ConstantIn(in, in.b).has_value() && ConstantIn(in, in.c).has_value();
    case Op::kVote: {
      const auto members = ConstantIn(in, in.e);
      return members && (*members == 0 || *members == -1);
    }
    case Op::kCvt: {
      const bool to_integer = IsInteger(in.type);
      const bool from_integer = IsInteger(in.source_type);
      if (in.sat || in.relu || in.satfinite) return false;
      if (to_integer && from_integer) return true;
      if (from_integer) return (f32 || f64) && IsNearest(in);
      const bool from_f32 = in.source_type == ptx::Type::kF32;
      if (to_integer) return from_f32 && bits == 32;
      if (in.source_type == ptx::Type::kF16 && f32) return in.rounding == ptx::Rounding::kNone;
      if (in.source_type == ptx::Type::kBf16 && f32) {
        return in.rounding == ptx::Rounding::kNone && !in.ftz;
      }
      if (from_f32 && (in.type == ptx::Type::kF16 || in.type == ptx::Type::kBf16)) {
        return IsNearest(in);
      }
      if (from_f32 && f64) return in.rounding == ptx::Rounding::kNone;
      if (in.source_type == ptx::Type::kF64 && f32) return IsNearest(in);
      return false;
    }
    case Op::kCvtPacked:
      return IsHalf(in.type) && IsPlainHalf(in);
    case Op::kMma:
    case Op::kWmmaMma:
    case Op::kWgmma:
    case Op::kMovmatrix:
      return true;
    case Op::kLdmatrix:
    case Op::kStmatrix:
    case Op::kWmmaLoad:
    case Op::kWmmaStore:
      return in.space != MemorySpace::kLocal && in.address != AddressBase::kFrame;
    default:
      return IsNativeAccess(in);
  }
}

Shape Analysis::AddressShape(uint32_t pc, const Instruction& in) const {
  switch (in.address) {
    case AddressBase::kAbsolute:
    case AddressBase::kParameters:
      return kUniformShape;
    case AddressBase::kFrame:
      return kVaryingShape;
    default:
      return ShapeOf(pc, in.a);
  }
}

Shape Analysis::Transfer(uint32_t pc, const Instruction& in) const {
  if (!IsNative(in) || IsMatrix(in.op) || in.op == Op::kWgmma) return kVaryingShape;
  const Shape a = ShapeOf(pc, in.a);
  const Shape b = ShapeOf(pc, in.b);
  const Shape c = ShapeOf(pc, in.c);
  const auto unknown = [](Shape s) { return s.kind == Shape::Kind::kUnknown; };
  if (in.op == Op::kVote || in.op == Op::kActivemask) return kUniformShape;
  if (in.op == Op::kShfl) return kVaryingShape;
  if (in.op == Op::kLoad) {
    const Shape address = AddressShape(pc, in);
    if (unknown(address)) return {};
    if (address.uniform()) return kUniformShape;
    return address.group_uniform() ? address : kVaryingShape;
  }
  bool all_uniform = true;
  bool all_group_uniform = true;
  const auto look = [&](Operand operand) {
    if (!operand.exists()) return true;
    const Shape shape = ShapeOf(pc, operand);
    if (unknown(shape)) return false;
    all_uniform = all_uniform && shape.uniform();
    all_group_uniform = all_group_uniform && shape.group_uniform();
    return true;
  };
  bool known = true;
  for (const Operand operand : {in.a, in.b, in.c, in.e}) known = look(operand) && known;
  if (in.op == Op::kPack) {
    for (uint32_t i = 0; i < in.list_count; ++i) {
      known = look(function_.list[in.list_first + i]) && known;
    }
  }
  if (!known) return {};
  if (all_uniform) return kUniformShape;
  const bool predicate = in.d.exists() && in.d.is_predicate();
  if (all_group_uniform && !predicate && in.op != Op::kUnpack && in.op != Op::kPack) {
    return {Shape::Kind::kAffine, 0};
  }
  // What is left has an operand with a stride or one that varies.
  const int bits = ptx::BitsOf(in.type);
  const bool integer = IsInteger(in.type) && bits >= 32;
  if (!integer) return kVaryingShape;
  const auto stride = [](Shape s) { return s.affine() ? s.stride : 0; };
  const auto scaled = [&](Shape s, Operand factor) -> std::optional<int64_t> {
    if (s.varying()) return std::nullopt;
    if (s.group_uniform()) return 0;
    const auto constant = ConstantIn(in, factor);
    // Far from where the arithmetic below could overflow.
    if (!constant || *constant > (1 << 24) || *constant < -(1 << 24)) return std::nullopt;
    return s.stride * *constant;
  };
  const auto product = [&]() -> std::optional<int64_t> {
    if (a.varying() || b.varying()) return std::nullopt;
    if (a.group_uniform()) return scaled(b, in.a);
    return scaled(a, in.b);
  };
  const auto result = [&](std::optional<int64_t> s) {
    if (!s || *s > (int64_t{1} << 30) || *s < -(int64_t{1} << 30)) return kVaryingShape;
    return Normal(*s);
  };
  switch (in.op) {
    case Op::kMov:
      return a;
    case Op::kCvta:
    case Op::kCvtaTo:
      return a;
    case Op::kAdd:
      if (a.varying() || b.varying()) return kVaryingShape;
      return result(stride(a) + stride(b));
    case Op::kSub:
      if (a.varying() || b.varying()) return kVaryingShape;
      return result(stride(a) - stride(b));
    case Op::kMulLo:
    case Op::kMulWide:
      return result(product());
    case Op::kMadLo:
    case Op::kMadWide: {
      const auto s = product();
      if (!s || c.varying()) return kVaryingShape;
      return result(*s + stride(c));
    }
    case Op::kShl: {
      const auto constant = ConstantIn(in, in.b);
      if (a.varying() || !constant || *constant < 0 || *constant > 24) return kVaryingShape;
      return result(stride(a) * (int64_t{1} << *constant));
    }
    case Op::kSelp: {
      const bool alike = a == b && !a.varying();
      return alike && c.uniform() ? a : kVaryingShape;
    }
    case Op::kResize:
      // Extension by zeros or sign; narrowing keeps the stride.
      if (a.varying() || in.a.bytes() < 4) return kVaryingShape;
      return result(stride(a));
    case Op::kCvt: {
      const int from = ptx::BitsOf(in.source_type);
      if (!IsInteger(in.source_type) || from < 32 || a.varying()) return kVaryingShape;
      return result(stride(a));
    }
    default:
      return kVaryingShape;
  }
}

bool Analysis::LeavesRaw(const Instruction& in) const {
  // The code for these two makes the one NaN itself.
  if (in.op == Op::kEx2 || in.op == Op::kLg2) return false;
  return MakesOneNan(in.op) && in.type == ptx::Type::kF32 && !in.sat && IsNative(in);
}

// A web may be raw if each of its NaNs is the result of arithmetic, which has one pattern for them:
// a NaN that was loaded keeps its bits until arithmetic sees it.
void Analysis::FindRaw() {
  const auto computes = [](const Instruction& in) {
    if (in.type != ptx::Type::kF32) return false;
    return MakesOneNan(in.op) || (in.op == Op::kCvt && in.source_type != ptx::Type::kF32);
  };
  const auto moves = [](const Instruction& in) { return in.op == Op::kMov || in.op == Op::kSelp; };
  const auto source_raw = [&](uint32_t pc, Operand operand, bool constants) {
    if (!operand.exists()) return constants;
    if (operand.base() == OperandBase::kRegister) return IsRaw(pc, operand);
    const auto value = ConstantOf(operand);
    return constants && value && (static_cast<uint64_t>(*value) & 0x7fffffff) <= 0x7f800000;
  };
  // Those that may be raw ...
  for (Web& web : webs_) web.raw = web.width == LaneWidth::k4;
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t pc = 0; pc < function_.code.size(); ++pc) {
      const Instruction& in = function_.code[pc];
      bool fits = computes(in);
      if (moves(in)) {
        fits = source_raw(pc, in.a, true) && (in.op == Op::kMov || source_raw(pc, in.b, true));
      }
      if (fits) continue;
      for (const Touched& t : touched_[pc]) {
        if (t.write == ~0u || !webs_[t.write].raw) continue;
        webs_[t.write].raw = false;
        changed = true;
      }
    }
  }
  // ... and of these those that have any use of it.
  std::vector<bool> may(webs_.size());
  for (size_t i = 0; i < webs_.size(); ++i) {
    may[i] = webs_[i].raw;
    webs_[i].raw = false;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t pc = 0; pc < function_.code.size(); ++pc) {
      const Instruction& in = function_.code[pc];
      const bool raw =
          LeavesRaw(in) || (moves(in) && (source_raw(pc, in.a, false) ||
                                          (in.op == Op::kSelp && source_raw(pc, in.b, false))));
      if (!raw) continue;
      for (const Touched& t : touched_[pc]) {
        if (t.write == ~0u || !may[t.write] || webs_[t.write].raw) continue;
        webs_[t.write].raw = true;
        changed = true;
      }
    }
  }
}

void Analysis::FindShapes() {
  for (Web& web : webs_) {
    if (web.zero_first) web.shape = kUniformShape;
  }
  const auto merge = [&](Web& web, Shape shape) {
    if (shape.kind == Shape::Kind::kUnknown || web.shape == shape || web.shape.varying()) {
      return false;
    }
    if (web.shape.kind == Shape::Kind::kUnknown) {
      web.shape = shape;
      return true;
    }
    const bool groups = web.shape.group_uniform() && shape.group_uniform();
    const Shape joined = groups ? Shape{Shape::Kind::kAffine, 0} : kVaryingShape;
    if (joined == web.shape) return false;
    web.shape = joined;
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t pc = 0; pc < function_.code.size(); ++pc) {
      const Instruction& in = function_.code[pc];
      Shape shape = Transfer(pc, in);
      if (Guarded(in) && shape.kind != Shape::Kind::kUnknown) {
        const Shape guard = ShapeOf(pc, in.guard);
        if (guard.kind == Shape::Kind::kUnknown) {
          shape = {};
        } else if (!guard.uniform()) {
          shape = kVaryingShape;
        }
      }
      for (const Touched& t : touched_[pc]) {
        if (t.write == ~0u) continue;
        Web& web = webs_[t.write];
        // Predicates and narrow registers know only the two ends.
        Shape own = shape;
        if (web.width == LaneWidth::kPredicate && !own.uniform() &&
            own.kind != Shape::Kind::kUnknown) {
          own = kVaryingShape;
        }
        changed |= merge(web, own);
      }
    }
  }
  for (Web& web : webs_) {
    if (web.shape.kind == Shape::Kind::kUnknown) web.shape = kVaryingShape;
  }
}

}  // namespace kernelsmith::vgpu::jit
