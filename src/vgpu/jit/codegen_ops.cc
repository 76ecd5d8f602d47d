// Arithmetic: the same results as src/vgpu/math, bit for bit.

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

// Of f32, given and returned as float: a subnormal becomes a zero of the same sign.
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
      in.op == Op::kCvt && in.source_type == ptx::Type::kF32 && in.type != ptx::Type::kF64;
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
      return builder_.CreateSelect(condition, x[0], x[1]);
    }
    case Op::kPredAnd:
      return builder_.CreateAnd(x[0], x[1]);
    case Op::kPredOr:
      return builder_.CreateOr(x[0], x[1]);
    case Op::kPredXor:
      return builder_.CreateXor(x[0], x[1]);
    case Op::kPredNot:
      return builder_.CreateNot(x[0]);
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
    default:
      break;
  }
  if (in.type == ptx::Type::kF32) return Float32(x);
  if (in.type == ptx::Type::kF64) return Float64(x);
  return Integer(x);
}

llvm::Value* CodeGenerator::MinMax(llvm::Value* a, llvm::Value* b) {
  llvm::Value* sign = AsInt(a);
  llvm::Value* negative = builder_.CreateICmpSLT(sign, Const(sign, 0));
  llvm::Value* less = builder_.CreateOr(builder_.CreateFCmpOLT(a, b),
                                        builder_.CreateAnd(builder_.CreateFCmpOEQ(a, b), negative));
  llvm::Value* chosen =
      in_->op == Op::kMin ? builder_.CreateSelect(less, a, b) : builder_.CreateSelect(less, b, a);
  if (in_->nan) {
    llvm::Value* nan = AsFloat(Const(sign, 0x7fffffff));
    return builder_.CreateSelect(builder_.CreateFCmpUNO(a, b), nan, chosen);
  }
  return builder_.CreateSelect(IsNan(a), b, builder_.CreateSelect(IsNan(b), a, chosen));
}

llvm::Value* CodeGenerator::Float32(ArrayRef<llvm::Value*> x) {
  const Instruction& in = *in_;
  llvm::SmallVector<llvm::Value*, 4> f;
  for (llvm::Value* value : x) f.push_back(in.ftz ? Flush(AsFloat(value)) : AsFloat(value));
  llvm::Value* r = nullptr;
  switch (in.op) {
    case Op::kAdd:
      r = builder_.CreateFAdd(f[0], f[1]);
      break;
    case Op::kSub:
      r = builder_.CreateFSub(f[0], f[1]);
      break;
    case Op::kMul:
      r = builder_.CreateFMul(f[0], f[1]);
      break;
    case Op::kFma:
      r = builder_.CreateIntrinsic(Intrinsic::fma, {f[0]->getType()}, {f[0], f[1], f[2]});
      break;
    case Op::kDiv:
      r = builder_.CreateFDiv(f[0], f[1]);
      if (in.approx && !in.full) {
        // Divisors above 2^126 have a reciprocal that is flushed.
        llvm::Value* bits = AsInt(f[1]);
        llvm::Value* magnitude = builder_.CreateAnd(bits, Const(bits, 0x7fffffff));
        llvm::Value* flushed =
            builder_.CreateAnd(builder_.CreateICmpUGT(magnitude, Const(bits, 0x7e800000)),
                               builder_.CreateICmpULT(magnitude, Const(bits, 0x7f800000)));
        llvm::Value* zero = AsFloat(builder_.CreateAnd(bits, Const(bits, 0x80000000)));
        r = builder_.CreateSelect(flushed, builder_.CreateFMul(f[0], zero), r);
      }
      break;
    case Op::kRcp:
      r = builder_.CreateFDiv(FloatConst(f[0], 1.0), f[0]);
      break;
    case Op::kSqrt:
      r = builder_.CreateIntrinsic(Intrinsic::sqrt, {f[0]->getType()}, {f[0]});
      break;
    case Op::kRsqrt: {
      llvm::Value* wide = builder_.CreateFPExt(f[0], Like(f[0], builder_.getDoubleTy()));
      llvm::Value* root = builder_.CreateIntrinsic(Intrinsic::sqrt, {wide->getType()}, {wide});
      return builder_.CreateFPTrunc(builder_.CreateFDiv(FloatConst(wide, 1.0), root),
                                    f[0]->getType());
    }
    case Op::kEx2:
      return Ex2(f[0]);
    case Op::kLg2:
      return Lg2(f[0]);
    case Op::kMin:
    case Op::kMax:
      return MinMax(f[0], f[1]);
    case Op::kAbs: {
      llvm::Value* bits = AsInt(f[0]);
      return builder_.CreateAnd(bits, Const(bits, 0x7fffffff));
    }
    case Op::kNeg: {
      llvm::Value* bits = AsInt(f[0]);
      return builder_.CreateXor(bits, Const(bits, 0x80000000));
    }
    default:
      KS_UNREACHABLE();
  }
  if (in.ftz) r = Flush(r);
  if (in.sat) {
    llvm::Value* one = FloatConst(r, 1.0);
    llvm::Value* zero = FloatConst(r, 0.0);
    llvm::Value* below = builder_.CreateSelect(builder_.CreateFCmpOLT(r, one), r, one);
    r = builder_.CreateSelect(builder_.CreateFCmpOGT(r, zero), below, zero);
  }
  return r;
}

// The first NaN operand, quiet; the indefinite NaN if the operation itself was invalid.
llvm::Value* CodeGenerator::Float64(ArrayRef<llvm::Value*> x) {
  const Instruction& in = *in_;
  if (in.op == Op::kAbs) return builder_.CreateAnd(x[0], Const(x[0], ~uint64_t{0} >> 1));
  if (in.op == Op::kNeg) return builder_.CreateXor(x[0], Const(x[0], uint64_t{1} << 63));
  llvm::SmallVector<llvm::Value*, 4> f;
  for (llvm::Value* value : x) f.push_back(AsFloat(value));
  llvm::Value* r = nullptr;
  switch (in.op) {
    case Op::kAdd:
      r = builder_.CreateFAdd(f[0], f[1]);
      break;
    case Op::kSub:
      r = builder_.CreateFSub(f[0], f[1]);
      break;
    case Op::kMul:
      r = builder_.CreateFMul(f[0], f[1]);
      break;
    case Op::kFma:
      r = builder_.CreateIntrinsic(Intrinsic::fma, {f[0]->getType()}, {f[0], f[1], f[2]});
      break;
    default:
      KS_UNREACHABLE();
  }
  llvm::Value* nan = Const(x[0], 0xfff8000000000000);
  for (size_t i = x.size(); i-- > 0;) {
    llvm::Value* quiet = builder_.CreateOr(x[i], Const(x[i], 0x0008000000000000));
    nan = builder_.CreateSelect(IsNan(f[i]), quiet, nan);
  }
  return builder_.CreateSelect(IsNan(r), nan, AsInt(r));
}

llvm::Value* CodeGenerator::Lop3(llvm::Value* a, llvm::Value* b, llvm::Value* c, uint32_t table) {
  llvm::Value* result = Const(a, 0);
  const auto half = [&](uint32_t bits) -> llvm::Value* {  // of a table of b and c
    llvm::Value* value = Const(a, 0);
    for (uint32_t i = 0; i < 4; ++i) {
      if ((bits >> i & 1) == 0) continue;
      llvm::Value* y = (i & 2) != 0 ? b : builder_.CreateNot(b);
      llvm::Value* z = (i & 1) != 0 ? c : builder_.CreateNot(c);
      value = builder_.CreateOr(value, builder_.CreateAnd(y, z));
    }
    return value;
  };
  result = builder_.CreateOr(builder_.CreateAnd(builder_.CreateNot(a), half(table & 15)),
                             builder_.CreateAnd(a, half(table >> 4 & 15)));
  return result;
}

llvm::Value* CodeGenerator::Integer(ArrayRef<llvm::Value*> x) {
  const Instruction& in = *in_;
  const bool is_signed = IsSigned(in.type);
  const auto bits = static_cast<uint64_t>(ptx::BitsOf(in.type));
  const auto wider = [&](llvm::Value* value) {
    llvm::Type* to = Like(value, builder_.getIntNTy(static_cast<unsigned>(2 * bits)));
    return is_signed ? builder_.CreateSExt(value, to) : builder_.CreateZExt(value, to);
  };
  // An amount of 32 bits in the type of the value that is shifted, at most `most`.
  const auto amount = [&](llvm::Value* n, uint64_t most) -> llvm::Value* {
    n = builder_.CreateIntrinsic(Intrinsic::umin, {n->getType()}, {n, Const(n, most)});
    return builder_.CreateZExtOrTrunc(n, x[0]->getType());
  };
  switch (in.op) {
    case Op::kAdd:
      return builder_.CreateAdd(x[0], x[1]);
    case Op::kSub:
      return builder_.CreateSub(x[0], x[1]);
    case Op::kMulLo:
      return builder_.CreateMul(x[0], x[1]);
    case Op::kMadLo:
      return builder_.CreateAdd(builder_.CreateMul(x[0], x[1]), x[2]);
    case Op::kMulWide:
      return builder_.CreateMul(wider(x[0]), wider(x[1]));
    case Op::kMadWide:
      return builder_.CreateAdd(builder_.CreateMul(wider(x[0]), wider(x[1])), x[2]);
    case Op::kMulHi:
    case Op::kMadHi: {
      llvm::Value* product = builder_.CreateMul(wider(x[0]), wider(x[1]));
      llvm::Value* high =
          builder_.CreateTrunc(builder_.CreateLShr(product, Const(product, bits)), x[0]->getType());
      return in.op == Op::kMulHi ? high : builder_.CreateAdd(high, x[2]);
    }
    case Op::kDiv:
    case Op::kRem: {
      // Without undefined cases: a divisor of 0 or -1 is replaced, and its result put right.
      llvm::Value* zero = builder_.CreateICmpEQ(x[1], Const(x[1], 0));
      llvm::Value* special = zero;
      llvm::Value* minus = nullptr;
      if (is_signed) {
        minus = builder_.CreateICmpEQ(x[1], Const(x[1], ~uint64_t{0}));
        special = builder_.CreateOr(zero, minus);
      }
      llvm::Value* divisor = builder_.CreateSelect(special, Const(x[1], 1), x[1]);
      const bool div = in.op == Op::kDiv;
      llvm::Value* r = nullptr;
      if (is_signed) {
        r = div ? builder_.CreateSDiv(x[0], divisor) : builder_.CreateSRem(x[0], divisor);
        llvm::Value* negated = div ? builder_.CreateNeg(x[0]) : Const(x[0], 0);
        r = builder_.CreateSelect(minus, negated, r);
      } else {
        r = div ? builder_.CreateUDiv(x[0], divisor) : builder_.CreateURem(x[0], divisor);
      }
      return builder_.CreateSelect(zero, Const(x[0], ~uint64_t{0}), r);
    }
    case Op::kAnd:
      return builder_.CreateAnd(x[0], x[1]);
    case Op::kOr:
      return builder_.CreateOr(x[0], x[1]);
    case Op::kXor:
      return builder_.CreateXor(x[0], x[1]);
    case Op::kNot:
      return builder_.CreateNot(x[0]);
    case Op::kNeg:
      return builder_.CreateNeg(x[0]);
    case Op::kAbs:
      return builder_.CreateIntrinsic(Intrinsic::abs, {x[0]->getType()},
                                      {x[0], builder_.getFalse()});
    case Op::kMin:
    case Op::kMax: {
      const bool min = in.op == Op::kMin;
      const ID id = is_signed ? (min ? Intrinsic::smin : Intrinsic::smax)
                              : (min ? Intrinsic::umin : Intrinsic::umax);
      return builder_.CreateIntrinsic(id, {x[0]->getType()}, {x[0], x[1]});
    }
    case Op::kShl: {
      llvm::Value* shifted = builder_.CreateShl(x[0], amount(x[1], bits - 1));
      llvm::Value* inside = builder_.CreateICmpULT(x[1], Const(x[1], bits));
      return builder_.CreateSelect(inside, shifted, Const(x[0], 0));
    }
    case Op::kShr: {
      llvm::Value* n = amount(x[1], bits - 1);
      if (is_signed) return builder_.CreateAShr(x[0], n);
      llvm::Value* inside = builder_.CreateICmpULT(x[1], Const(x[1], bits));
      return builder_.CreateSelect(inside, builder_.CreateLShr(x[0], n), Const(x[0], 0));
    }
    case Op::kShf: {  // variant: 1 right, 2 wrap
      llvm::Type* i64 = Like(x[0], builder_.getInt64Ty());
      llvm::Value* high = builder_.CreateZExt(x[1], i64);
      llvm::Value* both = builder_.CreateOr(builder_.CreateShl(high, Const(high, 32)),
                                            builder_.CreateZExt(x[0], i64));
      llvm::Value* n = (in.variant & 2) != 0
                           ? builder_.CreateAnd(x[2], Const(x[2], 31))
                           : builder_.CreateIntrinsic(Intrinsic::umin, {x[2]->getType()},
                                                      {x[2], Const(x[2], 32)});
      n = builder_.CreateZExt(n, i64);
      if ((in.variant & 1) != 0) {
        return builder_.CreateTrunc(builder_.CreateLShr(both, n), x[0]->getType());
      }
      llvm::Value* shifted = builder_.CreateShl(both, n);
      return builder_.CreateTrunc(builder_.CreateLShr(shifted, Const(shifted, 32)),
                                  x[0]->getType());
    }
    case Op::kLop3:
      return Lop3(x[0], x[1], x[2], in.variant);
    case Op::kPopc:
      return builder_.CreateIntrinsic(Intrinsic::ctpop, {x[0]->getType()}, {x[0]});
    case Op::kClz:
      return builder_.CreateIntrinsic(Intrinsic::ctlz, {x[0]->getType()},
                                      {x[0], builder_.getFalse()});
    case Op::kBrev:
      return builder_.CreateIntrinsic(Intrinsic::bitreverse, {x[0]->getType()}, {x[0]});
    case Op::kBfe: {
      // In 64 bits every field that reaches beyond the top is there, made of signs or zeros.
      llvm::Type* i64 = Like(x[0], builder_.getInt64Ty());
      llvm::Value* position = builder_.CreateZExt(builder_.CreateAnd(x[1], Const(x[1], 0xff)), i64);
      llvm::Value* length = builder_.CreateZExt(builder_.CreateAnd(x[2], Const(x[2], 0xff)), i64);
      const auto at_most = [&](llvm::Value* v, uint64_t most) -> llvm::Value* {
        return builder_.CreateIntrinsic(Intrinsic::umin, {i64}, {v, Const(v, most)});
      };
      position = at_most(position, 32);
      length = at_most(length, 32);
      llvm::Value* wide =
          is_signed ? builder_.CreateSExt(x[0], i64) : builder_.CreateZExt(x[0], i64);
      llvm::Value* shifted =
          is_signed ? builder_.CreateAShr(wide, position) : builder_.CreateLShr(wide, position);
      llvm::Value* unused = builder_.CreateSub(Const(length, 64), at_most(length, 63));
      // A length of 0 would shift by 64: its result is 0.
      llvm::Value* none = builder_.CreateICmpEQ(length, Const(length, 0));
      unused = builder_.CreateSelect(none, Const(length, 63), unused);
      llvm::Value* up = builder_.CreateShl(shifted, unused);
      llvm::Value* field =
          is_signed ? builder_.CreateAShr(up, unused) : builder_.CreateLShr(up, unused);
      field = builder_.CreateSelect(none, Const(length, 0), field);
      return builder_.CreateTrunc(field, x[0]->getType());
    }
    case Op::kPrmt: {
      const auto selector = static_cast<uint32_t>(*analysis_.ConstantOf(in.c));
      llvm::Value* result = Const(x[0], 0);
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t nibble = selector >> (4 * i) & 15;
        llvm::Value* source = (nibble & 4) != 0 ? x[1] : x[0];
        const uint32_t from = 8 * (nibble & 3);
        llvm::Value* byte = nullptr;
        if ((nibble & 8) != 0) {  // the sign of the byte, eight times
          byte = builder_.CreateAShr(builder_.CreateShl(source, Const(source, 24 - from)),
                                     Const(source, 31));
        } else {
          byte = builder_.CreateLShr(source, Const(source, from));
        }
        byte = builder_.CreateAnd(byte, Const(byte, 0xff));
        result = builder_.CreateOr(result, builder_.CreateShl(byte, Const(byte, 8 * i)));
      }
      return result;
    }
    default:
      KS_UNREACHABLE();
  }
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
  llvm::Value* f = AsFloat(x);
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

// The functions of math/approx.h, operation by operation.
llvm::Value* CodeGenerator::Ex2(llvm::Value* a) {
  llvm::Value* x = builder_.CreateFPExt(a, Like(a, builder_.getDoubleTy()));
  const auto number = [&](double value) { return FloatConst(x, value); };
  x = builder_.CreateSelect(builder_.CreateFCmpOLT(x, number(200.0)), x, number(200.0));
  x = builder_.CreateSelect(builder_.CreateFCmpOGT(x, number(-200.0)), x, number(-200.0));
  llvm::Value* n = builder_.CreateIntrinsic(Intrinsic::roundeven, {x->getType()}, {x});
  llvm::Value* r = builder_.CreateFSub(x, n);
  llvm::Value* p = number(1.0178086009239699727e-7);
  for (const double c :
       {1.3215486790144309488e-6, 1.525273380405984028e-5, 1.5403530393381609954e-4,
        1.3333558146428443423e-3, 9.618129107628477162e-3, 5.5504108664821579953e-2,
        0.24022650695910071233, 0.69314718055994530942, 1.0}) {
    p = builder_.CreateFAdd(builder_.CreateFMul(p, r), number(c));
  }
  llvm::Value* exponent = AsInt(builder_.CreateFAdd(n, number(0x1.8p52)));
  exponent = builder_.CreateShl(exponent, Const(exponent, 52));
  exponent = builder_.CreateAdd(exponent, Const(exponent, uint64_t{1023} << 52));
  llvm::Value* result =
      builder_.CreateFPTrunc(builder_.CreateFMul(p, AsFloat(exponent)), a->getType());
  if (in_->ftz) result = Flush(result);
  llvm::Value* bits = AsInt(result);
  return builder_.CreateSelect(IsNan(a), Const(bits, 0x7fffffff), bits);
}

llvm::Value* CodeGenerator::Lg2(llvm::Value* a) {
  llvm::Value* zero = FloatConst(a, 0.0);
  llvm::Value* infinity = AsFloat(Const(AsInt(a), 0x7f800000));
  llvm::Value* positive = builder_.CreateFCmpOGT(a, zero);
  llvm::Value* regular = builder_.CreateAnd(positive, builder_.CreateFCmpOLT(a, infinity));
  llvm::Value* safe = builder_.CreateSelect(regular, a, FloatConst(a, 1.0));
  llvm::Value* x = builder_.CreateFPExt(safe, Like(a, builder_.getDoubleTy()));
  const auto number = [&](double value) { return FloatConst(x, value); };
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;
  llvm::Value* bits = AsInt(x);
  llvm::Value* shifted = builder_.CreateAdd(bits, Const(bits, 0x3ff0000000000000 - kSqrtHalf));
  llvm::Value* field = builder_.CreateLShr(shifted, Const(bits, 52));
  llvm::Value* n = builder_.CreateFSub(
      AsFloat(builder_.CreateOr(field, Const(bits, 0x4330000000000000))), number(0x1p52 + 1023.0));
  llvm::Value* m = AsFloat(builder_.CreateAdd(
      builder_.CreateAnd(shifted, Const(bits, 0x000fffffffffffff)), Const(bits, kSqrtHalf)));
  llvm::Value* s =
      builder_.CreateFDiv(builder_.CreateFSub(m, number(1.0)), builder_.CreateFAdd(m, number(1.0)));
  llvm::Value* z = builder_.CreateFMul(s, s);
  llvm::Value* p = number(0.22195308321368667806);
  for (const double c : {0.26230818925253880134, 0.32059889797532520164, 0.4121985831111324021,
                         0.57707801635558536294, 0.96179669392597560491, 2.8853900817779268147}) {
    p = builder_.CreateFAdd(builder_.CreateFMul(p, z), number(c));
  }
  llvm::Value* result =
      builder_.CreateFPTrunc(builder_.CreateFAdd(builder_.CreateFMul(p, s), n), a->getType());
  if (in_->ftz) result = Flush(result);
  llvm::Value* nan = AsFloat(Const(AsInt(a), 0x7fffffff));
  llvm::Value* minus = AsFloat(Const(AsInt(a), 0xff800000));
  llvm::Value* special = builder_.CreateSelect(builder_.CreateFCmpOEQ(a, zero), minus,
                                               builder_.CreateSelect(positive, a, nan));
  return builder_.CreateSelect(regular, result, special);
}

llvm::Value* CodeGenerator::Compare(llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst::Predicate;
  using C = ptx::Comparison;
  const C comparison = in_->comparison;
  if (IsFloat(in_->type)) {
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
  const int bval = static_cast<int>(*analysis_.ConstantOf(in.b) & 0x1f);
  const int cval = static_cast<int>(*analysis_.ConstantOf(in.c) & 0x1f);
  const int segment = static_cast<int>(*analysis_.ConstantOf(in.c) >> 8 & 0x1f);
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
