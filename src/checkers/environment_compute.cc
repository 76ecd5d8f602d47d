// Labels of registers: what instructions without memory make of them, and lanes that meet.
#include <algorithm>

#include "checkers/environment_checker.h"
#include "checkers/environment_sources.h"
#include "checkers/undefined_bits.h"

namespace kernelsmith::checkers {

using vgpu::Instruction;
using vgpu::kWarpSize;
using vgpu::Op;
using vgpu::Operand;
using vgpu::OperandBase;
using vgpu::WarpView;

namespace {

// The first byte of a block's shared memory is a multiple of this on every GPU: what the system
// keeps in front of it is 0 or 1024 bytes.
constexpr uint64_t kSharedAlignment = 1024;

}  // namespace

Label EnvironmentChecker::LabelOf(const WarpView& warp, const Instruction& in, Operand operand,
                                  int lane) {
  if (!operand.exists()) return kSameEverywhere;
  switch (operand.base()) {
    case OperandBase::kRegister:
      return frame_->Get(operand, lane);
    case OperandBase::kConstant:
      return frame_->HasSymbol(in) ? SymbolLabel(warp, in, operand) : kSameEverywhere;
    default:
      return SpecialLabel(warp.function(), in, operand);
  }
}

Label EnvironmentChecker::SpecialLabel(const vgpu::Function& function, const Instruction& in,
                                       Operand operand) {
  const Labelled workspace{launch_.grid_workspace, launch_.grid_workspace == 0
                                                       ? labels_.Mixed(environment::kAddress)
                                                       : PointerLabel(launch_.grid_workspace)};
  switch (EnvironmentOf(function, in, operand)) {
    case vgpu::EnvironmentRegister::kPlace:
      return labels_.Opaque(environment::kPlace, 0xffffffff);
    case vgpu::EnvironmentRegister::kWorkspaceHigh:
      return labels_.HighHalf(workspace);
    case vgpu::EnvironmentRegister::kWorkspaceLow:
      return labels_.LowHalf(workspace);
    default:
      return kSameEverywhere;
  }
}

Label EnvironmentChecker::SymbolLabel(const WarpView& warp, const Instruction& in,
                                      Operand operand) {
  const std::vector<vgpu::SymbolOperand> symbols = SymbolsOf(warp.function(), in);
  const Operand* const list = in.list_count > 0 ? &warp.function().list[in.list_first] : nullptr;
  const auto is_constant = [](Operand each) {
    return each.exists() && each.base() == OperandBase::kConstant;
  };
  int64_t constants = std::count_if(list, list + in.list_count, is_constant);
  for (const Operand each : {in.a, in.b, in.c, in.e}) constants += is_constant(each) ? 1 : 0;
  // Which of several numbers the address is does not show.
  if (symbols.size() != 1 || constants != 1) return labels_.Mixed(environment::kAddress);
  const vgpu::SymbolOperand& symbol = symbols[0];
  const uint64_t value = warp.ReadOperand(operand, 0);
  if (symbol.shared) {
    const uint64_t start = value - static_cast<uint64_t>(symbol.offset);
    // Dynamic shared memory without any other begins where the block's begins.
    const bool first = launch_.code->dynamic_shared_offset == 0 && start == 0;
    return labels_.OwnObject(
        vgpu::MemorySpace::kShared, start,
        first ? std::max<uint64_t>(kSharedAlignment, symbol.alignment) : symbol.alignment);
  }
  // Of an address in 32 bits nobody needs more than that it is one.
  return operand.bytes() == 8 ? PointerLabel(value) : labels_.Mixed(environment::kAddress);
}

Labelled EnvironmentChecker::Operand1(const WarpView& warp, const Instruction& in, Operand operand,
                                      int lane) {
  if (!operand.exists()) return {};
  return {warp.ReadOperand(operand, lane), LabelOf(warp, in, operand, lane)};
}

uint8_t EnvironmentChecker::OriginsOf(const WarpView& warp, const Instruction& in, Operand operand,
                                      int lane) {
  return labels_.OriginsOf(LabelOf(warp, in, operand, lane));
}

void EnvironmentChecker::Set(Operand operand, int lane, Label label) {
  if (operand.exists() && operand.base() == OperandBase::kRegister) {
    frame_->Set(operand, lane, label);
  }
}

bool EnvironmentChecker::Touched(const Instruction& in, const vgpu::Function& function) const {
  if (frame_->HasSymbol(in) || in.op == Op::kReadSpecial || in.op == Op::kParameterAddress ||
      in.op == Op::kCvta || in.op == Op::kCvtaTo) {
    return true;
  }
  const auto touched = [&](Operand operand) {
    if (!operand.exists()) return false;
    if (operand.base() == OperandBase::kRegister) return frame_->Lanes(operand) != 0;
    return EnvironmentOf(function, in, operand) != vgpu::EnvironmentRegister::kNone;
  };
  for (const Operand operand : {in.a, in.b, in.c, in.e, in.d, in.d2}) {
    if (touched(operand)) return true;
  }
  for (uint32_t k = 0; k < in.list_count; ++k) {
    if (touched(function.list[in.list_first + k])) return true;
  }
  return false;
}

void EnvironmentChecker::Compute(WarpView& warp, const Instruction& in, uint32_t mask) {
  const vgpu::Function& function = warp.function();
  if (!Touched(in, function)) return;
  if (in.op == Op::kPack || in.op == Op::kUnpack) {
    ForEachLane(mask, [&](int lane) { Repack(warp, in, lane); });
    return;
  }
  if (!in.d.exists() && !in.d2.exists()) return;
  ForEachLane(mask, [&](int lane) {
    const Labelled a = Operand1(warp, in, in.a, lane);
    const Labelled b = Operand1(warp, in, in.b, lane);
    const Labelled c = Operand1(warp, in, in.c, lane);
    const Labelled e = Operand1(warp, in, in.e, lane);
    const uint8_t origins = labels_.OriginsOf(a.label) | labels_.OriginsOf(b.label) |
                            labels_.OriginsOf(c.label) | labels_.OriginsOf(e.label);
    Set(in.d, lane, ResultOf(in, a, b, c, e));
    Set(in.d2, lane,
        in.op == Op::kSetp && in.d.exists() ? frame_->Get(in.d, lane) : labels_.Mixed(origins));
  });
}

Label EnvironmentChecker::ResultOf(const Instruction& in, const Labelled& a, const Labelled& b,
                                   const Labelled& c, const Labelled& e) {
  const uint64_t window =
      in.space == vgpu::MemorySpace::kShared ? launch_.shared_window : launch_.local_window;
  switch (in.op) {
    case Op::kReadSpecial:
      return labels_.Opaque(environment::kClock, ~0ULL);
    case Op::kParameterAddress:
      return labels_.Object(launch_.parameters, parameters_end_ - launch_.parameters, 8);
    case Op::kCvta:
      return labels_.Generic(a, window);
    case Op::kCvtaTo:
      return labels_.FromGeneric(a.label);
    case Op::kMapa: {
      const Label moved = labels_.Moved(a.label, (1 + b.value) * vgpu::kSharedWindowSize);
      return b.label == kSameEverywhere
                 ? moved
                 : labels_.Mixed(labels_.OriginsOf(b.label) | labels_.OriginsOf(a.label));
    }
    default:
      break;
  }
  if (!in.d.exists()) return kSameEverywhere;
  const int bits = in.d.is_predicate() ? 1 : static_cast<int>(in.d.bytes()) * 8;
  return labels_.Result(in, a, b, c, e, std::min(bits, 64));
}

void EnvironmentChecker::Repack(WarpView& warp, const Instruction& in, int lane) {
  const bool pack = in.op == Op::kPack;
  const Operand* parts = &warp.function().list[in.list_first];
  const Operand whole = pack ? in.d : in.a;
  const uint32_t width = whole.bytes() * 8 / std::max<uint32_t>(in.list_count, 1);
  if (whole.bytes() == 8 && in.list_count == 2) {
    if (pack) {
      Set(in.d, lane,
          labels_.Join(Operand1(warp, in, parts[0], lane), Operand1(warp, in, parts[1], lane)));
    } else {
      const Labelled a = Operand1(warp, in, in.a, lane);
      Set(parts[0], lane, labels_.LowHalf(a));
      Set(parts[1], lane, labels_.HighHalf(a));
    }
    return;
  }
  uint8_t origins = 0;
  uint64_t varies = 0;
  if (pack) {
    for (uint32_t k = 0; k < in.list_count; ++k) {
      const Label label = LabelOf(warp, in, parts[k], lane);
      origins |= labels_.OriginsOf(label);
      if (k * width < 64) varies |= SmearUp(labels_.VariesOf(label)) << (k * width);
    }
    Set(in.d, lane, whole.bytes() > 8 ? labels_.Mixed(origins) : labels_.Opaque(origins, varies));
    return;
  }
  const Label label = LabelOf(warp, in, in.a, lane);
  origins = labels_.OriginsOf(label);
  varies = whole.bytes() > 8 ? ~0ULL : SmearUp(labels_.VariesOf(label));
  for (uint32_t k = 0; k < in.list_count; ++k) {
    const uint64_t part = whole.bytes() > 8 ? varies : varies >> (k * width);
    const uint64_t ones = width >= 64 ? ~0ULL : (uint64_t{1} << width) - 1;
    Set(parts[k], lane, labels_.Opaque(origins, part & ones));
  }
}

void EnvironmentChecker::Shuffled(WarpView& warp, const Instruction& in, uint32_t mask) {
  std::array<Label, kWarpSize> labels{};
  uint8_t steering = 0;
  uint8_t all = 0;
  ForEachLane(mask, [&](int lane) {
    steering |= OriginsOf(warp, in, in.b, lane) | OriginsOf(warp, in, in.c, lane);
    all |= OriginsOf(warp, in, in.a, lane);
  });
  // The lane numbers were overwritten by the result: whatever the source was.
  const bool unknown = in.d == in.b || in.d == in.c;
  ForEachLane(mask, [&](int lane) {
    if (steering != 0 || unknown) {
      labels[static_cast<size_t>(lane)] = labels_.Mixed(steering | all);
      return;
    }
    const int from = ShuffleSource(static_cast<vgpu::ShuffleMode>(in.variant), lane,
                                   static_cast<uint32_t>(warp.ReadOperand(in.b, lane)),
                                   static_cast<uint32_t>(warp.ReadOperand(in.c, lane)));
    const int source = (mask >> from & 1) != 0 ? from : lane;
    labels[static_cast<size_t>(lane)] = LabelOf(warp, in, in.a, source);
  });
  ForEachLane(mask, [&](int lane) {
    Set(in.d, lane, labels[static_cast<size_t>(lane)]);
    Set(in.d2, lane, labels_.Mixed(steering));
  });
}

bool EnvironmentChecker::IsPlace(const Instruction& in, Operand operand) {
  if (vgpu::IsLaneAccess(in.op)) return operand == in.a;
  switch (in.op) {
    case Op::kCpAsync:
    case Op::kWgmma:
      return operand == in.a || operand == in.b;
    case Op::kBulkCopy:
      return operand == in.a || operand == in.b || operand == in.e;
    default:
      return vgpu::AccessesMemory(in.op) && operand == in.a;
  }
}

void EnvironmentChecker::Mix(WarpView& warp, const Instruction& in, uint32_t mask) {
  const vgpu::Function& function = warp.function();
  const bool lanes_meet = vgpu::MeetsLanes(in.op);
  const vgpu::ListUse list = vgpu::FactsOf(in.op).list;
  const auto own = [&](int lane) {
    uint8_t origins = bad_address_[static_cast<size_t>(lane)];
    for (const Operand operand : {in.a, in.b, in.c, in.e}) {
      if (!IsPlace(in, operand)) origins |= OriginsOf(warp, in, operand, lane);
    }
    for (uint32_t k = 0; list != vgpu::ListUse::kResults && k < in.list_count; ++k) {
      const bool result = list == vgpu::ListUse::kBoth && k < in.width;
      if (!result) origins |= OriginsOf(warp, in, function.list[in.list_first + k], lane);
    }
    for (const Label label : loaded_[static_cast<size_t>(lane)]) {
      origins |= labels_.OriginsOf(label);
    }
    return origins;
  };
  uint8_t all = taken_;
  if (lanes_meet) ForEachLane(mask, [&](int lane) { all |= own(lane); });
  std::array<uint8_t, kWarpSize> origins{};
  ForEachLane(mask, [&](int lane) {
    origins[static_cast<size_t>(lane)] = lanes_meet ? all : own(lane) | taken_;
  });
  ForEachLane(mask, [&](int lane) {
    const Label label = labels_.Mixed(origins[static_cast<size_t>(lane)]);
    const bool atom = in.op == Op::kAtom && bad_address_[static_cast<size_t>(lane)] == 0;
    Set(in.d, lane, atom ? OldLabel(warp, in, lane) : label);
    Set(in.d2, lane, label);
    if (list == vgpu::ListUse::k_ || list == vgpu::ListUse::kSources) return;
    const uint32_t results = list == vgpu::ListUse::kBoth ? in.width : in.list_count;
    for (uint32_t k = 0; k < results && k < in.list_count; ++k) {
      Set(function.list[in.list_first + k], lane, label);
    }
  });
}

}  // namespace kernelsmith::checkers
