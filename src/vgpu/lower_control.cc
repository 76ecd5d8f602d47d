// Branches, calls and barriers.

#include <fmt/format.h>

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

std::vector<const ptx::Operand*> FunctionLowerer::PartsOf(const ptx::Operand& operand) {
  if (operand.kind != ptx::OperandKind::kVector) return {&operand};
  std::vector<const ptx::Operand*> parts;
  for (const ptx::Operand& part : operand.elements) parts.push_back(&part);
  return parts;
}

Status FunctionLowerer::LowerControl() {
  switch (in_->opcode()) {
    case Opcode::kCall:
      return LowerCall();
    case Opcode::kBar:
    case Opcode::kBarrier:
      return LowerBarrier();
    case Opcode::kBarrierCluster:
      return LowerClusterBarrier();
    default:
      return LowerBranch();
  }
}

Status FunctionLowerer::LowerBranch() {
  Instruction branch = Make(Op::kBra, Type::kNone);
  switch (in_->opcode()) {
    case Opcode::kBra:
      if (operand(0).symbol.kind != ptx::SymbolKind::kLabel) return Invalid("a branch to no label");
      branch.target = operand(0).symbol.index;
      return Append(branch);
    case Opcode::kBrxIdx: {
      branch.op = Op::kBrxIdx;
      KS_TRY(branch.a, Source(0, Type::kU32));
      if (operand(1).symbol.kind != ptx::SymbolKind::kTargetList) {
        return Invalid("a branch without a list of targets");
      }
      std::vector<uint32_t> targets;
      for (const auto& target : function_.target_lists[operand(1).symbol.index].targets) {
        if (target.symbol.kind != ptx::SymbolKind::kLabel) return Invalid("a branch to no label");
        targets.push_back(target.symbol.index);
      }
      branch.target = static_cast<uint32_t>(out_.branch_targets.size());
      out_.branch_targets.push_back(std::move(targets));
      return Append(branch);
    }
    case Opcode::kRet:
      EmitEpilogue();
      branch.op = Op::kRet;
      return Append(branch);
    case Opcode::kExit:
      branch.op = Op::kExit;
      return Append(branch);
    case Opcode::kTrap:
    case Opcode::kBrkpt:
      branch.op = Op::kTrap;
      return Append(branch);
    default:
      return Unsupported();
  }
}

// The type by which an argument or result that is not a .param variable is passed.
Type FunctionLowerer::ArgumentType(const ptx::Operand& operand, const ptx::Variable* formal) const {
  if (formal != nullptr) return formal->type;
  const ptx::Operand& part =
      operand.kind == ptx::OperandKind::kVector ? operand.elements[0] : operand;
  return part.IsRegister() ? function_.registers[part.symbol.index].type : Type::kNone;
}

// Bytes of this frame for an argument or result that is not a .param variable already.
Result<FrameRange> FunctionLowerer::ScratchRange(const ptx::Operand& operand,
                                                 const ptx::Variable* formal) {
  const Type t = ArgumentType(operand, formal);
  if (t == Type::kNone || t == Type::kPred) return Unsupported("an argument of this form");
  frame_end_ = (frame_end_ + 15) / 16 * 16;
  const auto bytes = static_cast<uint32_t>(ptx::BytesOf(t));
  // No vector register is larger than 16 bytes.
  const FrameRange range{frame_end_, operand.kind == ptx::OperandKind::kVector
                                         ? bytes * static_cast<uint32_t>(operand.elements.size())
                                         : bytes};
  frame_end_ += 16;
  return range;
}

Result<FrameRange> FunctionLowerer::CallArgument(const ptx::Operand& operand,
                                                 const ptx::Variable* formal) {
  if (operand.kind == ptx::OperandKind::kName &&
      operand.symbol.kind == ptx::SymbolKind::kLocalVariable) {
    const ptx::Variable& variable = function_.variables[operand.symbol.index];
    return FrameRange{variable_offset_[operand.symbol.index],
                      static_cast<uint32_t>(variable.Size())};
  }
  if (operand.kind == ptx::OperandKind::kName && !function_.is_entry &&
      operand.symbol.kind == ptx::SymbolKind::kParameter &&
      !register_parameters_[operand.symbol.index].exists()) {
    return out_.parameters[operand.symbol.index];
  }
  KS_TRY(const FrameRange range, ScratchRange(operand, formal));
  const Type t = ArgumentType(operand, formal);
  uint32_t at = range.offset;
  for (const ptx::Operand* part : PartsOf(operand)) {
    KS_TRY(const Operand value, Source(*part, t));
    KS_RETURN_IF_ERROR(Append(FrameAccess(Op::kStore, t, at, value)));
    at += static_cast<uint32_t>(ptx::BytesOf(t));
  }
  return range;
}

Result<FrameRange> FunctionLowerer::CallResult(const ptx::Operand& operand,
                                               const ptx::Variable* formal) {
  if (operand.kind == ptx::OperandKind::kName &&
      operand.symbol.kind == ptx::SymbolKind::kLocalVariable) {
    const ptx::Variable& variable = function_.variables[operand.symbol.index];
    return FrameRange{variable_offset_[operand.symbol.index],
                      static_cast<uint32_t>(variable.Size())};
  }
  if (operand.kind == ptx::OperandKind::kName && operand.symbol.kind == ptx::SymbolKind::kReturn &&
      !register_results_[operand.symbol.index].exists()) {
    return out_.results[operand.symbol.index];
  }
  if (operand.kind == ptx::OperandKind::kSink) return FrameRange{0, 0};
  KS_TRY(const FrameRange range, ScratchRange(operand, formal));
  const Type t = ArgumentType(operand, formal);
  uint32_t at = range.offset;
  for (const ptx::Operand* part : PartsOf(operand)) {
    KS_TRY(const Operand target, RegisterOf(*part));
    after_.push_back(FrameAccess(Op::kLoad, t, at, target));
    at += static_cast<uint32_t>(ptx::BytesOf(t));
  }
  return range;
}

Status FunctionLowerer::LowerCall() {
  const ptx::CallParts parts = ptx::PartsOfCall(*in_);
  if (parts.target == nullptr) return Invalid("a call without a target");
  CallSite site;
  Instruction call = Make(Op::kCall, Type::kNone);
  const std::vector<ptx::Variable>* formals = nullptr;
  const std::vector<ptx::Variable>* formal_results = nullptr;
  if (parts.target->symbol.kind == ptx::SymbolKind::kFunction) {
    const ptx::Function& declared = module_.functions[parts.target->symbol.index];
    formals = &declared.parameters;
    formal_results = &declared.returns;
    const FunctionRef callee = kernel_.linker->ResolveFunction(module_, parts.target->symbol.index);
    if (callee) {
      site.callee = kernel_.functions.at(callee.function);
      if (callee.function->is_entry) return Unsupported("call of a kernel");
    } else {
      if (const math::LibdeviceFunction* function = math::FindLibdeviceFunction(declared.name)) {
        return LowerMathCall(parts, declared, *function);
      }
      site.system = static_cast<uint8_t>(SystemCallOf(declared.name));
      if (site.system == 0) {
        return Unsupported(
            fmt::format("function {} is declared but not defined anywhere", declared.name));
      }
    }
  } else {
    KS_TRY(call.a, Source(*parts.target, Type::kU64));
    if (parts.prototype != nullptr && parts.prototype->symbol.kind == ptx::SymbolKind::kPrototype) {
      const ptx::Prototype& prototype = function_.prototypes[parts.prototype->symbol.index];
      formals = &prototype.parameters;
      formal_results = &prototype.returns;
    }
  }
  const auto formal = [](const std::vector<ptx::Variable>* list, size_t i) {
    return list != nullptr && i < list->size() ? &(*list)[i] : nullptr;
  };
  if (parts.parameters != nullptr) {
    for (size_t i = 0; i < parts.parameters->elements.size(); ++i) {
      KS_TRY(const FrameRange range,
             CallArgument(parts.parameters->elements[i], formal(formals, i)));
      site.arguments.push_back(range);
    }
  }
  if (parts.returns != nullptr) {
    for (size_t i = 0; i < parts.returns->elements.size(); ++i) {
      KS_TRY(const FrameRange range,
             CallResult(parts.returns->elements[i], formal(formal_results, i)));
      site.results.push_back(range);
    }
  }
  call.target = static_cast<uint32_t>(out_.calls.size());
  out_.calls.push_back(std::move(site));
  return Append(call);
}

namespace {
Type TypeOfLetter(char letter) {
  switch (letter) {
    case 'f':
      return Type::kF32;
    case 'd':
      return Type::kF64;
    case 'i':
      return Type::kS32;
    default:
      return Type::kS64;
  }
}
}  // namespace

// Not a call to those who watch: the arguments are loaded from the frame, one instruction on
// registers computes, and its results are stored to the frame or through pointers. So whatever is
// known about values flows through it as through any other instruction.
Status FunctionLowerer::LowerMathCall(const ptx::CallParts& parts, const ptx::Function& declared,
                                      const math::LibdeviceFunction& function) {
  const size_t arguments = function.arguments.size();
  const size_t returned = function.returns_value ? 1 : 0;
  const size_t pointers = function.results.size() - returned;
  const auto is = [](const ptx::Variable& variable, Type t) {
    return variable.Size() == static_cast<uint64_t>(ptx::BytesOf(t));
  };
  bool as_known =
      declared.parameters.size() == arguments + pointers && declared.returns.size() == returned &&
      parts.parameters != nullptr && parts.parameters->elements.size() == arguments + pointers &&
      (returned == 0 || (parts.returns != nullptr && parts.returns->elements.size() == 1 &&
                         is(declared.returns[0], TypeOfLetter(function.results[0]))));
  for (size_t i = 0; as_known && i < declared.parameters.size(); ++i) {
    as_known = is(declared.parameters[i],
                  i < arguments ? TypeOfLetter(function.arguments[i]) : Type::kU64);
  }
  if (!as_known) {
    return Unsupported(fmt::format("{} is declared otherwise than in libdevice", declared.name));
  }
  const auto argument = [&](size_t i, Type t) -> Result<Operand> {
    KS_TRY(const FrameRange range,
           CallArgument(parts.parameters->elements[i], &declared.parameters[i]));
    const Operand value = Temporary(t);
    KS_RETURN_IF_ERROR(Append(FrameAccess(Op::kLoad, t, range.offset, value)));
    return value;
  };
  Instruction call = Make(Op::kMathCall, TypeOfLetter(function.results[0]));
  call.source_type = TypeOfLetter(function.arguments[0]);
  call.target = static_cast<uint32_t>(&function - math::LibdeviceFunctions().data());
  Operand* const sources[] = {&call.a, &call.b, &call.c, &call.e};
  for (size_t i = 0; i < arguments; ++i) {
    KS_TRY(*sources[i], argument(i, TypeOfLetter(function.arguments[i])));
  }
  std::vector<Operand> targets;
  for (size_t i = 0; i < pointers; ++i) {
    KS_TRY(const Operand pointer, argument(arguments + i, Type::kU64));
    targets.push_back(pointer);
  }
  call.d = Temporary(TypeOfLetter(function.results[0]));
  if (function.results.size() > 1) call.d2 = Temporary(TypeOfLetter(function.results[1]));
  KS_RETURN_IF_ERROR(Append(call));
  for (size_t i = 0; i < function.results.size(); ++i) {
    const Type t = TypeOfLetter(function.results[i]);
    const Operand value = i == 0 ? call.d : call.d2;
    if (i < returned) {
      KS_TRY(const FrameRange range, CallResult(parts.returns->elements[i], &declared.returns[i]));
      if (range.size == 0) continue;  // nobody wants it
      KS_RETURN_IF_ERROR(Append(FrameAccess(Op::kStore, t, range.offset, value)));
      continue;
    }
    Instruction store = Make(Op::kStore, t);
    store.space = MemorySpace::kGeneric;
    store.address = AddressBase::kRegister64;
    store.a = targets[i - returned];
    store.b = value;
    store.bytes = static_cast<uint8_t>(ptx::BytesOf(t));
    store.register_bytes = static_cast<uint8_t>(value.bytes());
    KS_RETURN_IF_ERROR(Append(store));
  }
  return {};
}

// bar{.cta}.sync a{, b}; bar.arrive a, b; bar.red.popc d, a{, b}, {!}c; bar.red.op p, a{, b}, {!}c
Status FunctionLowerer::LowerBarrier() {
  Instruction barrier = Make(Op::kBarrier, Type::kNone);
  size_t next = 0;
  size_t last = count();
  if (Has(Modifier::kRed)) {
    const bool popc = Has(Modifier::kPopc);
    barrier.bool_op = Has(Modifier::kAnd) ? ptx::BoolOp::kAnd : ptx::BoolOp::kOr;
    if (count() < 3) return Invalid("too few operands");
    KS_TRY(barrier.d, Destination(0, popc ? Type::kU32 : Type::kPred));
    bool negated = false;
    KS_TRY(barrier.c, SourcePredicate(operand(count() - 1), negated));
    barrier.negate_c = negated;
    next = 1;
    last = count() - 1;
  } else if (Has(Modifier::kArrive)) {
    barrier.variant = static_cast<uint8_t>(BarrierKind::kArrive);
  }
  if (next < last) {
    KS_TRY(barrier.a, Source(next, Type::kU32));
    ++next;
  } else {
    barrier.a = Constant(LaneWidth::k4, 0);
  }
  if (next < last) {
    KS_TRY(barrier.b, Source(next, Type::kU32));
  }
  return Append(barrier);
}

// barrier.cluster.arrive, barrier.cluster.wait
Status FunctionLowerer::LowerClusterBarrier() {
  if (Has(Modifier::kArrive)) return Append(Make(Op::kClusterArrive, Type::kNone));
  // Waits in a loop for the others of the cluster; then the block's own threads meet, which is
  // what observers see of it.
  Instruction test = Make(Op::kClusterTest, Type::kPred);
  test.d = Temporary(LaneWidth::kPredicate);
  Instruction again = Make(Op::kBra, Type::kNone);
  again.target = static_cast<uint32_t>(label_pc_.size());
  label_pc_.push_back(static_cast<uint32_t>(out_.code.size()));
  KS_RETURN_IF_ERROR(Append(test));
  again.guard = test.d;
  again.guard_negated = true;
  KS_RETURN_IF_ERROR(Append(again));
  Instruction barrier = Make(Op::kBarrier, Type::kNone);
  barrier.a = Constant(LaneWidth::k4, 0);
  return Append(barrier);
}

}  // namespace kernelsmith::vgpu
