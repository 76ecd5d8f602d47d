#include "cli/session_cache.h"

#include <fmt/format.h>
#include <stdlib.h>

namespace kernelsmith {

namespace fs = std::filesystem;

Cache CacheOf(const Session& session) { return Cache(session.settings.folders.Cache()); }

uint64_t CacheLimitOf(const Session& session) { return session.settings.folders.cache_mib << 20; }

void PrepareCache(Session& session) {
  if (session.cache_is_prepared) return;
  session.cache_is_prepared = true;
  const Status writable = CacheOf(session).CheckWritable();
  if (writable.ok()) return;
  std::error_code error;
  std::string own = (fs::temp_directory_path(error) / "kernelsmith-cache-XXXXXX").string();
  if (error || ::mkdtemp(own.data()) == nullptr) return;  // then the first file says what is wrong
  session.err << fmt::format("kernelsmith: warning: {}; nothing of this run is kept\n",
                             writable.error().message());
  session.own_cache = own;
  session.settings.folders.cache = own;
}

void KeepCacheSmall(const Session& session) {
  if (session.cache_is_prepared && session.own_cache.empty()) {
    CacheOf(session).KeepBelow(CacheLimitOf(session));
  }
}

void LeaveCache(Session& session) {
  KeepCacheSmall(session);
  std::error_code ignored;
  if (!session.own_cache.empty()) fs::remove_all(session.own_cache, ignored);
}

}  // namespace kernelsmith
