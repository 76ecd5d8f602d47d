// How threads and blocks of one launch may act upon one another, as the kernel's code tells.
//
// Whoever runs blocks at the same time, in another order, or only some of them asks here: the
// engine (parallel blocks, blocks that an observer leaves for later, streaming stores), the search
// for results that depend on the order (checkers/determinism.h), and the verifier's samples of
// large grids. One walk over the kernel and all functions that it may call gives all answers; it
// is made when the kernel is lowered (Kernel::interaction).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace kernelsmith::vgpu {

struct Kernel;

// Answers are on the safe side: "no" is certain as long as there is no data race, "yes" means that
// it may be so. Ordinary loads and stores do not count: through them threads of different blocks
// can act upon one another only by a race, which the race checker finds.
struct BlockInteraction {
  // An instruction: kernel.functions[function]->code[instruction].
  struct Place {
    uint32_t function = 0;
    uint32_t instruction = 0;
  };

  // A block may wait for another one (a lock, a flag, a barrier of the grid or the cluster): none
  // of them can be left for later.
  bool blocks_wait = false;
  // Blocks may meet in memory: there are atomics, or accesses that are volatile, relaxed, acquire
  // or release. What a block leaves there may not be final before the others have run too, so none
  // can be left out.
  bool blocks_share_memory = false;
  // The order in which blocks run may show, in memory or in what is printed: sums of floats, old
  // values of atomics, flags, printf, calls of unknown functions. They run one after the other.
  bool order_of_blocks_shows = false;
  // The first instruction by which the order of threads may show in memory, be they of one block or
  // of several. None: every order gives the same.
  std::optional<Place> order_of_threads_shows;
  // There are fences: threads may hand on what they wrote before.
  bool has_fences = false;
};

// What the code tells. The launch may add to it: see InteractionOf.
BlockInteraction AnalyseInteraction(const Kernel& kernel);

// Of a launch. `resident_together`: it is cooperative, or has clusters; then blocks may wait for
// one another and share memory whatever their code looks like.
BlockInteraction InteractionOf(const Kernel& kernel, bool resident_together);

// Of a kernel that is loaded nowhere: `entry` of the module `ptx`. An error: it can't be lowered.
Result<BlockInteraction> InteractionIn(const std::string& ptx, std::string_view entry,
                                       bool resident_together);

}  // namespace kernelsmith::vgpu
