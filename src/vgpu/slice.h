// Slices: what a launch writes, without the work of computing it. A kernel's slice has only what
// decides where threads go and which addresses they write; stores become marks, which tell where
// but not what. All blocks of a huge launch run in a fraction of the time.
//
//   SliceRecord record{.outputs = {{.address = out, .bytes = n * 4, .element_bytes = 4}}};
//   gpu->Launch({..., .slice = &record});
//   if (record.possible && record.outputs[0].writes[i] != 1) ...
//
// Loads stay where control or addresses depend on them. If they read what the launch itself writes,
// the launch runs again with its stores as they are: such a kernel is its own slice, and `stores`
// says so. Memory that atomics change whose result decides something is changed in any case, so
// callers who care restore it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kernelsmith::vgpu {

// A range of memory that the launch is expected to write, and what it did there.
struct SliceOutput {
  uint64_t address = 0;
  uint64_t bytes = 0;  // a multiple of element_bytes
  uint32_t element_bytes = 4;

  // By element: how many stores of threads touched it, 255 standing for more ...
  std::vector<uint8_t> writes;
  // ... and the highest number of a block that did (0 where none did).
  std::vector<uint32_t> last_block;
};

struct SliceRecord {
  std::vector<SliceOutput> outputs;  // the ranges are the caller's, the rest is filled in
  double most_share = 1;             // the caller's: a slice with more of the kernel does not run

  bool possible = false;  // otherwise `why`, and the rest says nothing
  std::string why;
  bool stores = false;  // stores were made, because something the kernel decides depends on them
  double share = 1;     // of the kernel's instructions that the slice has
  // By block: how many branches backwards its threads took, all together.
  std::vector<uint64_t> back_edges;
};

}  // namespace kernelsmith::vgpu
