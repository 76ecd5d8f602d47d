#include "checkers/determinism.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "checkers/suite.h"
#include "vgpu/ir.h"
#include "vgpu/observer.h"

namespace kernelsmith::checkers {

namespace {

using vgpu::Allocation;
using vgpu::AllocationKind;

// What a kernel prints or allocates would be there twice.
bool CanRunAgain(const vgpu::Kernel& kernel) {
  for (const auto& function : kernel.functions) {
    for (const vgpu::CallSite& call : function->calls) {
      const auto system = static_cast<vgpu::SystemCall>(call.system);
      if (call.system != 0 && system != vgpu::SystemCall::kAssertFail) return false;
    }
  }
  return true;
}

// The bytes of all memory that a kernel may write.
class Image {
 public:
  static std::optional<Image> Take(vgpu::DeviceMemory& memory, uint64_t limit) {
    Image image;
    uint64_t total = 0;
    for (const Allocation& allocation : memory.LiveAllocations()) {
      if (allocation.kind == AllocationKind::kConstant ||
          allocation.kind == AllocationKind::kParameter || allocation.size == 0) {
        continue;
      }
      // Host code may be writing there: putting old bytes back would lose what it wrote.
      if (allocation.kind == AllocationKind::kPinned ||
          allocation.kind == AllocationKind::kManaged ||
          allocation.kind == AllocationKind::kHostRegistered) {
        return std::nullopt;
      }
      total += allocation.size;
      if (total > limit) return std::nullopt;
      const auto* bytes =
          static_cast<const std::byte*>(memory.HostAlias(allocation.address, allocation.size));
      if (bytes == nullptr) continue;
      image.parts_.push_back({allocation, std::vector(bytes, bytes + allocation.size)});
    }
    return image;
  }

  void PutBack(vgpu::DeviceMemory& memory) const {
    for (const Part& part : parts_) {
      void* bytes = memory.HostAlias(part.allocation.address, part.allocation.size);
      if (bytes != nullptr) std::memcpy(bytes, part.bytes.data(), part.bytes.size());
    }
  }

  // Calls visit(allocation, offset of a 4-byte word, old bits, new bits) where memory differs now.
  template <typename Visit>
  void Compare(const vgpu::DeviceMemory& memory, const Visit& visit) const {
    for (const Part& part : parts_) {
      const auto* now = static_cast<const std::byte*>(
          memory.HostAlias(part.allocation.address, part.allocation.size));
      if (now == nullptr || std::memcmp(now, part.bytes.data(), part.bytes.size()) == 0) continue;
      for (uint64_t at = 0; at < part.bytes.size(); at += 4) {
        uint32_t a = 0;
        uint32_t b = 0;
        const uint64_t bytes = std::min<uint64_t>(4, part.bytes.size() - at);
        std::memcpy(&a, part.bytes.data() + at, bytes);
        std::memcpy(&b, now + at, bytes);
        if (a != b) visit(part.allocation, at, a, b);
      }
    }
  }

 private:
  struct Part {
    Allocation allocation;
    std::vector<std::byte> bytes;
  };
  std::vector<Part> parts_;
};

// Which instruction writes a word last.
class Watch final : public vgpu::Observer {
 public:
  Watch(uint64_t address, std::string kernel) : address_(address), kernel_(std::move(kernel)) {}
  uint32_t interests() const override { return vgpu::interest::kAccesses; }
  bool OnMemoryAccess(vgpu::WarpView& warp, const vgpu::MemoryAccess& access) override {
    if (access.kind == vgpu::AccessKind::kLoad) return true;
    for (uint32_t rest = access.mask; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      const uint64_t at = access.address[static_cast<size_t>(lane)];
      if (at < address_ + 4 && address_ < at + access.bytes) {
        place_ = PlaceOf(kernel_, warp, *access.instruction, lane);
      }
    }
    return true;
  }
  const std::optional<Place>& place() const { return place_; }

 private:
  uint64_t address_;
  std::string kernel_;
  std::optional<Place> place_;
};

struct Spread {
  uint64_t words = 0;
  std::vector<MemoryRange> where;
  Allocation allocation;  // the allocation of the first difference
  uint64_t offset = 0;
  uint32_t old_bits = 0;
  uint32_t new_bits = 0;
  double largest = 0;  // difference, read as f32
};

// Results that differ lie together; scattered ones are known well enough by so many.
constexpr size_t kMostRanges = 4096;

Spread Measure(const Image& image, const vgpu::DeviceMemory& memory) {
  Spread spread;
  image.Compare(memory, [&](const Allocation& allocation, uint64_t at, uint32_t a, uint32_t b) {
    if (spread.words++ == 0) {
      spread.allocation = allocation;
      spread.offset = at;
      spread.old_bits = a;
      spread.new_bits = b;
    }
    const uint64_t address = allocation.address + at;
    if (!spread.where.empty() &&
        spread.where.back().address + spread.where.back().bytes == address) {
      spread.where.back().bytes += 4;
    } else if (spread.where.size() < kMostRanges) {
      spread.where.push_back({address, 4});
    }
    const double difference = std::fabs(static_cast<double>(std::bit_cast<float>(a)) -
                                        static_cast<double>(std::bit_cast<float>(b)));
    if (difference > spread.largest) spread.largest = difference;
  });
  return spread;
}

}  // namespace

Result<vgpu::LaunchResult> LaunchInSeveralOrders(vgpu::VirtualGpu& gpu,
                                                 const vgpu::LaunchRequest& request,
                                                 const OrderReport& report,
                                                 const DeterminismLimits& limits) {
  KS_TRY(const vgpu::Kernel* kernel, request.module->Prepare(request.entry));
  const auto suspect = kernel->interaction.order_of_threads_shows;
  if (!suspect || !CanRunAgain(*kernel)) return gpu.Launch(request);
  const std::optional<Image> before = Image::Take(gpu.memory(), limits.bytes);
  KS_TRY(vgpu::LaunchResult result, gpu.Launch(request));
  if (!before || result.fault || result.statistics.warp_instructions > limits.instructions) {
    return result;
  }
  if (limits.may_repeat && !limits.may_repeat()) return result;
  const std::optional<Image> after = Image::Take(gpu.memory(), limits.bytes);
  if (!after) return result;
  Spread spread;
  std::optional<Place> writer;
  uint64_t spent = 0;
  const auto repeat = [&](uint64_t schedule, vgpu::Observer* observer) {
    before->PutBack(gpu.memory());
    vgpu::LaunchRequest again = request;
    again.schedule = schedule;
    again.observer = observer;
    const auto repeated = gpu.Launch(again);
    // A kernel that waits for blocks of lower number may not end in another order; its own run did.
    if (!repeated.ok() || repeated->fault) return false;
    spent += repeated->statistics.warp_instructions;
    return true;
  };
  for (uint64_t schedule = 1; schedule <= limits.orders; ++schedule) {
    if (schedule > 2 && spent > limits.budget) break;
    if (!repeat(schedule, nullptr)) continue;
    spread = Measure(*after, gpu.memory());
    if (spread.words == 0) continue;
    Watch watch(spread.allocation.address + spread.offset, request.entry);
    if (repeat(schedule, &watch)) writer = watch.place();
    break;
  }
  after->PutBack(gpu.memory());
  if (spread.words == 0) return result;

  const vgpu::Function& function = *kernel->functions[suspect->function];
  const vgpu::Instruction& instruction = function.code[suspect->instruction];
  const bool is_float = IsFloat(instruction.type);
  Place place{.kernel = request.entry,
              .source = vgpu::SourceLocationOf(function, instruction),
              .ptx = vgpu::PtxLocationOf(function, instruction),
              .instruction = vgpu::TextOf(function, instruction)};
  std::string message = fmt::format(
      "what the kernel computes depends on the order in which threads run: in another order {} "
      "4-byte words differ",
      spread.words);
  if (is_float) {
    message +=
        fmt::format(", by up to {:g}; the first is {:g} or {:g}", spread.largest,
                    std::bit_cast<float>(spread.old_bits), std::bit_cast<float>(spread.new_bits));
  } else {
    message += fmt::format("; the first is 0x{:08x} or 0x{:08x}", spread.old_bits, spread.new_bits);
  }
  Finding finding{.kind = FindingKind::kNondeterministic,
                  .severity = DefaultSeverity(FindingKind::kNondeterministic),
                  .space = Space::kGlobal,
                  .place = writer ? *writer : place,
                  .message = std::move(message),
                  .address = spread.allocation.address + spread.offset,
                  .allocation = spread.allocation};
  const bool same_line = writer && (place.source.line > 0 ? writer->source.line == place.source.line
                                                          : writer->ptx.line == place.ptx.line);
  if (writer && !same_line) {
    finding.other = std::move(place);
    finding.other_message = "this depends on the order";
  }
  report(std::move(finding), spread.where);
  return result;
}

Result<vgpu::LaunchResult> LaunchInSeveralOrders(vgpu::VirtualGpu& gpu,
                                                 const vgpu::LaunchRequest& request,
                                                 FindingSink& sink,
                                                 const DeterminismLimits& limits) {
  return LaunchInSeveralOrders(
      gpu, request,
      [&](Finding finding, const std::vector<MemoryRange>&) { sink.Add(std::move(finding)); },
      limits);
}

void OrderChecker::Add(Finding finding, const std::vector<MemoryRange>& where) {
  const std::lock_guard lock(mutex_);
  held_.push_back({std::move(finding), where});
}

void OrderChecker::OnHostRead(uint64_t address, uint64_t bytes, const Place&) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](Held& held) {
    const bool seen = std::any_of(held.where.begin(), held.where.end(), [&](const MemoryRange& r) {
      return r.address < address + bytes && address < r.address + r.bytes;
    });
    if (seen) sink().Add(std::move(held.finding));
    return seen;
  });
}

void OrderChecker::Overwritten(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (Held& held : held_) {
    std::erase_if(held.where, [&](const MemoryRange& r) {
      return address <= r.address && r.address + r.bytes <= address + bytes;
    });
  }
}

void OrderChecker::OnCopy(const HostCopy& copy) {
  for (uint64_t z = 0; z < copy.depth; ++z) {
    for (uint64_t y = 0; y < copy.height; ++y) {
      if (copy.from_device) {
        OnHostRead(copy.from + z * copy.from_slice + y * copy.from_pitch, copy.width, copy.place);
      }
      if (copy.to_device && !copy.from_device) {
        Overwritten(copy.to + z * copy.to_slice + y * copy.to_pitch, copy.width);
      }
    }
  }
}

void OrderChecker::OnFill(const HostCopy& fill) {
  for (uint64_t z = 0; z < fill.depth; ++z) {
    for (uint64_t y = 0; y < fill.height; ++y) {
      Overwritten(fill.to + z * fill.to_slice + y * fill.to_pitch, fill.width);
    }
  }
}

std::unique_ptr<Checker> MakeOrderChecker(FindingSink& sink, vgpu::VirtualGpu&) {
  return std::make_unique<OrderChecker>(sink);
}

void OrderChecker::Finish() {
  const std::lock_guard lock(mutex_);
  for (Held& held : held_) {
    held.finding.severity = Severity::kNote;
    held.finding.message += ", in memory that the host does not look at";
    sink().Add(std::move(held.finding));
  }
  held_.clear();
}

}  // namespace kernelsmith::checkers
