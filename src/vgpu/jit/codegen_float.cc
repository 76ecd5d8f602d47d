// Arithmetic of floats: the same results as src/vgpu/math, bit for bit.

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

llvm::Value* CodeGenerator::FloatArithmetic(ArrayRef<llvm::Value*> f) {
  switch (in_->op) {
    case Op::kAdd:
      return builder_.CreateFAdd(f[0], f[1]);
    case Op::kSub:
      return builder_.CreateFSub(f[0], f[1]);
    case Op::kMul:
      return builder_.CreateFMul(f[0], f[1]);
    case Op::kFma:
      return builder_.CreateIntrinsic(Intrinsic::fma, {f[0]->getType()}, {f[0], f[1], f[2]});
    default:
      KS_UNREACHABLE();
  }
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
    case Op::kSub:
    case Op::kMul:
    case Op::kFma:
      r = FloatArithmetic(f);
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
  llvm::Value* r = FloatArithmetic(f);
  llvm::Value* nan = Const(x[0], 0xfff8000000000000);
  for (size_t i = x.size(); i-- > 0;) {
    llvm::Value* quiet = builder_.CreateOr(x[i], Const(x[i], 0x0008000000000000));
    nan = builder_.CreateSelect(IsNan(f[i]), quiet, nan);
  }
  return builder_.CreateSelect(IsNan(r), nan, AsInt(r));
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

}  // namespace kernelsmith::vgpu::jit
