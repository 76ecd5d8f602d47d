// mma, wmma, wgmma, ldmatrix, stmatrix, movmatrix.

#include <fmt/format.h>

#include <optional>

#include "vgpu/function_lowerer.h"
#include "vgpu/math/matrix.h"

namespace kernelsmith::vgpu {

using math::MmaRole;
using math::MmaType;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

namespace {

std::optional<MmaType> MmaTypeOf(Type type) {
  switch (type) {
    case Type::kF16:
      return MmaType::kF16;
    case Type::kBf16:
      return MmaType::kBF16;
    case Type::kTf32:
      return MmaType::kTF32;
    case Type::kF32:
      return MmaType::kF32;
    case Type::kF64:
      return MmaType::kF64;
    case Type::kE4m3:
      return MmaType::kE4M3;
    case Type::kE5m2:
      return MmaType::kE5M2;
    case Type::kS8:
      return MmaType::kS8;
    case Type::kU8:
      return MmaType::kU8;
    case Type::kS4:
      return MmaType::kS4;
    case Type::kU4:
      return MmaType::kU4;
    case Type::kB1:
      return MmaType::kB1;
    case Type::kS32:
      return MmaType::kS32;
    default:
      return std::nullopt;
  }
}

// The .row and .col of a mnemonic in their order.
std::vector<bool> RowMajors(const ptx::Mnemonic& mnemonic) {
  std::vector<bool> row_major;
  for (const Modifier modifier : mnemonic.modifiers) {
    if (modifier == Modifier::kRow) row_major.push_back(true);
    if (modifier == Modifier::kCol) row_major.push_back(false);
  }
  return row_major;
}

math::Round RoundOf(ptx::Rounding rounding) {
  switch (rounding) {
    case ptx::Rounding::kRz:
      return math::Round::kRz;
    case ptx::Rounding::kRm:
      return math::Round::kRm;
    case ptx::Rounding::kRp:
      return math::Round::kRp;
    default:
      return math::Round::kRn;
  }
}

// {a, b, c} or a single register.
std::vector<const ptx::Operand*> Parts(const ptx::Operand& operand) {
  std::vector<const ptx::Operand*> parts;
  if (operand.kind == ptx::OperandKind::kVector) {
    for (const ptx::Operand& part : operand.elements) parts.push_back(&part);
  } else {
    parts.push_back(&operand);
  }
  return parts;
}

}  // namespace

// Operands d, a, b, c of mma and wmma.mma.
Status FunctionLowerer::LowerMma() {
  const bool wmma = in_->opcode() == Opcode::kWmmaMma;
  if (Has(Modifier::kSp) || Has(Modifier::kSpOrderedMetadata) || Has(Modifier::kBlockScale)) {
    return Unsupported();
  }
  math::MmaSpec spec;
  spec.wmma = wmma;
  spec.m = mnemonic_->shape.m;
  spec.n = mnemonic_->shape.n;
  spec.k = mnemonic_->shape.k;
  const std::vector<Type>& types = mnemonic_->types;
  std::optional<MmaType> d;
  std::optional<MmaType> a;
  std::optional<MmaType> b;
  std::optional<MmaType> c;
  if (types.size() == 2) {  // wmma of f16: types of d and c only
    d = MmaTypeOf(types[0]);
    a = b = MmaType::kF16;
    c = MmaTypeOf(types[1]);
  } else if (types.size() == 4) {
    d = MmaTypeOf(types[0]);
    a = MmaTypeOf(types[1]);
    b = MmaTypeOf(types[2]);
    c = MmaTypeOf(types[3]);
  }
  if (!d || !a || !b || !c) return Unsupported();
  spec.d = *d;
  spec.a = *a;
  spec.b = *b;
  spec.c = *c;
  const std::vector<bool> row_major = RowMajors(*mnemonic_);
  spec.a_row_major = row_major.empty() || row_major[0];
  spec.b_row_major = row_major.size() > 1 && row_major[1];
  spec.satfinite = mnemonic_->satfinite;
  if (Has(Modifier::kPopc)) {
    spec.bit_op = Has(Modifier::kAnd) ? math::MmaBitOp::kAndPopc : math::MmaBitOp::kXorPopc;
  }
  spec.round = RoundOf(mnemonic_->rounding);
  const math::MmaPlan* plan = math::MmaPlan::Find(spec);
  if (plan == nullptr) return Unsupported();
  if (count() < 4) return Invalid("too few operands");

  Instruction mma = Make(wmma ? Op::kWmmaMma : Op::kMma, mnemonic_->TypeAt(0));
  mma.source_type = types.size() == 4 ? types[1] : Type::kF16;
  mma.e = Constant(LaneWidth::k4, kFullMask);
  constexpr MmaRole kRoles[] = {MmaRole::kD, MmaRole::kA, MmaRole::kB, MmaRole::kC};
  std::vector<Operand> list;
  for (size_t i = 0; i < 4; ++i) {
    const math::Fragment& fragment = plan->fragment(kRoles[i]);
    const std::vector<const ptx::Operand*> parts = Parts(operand(i));
    if (parts.size() != static_cast<size_t>(fragment.registers)) {
      return Invalid(
          fmt::format("a fragment of {} registers, expected {}", parts.size(), fragment.registers));
    }
    const Type word = fragment.register_bits == 64 ? Type::kB64 : Type::kB32;
    for (const ptx::Operand* part : parts) {
      KS_TRY(const Operand reg, i == 0 ? Destination(*part, word) : Source(*part, word));
      list.push_back(reg);
    }
  }
  mma.list_first = AppendList(list);
  mma.list_count = static_cast<uint16_t>(list.size());
  mma.width = static_cast<uint8_t>(plan->fragment(MmaRole::kD).registers);
  mma.target = static_cast<uint32_t>(out_.matrices.size());
  out_.matrices.push_back({.plan = plan});
  return Append(mma);
}

Status FunctionLowerer::LowerWmma() {
  if (in_->opcode() == Opcode::kWmmaMma) return LowerMma();
  const bool load = in_->opcode() == Opcode::kWmmaLoad;
  const MmaRole role = !load               ? MmaRole::kD
                       : Has(Modifier::kA) ? MmaRole::kA
                       : Has(Modifier::kB) ? MmaRole::kB
                                           : MmaRole::kC;
  const std::optional<MmaType> element = MmaTypeOf(type());
  const ptx::MatrixShape shape = mnemonic_->shape;
  const math::Fragment* fragment =
      element ? math::FindWmmaFragment(role, shape.m, shape.n, shape.k, *element) : nullptr;
  if (fragment == nullptr) return Unsupported();
  const std::vector<bool> layouts = RowMajors(*mnemonic_);
  MatrixInfo info{.fragment = fragment, .row_major = layouts.empty() || layouts[0]};

  Instruction access = Make(load ? Op::kWmmaLoad : Op::kWmmaStore, type());
  access.e = Constant(LaneWidth::k4, kFullMask);
  KS_TRY(const Address address, LowerAddress(operand(load ? 1 : 0), mnemonic_->SpaceAt(0)));
  SetAddress(access, address);
  if (count() > 2) {
    KS_TRY(access.b, Source(2, Type::kU32));
  } else {
    access.b = Constant(LaneWidth::k4,
                        static_cast<uint64_t>(info.row_major ? fragment->cols : fragment->rows));
  }
  const std::vector<const ptx::Operand*> parts = Parts(operand(load ? 0 : 1));
  if (parts.size() != static_cast<size_t>(fragment->registers)) {
    return Invalid(
        fmt::format("a fragment of {} registers, expected {}", parts.size(), fragment->registers));
  }
  const Type word = fragment->register_bits == 64 ? Type::kB64 : Type::kB32;
  std::vector<Operand> list;
  for (const ptx::Operand* part : parts) {
    KS_TRY(const Operand reg, load ? Destination(*part, word) : Source(*part, word));
    list.push_back(reg);
  }
  access.list_first = AppendList(list);
  access.list_count = static_cast<uint16_t>(list.size());
  access.target = static_cast<uint32_t>(out_.matrices.size());
  out_.matrices.push_back(info);
  return Append(access);
}

Status FunctionLowerer::LowerLdmatrix() {
  Instruction matrix = Make(Op::kMovmatrix, type());
  matrix.e = Constant(LaneWidth::k4, kFullMask);
  if (in_->opcode() == Opcode::kMovmatrix) {
    KS_TRY(matrix.a, Source(1, Type::kB32));
    KS_TRY(matrix.d, Destination(0, Type::kB32));
    return Append(matrix);
  }
  if (type() != Type::kB16 || !Has(Modifier::kM8n8)) return Unsupported();
  const bool load = in_->opcode() == Opcode::kLdmatrix;
  matrix.op = load ? Op::kLdmatrix : Op::kStmatrix;
  KS_TRY(const Address address, LowerAddress(operand(load ? 1 : 0), ptx::Space::kShared));
  SetAddress(matrix, address);
  if (mnemonic_->SpaceAt(0) == ptx::Space::kNone) matrix.space = MemorySpace::kGeneric;
  const size_t expected = Has(Modifier::kX4) ? 4 : Has(Modifier::kX2) ? 2 : 1;
  const std::vector<const ptx::Operand*> parts = Parts(operand(load ? 0 : 1));
  if (parts.size() != expected) return Invalid("a wrong number of registers");
  std::vector<Operand> list;
  for (const ptx::Operand* part : parts) {
    KS_TRY(const Operand reg, load ? Destination(*part, Type::kB32) : Source(*part, Type::kB32));
    list.push_back(reg);
  }
  matrix.list_first = AppendList(list);
  matrix.list_count = static_cast<uint16_t>(list.size());
  matrix.target = static_cast<uint32_t>(out_.matrices.size());
  out_.matrices.push_back({.transposed = Has(Modifier::kTrans)});
  return Append(matrix);
}

//   wgmma.mma_async.sync.aligned.shape.d.a.b d, a, b-desc, scale-d{, scale-a, scale-b{, trans...}}
Status FunctionLowerer::LowerWgmma() {
  if (Has(Modifier::kSp)) return Unsupported("sparse matrices");
  if (mnemonic_->types.size() != 3 || count() < 4) return Unsupported();
  WgmmaInfo info{.n = mnemonic_->shape.n,
                 .k = mnemonic_->shape.k,
                 .d = mnemonic_->TypeAt(0),
                 .a = mnemonic_->TypeAt(1),
                 .b = mnemonic_->TypeAt(2)};
  const bool half_inputs = info.a == Type::kF16 || info.a == Type::kBf16;
  const int bits =
      info.a == Type::kB1 ? 1 : ptx::BitsOf(info.a == Type::kTf32 ? Type::kF32 : info.a);
  if (info.n < 8 || info.n > 256 || info.n % 8 != 0 || info.k * bits != 256) {
    return Invalid("a shape that this type does not have");
  }
  Instruction mma = Make(Op::kWgmma, info.d);
  mma.source_type = info.a;
  mma.e = Constant(LaneWidth::k4, kFullMask);
  std::vector<Operand> list;
  const size_t results = static_cast<size_t>(info.d == Type::kF16 ? info.n / 4 : info.n / 2);
  const auto targets = Parts(operand(0));
  if (targets.size() != results) {
    return Invalid(fmt::format("{} result registers, expected {}", targets.size(), results));
  }
  for (const ptx::Operand* part : targets) {
    // Read as well as written, so no register of another width can stand in.
    KS_TRY(const Operand reg, RegisterOf(*part));
    if (reg.is_predicate() || reg.bytes() != 4) return Invalid("a result that is not 32 bits wide");
    list.push_back(reg);
  }
  info.a_shared = operand(1).kind != ptx::OperandKind::kVector;
  if (info.a_shared) {
    KS_TRY(mma.a, Source(1, Type::kB64));
  } else {
    const auto sources = Parts(operand(1));
    if (sources.size() != 4) return Invalid("a fragment that has not 4 registers");
    for (const ptx::Operand* part : sources) {
      KS_TRY(const Operand reg, Source(*part, Type::kB32));
      list.push_back(reg);
    }
  }
  KS_TRY(mma.b, Source(2, Type::kB64));
  if (operand(3).IsRegister()) {
    bool negated = false;
    KS_TRY(mma.c, SourcePredicate(operand(3), negated));
    mma.negate_c = negated;
  } else if (operand(3).kind == ptx::OperandKind::kInteger) {
    mma.c = PredicateConstant(operand(3).integer != 0);
  } else {
    return Invalid("a scale of d that is no predicate");
  }
  std::vector<int64_t> constants;
  for (size_t i = 4; i < count(); ++i) {
    if (operand(i).kind != ptx::OperandKind::kInteger)
      return Invalid("a scale that is no constant");
    constants.push_back(operand(i).negated ? -operand(i).integer : operand(i).integer);
  }
  const bool floats = ptx::KindOf(info.d) == ptx::TypeKind::kFloat;
  const size_t transposes = !half_inputs ? 0 : info.a_shared ? 2 : 1;
  if (constants.size() != (floats ? 2 + transposes : 0)) {
    return Invalid("a wrong number of scales and transpositions");
  }
  if (floats) {
    for (const size_t i : {0, 1}) {
      if (constants[i] != 1 && constants[i] != -1) return Invalid("a scale that is not 1 or -1");
    }
    info.negate_a = constants[0] < 0;
    info.negate_b = constants[1] < 0;
    if (transposes == 2) info.transposed_a = constants[2] != 0;
    if (transposes > 0) info.transposed_b = constants.back() != 0;
  }
  mma.list_first = AppendList(list);
  mma.list_count = static_cast<uint16_t>(list.size());
  mma.width = static_cast<uint8_t>(results);
  mma.target = static_cast<uint32_t>(out_.wgmmas.size());
  out_.wgmmas.push_back(info);
  return Append(mma);
}

Status FunctionLowerer::LowerMatrix() {
  switch (in_->opcode()) {
    case Opcode::kMma:
      return LowerMma();
    case Opcode::kWmmaLoad:
    case Opcode::kWmmaStore:
    case Opcode::kWmmaMma:
      return LowerWmma();
    case Opcode::kWgmmaMmaAsync:
      return LowerWgmma();
    case Opcode::kLdmatrix:
    case Opcode::kStmatrix:
    case Opcode::kMovmatrix:
      return LowerLdmatrix();
    default:
      return Unsupported();
  }
}

}  // namespace kernelsmith::vgpu
