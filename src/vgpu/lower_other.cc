// Fences, groups of copies, the stack, and what does nothing here.

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

using ptx::Opcode;
using ptx::Type;

Status FunctionLowerer::LowerStack() {
  out_.uses_alloca = true;
  switch (in_->opcode()) {
    case Opcode::kStacksave: {
      Instruction save = Make(Op::kStackSave, Type::kU64);
      KS_TRY(save.d, Destination(0, Type::kU64));
      return Append(save);
    }
    case Opcode::kStackrestore: {
      Instruction restore = Make(Op::kStackRestore, Type::kU64);
      KS_TRY(restore.a, Source(0, Type::kU64));
      return Append(restore);
    }
    default: {
      Instruction allocate = Make(Op::kAlloca, Type::kU64);
      KS_TRY(allocate.a, Source(1, Type::kU64));
      allocate.offset = 16;
      if (count() > 2 && operand(2).kind == ptx::OperandKind::kInteger) {
        allocate.offset = operand(2).integer;
      }
      if (allocate.offset < 16) allocate.offset = 16;
      if (allocate.offset > 4096) return Unsupported("an alignment above 4096");
      KS_TRY(allocate.d, Destination(0, Type::kU64));
      return Append(allocate);
    }
  }
}

Status FunctionLowerer::LowerOther() {
  switch (in_->opcode()) {
    case Opcode::kNanosleep: {
      Instruction sleep = Make(Op::kNanosleep, Type::kU32);
      KS_TRY(sleep.a, Source(0, Type::kU32));
      return Append(sleep);
    }
    case Opcode::kCreatepolicy: {
      Instruction policy = Make(Op::kMov, Type::kB64);
      policy.a = Constant(LaneWidth::k8, 0);
      KS_TRY(policy.d, Destination(0, Type::kB64));
      return Append(policy);
    }
    case Opcode::kMembar:
    case Opcode::kFence:
    case Opcode::kFenceProxy: {
      Instruction fence = Make(Op::kFence, Type::kNone);
      return Append(fence);
    }
    case Opcode::kCpAsyncCommitGroup:
    case Opcode::kCpAsyncWaitGroup:
    case Opcode::kCpAsyncWaitAll: {
      Instruction group = Make(Op::kAsyncGroup, Type::kNone);
      group.variant =
          static_cast<uint8_t>(in_->opcode() == Opcode::kCpAsyncCommitGroup ? AsyncOp::kCommit
                               : in_->opcode() == Opcode::kCpAsyncWaitGroup ? AsyncOp::kWait
                                                                            : AsyncOp::kWaitAll);
      if (count() > 0 && operand(0).kind == ptx::OperandKind::kInteger) {
        group.offset = operand(0).integer;
      }
      return Append(group);
    }
    case Opcode::kStacksave:
    case Opcode::kStackrestore:
    case Opcode::kAlloca:
      return LowerStack();
    default:
      return Unsupported();
  }
}

// Bulk copies and wgmma are done when they are issued, so that there is nothing to wait for; there
// is no cache to prefetch to, and registers are not scarce.
Status FunctionLowerer::LowerNothing() {
  if (in_->opcode() == Opcode::kGriddepcontrol && in_->Has(ptx::Modifier::kWait)) {
    return Append(Make(Op::kFence, Type::kNone));
  }
  return Append(Make(Op::kNop, Type::kNone));
}

}  // namespace kernelsmith::vgpu
