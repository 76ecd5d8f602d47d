// Loads, stores, atomics and asynchronous copies.

#include <fmt/format.h>

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

bool IsShared(ptx::Space space) {
  return space == ptx::Space::kShared || space == ptx::Space::kSharedCta ||
         space == ptx::Space::kSharedCluster;
}

MemorySpace SpaceOf(ptx::Space space) {
  if (IsShared(space)) return MemorySpace::kShared;
  if (space == ptx::Space::kLocal) return MemorySpace::kLocal;
  if (space == ptx::Space::kNone) return MemorySpace::kGeneric;
  return MemorySpace::kGlobal;
}

bool IsParam(ptx::Space space) {
  return space == ptx::Space::kParam || space == ptx::Space::kParamEntry ||
         space == ptx::Space::kParamFunc;
}

}  // namespace

// `operand` is the address as written ([a+4]) or a name whose address is taken. `space` is what the
// instruction says; a name's own space decides where the instruction leaves it open.
Result<FunctionLowerer::Address> FunctionLowerer::LowerAddress(const ptx::Operand& operand,
                                                               ptx::Space space) {
  const ptx::Operand* base = &operand;
  if (operand.kind == ptx::OperandKind::kAddress) {
    if (operand.elements.empty()) return Invalid("an address without a base");
    base = &operand.elements[0];
  }
  Address address;
  address.space = SpaceOf(space);
  if (IsParam(space) && !function_.is_entry) address.space = MemorySpace::kLocal;
  address.offset = base->integer;
  if (base->kind == ptx::OperandKind::kInteger) {
    if (base->negated) address.offset = -address.offset;
    return address;
  }
  if (base->kind != ptx::OperandKind::kName) return Unsupported("an address of this form");
  const ptx::Symbol symbol = base->symbol;
  const auto element_offset = [&](const ptx::Variable& variable) {
    return base->has_index
               ? base->integer * ptx::BytesOf(variable.type) * std::max(variable.vector_width, 1)
               : base->integer;
  };
  switch (symbol.kind) {
    case ptx::SymbolKind::kRegister: {
      KS_TRY(address.reg, RegisterOf(*base));
      if (address.reg.bytes() != 4 && address.reg.bytes() != 8) {
        return Invalid("an address register that is neither 32 nor 64 bits wide");
      }
      address.base = address.reg.bytes() == 4 ? AddressBase::kRegister32 : AddressBase::kRegister64;
      return address;
    }
    case ptx::SymbolKind::kParameter:
      if (register_parameters_[symbol.index].exists()) {
        address.reg = register_parameters_[symbol.index];
        address.base =
            address.reg.bytes() == 4 ? AddressBase::kRegister32 : AddressBase::kRegister64;
        return address;
      }
      if (function_.is_entry) {
        address.space = MemorySpace::kGlobal;
        address.base = AddressBase::kParameters;
        uint64_t offset = 0;
        for (uint32_t i = 0; i <= symbol.index; ++i) {
          const ptx::Variable& parameter = function_.parameters[i];
          const auto alignment = static_cast<uint64_t>(std::max(parameter.Alignment(), 1));
          offset = (offset + alignment - 1) / alignment * alignment;
          if (i < symbol.index) offset += parameter.Size();
        }
        address.offset =
            static_cast<int64_t>(offset) + element_offset(function_.parameters[symbol.index]);
        return address;
      }
      address.space = MemorySpace::kLocal;
      address.base = AddressBase::kFrame;
      address.offset =
          out_.parameters[symbol.index].offset + element_offset(function_.parameters[symbol.index]);
      return address;
    case ptx::SymbolKind::kReturn:
      address.space = MemorySpace::kLocal;
      address.base = AddressBase::kFrame;
      address.offset =
          out_.results[symbol.index].offset + element_offset(function_.returns[symbol.index]);
      return address;
    case ptx::SymbolKind::kLocalVariable: {
      const ptx::Variable& variable = function_.variables[symbol.index];
      const int64_t offset =
          element_offset(variable) + static_cast<int64_t>(symbol.number * variable.Size());
      if (IsShared(variable.space)) {
        address.space = MemorySpace::kShared;
        address.offset = kernel_.shared->offsets.at(&variable) + offset;
        return address;
      }
      if (const uint64_t place = kernel_.linker->AddressOf(variable); place != 0) {
        if (address.space != MemorySpace::kGeneric) address.space = MemorySpace::kGlobal;
        address.offset = static_cast<int64_t>(place) + offset;
        return address;
      }
      if (variable.space != ptx::Space::kLocal && variable.space != ptx::Space::kParam) {
        return Unsupported(
            fmt::format("variable {} of this state space inside a function", variable.name));
      }
      address.space = MemorySpace::kLocal;
      address.base = AddressBase::kFrame;
      address.offset = variable_offset_[symbol.index] + offset;
      return address;
    }
    case ptx::SymbolKind::kGlobalVariable: {
      const VariableRef variable = kernel_.linker->ResolveVariable(module_, symbol.index);
      if (!variable) {
        return Invalid(fmt::format("variable {} is declared but not defined anywhere", base->name));
      }
      const int64_t offset = element_offset(*variable.variable) +
                             static_cast<int64_t>(symbol.number * variable.variable->Size());
      if (IsShared(variable.variable->space)) {
        address.space = MemorySpace::kShared;
        address.offset = kernel_.shared->offsets.at(variable.variable) + offset;
        return address;
      }
      const uint64_t place = kernel_.linker->AddressOf(*variable.variable);
      if (place == 0) {
        return Unsupported(fmt::format("variable {} of this state space", base->name));
      }
      if (address.space != MemorySpace::kGeneric) address.space = MemorySpace::kGlobal;
      address.offset = static_cast<int64_t>(place) + offset;
      return address;
    }
    case ptx::SymbolKind::kFunction: {
      const FunctionRef target = kernel_.linker->ResolveFunction(module_, symbol.index);
      if (!target) {
        return Invalid(fmt::format("function {} is declared but not defined anywhere", base->name));
      }
      address.offset = static_cast<int64_t>(kernel_.linker->AddressOf(*target.function));
      return address;
    }
    default:
      return Unsupported(fmt::format("'{}' as an address", base->name));
  }
}

void FunctionLowerer::SetAddress(Instruction& instruction, const Address& address) const {
  instruction.space = address.space;
  instruction.address = address.base;
  instruction.a = address.reg;
  instruction.offset = address.offset;
}

uint32_t FunctionLowerer::AppendList(const std::vector<Operand>& operands) {
  const auto first = static_cast<uint32_t>(out_.list.size());
  out_.list.insert(out_.list.end(), operands.begin(), operands.end());
  return first;
}

Status FunctionLowerer::LowerLoad() {
  const Type t = type();
  Instruction load = Make(Op::kLoad, t);
  KS_TRY(const Address address, LowerAddress(operand(1), mnemonic_->SpaceAt(0)));
  SetAddress(load, address);
  load.bytes = static_cast<uint8_t>(ptx::BytesOf(t));
  load.is_volatile = mnemonic_->semantics != ptx::Semantics::kNone &&
                     mnemonic_->semantics != ptx::Semantics::kWeak;
  load.waits = load.is_volatile;
  const ptx::Operand& target = operand(0);
  // Memory operands of a predicate type do not exist; a register wider than the type gets the value
  // extended by its sign or zeros.
  const auto place = [&](const ptx::Operand& part) -> Result<Operand> {
    if (part.kind == ptx::OperandKind::kSink) return Operand{};
    KS_TRY(const Operand reg, RegisterOf(part));
    if (reg.is_predicate() || reg.bytes() < load.bytes) {
      return Invalid("a register that is too narrow for the load");
    }
    return reg;
  };
  if (target.kind != ptx::OperandKind::kVector && mnemonic_->vector_width <= 1) {
    KS_TRY(load.d, place(target));
    if (!load.d.exists()) load.d = Temporary(t);
    load.register_bytes = static_cast<uint8_t>(load.d.bytes());
    return Append(load);
  }
  std::vector<Operand> operands;
  for (const ptx::Operand& part : target.elements) {
    KS_TRY(const Operand reg, place(part));
    operands.push_back(reg);
    if (!reg.exists()) continue;
    if (load.register_bytes != 0 && load.register_bytes != reg.bytes()) {
      return Unsupported("a vector of registers of different widths");
    }
    load.register_bytes = static_cast<uint8_t>(reg.bytes());
  }
  if (load.register_bytes == 0) load.register_bytes = load.bytes;
  load.width = static_cast<uint8_t>(operands.size());
  load.list_first = AppendList(operands);
  load.list_count = static_cast<uint16_t>(operands.size());
  return Append(load);
}

Status FunctionLowerer::LowerStore() {
  const Type t = type();
  Instruction store = Make(Op::kStore, t);
  KS_TRY(const Address address, LowerAddress(operand(0), mnemonic_->SpaceAt(0)));
  SetAddress(store, address);
  store.bytes = static_cast<uint8_t>(ptx::BytesOf(t));
  store.is_volatile = mnemonic_->semantics != ptx::Semantics::kNone &&
                      mnemonic_->semantics != ptx::Semantics::kWeak;
  const ptx::Operand& source = operand(1);
  // The value in a register at least as wide as the type.
  const auto fetch = [&](const ptx::Operand& part) -> Result<Operand> {
    if (part.IsRegister()) {
      KS_TRY(const Operand reg, RegisterOf(part));
      if (reg.is_predicate() || reg.bytes() < store.bytes) {
        return Invalid("a register that is too narrow for the store");
      }
      return reg;
    }
    return Source(part, t);
  };
  if (source.kind != ptx::OperandKind::kVector) {
    KS_TRY(store.b, fetch(source));
    store.register_bytes = static_cast<uint8_t>(store.b.bytes());
    return Append(store);
  }
  std::vector<Operand> operands;
  for (const ptx::Operand& part : source.elements) {
    KS_TRY(Operand reg, fetch(part));
    // Literals come in the type's width, registers may be wider: all must agree.
    if (store.register_bytes != 0 && store.register_bytes != reg.bytes()) {
      KS_TRY(reg, Source(part, t));
      for (Operand& other : operands) {
        if (other.bytes() != store.bytes) other = Resize(other, WidthOf(t), false);
      }
      if (reg.bytes() != store.bytes) reg = Resize(reg, WidthOf(t), false);
    }
    store.register_bytes = static_cast<uint8_t>(reg.bytes());
    operands.push_back(reg);
  }
  store.width = static_cast<uint8_t>(operands.size());
  store.list_first = AppendList(operands);
  store.list_count = static_cast<uint16_t>(operands.size());
  return Append(store);
}

Status FunctionLowerer::LowerAtomic(bool reduction) {
  const Type t = type();
  Instruction atom = Make(reduction ? Op::kRed : Op::kAtom, t);
  constexpr std::pair<Modifier, AtomicOp> kOperations[] = {
      {Modifier::kAdd, AtomicOp::kAdd},   {Modifier::kMin, AtomicOp::kMin},
      {Modifier::kMax, AtomicOp::kMax},   {Modifier::kInc, AtomicOp::kInc},
      {Modifier::kDec, AtomicOp::kDec},   {Modifier::kAnd, AtomicOp::kAnd},
      {Modifier::kOr, AtomicOp::kOr},     {Modifier::kXor, AtomicOp::kXor},
      {Modifier::kExch, AtomicOp::kExch}, {Modifier::kCas, AtomicOp::kCas},
  };
  bool known = false;
  for (const auto& [modifier, operation] : kOperations) {
    if (Has(modifier)) {
      atom.variant = static_cast<uint8_t>(operation);
      known = true;
    }
  }
  if (!known) return Unsupported();
  const size_t first = reduction ? 0 : 1;
  KS_TRY(const Address address, LowerAddress(operand(first), mnemonic_->SpaceAt(0)));
  SetAddress(atom, address);
  atom.bytes = static_cast<uint8_t>(ptx::BytesOf(t));
  atom.register_bytes = atom.bytes;
  atom.is_volatile = true;
  const ptx::Operand& value = operand(first + 1);
  if (value.kind == ptx::OperandKind::kVector) {
    atom.op = Op::kAtomVector;
    atom.waits = !reduction;
    std::vector<Operand> operands;
    for (const ptx::Operand& part : value.elements) {
      KS_TRY(const Operand reg, Source(part, t));
      operands.push_back(reg);
    }
    atom.width = static_cast<uint8_t>(operands.size());
    if (!reduction) {
      for (const ptx::Operand& part : operand(0).elements) {
        KS_TRY(const Operand reg, Destination(part, t));
        operands.push_back(reg);
      }
    }
    atom.list_first = AppendList(operands);
    atom.list_count = static_cast<uint16_t>(operands.size());
    return Append(atom);
  }
  KS_TRY(atom.b, Source(value, t));
  if (atom.variant == static_cast<uint8_t>(AtomicOp::kCas)) {
    KS_TRY(atom.c, Source(first + 2, t));
  }
  if (!reduction) {
    KS_TRY(atom.d, Destination(0, t));
  }
  return Append(atom);
}

// cp.async{.ca|.cg}.shared.global [dst], [src], size{, src_size | ignore}{, policy}
Status FunctionLowerer::LowerCpAsync() {
  Instruction copy = Make(Op::kCpAsync, Type::kB8);
  KS_TRY(const Address to, LowerAddress(operand(0), ptx::Space::kShared));
  KS_TRY(const Address from, LowerAddress(operand(1), ptx::Space::kGlobal));
  if (operand(2).kind != ptx::OperandKind::kInteger)
    return Unsupported("a size that is no literal");
  // Both addresses as 64-bit values: the instruction has one address form only.
  KS_TRY(copy.a, FlatAddress(to));
  KS_TRY(copy.b, FlatAddress(from));
  copy.bytes = static_cast<uint8_t>(operand(2).integer);
  if (copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16) return Invalid("a copy of this size");
  // The source size, or a predicate: the rest is filled with zeros.
  const size_t policies = Has(Modifier::kL2CacheHint) ? 1 : 0;
  if (count() > 3 + policies) {
    const ptx::Operand& extra = operand(3);
    bool is_predicate = false;
    if (extra.IsRegister()) {
      KS_TRY(const Operand reg, RegisterOf(extra));
      is_predicate = reg.is_predicate();
    }
    if (is_predicate) {
      bool negated = false;
      KS_TRY(copy.e, SourcePredicate(extra, negated));
      copy.negate_c = negated;
    } else {
      KS_TRY(copy.c, Source(extra, Type::kU32));
    }
  }
  return Append(copy);
}

Status FunctionLowerer::LowerMemory() {
  switch (in_->opcode()) {
    case Opcode::kLd:
    case Opcode::kLdu:
      return LowerLoad();
    case Opcode::kSt:
      return LowerStore();
    case Opcode::kAtom:
      return LowerAtomic(false);
    case Opcode::kRed:
      return LowerAtomic(true);
    case Opcode::kCpAsync:
      return LowerCpAsync();
    default:
      return Unsupported();
  }
}

}  // namespace kernelsmith::vgpu
