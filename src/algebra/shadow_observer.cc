// Tables, frames and registers of the shadow observer.
#include "algebra/shadow_observer.h"

#include <fmt/format.h>

#include "algebra/internal.h"
#include "field/functions.h"
#include "support/check.h"
#include "vgpu/op_facts.h"

namespace kernelsmith {

using namespace algebra_internal;  // NOLINT: helpers of this component
using vgpu::Instruction;
using vgpu::kWarpSize;
using vgpu::Op;

ShadowObserver::ShadowObserver(const Algebra& algebra) : algebra_(algebra) {}
ShadowObserver::~ShadowObserver() = default;

const Cell* ShadowObserver::StoredConstant(uint64_t bits, CellKind kind) {
  std::unique_ptr<Cell>& cell = constants_[{bits, kind}];
  if (cell == nullptr) cell = std::make_unique<Cell>(ConstantCell(bits, kind));
  return cell.get();
}

Cell ShadowObserver::ConstantCell(uint64_t bits, CellKind kind) {
  const double value = DecodeFloat(bits, kind);
  const Symbolic constant = SymbolicConstant(value, PrecisionOf(kind));
  return ToCell(constant.s, constant.m, kind, 0, 0);
}

void ShadowObserver::Note(const Instruction& in) {
  if (!noted_.emplace(&in, true).second || notes_.size() >= 16) return;
  const vgpu::Function& function = *table_->function;
  SourceLocation where = SourceLocationOf(function, in);
  if (where.file.empty()) where = PtxLocationOf(function, in);
  notes_.push_back(fmt::format("{}:{}: {}", where.file, where.line, TextOf(function, in)));
}

// ---- tables ----

const ShadowObserver::Table& ShadowObserver::TableOf(const vgpu::Function& function) {
  std::unique_ptr<Table>& table = tables_[&function];
  if (table != nullptr) return *table;
  table = std::make_unique<Table>();
  table->function = &function;
  std::map<uint32_t, int32_t> slot_of;
  for (const vgpu::RegisterArea& area : function.areas) {
    if (area.width == vgpu::LaneWidth::kPredicate) continue;
    const uint32_t bytes = 1u << static_cast<uint32_t>(area.width);
    for (uint32_t at = area.first; at < area.last; at += bytes * kWarpSize) {
      slot_of[at] = static_cast<int32_t>(table->slots);
      table->slots += bytes >= 4 ? bytes / 2 : 1;
    }
  }
  const auto place = [&](vgpu::Operand operand) {
    Place result{.operand = operand};
    if (!operand.exists() || operand.is_predicate() ||
        operand.base() != vgpu::OperandBase::kRegister) {
      return result;
    }
    const auto it = slot_of.find(operand.offset());
    KS_CHECK(it != slot_of.end());
    result.slot = it->second;
    return result;
  };
  for (const vgpu::Operand& operand : function.list) table->list.push_back(place(operand));
  for (const Instruction& in : function.code) {
    Row row = MakeRow(*table, in);
    row.d = place(in.d);
    row.d2 = place(in.d2);
    row.a = place(in.a);
    row.b = place(in.b);
    row.c = place(in.c);
    row.e = place(in.e);
    // Immediates of float instructions are recognised once.
    const CellKind kind = row.source_kind;
    const vgpu::Operand sources[] = {in.a, in.b, in.c};
    for (int i = 0; i < 3 && kind != CellKind::kNone; ++i) {
      const vgpu::Operand& source = sources[i];
      if (!source.exists() || source.is_predicate() ||
          source.base() != vgpu::OperandBase::kConstant) {
        continue;
      }
      uint64_t bits = 0;
      std::memcpy(&bits, function.ConstantData() + source.offset(),
                  std::min<size_t>(source.bytes(), sizeof bits));
      for (int half = 0; half < row.halves; ++half) {
        row.constant[i][half] =
            StoredConstant(IsHalf(kind) ? bits >> (16 * half) & 0xffff : bits, kind);
      }
    }
    table->rows.push_back(row);
  }
  return *table;
}

ShadowObserver::Row ShadowObserver::MakeRow(const Table& table, const Instruction& in) {
  Row row{.action = Action::kIgnore};
  row.kind = row.source_kind = CellKindOf(in.type);
  row.halves = in.type == ptx::Type::kF16x2 || in.type == ptx::Type::kBf16x2 ? 2 : 1;
  const bool is_float = row.kind != CellKind::kNone;
  const bool writes = in.d.exists() && !in.d.is_predicate();
  switch (in.op) {
    case Op::kSetp:
      row.action = Action::kCompare;
      break;
    case Op::kSet:
      row.action = Action::kCompare;
      row.kind = CellKindOf(in.type);
      row.source_kind = CellKindOf(in.source_type);
      row.halves = 2;
      break;
    case Op::kCvt:
      row.source_kind = CellKindOf(in.source_type);
      row.action = Action::kConvert;
      break;
    case Op::kCvtPacked:
      row.source_kind = CellKindOf(in.source_type);
      row.action = is_float && row.source_kind != CellKind::kNone ? Action::kConvertPacked
                                                                  : Action::kInteger;
      break;
    case Op::kMathCall:
      row.source_kind = CellKind::kNone;
      row.action = Action::kMathCall;
      break;
    case Op::kMov:
    case Op::kResize:
      row.action = Action::kMove;
      break;
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      row.action = Action::kLogic;
      break;
    case Op::kShl:
    case Op::kShr:
      row.action = Action::kShift;
      break;
    case Op::kPrmt:
      row.action = Action::kPermute;
      break;
    case Op::kSelp:
    case Op::kSlct:
      row.action = Action::kSelect;
      break;
    case Op::kPack:
      row.action = Action::kPack;
      break;
    case Op::kUnpack:
      row.action = Action::kUnpack;
      break;
    case Op::kCpAsync:
      row.action = Action::kCpAsync;
      break;
    case Op::kCall:
      row.action = Action::kCall;
      break;
    // Handled where memory or other lanes are known.
    case Op::kLoad:
    case Op::kStore:
    case Op::kAtom:
    case Op::kRed:
    case Op::kAtomVector:
    case Op::kShfl:
    case Op::kMma:
    case Op::kWmmaLoad:
    case Op::kWmmaStore:
    case Op::kWmmaMma:
    case Op::kLdmatrix:
    case Op::kStmatrix:
    case Op::kMovmatrix:
      break;
    default:
      if (IsFloatArithmetic(in.op) && is_float) {
        row.action = Action::kFloat;
      } else if (CombinesLanes(in.op)) {
        row.action = Action::kVote;
      } else if (writes) {
        row.action = Action::kInteger;
      }
      break;
  }
  // Logic, shifts and moves of types with a float name have no immediates worth recognising.
  if (row.action != Action::kFloat && row.action != Action::kCompare &&
      row.action != Action::kConvert && row.action != Action::kConvertPacked) {
    row.source_kind = CellKind::kNone;
  }
  return row;
}

// ---- frames ----

void ShadowObserver::OnLaunchBegin(const vgpu::LaunchInfo& launch) {
  shared_window_ = launch.shared_window;
  local_window_ = launch.local_window;
  frame_id_ = ~uint64_t{0};
}

void ShadowObserver::OnLaunchEnd(const vgpu::Fault*) {
  blocks_.clear();
  frame_id_ = ~uint64_t{0};
}

void ShadowObserver::OnBlockBegin(uint64_t block_number) {
  std::unique_ptr<BlockState>& block = blocks_[block_number];
  if (!spare_blocks_.empty()) {
    block = std::move(spare_blocks_.back());
    spare_blocks_.pop_back();
  } else {
    block = std::make_unique<BlockState>();
  }
}

void ShadowObserver::OnBlockEnd(uint64_t block_number) {
  const auto it = blocks_.find(block_number);
  if (it == blocks_.end()) return;
  it->second->shared.Reset();
  for (auto& [index, warp] : it->second->warps) spare_warps_.push_back(std::move(warp));
  it->second->warps.clear();
  spare_blocks_.push_back(std::move(it->second));
  blocks_.erase(it);
  frame_id_ = ~uint64_t{0};
}

void ShadowObserver::OnWarpEnd(vgpu::WarpView& warp) { frame_id_ = ~uint64_t{0}; }

void ShadowObserver::Enter(vgpu::WarpView& warp) {
  view_ = &warp;
  if (warp.frame_id() != frame_id_) SwitchTo(warp);
}

void ShadowObserver::SwitchTo(vgpu::WarpView& warp) {
  frame_id_ = warp.frame_id();
  std::unique_ptr<BlockState>& block = blocks_[warp.block_number()];
  if (block == nullptr) block = std::make_unique<BlockState>();
  block_ = block.get();
  std::unique_ptr<WarpState>& state = block_->warps[warp.warp_in_block()];
  if (state == nullptr) {
    if (!spare_warps_.empty()) {
      state = std::move(spare_warps_.back());
      spare_warps_.pop_back();
      state->tainted = 0;
      state->local.Reset();
      for (auto& [key, registers] : state->registers) {
        std::fill(registers.present.begin(), registers.present.end(), 0);
      }
    } else {
      state = std::make_unique<WarpState>();
    }
  }
  warp_ = state.get();
  const vgpu::Function& function = warp.function();
  Registers& registers = warp_->registers[{warp.call_depth(), &function}];
  if (registers.table == nullptr) {
    const Table& table = TableOf(function);
    registers.table = &table;
    registers.present.assign(table.slots, 0);
    // Not initialised: only cells that `present` names are read.
    registers.storage =
        std::make_unique_for_overwrite<std::byte[]>(size_t{table.slots} * kWarpSize * sizeof(Cell));
  }
  table_ = registers.table;
  file_ = &registers;
}

// ---- registers ----

uint32_t ShadowObserver::Present(const Place& place) const {
  if (!place.is_register()) return 0;
  uint32_t lanes = 0;
  for (int i = 0; i < place.slots(); ++i) {
    lanes |= file_->present[static_cast<size_t>(place.slot + i)];
  }
  return lanes;
}

void ShadowObserver::Clear(const Place& place, uint32_t mask) {
  if (!place.is_register()) return;
  for (int i = 0; i < place.slots(); ++i) {
    file_->present[static_cast<size_t>(place.slot + i)] &= ~mask;
  }
}

void ShadowObserver::CopyRegister(const Place& to, const Place& from, uint32_t mask) {
  if (!to.is_register()) return;
  if (!from.is_register() || (Present(from) & mask) == 0) {
    Clear(to, mask);
    return;
  }
  const int count = std::min(to.slots(), from.slots());
  for (int i = 0; i < to.slots(); ++i) {
    const auto target = static_cast<size_t>(to.slot + i);
    const uint32_t present =
        i < count ? file_->present[static_cast<size_t>(from.slot + i)] & mask : 0;
    file_->present[target] = (file_->present[target] & ~mask) | present;
    if (present == 0 || to.slot == from.slot) continue;
    Cell* cells = file_->slot(to.slot + i);
    const Cell* source = file_->slot(from.slot + i);
    if (present == 0xffffffff) {
      std::memcpy(cells, source, sizeof(Cell) * kWarpSize);
    } else {
      ForLanes(present, [&](int lane) { cells[lane] = source[lane]; });
    }
  }
}

uint64_t ShadowObserver::BitsAt(const Place& place, int lane, int part) const {
  return view_->ReadOperand(place.operand, lane, part);
}

Cell ShadowObserver::BitTrick(const Instruction& in, const Cell& x, const Cell* y, CellKind kind) {
  Note(in);
  const auto function =
      static_cast<Opaque>(static_cast<uint32_t>(Opaque::kFirstFree) + static_cast<uint32_t>(in.op));
  const Shadow s = y == nullptr ? algebra_.Function(function, ToShadow(x))
                                : algebra_.Function(function, ToShadow(x), ToShadow(*y));
  Cell r = ToCell(s, std::max(x.m, y == nullptr ? 0.0f : y->m), kind);
  r.flags |= kBitTrick;
  return r;
}

Cell ShadowObserver::CellAt(const Place& place, int word, int half, CellKind kind, int lane) {
  const uint64_t raw = BitsAt(place, lane, word / 2);
  const uint64_t word_bits = kind == CellKind::kF64 ? raw : raw >> (word % 2 * 32) & 0xffffffff;
  const uint64_t bits = IsHalf(kind) ? word_bits >> (16 * half) & 0xffff : word_bits;
  if (!place.is_register()) return *StoredConstant(bits, kind);
  const bool wide = place.operand.bytes() >= 4;
  const int32_t low = wide ? place.slot + 2 * word : place.slot;
  const auto find = [&](int32_t slot) -> const Cell* {
    return (file_->present[static_cast<size_t>(slot)] >> lane & 1) != 0 ? &file_->slot(slot)[lane]
                                                                        : nullptr;
  };
  const Cell* lower = find(low);
  const Cell* upper = wide ? find(low + 1) : nullptr;
  const Cell* own = half == 1 && wide ? upper : lower;
  if (own != nullptr && own->kind() == kind) return *own;
  if (lower == nullptr && upper == nullptr) return *StoredConstant(bits, kind);
  // The upper half of a float32 is a bfloat16, and the other way round.
  if (kind == CellKind::kF32 && lower == nullptr && upper->kind() == CellKind::kBf16 &&
      (word_bits & 0xffff) == 0) {
    Cell r = *upper;
    r.set_kind(CellKind::kF32);
    return r;
  }
  if (kind == CellKind::kBf16 && half == 1 && lower != nullptr && lower->kind() == CellKind::kF32) {
    Cell r = *lower;
    r.set_kind(CellKind::kBf16);
    r.m += static_cast<float>(std::fabs(DecodeFloat(bits, kind))) * NarrowScale(kind);
    return r;
  }
  if (IsHalf(kind) && own == nullptr && (lower == nullptr || IsHalf(lower->kind()))) {
    return *StoredConstant(bits, kind);
  }
  // Bits that are something else: a function of what they are.
  const Cell& x = lower != nullptr ? *lower : *upper;
  const auto function = static_cast<Opaque>(static_cast<uint32_t>(Opaque::kFirstFree) + 500);
  Cell r = ToCell(lower != nullptr && upper != nullptr
                      ? algebra_.Function(function, ToShadow(*lower), ToShadow(*upper))
                      : algebra_.Function(function, ToShadow(x)),
                  x.m, kind);
  r.flags |= kBitTrick;
  return r;
}

void ShadowObserver::FetchWord(const Place& place, int word, int half, CellKind kind, uint32_t mask,
                               Lanes* lanes) {
  const bool wide = place.operand.bytes() >= 4;
  const int32_t slot = wide ? place.slot + 2 * word + (IsHalf(kind) ? half : 0) : place.slot;
  const uint32_t present =
      place.is_register() ? file_->present[static_cast<size_t>(slot)] & mask : 0;
  if (present == mask) {
    const Cell* cells = file_->slot(slot);
    bool same = true;
    ForLanes(mask, [&](int lane) { same &= cells[lane].kind() == kind; });
    if (same) {
      lanes->cells = cells;
      lanes->stride = 1;
      return;
    }
  }
  if (present == 0 && (Present(place) & mask) == 0 && kind != CellKind::kF64) {
    // No shadow anywhere: often the same constant in all lanes.
    const int first = std::countr_zero(mask);
    const uint64_t bits = BitsAt(place, first, word / 2);
    bool uniform = true;
    ForLanes(mask, [&](int lane) { uniform &= BitsAt(place, lane, word / 2) == bits; });
    if (uniform) {
      const uint64_t word_bits = bits >> (word % 2 * 32) & 0xffffffff;
      lanes->cells =
          StoredConstant(IsHalf(kind) ? word_bits >> (16 * half) & 0xffff : word_bits, kind);
      lanes->stride = 0;
      return;
    }
  }
  Cell* scratch = lanes->scratch();
  ForLanes(mask, [&](int lane) { scratch[lane] = CellAt(place, word, half, kind, lane); });
  lanes->cells = scratch;
  lanes->stride = 1;
}

void ShadowObserver::Fetch(const Place& place, const Cell* const* constants, CellKind kind,
                           int half, uint32_t mask, Lanes* lanes) {
  const void* raw = view_->Lanes(place.operand);
  switch (kind) {
    case CellKind::kF32: {
      const auto* values = static_cast<const float*>(raw);
      for (int i = 0; i < kWarpSize; ++i) lanes->v[i] = values[i];
      break;
    }
    case CellKind::kF64:
      std::memcpy(lanes->v, raw, sizeof lanes->v);
      break;
    default: {
      const uint32_t bytes = place.operand.bytes();
      const auto* values = static_cast<const std::byte*>(raw);
      ForLanes(mask, [&](int lane) {
        uint16_t bits = 0;
        std::memcpy(&bits, values + lane * bytes + (bytes >= 4 ? 2 * half : 0), sizeof bits);
        lanes->v[lane] = DecodeFloat(bits, kind);
      });
    }
  }
  if (constants != nullptr && constants[half] != nullptr) {
    lanes->cells = constants[half];
    lanes->stride = 0;
    return;
  }
  FetchWord(place, 0, half, kind, mask, lanes);
}

void ShadowObserver::SetCell(const Place& place, int word, int half, int lane, const Cell& cell) {
  if (!place.is_register()) return;
  const int32_t slot = place.operand.bytes() >= 4 ? place.slot + 2 * word + half : place.slot;
  file_->slot(slot)[lane] = cell;
  file_->present[static_cast<size_t>(slot)] |= 1u << lane;
}

Cell* ShadowObserver::Result(const Place& place, CellKind kind, int half, uint32_t mask) {
  const bool wide = place.operand.bytes() >= 4;
  const int32_t slot = wide && IsHalf(kind) ? place.slot + half : place.slot;
  if (half == 0) Clear(place, mask);
  file_->present[static_cast<size_t>(slot)] |= mask;
  return file_->slot(slot);
}

// ---- dispatch ----

void ShadowObserver::BeforeInstruction(vgpu::WarpView& warp, const Instruction& in, uint32_t mask) {
  Enter(warp);
  const Row& row = RowOf(in);
  switch (row.action) {
    case Action::kIgnore:
      return;
    case Action::kInteger:
      Integer(in, row, mask);
      return;
    case Action::kFloat:
      Float(in, row, mask);
      return;
    case Action::kCompare:
      Compare(in, row, mask);
      return;
    case Action::kConvert:
      Convert(in, row, mask);
      return;
    case Action::kConvertPacked:
      ConvertPacked(in, row, mask);
      return;
    case Action::kMathCall:
      MathCall(in, row, mask);
      return;
    case Action::kMove:
      CopyRegister(row.d, row.a, mask);
      return;
    case Action::kLogic:
      Logic(in, row, mask);
      return;
    case Action::kShift:
      Shift(in, row, mask);
      return;
    case Action::kPermute:
      Permute(in, row, mask);
      return;
    case Action::kSelect:
      Select(in, row, mask);
      return;
    case Action::kPack:
      Pack(in, row, mask);
      return;
    case Action::kUnpack:
      Unpack(in, row, mask);
      return;
    case Action::kCpAsync:
      CpAsync(in, row, mask);
      return;
    case Action::kCall: {
      // The callee's registers are fresh.
      const uint32_t depth = warp.call_depth() + 1;
      for (auto& [key, registers] : warp_->registers) {
        if (key.first != depth) continue;
        for (uint32_t& present : registers.present) present &= ~mask;
      }
      return;
    }
    case Action::kVote:
      if ((warp_->tainted & mask) != 0) Taint(mask);
      Clear(row.d, mask);
      return;
  }
}

void ShadowObserver::OnWarpSync(vgpu::WarpView& warp, const Instruction& in, uint32_t mask) {
  Enter(warp);
  wmma_step_ = 0;
  switch (in.op) {
    case Op::kShfl:
      Shuffle(in, RowOf(in), mask);
      return;
    case Op::kMma:
    case Op::kWmmaMma:
      Mma(in, mask);
      return;
    case Op::kMovmatrix:
      Movmatrix(in, RowOf(in), mask);
      return;
    default:
      if (CombinesLanes(in.op) && (warp_->tainted & mask) != 0) Taint(mask);
      return;
  }
}

void ShadowObserver::OnFrameCopy(vgpu::WarpView& warp, int lane, uint64_t to, uint64_t from,
                                 uint32_t bytes) {
  Enter(warp);
  const uint64_t base = static_cast<uint64_t>(lane) << 40;
  warp_->local.Copy(base + to - local_window_, base + from - local_window_, bytes);
}

}  // namespace kernelsmith
