// Walls around a program that reads what a stranger wrote: compilers, assemblers, linkers. They run
// no code of the stranger's, but his text can name files (`.incbin`, `#include`) and can make them
// work without end.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "support/result.h"

namespace kernelsmith {

// Holds for a program and everything that it starts. All else of the file system is out of reach
// (Landlock), and so are networks and other processes (seccomp).
struct Confinement {
  std::vector<std::filesystem::path> readable;  // files, or folders with all beneath; may be run
  std::vector<std::filesystem::path> writable;  // the same, to read and write; nothing is run there
  // Of each process by itself. Processor time, so that a busy machine takes none of it away.
  std::chrono::seconds processor_time{120};
  // Private writable memory (RLIMIT_DATA): address space would count what a program only reserves.
  uint64_t memory = uint64_t{4} << 30;
  uint64_t file_size = uint64_t{512} << 20;
};

// The kernel's version of Landlock; 0: it has none.
int LandlockVersion();

// Walls that are ready to be entered. They are prepared in the parent, because a child after vfork
// may not allocate memory.
class PreparedWalls {
 public:
  // Error: a path that should be writable is not there, or the kernel has no Landlock, unless
  // `without_landlock` allows that.
  static Result<PreparedWalls> Prepare(const Confinement& confinement, bool without_landlock);
  ~PreparedWalls();
  PreparedWalls(PreparedWalls&& other) noexcept;
  PreparedWalls& operator=(PreparedWalls&&) = delete;

  // In the child: only system calls. False: one failed, errno says why, and the child must end.
  bool Enter() const;

 private:
  PreparedWalls() = default;

  int ruleset_ = -1;  // -1: no Landlock
  uint64_t processor_seconds_ = 0;
  uint64_t memory_ = 0;
  uint64_t file_size_ = 0;
};

}  // namespace kernelsmith
