// The cache folder: what can be made again, kept so that it need not be. An entry is a file or a
// folder; when there is too much, entries go that nobody has used for longest.
//
// Processes share the folder, and a reader must never lose what it reads. So a process says which
// entry it uses before it looks for it (Use), and the entry is safe until that process ends,
// however it ends: each process has a file in users/ that it keeps locked as long as it lives, with
// the names of its entries. Who removes entries holds the folder's lock, spares those names, and
// moves an entry away as a whole before it deletes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace kernelsmith {

struct CacheKind {
  const char* name;
  const char* what;
  // Somebody asked for these results and may look at them: they go only when they are named.
  bool is_result = false;
};
std::span<const CacheKind> AllCacheKinds();

struct CacheEntry {
  const CacheKind* kind = nullptr;
  std::filesystem::path path;  // below the cache folder
  uint64_t bytes = 0;          // that it takes on the disk
  std::filesystem::file_time_type used;
};

struct CacheRemoval {
  size_t entries = 0;
  uint64_t bytes = 0;
  size_t in_use = 0;  // entries that would have gone, but for processes that use them
};

class Cache {
 public:
  explicit Cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }

  // From now on this process uses the entry (a path below the folder), which need not be there yet.
  // It counts as used now. An error: the folder can't be written, and the entry is not safe.
  Status Use(const std::filesystem::path& entry) const;

  // Whether entries can be written: an error says why not (no right, a full disk).
  Status CheckWritable() const;

  // All entries, those that were not used for longest first.
  std::vector<CacheEntry> Entries() const;

  // Removes entries until at most `limit` bytes are left without the results, and what killed
  // processes left behind.
  Result<CacheRemoval> Trim(uint64_t limit) const;

  struct Selection {
    std::vector<std::string> kinds;  // empty: all but results
    std::optional<std::chrono::hours> unused_for;
  };
  Result<CacheRemoval> Clear(const Selection& selection) const;

  // Trims if there is more than `limit` (0: no limit), and looks at most once in ten minutes,
  // because looking means to walk through all files.
  void KeepBelow(uint64_t limit) const;

 private:
  // If there is more than `limit`: down to `target`.
  Result<CacheRemoval> TrimTo(uint64_t limit, uint64_t target) const;
  // In this order, until `enough` bytes are free.
  Result<CacheRemoval> Remove(const std::vector<CacheEntry>& entries, uint64_t enough) const;

  std::filesystem::path folder_;
};

}  // namespace kernelsmith
