#include "counters/classify.h"

#include "vgpu/math/matrix.h"
#include "vgpu/op_facts.h"

namespace kernelsmith::counters {

using ptx::Type;
using vgpu::Cost;
using vgpu::Instruction;
using vgpu::MemorySpace;
using vgpu::Op;

namespace {

bool IsHalf(Type type) {
  return type == Type::kF16 || type == Type::kBf16 || type == Type::kF16x2 || type == Type::kBf16x2;
}
int Elements(Type type) {
  return type == Type::kF16x2 || type == Type::kBf16x2 || type == Type::kF32x2 ? 2 : 1;
}

// Arithmetic of `operations` flops an element.
void Arithmetic(InstructionFacts& facts, Type type, int operations) {
  const auto flops = static_cast<uint8_t>(operations * Elements(type));
  if (type == Type::kF64) {
    facts.which = InstructionClass::kFp64;
    facts.flops_fp64 = flops;
  } else if (IsHalf(type)) {
    facts.which = InstructionClass::kFp16;
    facts.flops_fp16 = flops;
  } else if (ptx::IsFloat(type)) {
    facts.which = InstructionClass::kFp32;
    facts.flops_fp32 = flops;
  } else {
    facts.which = InstructionClass::kInteger;
    facts.issue = ptx::BitsOf(type) == 64 ? 2 : 1;
  }
}

// Sequences that ptxas makes of one instruction, about as long as the path of ordinary operands is
// in what ptxas 13.0 makes for sm_90 (nvdisasm): what matters is that they are not 1.
constexpr uint8_t kIntegerDivision32 = 24;
constexpr uint8_t kIntegerDivision64 = 70;
constexpr uint8_t kFloatDivision = 9;
constexpr uint8_t kDoubleDivision = 14;
constexpr uint8_t kExactRoot = 8;
constexpr uint8_t kMathCall = 20;  // a guess for functions from expf to lgammaf

void Divide(InstructionFacts& facts, const Instruction& in) {
  Arithmetic(facts, in.type, 1);
  if (in.type == Type::kF64) {
    facts.issue = kDoubleDivision;
  } else if (ptx::IsFloat(in.type)) {
    facts.issue = in.approx ? 2 : kFloatDivision;
    facts.special = 1;
  } else {
    facts.issue = ptx::BitsOf(in.type) == 64 ? kIntegerDivision64 : kIntegerDivision32;
  }
}

bool IsEightBit(vgpu::math::MmaType type) {
  using vgpu::math::MmaType;
  return type == MmaType::kS8 || type == MmaType::kU8 || type == MmaType::kE4M3 ||
         type == MmaType::kE5M2;
}

void Memory(InstructionFacts& facts, const vgpu::Function& function, const Instruction& in) {
  const ptx::Instruction* syntax =
      in.location < function.locations.size() ? function.locations[in.location].syntax : nullptr;
  const ptx::Space space = syntax == nullptr ? ptx::Space::kNone : syntax->mnemonic->SpaceAt(0);
  const ptx::CacheOp cache = syntax == nullptr ? ptx::CacheOp::kNone : syntax->mnemonic->cache_op;
  if (space == ptx::Space::kConst || space == ptx::Space::kParamEntry ||
      in.address == vgpu::AddressBase::kParameters) {
    facts.which = InstructionClass::kConstantMemory;
    facts.no_traffic = true;
    facts.issue = 0;  // most become operands of the instructions that use them
    return;
  }
  if (space == ptx::Space::kParam || space == ptx::Space::kParamFunc) {
    facts.which = InstructionClass::kMove;
    facts.no_traffic = true;
    facts.issue = 0;
    return;
  }
  switch (in.space) {
    case MemorySpace::kShared:
      facts.which = InstructionClass::kSharedMemory;
      break;
    case MemorySpace::kLocal:
      facts.which = InstructionClass::kLocalMemory;
      break;
    case MemorySpace::kGlobal:
      facts.which = InstructionClass::kGlobalMemory;
      break;
    case MemorySpace::kGeneric:
      facts.which = InstructionClass::kGlobalMemory;
      facts.generic = true;
      break;
  }
  facts.through_l1 = in.op == Op::kLoad && !in.is_volatile && cache != ptx::CacheOp::kCg &&
                     cache != ptx::CacheOp::kCv;
}

void Matrix(InstructionFacts& facts, const vgpu::Function& function, const Instruction& in) {
  facts.which = InstructionClass::kTensor;
  if (in.op == Op::kWgmma) {
    const vgpu::WgmmaInfo& info = function.wgmmas[in.target];
    // 64 rows by four warps.
    facts.flops_tensor = uint64_t{2} * 16 * static_cast<uint64_t>(info.n * info.k);
    facts.tf32 = info.a == Type::kTf32;
    facts.eight_bit = ptx::BitsOf(info.a) == 8;
    facts.gathered = true;
    return;
  }
  const vgpu::math::MmaPlan* plan = function.matrices[in.target].plan;
  if (plan == nullptr) return;
  const vgpu::math::MmaSpec& spec = plan->spec();
  const auto flops = uint64_t{2} * static_cast<uint64_t>(spec.m * spec.n * spec.k);
  facts.flops_tensor = flops;
  facts.tf32 = spec.a == vgpu::math::MmaType::kTF32;
  facts.eight_bit = IsEightBit(spec.a);
}

InstructionFacts FactsOfOne(const vgpu::Function& function, const Instruction& in) {
  InstructionFacts facts;
  const bool wide = ptx::BitsOf(in.type) == 64;
  switch (vgpu::FactsOf(in.op).cost) {
    case Cost::kNoFlop:
      Arithmetic(facts, in.type, 0);
      break;
    case Cost::kFlop:
      Arithmetic(facts, in.type, 1);
      break;
    case Cost::kTwoFlops:
      Arithmetic(facts, in.type, 2);
      break;
    case Cost::kDivide:
      Divide(facts, in);
      break;
    case Cost::kRemainder:
      facts.which = InstructionClass::kInteger;
      facts.issue = wide ? kIntegerDivision64 : kIntegerDivision32;
      break;
    case Cost::kMultiply:
      facts.which = InstructionClass::kInteger;
      facts.issue = wide ? 4 : 1;
      break;
    case Cost::kInteger:
      facts.which = InstructionClass::kInteger;
      break;
    case Cost::kWord:
      facts.which = InstructionClass::kInteger;
      facts.issue = wide ? 2 : 1;
      break;
    case Cost::kRoot:
    case Cost::kFunction:
      facts.which = in.type == Type::kF64 ? InstructionClass::kFp64 : InstructionClass::kSpecial;
      facts.special = static_cast<uint8_t>(Elements(in.type));
      facts.issue = in.approx || vgpu::FactsOf(in.op).cost == Cost::kFunction ? 1 : kExactRoot;
      break;
    case Cost::kMathCall:
      Arithmetic(facts, in.type, 1);
      facts.special = 1;
      facts.issue = kMathCall;
      break;
    case Cost::kCompare:
      Arithmetic(facts, in.source_type != Type::kNone ? in.source_type : in.type, 0);
      break;
    case Cost::kConvert:
      facts.which = InstructionClass::kConversion;
      break;
    case Cost::kMove:
      facts.which = InstructionClass::kMove;
      break;
    case Cost::kRename:
      facts.which = InstructionClass::kMove;
      facts.issue = 0;
      break;
    case Cost::kMemory:
      Memory(facts, function, in);
      break;
    case Cost::kCopy:
      facts.which = InstructionClass::kGlobalMemory;
      facts.gathered = true;
      break;
    case Cost::kFragment:
      Memory(facts, function, in);
      facts.gathered = true;
      break;
    case Cost::kRows:
      facts.which = InstructionClass::kSharedMemory;
      break;
    case Cost::kTexture:
      facts.which = InstructionClass::kGlobalMemory;
      break;
    case Cost::kSync:
      facts.which = InstructionClass::kSync;
      facts.no_traffic = true;
      break;
    case Cost::kWarp:
      facts.which = InstructionClass::kWarp;
      break;
    case Cost::kTensor:
      Matrix(facts, function, in);
      break;
    case Cost::kControl:
      facts.which = InstructionClass::kControl;
      facts.conditional_branch =
          in.op == Op::kBra && in.guard.exists() && in.guard.base() != vgpu::OperandBase::kConstant;
      break;
  }
  return facts;
}

}  // namespace

std::vector<InstructionFacts> FactsOf(const vgpu::Function& function) {
  std::vector<InstructionFacts> facts;
  facts.reserve(function.code.size());
  for (const Instruction& in : function.code) facts.push_back(FactsOfOne(function, in));
  AddWaits(function, facts);
  return facts;
}

}  // namespace kernelsmith::counters
