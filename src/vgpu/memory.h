// Device memory of one virtual GPU.
//
// All of it lies in one reserved range of host addresses that is mapped twice. The *visible*
// addresses are what programs see as device pointers: host code that dereferences them gets
// SIGSEGV, as with a real GPU, except in pinned and managed allocations. The engine and the copy
// functions use the second, always accessible alias at a constant distance. Allocations are
// separated by guard pages and freed ones stay unused for a while, so that stray kernel accesses
// hit no other allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "support/result.h"
#include "support/rng.h"

namespace kernelsmith::vgpu {

enum class AllocationKind {
  kDevice,          // cudaMalloc: not accessible to host code
  kManaged,         // cudaMallocManaged: accessible to both at the same address
  kPinned,          // cudaMallocHost / cudaHostAlloc: the same
  kHostRegistered,  // cudaHostRegister: the program's own memory, identity translation
  kGlobal,          // a module's .global variable
  kConstant,        // a module's .const variable
  kParameter,       // kernel parameters of a running launch
  kHeap,            // the arena of device malloc
};

struct Allocation {
  uint64_t address = 0;
  uint64_t size = 0;  // as asked for
  AllocationKind kind = AllocationKind::kDevice;
  uint64_t id = 0;       // 1, 2, 3 ... in order of allocation; never reused
  std::string where;     // who allocated it, for reports; free text
  std::string variable;  // the name of the module's variable that it is; empty: it is none
  bool freed = false;
  bool read_only = false;    // kernels that are checked may not write to it
  ptrdiff_t host_delta = 0;  // address + host_delta is where the engine may access it

  uint64_t end() const { return address + size; }
};

// Generic addresses of the spaces that are not the global one. They lie in the reserved range, so
// they collide with nothing else in the process; nothing is ever mapped there.
inline constexpr uint64_t kSharedWindowSize = uint64_t{1} << 24;  // a thread's own block
// Then one for each block of its cluster, by rank.
inline constexpr uint64_t kMaxClusterBlocks = 16;
inline constexpr uint64_t kSharedWindows = 1 + kMaxClusterBlocks;
inline constexpr uint64_t kLocalWindowSize = uint64_t{1} << 24;
// Function pointers: kCodeStride bytes a function.
inline constexpr uint64_t kCodeWindowSize = uint64_t{1} << 24;
inline constexpr uint64_t kCodeStride = 16;

// Thread-safe.
class DeviceMemory {
 public:
  // Options::quarantine_bytes: an address names one allocation for ever.
  static constexpr uint64_t kNeverAgain = ~uint64_t{0};

  struct Options {
    // What Allocate hands out in total before it says out of memory.
    uint64_t capacity = uint64_t{80} << 30;
    // Address space to reserve; halved until the system agrees.
    uint64_t reserve = uint64_t{512} << 30;
    // Freed bytes that wait before their addresses are used again.
    uint64_t quarantine_bytes = uint64_t{64} << 20;
    // At least this much between allocations belongs to nobody, and as much as the allocation has
    // bytes up to `most_guard`, so that an index that is off by a factor hits nothing else.
    uint64_t guard = 4096;
    uint64_t most_guard = 4096;
    // Where the range begins; 0: wherever there is room. Not with halving: all of it or nothing.
    uint64_t base = 0;
    // The first bytes of the range are for AllocateAt alone; Allocate hands out what is behind.
    uint64_t placed = 0;
    // With `base`: host code that sees these addresses is in another process, so nothing is mapped
    // there in this one.
    bool elsewhere = false;
    // Allocations begin at multiples of 512 that nobody can foresee, as they do among those of
    // others on a GPU. With kNeverAgain only.
    bool scattered = false;
  };

  static Result<std::unique_ptr<DeviceMemory>> Create(const Options& options);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Zeroed memory; `alignment` is a power of two (256 is what CUDA promises). Size 0 is a valid
  // allocation without bytes. Fails with kTimeout ("out of memory") when capacity is used up.
  Result<uint64_t> Allocate(uint64_t size, AllocationKind kind, std::string where,
                            uint64_t alignment = 256, std::string variable = "");
  // The same at an address that another process has chosen: the caller need not trust it. It must
  // be a multiple of 256 in the part of the range that Options::placed left out, and nothing else
  // may ever have been there.
  Status AllocateAt(uint64_t address, uint64_t size, AllocationKind kind, std::string where,
                    std::string variable = "");
  // From now on Allocate puts the variable of this name there (AllocateAt's rules).
  void PlaceVariable(std::string variable, uint64_t address);
  // `address` must be the start of a live allocation.
  Status Free(uint64_t address);

  // Makes [pointer, pointer + size) of the program's own memory accessible to kernels at the same
  // address. Fails if it overlaps another registered range.
  Status RegisterHostRange(void* pointer, uint64_t size, std::string where);
  Status UnregisterHostRange(void* pointer);
  // The same for memory of another process, of which this one keeps a copy.
  Status RegisterForeignRange(uint64_t address, uint64_t size, std::string where);

  // `listener` is told of every allocation and of every end of one, by the thread that makes it.
  using Listener = std::function<void(const Allocation& allocation)>;
  void SetListener(Listener listener) { listener_ = std::move(listener); }

  // `address` is the start of a live allocation, which kernels only read: checked ones
  // (interest::kBadAccesses) are told off for writing. Constants and parameters are so anyway.
  void SetReadOnly(uint64_t address, bool read_only);

  // The live allocation that contains `address` (or starts there, if it is empty).
  std::optional<Allocation> Find(uint64_t address) const;
  // The same, or else the freed allocation whose addresses are not yet in use again, or else the
  // nearest live one below. For messages.
  std::optional<Allocation> FindForReport(uint64_t address) const;
  // Where host code of ours may access [address, address + size); null unless it lies within one
  // live allocation.
  void* HostAlias(uint64_t address, uint64_t size) const;

  // True for every address of the reserved range, allocated or not.
  bool InReservedRange(uint64_t address) const {
    return address >= base_ && address < base_ + reserved_;
  }

  std::vector<Allocation> LiveAllocations() const;
  // Freed ones whose addresses are not in use again, by address.
  std::vector<Allocation> FreedAllocations() const;
  uint64_t used_bytes() const;
  uint64_t capacity() const { return options_.capacity; }
  // Some Allocate failed because there was no more.
  bool ran_out() const { return ran_out_; }

  uint64_t shared_window() const { return base_; }
  uint64_t local_window() const { return base_ + kSharedWindows * kSharedWindowSize; }

  // Behind all windows: here allocations begin.
  uint64_t first_address() const { return code_window() + kCodeWindowSize; }
  uint64_t code_window() const { return local_window() + kLocalWindowSize; }
  // Addresses for so many functions, kCodeStride apart.
  uint64_t ReserveCode(uint64_t functions);

  // Grows with every Allocate, Free, Register and Unregister: caches of the allocation list compare
  // it.
  uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

 private:
  DeviceMemory() = default;
  Status Map();
  uint64_t PagesFor(uint64_t size) const;  // counts the guard behind it, too
  Result<uint64_t> TakePages(uint64_t bytes, uint64_t alignment);
  // Options::scattered: a place somewhere in pages that are taken for it.
  Result<uint64_t> TakeScattered(uint64_t size, AllocationKind kind, uint64_t alignment);
  void ReleaseQuarantine(uint64_t down_to_bytes);
  void ReturnPages(uint64_t address, uint64_t bytes);
  Error OutOfMemory(const std::string& why);
  Status AddAllocation(uint64_t address, uint64_t size, AllocationKind kind, std::string where,
                       std::string variable);
  Status CheckPlace(uint64_t address, uint64_t size) const;
  void Tell(const Allocation& allocation) const {
    if (listener_) listener_(allocation);
  }

  Options options_;
  Rng scatter_{0};  // seeded by chance for Options::scattered
  Listener listener_;
  std::map<std::string, uint64_t> places_;  // of variables that are not allocated yet
  std::map<uint64_t, std::unique_ptr<std::byte[]>> foreign_;  // copies, by their address
  uint64_t base_ = 0;
  uint64_t reserved_ = 0;
  std::byte* alias_ = nullptr;
  bool mapped_ = false;  // the visible addresses, in this process
  int memory_fd_ = -1;

  mutable std::shared_mutex mutex_;
  std::map<uint64_t, Allocation> live_;      // allocations by their address
  std::map<uint64_t, Allocation> freed_;     // quarantined, by address
  std::deque<uint64_t> quarantine_;          // addresses of freed_, oldest first
  std::map<uint64_t, uint64_t> free_pages_;  // address -> bytes, merged
  uint64_t used_ = 0;
  uint64_t quarantined_ = 0;
  uint64_t next_id_ = 1;
  std::atomic<bool> ran_out_{false};
  std::atomic<uint64_t> generation_{1};
  std::atomic<uint64_t> next_code_{1};
};

}  // namespace kernelsmith::vgpu
