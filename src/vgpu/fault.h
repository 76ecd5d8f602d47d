// What a kernel did wrong, as data: which thread, which instruction, which address.
#pragma once

#include <cstdint>
#include <string>

#include "support/diagnostic.h"
#include "support/finding_kind.h"

namespace kernelsmith::vgpu {

struct Dim3 {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;

  uint64_t Count() const { return uint64_t{x} * y * z; }
  bool operator==(const Dim3&) const = default;
};

enum class FaultKind {
  kIllegalAddress,      // outside every allocation, or in a space the thread may not touch
  kMisalignedAddress,   // not a multiple of the access size
  kIllegalInstruction,  // e.g. an indirect call to what is no function, brx.idx out of range
  kAssert,              // __assertfail
  kTrap,                // trap, or a .noreturn function that returned
  kStackOverflow,       // local memory or call depth exhausted
  kDeadlock,            // nobody can run: barrier or warp synchronisation that never completes
  kNoProgress,          // the watchdog: everybody only spins, or the time is up
  kEndlessLoop,         // a loop came to the state that it had before: it never ends
  kLaunchFailure,       // anything else that ends a kernel
};

// "illegal address", "misaligned address", ...
const char* FaultKindName(FaultKind kind);
// The kind by which reports know it.
FindingKind FindingKindOf(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::kLaunchFailure;
  std::string what;     // what is wrong, without where: "endless loop: it goes round and ..."
  std::string message;  // whole sentence for a person, with thread, block and address
  std::string kernel;
  Dim3 block{0, 0, 0};
  Dim3 thread{0, 0, 0};
  uint64_t address = 0;   // generic address; 0 where none took part
  SourceLocation ptx;     // line of the PTX text
  SourceLocation source;  // line of the CUDA source (.loc); file empty when not known
  std::string instruction;
};

}  // namespace kernelsmith::vgpu
