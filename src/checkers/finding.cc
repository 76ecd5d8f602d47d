#include "checkers/finding.h"

#include <algorithm>

#include "support/check.h"

namespace kernelsmith::checkers {

const char* NameOf(Severity severity) {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  KS_UNREACHABLE();
}

const char* NameOf(Space space) {
  switch (space) {
    case Space::kNone:
      return "";
    case Space::kGlobal:
      return "global";
    case Space::kShared:
      return "shared";
    case Space::kLocal:
      return "local";
    case Space::kConstant:
      return "constant";
    case Space::kParam:
      return "param";
  }
  KS_UNREACHABLE();
}

Place PlaceOf(const std::string& kernel, const vgpu::WarpView& warp,
              const vgpu::Instruction& instruction, int lane) {
  return {.kernel = kernel,
          .source = vgpu::SourceLocationOf(warp.function(), instruction),
          .ptx = vgpu::PtxLocationOf(warp.function(), instruction),
          .instruction = vgpu::TextOf(warp.function(), instruction),
          .block = warp.block_index(),
          .thread = warp.thread_index(lane)};
}

namespace {

// The line a person would look at; in host code, whose lines are not known yet, the call.
SourceLocation LineOf(const Place& place) {
  if (!place.source.file.empty()) return place.source;
  if (place.kernel.empty() && !place.frames.empty()) {
    return {.file = place.frames[0].module, .line = static_cast<int>(place.frames[0].offset)};
  }
  return place.ptx;
}

}  // namespace

size_t FindingSink::Add(Finding finding) {
  const SourceLocation line = LineOf(finding.place);
  const SourceLocation other = finding.other ? LineOf(*finding.other) : SourceLocation{};
  Key key{finding.kind, finding.space, finding.place.kernel, line.file, line.line,
          other.file,   other.line};
  const std::lock_guard lock(mutex_);
  const auto [it, added] = index_.emplace(std::move(key), findings_.size());
  if (added) {
    findings_.push_back(std::move(finding));
    if (listener_) listener_(findings_.back());
    return it->second;
  }
  Finding& known = findings_[it->second];
  known.count += finding.count;
  // A consequence that shows up later makes a warning an error.
  if (static_cast<int>(finding.severity) > static_cast<int>(known.severity)) {
    const uint64_t count = known.count;
    known = std::move(finding);
    known.count = count;
  }
  return it->second;
}

void FindingSink::Count(size_t number, uint64_t times) {
  const std::lock_guard lock(mutex_);
  findings_[number].count += times;
}

void FindingSink::SetListener(std::function<void(const Finding&)> listener) {
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
}

std::vector<Finding> FindingSink::Findings() const {
  const std::lock_guard lock(mutex_);
  return findings_;
}

uint64_t FindingSink::size() const {
  const std::lock_guard lock(mutex_);
  return findings_.size();
}

bool FindingSink::HasErrors() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(findings_.begin(), findings_.end(),
                     [](const Finding& f) { return f.severity == Severity::kError; });
}

}  // namespace kernelsmith::checkers
