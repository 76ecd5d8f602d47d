// Integer, logic and floating-point instructions, comparisons and selections.

#include <fmt/format.h>

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

Type WideOf(Type type) {
  switch (type) {
    case Type::kU16:
      return Type::kU32;
    case Type::kS16:
      return Type::kS32;
    case Type::kU32:
      return Type::kU64;
    case Type::kS32:
      return Type::kS64;
    default:
      return Type::kNone;
  }
}

}  // namespace

Status FunctionLowerer::Typed(Instruction instruction, Type result,
                              std::initializer_list<Type> sources) {
  if (count() < 1 + sources.size()) return Invalid("too few operands");
  Operand* const places[] = {&instruction.a, &instruction.b, &instruction.c, &instruction.e};
  size_t i = 0;
  for (const Type source : sources) {
    KS_TRY(*places[i], Source(1 + i, source));
    ++i;
  }
  KS_TRY(instruction.d, Destination(0, result));
  return Append(instruction);
}

Status FunctionLowerer::Regular(Op op) {
  const Type t = type();
  switch (count()) {
    case 2:
      return Typed(Make(op, t), t, {t});
    case 3:
      return Typed(Make(op, t), t, {t, t});
    case 4:
      return Typed(Make(op, t), t, {t, t, t});
    default:
      return Unsupported("this number of operands");
  }
}

Status FunctionLowerer::LowerAddSub(bool subtract, bool carry_in) {
  if (!carry_in && !mnemonic_->carry) return Regular(subtract ? Op::kSub : Op::kAdd);
  Instruction add = Make(subtract ? Op::kSubCarry : Op::kAddCarry, type());
  add.carry_out = mnemonic_->carry;
  KS_TRY(add.a, Source(1, type()));
  KS_TRY(add.b, Source(2, type()));
  add.c = carry_in ? carry_ : PredicateConstant(subtract);  // see Carry in handlers/integer.cc
  add.d2 = carry_;
  KS_TRY(add.d, Destination(0, type()));
  return Append(add);
}

Status FunctionLowerer::LowerMul() {
  const Type t = type();
  switch (mnemonic_->half) {
    case ptx::ResultHalf::kLo:
      return Regular(Op::kMulLo);
    case ptx::ResultHalf::kHi:
      return Regular(Op::kMulHi);
    case ptx::ResultHalf::kWide:
      return Typed(Make(Op::kMulWide, t), WideOf(t), {t, t});
    case ptx::ResultHalf::kNone:
      return Regular(Op::kMul);
  }
  return Unsupported();
}

Status FunctionLowerer::LowerMad(bool carry_in) {
  const Type t = type();
  if (ptx::IsFloat(t)) return Regular(Op::kFma);
  if (carry_in || mnemonic_->carry) {
    Instruction mad =
        Make(mnemonic_->half == ptx::ResultHalf::kHi ? Op::kMadHiCarry : Op::kMadLoCarry, t);
    mad.carry_out = mnemonic_->carry;
    KS_TRY(mad.a, Source(1, t));
    KS_TRY(mad.b, Source(2, t));
    KS_TRY(mad.c, Source(3, t));
    mad.e = carry_in ? carry_ : PredicateConstant(false);
    mad.d2 = carry_;
    KS_TRY(mad.d, Destination(0, t));
    return Append(mad);
  }
  switch (mnemonic_->half) {
    case ptx::ResultHalf::kHi:
      return Regular(mnemonic_->sat ? Op::kMadHiSat : Op::kMadHi);
    case ptx::ResultHalf::kWide:
      return Typed(Make(Op::kMadWide, t), WideOf(t), {t, t, WideOf(t)});
    default:
      return Regular(Op::kMadLo);
  }
}

Status FunctionLowerer::LowerMinMax(bool max) {
  const Type t = type();
  Instruction select =
      Make(count() == 4 ? (max ? Op::kMax3 : Op::kMin3) : (max ? Op::kMax : Op::kMin), t);
  select.nan = Has(Modifier::kPropagateNan);
  select.xorsign = Has(Modifier::kXorsign);
  if (count() == 4) return Typed(select, t, {t, t, t});
  return Typed(select, t, {t, t});
}

Status FunctionLowerer::LowerSetp() {
  Instruction compare = Make(Op::kSetp, type());
  KS_TRY(compare.a, Source(1, type()));
  KS_TRY(compare.b, Source(2, type()));
  if (count() > 3) {
    bool negated = false;
    KS_TRY(compare.c, SourcePredicate(operand(3), negated));
    compare.negate_c = negated;
  }
  const ptx::Operand& target = operand(0);
  if (target.kind == ptx::OperandKind::kPair) {
    KS_TRY(compare.d, Destination(target.elements[0], Type::kPred));
    KS_TRY(compare.d2, Destination(target.elements[1], Type::kPred));
  } else {
    KS_TRY(compare.d, Destination(target, Type::kPred));
  }
  return Append(compare);
}

// set gives all ones, or 1.0 for floats, as a value: a comparison and a selection.
Status FunctionLowerer::LowerSet() {
  const Type result = mnemonic_->TypeAt(0);
  const Type source = mnemonic_->TypeAt(1);
  if (source == Type::kF16x2 || source == Type::kBf16x2) {
    Instruction set = Make(Op::kSet, result);
    set.source_type = source;
    if (count() > 3) return Unsupported("packed comparison with a predicate");
    return Typed(set, result, {source, source});
  }
  Instruction compare = Make(Op::kSetp, source);
  KS_TRY(compare.a, Source(1, source));
  KS_TRY(compare.b, Source(2, source));
  if (count() > 3) {
    bool negated = false;
    KS_TRY(compare.c, SourcePredicate(operand(3), negated));
    compare.negate_c = negated;
  }
  compare.d = Temporary(LaneWidth::kPredicate);
  KS_RETURN_IF_ERROR(Append(compare));
  uint64_t one = ~uint64_t{0};
  if (result == Type::kF32) one = 0x3f800000;
  if (result == Type::kF16) one = 0x3c00;
  if (result == Type::kBf16) one = 0x3f80;
  Instruction select = Make(Op::kSelp, result);
  select.a = Constant(WidthOf(result), one);
  select.b = Constant(WidthOf(result), 0);
  select.c = compare.d;
  KS_TRY(select.d, Destination(0, result));
  return Append(select);
}

Status FunctionLowerer::LowerSelect() {
  const Type t = type();
  if (in_->opcode() == Opcode::kSlct) {
    Instruction select = Make(Op::kSlct, t);
    select.source_type = mnemonic_->TypeAt(1);
    return Typed(select, t, {t, t, select.source_type});
  }
  Instruction select = Make(t == Type::kPred ? Op::kPredSelp : Op::kSelp, t);
  KS_TRY(select.a, Source(1, t));
  KS_TRY(select.b, Source(2, t));
  bool negated = false;
  KS_TRY(select.c, SourcePredicate(operand(3), negated));
  select.negate_c = negated;
  KS_TRY(select.d, Destination(0, t));
  return Append(select);
}

Status FunctionLowerer::LowerLogic() {
  const bool predicate = type() == Type::kPred;
  switch (in_->opcode()) {
    case Opcode::kAnd:
      return Regular(predicate ? Op::kPredAnd : Op::kAnd);
    case Opcode::kOr:
      return Regular(predicate ? Op::kPredOr : Op::kOr);
    case Opcode::kXor:
      return Regular(predicate ? Op::kPredXor : Op::kXor);
    default:
      return Regular(predicate ? Op::kPredNot : Op::kNot);
  }
}

Status FunctionLowerer::LowerLop3() {
  const bool with_predicate = operand(0).kind == ptx::OperandKind::kPair;
  Instruction lop = Make(with_predicate ? Op::kLop3Pred : Op::kLop3, Type::kB32);
  if (count() < 5) return Invalid("too few operands");
  if (operand(4).kind != ptx::OperandKind::kInteger)
    return Unsupported("a table that is no literal");
  lop.variant = static_cast<uint8_t>(operand(4).integer);
  KS_TRY(lop.a, Source(1, Type::kB32));
  KS_TRY(lop.b, Source(2, Type::kB32));
  KS_TRY(lop.c, Source(3, Type::kB32));
  if (with_predicate) {
    if (count() < 6) return Invalid("too few operands");
    bool negated = false;
    KS_TRY(lop.e, SourcePredicate(operand(5), negated));
    lop.negate_c = negated;
    lop.bool_op = Has(Modifier::kAnd) ? ptx::BoolOp::kAnd : ptx::BoolOp::kOr;
    KS_TRY(lop.d, Destination(operand(0).elements[0], Type::kB32));
    KS_TRY(lop.d2, Destination(operand(0).elements[1], Type::kPred));
  } else {
    KS_TRY(lop.d, Destination(0, Type::kB32));
  }
  return Append(lop);
}

Status FunctionLowerer::LowerArithmetic() {
  const Type t = type();
  switch (in_->opcode()) {
    case Opcode::kAdd:
      return LowerAddSub(false, false);
    case Opcode::kSub:
      return LowerAddSub(true, false);
    case Opcode::kAddc:
      return LowerAddSub(false, true);
    case Opcode::kSubc:
      return LowerAddSub(true, true);
    case Opcode::kMul:
      return LowerMul();
    case Opcode::kMad:
      return LowerMad(false);
    case Opcode::kMadc:
      return LowerMad(true);
    case Opcode::kMul24:
      return Regular(mnemonic_->half == ptx::ResultHalf::kHi ? Op::kMul24Hi : Op::kMul24Lo);
    case Opcode::kMad24:
      return Regular(mnemonic_->half == ptx::ResultHalf::kHi ? Op::kMad24Hi : Op::kMad24Lo);
    case Opcode::kSad:
      return Regular(Op::kSad);
    case Opcode::kDiv: {
      Instruction div = Make(Op::kDiv, t);
      div.full = Has(Modifier::kFull);
      return Typed(div, t, {t, t});
    }
    case Opcode::kRem:
      return Regular(Op::kRem);
    case Opcode::kAbs:
      return Regular(Op::kAbs);
    case Opcode::kNeg:
      return Regular(Op::kNeg);
    case Opcode::kMin:
      return LowerMinMax(false);
    case Opcode::kMax:
      return LowerMinMax(true);
    case Opcode::kPopc:
      return Typed(Make(Op::kPopc, t), Type::kU32, {t});
    case Opcode::kClz:
      return Typed(Make(Op::kClz, t), Type::kU32, {t});
    case Opcode::kBfind: {
      Instruction find = Make(Op::kBfind, t);
      find.variant = Has(Modifier::kShiftamt) ? 1 : 0;
      return Typed(find, Type::kU32, {t});
    }
    case Opcode::kFns:
      return Typed(Make(Op::kFns, t), Type::kB32, {Type::kB32, Type::kB32, Type::kS32});
    case Opcode::kBrev:
      return Regular(Op::kBrev);
    case Opcode::kBfe:
      return Typed(Make(Op::kBfe, t), t, {t, Type::kU32, Type::kU32});
    case Opcode::kBfi:
      return Typed(Make(Op::kBfi, t), t, {t, t, Type::kU32, Type::kU32});
    case Opcode::kSzext: {
      Instruction extend = Make(Op::kSzext, t);
      extend.variant = Has(Modifier::kWrap) ? 1 : 0;
      return Typed(extend, t, {t, Type::kU32});
    }
    case Opcode::kBmsk: {
      Instruction mask = Make(Op::kBmsk, t);
      mask.variant = Has(Modifier::kWrap) ? 1 : 0;
      return Typed(mask, Type::kB32, {Type::kU32, Type::kU32});
    }
    case Opcode::kDp4a:
    case Opcode::kDp2a: {
      Instruction dot = Make(in_->opcode() == Opcode::kDp4a ? Op::kDp4a : Op::kDp2a, t);
      dot.source_type = mnemonic_->TypeAt(1);
      dot.variant = mnemonic_->half == ptx::ResultHalf::kHi ? 1 : 0;
      return Typed(dot, Type::kB32, {Type::kB32, Type::kB32, Type::kB32});
    }
    case Opcode::kFma:
      return Regular(Op::kFma);
    case Opcode::kTestp: {
      Instruction test = Make(Op::kTestp, t);
      constexpr Modifier kClasses[] = {Modifier::kFinite, Modifier::kInfinite,
                                       Modifier::kNumber, Modifier::kNotanumber,
                                       Modifier::kNormal, Modifier::kSubnormal};
      for (uint8_t i = 0; i < 6; ++i) {
        if (Has(kClasses[i])) test.variant = i;
      }
      return Typed(test, Type::kPred, {t});
    }
    case Opcode::kCopysign:
      return Regular(Op::kCopysign);
    case Opcode::kRcp:
      return Regular(Op::kRcp);
    case Opcode::kSqrt:
      return Regular(Op::kSqrt);
    case Opcode::kRsqrt:
      return Regular(Op::kRsqrt);
    case Opcode::kSin:
      return Regular(Op::kSin);
    case Opcode::kCos:
      return Regular(Op::kCos);
    case Opcode::kLg2:
      return Regular(Op::kLg2);
    case Opcode::kEx2:
      return Regular(Op::kEx2);
    case Opcode::kTanh:
      return Regular(Op::kTanh);
    case Opcode::kSetp:
      return LowerSetp();
    case Opcode::kSet:
      return LowerSet();
    case Opcode::kSelp:
    case Opcode::kSlct:
      return LowerSelect();
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
    case Opcode::kNot:
      return LowerLogic();
    case Opcode::kCnot:
      return Regular(Op::kCnot);
    case Opcode::kLop3:
      return LowerLop3();
    case Opcode::kShf: {
      Instruction shift = Make(Op::kShf, t);
      shift.variant =
          static_cast<uint8_t>((Has(Modifier::kRight) ? 1 : 0) | (Has(Modifier::kWrap) ? 2 : 0));
      return Typed(shift, Type::kB32, {Type::kB32, Type::kB32, Type::kU32});
    }
    case Opcode::kShl:
      return Typed(Make(Op::kShl, t), t, {t, Type::kU32});
    case Opcode::kShr:
      return Typed(Make(Op::kShr, t), t, {t, Type::kU32});
    case Opcode::kPrmt: {
      Instruction permute = Make(Op::kPrmt, t);
      constexpr Modifier kModes[] = {Modifier::kF4e, Modifier::kB4e, Modifier::kRc8,
                                     Modifier::kEcl, Modifier::kEcr, Modifier::kRc16};
      for (uint8_t i = 0; i < 6; ++i) {
        if (Has(kModes[i])) permute.variant = static_cast<uint8_t>(i + 1);
      }
      return Typed(permute, Type::kB32, {Type::kB32, Type::kB32, Type::kB32});
    }
    default:
      return Unsupported();
  }
}

}  // namespace kernelsmith::vgpu
