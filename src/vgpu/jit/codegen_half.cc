// f16 and bf16, single and in pairs: the functions of math/arith.h, rounded as often as they round.
// A vector of pairs is a vector of twice as many elements.

#include <llvm/IR/Intrinsics.h>

#include "support/check.h"
#include "vgpu/jit/codegen.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

using llvm::ArrayRef;

namespace {

constexpr uint64_t kHalfNan = 0x7fff;  // of both types

bool IsPair(ptx::Type type) { return type == ptx::Type::kF16x2 || type == ptx::Type::kBf16x2; }
bool IsBf16(ptx::Type type) { return type == ptx::Type::kBf16 || type == ptx::Type::kBf16x2; }

}  // namespace

llvm::Value* CodeGenerator::WidenHalf(llvm::Value* bits, bool bf16) {
  if (!bf16) {
    llvm::Value* half = builder_.CreateBitCast(bits, Like(bits, builder_.getHalfTy()));
    return builder_.CreateFPExt(half, Like(bits, builder_.getFloatTy()));
  }
  llvm::Value* wide = builder_.CreateZExt(bits, Like(bits, builder_.getInt32Ty()));
  return AsFloat(builder_.CreateShl(wide, Const(wide, 16)));
}

llvm::Value* CodeGenerator::NarrowHalf(llvm::Value* x, bool bf16) {
  llvm::Value* result = nullptr;
  if (bf16) {
    llvm::Value* bits = AsInt(x);
    llvm::Value* last =
        builder_.CreateAnd(builder_.CreateLShr(bits, Const(bits, 16)), Const(bits, 1));
    bits = builder_.CreateAdd(bits, builder_.CreateAdd(last, Const(bits, 0x7fff)));
    result = builder_.CreateTrunc(builder_.CreateLShr(bits, Const(bits, 16)),
                                  Like(bits, builder_.getInt16Ty()));
  } else {
    result = AsInt(builder_.CreateFPTrunc(x, Like(x, builder_.getHalfTy())));
  }
  return builder_.CreateSelect(IsNan(x), Const(result, kHalfNan), result);
}

// By way of an f32 that is rounded to odd, after which a second rounding is right.
llvm::Value* CodeGenerator::NarrowHalfFromDouble(llvm::Value* x, bool bf16) {
  llvm::Type* f32 = Like(x, builder_.getFloatTy());
  if (!bf16) {
    // All that f16 can tell apart is far from the subnormals of f32, so the f32 has 24 bits.
    llvm::Value* bits = AsInt(x);
    llvm::Value* cut = Const(bits, 0x1fffffff);
    llvm::Value* sticky = builder_.CreateAnd(builder_.CreateAdd(builder_.CreateAnd(bits, cut), cut),
                                             Const(bits, 0x20000000));
    bits = builder_.CreateOr(builder_.CreateAnd(bits, builder_.CreateNot(cut)), sticky);
    return NarrowHalf(builder_.CreateFPTrunc(AsFloat(bits), f32), bf16);
  }
  llvm::Value* nearest = builder_.CreateFPTrunc(x, f32);
  llvm::Value* back = builder_.CreateFPExt(nearest, x->getType());
  llvm::Value* bits = AsInt(nearest);
  llvm::Value* even =
      builder_.CreateICmpEQ(builder_.CreateAnd(bits, Const(bits, 1)), Const(bits, 0));
  llvm::Value* negative = builder_.CreateICmpSLT(bits, Const(bits, 0));
  llvm::Value* above = builder_.CreateFCmpOGT(back, x);
  llvm::Value* below = builder_.CreateFCmpOLT(back, x);
  llvm::Value* too_large = builder_.CreateOr(
      builder_.CreateAnd(negative, below), builder_.CreateAnd(builder_.CreateNot(negative), above));
  llvm::Value* inexact = builder_.CreateOr(above, below);
  llvm::Value* step =
      builder_.CreateSelect(too_large, Const(bits, ~uint64_t{0} & 0xffffffff), Const(bits, 1));
  llvm::Value* moved = builder_.CreateAdd(bits, step);
  llvm::Value* odd = builder_.CreateSelect(builder_.CreateAnd(even, inexact), moved, bits);
  return NarrowHalf(AsFloat(odd), bf16);
}

llvm::Value* CodeGenerator::OneHalf(ArrayRef<llvm::Value*> x, bool bf16) {
  const Op op = in_->op;
  if (op == Op::kAbs || op == Op::kNeg) {
    llvm::Value* magnitude = builder_.CreateAnd(x[0], Const(x[0], 0x7fff));
    llvm::Value* nan = builder_.CreateICmpUGT(magnitude, Const(x[0], bf16 ? 0x7f80 : 0x7c00));
    llvm::Value* result =
        op == Op::kAbs ? magnitude : builder_.CreateXor(x[0], Const(x[0], 0x8000));
    return builder_.CreateSelect(nan, Const(x[0], kHalfNan), result);
  }
  llvm::SmallVector<llvm::Value*, 3> f;
  for (llvm::Value* bits : x) f.push_back(WidenHalf(bits, bf16));
  switch (op) {
    case Op::kAdd:
      return NarrowHalf(builder_.CreateFAdd(f[0], f[1]), bf16);
    case Op::kSub:
      return NarrowHalf(builder_.CreateFSub(f[0], f[1]), bf16);
    case Op::kMin:
    case Op::kMax:
      return NarrowHalf(MinMax(f[0], f[1]), bf16);
    case Op::kMul:
      if (!bf16) return NarrowHalf(builder_.CreateFMul(f[0], f[1]), bf16);
      break;
    default:
      break;
  }
  for (llvm::Value*& value : f) {
    value = builder_.CreateFPExt(value, Like(value, builder_.getDoubleTy()));
  }
  // Exact: the product has at most 22 bits.
  llvm::Value* product = builder_.CreateFMul(f[0], f[1]);
  if (op == Op::kMul) return NarrowHalfFromDouble(product, bf16);
  if (op != Op::kFma) KS_UNREACHABLE();
  llvm::Value* sum = builder_.CreateFAdd(product, f[2]);
  // In f16 a sum that a double cannot hold is never next to the middle of two results: that has 12
  // bits, one of the summands is a multiple of half its last place or more, and 22 bits of it and
  // all of the other lie within a double's 53.
  if (!bf16) return NarrowHalfFromDouble(sum, bf16);
  // AddExactly and OddF64 of math/round.h.
  llvm::Value* part = builder_.CreateFSub(sum, product);
  llvm::Value* rest =
      builder_.CreateFAdd(builder_.CreateFSub(product, builder_.CreateFSub(sum, part)),
                          builder_.CreateFSub(f[2], part));
  llvm::Value* zero = FloatConst(rest, 0.0);
  llvm::Value* more = builder_.CreateFCmpOGT(rest, zero);
  llvm::Value* less = builder_.CreateFCmpOLT(rest, zero);
  llvm::Value* outward =
      builder_.CreateNot(builder_.CreateXor(more, builder_.CreateFCmpOGT(sum, zero)));
  llvm::Value* bits = AsInt(sum);
  llvm::Value* even =
      builder_.CreateICmpEQ(builder_.CreateAnd(bits, Const(bits, 1)), Const(bits, 0));
  llvm::Value* step = builder_.CreateSelect(outward, Const(bits, 1), Const(bits, ~uint64_t{0}));
  llvm::Value* odd = builder_.CreateAdd(bits, step);
  llvm::Value* steps = builder_.CreateAnd(even, builder_.CreateOr(more, less));
  return NarrowHalfFromDouble(AsFloat(builder_.CreateSelect(steps, odd, bits)), bf16);
}

llvm::Value* CodeGenerator::HalfArithmetic(ArrayRef<llvm::Value*> x) {
  if (!IsPair(in_->type)) return OneHalf(x, IsBf16(in_->type));
  llvm::SmallVector<llvm::Value*, 3> elements;
  const bool lanes = x[0]->getType()->isVectorTy();
  llvm::Type* halves = VectorOf(builder_.getInt16Ty(), lanes ? 2 * kLanes : 2);
  for (llvm::Value* value : x) elements.push_back(builder_.CreateBitCast(value, halves));
  return builder_.CreateBitCast(OneHalf(elements, IsBf16(in_->type)), x[0]->getType());
}

// The first operand is the upper half.
llvm::Value* CodeGenerator::PackHalves(ArrayRef<llvm::Value*> x) {
  const bool bf16 = IsBf16(in_->type);
  llvm::Type* word = Like(x[0], builder_.getInt32Ty());
  llvm::Value* high = builder_.CreateZExt(NarrowHalf(AsFloat(x[0]), bf16), word);
  llvm::Value* low = builder_.CreateZExt(NarrowHalf(AsFloat(x[1]), bf16), word);
  return builder_.CreateOr(builder_.CreateShl(high, Const(high, 16)), low);
}

}  // namespace kernelsmith::vgpu::jit
