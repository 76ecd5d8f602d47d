// The grids and blocks that generated kernels are launched with.
#include "generator.h"
#include "support/rng.h"

namespace kernelsmith::fuzz {

void SetShape(Program& program, int which) {
  static constexpr vgpu::Dim3 kBlocks[] = {
      {32, 1, 1}, {64, 1, 1}, {96, 1, 1}, {128, 1, 1}, {33, 1, 1},  {48, 1, 1}, {100, 1, 1},
      {8, 8, 1},  {8, 4, 2},  {8, 5, 1},  {16, 16, 1}, {16, 2, 1},  {16, 3, 2}, {48, 2, 1},
      {33, 3, 1}, {4, 4, 4},  {2, 16, 2}, {1, 32, 1},  {32, 3, 1},  {64, 2, 1}, {20, 4, 1},
      {32, 1, 2}, {31, 1, 1}, {8, 1, 8},  {16, 1, 4},  {255, 1, 1}, {1, 1, 64}, {24, 4, 1},
      {1, 1, 1},  {7, 1, 1},  {16, 1, 1}, {8, 2, 1},   {16, 1, 3}};
  static constexpr vgpu::Dim3 kGrids[] = {{1, 1, 1}, {1, 1, 1}, {2, 1, 1}, {3, 1, 1},
                                          {1, 2, 1}, {2, 1, 2}, {1, 2, 2}};
  Rng rng = Rng(program.seed).Fork(static_cast<uint64_t>(which) + 1);
  program.block = kBlocks[rng.Below(std::size(kBlocks))];
  program.grid = kGrids[rng.Below(std::size(kGrids))];
  if (program.clusters) program.grid.x = (program.grid.x + 1) / 2 * 2;
}

}  // namespace kernelsmith::fuzz
