// Arithmetic of integers: the same results as src/vgpu/math, bit for bit.

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

llvm::Value* CodeGenerator::Lop3(llvm::Value* a, llvm::Value* b, llvm::Value* c, uint32_t table) {
  llvm::Value* result = Const(a, 0);
  const auto half = [&](uint32_t bits) -> llvm::Value* {  // half of a table of b and c
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
    case Op::kPredAnd:
      return builder_.CreateAnd(x[0], x[1]);
    case Op::kOr:
    case Op::kPredOr:
      return builder_.CreateOr(x[0], x[1]);
    case Op::kXor:
    case Op::kPredXor:
      return builder_.CreateXor(x[0], x[1]);
    case Op::kNot:
    case Op::kPredNot:
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
      const auto selector = static_cast<uint32_t>(*analysis_.ConstantIn(in, in.c));
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

}  // namespace kernelsmith::vgpu::jit
