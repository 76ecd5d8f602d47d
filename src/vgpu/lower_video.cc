// The video instructions.

#include "vgpu/function_lowerer.h"

namespace kernelsmith::vgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::Type;

Status FunctionLowerer::LowerVideo() {
  using Kind = VideoInfo::Kind;
  VideoInfo info;
  const Opcode opcode = in_->opcode();
  switch (opcode) {
    case Opcode::kVadd:
    case Opcode::kVadd2:
    case Opcode::kVadd4:
      info.kind = Kind::kAdd;
      break;
    case Opcode::kVsub:
    case Opcode::kVsub2:
    case Opcode::kVsub4:
      info.kind = Kind::kSub;
      break;
    case Opcode::kVabsdiff:
    case Opcode::kVabsdiff2:
    case Opcode::kVabsdiff4:
      info.kind = Kind::kAbsdiff;
      break;
    case Opcode::kVmin:
    case Opcode::kVmin2:
    case Opcode::kVmin4:
      info.kind = Kind::kMin;
      break;
    case Opcode::kVmax:
    case Opcode::kVmax2:
    case Opcode::kVmax4:
      info.kind = Kind::kMax;
      break;
    case Opcode::kVavrg2:
    case Opcode::kVavrg4:
      info.kind = Kind::kAverage;
      break;
    case Opcode::kVset:
    case Opcode::kVset2:
    case Opcode::kVset4:
      info.kind = Kind::kSet;
      break;
    case Opcode::kVshl:
      info.kind = Kind::kShl;
      break;
    case Opcode::kVshr:
      info.kind = Kind::kShr;
      break;
    case Opcode::kVmad:
      info.kind = Kind::kMad;
      break;
    default:
      return Unsupported();
  }
  info.parts = opcode >= Opcode::kVadd4 ? 4 : opcode >= Opcode::kVadd2 ? 2 : 1;
  // vset has no type of the result: 0 and 1 are the same in both.
  const size_t first_source = info.kind == Kind::kSet ? 0 : 1;
  info.signed_d = IsSignedType(mnemonic_->TypeAt(0)) && first_source == 1;
  info.signed_a = IsSignedType(mnemonic_->TypeAt(first_source));
  info.signed_b = IsSignedType(mnemonic_->TypeAt(first_source + 1));
  info.sat = mnemonic_->sat;
  info.wrap = Has(Modifier::kWrap);
  info.comparison = mnemonic_->comparison;
  info.scale = Has(Modifier::kShr7) ? 7 : Has(Modifier::kShr15) ? 15 : 0;
  info.plus_one = Has(Modifier::kPo);
  if (Has(Modifier::kAdd)) info.second = VideoInfo::Second::kAdd;
  if (Has(Modifier::kMin)) info.second = VideoInfo::Second::kMin;
  if (Has(Modifier::kMax)) info.second = VideoInfo::Second::kMax;
  if (count() < 3) return Invalid("too few operands");
  info.d = operand(0).selector;
  info.a = operand(1).selector;
  info.b = operand(2).selector;
  info.negate_product = operand(1).negated != operand(2).negated;

  Instruction video = Make(Op::kVideo, Type::kB32);
  KS_TRY(video.a, Source(1, Type::kB32));
  KS_TRY(video.b, Source(2, Type::kB32));
  if (count() > 3) {
    info.negate_c = operand(3).negated;
    KS_TRY(video.c, Source(3, Type::kB32));
  } else {
    video.c = Constant(LaneWidth::k4, 0);
  }
  KS_TRY(video.d, Destination(0, Type::kB32));
  video.target = static_cast<uint32_t>(out_.videos.size());
  out_.videos.push_back(info);
  return Append(video);
}

}  // namespace kernelsmith::vgpu
