#include "verify/kernel_coverage.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/demangle.h"

namespace kernelsmith {
namespace {

// Beyond it a launch must ask for dynamic shared memory by an attribute of the kernel.
constexpr uint32_t kUsualShared = 48 << 10;

bool Takes(const vgpu::CoverageRecord& record, size_t item, const vgpu::CoverageRecord* known) {
  return record.Covers(item) && (known == nullptr || !known->Covers(item));
}

}  // namespace

Result<vgpu::LaunchResult> KernelCoverage::Launch(vgpu::VirtualGpu& gpu,
                                                  vgpu::LaunchRequest request) {
  KS_TRY(const vgpu::Kernel* kernel, request.module->Prepare(request.entry));
  const std::string name(request.entry);
  if (!items_.contains(name)) items_[name] = vgpu::CoverageItems(*kernel);
  const Kind kind{.kernel = name,
                  .threads = request.block.Count(),
                  .cluster = request.cluster.Count(),
                  .cooperative = request.cooperative,
                  .much_shared = request.dynamic_shared_bytes > kUsualShared};
  request.coverage = &records_[kind];
  return gpu.Launch(request);
}

Watch KernelCoverage::Recording() {
  Watch watch;
  watch.launch = [this](vgpu::VirtualGpu& gpu, const vgpu::LaunchRequest& request) {
    return Launch(gpu, request);
  };
  return watch;
}

void KernelCoverage::Merge(const KernelCoverage& other) {
  for (const auto& [kind, record] : other.records_) records_[kind].Merge(record);
  items_.insert(other.items_.begin(), other.items_.end());
}

size_t KernelCoverage::CountCovered() const {
  size_t count = 0;
  for (const auto& [kind, record] : records_) count += record.CountCovered();
  return count;
}

size_t KernelCoverage::CountBeyond(const KernelCoverage& known) const {
  size_t count = 0;
  for (const auto& [kind, record] : records_) {
    const auto other = known.records_.find(kind);
    const auto* same = other == known.records_.end() ? nullptr : &other->second;
    for (size_t i = 0; i < record.items(); ++i) count += Takes(record, i, same) ? 1 : 0;
  }
  return count;
}

std::vector<std::string> KernelCoverage::Beyond(const KernelCoverage& known, size_t most) const {
  std::vector<std::string> words;
  const auto add = [&](std::string text) {
    if (words.size() < most && std::find(words.begin(), words.end(), text) == words.end()) {
      words.push_back(std::move(text));
    }
  };
  for (const auto& [kind, record] : records_) {
    const auto other = known.records_.find(kind);
    if (other == known.records_.end()) {
      add(fmt::format("kernel {} in blocks of {} threads", KernelName(kind.kernel), kind.threads));
      continue;
    }
    for (const vgpu::CoverageItem& item : items_.at(kind.kernel)) {
      if (Takes(record, item.number, &other->second)) add(item.words);
    }
  }
  return words;
}

}  // namespace kernelsmith
