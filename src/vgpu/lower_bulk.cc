// Hopper's asynchronous copies: of bulk (TMA) and of tensors.

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

}  // namespace kernelsmith::vgpu
