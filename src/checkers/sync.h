// Wrong synchronisation: barriers that part of a block reaches, shuffles and votes whose lanes do
// not come, deadlock and livelock.
//
// Barriers of a whole block (__syncthreads):
// - threads that wait at different instructions, or are elsewhere: an error (CUDA wants conditions
//   around it to be the same for the whole block);
// - threads that went past it and exited: an error too, the barrier was left out by them;
// - threads that left the kernel at once (`if (i >= n) return;`): PTX defines that an exiting
// thread
//   counts as arrived, CUDA's guide says the barrier waits for all non-exited threads, and at the
//   same time forbids it in conditions that differ: a note.
// Named barriers with a thread count may be reached from different places: that is what they are
// for.
//
// Masks: every lane must be in the mask it gives, the lanes it names must come (exited ones need
// not) and give the same mask. Reading a lane that does not take part gives an undefined value;
// that is reported where the program goes on with it.
#pragma once

#include <memory>

#include "checkers/checker.h"

namespace kernelsmith::checkers {

std::unique_ptr<Checker> MakeSyncChecker(FindingSink& sink);

}  // namespace kernelsmith::checkers
