// Hopper's asynchronous instructions: bulk copies (TMA), tensor copies and wgmma.

#include <fmt/format.h>

#include <optional>

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::OperandKind;
using ptx::Type;

// An address as a 64-bit value in its own space: for instructions that have several.
Result<Operand> FunctionLowerer::FlatAddress(const Address& address) {
  if (address.base == AddressBase::kAbsolute) {
    return Constant(LaneWidth::k8, static_cast<uint64_t>(address.offset));
  }
  if (address.base == AddressBase::kParameters) {
    Instruction take = Make(Op::kParameterAddress, Type::kU64);
    take.offset = address.offset;
    take.d = Temporary(LaneWidth::k8);
    KS_RETURN_IF_ERROR(Append(take));
    return take.d;
  }
  if (address.base != AddressBase::kRegister32 && address.base != AddressBase::kRegister64) {
    return Unsupported("an address in this state space");
  }
  const Operand base = address.base == AddressBase::kRegister32
                           ? Resize(address.reg, LaneWidth::k8, false)
                           : address.reg;
  if (address.offset == 0) return base;
  Instruction add = Make(Op::kAdd, Type::kU64);
  add.sat = false;
  add.a = base;
  add.b = Constant(LaneWidth::k8, static_cast<uint64_t>(address.offset));
  add.d = Temporary(LaneWidth::k8);
  KS_RETURN_IF_ERROR(Append(add));
  return add.d;
}

//   cp.async.bulk.dst.src{...} [dst], [src], size{, [mbar]}{, mask}{, policy}
//   cp.reduce.async.bulk.dst.src.how.op.type [dst], [src], size{, [mbar]}
//   cp.async.bulk.tensor.dim.dst.src{.tile}.how [dst], [map, {...}], [mbar]{, mask}{, policy}
//   cp.async.bulk.tensor.dim.global.shared{.tile}.bulk_group [map, {...}], [src]
Status FunctionLowerer::LowerBulk() {
  const Opcode opcode = in_->opcode();
  BulkInfo info;
  info.tensor = opcode == Opcode::kCpAsyncBulkTensor || opcode == Opcode::kCpReduceAsyncBulkTensor;
  info.reduces = opcode == Opcode::kCpReduceAsyncBulk || opcode == Opcode::kCpReduceAsyncBulkTensor;
  info.to_shared = mnemonic_->SpaceAt(0) != ptx::Space::kGlobal;
  info.from_shared = mnemonic_->SpaceAt(1) != ptx::Space::kGlobal;
  if (info.reduces) {
    constexpr std::pair<Modifier, AtomicOp> kOperations[] = {
        {Modifier::kAdd, AtomicOp::kAdd}, {Modifier::kMin, AtomicOp::kMin},
        {Modifier::kMax, AtomicOp::kMax}, {Modifier::kInc, AtomicOp::kInc},
        {Modifier::kDec, AtomicOp::kDec}, {Modifier::kAnd, AtomicOp::kAnd},
        {Modifier::kOr, AtomicOp::kOr},   {Modifier::kXor, AtomicOp::kXor},
    };
    for (const auto& [modifier, operation] : kOperations) {
      if (Has(modifier)) info.reduce = operation;
    }
    info.type = type();
  }
  for (const Modifier mode :
       {Modifier::kIm2col, Modifier::kIm2colW, Modifier::kIm2colW128, Modifier::kIm2colNoOffs,
        Modifier::kTileGather4, Modifier::kTileScatter4, Modifier::kCpMask, Modifier::kIgnoreOob}) {
    if (Has(mode)) return Unsupported(fmt::format("{} copies", ptx::NameOf(mode)));
  }
  if (Has(Modifier::kMulticastCluster)) info.multicast = true;

  Instruction copy = Make(Op::kBulkCopy, Type::kB8);
  const size_t expected = info.tensor ? 2 : 3;
  if (count() < expected) return Invalid("too few operands");
  const auto address = [&](size_t i, bool shared) -> Result<Operand> {
    if (operand(i).kind != OperandKind::kAddress) return Invalid("an operand that is no address");
    KS_TRY(const Address place,
           LowerAddress(operand(i), shared ? ptx::Space::kShared : ptx::Space::kGlobal));
    return FlatAddress(place);
  };
  // The tensor map may be a parameter, a constant or in global memory: a generic address.
  const auto map = [&](size_t i) -> Result<Operand> {
    const ptx::Operand& place = operand(i);
    if (place.kind != OperandKind::kAddress || place.elements.size() < 2) {
      return Invalid("a tensor copy without coordinates");
    }
    const ptx::Operand& coordinates = place.elements[1];
    std::vector<Operand> list;
    if (coordinates.kind == OperandKind::kVector) {
      for (const ptx::Operand& part : coordinates.elements) {
        KS_TRY(const Operand reg, Source(part, Type::kS32));
        list.push_back(reg);
      }
    } else {
      KS_TRY(const Operand reg, Source(coordinates, Type::kS32));
      list.push_back(reg);
    }
    if (list.empty() || list.size() > 5) return Invalid("a wrong number of coordinates");
    copy.list_first = AppendList(list);
    copy.list_count = static_cast<uint16_t>(list.size());
    KS_TRY(const Address base, LowerAddress(place, ptx::Space::kNone));
    return FlatAddress(base);
  };
  if (info.tensor) {
    KS_TRY(copy.a, info.to_shared ? address(0, true) : map(0));
    KS_TRY(copy.b, info.to_shared ? map(1) : address(1, info.from_shared));
  } else {
    KS_TRY(copy.a, address(0, info.to_shared));
    KS_TRY(copy.b, address(1, info.from_shared));
    KS_TRY(copy.c, Source(2, Type::kU32));
  }
  size_t next = expected;
  if (Has(Modifier::kMbarrierCompleteTxBytes)) {
    if (count() <= next) return Invalid("a copy without its mbarrier");
    KS_TRY(copy.e, address(next, true));
    ++next;
  }
  if (info.multicast) {
    if (count() <= next) return Invalid("a multicast without its mask");
    std::vector<Operand> list(out_.list.begin() + copy.list_first,
                              out_.list.begin() + copy.list_first + copy.list_count);
    KS_TRY(const Operand mask, Source(next, Type::kU16));
    list.push_back(mask);
    copy.list_first = AppendList(list);
    copy.list_count = static_cast<uint16_t>(list.size());
  }
  copy.is_volatile = true;
  copy.target = static_cast<uint32_t>(out_.bulks.size());
  out_.bulks.push_back(info);
  return Append(copy);
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
  const auto parts = [](const ptx::Operand& operand) {
    std::vector<const ptx::Operand*> list;
    if (operand.kind == OperandKind::kVector) {
      for (const ptx::Operand& part : operand.elements) list.push_back(&part);
    } else {
      list.push_back(&operand);
    }
    return list;
  };
  std::vector<Operand> list;
  const size_t results = static_cast<size_t>(info.d == Type::kF16 ? info.n / 4 : info.n / 2);
  const auto targets = parts(operand(0));
  if (targets.size() != results) {
    return Invalid(fmt::format("{} result registers, expected {}", targets.size(), results));
  }
  for (const ptx::Operand* part : targets) {
    // Read as well as written, so no register of another width can stand in.
    KS_TRY(const Operand reg, RegisterOf(*part));
    if (reg.is_predicate() || reg.bytes() != 4) return Invalid("a result that is not 32 bits wide");
    list.push_back(reg);
  }
  info.a_shared = operand(1).kind != OperandKind::kVector;
  if (info.a_shared) {
    KS_TRY(mma.a, Source(1, Type::kB64));
  } else {
    const auto sources = parts(operand(1));
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
  } else if (operand(3).kind == OperandKind::kInteger) {
    mma.c = PredicateConstant(operand(3).integer != 0);
  } else {
    return Invalid("a scale of d that is no predicate");
  }
  std::vector<int64_t> constants;
  for (size_t i = 4; i < count(); ++i) {
    if (operand(i).kind != OperandKind::kInteger) return Invalid("a scale that is no constant");
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

}  // namespace kernelsmith::vgpu
