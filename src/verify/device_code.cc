#include "verify/device_code.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include "ptx/ptx.h"

namespace kernelsmith {
namespace {

using ptx::Mnemonic;
using ptx::Opcode;
using ptx::Type;

bool HasType(const Mnemonic& mnemonic, std::initializer_list<Type> types) {
  return std::any_of(mnemonic.types.begin(), mnemonic.types.end(), [&](Type each) {
    return std::find(types.begin(), types.end(), each) != types.end();
  });
}

bool IsArithmetic(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
    case Opcode::kSub:
    case Opcode::kMul:
    case Opcode::kFma:
    case Opcode::kMad:
    case Opcode::kDiv:
    case Opcode::kRcp:
    case Opcode::kSqrt:
    case Opcode::kRsqrt:
    case Opcode::kEx2:
    case Opcode::kLg2:
    case Opcode::kTanh:
    case Opcode::kSin:
    case Opcode::kCos:
    case Opcode::kRed:
    case Opcode::kAtom:
      return true;
    default:
      return false;
  }
}

bool IsMatrixProduct(Opcode opcode) {
  return opcode == Opcode::kMma || opcode == Opcode::kWmmaMma || opcode == Opcode::kWgmmaMmaAsync;
}

// The first type is that of the sums. wmma.mma names no other if the factors are float16.
std::string KindOfMatrixProduct(const Mnemonic& mnemonic) {
  if (HasType(mnemonic, {Type::kTf32})) return "tf32 mma";
  if (HasType(mnemonic, {Type::kBf16})) return "bfloat16 mma";
  if (HasType(mnemonic, {Type::kE4m3, Type::kE5m2})) return "float8 mma";
  const bool half_factors = HasType(mnemonic, {Type::kF16}) ||
                            (mnemonic.opcode == Opcode::kWmmaMma && mnemonic.types.size() == 2);
  if (!half_factors) return "";
  return HasType(mnemonic, {Type::kF32}) ? "float16 mma" : "float16 mma, float16 sums";
}

void NoteArithmetic(const Mnemonic& mnemonic, std::set<std::string>* precision) {
  if (IsMatrixProduct(mnemonic.opcode)) {
    const std::string kind = KindOfMatrixProduct(mnemonic);
    if (!kind.empty()) precision->insert(kind);
    return;
  }
  if (!IsArithmetic(mnemonic.opcode)) return;
  if (HasType(mnemonic, {Type::kBf16, Type::kBf16x2})) {
    precision->insert("bfloat16");
  } else if (HasType(mnemonic, {Type::kF16, Type::kF16x2})) {
    precision->insert("float16");
  } else if (HasType(mnemonic, {Type::kF64})) {
    precision->insert("float64");
  } else if (HasType(mnemonic, {Type::kF32, Type::kF32x2})) {
    precision->insert("float32");
    if (mnemonic.approx || mnemonic.Has(ptx::Modifier::kFull)) {
      precision->insert("approximate float32 functions");
    }
  }
}

// %envreg1 and 2 are where a grid barrier's memory is: every cooperative kernel reads them.
void NoteEnvironment(const ptx::Operand& operand, std::set<std::string>* environment) {
  if (operand.kind == ptx::OperandKind::kSpecialRegister) {
    const std::string& name = operand.name;
    for (const char* known :
         {"%clock64", "%clock_hi", "%clock", "%smid", "%nsmid", "%warpid", "%gridid"}) {
      if (name == known) environment->insert(name);
    }
    if (name.starts_with("%globaltimer")) environment->insert("%globaltimer");
  }
  for (const ptx::Operand& element : operand.elements) NoteEnvironment(element, environment);
}

}  // namespace

Result<DeviceCode> ReadDeviceCode(std::string_view ptx, const std::vector<std::string>& entries) {
  KS_TRY(const ptx::Module module, ptx::Parse(ptx, "candidate.ptx"));
  std::set<std::string> precision;
  std::set<std::string> environment;
  std::set<std::string> cache_policy;
  for (const ptx::Function& function : module.functions) {
    if (function.is_entry &&
        std::find(entries.begin(), entries.end(), function.name) == entries.end()) {
      continue;
    }
    for (const ptx::Instruction& in : function.instructions) {
      NoteArithmetic(*in.mnemonic, &precision);
      if (in.Has(ptx::Modifier::kL2EvictLast)) cache_policy.insert("L2::evict_last");
      for (const ptx::Operand& operand : in.operands) NoteEnvironment(operand, &environment);
    }
  }
  return DeviceCode{{precision.begin(), precision.end()},
                    {environment.begin(), environment.end()},
                    {cache_policy.begin(), cache_policy.end()}};
}

}  // namespace kernelsmith
