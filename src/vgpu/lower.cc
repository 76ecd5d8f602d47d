#include "vgpu/lower.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <set>

#include "ptx/ptx.h"
#include "ptx/whole_vectors.h"
#include "support/demangle.h"
#include "vgpu/function_lowerer.h"
#include "vgpu/handlers/handlers.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::vgpu {

namespace {

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Local memory of one frame; also keeps sums of hostile sizes small.
constexpr uint64_t kMaxFrame = kLocalWindowSize;
constexpr uint64_t kMaxSharedBytes = kSharedWindowSize;
// 2^27 bytes of registers is what an operand can address.
constexpr size_t kMaxRegisters = 200'000;

}  // namespace

LaneWidth WidthOf(ptx::Type type) {
  if (type == ptx::Type::kPred) return LaneWidth::kPredicate;
  const int bits = ptx::BitsOf(type);
  if (bits <= 8) return LaneWidth::k1;
  if (bits <= 16) return LaneWidth::k2;
  if (bits <= 32) return LaneWidth::k4;
  if (bits <= 64) return LaneWidth::k8;
  return LaneWidth::k16;
}

bool IsSignedType(ptx::Type type) { return ptx::KindOf(type) == ptx::TypeKind::kSigned; }

Result<SharedLayout> LayOutShared(const Linker& linker, FunctionRef entry) {
  SharedLayout layout;
  uint64_t size = 0;
  uint64_t dynamic_alignment = 16;
  std::vector<const ptx::Variable*> dynamic;
  Status status;
  const auto place = [&](const ptx::Module& module, const ptx::Variable& variable) {
    if (layout.offsets.contains(&variable) || !status.ok()) return;
    const auto alignment = static_cast<uint64_t>(std::max(variable.Alignment(), 1));
    if (variable.Size() == 0) {
      dynamic_alignment = std::max(dynamic_alignment, alignment);
      dynamic.push_back(&variable);
      layout.offsets[&variable] = 0;
      return;
    }
    size = AlignUp(size, alignment);
    layout.offsets[&variable] = static_cast<uint32_t>(size);
    if (variable.Size() > kMaxSharedBytes || variable.count > kMaxSharedBytes) {
      size = kMaxSharedBytes + 1;
    } else {
      size += variable.Size() * std::max<uint64_t>(variable.count, 1);
    }
    if (size > kMaxSharedBytes) {
      status = ErrorAt(
          ErrorKind::kInvalidInput, module, variable.where,
          fmt::format("kernel {} has too much shared memory", KernelName(entry.function->name)));
    }
  };
  for (const FunctionRef& ref : linker.FindReachable(entry).functions) {
    for (const ptx::Variable& variable : ref.function->variables) {
      if (variable.space == ptx::Space::kShared || variable.space == ptx::Space::kSharedCta) {
        place(*ref.module, variable);
      }
    }
    for (const ptx::Instruction& instruction : ref.function->instructions) {
      for (const ptx::Operand& operand : instruction.operands) {
        VisitOperand(operand, [&](const ptx::Operand& part) {
          if (part.symbol.kind != ptx::SymbolKind::kGlobalVariable) return;
          const VariableRef variable = linker.ResolveVariable(*ref.module, part.symbol.index);
          if (variable && (variable.variable->space == ptx::Space::kShared ||
                           variable.variable->space == ptx::Space::kSharedCta)) {
            place(*variable.module, *variable.variable);
          }
        });
      }
    }
  }
  if (!status.ok()) return status.error();
  layout.static_bytes = static_cast<uint32_t>(size);
  layout.dynamic_offset = static_cast<uint32_t>(AlignUp(size, dynamic_alignment));
  for (const ptx::Variable* variable : dynamic) layout.offsets[variable] = layout.dynamic_offset;
  return layout;
}

// ---- registers and operands -----------------------------------------------------------------

uint32_t FunctionLowerer::NewRegister(LaneWidth width) {
  registers_.push_back(width);
  return static_cast<uint32_t>(registers_.size() - 1);
}

Operand FunctionLowerer::Temporary(LaneWidth width) {
  return Operand::At(OperandBase::kRegister, width, NewRegister(width));
}

Operand FunctionLowerer::Temporary(ptx::Type type) { return Temporary(WidthOf(type)); }

Operand FunctionLowerer::Constant(LaneWidth width, uint64_t low, uint64_t high) {
  const uint32_t bytes = width == LaneWidth::kPredicate ? 4 : 1u << static_cast<uint32_t>(width);
  if (bytes < 8) low &= (uint64_t{1} << (8 * bytes)) - 1;
  const auto [it, inserted] = constants_.try_emplace({width, low, high});
  if (!inserted) return it->second;
  std::vector<std::byte>& pool = out_.constants;
  // Every constant starts on a line of its own, so that vector loads are aligned.
  pool.resize(AlignUp(pool.size(), 64));
  it->second = Operand::At(OperandBase::kConstant, width, static_cast<uint32_t>(pool.size()));
  const uint64_t value[2] = {low, high};
  const int copies = width == LaneWidth::kPredicate ? 1 : kWarpSize;
  for (int i = 0; i < copies; ++i) {
    const auto* first = reinterpret_cast<const std::byte*>(value);
    pool.insert(pool.end(), first, first + bytes);
  }
  return it->second;
}

Operand FunctionLowerer::PredicateConstant(bool value) {
  return Constant(LaneWidth::kPredicate, value ? kFullMask : 0);
}

Operand FunctionLowerer::ElementAt(Operand first, int element) {
  return Operand::At(OperandBase::kRegister, first.width(),
                     first.offset() + static_cast<uint32_t>(element));
}

Result<Operand> FunctionLowerer::RegisterOf(const ptx::Operand& operand) {
  // What the validator leaves alone (textures) gets here unseen.
  const int vector_width = std::max(ptx::RegisterWidth(function_, operand), 1);
  const int element = ptx::ElementOf(operand.selector);
  if (vector_width == 1 ? element >= 0 : element < 0 || element >= vector_width) {
    return Invalid(fmt::format("'{}' with this selector is not a register", operand.name));
  }
  const int place = std::max(element, 0);
  switch (operand.symbol.kind) {
    case ptx::SymbolKind::kRegister: {
      const uint32_t index = first_register_[operand.symbol.index] +
                             operand.symbol.number * static_cast<uint32_t>(vector_width) +
                             static_cast<uint32_t>(place);
      return Operand::At(OperandBase::kRegister, registers_[index], index);
    }
    case ptx::SymbolKind::kParameter:
      if (register_parameters_[operand.symbol.index].exists()) {
        return ElementAt(register_parameters_[operand.symbol.index], place);
      }
      break;
    case ptx::SymbolKind::kReturn:
      if (register_results_[operand.symbol.index].exists()) {
        return ElementAt(register_results_[operand.symbol.index], place);
      }
      break;
    default:
      break;
  }
  return Invalid(fmt::format("'{}' is not a register", operand.name));
}

Operand FunctionLowerer::Resize(Operand from, LaneWidth to, bool sign_extend) {
  const Operand result = Temporary(to);
  Instruction resize = Make(Op::kResize, ptx::Type::kNone);
  resize.d = result;
  resize.a = from;
  resize.variant = sign_extend ? 1 : 0;
  KS_CHECK(Append(resize).ok());
  return result;
}

Result<Operand> FunctionLowerer::AddressOfSymbol(const ptx::Operand& operand, ptx::Type type) {
  const LaneWidth width = WidthOf(type);
  KS_TRY(const Address address, LowerAddress(operand, ptx::Space::kNone));
  switch (address.base) {
    case AddressBase::kFrame:
    case AddressBase::kParameters: {
      Instruction get =
          Make(address.base == AddressBase::kFrame ? Op::kFrameAddress : Op::kParameterAddress,
               ptx::Type::kU64);
      get.d = Temporary(LaneWidth::k8);
      get.offset = address.offset;
      KS_RETURN_IF_ERROR(Append(get));
      return width == LaneWidth::k8 ? get.d : Resize(get.d, width, false);
    }
    default:
      return Constant(width, static_cast<uint64_t>(address.offset));
  }
}

namespace {

// The bits of a literal as a value of `type`.
uint64_t LiteralBits(const ptx::Operand& operand, ptx::Type type) {
  if (operand.kind == ptx::OperandKind::kInteger) {
    const int64_t value = operand.negated ? -operand.integer : operand.integer;
    if (type == ptx::Type::kF64) {
      return std::bit_cast<uint64_t>(operand.is_unsigned
                                         ? static_cast<double>(static_cast<uint64_t>(value))
                                         : static_cast<double>(value));
    }
    if (type == ptx::Type::kF32) return std::bit_cast<uint32_t>(static_cast<float>(value));
    return static_cast<uint64_t>(value);
  }
  const int bits = ptx::BitsOf(type);
  if (operand.is_single) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(operand.bits));
    if (operand.negated) value = -value;
    return bits == 64 ? std::bit_cast<uint64_t>(static_cast<double>(value))
                      : std::bit_cast<uint32_t>(value);
  }
  double value = std::bit_cast<double>(operand.bits);
  if (operand.negated) value = -value;
  return bits == 64 ? std::bit_cast<uint64_t>(value)
                    : std::bit_cast<uint32_t>(static_cast<float>(value));
}

}  // namespace

Result<Operand> FunctionLowerer::Source(const ptx::Operand& operand, ptx::Type type) {
  const LaneWidth width = WidthOf(type);
  Operand value;
  switch (operand.kind) {
    case ptx::OperandKind::kInteger:
    case ptx::OperandKind::kFloat:
      if (width == LaneWidth::kPredicate) return PredicateConstant(operand.integer != 0);
      return Constant(width, LiteralBits(operand, type));
    case ptx::OperandKind::kSpecialRegister: {
      KS_TRY(value, SpecialRegisterOf(operand));
      break;
    }
    case ptx::OperandKind::kSink:
      return Constant(width, 0);
    case ptx::OperandKind::kName: {
      const bool is_register = operand.symbol.kind == ptx::SymbolKind::kRegister ||
                               (operand.symbol.kind == ptx::SymbolKind::kParameter &&
                                register_parameters_[operand.symbol.index].exists()) ||
                               (operand.symbol.kind == ptx::SymbolKind::kReturn &&
                                register_results_[operand.symbol.index].exists());
      if (!is_register) return AddressOfSymbol(operand, type);
      KS_TRY(value, RegisterOf(operand));
      break;
    }
    default:
      return Unsupported("an operand of this form");
  }
  if (value.width() == width) return value;
  if (value.is_predicate() || width == LaneWidth::kPredicate) {
    return Invalid("a predicate where a value is expected, or the other way round");
  }
  return Resize(value, width, IsSignedType(type));
}

Result<Operand> FunctionLowerer::Source(size_t index, ptx::Type type) {
  if (index >= count()) return Invalid("too few operands");
  return Source(operand(index), type);
}

Result<Operand> FunctionLowerer::SourcePredicate(const ptx::Operand& operand, bool& negated) {
  negated = operand.negated && operand.kind == ptx::OperandKind::kName;
  return Source(operand, ptx::Type::kPred);
}

Result<Operand> FunctionLowerer::Destination(const ptx::Operand& operand, ptx::Type type) {
  const LaneWidth width = WidthOf(type);
  if (operand.kind == ptx::OperandKind::kSink) return Temporary(width);
  KS_TRY(const Operand target, RegisterOf(operand));
  if (target.width() == width) return target;
  if (target.is_predicate() || width == LaneWidth::kPredicate) {
    return Invalid("a predicate where a value is expected, or the other way round");
  }
  const Operand narrow = Temporary(width);
  Instruction resize = Make(Op::kResize, ptx::Type::kNone);
  resize.d = target;
  resize.a = narrow;
  resize.variant = IsSignedType(type) ? 1 : 0;
  after_.push_back(resize);
  return narrow;
}

Result<Operand> FunctionLowerer::Destination(size_t index, ptx::Type type) {
  if (index >= count()) return Invalid("too few operands");
  return Destination(operand(index), type);
}

// ---- emission -------------------------------------------------------------------------------

Instruction FunctionLowerer::Make(Op op, ptx::Type type) {
  Instruction instruction;
  instruction.op = op;
  instruction.type = type;
  instruction.guard = guard_;
  instruction.guard_negated = guard_negated_;
  instruction.location = location_;
  if (mnemonic_ != nullptr) {
    instruction.ftz = mnemonic_->ftz;
    instruction.sat = mnemonic_->sat;
    instruction.satfinite = mnemonic_->satfinite;
    instruction.relu = mnemonic_->relu;
    instruction.approx = mnemonic_->approx;
    instruction.rounding = mnemonic_->rounding;
    instruction.comparison = mnemonic_->comparison;
    instruction.bool_op = mnemonic_->bool_op;
  }
  return instruction;
}

Status FunctionLowerer::Append(Instruction instruction) {
  instruction.control = IsControl(instruction.op);
  if (AlwaysWaits(instruction.op)) instruction.waits = true;
  if (instruction.handler == nullptr) {
    instruction.handler = FindHandler(instruction, kernel_.cpu);
    if (instruction.handler == nullptr && !instruction.control) return Unsupported();
  }
  out_.code.push_back(instruction);
  return {};
}

Error FunctionLowerer::Unsupported(const std::string& why) const {
  std::string message = fmt::format("unsupported instruction '{}'",
                                    mnemonic_ != nullptr ? mnemonic_->text : std::string("?"));
  if (!why.empty()) message += ": " + why;
  return ErrorAt(ErrorKind::kUnsupported, module_, in_ != nullptr ? in_->where : function_.where,
                 message + fmt::format(" (in {})", function_.name));
}

Error FunctionLowerer::Invalid(std::string why) const {
  return ErrorAt(ErrorKind::kInvalidInput, module_, in_ != nullptr ? in_->where : function_.where,
                 fmt::format("{} (in {})", why, function_.name));
}

// ---- the function ---------------------------------------------------------------------------

Status FunctionLowerer::LayOutFrame() {
  uint64_t end = 0;
  uint64_t largest = 0;
  const auto place = [&](uint64_t size, uint64_t alignment) {
    end = AlignUp(end, std::clamp<uint64_t>(alignment, 1, 256));
    const uint64_t at = end;
    end += std::min(size, kMaxFrame);
    largest = std::max(largest, end);
    return static_cast<uint32_t>(std::min(at, kMaxFrame));
  };
  const auto place_all = [&](const std::vector<ptx::Variable>& variables,
                             std::vector<FrameRange>& ranges) {
    for (const ptx::Variable& variable : variables) {
      const auto size = static_cast<uint32_t>(std::min(variable.Size(), kMaxFrame));
      ranges.push_back({place(size, variable.Alignment()), size});
    }
  };
  if (!function_.is_entry) {
    place_all(function_.parameters, out_.parameters);
    place_all(function_.returns, out_.results);
  }
  variable_offset_.assign(function_.variables.size(), 0);
  // Variables of blocks that do not overlap share their bytes.
  std::vector<uint64_t> scopes;
  for (const ptx::Statement& statement : function_.body) {
    if (statement.kind == ptx::StatementKind::kBlockBegin) {
      scopes.push_back(end);
    } else if (statement.kind == ptx::StatementKind::kBlockEnd) {
      if (scopes.empty()) continue;
      end = scopes.back();
      scopes.pop_back();
    } else if (statement.kind == ptx::StatementKind::kVariable) {
      const ptx::Variable& variable = function_.variables[statement.index];
      if (variable.space == ptx::Space::kLocal || variable.space == ptx::Space::kParam) {
        const uint64_t copies = std::clamp<uint64_t>(variable.count, 1, kMaxFrame);
        const uint64_t size = std::min(variable.Size(), kMaxFrame);
        variable_offset_[statement.index] =
            place(size > kMaxFrame / copies ? kMaxFrame + 1 : size * copies, variable.Alignment());
      }
    }
    if (largest > kMaxFrame) {
      return ErrorAt(ErrorKind::kInvalidInput, module_, function_.where,
                     fmt::format("{} has too much local memory", function_.name));
    }
  }
  frame_end_ = static_cast<uint32_t>(AlignUp(largest, 16));
  out_.frame_bytes = frame_end_;
  out_.frame_end = static_cast<uint32_t>(largest);
  return {};
}

Status FunctionLowerer::DeclareRegisters() {
  size_t total = 0;
  for (const ptx::Register& declared : function_.registers) {
    const auto width = static_cast<size_t>(std::max(declared.vector_width, 1));
    total += declared.count * width;
    if (total > kMaxRegisters) {
      return ErrorAt(ErrorKind::kUnsupported, module_, declared.where,
                     fmt::format("{} has more than {} registers", function_.name, kMaxRegisters));
    }
    first_register_.push_back(static_cast<uint32_t>(registers_.size()));
    registers_.insert(registers_.end(), declared.count * width, WidthOf(declared.type));
  }
  carry_ = Temporary(LaneWidth::kPredicate);
  const auto declare = [&](const std::vector<ptx::Variable>& variables,
                           std::vector<Operand>& operands) {
    for (const ptx::Variable& variable : variables) {
      operands.push_back(variable.space == ptx::Space::kReg ? Temporary(variable.type) : Operand{});
      for (int i = 1; variable.space == ptx::Space::kReg && i < variable.vector_width; ++i) {
        NewRegister(WidthOf(variable.type));
      }
    }
  };
  declare(function_.parameters, register_parameters_);
  declare(function_.returns, register_results_);
  return {};
}

Instruction FunctionLowerer::FrameAccess(Op op, ptx::Type type, uint32_t offset, Operand reg) {
  Instruction access = Make(op, type);
  access.space = MemorySpace::kLocal;
  access.address = AddressBase::kFrame;
  access.offset = offset;
  access.bytes = static_cast<uint8_t>(ptx::BytesOf(type));
  access.register_bytes = static_cast<uint8_t>(reg.bytes());
  (op == Op::kLoad ? access.d : access.b) = reg;
  return access;
}

void FunctionLowerer::AppendFrameAccesses(Op op, const ptx::Variable& variable, uint32_t offset,
                                          Operand first) {
  const auto bytes = static_cast<uint32_t>(ptx::BytesOf(variable.type));
  for (int i = 0; i < std::max(variable.vector_width, 1); ++i) {
    const uint32_t at = offset + static_cast<uint32_t>(i) * bytes;
    KS_CHECK(Append(FrameAccess(op, variable.type, at, ElementAt(first, i))).ok());
  }
}

void FunctionLowerer::EmitPrologue() {
  for (size_t i = 0; i < register_parameters_.size() && !function_.is_entry; ++i) {
    const Operand reg = register_parameters_[i];
    if (!reg.exists() || reg.is_predicate()) continue;
    AppendFrameAccesses(Op::kLoad, function_.parameters[i], out_.parameters[i].offset, reg);
  }
}

void FunctionLowerer::EmitEpilogue() {
  for (size_t i = 0; i < register_results_.size() && !function_.is_entry; ++i) {
    const Operand reg = register_results_[i];
    if (!reg.exists() || reg.is_predicate()) continue;
    AppendFrameAccesses(Op::kStore, function_.returns[i], out_.results[i].offset, reg);
  }
}

// Which part lowers an instruction stands in its row of the table.
Status FunctionLowerer::Dispatch() {
  switch (in_->opcode()) {
#define PTX_OPCODE(id, text, lowering) \
  case ptx::Opcode::k##id:             \
    return Lower##lowering();
#include "ptx/instructions.def"
  }
  KS_UNREACHABLE();
}

Status FunctionLowerer::LowerInstruction(const ptx::Instruction& instruction) {
  const std::optional<ptx::Instruction> expanded = ptx::ExpandWholeVectors(function_, instruction);
  in_ = expanded ? &*expanded : &instruction;
  mnemonic_ = instruction.mnemonic.get();
  location_ = static_cast<uint32_t>(out_.locations.size());
  out_.locations.push_back(
      {.ptx = instruction.where, .loc = instruction.loc, .syntax = &instruction});
  guard_ = PredicateConstant(true);
  guard_negated_ = false;
  if (instruction.guard) {
    ptx::Operand name;
    name.kind = ptx::OperandKind::kName;
    name.symbol = instruction.guard.symbol;
    name.name = instruction.guard.name;
    KS_TRY(guard_, RegisterOf(name));
    if (!guard_.is_predicate()) return Invalid("the guard is not a predicate");
    guard_negated_ = instruction.guard.negated;
  }
  // A guard that the instruction itself changes must not change for the resizes behind it.
  after_.clear();
  KS_RETURN_IF_ERROR(Dispatch());
  for (const Instruction& follow : after_) KS_RETURN_IF_ERROR(Append(follow));
  in_ = &instruction;
  return {};
}

Status FunctionLowerer::LowerStatements() {
  label_pc_.assign(function_.labels.size(), 0);
  for (const ptx::Statement& statement : function_.body) {
    if (statement.kind == ptx::StatementKind::kLabel) {
      label_pc_[statement.index] = static_cast<uint32_t>(out_.code.size());
    } else if (statement.kind == ptx::StatementKind::kInstruction) {
      KS_RETURN_IF_ERROR(LowerInstruction(function_.instructions[statement.index]));
    }
  }
  return {};
}

Status FunctionLowerer::ResolveBranches() {
  for (Instruction& instruction : out_.code) {
    if (instruction.op == Op::kBra) instruction.target = label_pc_[instruction.target];
  }
  for (auto& targets : out_.branch_targets) {
    for (uint32_t& target : targets) target = label_pc_[target];
  }
  return {};
}

Status FunctionLowerer::Run() {
  out_.name = function_.name;
  out_.syntax = &function_;
  out_.module = &module_;
  out_.is_entry = function_.is_entry;
  out_.noreturn = function_.directives.noreturn;
  KS_RETURN_IF_ERROR(DeclareRegisters());
  out_.locations.push_back({.ptx = function_.where});
  guard_ = PredicateConstant(true);
  EmitPrologue();
  KS_RETURN_IF_ERROR(LowerStatements());
  // Running off the end returns.
  in_ = nullptr;
  mnemonic_ = nullptr;
  guard_ = PredicateConstant(true);
  guard_negated_ = false;
  EmitEpilogue();
  Instruction end = Make(Op::kRet, ptx::Type::kNone);
  KS_RETURN_IF_ERROR(Append(end));
  KS_RETURN_IF_ERROR(ResolveBranches());
  MarkIndexArithmetic(out_, registers_.size());
  AssignRegisters();
  if (frame_end_ > out_.frame_bytes) out_.frame_end = frame_end_;  // temporaries of calls
  out_.frame_bytes = static_cast<uint32_t>(AlignUp(frame_end_, 16));
  // One line more than the content, so that there is an aligned start.
  const size_t size = out_.constants.size();
  out_.constants.resize(size + 64);
  const auto address = reinterpret_cast<uintptr_t>(out_.constants.data());
  const size_t shift = (64 - address % 64) % 64;
  std::memmove(out_.constants.data() + shift, out_.constants.data(), size);
  out_.constant_data = out_.constants.data() + shift;
  return {};
}

// ---- the kernel -----------------------------------------------------------------------------

namespace {

// Local memory that a function and all it calls can need at the same time.
class StackBound {
 public:
  // False: there is no bound (recursion, indirect calls, alloca).
  bool Visit(const Function& function, uint64_t& bytes) {
    const auto known = done_.find(&function);
    if (known != done_.end()) {
      bytes = known->second;
      return true;
    }
    if (!path_.insert(&function).second || function.uses_alloca) return false;
    uint64_t deepest = 0;
    for (const CallSite& site : function.calls) {
      if (site.system != 0) continue;
      uint64_t below = 0;
      if (site.callee == nullptr || !Visit(*site.callee, below)) return false;
      deepest = std::max(deepest, below);
    }
    path_.erase(&function);
    bytes = AlignUp(function.frame_bytes, 16) + deepest;
    done_[&function] = bytes;
    return true;
  }

 private:
  std::set<const Function*> path_;
  std::map<const Function*, uint64_t> done_;
};

}  // namespace

Result<std::unique_ptr<Kernel>> LowerKernel(const Linker& linker, const DeviceMemory& memory,
                                            FunctionRef entry, CpuLevel cpu) {
  KS_TRY(const SharedLayout shared, LayOutShared(linker, entry));
  auto kernel = std::make_unique<Kernel>();
  kernel->static_shared_bytes = shared.static_bytes;
  kernel->dynamic_shared_offset = shared.dynamic_offset;

  const Reachable reachable = linker.FindReachable(entry);
  // What only an indirect call can reach may be more than the engine can do: then just that call
  // fails, when it happens.
  std::set<const ptx::Function*> required;
  for (const FunctionRef& ref : linker.FindReachable(entry, Linker::Calls::kDirect).functions) {
    required.insert(ref.function);
  }
  KernelContext context{.linker = &linker, .memory = &memory, .shared = &shared, .cpu = cpu};
  std::vector<std::unique_ptr<FunctionLowerer>> lowerers;
  for (const FunctionRef& ref : reachable.functions) {
    kernel->functions.push_back(std::make_unique<Function>());
    kernel->functions.back()->number = static_cast<uint32_t>(kernel->functions.size() - 1);
    kernel->functions.back()->code_address = linker.AddressOf(*ref.function);
    context.functions[ref.function] = kernel->functions.back().get();
  }
  for (size_t i = 0; i < reachable.functions.size(); ++i) {
    lowerers.push_back(
        std::make_unique<FunctionLowerer>(context, reachable.functions[i], *kernel->functions[i]));
    KS_RETURN_IF_ERROR(lowerers.back()->LayOutFrame());
  }
  for (size_t i = 0; i < reachable.functions.size(); ++i) {
    Function& function = *kernel->functions[i];
    const Status status = lowerers[i]->Run();
    if (!status.ok()) {
      if (required.contains(reachable.functions[i].function)) return status.error();
      function.code.clear();
      kernel->unsupported[function.code_address] = status.error().message();
      continue;
    }
    kernel->by_address[function.code_address] = &function;
  }
  kernel->entry = kernel->functions[0].get();
  uint64_t stack = 0;
  kernel->bounded_stack = StackBound().Visit(*kernel->entry, stack) && stack <= kLocalWindowSize;
  if (!kernel->bounded_stack) stack = kernel->entry->frame_bytes;
  kernel->local_bytes = static_cast<uint32_t>(stack);
  kernel->interaction = AnalyseInteraction(*kernel);
  return kernel;
}

// ---- for messages ---------------------------------------------------------------------------

const char* NameOf(Op op) {
  switch (op) {
#define KS_VGPU_OP(name, ...) \
  case Op::k##name:           \
    return #name;
#include "vgpu/ops.def"
  }
  KS_UNREACHABLE();
}

SourceLocation PtxLocationOf(const Function& function, const Instruction& instruction) {
  const CodeLocation& location = function.locations[instruction.location];
  return {function.module->file_name, location.ptx.line, location.ptx.column};
}

namespace {

// Headers of CUDA, in which nobody looks for his own mistakes.
bool IsToolkitHeader(std::string_view file) {
  return file.find("/include/") != std::string_view::npos &&
         (file.find("/cuda") != std::string_view::npos ||
          file.find("/nvidia/") != std::string_view::npos ||
          file.find("/targets/") != std::string_view::npos);
}

}  // namespace

// What was inlined from CUDA's headers (atomics, shuffles, pipelines) has the place of the call.
// The .loc of a call comes before that of the callee, so the chain is followed backwards.
SourceLocation SourceLocationOf(const Function& function, const Instruction& instruction) {
  const CodeLocation& location = function.locations[instruction.location];
  if (location.loc < 0) return {};
  auto at = static_cast<size_t>(location.loc);
  const std::vector<ptx::Loc>& locs = function.syntax->locs;
  uint32_t file = locs[at].file;
  uint32_t line = locs[at].line;
  uint32_t column = locs[at].column;
  bool inlined = locs[at].inlined;
  while (inlined) {
    const ptx::FileEntry* entry = function.module->FindFile(file);
    if (entry == nullptr || !IsToolkitHeader(entry->name)) break;
    file = locs[at].inlined_file;
    line = locs[at].inlined_line;
    column = locs[at].inlined_column;
    inlined = false;
    for (size_t before = at; before-- > 0;) {
      const ptx::Loc& call = locs[before];
      if (call.file != file || call.line != line || call.column != column) continue;
      inlined = call.inlined;
      at = before;
      break;
    }
  }
  const ptx::FileEntry* entry = function.module->FindFile(file);
  if (entry == nullptr) return {};
  return {entry->name, static_cast<int>(line), static_cast<int>(column)};
}

std::string TextOf(const Function& function, const Instruction& instruction) {
  const CodeLocation& location = function.locations[instruction.location];
  return location.syntax != nullptr ? ptx::Print(*location.syntax) : NameOf(instruction.op);
}

}  // namespace kernelsmith::vgpu
