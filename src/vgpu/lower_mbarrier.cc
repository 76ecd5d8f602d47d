// Lowering of mbarrier instructions.
#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

Status FunctionLowerer::LowerMbarrier() {
  Instruction barrier = Make(Op::kMbarrier, Type::kB64);
  barrier.bytes = 8;
  barrier.register_bytes = 8;
  barrier.is_volatile = true;
  const auto set = [&](MbarrierOp op) { barrier.variant = static_cast<uint8_t>(op); };
  if (in_->opcode() == Opcode::kMbarrierPendingCount) {
    set(MbarrierOp::kPendingCount);
    KS_TRY(barrier.a, Source(1, Type::kB64));
    KS_TRY(barrier.d, Destination(0, Type::kB32));
    return Append(barrier);
  }
  // The forms for other blocks of a cluster have no result.
  const bool has_result = operand(0).kind != ptx::OperandKind::kAddress;
  const size_t at = has_result ? 1 : 0;
  if (count() <= at) return Invalid("too few operands");
  KS_TRY(const Address address, LowerAddress(operand(at), mnemonic_->SpaceAt(0)));
  SetAddress(barrier, address);
  const bool has_value = count() > at + 1;
  const bool expects = Has(Modifier::kExpectTx);
  Type result = Type::kB64;
  Type value = Type::kB32;
  switch (in_->opcode()) {
    case Opcode::kMbarrierInit:
      set(MbarrierOp::kInit);
      break;
    case Opcode::kMbarrierInval:
      set(MbarrierOp::kInval);
      break;
    case Opcode::kMbarrierExpectTx:
      set(MbarrierOp::kExpect);
      break;
    case Opcode::kMbarrierCompleteTx:
      set(MbarrierOp::kComplete);
      break;
    case Opcode::kMbarrierArrive:
      set(expects ? MbarrierOp::kArriveExpect : MbarrierOp::kArrive);
      break;
    case Opcode::kMbarrierArriveDrop:
      set(expects ? MbarrierOp::kArriveDropExpect : MbarrierOp::kArriveDrop);
      break;
    case Opcode::kCpAsyncMbarrierArrive: {
      // Copies are done when they are issued, so the arrival happens now. Without .noinc the count
      // of missing arrivals is raised before: nothing changes.
      Instruction arrive = Make(Op::kAsyncGroup, Type::kB64);
      arrive.variant = static_cast<uint8_t>(AsyncOp::kArrive);
      SetAddress(arrive, address);
      KS_RETURN_IF_ERROR(Append(arrive));
      if (!Has(Modifier::kNoinc)) return {};
      set(MbarrierOp::kArrive);
      break;
    }
    case Opcode::kMbarrierTestWait:
    case Opcode::kMbarrierTryWait:
      // A time limit of try_wait changes nothing: it never blocks here.
      barrier.waits = true;
      result = Type::kPred;
      value = Has(Modifier::kParity) ? Type::kB32 : Type::kB64;
      set(Has(Modifier::kParity) ? MbarrierOp::kTestParity : MbarrierOp::kTest);
      break;
    default:
      return Unsupported();
  }
  if (has_value) {
    KS_TRY(barrier.b, Source(at + 1, value));
  }
  if (has_result) {
    KS_TRY(barrier.d, Destination(0, result));
  }
  return Append(barrier);
}

}  // namespace kernelsmith::vgpu
