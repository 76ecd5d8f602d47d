// What kernels have in common whose blocks compute tiles of rows and columns: products of matrices,
// attention.
#pragma once

#include <string>
#include <vector>

#include "codegen/emit.h"

namespace kernelsmith::codegen {

Scalar Multiplied(const Program& program, const std::vector<Scalar>& factors);

// A value that is zero outside its guard, and what it is inside.
bool IsGuarded(const Scalar& value);
const Scalar& Unguarded(const Scalar& value);

// Whether neighbours along `depth` lie side by side in memory; otherwise those along `axes` do.
bool DepthIsContiguous(const Scalar& value, const std::vector<Int>& axes,
                       const std::vector<Int>& depth);

// What becomes of the tile: the maps behind it, and where each nest stores.
struct TileResults {
  std::vector<Scalar> bodies;  // the bodies of the nests behind the first
  std::vector<Int> flats;      // the flat indices of all nests
};
TileResults ResultsOf(const Program& program, const Kernel& kernel);
// Makes one axis of those that `values`, and `results` if given, treat as one.
void CollapseTile(std::vector<Int>& axes, std::vector<Scalar*> values, TileResults* results);
// One element: `value` is that of the first nest.
void StoreResults(KernelWriter& out, const Kernel& kernel, const TileResults& results,
                  const std::string& value);

// One block computes one tile.
struct Tiles {
  const std::vector<Int>&batch, &rows, &columns;
  const std::string &rows_text, &columns_text;
  int64_t tile_m, tile_n;
  int64_t threads, threads_n;  // threads of a block, and those along the columns
  bool square_warps;           // 4 rows of 8 threads a warp, not one or two rows
  // Names in the kernel: where the tile begins, the thread's place in it.
  const std::string &m0, &n0, &tx, &ty;
};
// Element `j` of a thread's `each`: in groups that lie side by side, so that one load brings a
// group and a warp's stores are contiguous. `tx` is one of `threads`.
std::string GroupedPlace(const std::string& j, const std::string& tx, int64_t each, int64_t group,
                         int64_t threads);

// sums[i][j] += left(row i) * right(column j) over the depth of a slice, a square a thread.
struct SquareProduct {
  std::string type;
  const std::string &sums, &k;
  int64_t depth, unroll;  // steps of the slice, and how many are written out at a time; 0: all
  const std::string &a, &b, &i, &j, &ty;
  int64_t rows, columns;    // the size of the square of sums
  std::string left, right;  // rows of the slices at k: "left[k0 + k]"
  std::string column;       // GroupedPlace
};
void WriteProduct(KernelWriter& out, const SquareProduct& product);

void WriteOrigins(KernelWriter& out, const Tiles& tiles);
void WriteThreads(KernelWriter& out, const Tiles& tiles);
KernelText FinishTiles(KernelWriter& out, const Kernel& kernel, const Tiles& tiles,
                       const std::string& comment);

}  // namespace kernelsmith::codegen
