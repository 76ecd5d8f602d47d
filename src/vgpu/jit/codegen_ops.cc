// What is common to all arithmetic, conversions, comparisons, and what moves values between lanes.

#include <llvm/IR/Intrinsics.h>

#include <bit>

#include "vgpu/jit/codegen.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

using llvm::ArrayRef;
using llvm::Intrinsic::ID;
using ptx::IsFloat;
using ptx::IsSigned;
namespace Intrinsic = llvm::Intrinsic;

llvm::Value* CodeGenerator::AsFloat(llvm::Value* x) {
  llvm::Type* element = x->getType()->getScalarType();
  if (element->isFloatingPointTy()) return x;
  llvm::Type* to = element->getIntegerBitWidth() == 64   ? builder_.getDoubleTy()
                   : element->getIntegerBitWidth() == 16 ? builder_.getHalfTy()
                                                         : builder_.getFloatTy();
  return builder_.CreateBitCast(x, Like(x, to));
}

llvm::Value* CodeGenerator::AsInt(llvm::Value* x) {
  llvm::Type* element = x->getType()->getScalarType();
  if (!element->isFloatingPointTy()) return x;
  return builder_.CreateBitCast(
      x, Like(x, builder_.getIntNTy(static_cast<unsigned>(element->getPrimitiveSizeInBits()))));
}

llvm::Value* CodeGenerator::Const(llvm::Value* like, uint64_t bits) {
  return llvm::ConstantInt::get(like->getType(), bits);
}

llvm::Value* CodeGenerator::FloatConst(llvm::Value* like, double value) {
  return llvm::ConstantFP::get(like->getType(), value);
}

llvm::Value* CodeGenerator::IsNan(llvm::Value* x) { return builder_.CreateFCmpUNO(x, x); }

// For f32, given and returned as float: a subnormal becomes a zero of the same sign.
llvm::Value* CodeGenerator::Flush(llvm::Value* x) {
  llvm::Value* bits = AsInt(x);
  llvm::Value* tiny =
      builder_.CreateICmpEQ(builder_.CreateAnd(bits, Const(bits, 0x7f800000)), Const(bits, 0));
  return AsFloat(
      builder_.CreateSelect(tiny, builder_.CreateAnd(bits, Const(bits, 0x80000000)), bits));
}

Value CodeGenerator::Apply(ArrayRef<Value> operands, const Elementwise& function) {
  const Shape shape = analysis_.Transfer(pc_, *in_);
  Value result{shape, {}};
  const int parts = shape.affine() ? groups_ : 1;
  for (int g = 0; g < parts; ++g) {
    llvm::SmallVector<llvm::Value*, 4> x;
    for (const Value& operand : operands) {
      x.push_back(shape.varying() ? Expand(operand) : Group(operand, g));
    }
    result.part.push_back(AsInt(function(x)));
  }
  return result;
}

// Extending base + stride * lane is the same as extending each lane only if no lane wraps.
void CodeGenerator::CheckExtension(const Value& value, bool is_signed) {
  if (!value.shape.affine() || value.shape.stride == 0) return;
  const int64_t most = value.shape.stride * (static_cast<int64_t>(group_lanes_) - 1);
  llvm::Value* wraps = builder_.getFalse();
  for (llvm::Value* base : value.part) {
    llvm::Value* end = builder_.CreateAdd(base, Const(base, static_cast<uint64_t>(most)));
    // The last lane must lie on the side of the first where its stride leads.
    llvm::Value* wrong = nullptr;
    if (most > 0) {
      wrong = is_signed ? builder_.CreateICmpSLT(end, base) : builder_.CreateICmpULT(end, base);
    } else {
      wrong = is_signed ? builder_.CreateICmpSGT(end, base) : builder_.CreateICmpUGT(end, base);
    }
    wraps = builder_.CreateOr(wraps, wrong);
  }
  llvm::BasicBlock* fine = NewBlock("fine");
  Cold(wraps, LeaveBlock(), fine);
  builder_.SetInsertPoint(fine);
}

void CodeGenerator::EmitNative() {
  const Instruction& in = *in_;
  EmitIndexScreen();
  switch (in.op) {
    case Op::kNop:
    case Op::kBarWarpSync:
      return;
    case Op::kSetp:
      return EmitSetp();
    case Op::kPack:
      return EmitPack();
    case Op::kUnpack:
      return EmitUnpack();
    case Op::kShfl:
      return EmitShuffle();
    case Op::kVote:
      return EmitVote();
    case Op::kActivemask:
      return Write(in.d, {kUniformShape, {builder_.getInt32(kFullMask)}});
    case Op::kMma:
    case Op::kWmmaMma:
      return EmitMma();
    case Op::kWgmma:
      return EmitWgmma();
    case Op::kLdmatrix:
    case Op::kStmatrix:
    case Op::kWmmaLoad:
    case Op::kWmmaStore:
      return EmitMatrixAccess();
    case Op::kMovmatrix:
      return EmitMovmatrix();
    case Op::kParameterAddress: {
      llvm::Value* base = BlockField(offsetof(BlockContext, parameters), builder_.getInt64Ty());
      return Write(
          in.d, {kUniformShape,
                 {builder_.CreateAdd(base, builder_.getInt64(static_cast<uint64_t>(in.offset)))}});
    }
    default:
      break;
  }
  const bool f32 = in.type == ptx::Type::kF32 && in.op != Op::kCvt;
  const bool moves = in.op == Op::kMov || in.op == Op::kSelp;
  // f64 keeps a NaN's payload, so it needs the bits.
  const bool from_f32 =
      in.op == Op::kCvtPacked ||
      (in.op == Op::kCvt && in.source_type == ptx::Type::kF32 && in.type != ptx::Type::kF64);
  const uint32_t web =
      in.d.exists() && in.d.base() == OperandBase::kRegister ? analysis_.WriteWeb(pc_, in.d) : ~0u;
  const bool raw = web != ~0u && analysis_.webs()[web].raw;
  const bool as_float = moves ? raw : f32 || from_f32;
  llvm::SmallVector<Value, 4> operands;
  for (const Operand operand : {in.a, in.b, in.c, in.e}) {
    if (!operand.exists()) break;
    operands.push_back(Read(operand, as_float));
  }
  // Where an operand becomes wider, its lanes must not wrap.
  const bool affine = analysis_.Transfer(pc_, in).affine();
  if (affine) {
    if (in.op == Op::kMulWide || in.op == Op::kMadWide) {
      CheckExtension(operands[0], IsSigned(in.type));
      CheckExtension(operands[1], IsSigned(in.type));
    } else if (in.op == Op::kCvt && ptx::BitsOf(in.type) > ptx::BitsOf(in.source_type)) {
      CheckExtension(operands[0], IsSigned(in.source_type));
    } else if (in.op == Op::kResize && in.d.bytes() > in.a.bytes()) {
      CheckExtension(operands[0], in.variant != 0);
    }
  }
  Value result = Apply(operands, [&](ArrayRef<llvm::Value*> x) { return Arithmetic(x); });
  if (!raw && analysis_.LeavesRaw(in)) result = Canonical(std::move(result));
  Write(in.d, std::move(result));
}

llvm::Value* CodeGenerator::Arithmetic(ArrayRef<llvm::Value*> x) {
  const Instruction& in = *in_;
  switch (in.op) {
    case Op::kMov:
    case Op::kPredMov:
      return x[0];
    case Op::kResize: {
      llvm::Type* to = Like(x[0], ElementOf(in.d.width()));
      return in.variant != 0 ? builder_.CreateSExtOrTrunc(x[0], to)
                             : builder_.CreateZExtOrTrunc(x[0], to);
    }
    case Op::kSelp:
    case Op::kPredSelp: {
      llvm::Value* condition = in.negate_c ? builder_.CreateNot(x[2]) : x[2];
      return Choose(condition, x[0], x[1]);
    }
    case Op::kCvta:
    case Op::kCvtaTo: {
      const size_t field = in.space == MemorySpace::kShared ? offsetof(BlockContext, shared_window)
                                                            : offsetof(BlockContext, local_window);
      llvm::Value* window = BlockField(field, builder_.getInt64Ty());
      if (x[0]->getType()->isVectorTy()) window = Splat(window);
      return in.op == Op::kCvtaTo ? builder_.CreateSub(x[0], window)
                                  : builder_.CreateAdd(x[0], window);
    }
    case Op::kCvt:
      return Convert(x[0]);
    case Op::kCvtPacked:
      return PackHalves(x);
    default:
      break;
  }
  if (Analysis::IsHalf(in.type)) return HalfArithmetic(x);
  if (in.type == ptx::Type::kF32) return Float32(x);
  if (in.type == ptx::Type::kF64) return Float64(x);
  return Integer(x);
}

llvm::Value* CodeGenerator::Convert(llvm::Value* x) {
  const Instruction& in = *in_;
  const auto to_bits = static_cast<unsigned>(ptx::BitsOf(in.type));
  if (!IsFloat(in.type) && !IsFloat(in.source_type)) {
    llvm::Type* to = Like(x, builder_.getIntNTy(to_bits));
    return IsSigned(in.source_type) ? builder_.CreateSExtOrTrunc(x, to)
                                    : builder_.CreateZExtOrTrunc(x, to);
  }
  const bool to_f32 = in.type == ptx::Type::kF32;
  llvm::Type* f32 = Like(x, builder_.getFloatTy());
  llvm::Type* f64 = Like(x, builder_.getDoubleTy());
  if (!IsFloat(in.source_type)) {
    llvm::Type* to = to_f32 ? f32 : f64;
    return IsSigned(in.source_type) ? builder_.CreateSIToFP(x, to) : builder_.CreateUIToFP(x, to);
  }
  if (in.source_type == ptx::Type::kBf16) {
    llvm::Value* wide = WidenHalf(x, true);
    llvm::Value* bits = AsInt(wide);
    return builder_.CreateSelect(IsNan(wide), Const(bits, 0x7fffffff), bits);
  }
  llvm::Value* f = AsFloat(x);
  if (in.type == ptx::Type::kBf16) return NarrowHalf(in.ftz ? Flush(f) : f, true);
  if (!IsFloat(in.type)) {
    if (in.ftz) f = Flush(f);
    ID round = Intrinsic::roundeven;
    if (in.rounding == ptx::Rounding::kRzi || in.rounding == ptx::Rounding::kRz) {
      round = Intrinsic::trunc;
    } else if (in.rounding == ptx::Rounding::kRmi || in.rounding == ptx::Rounding::kRm) {
      round = Intrinsic::floor;
    } else if (in.rounding == ptx::Rounding::kRpi || in.rounding == ptx::Rounding::kRp) {
      round = Intrinsic::ceil;
    }
    f = builder_.CreateIntrinsic(round, {f->getType()}, {f});
    const ID id = IsSigned(in.type) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat;
    llvm::Type* to = Like(x, builder_.getIntNTy(to_bits));
    return builder_.CreateIntrinsic(id, {to, f->getType()}, {f});
  }
  const auto canonical = [&](llvm::Value* result, llvm::Value* nan_of, uint64_t nan) {
    llvm::Value* bits = AsInt(result);
    return builder_.CreateSelect(IsNan(nan_of), Const(bits, nan), bits);
  };
  if (in.type == ptx::Type::kF16) {
    if (in.ftz) f = Flush(f);
    return canonical(builder_.CreateFPTrunc(f, Like(x, builder_.getHalfTy())), f, 0x7fff);
  }
  if (in.source_type == ptx::Type::kF16) {
    return canonical(builder_.CreateFPExt(f, f32), f, 0x7fffffff);
  }
  if (to_f32) {
    llvm::Value* r = builder_.CreateFPTrunc(f, f32);
    if (in.ftz) r = Flush(r);
    return canonical(r, f, 0x7fffffff);
  }
  if (in.ftz) f = Flush(f);
  return builder_.CreateFPExt(f, f64);
}

llvm::Value* CodeGenerator::Compare(llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  using C = ptx::Comparison;
  const C comparison = in_->comparison;
  if (IsFloat(in_->type)) {
    if (Analysis::IsHalf(in_->type)) {
      const bool bf16 = in_->type == ptx::Type::kBf16;
      a = WidenHalf(a, bf16);
      b = WidenHalf(b, bf16);
    }
    a = AsFloat(a);
    b = AsFloat(b);
    if (in_->ftz && in_->type == ptx::Type::kF32) {
      a = Flush(a);
      b = Flush(b);
    }
    const P predicate = [&] {
      switch (comparison) {
        case C::kEq:
          return P::FCMP_OEQ;
        case C::kNe:
          return P::FCMP_ONE;
        case C::kLt:
        case C::kLo:
          return P::FCMP_OLT;
        case C::kLe:
        case C::kLs:
          return P::FCMP_OLE;
        case C::kGt:
        case C::kHi:
          return P::FCMP_OGT;
        case C::kGe:
        case C::kHs:
          return P::FCMP_OGE;
        case C::kEqu:
          return P::FCMP_UEQ;
        case C::kNeu:
          return P::FCMP_UNE;
        case C::kLtu:
          return P::FCMP_ULT;
        case C::kLeu:
          return P::FCMP_ULE;
        case C::kGtu:
          return P::FCMP_UGT;
        case C::kGeu:
          return P::FCMP_UGE;
        case C::kNum:
          return P::FCMP_ORD;
        default:
          return P::FCMP_UNO;
      }
    }();
    return builder_.CreateFCmp(predicate, a, b);
  }
  const bool s = IsSigned(in_->type);
  switch (comparison) {
    case C::kEq:
      return builder_.CreateICmpEQ(a, b);
    case C::kNe:
      return builder_.CreateICmpNE(a, b);
    case C::kLt:
      return s ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
    case C::kLe:
      return s ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
    case C::kGt:
      return s ? builder_.CreateICmpSGT(a, b) : builder_.CreateICmpUGT(a, b);
    case C::kGe:
      return s ? builder_.CreateICmpSGE(a, b) : builder_.CreateICmpUGE(a, b);
    case C::kLo:
      return builder_.CreateICmpULT(a, b);
    case C::kLs:
      return builder_.CreateICmpULE(a, b);
    case C::kHi:
      return builder_.CreateICmpUGT(a, b);
    default:
      return builder_.CreateICmpUGE(a, b);
  }
}

void CodeGenerator::EmitSetp() {
  const Instruction& in = *in_;
  const bool f32 = in.type == ptx::Type::kF32;
  const Value a = Read(in.a, f32);
  const Value b = Read(in.b, f32);
  const bool uniform = a.shape.uniform() && b.shape.uniform();
  llvm::Value* bits = uniform ? Compare(a.part[0], b.part[0]) : Compare(Expand(a), Expand(b));
  Value value{uniform ? kUniformShape : kVaryingShape, {bits}};
  if (!in.c.exists() || in.bool_op == ptx::BoolOp::kNone) {
    if (in.d2.exists()) {
      Value other = value;
      other.part[0] = builder_.CreateNot(bits);
      Write(in.d, value);
      Write(in.d2, other);
      return;
    }
    return Write(in.d, value);
  }
  Value c = Read(in.c);
  if (in.negate_c) c.part[0] = builder_.CreateNot(c.part[0]);
  const Shape shape = uniform && c.shape.uniform() ? kUniformShape : kVaryingShape;
  value = Reshape(value, shape);
  c = Reshape(c, shape);
  const auto combine = [&](llvm::Value* x) {
    switch (in.bool_op) {
      case ptx::BoolOp::kAnd:
        return builder_.CreateAnd(x, c.part[0]);
      case ptx::BoolOp::kOr:
        return builder_.CreateOr(x, c.part[0]);
      default:
        return builder_.CreateXor(x, c.part[0]);
    }
  };
  llvm::Value* first = combine(value.part[0]);
  llvm::Value* second = combine(builder_.CreateNot(value.part[0]));
  Write(in.d, {shape, {first}});
  if (in.d2.exists()) Write(in.d2, {shape, {second}});
}

void CodeGenerator::EmitPack() {
  const Instruction& in = *in_;
  const Shape shape = analysis_.Transfer(pc_, in);
  llvm::Type* whole = ElementOf(in.d.width());
  llvm::Value* result = nullptr;
  for (uint32_t i = 0; i < in.list_count; ++i) {
    const Value part = Read(function_.list[in.list_first + i]);
    llvm::Value* x = shape.uniform() ? part.part[0] : Expand(part);
    x = builder_.CreateZExt(x, Like(x, whole));
    x = builder_.CreateShl(x, Const(x, uint64_t{8} * in.register_bytes * i));
    result = result == nullptr ? x : builder_.CreateOr(result, x);
  }
  Write(in.d, {shape, {result}});
}

void CodeGenerator::EmitUnpack() {
  const Instruction& in = *in_;
  const Value a = Read(in.a);
  const bool uniform = a.shape.uniform();
  llvm::Value* whole = uniform ? a.part[0] : Expand(a);
  for (uint32_t i = 0; i < in.list_count; ++i) {
    const Operand part = function_.list[in.list_first + i];
    if (!part.exists()) continue;
    llvm::Value* x = builder_.CreateLShr(whole, Const(whole, uint64_t{8} * in.register_bytes * i));
    Write(part, {uniform ? kUniformShape : kVaryingShape,
                 {builder_.CreateTrunc(x, Like(x, ElementOf(part.width())))}});
  }
}

// All lanes take part, and distance and segment are constants: so is the permutation.
void CodeGenerator::EmitShuffle() {
  const Instruction& in = *in_;
  const int bval = static_cast<int>(*analysis_.ConstantIn(in, in.b) & 0x1f);
  const int cval = static_cast<int>(*analysis_.ConstantIn(in, in.c) & 0x1f);
  const int segment = static_cast<int>(*analysis_.ConstantIn(in, in.c) >> 8 & 0x1f);
  llvm::SmallVector<int, kLanes> from;
  llvm::SmallVector<llvm::Constant*, kLanes> in_range;
  for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
    const int max_lane = (lane & segment) | (cval & ~segment);
    const int min_lane = lane & segment;
    int j = 0;
    bool inside = false;
    switch (static_cast<ShuffleMode>(in.variant)) {
      case ShuffleMode::kUp:
        j = lane - bval;
        inside = j >= max_lane;
        break;
      case ShuffleMode::kDown:
        j = lane + bval;
        inside = j <= max_lane;
        break;
      case ShuffleMode::kBfly:
        j = lane ^ bval;
        inside = j <= max_lane;
        break;
      case ShuffleMode::kIdx:
        j = min_lane | (bval & ~segment);
        inside = j <= max_lane;
        break;
    }
    from.push_back(inside ? j : lane);
    in_range.push_back(builder_.getInt1(inside));
  }
  llvm::Value* a = Expand(Read(in.a));
  Write(in.d, {kVaryingShape, {builder_.CreateShuffleVector(a, from)}});
  if (in.d2.exists()) Write(in.d2, {kVaryingShape, {llvm::ConstantVector::get(in_range)}});
}

void CodeGenerator::EmitVote() {
  const Instruction& in = *in_;
  llvm::Value* bits = MaskBits(Read(in.c));
  if (in.negate_c) bits = builder_.CreateNot(bits);
  llvm::Value* all = builder_.CreateICmpEQ(bits, builder_.getInt32(kFullMask));
  llvm::Value* none = builder_.CreateICmpEQ(bits, builder_.getInt32(0));
  switch (static_cast<VoteMode>(in.variant)) {
    case VoteMode::kBallot:
      return Write(in.d, {kUniformShape, {bits}});
    case VoteMode::kAll:
      return Write(in.d, {kUniformShape, {all}});
    case VoteMode::kAny:
      return Write(in.d, {kUniformShape, {builder_.CreateNot(none)}});
    case VoteMode::kUni:
      return Write(in.d, {kUniformShape, {builder_.CreateOr(all, none)}});
  }
}

}  // namespace kernelsmith::vgpu::jit
