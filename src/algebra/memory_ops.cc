// Shadows between registers and memory.
#include "algebra/internal.h"
#include "field/functions.h"
#include "vgpu/ir.h"
#include "vgpu/memory.h"

namespace kernelsmith {

using namespace algebra_internal;  // NOLINT: helpers of this component
using vgpu::AccessKind;
using vgpu::AtomicOp;
using vgpu::Instruction;
using vgpu::MemoryAccess;
using vgpu::Op;

// The shadows that a generic address belongs to, and the address in them.
ShadowSpace& ShadowObserver::SpaceOf(int lane, uint64_t* address) {
  if (*address - shared_window_ < vgpu::kSharedWindowSize) {
    *address -= shared_window_;
    return block_->shared;
  }
  if (*address - local_window_ < vgpu::kLocalWindowSize) {
    *address = *address - local_window_ + (static_cast<uint64_t>(lane) << 40);
    return warp_->local;
  }
  return global_;
}

void ShadowObserver::LoadCells(const Instruction& in, int lane, uint64_t address, uint32_t bytes,
                               const Place& place) {
  ShadowSpace& space = SpaceOf(lane, &address);
  // A cell without a kind marks bytes that a near tie decided.
  const auto put = [&](int word, int half, const Cell& cell) {
    if (cell.kind() == CellKind::kNone) {
      Taint(1u << lane);
    } else {
      SetCell(place, word, half, lane, cell);
    }
  };
  if (bytes == 1) {
    const uint64_t word = address & ~uint64_t{3};
    const Cell* cell = space.Find(address & ~uint64_t{1});
    if (cell == nullptr) cell = space.Find(word);
    if (cell == nullptr) cell = space.Find(word & ~uint64_t{7});
    if (cell == nullptr) return;
    if (cell->kind() != CellKind::kNone &&
        (cell->kind() == CellKind::kF64 || (address & ~uint64_t{1}) == word ||
         !IsHalf(cell->kind()) || cell == space.Find(address & ~uint64_t{1}))) {
      // A byte of a float.
      SetCell(place, 0, 0, lane, BitTrick(in, *cell, nullptr, CellKind::kF16));
    } else if (cell->kind() == CellKind::kNone) {
      Taint(1u << lane);
    }
    return;
  }
  if (bytes == 2) {
    if (const Cell* cell = space.Find(address)) {
      if (cell->kind() == CellKind::kF32) {
        put(0, 0, BitTrick(in, *cell, nullptr, CellKind::kF16));
      } else {
        put(0, 0, *cell);
      }
    } else if ((address & 2) != 0) {
      const Cell* word = space.Find(address - 2);
      if (word != nullptr && word->kind() == CellKind::kF32) {
        Cell upper = *word;
        upper.set_kind(CellKind::kBf16);
        upper.m *= NarrowScale(CellKind::kBf16);
        put(0, 0, upper);
      } else if (word != nullptr && word->kind() == CellKind::kNone) {
        Taint(1u << lane);
      }
    }
    return;
  }
  const int words = static_cast<int>(bytes / 4);
  for (int word = 0; word < words; ++word) {
    const uint64_t at = address + 4 * static_cast<uint64_t>(word);
    if (const Cell* cell = space.Find(at)) {
      if (cell->kind() == CellKind::kF64 && bytes == 4) {
        Cell low = *cell;
        low.set_kind(CellKind::kF64Low);
        put(word, 0, low);
      } else {
        put(word, 0, *cell);
      }
    } else if (bytes == 4 && (at & 4) != 0) {
      const Cell* before = space.Find(at - 4);
      if (before != nullptr && before->kind() == CellKind::kF64) {
        Cell high = *before;
        high.set_kind(CellKind::kF64High);
        put(word, 0, high);
      }
    }
    if (const Cell* odd = space.Find(at + 2)) put(word, 1, *odd);
  }
  if (words == 2 && place.slots() == 4) {
    // A double that was stored in two parts.
    Cell* low = &file_->slot(place.slot)[lane];
    const Cell* high = &file_->slot(place.slot + 2)[lane];
    const uint32_t both = file_->present[static_cast<size_t>(place.slot)] &
                          file_->present[static_cast<size_t>(place.slot + 2)];
    if ((both >> lane & 1) != 0 && low->kind() == CellKind::kF64Low &&
        high->kind() == CellKind::kF64High && low->p == high->p && low->q == high->q) {
      low->set_kind(CellKind::kF64);
      file_->present[static_cast<size_t>(place.slot + 2)] &= ~(1u << lane);
    }
  }
}

void ShadowObserver::StoreCells(int lane, uint64_t address, uint32_t bytes, const Place& place) {
  ShadowSpace& space = SpaceOf(lane, &address);
  space.Clear(address, bytes);
  const bool tainted = (warp_->tainted >> lane & 1) != 0;
  bool any = false;
  bool lost =
      bytes == 1 && (Present(place) >> lane & 1) != 0;  // part of a float: nobody can name it
  if (place.is_register() && bytes >= 2) {
    const int slots = std::min(place.slots(), static_cast<int>(bytes / 2));
    for (int s = 0; s < slots; ++s) {
      const int32_t slot = place.slot + s;
      if ((file_->present[static_cast<size_t>(slot)] >> lane & 1) == 0) continue;
      Cell cell = file_->slot(slot)[lane];
      if (tainted) cell.flags |= kNearTie;
      if (bytes == 2 && !IsHalf(cell.kind())) {
        lost = true;
        continue;
      }
      space.Set(address + 2 * static_cast<uint64_t>(s), cell);
      any = true;
    }
  }
  if ((tainted && !any) || lost) {
    for (uint64_t at = address & ~uint64_t{3}; at < address + bytes; at += 4) {
      space.Set(at, Cell{.flags = kNearTie});
    }
  }
}

void ShadowObserver::Load(const Instruction& in, const MemoryAccess& access) {
  const Row& row = RowOf(in);
  const bool vector = in.list_count > 0;
  const int count = vector ? in.list_count : 1;
  for (int e = 0; e < count; ++e) {
    const Place& place = vector ? table_->list[in.list_first + static_cast<uint32_t>(e)] : row.d;
    if (!place.is_register()) continue;
    Clear(place, access.mask);
    if (in.address == vgpu::AddressBase::kParameters) continue;
    ForLanes(access.mask, [&](int lane) {
      LoadCells(in, lane,
                access.address[static_cast<size_t>(lane)] + static_cast<uint64_t>(e) * in.bytes,
                in.bytes, place);
    });
  }
}

void ShadowObserver::Store(const Instruction& in, const MemoryAccess& access) {
  const Row& row = RowOf(in);
  const bool vector = in.list_count > 0;
  const int count = vector ? in.list_count : 1;
  ForLanes(access.mask, [&](int lane) {
    for (int e = 0; e < count; ++e) {
      const Place& place = vector ? table_->list[in.list_first + static_cast<uint32_t>(e)] : row.b;
      StoreCells(lane,
                 access.address[static_cast<size_t>(lane)] + static_cast<uint64_t>(e) * in.bytes,
                 in.bytes, place);
    }
  });
}

// Lanes in ascending order, as the engine has it. Nothing has happened yet: what earlier lanes of
// the same instruction will have written is remembered here.
void ShadowObserver::Atomic(const Instruction& in, const MemoryAccess& access) {
  const Row& row = RowOf(in);
  const auto op = static_cast<AtomicOp>(in.variant);
  const bool vector = in.op == Op::kAtomVector;
  const int width = vector ? in.width : 1;
  const bool returns = vector ? in.list_count > width : row.d.is_register();
  const CellKind type_kind = CellKindOf(in.type);
  const uint32_t bytes = in.bytes;
  const int halves = in.type == ptx::Type::kF16x2 || in.type == ptx::Type::kBf16x2 ? 2 : 1;
  lane_operations_ += static_cast<uint64_t>(std::popcount(access.mask) * width * halves);
  std::vector<std::pair<uint64_t, uint64_t>> written;  // address and bits
  const auto value_at = [&](int lane, uint64_t address) {
    for (auto it = written.rbegin(); it != written.rend(); ++it) {
      if (it->first == address) return it->second;
    }
    uint64_t bits = 0;
    (void)view_->ReadMemory(lane, address, &bits, std::min(bytes, 8u));
    return bits;
  };
  struct Old {
    int lane;
    const Place* place;
    int half;
    Cell cell;
  };
  std::vector<Old> olds;
  ForLanes(access.mask, [&](int lane) {
    for (int e = 0; e < width; ++e) {
      const Place& source = vector ? table_->list[in.list_first + static_cast<uint32_t>(e)] : row.b;
      const Place* target = !returns ? nullptr
                            : vector
                                ? &table_->list[in.list_first + static_cast<uint32_t>(width + e)]
                                : &row.d;
      const uint64_t generic =
          access.address[static_cast<size_t>(lane)] + static_cast<uint64_t>(e) * bytes;
      uint64_t address = generic;
      ShadowSpace& space = SpaceOf(lane, &address);
      const bool tainted = (warp_->tainted >> lane & 1) != 0;
      for (int half = 0; half < halves; ++half) {
        const uint64_t at = address + 2 * static_cast<uint64_t>(half);
        const Cell* found = space.Find(at);
        if (found != nullptr && found->kind() == CellKind::kNone) {
          Taint(1u << lane);
          found = nullptr;
        }
        if (found != nullptr && target != nullptr) olds.push_back({lane, target, half, *found});
        const Place& given = op == AtomicOp::kCas ? row.c : source;
        const bool has_source = (Present(given) >> lane & 1) != 0;
        const CellKind kind = type_kind != CellKind::kNone ? type_kind
                              : found != nullptr           ? found->kind()
                              : bytes == 8                 ? CellKind::kF64
                                                           : CellKind::kF32;
        const bool is_float = type_kind != CellKind::kNone || found != nullptr || has_source;
        const uint64_t old_bits = value_at(lane, generic);
        const uint64_t new_bits = BitsAt(given, lane);
        const auto part = [&](uint64_t bits) {
          return IsHalf(kind) ? bits >> (16 * half) & 0xffff : bits;
        };
        const double old_value = DecodeFloat(part(old_bits), kind);
        const double value = DecodeFloat(part(new_bits), kind);
        if (!is_float) {
          if (tainted) space.Set(at & ~uint64_t{3}, Cell{.flags = kNearTie});
          continue;
        }
        const Cell old = found != nullptr && found->kind() == kind ? *found
                         : found != nullptr                        ? *found
                                            : *StoredConstant(part(old_bits), kind);
        const Cell x = CellAt(given, 0, half, kind, lane);
        Cell result;
        bool kept = false;
        switch (op) {
          case AtomicOp::kAdd:
            if (type_kind == CellKind::kNone) {
              result = BitTrick(in, old, &x, kind);
            } else {
              result = AddParts(algebra_, old, x);
              result.m = old.m + x.m;
              result = Finish(in, result, old_value + value, kind);
            }
            break;
          case AtomicOp::kMin:
          case AtomicOp::kMax: {
            // On bits: as floats for positive ones, the other way round for unsigned comparison of
            // negative ones; the bits decide, the floats say how close it was.
            bool near_tie = false;
            (void)Less(old, old_value, x, value, &near_tie);
            bool take = false;
            if (type_kind != CellKind::kNone) {
              take = op == AtomicOp::kMax ? value > old_value : value < old_value;
              take |= std::isnan(old_value) && !std::isnan(value);
            } else if (ptx::IsSigned(in.type) && bytes == 4) {
              const auto a = static_cast<int32_t>(old_bits), b = static_cast<int32_t>(new_bits);
              take = op == AtomicOp::kMax ? b > a : b < a;
            } else if (ptx::IsSigned(in.type)) {
              const auto a = static_cast<int64_t>(old_bits), b = static_cast<int64_t>(new_bits);
              take = op == AtomicOp::kMax ? b > a : b < a;
            } else {
              take = op == AtomicOp::kMax ? new_bits > old_bits : new_bits < old_bits;
            }
            result = take ? x : old;
            if (near_tie) result.flags |= kNearTie;
            if (take && halves == 1) written.emplace_back(generic, new_bits);
            break;
          }
          case AtomicOp::kExch:
            result = x;
            written.emplace_back(generic, new_bits);
            break;
          case AtomicOp::kCas: {
            const uint64_t expected = BitsAt(row.b, lane);
            if (expected != old_bits) {
              kept = true;
            } else {
              result = x;
              written.emplace_back(generic, new_bits);
              if (!has_source) {
                // Plain bits take the place of a float.
                space.Clear(at, bytes);
                kept = true;
              }
            }
            break;
          }
          default:
            result = BitTrick(in, old, &x, kind);
            break;
        }
        if (kept) continue;
        result.set_kind(kind);
        if (tainted) result.flags |= kNearTie;
        if (!IsHalf(kind)) space.Clear(at, bytes);
        space.Set(at, result);
      }
    }
  });
  if (!returns) return;
  for (int e = 0; e < width; ++e) {
    Clear(vector ? table_->list[in.list_first + static_cast<uint32_t>(width + e)] : row.d,
          access.mask);
  }
  for (const Old& old : olds) SetCell(*old.place, 0, old.half, old.lane, old.cell);
}

void ShadowObserver::CpAsync(const Instruction& in, const Row& row, uint32_t mask) {
  uint32_t ignored = 0;
  if (in.e.exists()) {
    std::memcpy(&ignored, view_->Lanes(in.e), sizeof ignored);
    if (in.negate_c) ignored = ~ignored;
  }
  ForLanes(mask, [&](int lane) {
    const uint64_t to = BitsAt(row.a, lane);
    uint64_t from = BitsAt(row.b, lane);
    uint64_t size = in.bytes;
    if (in.c.exists()) size = std::min<uint64_t>(size, BitsAt(row.c, lane) & 0xffffffff);
    if ((ignored >> lane & 1) != 0) size = 0;
    block_->shared.Clear(to, in.bytes);
    if (size == 0) return;
    ShadowSpace& space = SpaceOf(lane, &from);
    for (uint64_t i = 0; i + 2 <= size; i += 2) {
      if (const Cell* cell = space.Find(from + i)) block_->shared.Set(to + i, Cell(*cell));
    }
  });
}

// Comes as a load of units of the source and writes of units of the target, in the same order.
void ShadowObserver::BulkCopy(const vgpu::WarpView& warp, const MemoryAccess& access) {
  if (access.kind == AccessKind::kAtomic) return;  // its mbarrier
  const vgpu::BulkInfo& info = warp.function().bulks[access.instruction->target];
  const int lane = std::countr_zero(access.mask);
  uint64_t address = access.address[static_cast<size_t>(lane)];
  ShadowSpace& space = SpaceOf(lane, &address);
  const bool followed = !info.tensor && !info.reduces && !info.multicast;
  if (access.kind == AccessKind::kLoad) {
    if (bulk_taken_ == bulk_.size()) {
      bulk_.clear();
      bulk_taken_ = 0;
    }
    for (uint64_t i = 0; i < access.bytes && followed; i += 2) {
      const Cell* cell = space.Find(address + i);
      bulk_.push_back(cell != nullptr ? std::optional<Cell>(*cell) : std::nullopt);
    }
    return;
  }
  space.Clear(address, access.bytes);
  const bool known = followed && bulk_.size() - bulk_taken_ >= access.bytes / 2;
  for (uint64_t i = 0; i < access.bytes; i += 2) {
    if (known) {
      const std::optional<Cell>& cell = bulk_[bulk_taken_ + i / 2];
      if (cell) space.Set(address + i, Cell(*cell));
    } else if (i % 4 == 0) {
      space.Set(address + i, Cell{.flags = kNearTie});  // nobody can say what is there
    }
  }
  if (known) bulk_taken_ += access.bytes / 2;
}

bool ShadowObserver::OnMemoryAccess(vgpu::WarpView& warp, const MemoryAccess& access) {
  Enter(warp);
  const Instruction& in = *access.instruction;
  switch (in.op) {
    case Op::kLoad:
      Load(in, access);
      break;
    case Op::kStore:
      Store(in, access);
      break;
    case Op::kAtom:
    case Op::kRed:
    case Op::kAtomVector:
      Atomic(in, access);
      break;
    case Op::kLdmatrix:
      Ldmatrix(in, access);
      break;
    case Op::kStmatrix:
      Stmatrix(in, access);
      break;
    case Op::kWmmaLoad:
    case Op::kWmmaStore:
      Wmma(in, access);
      break;
    case Op::kBulkCopy:
      BulkCopy(warp, access);
      break;
    default:
      break;
  }
  return true;
}

}  // namespace kernelsmith
