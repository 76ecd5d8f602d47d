// The instructions that bring lanes of a warp together.

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

Status FunctionLowerer::LowerShfl() {
  Instruction shuffle = Make(Op::kShfl, Type::kB32);
  shuffle.variant = static_cast<uint8_t>(Has(Modifier::kUp)     ? ShuffleMode::kUp
                                         : Has(Modifier::kDown) ? ShuffleMode::kDown
                                         : Has(Modifier::kBfly) ? ShuffleMode::kBfly
                                                                : ShuffleMode::kIdx);
  const ptx::Operand& target = operand(0);
  KS_TRY(shuffle.a, Source(1, Type::kB32));
  KS_TRY(shuffle.b, Source(2, Type::kB32));
  KS_TRY(shuffle.c, Source(3, Type::kB32));
  if (Has(Modifier::kSync)) {
    KS_TRY(shuffle.e, Source(4, Type::kB32));
  } else {
    shuffle.e = Constant(LaneWidth::k4, 0);  // the old form waits for nobody
  }
  if (target.kind == ptx::OperandKind::kPair) {
    KS_TRY(shuffle.d, Destination(target.elements[0], Type::kB32));
    KS_TRY(shuffle.d2, Destination(target.elements[1], Type::kPred));
  } else {
    KS_TRY(shuffle.d, Destination(target, Type::kB32));
  }
  return Append(shuffle);
}

Status FunctionLowerer::LowerVote() {
  Instruction vote = Make(Op::kVote, type());
  const bool ballot = Has(Modifier::kBallot);
  vote.variant = static_cast<uint8_t>(ballot                ? VoteMode::kBallot
                                      : Has(Modifier::kAll) ? VoteMode::kAll
                                      : Has(Modifier::kAny) ? VoteMode::kAny
                                                            : VoteMode::kUni);
  bool negated = false;
  KS_TRY(vote.c, SourcePredicate(operand(1), negated));
  vote.negate_c = negated;
  if (Has(Modifier::kSync)) {
    KS_TRY(vote.e, Source(2, Type::kB32));
  } else {
    vote.e = Constant(LaneWidth::k4, 0);
  }
  KS_TRY(vote.d, Destination(0, ballot ? Type::kB32 : Type::kPred));
  return Append(vote);
}

Status FunctionLowerer::LowerWarp() {
  switch (in_->opcode()) {
    case Opcode::kShfl:
      return LowerShfl();
    case Opcode::kVote:
      return LowerVote();
    case Opcode::kActivemask: {
      Instruction mask = Make(Op::kActivemask, Type::kB32);
      KS_TRY(mask.d, Destination(0, Type::kB32));
      return Append(mask);
    }
    case Opcode::kBarWarpSync: {
      Instruction sync = Make(Op::kBarWarpSync, Type::kNone);
      KS_TRY(sync.e, Source(0, Type::kB32));
      return Append(sync);
    }
    case Opcode::kMatch: {
      const bool all = Has(Modifier::kAll);
      Instruction match = Make(all ? Op::kMatchAll : Op::kMatchAny, type());
      KS_TRY(match.a, Source(1, type()));
      KS_TRY(match.e, Source(2, Type::kB32));
      const ptx::Operand& target = operand(0);
      if (target.kind == ptx::OperandKind::kPair) {
        KS_TRY(match.d, Destination(target.elements[0], Type::kB32));
        KS_TRY(match.d2, Destination(target.elements[1], Type::kPred));
      } else {
        KS_TRY(match.d, Destination(target, Type::kB32));
      }
      return Append(match);
    }
    case Opcode::kRedux: {
      Instruction reduce = Make(Op::kRedux, type());
      constexpr std::pair<Modifier, ReduxOp> kOperations[] = {
          {Modifier::kAdd, ReduxOp::kAdd}, {Modifier::kMin, ReduxOp::kMin},
          {Modifier::kMax, ReduxOp::kMax}, {Modifier::kAnd, ReduxOp::kAnd},
          {Modifier::kOr, ReduxOp::kOr},   {Modifier::kXor, ReduxOp::kXor}};
      for (const auto& [modifier, operation] : kOperations) {
        if (Has(modifier)) reduce.variant = static_cast<uint8_t>(operation);
      }
      reduce.nan = Has(Modifier::kPropagateNan);
      reduce.xorsign = Has(Modifier::kAbs);
      KS_TRY(reduce.a, Source(1, type()));
      KS_TRY(reduce.e, Source(2, Type::kB32));
      KS_TRY(reduce.d, Destination(0, type()));
      return Append(reduce);
    }
    case Opcode::kElect: {
      Instruction elect = Make(Op::kElect, Type::kB32);
      KS_TRY(elect.e, Source(1, Type::kB32));
      const ptx::Operand& target = operand(0);
      if (target.kind != ptx::OperandKind::kPair) return Invalid("elect needs d|p");
      KS_TRY(elect.d, Destination(target.elements[0], Type::kB32));
      KS_TRY(elect.d2, Destination(target.elements[1], Type::kPred));
      return Append(elect);
    }
    default:
      return Unsupported();
  }
}

}  // namespace kernelsmith::vgpu
