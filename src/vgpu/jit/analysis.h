// What the code generator must know about a function before it emits anything: blocks, which
// registers live where, and the shape of every value over the lanes of a warp.
//
// A value computed from values that are equal in all lanes that are at the same place is equal in
// these lanes, whatever the control flow: shapes need no theory of divergence. Where lanes that
// went different ways meet again, the code checks that what they bring fits (codegen_parted.cc).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/fault.h"
#include "vgpu/ir.h"
#include "vgpu/touch.h"

namespace kernelsmith::vgpu::jit {

// How a value differs from lane to lane. Warps of blocks that are 8 or 16 threads wide consist of 4
// or 2 rows; a *group* is the lanes of one row (all lanes in other blocks).
struct Shape {
  enum class Kind : uint8_t {
    kUnknown,
    kUniform,  // the same in all lanes
    kAffine,   // in each group: base + stride * lane in the group, modulo the width
    kVarying,
  };
  Kind kind = Kind::kUnknown;
  int64_t stride = 0;

  bool operator==(const Shape&) const = default;
  bool uniform() const { return kind == Kind::kUniform; }
  bool affine() const { return kind == Kind::kAffine; }
  bool varying() const { return kind == Kind::kVarying; }
  bool group_uniform() const { return uniform() || (affine() && stride == 0); }
};
inline constexpr Shape kUniformShape{Shape::Kind::kUniform, 0};
inline constexpr Shape kVaryingShape{Shape::Kind::kVarying, 0};

// A register of the IR is only a place that several values share. A web is one value: definitions
// and uses that belong together.
struct Web {
  uint32_t offset = 0;  // the place in the frame
  LaneWidth width = LaneWidth::k4;
  Shape shape;
  bool raw = false;         // an f32 whose NaNs may have any bits: see codegen.h
  bool zero_first = false;  // may be read before it is written
  // All that is written to it is this number: compilers keep those that they use often in
  // registers.
  std::optional<int64_t> constant;
};

struct LiveValue {
  uint32_t offset = 0;
  uint32_t web = 0;
};

struct CodeBlock {
  uint32_t first = 0;
  uint32_t last = 0;  // one behind
  std::vector<uint32_t> next;
  std::vector<uint32_t> previous;
  std::vector<LiveValue> live_in;
  bool reachable = false;
};

class Analysis {
 public:
  // Empty `why`: the function can be compiled.
  Analysis(const Function& function, Dim3 block);

  const std::string& why() const { return why_; }
  const std::vector<CodeBlock>& blocks() const { return blocks_; }
  const std::vector<Web>& webs() const { return webs_; }
  uint32_t block_of(uint32_t pc) const { return block_of_[pc]; }
  int groups() const { return groups_; }
  int group_lanes() const { return 32 / groups_; }
  bool has_waits() const { return has_waits_; }

  // ---- where lanes part
  // The block where lanes that part at the end of `block` meet again: its nearest post-dominator.
  // kEnd: they exit before that.
  static constexpr uint32_t kEnd = ~0u;
  uint32_t JoinOf(uint32_t block) const { return joins_[block]; }
  // What lies between the end of `block` and that join.
  struct Detour {
    std::vector<bool> blocks;       // by block
    std::vector<uint32_t> written;  // webs, sorted
    uint32_t instructions = 0;
    bool compilable = true;  // no barriers, calls or instructions that bring lanes together
  };
  Detour DetourOf(uint32_t block) const;

  uint32_t ReadWeb(uint32_t pc, Operand operand) const;
  uint32_t WriteWeb(uint32_t pc, Operand operand) const;
  // Somebody looks at what was in memory before the atomic.
  bool TellsOldValue(uint32_t pc) const;
  // Values that live before the instruction.
  std::vector<LiveValue> LiveBefore(uint32_t pc) const;
  // The web has the value that it had when the code was entered, whichever way it came here: what
  // `save` has of it is still true.
  bool Unchanged(uint32_t pc, uint32_t web) const;
  Shape ShapeOf(uint32_t pc, Operand operand) const;
  bool IsRaw(uint32_t pc, Operand operand) const;
  // The generator's code for it gives NaNs any bits.
  bool LeavesRaw(const Instruction& in) const;
  bool Guarded(const Instruction& in) const;
  // The value of a constant, sign-extended from its width.
  std::optional<int64_t> ConstantOf(Operand operand) const;
  // The same of an operand of an instruction of the function; registers may be known, too.
  std::optional<int64_t> ConstantIn(const Instruction& in, Operand operand) const;
  // The generator has code of its own for it; otherwise it calls the interpreter's handler.
  bool IsNative(const Instruction& in) const;
  // A 16-bit float, or a pair of them.
  static bool IsHalf(ptx::Type type);
  // A memory access that the generator has code for.
  bool IsNativeAccess(const Instruction& in) const;
  // atom and red that compiled code does without the handler.
  static bool IsNativeAtomic(const Instruction& in);
  // The shape of the lanes' addresses.
  Shape AddressShape(uint32_t pc, const Instruction& in) const;
  // The shape of what the instruction computes, whatever its guard.
  Shape Transfer(uint32_t pc, const Instruction& in) const;

 private:
  struct Touched {
    Operand operand;
    Touch touch;
    uint32_t read = ~0u;
    uint32_t write = ~0u;
  };
  void FindBlocks();
  void FindWebs();
  void FindConstants();
  void FindShapes();
  void FindJoins();
  void FindUnchanged();
  Shape SpecialShape(Operand operand) const;
  void FindRaw();
  Shape Normal(int64_t stride) const;
  bool IsNativeByOwnRule(const Instruction& in) const;

  const Function& function_;
  Dim3 block_;
  std::string why_;
  int groups_ = 1;
  bool has_waits_ = false;
  std::vector<CodeBlock> blocks_;
  std::vector<uint32_t> block_of_;
  std::vector<uint32_t> joins_;                // by block
  std::vector<std::vector<bool>> unchanged_;   // by block and web, at the block's beginning
  std::vector<std::vector<Touched>> touched_;  // one entry a pc
  std::vector<Web> webs_;
};

}  // namespace kernelsmith::vgpu::jit
