#include "checkers/environment_sources.h"

#include <algorithm>
#include <vector>

#include "checkers/environment_registers.h"
#include "vgpu/environment.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::checkers {

using vgpu::Instruction;
using vgpu::Op;
using vgpu::Operand;
using vgpu::OperandBase;

namespace {

constexpr uint32_t kPointerBytes = 8;

// One function. Which registers may hold an address is followed forwards through its code, since
// registers share places: what is an address here is a number there.
class FunctionLook {
 public:
  FunctionLook(const vgpu::Function& function, const std::set<uint32_t>& pointers)
      : function_(function), pointers_(pointers), slots_(function) {}

  bool Suspicious() {
    const std::vector<Instruction>& code = function_.code;
    FindBlocks();
    std::vector<uint32_t> work = {0};
    entry_[0] = Registers(slots_.count() + 1, false);
    while (!work.empty()) {
      const uint32_t begin = work.back();
      work.pop_back();
      addresses_ = entry_[begin];
      const auto reach = [&](uint32_t target) {
        if (target < code.size() && Join(entry_[target])) work.push_back(target);
      };
      for (uint32_t i = begin;; ++i) {
        const Instruction& in = code[i];
        guarded_ = in.guard.base() == OperandBase::kRegister;
        if (!Plain(in)) return true;
        if (in.op == Op::kBra) reach(in.target);
        if (in.op == Op::kBrxIdx) {
          for (const uint32_t target : function_.branch_targets[in.target]) reach(target);
        }
        if (vgpu::LeavesSequence(in.op) && !guarded_) break;
        if (i + 1 >= code.size()) break;
        if (leaders_[i + 1]) {
          reach(i + 1);
          break;
        }
      }
    }
    return false;
  }

 private:
  using Registers = std::vector<bool>;  // by slot: may it hold an address?

  void FindBlocks() {
    const std::vector<Instruction>& code = function_.code;
    leaders_.assign(code.size() + 1, false);
    entry_.resize(code.size());
    leaders_[0] = true;
    for (size_t i = 0; i < code.size(); ++i) {
      if (code[i].op == Op::kBra) leaders_[code[i].target] = true;
      if (code[i].op == Op::kBrxIdx) {
        for (const uint32_t target : function_.branch_targets[code[i].target]) {
          leaders_[target] = true;
        }
      }
      if (vgpu::LeavesSequence(code[i].op)) leaders_[i + 1] = true;
    }
  }
  // True: something is new, so that the block has to be looked at again.
  bool Join(Registers& into) const {
    if (into.empty()) {
      into = addresses_;
      return true;
    }
    bool grew = false;
    for (size_t i = 0; i < into.size(); ++i) {
      if (!addresses_[i] || into[i]) continue;
      into[i] = true;
      grew = true;
    }
    return grew;
  }

  bool IsPointer(Operand operand, const Instruction& in) const {
    if (!operand.exists()) return false;
    if (operand.base() == OperandBase::kConstant) return slots_.HasSymbol(in);
    return operand.base() == OperandBase::kRegister && addresses_[slots_.At(operand)];
  }
  bool AnyInList(const Instruction& in) const {
    for (uint32_t k = 0; k < in.list_count; ++k) {
      if (IsPointer(function_.list[in.list_first + k], in)) return true;
    }
    return false;
  }
  bool Makes(Operand operand) {
    if (operand.exists()) addresses_[slots_.At(operand)] = true;
    return true;
  }
  // The instruction's results are no addresses.
  bool MakesNone(const Instruction& in) {
    if (guarded_) return true;
    const auto forget = [&](Operand operand) {
      if (operand.exists() && operand.base() == OperandBase::kRegister) {
        addresses_[slots_.At(operand)] = false;
      }
    };
    forget(in.d);
    forget(in.d2);
    if (vgpu::FactsOf(in.op).list == vgpu::ListUse::kResults) {
      for (uint32_t k = 0; k < in.list_count; ++k) forget(function_.list[in.list_first + k]);
    }
    return true;
  }
  bool ReadsEnvironment(const Instruction& in) const {
    if (in.op == Op::kReadSpecial) return true;
    for (const Operand operand : {in.a, in.b, in.c, in.e}) {
      if (EnvironmentOf(function_, in, operand) != vgpu::EnvironmentRegister::kNone) return true;
    }
    for (uint32_t k = 0; k < in.list_count; ++k) {
      const Operand operand = function_.list[in.list_first + k];
      if (EnvironmentOf(function_, in, operand) != vgpu::EnvironmentRegister::kNone) return true;
    }
    return false;
  }

  bool ReadsPointerParameter(const Instruction& in, bool* whole) const {
    const auto at = static_cast<uint64_t>(in.offset);
    const uint64_t bytes = uint64_t{in.bytes} * std::max<uint32_t>(in.list_count, 1);
    const auto next = pointers_.lower_bound(
        static_cast<uint32_t>(at < kPointerBytes ? 0 : at - kPointerBytes + 1));
    if (next == pointers_.end() || *next >= at + bytes) return false;
    *whole = in.list_count == 0 && *next == at && in.bytes == kPointerBytes &&
             in.d.bytes() == kPointerBytes;
    return true;
  }

  // False: something happens to an address that has to be watched.
  bool Plain(const Instruction& in) {
    if (ReadsEnvironment(in)) return false;
    const bool a = IsPointer(in.a, in);
    const bool b = IsPointer(in.b, in);
    const bool c = IsPointer(in.c, in);
    const bool e = IsPointer(in.e, in);
    const bool list = AnyInList(in);
    switch (in.op) {
      case Op::kLoad:
        if (in.address == vgpu::AddressBase::kParameters) {
          bool whole = false;
          if (ReadsPointerParameter(in, &whole)) return whole && Makes(in.d);
        }
        return MakesNone(in);
      case Op::kFrameAddress:
      case Op::kCvta:
      case Op::kCvtaTo:
        return Makes(in.d);
      case Op::kParameterAddress:
      case Op::kAlloca:
      case Op::kStackSave:
        return false;
      case Op::kCall: {
        const vgpu::CallSite& site = function_.calls[in.target];
        return site.callee != nullptr ||
               site.system == static_cast<uint8_t>(vgpu::SystemCall::kVprintf) ||
               site.system == static_cast<uint8_t>(vgpu::SystemCall::kAssertFail);
      }
      default:
        break;
    }
    if (!(a || b || c || e || list)) return MakesNone(in);
    switch (in.op) {
      case Op::kStore:
        return !b && !list;
      case Op::kAtom:
      case Op::kRed:
      case Op::kMbarrier:
        return !b && !c && !e && MakesNone(in);
      case Op::kCpAsync:
        return !c && !e;
      case Op::kWmmaLoad:
      case Op::kWmmaStore:
      case Op::kLdmatrix:
      case Op::kStmatrix:
        return !b && !c && !e && (vgpu::ReadsMemory(in.op) || !list) && MakesNone(in);
      case Op::kMov:
      case Op::kResize:
        return Makes(in.d);
      case Op::kCvt:
        return ptx::BitsOf(in.type) >= 32 && !in.sat && IsInteger(in.type) &&
               IsInteger(in.source_type) && Makes(in.d);
      case Op::kAdd:
        return !(a && b) && !in.sat && Makes(in.d);
      case Op::kSub:
        return !b && !in.sat && Makes(in.d);
      case Op::kMadLo:
      case Op::kMadWide:
        return !a && !b && Makes(in.d);
      case Op::kSelp:
        return !c && Makes(in.d);
      case Op::kIsspacep:
      case Op::kGetctarank:
        return MakesNone(in);
      case Op::kSetp:
        // Null is nowhere an address; those of shared memory have 32 bits and may be 0.
        return !(a && b) && ptx::BitsOf(in.type) == 64 && IsNull(a ? in.b : in.a) &&
               !slots_.HasSymbol(in) && MakesNone(in);
      default:
        return false;
    }
  }

  static bool IsInteger(ptx::Type type) {
    const ptx::TypeKind kind = ptx::KindOf(type);
    return kind == ptx::TypeKind::kSigned || kind == ptx::TypeKind::kUnsigned ||
           kind == ptx::TypeKind::kBits;
  }
  bool IsNull(Operand operand) const {
    if (!operand.exists() || operand.base() != OperandBase::kConstant) return false;
    const std::byte* at = function_.ConstantData() + operand.offset();
    return std::all_of(at, at + operand.bytes(),
                       [](std::byte byte) { return byte == std::byte{}; });
  }

  const vgpu::Function& function_;
  const std::set<uint32_t>& pointers_;
  const RegisterSlots slots_;
  std::vector<bool> leaders_;     // instructions that begin a block
  std::vector<Registers> entry_;  // what may be an address where a block begins
  Registers addresses_;
  bool guarded_ = false;
};

}  // namespace

bool MayDependOnEnvironment(const vgpu::Kernel& kernel, const std::set<uint32_t>& pointers) {
  return std::any_of(kernel.functions.begin(), kernel.functions.end(), [&](const auto& function) {
    return FunctionLook(*function, pointers).Suspicious();
  });
}

}  // namespace kernelsmith::checkers
