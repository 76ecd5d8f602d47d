// The cache of a command (support/cache.h): where it is, how large it may be, and what to do where
// it can't be written.
#pragma once

#include "cli/session.h"
#include "support/cache.h"

namespace kernelsmith {

Cache CacheOf(const Session& session);
// In bytes; 0: none.
uint64_t CacheLimitOf(const Session& session);

// Before a command uses the cache. Where it can't be written the command says so once and works
// with a folder of its own, which goes with it.
void PrepareCache(Session& session);

// When the command is done, or while it goes on for long.
void KeepCacheSmall(const Session& session);
// Removes the command's own folder, if it has one.
void LeaveCache(Session& session);

}  // namespace kernelsmith
