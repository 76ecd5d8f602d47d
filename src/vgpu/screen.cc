#include "vgpu/screen.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "vgpu/cpu.h"
#include "vgpu/op_facts.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

// A kernel that was suspicious so many times in a row is not looked at any more.
constexpr int kHopeless = 3;
constexpr size_t kHugePage = size_t{2} << 20;
// Memory that is kept for the next launch that needs some.
constexpr size_t kMostSpare = size_t{1} << 30;
// Launches after which the memory of an allocation that none of them touched is given back.
constexpr uint64_t kForgetAfter = 64;
// Cells are never larger; accesses that are smaller need smaller ones.
constexpr uint32_t kCellShift = 2;

// Host code may look at it, and write to it, while the launch runs.
bool IsVisibleToHost(const Allocation& allocation) {
  return allocation.kind == AllocationKind::kPinned ||
         allocation.kind == AllocationKind::kManaged ||
         allocation.kind == AllocationKind::kHostRegistered;
}

const CellCode& CellsFor(CpuLevel cpu) {
#if defined(__x86_64__)
  if (cpu == CpuLevel::kAvx512) return isa_avx512::kCellCode;
  if (cpu == CpuLevel::kAvx2) return isa_avx2::kCellCode;
#endif
  return isa_base::kCellCode;
}

uint32_t ShiftOf(const Kernel& kernel) {
  uint32_t shift = kCellShift;
  for (const auto& function : kernel.functions) {
    for (const Instruction& in : function->code) {
      if (!IsLaneAccess(in.op) || in.space == MemorySpace::kLocal ||
          in.address == AddressBase::kParameters || in.bytes == 0) {
        continue;
      }
      const uint32_t bytes = IsAtomic(in.op) ? uint32_t{in.bytes} : uint32_t{in.bytes} * in.width;
      shift = std::min(shift, static_cast<uint32_t>(std::countr_zero(bytes)));
    }
  }
  return shift;
}

}  // namespace

// ---- memory of the screen's own

bool Screen::Reserve(Pool& pool, Mapping& mapping, size_t wanted) {
  if (mapping.bytes >= wanted) return true;
  Release(pool, mapping);
  // The smallest that will do, unless most of it would lie idle.
  auto best = pool.end();
  for (auto it = pool.begin(); it != pool.end(); ++it) {
    if (it->bytes < wanted || it->bytes / 4 > wanted) continue;
    if (best == pool.end() || it->bytes < best->bytes) best = it;
  }
  if (best != pool.end()) {
    mapping = *best;
    spare_bytes_ -= mapping.bytes;
    pool.erase(best);
    return true;
  }
  if (wanted > kHugePage) wanted = (wanted + kHugePage - 1) / kHugePage * kHugePage;
  void* made = ::mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) return false;
  if (wanted > kHugePage) ::madvise(made, wanted, MADV_HUGEPAGE);
  mapping = {made, wanted};
  return true;
}

void Screen::Release(Pool& pool, Mapping& mapping) {
  if (mapping.start == nullptr) return;
  if (spare_bytes_ + mapping.bytes <= kMostSpare) {
    spare_bytes_ += mapping.bytes;
    pool.push_back(mapping);
  } else {
    ::munmap(mapping.start, mapping.bytes);
  }
  mapping = {};
}

void Screen::Release(Region& region) {
  Release(spare_cells_, region.cells);
  Release(spare_copies_, region.copy);
}

Screen::Screen(ScreenSource& source, const Checks& checks)
    : source_(source),
      checks_(checks),
      next_stamp_(kStampShare),
      locks_(std::make_unique<std::atomic<uint8_t>[]>(kLocks * kLockBytes)) {}

Screen::~Screen() {
  for (auto& [address, region] : regions_) Release(*region);
  for (const Pool* pool : {&spare_cells_, &spare_copies_}) {
    for (const Mapping& mapping : *pool) ::munmap(mapping.start, mapping.bytes);
  }
}

void Screen::OnFree(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto it = regions_.find(address);
  if (it == regions_.end()) return;
  Release(*it->second);
  regions_.erase(it);
}

// ---- launches

bool Screen::Accepts(const LaunchState& launch, std::string* why) const {
  const auto no = [&](const char* reason) {
    *why = reason;
    return false;
  };
  if (launch.request.cooperative) return no("it is cooperative");
  if (launch.request.cluster.Count() > 1) return no("its blocks form clusters");
  if (const auto it = suspicious_.find(launch.kernel);
      it != suspicious_.end() && it->second >= kHopeless) {
    return no("it always was suspicious");
  }
  for (const auto& function : launch.kernel->functions) {
    if (checks_.initialisation && function->may_read_unwritten) {
      return no("it may read registers that nothing was written to");
    }
    for (const CallSite& site : function->calls) {
      if (site.system != 0 && site.system != static_cast<uint8_t>(SystemCall::kAssertFail)) {
        return no("it calls printf, malloc or free");
      }
    }
    for (const Instruction& in : function->code) {
      if (IsAsync(in.op)) return no("it copies asynchronously");
      if (IsTexture(in.op)) return no("it has textures");
      if (!IsAtomic(in.op)) continue;
      const ptx::Instruction* syntax = function->locations[in.location].syntax;
      const bool narrow = syntax == nullptr || syntax->mnemonic->scope == ptx::Scope::kCta;
      if (narrow && in.space != MemorySpace::kShared) return no("it has atomics for one block");
    }
  }
  return true;
}

void Screen::Begin(const LaunchState& launch, bool concurrent) {
  const std::lock_guard lock(mutex_);
  ++session_;
  launch_ = &launch;
  cells_ = &CellsFor(CpuFor(launch.options->settings));
  concurrent_ = concurrent;
  again_ = beside_others_ = false;
  exact_reads_ = checks_.races && source_.WantsExactReads();
  stopped_ = false;
  region_count_ = 0;
  why_.clear();
  threads_.clear();
  // Two stamps beside the threads': see CellClock.
  stride_ = std::bit_ceil(static_cast<uint32_t>(launch.request.block.Count()) + 2);
  shift_ = bytewise_.contains(launch.kernel) ? 0 : ShiftOf(*launch.kernel);
  std::erase_if(regions_, [&](const auto& each) {
    if (each.second->session + kForgetAfter >= session_) return false;
    Release(*each.second);
    return true;
  });
  if (next_stamp_ > CellClock::kMost / 2) {
    // Stamps begin anew: no cell may hold an old one.
    const auto clear = [](const Mapping& mapping) {
      if (mapping.start != nullptr) ::madvise(mapping.start, mapping.bytes, MADV_DONTNEED);
    };
    for (auto& [address, region] : regions_) clear(region->cells);
    for (const Mapping& mapping : spare_cells_) clear(mapping);
    next_stamp_ = kStampShare;
  }
  past_ = launch_stamps_ = NewStamps(kStampShare);
}

ScreenThread* Screen::NewThread() {
  const std::lock_guard lock(mutex_);
  threads_.push_back(std::make_unique<ScreenThread>(*this, *launch_));
  return threads_.back().get();
}

uint32_t Screen::NewStamps(uint32_t count) {
  const uint64_t first = next_stamp_.fetch_add(count);
  return first + count <= CellClock::kMost ? static_cast<uint32_t>(first) : 0;
}

void Screen::Suspect(const char* why) {
  if (!stopped_.exchange(true)) {
    const std::lock_guard lock(mutex_);
    why_ = why;
  }
}

// With mutex_ held.
void Screen::Again(const char* why) {
  if (stopped_.exchange(true)) return;
  again_ = true;
  why_ = why;
}

std::vector<ScreenFootprint> Screen::Touched() const {
  std::vector<ScreenFootprint> touched(region_count_);
  for (const auto& [address, region] : regions_) {
    if (region->session != session_ || !region->read) continue;
    ScreenFootprint& all = touched[region->number];
    all.read_begin = region->allocation.address;
    all.read_end = region->allocation.end();
  }
  for (const auto& thread : threads_) {
    for (size_t i = 0; i < thread->touched_.size(); ++i) {
      const ScreenFootprint& own = thread->touched_[i];
      ScreenFootprint& all = touched[i];
      all.read_begin = std::min(all.read_begin, own.read_begin);
      all.read_end = std::max(all.read_end, own.read_end);
      all.write_begin = std::min(all.write_begin, own.write_begin);
      all.write_end = std::max(all.write_end, own.write_end);
    }
  }
  return touched;
}

bool Screen::IsSilent() {
  if (stopped()) return false;
  if (!checks_.races || source_.IsInOrder(Touched())) return true;
  beside_others_ = true;
  Suspect("nothing orders it with others that use the same memory");
  return false;
}

void Screen::Commit() {
  suspicious_.erase(launch_->kernel);
  for (auto& [address, region] : regions_) {
    if (region->session != session_ || !region->watched || region->all_defined) continue;
    const uint64_t cell = uint64_t{1} << region->shift;
    const size_t count = region->CellOf(region->allocation.end() + cell - 1);
    for (size_t i = 0; i < count; ++i) {
      if (region->writes[i] < past_) continue;
      size_t end = i + 1;
      while (end < count && region->writes[end] >= past_) ++end;
      const uint64_t from = std::max(region->base + i * cell, region->allocation.address);
      const uint64_t to = std::min(region->base + end * cell, region->allocation.end());
      source_.OnScreenedWrite(from, to - from);
      i = end;
    }
  }
}

bool Screen::Undo() {
  for (auto& [address, region] : regions_) {
    if (region->session == session_ && region->watched) PutBack(*region);
  }
  if (!again_ && !beside_others_) ++suspicious_[launch_->kernel];
  return again_;
}

void Screen::PutBack(Region& region) {
  const uint64_t size = region.allocation.size;
  auto* data = reinterpret_cast<std::byte*>(region.allocation.address +
                                            static_cast<uint64_t>(region.allocation.host_delta));
  const auto* copy = static_cast<const std::byte*>(region.copy.start);
  const bool all = !IsVisibleToHost(region.allocation);
  for (size_t piece = 0; piece < region.pieces; ++piece) {
    if (region.saved[piece] == 0) continue;
    const uint64_t begin = piece * kPieceBytes;
    const uint64_t end = std::min(begin + kPieceBytes, size);
    if (all) {
      std::memcpy(data + begin, copy + begin, end - begin);
      continue;
    }
    // What host code has written beside the kernel stays.
    const uint64_t cell = uint64_t{1} << region.shift;
    for (uint64_t at = begin; at < end;) {
      const size_t index = region.CellOf(region.allocation.address + at);
      const uint64_t next =
          std::min(region.base + (index + 1) * cell - region.allocation.address, end);
      if (region.writes[index] >= past_) std::memcpy(data + at, copy + at, next - at);
      at = next;
    }
  }
}

// ---- allocations

Screen::Region* Screen::Find(uint64_t address, uint64_t bytes, bool write) {
  const std::lock_guard lock(mutex_);
  const auto contains = [&](const Allocation& a) {
    return address >= a.address && address < a.end() && bytes <= a.end() - address;
  };
  Region* region = nullptr;
  const auto above = regions_.upper_bound(address);
  if (above != regions_.begin()) {
    Region& below = *std::prev(above)->second;
    if (below.session == session_ && contains(below.allocation)) region = &below;
  }
  if (region == nullptr) {
    std::optional<Allocation> found = launch_->memory->Find(address);
    if (!found || !contains(*found)) return nullptr;
    // What was there before.
    const auto end = regions_.lower_bound(found->end());
    for (auto it = regions_.upper_bound(found->address); it != end;) {
      Release(*it->second);
      it = regions_.erase(it);
    }
    std::unique_ptr<Region>& place = regions_[found->address];
    if (place == nullptr) place = std::make_unique<Region>();
    region = place.get();
    region->allocation = *std::move(found);
    region->base = region->allocation.address & ~uint64_t{15};
    region->session = session_;
    region->number = region_count_++;
    region->read = region->watched = false;
    region->defined = checks_.initialisation ? source_.DefinedBytes(region->allocation) : nullptr;
    region->all_defined = region->defined == nullptr;
    if (watched_.contains({launch_->kernel, region->allocation.id})) Watch(*region);
  }
  if (region->allocation.kind == AllocationKind::kHeap) {
    // Its blocks have bounds of their own, and come and go.
    if (!stopped_.exchange(true)) why_ = "it uses the heap of kernels";
    return nullptr;
  }
  const BlockInteraction& interaction = launch_->kernel->interaction;
  if (write && IsVisibleToHost(region->allocation) &&
      (interaction.blocks_wait || interaction.has_fences)) {
    // What the host has seen can't be taken back.
    if (!stopped_.exchange(true)) why_ = "it may talk to the host";
    return nullptr;
  }
  if (region->watched) return region;
  if (!write && region->all_defined && !exact_reads_) {
    region->read = true;
    return region;
  }
  if (region->read) {
    watched_.insert({launch_->kernel, region->allocation.id});
    Again("it writes to what it read before");
    return nullptr;
  }
  Watch(*region);
  return stopped() ? nullptr : region;
}

void Screen::Watch(Region& region) {
  region.watched = true;
  region.shift = shift_;
  const size_t cells = region.CellOf(region.allocation.end()) + kLineCells;
  region.pieces = (region.allocation.size + kPieceBytes - 1) / kPieceBytes;
  if (!Reserve(spare_cells_, region.cells, 2 * cells * sizeof(uint32_t)) ||
      !Reserve(spare_copies_, region.copy, std::max<size_t>(region.allocation.size, 1))) {
    if (!stopped_.exchange(true)) why_ = "there is no memory for its shadow";
    return;
  }
  region.writes = static_cast<uint32_t*>(region.cells.start);
  region.reads = region.writes + region.cells.bytes / sizeof(uint32_t) / 2;
  region.saved = std::make_unique<std::atomic<uint8_t>[]>(region.pieces);
}

void Screen::Save(Region& region, uint64_t piece) {
  const std::lock_guard lock(mutex_);
  if (region.saved[piece] != 0) return;
  const uint64_t at = piece * kPieceBytes;
  const auto host =
      region.allocation.address + static_cast<uint64_t>(region.allocation.host_delta) + at;
  std::memcpy(static_cast<std::byte*>(region.copy.start) + at, reinterpret_cast<const void*>(host),
              std::min(kPieceBytes, region.allocation.size - at));
  region.saved[piece].store(1, std::memory_order_release);
}

size_t Screen::LockOf(const Region& region, size_t line) {
  return (line * 0x9e3779b9u ^ region.allocation.id * 0x85ebca6bu) % kLocks * kLockBytes;
}

void Screen::Lock(const Region& region, size_t line) {
  if (!concurrent_) return;
  auto& lock = locks_[LockOf(region, line)];
  while (lock.exchange(1, std::memory_order_acquire) != 0) {
    while (lock.load(std::memory_order_relaxed) != 0) __builtin_ia32_pause();
  }
}

void Screen::Unlock(const Region& region, size_t line) {
  if (!concurrent_) return;
  locks_[LockOf(region, line)].store(0, std::memory_order_release);
}

}  // namespace kernelsmith::vgpu
