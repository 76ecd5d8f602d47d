// Races between what the host starts beside kernels (copies, fills, frees in streams) and kernels
// or one another. Only what no stream, event or wait of the host orders is looked at, which in most
// programs is nothing.
#include <fmt/format.h>

#include <algorithm>

#include "checkers/race_state.h"

namespace kernelsmith::checkers {

namespace {

constexpr size_t kMostHostAccesses = 4096;

}  // namespace

bool RaceChecker::HostAccess::Touches(uint64_t address, uint64_t bytes) const {
  bool touches = false;
  rows.ForEachRow([&](uint64_t row, uint64_t) {
    touches |= row < address + bytes && address < row + rows.width;
  });
  return touches;
}

bool RaceChecker::HostAccess::Touches(const HostAccess& other) const {
  bool touches = false;
  other.rows.ForEachRow(
      [&](uint64_t row, uint64_t) { touches = touches || Touches(row, other.rows.width); });
  return touches;
}

void RaceChecker::OnSubmit(uint64_t operation, std::span<const uint64_t> after) {
  operations_.Submit(operation, after);
}

bool RaceChecker::MayScreen() {
  return launch_ != nullptr && beside_.find(launch_->operation) == beside_.end();
}

void RaceChecker::OnHostWait(std::span<const uint64_t> operations) {
  operations_.HostWait(operations);
  ForgetSettled();
}

void RaceChecker::OnMayBeginEarly(uint64_t operation, std::span<const uint64_t> beside) {
  for (const uint64_t other : beside) beside_[operation].Add(other);
}

void RaceChecker::OnCopy(const HostCopy& copy) {
  const char* what = copy.what != nullptr ? copy.what : "copy";
  if (copy.to_device) HostDoes({.rows = copy, .writes = true, .what = what});
  if (copy.from_device) {
    HostCopy source = copy;
    source.to = copy.from;
    source.to_pitch = copy.from_pitch;
    source.to_slice = copy.from_slice;
    HostDoes({.rows = std::move(source), .writes = false, .what = what});
  }
}

void RaceChecker::OnFill(const HostCopy& fill) {
  if (fill.to_device) {
    HostDoes({.rows = fill, .writes = true, .what = fill.what != nullptr ? fill.what : "fill"});
  }
}

void RaceChecker::OnFree(const vgpu::Allocation& allocation, uint64_t operation,
                         const Place& where) {
  // cudaFree waits for everything; cudaFreeAsync only for its stream.
  if (operation != 0) {
    HostDoes({.rows = {.operation = operation,
                       .to = allocation.address,
                       .to_device = true,
                       .width = allocation.size,
                       .place = where},
              .writes = true,
              .what = "free"});
  }
  std::erase_if(host_, [&](const auto& access) {
    return access->rows.to - allocation.address < allocation.size;
  });
  for (const auto& launch : screened_) {
    std::erase_if(launch->touched, [&](const vgpu::ScreenFootprint& touched) {
      return touched.Touches(allocation.address, allocation.end());
    });
  }
  global_.Forget(allocation.address, (allocation.size + kPageBytes - 1) / kPageBytes * kPageBytes);
}

// Neither is ordered behind the other.
bool RaceChecker::MayOverlap(uint64_t operation, uint64_t other) const {
  return operation != 0 && other != 0 && operation != other &&
         !operations_.Before(operation).Contains(other) &&
         !operations_.Before(other).Contains(operation);
}

void RaceChecker::HostDoes(HostAccess access) {
  const uint64_t operation = access.rows.operation;
  if (operation == 0 || access.rows.width == 0) return;
  std::erase_if(host_, [&](const auto& old) { return operations_.IsSettled(old->rows.operation); });
  for (const auto& other : host_) {
    if ((access.writes || other->writes) && MayOverlap(operation, other->rows.operation) &&
        access.Touches(*other)) {
      sink().Add({.kind = FindingKind::kRace,
                  .severity = DefaultSeverity(FindingKind::kRace),
                  .space = Space::kGlobal,
                  .place = access.rows.place,
                  .message = fmt::format("race between a {} and a {}: no stream or event orders "
                                         "the two",
                                         access.what, other->what),
                  .address = access.rows.to,
                  .other = other->rows.place,
                  .other_message = fmt::format("the other: {}", other->what),
                  .between_operations = true,
                  .allocation = memory_.Find(access.rows.to)});
    }
  }
  RepeatBeside(access);
  const bool kernels = std::any_of(launches_.begin(), launches_.end(), [&](const auto& launch) {
    return MayOverlap(operation, launch->operation);
  });
  if (kernels) {
    const auto look = [&](const Entry& entry, bool writes, uint64_t address) {
      if (entry.stamp <= stamp_base_) return;
      const Launch& launch = *launches_[stamps_[entry.stamp - 1 - stamp_base_].launch];
      if (!MayOverlap(operation, launch.operation)) return;
      ReportHost(access, PlaceOfEntry(entry), writes ? "write" : "read", address);
    };
    access.rows.ForEachRow([&](uint64_t row, uint64_t) {
      for (uint64_t at = row; at < row + access.rows.width;) {
        const uint64_t page_end = (at / kPageBytes + 1) * kPageBytes;
        const uint64_t end = std::min(row + access.rows.width, page_end);
        if (const Page* page = global_.Find(at)) {
          for (; at < end; at += uint64_t{1} << page->shift) {
            const Cell& cell = page->cells[(at % kPageBytes) >> page->shift];
            look(cell.write, true, at);
            look(cell.other_write, true, at);
            if (!access.writes) continue;
            look(cell.read, false, at);
            look(cell.other_read, false, at);
          }
        }
        at = end;
      }
    });
  }
  if (!operations_.IsSettled(operation)) {
    // A program that never waits for its copies: the oldest are the least likely to overlap.
    if (host_.size() >= kMostHostAccesses) host_.erase(host_.begin());
    host_.push_back(std::make_shared<const HostAccess>(std::move(access)));
  }
}

void RaceChecker::CheckHost(const Actor& actor, uint64_t address, uint32_t bytes, bool writes) {
  if (repeating_) return;
  for (const auto& access : launch_->host) {
    if (!(writes || access->writes) || !access->Touches(address, bytes)) continue;
    ReportHost(*access,
               PlaceOf(launch_->kernel, actor.warp, *actor.access.instruction,
                       static_cast<int>(actor.lane)),
               writes ? "write" : "read", address);
  }
}

void RaceChecker::ReportHost(const HostAccess& access, Place kernel, const char* what,
                             uint64_t address) {
  sink().Add({.kind = FindingKind::kRace,
              .severity = DefaultSeverity(FindingKind::kRace),
              .space = Space::kGlobal,
              .place = std::move(kernel),
              .message = fmt::format("race between a {} of a kernel and a {}: no stream or event "
                                     "orders the two",
                                     what, access.what),
              .address = address,
              .other = access.rows.place,
              .other_message = fmt::format("the {}", access.what),
              .between_operations = true,
              .allocation = memory_.Find(address)});
}

}  // namespace kernelsmith::checkers
