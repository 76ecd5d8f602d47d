// Accesses that are outside every allocation, misaligned, to freed memory, or writes to what is
// read-only; free in kernels. Costs nothing while accesses are good: the engine asks only about bad
// ones. Accesses that leave an array in shared memory and hit another are good to the engine: they
// are looked for in kernels with several arrays (shared_arrays.h), and so are writes to what the
// same kernel loads as read-only (read_only_loads.h).
#include <fmt/format.h>

#include <bit>
#include <map>
#include <tuple>

#include "checkers/read_only_loads.h"
#include "checkers/shared_arrays.h"
#include "checkers/suite.h"
#include "vgpu/heap.h"

namespace kernelsmith::checkers {

namespace {

using vgpu::Allocation;
using vgpu::AllocationKind;
using vgpu::BadAccess;
using vgpu::WarpView;

// No allocation lies below; what is here was a null pointer with an index.
constexpr uint64_t kNullEnd = 64 << 10;
// Farther than this from everything an address says nothing about an allocation.
constexpr uint64_t kNear = uint64_t{1} << 30;
// So many launches of a kernel with several shared arrays, of at most so many threads, are not left
// to the screen, which knows nothing of arrays. Later and larger ones mostly repeat the indices of
// the first, and would make programs a hundred times slower; --full watches them all.
constexpr int kWatchedLaunches = 4;
constexpr uint64_t kWatchedThreads = 2048;
// More launches than this never run at the same time; ids grow, so the first is the oldest.
constexpr size_t kKeptLaunches = 64;

const char* VerbOf(vgpu::AccessKind kind) {
  switch (kind) {
    case vgpu::AccessKind::kLoad:
      return "read";
    case vgpu::AccessKind::kStore:
      return "write";
    case vgpu::AccessKind::kAtomic:
    case vgpu::AccessKind::kReduction:
      return "atomic update";
    case vgpu::AccessKind::kAsyncCopy:
      return "asynchronous write";
    case vgpu::AccessKind::kPrefetch:
      return "prefetch";
  }
  return "access";
}

std::string Bytes(uint64_t n) { return n == 1 ? "1 byte" : fmt::format("{} bytes", n); }

class BoundsChecker final : public Checker {
 public:
  // `faults`: a bad access ends the kernel, and whoever runs it tells; else it is a finding.
  BoundsChecker(FindingSink& sink, vgpu::VirtualGpu& gpu, bool faults)
      : Checker(sink), gpu_(gpu), faults_(faults) {}

  uint32_t interests() const override {
    return vgpu::interest::kBadAccesses | vgpu::interest::kAccesses;
  }
  std::optional<vgpu::ScreenChecks> ScreenedChecks() const override {
    return vgpu::ScreenChecks{.bad_accesses = true};
  }
  bool MayScreen() override {
    return !recent_needs_a_look_ || ++watched_[recent_kernel_] > kWatchedLaunches;
  }

  void OnLaunchBegin(const vgpu::LaunchInfo& launch) override {
    launches_[launch.id] = launch;
    recent_needs_a_look_ = false;
    recent_kernel_ = launch.kernel;
    if (launch.code == nullptr) return;
    const bool small = launch.grid.Count() * launch.block.Count() <= kWatchedThreads;
    if (auto arrays = std::make_unique<SharedArrays>(*launch.code); arrays->useful()) {
      recent_needs_a_look_ = small;
      arrays_[launch.id] = std::move(arrays);
      if (arrays_.size() > kKeptLaunches) arrays_.erase(arrays_.begin());
    }
    if (auto loads = std::make_unique<ReadOnlyLoads>(launch, gpu_); loads->useful()) {
      recent_needs_a_look_ = recent_needs_a_look_ || (small && loads->overlap());
      read_only_[launch.id] = std::move(loads);
      if (read_only_.size() > kKeptLaunches) read_only_.erase(read_only_.begin());
    }
  }
  void OnLaunchEnd(const vgpu::Fault*) override {}

  bool OnMemoryAccess(WarpView& warp, const vgpu::MemoryAccess& access) override {
    if (!read_only_.empty()) LookAtReadOnly(warp, access);
    if (arrays_.empty()) return true;
    const auto arrays = arrays_.find(warp.launch_id());
    if (arrays == arrays_.end()) return true;
    const SharedArray* meant = arrays->second->MeantBy(*access.instruction);
    if (meant == nullptr) return true;
    const uint64_t window = launches_[warp.launch_id()].shared_window;
    ForEachLane(access.mask, [&](int lane) {
      const uint64_t offset = access.address[static_cast<size_t>(lane)] - window;
      // Beyond all of shared memory the engine has a word to say.
      if (offset >= warp.shared_bytes() || meant->Contains(offset, access.bytes)) return;
      ReportArray(warp, access, lane, *meant, *arrays->second);
    });
    return true;
  }

  bool OnBadAccess(WarpView& warp, const vgpu::MemoryAccess& access, uint32_t bad,
                   BadAccess why) override {
    if (faults_) return false;
    for (uint32_t rest = bad; rest != 0; rest &= rest - 1) {
      Report(warp, access, std::countr_zero(rest), why);
    }
    return true;
  }

  void OnDeviceMalloc(WarpView& warp, int lane, uint64_t address, uint64_t size) override {
    if (address == 0) return;
    // The addresses are in use again: what was freed there is forgotten.
    auto it = freed_.lower_bound(address);
    if (it != freed_.begin() && std::prev(it)->second.end() > address) --it;
    while (it != freed_.end() && it->first < address + size) it = freed_.erase(it);
    blocks_[address] = {.address = address, .size = size, .made = PlaceAt(warp, lane)};
  }

  bool OnDeviceFree(WarpView& warp, int lane, uint64_t address) override {
    const auto block = blocks_.find(address);
    if (block != blocks_.end()) {
      HeapBlock freed = block->second;
      blocks_.erase(block);
      freed.freed = PlaceAt(warp, lane);
      freed_[address] = std::move(freed);
      return true;
    }
    const auto before = freed_.find(address);
    Finding finding{.kind = FindingKind::kDoubleFree,
                    .space = Space::kGlobal,
                    .place = PlaceAt(warp, lane),
                    .address = address};
    if (before != freed_.end()) {
      finding.message =
          fmt::format("free of a block of {} that was freed before", Bytes(before->second.size));
      finding.other = before->second.freed;
      finding.other_message = "freed first";
    } else {
      finding.message =
          fmt::format("free of 0x{:x}, which malloc in a kernel did not return", address);
    }
    sink().Add(std::move(finding));
    return false;
  }

  void Finish() override {
    for (const auto& [address, block] : blocks_) {
      sink().Add(
          {.kind = FindingKind::kLeak,
           .severity = Severity::kWarning,
           .space = Space::kGlobal,
           .place = block.made,
           .message = fmt::format("{} from malloc in a kernel are never freed", Bytes(block.size)),
           .address = address});
    }
  }

 private:
  struct HeapBlock {
    uint64_t address = 0;
    uint64_t size = 0;
    Place made;
    Place freed;
    uint64_t end() const { return address + size; }
  };

  const std::string& KernelOf(const WarpView& warp) { return launches_[warp.launch_id()].kernel; }

  // The place of the instruction that calls: the pc is there.
  Place PlaceAt(WarpView& warp, int lane) {
    return PlaceOf(KernelOf(warp), warp, warp.instruction(), lane);
  }

  void LookAtReadOnly(WarpView& warp, const vgpu::MemoryAccess& access) {
    const auto loads = read_only_.find(warp.launch_id());
    // Without pointers to the same memory there is nothing to find, as far as pointers are known.
    if (loads == read_only_.end() || !loads->second->overlap()) return;
    const auto conflict = loads->second->Add(KernelOf(warp), warp, access);
    if (!conflict) return;
    const auto key = std::tuple(access.instruction, FindingKind::kWriteToReadonly, Space::kGlobal,
                                warp.launch_id());
    const auto known = known_.find(key);
    if (known != known_.end()) {
      sink().Count(known->second, 1);
      return;
    }
    // What is loaded before it is written works on GPUs of today.
    known_[key] = sink().Add(
        {.kind = FindingKind::kWriteToReadonly,
         .severity = conflict->stale ? Severity::kError : Severity::kWarning,
         .space = Space::kGlobal,
         .place = conflict->write,
         .message = fmt::format("memory is written that the same kernel loads as read-only "
                                "(ld.global.nc, __ldg){}",
                                conflict->stale ? ": such a load may give the old value" : ""),
         .address = access.address[static_cast<size_t>(conflict->lane)],
         .other = conflict->load,
         .other_message = "loaded here"});
  }

  void ReportArray(WarpView& warp, const vgpu::MemoryAccess& access, int lane,
                   const SharedArray& meant, const SharedArrays& arrays) {
    const vgpu::Instruction& in = *access.instruction;
    const auto key = std::tuple(&in, FindingKind::kOutOfBounds, Space::kShared, warp.launch_id());
    const auto known = known_.find(key);
    if (known != known_.end()) {
      sink().Count(known->second, 1);
      return;
    }
    const vgpu::LaunchInfo& launch = launches_[warp.launch_id()];
    const uint64_t address = access.address[static_cast<size_t>(lane)];
    const uint64_t offset = address - launch.shared_window;
    // An access that begins inside reaches the other array with its last byte.
    const bool begins_inside = meant.Contains(offset, 1);
    const SharedArray* hit = arrays.At(begins_inside ? offset + access.bytes - 1 : offset);
    const std::string size = meant.end == ~uint64_t{0} ? std::string("dynamic shared memory")
                                                       : Bytes(meant.end - meant.begin);
    known_[key] =
        sink().Add({.kind = FindingKind::kOutOfBounds,
                    .severity = DefaultSeverity(FindingKind::kOutOfBounds),
                    .space = Space::kShared,
                    .place = PlaceOf(launch.kernel, warp, in, lane),
                    .message = fmt::format(
                        "{} of {} at offset {} of the shared array {} ({}), which is in {}",
                        VerbOf(access.kind), Bytes(access.bytes),
                        static_cast<int64_t>(offset - meant.begin), meant.name, size,
                        hit == nullptr ? std::string("no array") : "the shared array " + hit->name),
                    .address = address});
  }

  void Report(WarpView& warp, const vgpu::MemoryAccess& access, int lane, BadAccess why) {
    const vgpu::LaunchInfo& launch = launches_[warp.launch_id()];
    const uint64_t address = access.address[static_cast<size_t>(lane)];
    const vgpu::Instruction& in = *access.instruction;
    Finding finding{.address = address};
    const std::string what = fmt::format("{} of {} at ", VerbOf(access.kind), Bytes(access.bytes));
    vgpu::MemorySpace space = in.space;
    if (in.op == vgpu::Op::kCpAsync) {
      space = access.kind == vgpu::AccessKind::kLoad ? vgpu::MemorySpace::kGlobal
                                                     : vgpu::MemorySpace::kShared;
    }
    if (space == vgpu::MemorySpace::kGeneric) {
      if (address - launch.shared_window < vgpu::kSharedWindowSize) {
        space = vgpu::MemorySpace::kShared;
      } else if (address - launch.local_window < vgpu::kLocalWindowSize) {
        space = vgpu::MemorySpace::kLocal;
      }
    }
    if (space == vgpu::MemorySpace::kShared) {
      finding.space = Space::kShared;
      DescribeWindow(finding, what, "shared memory", address - launch.shared_window, access.bytes,
                     warp.shared_bytes(), "the block has", why);
    } else if (space == vgpu::MemorySpace::kLocal) {
      finding.space = Space::kLocal;
      DescribeWindow(finding, what, "local memory", address - launch.local_window, access.bytes,
                     warp.function().frame_end, "the function's variables have", why);
    } else {
      finding.space = Space::kGlobal;
      DescribeGlobal(finding, what, address, access.bytes, why, launch);
    }
    finding.severity = DefaultSeverity(finding.kind);
    const auto key = std::tuple(&in, finding.kind, finding.space, warp.launch_id());
    const auto known = known_.find(key);
    if (known != known_.end()) {
      sink().Count(known->second, 1);
      return;
    }
    finding.place = PlaceOf(launch.kernel, warp, in, lane);
    known_[key] = sink().Add(std::move(finding));
  }

  static void DescribeWindow(Finding& finding, const std::string& what, const char* name,
                             uint64_t offset, uint64_t bytes, uint64_t size, const char* has,
                             BadAccess why) {
    const auto signed_offset = static_cast<int64_t>(static_cast<int32_t>(offset));
    if (why == BadAccess::kMisaligned) {
      finding.kind = FindingKind::kMisaligned;
      finding.message = fmt::format("{}{} offset {}, which is not a multiple of {}", what, name,
                                    signed_offset, bytes);
      return;
    }
    finding.kind = FindingKind::kOutOfBounds;
    finding.message =
        fmt::format("{}{} offset {}; {} {}", what, name, signed_offset, has, Bytes(size));
  }

  void DescribeGlobal(Finding& finding, const std::string& what, uint64_t address, uint64_t bytes,
                      BadAccess why, const vgpu::LaunchInfo& launch) {
    if (address < kNullEnd) {
      finding.kind = FindingKind::kNull;
      finding.message = address == 0
                            ? what + "a null pointer"
                            : fmt::format("{}0x{:x}, a null pointer with an offset", what, address);
      return;
    }
    const std::optional<Allocation> near = Nearest(address);
    if (near) {
      if (const auto it = host_allocations_.find(near->id); it != host_allocations_.end()) {
        finding.allocated = it->second;
      }
    }
    if (near && near->kind == AllocationKind::kConstant) finding.space = Space::kConstant;
    if (near && near->kind == AllocationKind::kParameter) finding.space = Space::kParam;
    if (why == BadAccess::kMisaligned) {
      finding.kind = FindingKind::kMisaligned;
      finding.allocation = near;
      finding.message =
          fmt::format("{}0x{:x}, which is not a multiple of {}", what, address, bytes);
      return;
    }
    if (why == BadAccess::kReadOnly) {
      finding.kind = FindingKind::kWriteToReadonly;
      finding.allocation = near;
      const char* target = "memory that the kernel may only read";
      if (finding.space == Space::kConstant) target = "constant memory";
      if (finding.space == Space::kParam) target = "the kernel's parameters";
      finding.message = fmt::format("{}0x{:x} in {}", what, address, target);
      return;
    }
    finding.kind = FindingKind::kOutOfBounds;
    if (near && near->kind == AllocationKind::kHeap && address >= near->address &&
        address < near->end()) {
      DescribeHeap(finding, what, address);
      return;
    }
    if (!near) {
      const bool other_space =
          address - launch.shared_window < vgpu::kSharedWindowSize * vgpu::kSharedWindows ||
          address - launch.local_window < vgpu::kLocalWindowSize;
      finding.message = fmt::format(
          "{}0x{:x}, {}", what, address,
          other_space ? "an address of another memory space" : "which is near no allocation");
      return;
    }
    finding.allocation = near;
    if (near->freed) {
      finding.kind = FindingKind::kUseAfterFree;
      finding.message = fmt::format("{}0x{:x}, {} into an allocation of {} that was freed", what,
                                    address, Bytes(address - near->address), Bytes(near->size));
      if (const auto it = host_frees_.find(near->id); it != host_frees_.end()) {
        finding.other = it->second;
        finding.other_message = "freed";
      }
      return;
    }
    finding.message = fmt::format("{}0x{:x}, {}", what, address,
                                  Relation(address, bytes, near->address, near->size));
  }

  void DescribeHeap(Finding& finding, const std::string& what, uint64_t address) {
    const auto freed = freed_.upper_bound(address);
    if (freed != freed_.begin() && address < std::prev(freed)->second.end()) {
      const HeapBlock& block = std::prev(freed)->second;
      finding.kind = FindingKind::kUseAfterFree;
      finding.message =
          fmt::format("{}0x{:x}, {} into a block of {} from malloc in a kernel that was freed",
                      what, address, Bytes(address - block.address), Bytes(block.size));
      finding.other = block.freed;
      finding.other_message = "freed";
      return;
    }
    const auto above = blocks_.upper_bound(address);
    const HeapBlock* nearest = nullptr;
    if (above != blocks_.begin()) nearest = &std::prev(above)->second;
    if (above != blocks_.end() &&
        (nearest == nullptr || above->first - address < address - nearest->end())) {
      nearest = &above->second;
    }
    if (nearest == nullptr) {
      finding.message =
          fmt::format("{}0x{:x}, on the heap of kernels, where no block is in use", what, address);
      return;
    }
    finding.message = fmt::format("{}0x{:x}, {} from malloc in a kernel", what, address,
                                  Relation(address, 0, nearest->address, nearest->size));
    finding.other = nearest->made;
    finding.other_message = "allocated";
  }

  static std::string Relation(uint64_t address, uint64_t bytes, uint64_t start, uint64_t size) {
    if (address == start + size) {
      return fmt::format("just after the end of the {}-byte allocation", size);
    }
    if (address > start + size) {
      return fmt::format("{} after the end of the {}-byte allocation",
                         Bytes(address - start - size), size);
    }
    if (address < start) {
      return fmt::format("{} before the {}-byte allocation", Bytes(start - address), size);
    }
    return fmt::format("which reaches {} beyond the end of the {}-byte allocation",
                       Bytes(address + bytes - start - size), size);
  }

  // The allocation that contains the address (also a freed one), or else the nearest live one.
  std::optional<Allocation> Nearest(uint64_t address) {
    if (auto inside = gpu_.memory().FindForReport(address);
        inside && address >= inside->address && address < inside->end()) {
      return inside;
    }
    std::optional<Allocation> best;
    uint64_t distance = kNear;
    for (Allocation& allocation : gpu_.memory().LiveAllocations()) {
      const uint64_t gap =
          address < allocation.address ? allocation.address - address : address - allocation.end();
      if (gap < distance) {
        distance = gap;
        best = std::move(allocation);
      }
    }
    return best;
  }

  void OnAllocate(const Allocation& allocation, const Place& where) override {
    host_allocations_[allocation.id] = where;
  }
  void OnFree(const Allocation& allocation, uint64_t, const Place& where) override {
    host_frees_[allocation.id] = where;
  }

  vgpu::VirtualGpu& gpu_;
  const bool faults_;
  std::map<uint64_t, vgpu::LaunchInfo> launches_;
  std::map<uint64_t, std::unique_ptr<SharedArrays>> arrays_;  // by launch; those that are useful
  std::map<uint64_t, std::unique_ptr<ReadOnlyLoads>> read_only_;  // the same
  bool recent_needs_a_look_ = false;  // the launch that began last is not for the screen
  std::string recent_kernel_;
  std::map<std::string, int> watched_;    // launches of each kernel that were not screened
  std::map<uint64_t, HeapBlock> blocks_;  // blocks of the device heap that are in use
  std::map<uint64_t, HeapBlock> freed_;
  std::map<uint64_t, Place> host_allocations_;  // by allocation
  std::map<uint64_t, Place> host_frees_;        // by allocation
  std::map<std::tuple<const vgpu::Instruction*, FindingKind, Space, uint64_t>, size_t> known_;
};

}  // namespace

std::unique_ptr<Checker> MakeBoundsChecker(FindingSink& sink, vgpu::VirtualGpu& gpu) {
  return std::make_unique<BoundsChecker>(sink, gpu, /*faults=*/false);
}

std::unique_ptr<Checker> MakeBoundsCheckerForVerdicts(FindingSink& sink, vgpu::VirtualGpu& gpu) {
  return std::make_unique<BoundsChecker>(sink, gpu, /*faults=*/true);
}

}  // namespace kernelsmith::checkers
