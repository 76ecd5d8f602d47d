// mov, cvt, cvta, isspacep, mapa and special registers.

#include <fmt/format.h>

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

Result<Operand> FunctionLowerer::SpecialRegisterOf(const ptx::Operand& operand) {
  static const std::map<std::string, Special, std::less<>> kRegisters = {
      {"%tid.x", Special::kTidX},
      {"%tid.y", Special::kTidY},
      {"%tid.z", Special::kTidZ},
      {"%tid.w", Special::kZero},
      {"%ntid.x", Special::kNtidX},
      {"%ntid.y", Special::kNtidY},
      {"%ntid.z", Special::kNtidZ},
      {"%ntid.w", Special::kZero},
      {"%ctaid.x", Special::kCtaidX},
      {"%ctaid.y", Special::kCtaidY},
      {"%ctaid.z", Special::kCtaidZ},
      {"%ctaid.w", Special::kZero},
      {"%nctaid.x", Special::kNctaidX},
      {"%nctaid.y", Special::kNctaidY},
      {"%nctaid.z", Special::kNctaidZ},
      {"%nctaid.w", Special::kZero},
      {"%clusterid.x", Special::kClusteridX},
      {"%clusterid.y", Special::kClusteridY},
      {"%clusterid.z", Special::kClusteridZ},
      {"%nclusterid.x", Special::kNclusteridX},
      {"%nclusterid.y", Special::kNclusteridY},
      {"%nclusterid.z", Special::kNclusteridZ},
      {"%cluster_ctaid.x", Special::kClusterCtaidX},
      {"%cluster_ctaid.y", Special::kClusterCtaidY},
      {"%cluster_ctaid.z", Special::kClusterCtaidZ},
      {"%cluster_nctaid.x", Special::kClusterNctaidX},
      {"%cluster_nctaid.y", Special::kClusterNctaidY},
      {"%cluster_nctaid.z", Special::kClusterNctaidZ},
      {"%cluster_ctarank", Special::kClusterCtarank},
      {"%cluster_nctarank", Special::kClusterNctarank},
      {"%laneid", Special::kLaneid},
      {"%warpid", Special::kWarpid},
      {"%nwarpid", Special::kNwarpid},
      {"%smid", Special::kSmid},
      {"%nsmid", Special::kNsmid},
      {"%gridid", Special::kGridid},
      {"%lanemask_eq", Special::kLanemaskEq},
      {"%lanemask_le", Special::kLanemaskLe},
      {"%lanemask_lt", Special::kLanemaskLt},
      {"%lanemask_ge", Special::kLanemaskGe},
      {"%lanemask_gt", Special::kLanemaskGt},
      {"%envreg1", Special::kEnvreg1},
      {"%envreg2", Special::kEnvreg2},
      {"%dynamic_smem_size", Special::kDynamicSmemSize},
      {"%total_smem_size", Special::kTotalSmemSize},
      {"%aggr_smem_size", Special::kTotalSmemSize},
  };
  const auto at = [](Special which) {
    return Operand::At(OperandBase::kSpecial, LaneWidth::k4,
                       static_cast<uint32_t>(which) * kWarpSize * sizeof(uint32_t));
  };
  const std::string& name = operand.name;
  if (const auto it = kRegisters.find(name); it != kRegisters.end()) return at(it->second);
  if (name == "WARP_SZ") return Constant(LaneWidth::k4, kWarpSize);
  if (name == "%is_explicit_cluster") {
    return Operand::At(OperandBase::kSpecial, LaneWidth::kPredicate,
                       at(Special::kIsExplicitCluster).offset());
  }
  if (name.starts_with("%envreg") || name.starts_with("%pm") ||
      name.starts_with("%reserved_smem_offset") || name == "%current_graph_exec") {
    return at(Special::kZero);
  }
  static const std::map<std::string, std::pair<DynamicSpecial, LaneWidth>, std::less<>> kDynamic = {
      {"%clock", {DynamicSpecial::kClock, LaneWidth::k4}},
      {"%clock_hi", {DynamicSpecial::kClockHi, LaneWidth::k4}},
      {"%clock64", {DynamicSpecial::kClock64, LaneWidth::k8}},
      {"%globaltimer", {DynamicSpecial::kGlobaltimer, LaneWidth::k8}},
      {"%globaltimer_lo", {DynamicSpecial::kGlobaltimer, LaneWidth::k4}},
      {"%globaltimer_hi", {DynamicSpecial::kGlobaltimerHi, LaneWidth::k4}},
  };
  if (const auto it = kDynamic.find(name); it != kDynamic.end()) {
    Instruction read =
        Make(Op::kReadSpecial, it->second.second == LaneWidth::k8 ? Type::kU64 : Type::kU32);
    read.variant = static_cast<uint8_t>(it->second.first);
    read.d = Temporary(it->second.second);
    read.waits = true;
    KS_RETURN_IF_ERROR(Append(read));
    return read.d;
  }
  return Unsupported(fmt::format("special register {}", name));
}

Status FunctionLowerer::LowerMov() {
  const Type t = type();
  if (count() < 2) return Invalid("too few operands");
  const ptx::Operand& target = operand(0);
  const ptx::Operand& source = operand(1);
  const bool packs = source.kind == ptx::OperandKind::kVector;
  const bool unpacks = target.kind == ptx::OperandKind::kVector;
  if (packs && unpacks) {
    // mov.v2.u32 {a, b}, {c, d}, where the type is the element's; through temporaries, as a source
    // may be a target as well.
    if (target.elements.size() != source.elements.size()) return Invalid("vectors of two sizes");
    const Type element = t;
    std::vector<Operand> values;
    for (const ptx::Operand& part : source.elements) {
      KS_TRY(const Operand value, Source(part, element));
      Instruction copy = Make(Op::kMov, element);
      copy.a = value;
      copy.d = Temporary(element);
      KS_RETURN_IF_ERROR(Append(copy));
      values.push_back(copy.d);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      Instruction copy = Make(Op::kMov, element);
      copy.a = values[i];
      KS_TRY(copy.d, Destination(target.elements[i], element));
      KS_RETURN_IF_ERROR(Append(copy));
    }
    return {};
  }
  if (packs || unpacks) {
    const std::vector<ptx::Operand>& parts = packs ? source.elements : target.elements;
    const int bits = ptx::BitsOf(t) / static_cast<int>(std::max<size_t>(parts.size(), 1));
    const Type element = bits == 8    ? Type::kB8
                         : bits == 16 ? Type::kB16
                         : bits == 32 ? Type::kB32
                         : bits == 64 ? Type::kB64
                                      : Type::kNone;
    if (element == Type::kNone) return Unsupported("parts of this size");
    Instruction move = Make(packs ? Op::kPack : Op::kUnpack, t);
    move.width = static_cast<uint8_t>(parts.size());
    move.register_bytes = static_cast<uint8_t>(bits / 8);
    std::vector<Operand> operands;
    for (const ptx::Operand& part : parts) {
      KS_TRY(const Operand value, packs ? Source(part, element) : Destination(part, element));
      operands.push_back(value);
    }
    if (packs) {
      KS_TRY(move.d, Destination(target, t));
    } else {
      KS_TRY(move.a, Source(source, t));
    }
    move.list_first = AppendList(operands);
    move.list_count = static_cast<uint16_t>(operands.size());
    return Append(move);
  }
  if (t == Type::kPred) {
    bool negated = false;
    Instruction move = Make(Op::kPredMov, t);
    KS_TRY(move.a, SourcePredicate(source, negated));
    if (negated) move.op = Op::kPredNot;
    KS_TRY(move.d, Destination(target, t));
    return Append(move);
  }
  return Typed(Make(Op::kMov, t), t, {t});
}

Status FunctionLowerer::LowerCvt() {
  const Type to = mnemonic_->TypeAt(0);
  const Type from = mnemonic_->TypeAt(1);
  Instruction convert = Make(Op::kCvt, to);
  convert.source_type = from;
  switch (count()) {
    case 2:
      return Typed(convert, to, {from});
    case 3:
      // Two values into one register: the first operand is the upper part.
      convert.op = Op::kCvtPacked;
      if (mnemonic_->rounding == ptx::Rounding::kRs) return Unsupported("stochastic rounding");
      return Typed(convert, to, {from, from});
    default:
      return Unsupported("this number of operands");
  }
}

Status FunctionLowerer::LowerCvta() {
  const ptx::Space space = mnemonic_->SpaceAt(0);
  const Type t = type();
  Instruction convert = Make(Has(Modifier::kTo) ? Op::kCvtaTo : Op::kCvta, t);
  switch (space) {
    case ptx::Space::kShared:
    case ptx::Space::kSharedCta:
    case ptx::Space::kSharedCluster:
      convert.space = MemorySpace::kShared;
      break;
    case ptx::Space::kLocal:
      convert.space = MemorySpace::kLocal;
      break;
    default:
      // Global, constant and parameter addresses are generic ones.
      convert.op = Op::kMov;
      break;
  }
  return Typed(convert, t, {t});
}

Status FunctionLowerer::LowerIsspacep() {
  Instruction test = Make(Op::kIsspacep, Type::kU64);
  // The space itself, since constant and parameter memory count here.
  test.variant = static_cast<uint8_t>(mnemonic_->SpaceAt(0));
  return Typed(test, Type::kPred, {Type::kU64});
}

Status FunctionLowerer::LowerMove() {
  switch (in_->opcode()) {
    case Opcode::kMov:
      return LowerMov();
    case Opcode::kCvt:
      return LowerCvt();
    case Opcode::kCvtPack: {
      Instruction pack = Make(Op::kCvtPack, type());
      pack.source_type = mnemonic_->TypeAt(1);
      if (count() == 3) return Typed(pack, Type::kB32, {Type::kS32, Type::kS32});
      return Typed(pack, Type::kB32, {Type::kS32, Type::kS32, Type::kB32});
    }
    case Opcode::kCvta:
      return LowerCvta();
    case Opcode::kIsspacep:
      return LowerIsspacep();
    case Opcode::kGetctarank: {
      Instruction rank = Make(Op::kGetctarank, type());
      rank.space = Has(Modifier::kSharedCluster) ? MemorySpace::kShared : MemorySpace::kGeneric;
      return Typed(rank, Type::kU32, {type()});
    }
    case Opcode::kMapa: {
      const Type t = type();
      Instruction map = Make(Op::kMapa, t);
      map.space = Has(Modifier::kSharedCluster) ? MemorySpace::kShared : MemorySpace::kGeneric;
      return Typed(map, t, {t, Type::kU32});
    }
    default:
      return Unsupported();
  }
}

}  // namespace kernelsmith::vgpu
