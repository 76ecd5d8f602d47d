// Instructions on bits: moves of parts of registers, sign tricks, selections, shuffles. What is no
// known trick becomes an uninterpreted function of the float, and only if a float is there at all.
#include <array>

#include "algebra/internal.h"
#include "field/functions.h"
#include "vgpu/ir.h"

namespace kernelsmith {

using namespace algebra_internal;  // NOLINT: helpers of this component
using vgpu::Instruction;
using vgpu::kWarpSize;
using vgpu::Op;

void ShadowObserver::Integer(const Instruction& in, const Row& row, uint32_t mask) {
  const Place sources[] = {row.a, row.b, row.c, row.e};
  uint32_t present = 0;
  for (const Place& source : sources) present |= Present(source) & mask;
  if (present == 0 || !row.d.is_register()) {
    Clear(row.d, mask);
    return;
  }
  std::array<Cell, kWarpSize> r;
  const CellKind kind = row.d.operand.bytes() == 8   ? CellKind::kF64
                        : row.d.operand.bytes() == 4 ? CellKind::kF32
                                                     : CellKind::kF16;
  ForLanes(present, [&](int lane) {
    // Every source, shadow or not, is an argument.
    bool first = true;
    Cell& cell = r[static_cast<size_t>(lane)];
    for (const Place& source : sources) {
      if (!source.operand.exists() || source.operand.is_predicate()) continue;
      const CellKind wanted = source.operand.bytes() == 8   ? CellKind::kF64
                              : source.operand.bytes() == 4 ? CellKind::kF32
                                                            : CellKind::kF16;
      Cell argument;
      if ((Present(source) >> lane & 1) != 0) {
        argument = CellAt(source, 0, 0, wanted, lane);
      } else {
        argument = ToCell(
            algebra_.Exact(static_cast<double>(BitsAt(source, lane) & 0xffffffffffff)), 0, wanted);
      }
      cell = first ? BitTrick(in, argument, nullptr, kind) : BitTrick(in, cell, &argument, kind);
      first = false;
    }
  });
  Clear(row.d, mask);
  ForLanes(present, [&](int lane) { SetCell(row.d, 0, 0, lane, r[static_cast<size_t>(lane)]); });
}

bool ShadowObserver::HalfOf(const Place& place, int half, int lane, Cell* cell) {
  if (!place.is_register()) return false;
  const bool wide = place.operand.bytes() >= 4;
  const auto at = [&](int32_t slot) -> const Cell* {
    return (file_->present[static_cast<size_t>(slot)] >> lane & 1) != 0 ? &file_->slot(slot)[lane]
                                                                        : nullptr;
  };
  if (!wide) {
    const Cell* own = half == 0 ? at(place.slot) : nullptr;
    if (own != nullptr) *cell = *own;
    return own != nullptr;
  }
  const int32_t low = place.slot + half / 2 * 2;
  const Cell* own = at(low + half % 2);
  if (own != nullptr && IsHalf(own->kind())) {
    *cell = *own;
    return true;
  }
  const Cell* word = at(low);
  if (word == nullptr || IsHalf(word->kind())) return false;
  // A half of a float32: the upper one is it as bfloat16, the lower one nobody can name.
  *cell = CellAt(place, half / 2, half % 2,
                 half % 2 == 1 && word->kind() == CellKind::kF32 ? CellKind::kBf16 : CellKind::kF16,
                 lane);
  return true;
}

void ShadowObserver::Logic(const Instruction& in, const Row& row, uint32_t mask) {
  const uint32_t pa = Present(row.a) & mask;
  const uint32_t pb = Present(row.b) & mask;
  if ((pa | pb) == 0 || !row.d.is_register()) {
    Clear(row.d, mask);
    return;
  }
  const uint32_t bytes = row.d.operand.bytes();
  if (bytes > 4) {
    Integer(in, row, mask);
    return;
  }
  const uint32_t ones = bytes == 4 ? 0xffffffff : 0xffff;
  const uint32_t sign = bytes == 4 ? 0x80000000 : 0x8000;
  uint32_t ties = 0;
  uint32_t unknown = 0;
  struct Outcome {
    bool has[2] = {false, false};
    Cell cell[2];
  };
  std::array<Outcome, kWarpSize> r;
  const Cell zero = ToCell(algebra_.Rational(0), 0, CellKind::kF32);
  // |x|, −|x| or −x of one cell; `value` is its float.
  const auto with_sign = [&](const Cell& x, double value, bool negate, bool decide) {
    Cell cell = negate ? NegParts(algebra_, x) : x;
    cell.m = x.m;
    cell.set_kind(x.kind());
    bool near_tie = false;
    if (decide) (void)Less(x, value, zero, 0, &near_tie);
    if (near_tie) cell.flags |= kNearTie;
    return cell;
  };
  ForLanes(pa | pb, [&](int lane) {
    const bool in_a = (pa >> lane & 1) != 0;
    const bool in_b = (pb >> lane & 1) != 0;
    Outcome& out = r[static_cast<size_t>(lane)];
    const auto bits_a = static_cast<uint32_t>(BitsAt(row.a, lane));
    const auto bits_b = static_cast<uint32_t>(BitsAt(row.b, lane));
    if (in_a && in_b) {
      // Halves that were prepared apart: or of a lower and an upper one.
      if (in.op != Op::kAnd && bytes == 4) {
        bool fine = true;
        for (int half = 0; half < 2; ++half) {
          Cell x, y;
          const bool has_x = HalfOf(row.a, half, lane, &x);
          const bool has_y = HalfOf(row.b, half, lane, &y);
          const uint32_t other = (has_x ? bits_b : bits_a) >> (16 * half) & 0xffff;
          fine &= !(has_x && has_y) && (!(has_x || has_y) || other == 0);
          out.has[half] = has_x || has_y;
          out.cell[half] = has_x ? x : y;
        }
        if (fine) return;
      }
      unknown |= 1u << lane;
      return;
    }
    const Place& source = in_a ? row.a : row.b;
    const uint32_t bits = in_a ? bits_a : bits_b;
    const uint32_t other = (in_a ? bits_b : bits_a) & ones;
    const bool keeps = in.op == Op::kAnd ? other == ones : other == 0;
    const auto slot = static_cast<size_t>(source.slot);
    const bool low = (file_->present[slot] >> lane & 1) != 0;
    const Cell* word = low ? &file_->slot(source.slot)[lane] : nullptr;
    const bool whole = word != nullptr && (!IsHalf(word->kind()) || bytes == 2);
    if (keeps) {
      for (int half = 0; half < (bytes == 4 ? 2 : 1); ++half) {
        if (whole && half == 1) break;
        if (whole) {
          out.has[0] = true;
          out.cell[0] = *word;
        } else {
          out.has[half] = HalfOf(source, half, lane, &out.cell[half]);
        }
      }
      return;
    }
    if (in.op == Op::kAnd && other == 0) return;
    if (whole && (word->kind() == CellKind::kF32 || IsHalf(word->kind()))) {
      const double value = DecodeFloat(bits, word->kind());
      const bool negative = std::signbit(value);
      out.has[0] = true;
      if (in.op == Op::kAnd && other == (ones & ~sign)) {
        out.cell[0] = with_sign(*word, value, negative, true);
        return;
      }
      if (in.op == Op::kOr && other == sign) {
        out.cell[0] = with_sign(*word, value, !negative, true);
        return;
      }
      if (in.op == Op::kXor && other == sign) {
        out.cell[0] = with_sign(*word, value, true, false);
        return;
      }
      if (in.op == Op::kAnd && other == sign) {
        // The sign alone: an integer that the float decides.
        out.has[0] = false;
        bool near_tie = false;
        (void)Less(*word, value, zero, 0, &near_tie);
        if (near_tie) ties |= 1u << lane;
        return;
      }
      if (in.op == Op::kAnd && other == 0xffff0000 && bytes == 4) {
        out.cell[0] = *word;  // cut to the precision of bfloat16
        out.cell[0].m += 0x1p16f * static_cast<float>(std::fabs(value));
        return;
      }
      out.has[0] = false;
      unknown |= 1u << lane;
      return;
    }
    if (bytes != 4) {
      unknown |= 1u << lane;
      return;
    }
    for (int half = 0; half < 2; ++half) {
      Cell x;
      if (!HalfOf(source, half, lane, &x)) continue;
      const uint32_t part = other >> (16 * half) & 0xffff;
      const double value = DecodeFloat(bits >> (16 * half) & 0xffff, x.kind());
      const bool negative = std::signbit(value);
      if (in.op == Op::kAnd && part == 0) continue;
      out.has[half] = true;
      if (in.op == Op::kAnd ? part == 0xffff : part == 0) {
        out.cell[half] = x;
      } else if (in.op == Op::kAnd && part == 0x7fff) {
        out.cell[half] = with_sign(x, value, negative, true);
      } else if (in.op == Op::kOr && part == 0x8000) {
        out.cell[half] = with_sign(x, value, !negative, true);
      } else if (in.op == Op::kXor && part == 0x8000) {
        out.cell[half] = with_sign(x, value, true, false);
      } else {
        out.has[half] = false;
        unknown |= 1u << lane;
      }
    }
  });
  Taint(ties);
  if (unknown != 0) Integer(in, row, unknown);
  Clear(row.d, mask & ~unknown);
  ForLanes((pa | pb) & ~unknown, [&](int lane) {
    const Outcome& out = r[static_cast<size_t>(lane)];
    for (int half = 0; half < 2; ++half) {
      if (out.has[half]) SetCell(row.d, 0, half, lane, out.cell[half]);
    }
  });
}

// By 16 bits: halves move. 64-bit shifts by 32 move words.
void ShadowObserver::Shift(const Instruction& in, const Row& row, uint32_t mask) {
  const uint32_t present = Present(row.a) & mask;
  if (present == 0 || !row.d.is_register()) {
    if ((Present(row.b) & mask) != 0) {
      Integer(in, row, mask);
    } else {
      Clear(row.d, mask);
    }
    return;
  }
  const bool left = in.op == Op::kShl;
  uint32_t unknown = 0;
  struct Outcome {
    int at = -1;
    Cell cell;
  };
  std::array<Outcome, kWarpSize> r;
  ForLanes(present, [&](int lane) {
    const uint64_t amount = BitsAt(row.b, lane);
    Outcome& out = r[static_cast<size_t>(lane)];
    if (row.d.operand.bytes() != 4 || amount != 16 || ptx::IsSigned(in.type)) {
      if (amount == 0 && row.d.operand.bytes() == row.a.operand.bytes() &&
          HalfOf(row.a, 0, lane, &out.cell) && row.d.operand.bytes() < 4) {
        out.at = 0;
        return;
      }
      unknown |= 1u << lane;
      return;
    }
    if (HalfOf(row.a, left ? 0 : 1, lane, &out.cell)) out.at = left ? 1 : 0;
  });
  if (unknown != 0) Integer(in, row, unknown);
  Clear(row.d, mask & ~unknown);
  ForLanes(present & ~unknown, [&](int lane) {
    const Outcome& out = r[static_cast<size_t>(lane)];
    if (out.at >= 0) SetCell(row.d, 0, out.at, lane, out.cell);
  });
}

void ShadowObserver::Permute(const Instruction& in, const Row& row, uint32_t mask) {
  const uint32_t present = (Present(row.a) | Present(row.b)) & mask;
  if (present == 0 || !row.d.is_register()) {
    Clear(row.d, mask);
    return;
  }
  if (in.variant != 0) {
    Integer(in, row, mask);
    return;
  }
  uint32_t unknown = 0;
  struct Outcome {
    bool has[2] = {false, false};
    Cell cell[2];
  };
  std::array<Outcome, kWarpSize> r;
  ForLanes(present, [&](int lane) {
    const auto selector = static_cast<uint32_t>(BitsAt(row.c, lane));
    Outcome& out = r[static_cast<size_t>(lane)];
    const uint32_t low = selector & 0xffff;
    if (low == 0x3210 || low == 0x7654) {
      const Place& source = low == 0x3210 ? row.a : row.b;
      if (!source.is_register()) return;
      for (int half = 0; half < 2; ++half) {
        const auto slot = static_cast<size_t>(source.slot + half);
        if ((file_->present[slot] >> lane & 1) == 0) continue;
        out.has[half] = true;
        out.cell[half] = file_->slot(source.slot + half)[lane];
      }
      return;
    }
    for (int half = 0; half < 2; ++half) {
      const uint32_t first = low >> (8 * half) & 0xf;
      const uint32_t second = low >> (8 * half + 4) & 0xf;
      const Place& source = (first & 4) != 0 ? row.b : row.a;
      if (first < 8 && second == first + 1 && first % 2 == 0) {
        out.has[half] = HalfOf(source, static_cast<int>(first % 4 / 2), lane, &out.cell[half]);
        continue;
      }
      // Bytes taken apart are known only where no float is.
      for (const uint32_t byte : {first, second}) {
        const Place& from = (byte & 4) != 0 ? row.b : row.a;
        Cell ignored;
        if (HalfOf(from, static_cast<int>(byte % 4 / 2), lane, &ignored)) unknown |= 1u << lane;
      }
    }
  });
  if (unknown != 0) Integer(in, row, unknown);
  Clear(row.d, mask & ~unknown);
  ForLanes(present & ~unknown, [&](int lane) {
    const Outcome& out = r[static_cast<size_t>(lane)];
    for (int half = 0; half < 2; ++half) {
      if (out.has[half]) SetCell(row.d, 0, half, lane, out.cell[half]);
    }
  });
}

void ShadowObserver::Select(const Instruction& in, const Row& row, uint32_t mask) {
  uint32_t chosen = 0;
  if (in.op == Op::kSelp) {
    std::memcpy(&chosen, view_->Lanes(in.c), sizeof chosen);
    if (in.negate_c) chosen = ~chosen;
  } else if (CellKindOf(in.source_type) == CellKind::kF32) {
    // slct: a where c >= 0.
    Lanes c;
    Fetch(row.c, nullptr, CellKind::kF32, 0, mask, &c);
    const Cell zero = ToCell(algebra_.Rational(0), 0, CellKind::kF32);
    ForLanes(mask, [&](int i) {
      bool near_tie = false;
      const bool less = Less(c.at(i), c.v[i], zero, 0, &near_tie);
      chosen |= static_cast<uint32_t>(!less && !std::isnan(c.v[i])) << i;
      if (near_tie) Taint(1u << i);
    });
  } else {
    ForLanes(mask, [&](int i) {
      chosen |= static_cast<uint32_t>(static_cast<int32_t>(BitsAt(row.c, i)) >= 0) << i;
    });
  }
  const uint32_t from_a = mask & chosen;
  const uint32_t from_b = mask & ~chosen;
  if (from_a != 0) CopyRegister(row.d, row.a, from_a);
  if (from_b != 0) CopyRegister(row.d, row.b, from_b);
  // What a near tie chose carries it.
  const uint32_t tainted = warp_->tainted & mask;
  if (tainted == 0 || !row.d.is_register()) return;
  for (int i = 0; i < row.d.slots(); ++i) {
    Cell* cells = file_->slot(row.d.slot + i);
    ForLanes(file_->present[static_cast<size_t>(row.d.slot + i)] & tainted,
             [&](int lane) { cells[lane].flags |= kNearTie; });
  }
}

void ShadowObserver::Pack(const Instruction& in, const Row& row, uint32_t mask) {
  if (!row.d.is_register()) return;
  const Place* parts = &table_->list[in.list_first];
  uint32_t present = 0;
  for (int i = 0; i < in.list_count; ++i) present |= Present(parts[i]) & mask;
  if (present == 0) {
    Clear(row.d, mask);
    return;
  }
  const int part_bytes = in.register_bytes;
  if (part_bytes < 2) {
    // Bytes of floats are not followed.
    std::array<Cell, kWarpSize> r;
    ForLanes(present, [&](int lane) {
      for (int i = 0; i < in.list_count; ++i) {
        if ((Present(parts[i]) >> lane & 1) == 0) continue;
        r[static_cast<size_t>(lane)] =
            BitTrick(in, CellAt(parts[i], 0, 0, CellKind::kF16, lane), nullptr, CellKind::kF32);
      }
    });
    Clear(row.d, mask);
    ForLanes(present, [&](int lane) { SetCell(row.d, 0, 0, lane, r[static_cast<size_t>(lane)]); });
    return;
  }
  // The result may be one of the parts.
  struct Piece {
    int slot;
    uint32_t lanes;
    std::array<Cell, kWarpSize> cells;
  };
  std::vector<Piece> pieces;
  for (int i = 0; i < in.list_count; ++i) {
    if (!parts[i].is_register()) continue;
    const int count = std::min(parts[i].slots(), std::max(part_bytes / 2, 1));
    for (int s = 0; s < count; ++s) {
      const auto from = static_cast<size_t>(parts[i].slot + s);
      const uint32_t lanes = file_->present[from] & mask;
      if (lanes == 0) continue;
      Piece& piece = pieces.emplace_back();
      piece.slot = i * part_bytes / 2 + s;
      piece.lanes = lanes;
      const Cell* cells = file_->slot(parts[i].slot + s);
      ForLanes(lanes, [&](int lane) { piece.cells[static_cast<size_t>(lane)] = cells[lane]; });
    }
  }
  Clear(row.d, mask);
  for (const Piece& piece : pieces) {
    if (piece.slot >= row.d.slots()) continue;
    ForLanes(piece.lanes, [&](int lane) {
      SetCell(row.d, piece.slot / 2, piece.slot % 2, lane, piece.cells[static_cast<size_t>(lane)]);
    });
  }
  // A double that was taken apart and is whole again.
  if (part_bytes != 4 || row.d.operand.bytes() < 8) return;
  for (int word = 0; word + 1 < row.d.words(); word += 2) {
    Cell* low = file_->slot(row.d.slot + 2 * word);
    const Cell* high = file_->slot(row.d.slot + 2 * word + 2);
    uint32_t& low_present = file_->present[static_cast<size_t>(row.d.slot + 2 * word)];
    uint32_t& high_present = file_->present[static_cast<size_t>(row.d.slot + 2 * word + 2)];
    ForLanes(low_present & high_present & mask, [&](int lane) {
      if (low[lane].kind() != CellKind::kF64Low || high[lane].kind() != CellKind::kF64High ||
          low[lane].p != high[lane].p || low[lane].q != high[lane].q) {
        return;
      }
      low[lane].set_kind(CellKind::kF64);
      high_present &= ~(1u << lane);
    });
  }
}

void ShadowObserver::Unpack(const Instruction& in, const Row& row, uint32_t mask) {
  const Place* parts = &table_->list[in.list_first];
  const uint32_t present = Present(row.a) & mask;
  const int part_bytes = in.register_bytes;
  struct Piece {
    const Place* place;
    int slot;
    int lane;
    Cell cell;
  };
  std::vector<Piece> pieces;
  if (present != 0 && part_bytes < 2) {
    ForLanes(present, [&](int lane) {
      const Cell cell =
          BitTrick(in, CellAt(row.a, 0, 0, CellKind::kF32, lane), nullptr, CellKind::kF16);
      for (int i = 0; i < in.list_count; ++i) {
        if (parts[i].is_register()) pieces.push_back({&parts[i], 0, lane, cell});
      }
    });
  }
  if (present != 0 && part_bytes >= 2) {
    ForLanes(present, [&](int lane) {
      for (int i = 0; i < in.list_count; ++i) {
        if (!parts[i].is_register()) continue;
        if (part_bytes == 2) {
          Cell cell;
          if (HalfOf(row.a, i, lane, &cell)) pieces.push_back({&parts[i], 0, lane, cell});
          continue;
        }
        const int first = i * part_bytes / 2;
        for (int s = 0; s < part_bytes / 2 && first + s < row.a.slots(); ++s) {
          const int32_t from = row.a.slot + first + s;
          if ((file_->present[static_cast<size_t>(from)] >> lane & 1) == 0) continue;
          Cell cell = file_->slot(from)[lane];
          if (part_bytes == 4 && cell.kind() == CellKind::kF64) {
            cell.set_kind(CellKind::kF64Low);
            Piece high{nullptr, 0, lane, cell};
            if (i + 1 < in.list_count && parts[i + 1].is_register()) {
              high.place = &parts[i + 1];
              high.cell.set_kind(CellKind::kF64High);
              pieces.push_back(high);
            }
          }
          pieces.push_back({&parts[i], s, lane, cell});
        }
      }
    });
  }
  for (int i = 0; i < in.list_count; ++i) Clear(parts[i], mask);
  for (const Piece& piece : pieces) {
    if (piece.slot >= piece.place->slots()) continue;
    SetCell(*piece.place, piece.slot / 2, piece.slot % 2, piece.lane, piece.cell);
  }
}

void ShadowObserver::Shuffle(const Instruction& in, const Row& row, uint32_t mask) {
  // A lane that learns from a tainted one.
  if ((Present(row.a) & mask) == 0 && (warp_->tainted & mask) == 0) {
    Clear(row.d, mask);
    return;
  }
  std::array<int, kWarpSize> source;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const auto b = static_cast<uint32_t>(BitsAt(row.b, lane));
    const auto c = static_cast<uint32_t>(BitsAt(row.c, lane));
    const int bval = static_cast<int>(b & 0x1f);
    const int cval = static_cast<int>(c & 0x1f);
    const int segment = static_cast<int>(c >> 8 & 0x1f);
    const int max_lane = (lane & segment) | (cval & ~segment);
    const int min_lane = lane & segment;
    int j = 0;
    bool inside = false;
    switch (static_cast<vgpu::ShuffleMode>(in.variant)) {
      case vgpu::ShuffleMode::kUp:
        j = lane - bval;
        inside = j >= max_lane;
        break;
      case vgpu::ShuffleMode::kDown:
        j = lane + bval;
        inside = j <= max_lane;
        break;
      case vgpu::ShuffleMode::kBfly:
        j = lane ^ bval;
        inside = j <= max_lane;
        break;
      case vgpu::ShuffleMode::kIdx:
        j = min_lane | (bval & ~segment);
        inside = j <= max_lane;
        break;
    }
    if (!inside || (mask >> j & 1) == 0) j = lane;
    source[static_cast<size_t>(lane)] = j;
  }
  if (!row.d.is_register()) return;
  uint32_t infected = 0;
  for (int s = 0; s < row.d.slots(); ++s) {
    const bool exists = row.a.is_register() && s < row.a.slots();
    const uint32_t present = exists ? file_->present[static_cast<size_t>(row.a.slot + s)] : 0;
    std::array<Cell, kWarpSize> r;
    uint32_t given = 0;
    ForLanes(mask, [&](int lane) {
      const int j = source[static_cast<size_t>(lane)];
      if ((present >> j & 1) == 0) return;
      r[static_cast<size_t>(lane)] = file_->slot(row.a.slot + s)[j];
      if ((warp_->tainted >> j & 1) != 0) r[static_cast<size_t>(lane)].flags |= kNearTie;
      given |= 1u << lane;
    });
    uint32_t& target = file_->present[static_cast<size_t>(row.d.slot + s)];
    target = (target & ~mask) | given;
    Cell* cells = file_->slot(row.d.slot + s);
    ForLanes(given, [&](int lane) { cells[lane] = r[static_cast<size_t>(lane)]; });
    if (s == 0) {
      // An integer from a tainted lane has no cell to carry the taint.
      ForLanes(mask & ~given, [&](int lane) {
        if ((warp_->tainted >> source[static_cast<size_t>(lane)] & 1) != 0) infected |= 1u << lane;
      });
    }
  }
  Taint(infected);
}

}  // namespace kernelsmith
