#include "vgpu/streaming.h"

#include <unistd.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace kernelsmith::vgpu {

bool MayStream(const LaunchState& launch) {
#if defined(__x86_64__)
  // The screen's own work for each access costs more than the store.
  if (launch.screen != nullptr) return false;
  const BlockInteraction& threads = launch.kernel->interaction;
  return !threads.order_of_blocks_shows && !threads.blocks_share_memory && !threads.has_fences;
#else
  static_cast<void>(launch);
  return false;
#endif
}

void FinishStreaming() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

uint64_t StreamedFrom(const EngineSettings& settings) {
  if (settings.stream_bytes) return *settings.stream_bytes;
  // Where the system does not say: larger than most processors have.
  constexpr uint64_t kUnknown = 64 << 20;
  static const long cache = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return cache > 0 ? static_cast<uint64_t>(cache) : kUnknown;
}

void Streaming::OnSite(std::span<jit::Site> sites, const jit::HandlerCall& call,
                       const MemoryWindow& window) {
  if (window.high - window.low < least_bytes_) return;
  if (call.reads && read_.insert(window.low).second) {
    for (jit::Site& site : sites) {
      if (site.low == window.low) site.cached = 1;
    }
  }
  const bool enough = call.stored != 0 && threads_ * call.stored >= least_bytes_;
  if (enough && !read_.contains(window.low)) sites[call.site].cached = 0;
}

}  // namespace kernelsmith::vgpu
