#include "checkers/host.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace kernelsmith::checkers {

namespace {

using vgpu::Allocation;

class HostChecker final : public Checker {
 public:
  HostChecker(FindingSink& sink, HostChecks checks) : Checker(sink), checks_(checks) {}

  uint32_t interests() const override { return 0; }
  std::optional<vgpu::ScreenChecks> ScreenedChecks() const override { return vgpu::ScreenChecks{}; }

  void OnAllocate(const Allocation& allocation, const Place& where) override {
    live_[allocation.address] = {allocation, where};
    freed_.erase(allocation.address);
  }

  void OnFree(const Allocation& allocation, uint64_t, const Place& where) override {
    live_.erase(allocation.address);
    freed_[allocation.address] = {allocation, where};
  }

  void OnBadFree(uint64_t address, const Place& where) override {
    if (!checks_.memory) return;
    const auto it = freed_.find(address);
    if (it == freed_.end()) return;  // the API error says it
    const auto& [allocation, first] = it->second;
    if (!where.frames.empty()) double_frees_.insert(where.frames[0].offset);
    sink().Add({.kind = FindingKind::kDoubleFree,
                .space = Space::kGlobal,
                .place = where,
                .message = fmt::format("0x{:x}, an allocation of {} bytes, is freed a second time",
                                       address, allocation.size),
                .address = address,
                .other = first,
                .other_message = "freed first",
                .allocation = allocation});
  }

  void OnApiError(const ApiError& error) override {
    if (!checks_.errors || !error.ignored) return;
    // Said already, and better.
    if (error.call.starts_with("cudaFree") && !error.place.frames.empty() &&
        double_frees_.contains(error.place.frames[0].offset)) {
      return;
    }
    std::string message = fmt::format("{} returned {}", error.call, error.name);
    if (!error.detail.empty()) message += " (" + error.detail + ")";
    message += ", which the program does not look at";
    sink().Add({.kind = error.launch ? FindingKind::kLaunchError : FindingKind::kApiError,
                .place = error.place,
                .message = std::move(message)});
  }

  void OnLaunchEnd(const vgpu::Fault* fault) override {
    if (fault == nullptr) return;
    broken_ = true;
    if (!checks_.errors) return;
    switch (fault->kind) {
      case vgpu::FaultKind::kDeadlock:
      case vgpu::FaultKind::kNoProgress:
        return;  // the synchronisation checker's
      default:
        break;
    }
    const bool assertion = fault->kind == vgpu::FaultKind::kAssert;
    sink().Add(
        {.kind = FindingKind::kLaunchError,
         .place = {.kernel = fault->kernel,
                   .source = fault->source,
                   .ptx = fault->ptx,
                   .instruction = fault->instruction,
                   .block = fault->block,
                   .thread = fault->thread},
         .message = fmt::format("the kernel ended early: {}",
                                assertion ? fault->message : vgpu::FaultKindName(fault->kind)),
         .address = fault->address});
  }

  void Finish() override {
    // After a kernel that went wrong no call works any more, and the process gives all back.
    if (!checks_.leaks || broken_) return;
    for (const auto& [address, made] : live_) {
      sink().Add({.kind = FindingKind::kLeak,
                  .severity = Severity::kWarning,
                  .space = Space::kGlobal,
                  .place = made.second,
                  .message = fmt::format("{} bytes from {} are never freed", made.first.size,
                                         made.first.where),
                  .address = address});
    }
  }

 private:
  HostChecks checks_;
  bool broken_ = false;              // a kernel ended early
  std::set<uint64_t> double_frees_;  // return addresses
  std::map<uint64_t, std::pair<Allocation, Place>> live_;
  std::map<uint64_t, std::pair<Allocation, Place>> freed_;
};

}  // namespace

std::unique_ptr<Checker> MakeHostChecker(FindingSink& sink, HostChecks checks) {
  return std::make_unique<HostChecker>(sink, checks);
}

}  // namespace kernelsmith::checkers
