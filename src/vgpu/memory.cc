#include "vgpu/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "vgpu/tensor_places.h"

namespace kernelsmith::vgpu {

namespace {

constexpr uint64_t kPage = 4096;
// Windows of shared and local memory and of code, which lie in front of the allocations.
constexpr uint64_t kWindows =
    kSharedWindows * kSharedWindowSize + kLocalWindowSize + kCodeWindowSize;

uint64_t AlignUp(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

// Where the system has room for so many bytes at a multiple of a window's size, which is where the
// windows of a GPU begin; null: it does not say.
void* RoomFor(uint64_t size) {
  void* room = mmap(nullptr, size + kSharedWindowSize, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  munmap(room, size + kSharedWindowSize);
  return reinterpret_cast<void*>(AlignUp(reinterpret_cast<uint64_t>(room), kSharedWindowSize));
}

bool HostMayTouch(AllocationKind kind) {
  return kind == AllocationKind::kManaged || kind == AllocationKind::kPinned;
}

}  // namespace

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::Create(const Options& options) {
  std::unique_ptr<DeviceMemory> memory(new DeviceMemory);
  memory->options_ = options;
  if (options.scattered) memory->scatter_ = Rng(RandomSeed());
  KS_RETURN_IF_ERROR(memory->Map());
  return memory;
}

Status DeviceMemory::Map() {
  memory_fd_ = memfd_create("kernelsmith-device-memory", MFD_CLOEXEC);
  if (memory_fd_ < 0) {
    return InternalError(fmt::format("cannot create device memory: {}", strerror(errno)));
  }
  constexpr uint64_t kSmallest = uint64_t{1} << 30;
  const bool fixed = options_.base != 0;
  const int flags = MAP_SHARED | MAP_NORESERVE | (fixed ? MAP_FIXED_NOREPLACE : 0);
  const uint64_t wanted = AlignUp(std::max(options_.reserve, kSmallest), kPage);
  for (uint64_t size = wanted; size >= (fixed ? wanted : kSmallest); size /= 2) {
    if (ftruncate(memory_fd_, static_cast<off_t>(size)) != 0) continue;
    void* visible = fixed ? reinterpret_cast<void*>(options_.base) : RoomFor(size);
    mapped_ = !options_.elsewhere;
    if (mapped_) visible = mmap(visible, size, PROT_NONE, flags, memory_fd_, 0);
    if (visible == MAP_FAILED) continue;
    void* alias =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memory_fd_, 0);
    if (alias == MAP_FAILED) {
      if (mapped_) munmap(visible, size);
      continue;
    }
    // Core dumps and forks need not look at hundreds of gigabytes of nothing.
    if (mapped_) madvise(visible, size, MADV_DONTDUMP);
    madvise(alias, size, MADV_DONTDUMP);
    base_ = reinterpret_cast<uint64_t>(visible);
    alias_ = static_cast<std::byte*>(alias);
    reserved_ = size;
    const uint64_t first = std::max(kWindows, AlignUp(options_.placed, kPage));
    if (first < reserved_) free_pages_[base_ + first] = reserved_ - first;
    return {};
  }
  return Error(ErrorKind::kTimeout, "cannot reserve address space for device memory");
}

DeviceMemory::~DeviceMemory() {
  if (alias_ != nullptr) {
    if (mapped_) munmap(reinterpret_cast<void*>(base_), reserved_);
    munmap(alias_, reserved_);
  }
  if (memory_fd_ >= 0) close(memory_fd_);
}

uint64_t DeviceMemory::PagesFor(uint64_t size) const {
  const uint64_t guard =
      std::min(std::max(options_.guard, size), std::max(options_.guard, options_.most_guard));
  return AlignUp(size, kPage) + AlignUp(guard, kPage);
}

// First fit. Allocations live in whole pages: host protection works in pages, and the rest of the
// last page is guard space.
Result<uint64_t> DeviceMemory::TakePages(uint64_t bytes, uint64_t alignment) {
  alignment = std::max(alignment, kPage);
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (auto it = free_pages_.begin(); it != free_pages_.end(); ++it) {
      const uint64_t start = AlignUp(it->first, alignment);
      const uint64_t end = it->first + it->second;
      if (start >= end || end - start < bytes) continue;
      const uint64_t before = start - it->first;
      const uint64_t hole = it->first;
      free_pages_.erase(it);
      if (before > 0) free_pages_[hole] = before;
      if (start + bytes < end) free_pages_[start + bytes] = end - (start + bytes);
      return start;
    }
    if (options_.quarantine_bytes == kNeverAgain) break;
    ReleaseQuarantine(0);
  }
  return OutOfMemory("device address space is used up");
}

Result<uint64_t> DeviceMemory::TakeScattered(uint64_t size, AllocationKind kind,
                                             uint64_t alignment) {
  // Memory that the host may touch has whole pages.
  const uint64_t unit = std::max(alignment, HostMayTouch(kind) ? kPage : kTensorAlignment);
  KS_TRY(const uint64_t start, TakePages(PagesFor(size) + kTensorBlock, unit));
  return start + scatter_.Below(std::max<uint64_t>(kTensorBlock / unit, 1)) * unit;
}

Error DeviceMemory::OutOfMemory(const std::string& why) {
  ran_out_ = true;
  return {ErrorKind::kTimeout, "out of memory: " + why};
}

void DeviceMemory::ReturnPages(uint64_t address, uint64_t bytes) {
  fallocate(memory_fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            static_cast<off_t>(address - base_), static_cast<off_t>(bytes));
  if (address < base_ + options_.placed) return;  // others choose what comes there
  auto next = free_pages_.lower_bound(address);
  if (next != free_pages_.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == address) {
      address = previous->first;
      bytes += previous->second;
      free_pages_.erase(previous);
    }
  }
  if (next != free_pages_.end() && address + bytes == next->first) {
    bytes += next->second;
    free_pages_.erase(next);
  }
  free_pages_[address] = bytes;
}

void DeviceMemory::ReleaseQuarantine(uint64_t down_to_bytes) {
  while (!quarantine_.empty() && quarantined_ > down_to_bytes) {
    const auto it = freed_.find(quarantine_.front());
    quarantine_.pop_front();
    const uint64_t pages = PagesFor(it->second.size);
    quarantined_ -= it->second.size;
    ReturnPages(it->first, pages);
    freed_.erase(it);
  }
}

Result<uint64_t> DeviceMemory::Allocate(uint64_t size, AllocationKind kind, std::string where,
                                        uint64_t alignment, std::string variable) {
  KS_CHECK(alignment != 0 && (alignment & (alignment - 1)) == 0);
  std::unique_lock lock(mutex_);
  if (size > options_.capacity || used_ > options_.capacity - size) {
    return OutOfMemory(
        fmt::format("{} bytes asked for, {} of {} in use", size, used_, options_.capacity));
  }
  const auto place = variable.empty() ? places_.end() : places_.find(variable);
  uint64_t address = 0;
  if (place != places_.end()) {
    address = place->second;
    places_.erase(place);
    KS_RETURN_IF_ERROR(CheckPlace(address, size));
    if (address % alignment != 0) return InvalidInput("a variable at an address of less alignment");
  } else if (options_.scattered) {
    KS_TRY(address, TakeScattered(size, kind, alignment));
  } else {
    KS_TRY(address, TakePages(PagesFor(size), alignment));
  }
  if (Status added = AddAllocation(address, size, kind, std::move(where), std::move(variable));
      !added.ok()) {
    if (address >= base_ + options_.placed && !options_.scattered) {
      ReturnPages(address, PagesFor(size));
    }
    return std::move(added).error();
  }
  return address;
}

Status DeviceMemory::AllocateAt(uint64_t address, uint64_t size, AllocationKind kind,
                                std::string where, std::string variable) {
  std::unique_lock lock(mutex_);
  if (size > options_.capacity || used_ > options_.capacity - size) {
    return OutOfMemory(
        fmt::format("{} bytes asked for, {} of {} in use", size, used_, options_.capacity));
  }
  KS_RETURN_IF_ERROR(CheckPlace(address, size));
  return AddAllocation(address, size, kind, std::move(where), std::move(variable));
}

void DeviceMemory::PlaceVariable(std::string variable, uint64_t address) {
  const std::unique_lock lock(mutex_);
  places_[std::move(variable)] = address;
}

// Neither what lives nor what lived once: an address names one allocation for ever.
Status DeviceMemory::CheckPlace(uint64_t address, uint64_t size) const {
  const uint64_t end = base_ + std::min(options_.placed, reserved_);
  const bool inside = address >= base_ + kWindows && address < end && size < end - address;
  if (!inside || address % 256 != 0) {
    return InvalidInput(fmt::format("0x{:x} is no place for an allocation", address));
  }
  // An allocation without bytes has its address for itself as well.
  const uint64_t behind = address + std::max<uint64_t>(size, 1);
  const auto meets = [&](const std::map<uint64_t, Allocation>& allocations) {
    const auto next = allocations.lower_bound(address);
    if (next != allocations.end() && next->first < behind) return true;
    return next != allocations.begin() && std::prev(next)->second.end() > address;
  };
  if (meets(live_) || meets(freed_)) {
    return InvalidInput(fmt::format("0x{:x} belongs to another allocation", address));
  }
  return {};
}

Status DeviceMemory::AddAllocation(uint64_t address, uint64_t size, AllocationKind kind,
                                   std::string where, std::string variable) {
  if (HostMayTouch(kind) && size > 0 && mapped_ &&
      mprotect(reinterpret_cast<void*>(address), AlignUp(size, kPage), PROT_READ | PROT_WRITE) !=
          0) {
    return OutOfMemory(fmt::format("cannot make {} bytes accessible: {}", size, strerror(errno)));
  }
  Allocation& made = live_[address];
  made = {.address = address,
          .size = size,
          .kind = kind,
          .id = next_id_++,
          .where = std::move(where),
          .variable = std::move(variable),
          .host_delta = reinterpret_cast<std::byte*>(alias_) - reinterpret_cast<std::byte*>(base_)};
  used_ += size;
  generation_.fetch_add(1, std::memory_order_release);
  Tell(made);
  return {};
}

Status DeviceMemory::Free(uint64_t address) {
  std::unique_lock lock(mutex_);
  const auto it = live_.find(address);
  if (it == live_.end() || it->second.kind == AllocationKind::kHostRegistered) {
    return InvalidInput(fmt::format("0x{:x} is not the start of an allocation", address));
  }
  Allocation allocation = std::move(it->second);
  live_.erase(it);
  if (HostMayTouch(allocation.kind) && allocation.size > 0 && mapped_) {
    mprotect(reinterpret_cast<void*>(address), AlignUp(allocation.size, kPage), PROT_NONE);
  }
  used_ -= allocation.size;
  quarantined_ += allocation.size;
  allocation.freed = true;
  Tell(allocation);
  freed_[address] = std::move(allocation);
  quarantine_.push_back(address);
  ReleaseQuarantine(options_.quarantine_bytes);
  // Empty and tiny allocations cost addresses and records but hardly any bytes.
  constexpr size_t kMostQuarantined = 4096;
  if (quarantine_.size() > kMostQuarantined && options_.quarantine_bytes != kNeverAgain) {
    ReleaseQuarantine(quarantined_ / 2);
  }
  generation_.fetch_add(1, std::memory_order_release);
  return {};
}

Status DeviceMemory::RegisterHostRange(void* pointer, uint64_t size, std::string where) {
  const uint64_t address = reinterpret_cast<uint64_t>(pointer);
  std::unique_lock lock(mutex_);
  if (size == 0 || address + size < address) {
    return InvalidInput("an empty range cannot be registered");
  }
  const auto next = live_.lower_bound(address);
  const bool overlaps = (next != live_.end() && next->first < address + size) ||
                        (next != live_.begin() && std::prev(next)->second.end() > address);
  if (overlaps || InReservedRange(address)) {
    return InvalidInput(fmt::format("the range at 0x{:x} is registered already", address));
  }
  Allocation& made = live_[address];
  made = {.address = address,
          .size = size,
          .kind = AllocationKind::kHostRegistered,
          .id = next_id_++,
          .where = std::move(where)};
  generation_.fetch_add(1, std::memory_order_release);
  Tell(made);
  return {};
}

Status DeviceMemory::RegisterForeignRange(uint64_t address, uint64_t size, std::string where) {
  KS_RETURN_IF_ERROR(RegisterHostRange(reinterpret_cast<void*>(address), size, std::move(where)));
  std::unique_lock lock(mutex_);
  std::unique_ptr<std::byte[]>& copy = foreign_[address];
  copy = std::make_unique<std::byte[]>(size);
  live_[address].host_delta =
      static_cast<ptrdiff_t>(reinterpret_cast<uint64_t>(copy.get()) - address);
  return {};
}

Status DeviceMemory::UnregisterHostRange(void* pointer) {
  std::unique_lock lock(mutex_);
  const auto it = live_.find(reinterpret_cast<uint64_t>(pointer));
  if (it == live_.end() || it->second.kind != AllocationKind::kHostRegistered) {
    return InvalidInput(fmt::format("{} is not the start of a registered range", pointer));
  }
  it->second.freed = true;
  Tell(it->second);
  live_.erase(it);
  generation_.fetch_add(1, std::memory_order_release);
  return {};
}

std::optional<Allocation> DeviceMemory::Find(uint64_t address) const {
  std::shared_lock lock(mutex_);
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return std::nullopt;
  --it;
  const Allocation& allocation = it->second;
  if (address == allocation.address || address < allocation.end()) return allocation;
  return std::nullopt;
}

std::optional<Allocation> DeviceMemory::FindForReport(uint64_t address) const {
  if (auto live = Find(address)) return live;
  std::shared_lock lock(mutex_);
  auto freed = freed_.upper_bound(address);
  if (freed != freed_.begin() && address < std::prev(freed)->second.end()) {
    return std::prev(freed)->second;
  }
  auto live = live_.upper_bound(address);
  if (live != live_.begin()) return std::prev(live)->second;
  return std::nullopt;
}

void* DeviceMemory::HostAlias(uint64_t address, uint64_t size) const {
  std::shared_lock lock(mutex_);
  auto it = live_.upper_bound(address);
  if (it == live_.begin()) return nullptr;
  --it;
  const Allocation& allocation = it->second;
  const uint64_t offset = address - allocation.address;
  if (offset > allocation.size || size > allocation.size - offset) return nullptr;
  return reinterpret_cast<void*>(address + allocation.host_delta);
}

std::vector<Allocation> DeviceMemory::LiveAllocations() const {
  std::shared_lock lock(mutex_);
  std::vector<Allocation> all;
  all.reserve(live_.size());
  for (const auto& [address, allocation] : live_) all.push_back(allocation);
  return all;
}

std::vector<Allocation> DeviceMemory::FreedAllocations() const {
  std::shared_lock lock(mutex_);
  std::vector<Allocation> all;
  all.reserve(freed_.size());
  for (const auto& [address, allocation] : freed_) all.push_back(allocation);
  return all;
}

void DeviceMemory::SetReadOnly(uint64_t address, bool read_only) {
  std::unique_lock lock(mutex_);
  const auto it = live_.find(address);
  KS_CHECK(it != live_.end());
  it->second.read_only = read_only;
  generation_.fetch_add(1, std::memory_order_release);
}

uint64_t DeviceMemory::used_bytes() const {
  std::shared_lock lock(mutex_);
  return used_;
}

uint64_t DeviceMemory::ReserveCode(uint64_t functions) {
  const uint64_t first = next_code_.fetch_add(functions);
  // 16 bytes a function: the window holds a million, then addresses begin again.
  return code_window() + (first * kCodeStride) % (kCodeWindowSize - functions * kCodeStride);
}

}  // namespace kernelsmith::vgpu
