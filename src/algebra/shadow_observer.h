// The observer that carries a symbolic shadow through a kernel: each float in a register or in
// memory has a cell (cell.h) with what it is as real algebra. Moves, shuffles, packing and memory
// carry cells along; arithmetic acts on them; decisions follow the floats. What has no cell is a
// constant of the program, recognised from its bits when a float operation first meets it.
//
// An AlgebraScope must be active wherever the observer is used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "algebra/cell.h"
#include "algebra/shadow_space.h"
#include "vgpu/observer.h"

namespace kernelsmith {

class ShadowObserver final : public vgpu::Observer {
 public:
  explicit ShadowObserver(const Algebra& algebra);
  ~ShadowObserver() override;

  // Shadows of global memory, by device address.
  ShadowSpace& global() { return global_; }
  // The cell of bits without a shadow: a constant of the program.
  Cell ConstantCell(uint64_t bits, CellKind kind);

  uint64_t lane_operations() const { return lane_operations_; }
  uint64_t decisions() const { return decisions_; }  // between values of which one is no constant
  // What no rule knows: "and.b32 at softmax.cu:12", in order of first occurrence.
  const std::vector<std::string>& notes() const { return notes_; }

  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override;
  void OnLaunchEnd(const vgpu::Fault* fault) override;
  void OnBlockBegin(uint64_t block_number) override;
  void OnBlockEnd(uint64_t block_number) override;
  void OnWarpEnd(vgpu::WarpView& warp) override;
  void BeforeInstruction(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  bool OnMemoryAccess(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override;
  void OnWarpSync(vgpu::WarpView& warp, const vgpu::Instruction& in, uint32_t mask) override;
  void OnFrameCopy(vgpu::WarpView& warp, int lane, uint64_t to, uint64_t from,
                   uint32_t bytes) override;

 private:
  // An operand with the first of its slots. A slot is 32 cells: a register has one for each 4-byte
  // word and one for the word's upper half, in turn; 16-bit registers have one.
  struct Place {
    vgpu::Operand operand;
    int32_t slot = -1;  // none: a constant, a special register, a predicate, nothing
    int words() const { return operand.bytes() >= 4 ? static_cast<int>(operand.bytes()) / 4 : 1; }
    int slots() const { return operand.bytes() >= 4 ? 2 * words() : 1; }
    bool is_register() const { return slot >= 0; }
  };
  enum class Action : uint8_t;
  struct Row {
    Action action;
    CellKind kind = CellKind::kNone;         // the kind of the result
    CellKind source_kind = CellKind::kNone;  // the kind of the sources
    uint8_t halves = 1;                      // 2: f16x2, bf16x2
    Place d, d2, a, b, c, e;
    const Cell* constant[3][2] = {};  // cells of a, b and c where they are constants, for each half
  };
  struct Table {
    const vgpu::Function* function = nullptr;
    std::vector<Row> rows;    // as function->code
    std::vector<Place> list;  // as function->list
    uint32_t slots = 0;
  };
  struct Registers {
    const Table* table = nullptr;
    std::vector<uint32_t> present;  // lanes with a cell, for each slot
    std::unique_ptr<std::byte[]> storage;
    Cell* slot(int32_t number) const {
      return reinterpret_cast<Cell*>(storage.get()) + static_cast<size_t>(number) * vgpu::kWarpSize;
    }
  };
  struct WarpState {
    // By call depth and function: a lane is in one frame of them at a time.
    std::map<std::pair<uint32_t, const vgpu::Function*>, Registers> registers;
    ShadowSpace local;     // a lane's memory begins at lane << 40
    uint32_t tainted = 0;  // lanes in which a near tie decided something that is not followed up
  };
  struct BlockState {
    ShadowSpace shared;
    std::map<uint32_t, std::unique_ptr<WarpState>> warps;
  };
  // The lanes of a source: cells[i * stride], and the floats.
  struct Lanes {
    const Cell* cells = nullptr;
    size_t stride = 1;
    double v[vgpu::kWarpSize];
    alignas(8) std::byte storage[sizeof(Cell) * vgpu::kWarpSize];
    Cell* scratch() { return reinterpret_cast<Cell*>(storage); }
    const Cell& at(int lane) const { return cells[static_cast<size_t>(lane) * stride]; }
  };

  // observer.cc: tables and frames
  const Table& TableOf(const vgpu::Function& function);
  Row MakeRow(const Table& table, const vgpu::Instruction& in);
  void Enter(vgpu::WarpView& warp);
  void SwitchTo(vgpu::WarpView& warp);
  const Row& RowOf(const vgpu::Instruction& in) const {
    return table_->rows[static_cast<size_t>(&in - table_->function->code.data())];
  }
  const Cell* StoredConstant(uint64_t bits, CellKind kind);
  void Note(const vgpu::Instruction& in);
  void Taint(uint32_t lanes) { warp_->tainted |= lanes; }

  // Registers.
  uint32_t Present(const Place& place) const;
  void Clear(const Place& place, uint32_t mask);
  void CopyRegister(const Place& to, const Place& from, uint32_t mask);
  // The cell that bits of `lane` are as a `kind`, whatever the register holds.
  Cell CellAt(const Place& place, int word, int half, CellKind kind, int lane);
  uint64_t BitsAt(const Place& place, int lane, int part = 0) const;
  void Fetch(const Place& place, const Cell* const* constants, CellKind kind, int half,
             uint32_t mask, Lanes* lanes);
  void FetchWord(const Place& place, int word, int half, CellKind kind, uint32_t mask,
                 Lanes* lanes);
  // Sets the cell of one lane; others of the same register are the caller's.
  void SetCell(const Place& place, int word, int half, int lane, const Cell& cell);
  // The lanes of `mask` of a register hold one value of `kind`: other cells of it are gone.
  Cell* Result(const Place& place, CellKind kind, int half, uint32_t mask);
  Cell BitTrick(const vgpu::Instruction& in, const Cell& x, const Cell* y, CellKind kind);

  // float_ops.cc
  void Float(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  struct FloatLanes;
  void FloatHalf(const vgpu::Instruction& in, const Row& row, int half, uint32_t mask);
  bool FloatArithmetic(const vgpu::Instruction& in, FloatLanes& lanes) const;
  bool FloatChoice(const vgpu::Instruction& in, FloatLanes& lanes);
  bool FloatFunction(const vgpu::Instruction& in, FloatLanes& lanes) const;
  void StoreHalf(const Row& row, int half, const FloatLanes& lanes);
  void Compare(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void Convert(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void ConvertPacked(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void MathCall(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  // A decision: near ties taint the lane.
  bool Less(const Cell& x, double vx, const Cell& y, double vy, bool* near_tie) const;
  Cell Choose(bool max, const Cell& x, double vx, const Cell& y, double vy) const;
  Cell Finish(const vgpu::Instruction& in, Cell cell, double value, CellKind kind) const;

  // bit_ops.cc
  void Integer(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void Logic(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void Shift(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void Permute(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void Select(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void Pack(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void Unpack(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void Shuffle(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  // The 16 bits at half `half` of a 32-bit register as a cell; false: no shadow there.
  bool HalfOf(const Place& place, int half, int lane, Cell* cell);

  // memory_ops.cc
  ShadowSpace& SpaceOf(int lane, uint64_t* address);
  void LoadCells(const vgpu::Instruction& in, int lane, uint64_t address, uint32_t bytes,
                 const Place& place);
  void StoreCells(int lane, uint64_t address, uint32_t bytes, const Place& place);
  void Load(const vgpu::Instruction& in, const vgpu::MemoryAccess& access);
  void Store(const vgpu::Instruction& in, const vgpu::MemoryAccess& access);
  void Atomic(const vgpu::Instruction& in, const vgpu::MemoryAccess& access);
  void CpAsync(const vgpu::Instruction& in, const Row& row, uint32_t mask);

  // matrix_ops.cc
  void Mma(const vgpu::Instruction& in, uint32_t mask);
  void Ldmatrix(const vgpu::Instruction& in, const vgpu::MemoryAccess& access);
  void Stmatrix(const vgpu::Instruction& in, const vgpu::MemoryAccess& access);
  void BulkCopy(const vgpu::WarpView& warp, const vgpu::MemoryAccess& access);
  void Movmatrix(const vgpu::Instruction& in, const Row& row, uint32_t mask);
  void Wmma(const vgpu::Instruction& in, const vgpu::MemoryAccess& access);

  const Algebra& algebra_;
  ShadowSpace global_;
  std::map<const vgpu::Function*, std::unique_ptr<Table>> tables_;
  std::map<uint64_t, std::unique_ptr<BlockState>> blocks_;
  std::vector<std::unique_ptr<BlockState>> spare_blocks_;
  std::vector<std::unique_ptr<WarpState>> spare_warps_;
  struct ConstantKey {
    uint64_t bits;
    CellKind kind;
    bool operator==(const ConstantKey&) const = default;
  };
  struct ConstantHash {
    size_t operator()(const ConstantKey& key) const {
      return (key.bits * 8 + static_cast<uint64_t>(key.kind)) * 0x9e3779b97f4a7c15 >> 16;
    }
  };
  std::unordered_map<ConstantKey, std::unique_ptr<Cell>, ConstantHash> constants_;
  std::vector<std::optional<Cell>> bulk_;  // what a bulk copy has read, by halves of words
  size_t bulk_taken_ = 0;                  // of that, what was written already
  std::vector<std::string> notes_;
  std::map<const vgpu::Instruction*, bool> noted_;
  uint64_t lane_operations_ = 0;
  mutable uint64_t decisions_ = 0;
  uint64_t shared_window_ = 0;
  uint64_t local_window_ = 0;
  int wmma_step_ = 0;  // elements of the fragment that were accessed already

  // The cells of the frame that executes.
  uint64_t frame_id_ = ~uint64_t{0};
  vgpu::WarpView* view_ = nullptr;
  const Table* table_ = nullptr;
  Registers* file_ = nullptr;
  WarpState* warp_ = nullptr;
  BlockState* block_ = nullptr;
};

}  // namespace kernelsmith
