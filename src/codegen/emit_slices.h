// How slices of a product's factors get into shared memory, whatever index arithmetic, padding or
// activation they come with: through registers, or as asynchronous copies where they are plain.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/emit_tiles.h"

namespace kernelsmith::codegen {

struct SliceLayout {
  std::vector<Int> depth;
  std::string depth_text;
  int64_t tile_k = 16, pad = 4, threads = 256;
  bool vectors = true;  // neighbours are loaded at once where that is possible
  // Slices that shared memory holds of each factor: the next ones arrive while one is multiplied.
  int64_t stages = 1;
  // Copies past the registers, with more than one stage: 0 none, 1 of groups that lie in shared
  // memory as they do in global memory, 2 of single elements too.
  int64_t copies = 0;
  std::string element_type;     // the type of an element in shared memory
  std::optional<DType> tensor;  // tensor cores multiply them: they stay as they are in memory
  std::string e, into;          // names: a thread's turn, the stage that is filled
};

class Slices {
 public:
  enum Factor { kLeft = 0, kRight = 1 };

  Slices(KernelWriter& out, SliceLayout layout);

  // A factor has rows or columns, `tile` of them from `origin` on.
  void Add(const std::string& array, const Scalar& value, const std::vector<Int>& axes,
           const std::string& origin, const std::string& extent, int64_t tile);
  // The most bytes of shared memory, for both factors and all stages.
  static int64_t Bytes(const SliceLayout& layout, int64_t tile_m, int64_t tile_n,
                       int64_t element_bytes);

  void Declare();
  // Before the loop over slices: what stays the same in it.
  void Hoist();
  // Begins to bring the slices from `k` on into stage `into`; what is not copied lies in registers
  // until Put.
  void Fetch(const std::string& k);
  void Put();
  bool UsesCopies() const;

  // The slice in shared memory: [k][x], or [x][k] if it is turned.
  std::string Stage(Factor factor, const std::string& stage) const;
  bool IsTurned(Factor factor) const { return sides_[factor].turned; }
  int64_t Width(Factor factor) const;  // the elements of a row of shared memory, with its padding

 private:
  // One factor: neighbouring threads read neighbouring elements, `width` of them each.
  struct Side {
    std::string array;  // its name in shared memory
    Scalar value;
    std::vector<Int> axes;  // rows or columns
    std::string origin, extent;
    int64_t tile = 0;
    bool along_k = false;    // neighbours have neighbouring k
    bool turned = false;     // neighbouring k lie side by side in shared memory, too: [x][k]
    bool copied = false;     // it arrives by asynchronous copies
    int64_t width = 1;       // elements that lie side by side in memory
    std::string wide = "";   // a variable: whether they may be loaded as one
    int64_t groups = 0;      // groups of `width` elements in a slice
    int64_t turns = 1;       // groups a thread brings
    std::string x, k, next;  // where in the tile the first group lies; registers
    std::string at;          // set if all groups of a thread have one position
  };
  // A guard "axis + rest < limit": the end of a part of a split sum. Where rest and limit are
  // multiples of the width, a group is inside as a whole or not at all.
  struct EndGuard {
    Int rest, limit;
  };
  // Where what was read goes.
  enum class Goal { kRegisters, kTile, kCopy };

  const ScalarNode* PlainLoad(const Side& side) const;
  int64_t Across(const Side& side) const;
  Atom Contiguous(const Side& side) const;
  std::optional<EndGuard> EndOf(const Side& side) const;
  bool CanBeWide(const Side& side) const;
  std::string WideCondition(const Side& side);
  void ChooseWidth(Side& side);
  void HoistSide(Side& side);
  std::pair<std::string, std::string> Offsets(const Side& side) const;
  std::string Element(const std::string& value) const;
  std::string Zero() const;
  std::string Inside(const Side& side, const std::string& position) const;
  std::string Place(const Side& side, const std::string& k, const std::string& x) const;
  void FetchGroups(const Side& side, bool at_once, Goal goal);
  Scalar GuardOf(const Side& side, const std::string& condition) const;
  void FetchWide(const Side& side, const Scalar& guard, const std::string& slot);
  void Copy(const Side& side, const Scalar& guard, const std::string& place);
  void PutSide(const Side& side);

  KernelWriter& out_;
  EmitContext& context_;
  SliceLayout layout_;
  std::vector<Side> sides_;
  std::string k0_;  // the first depth of the slices that are fetched
};

}  // namespace kernelsmith::codegen
