#include "support/progress.h"

#include <fmt/format.h>

#include <algorithm>

namespace kernelsmith {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kRedraw{100};  // faster than this only flickers
constexpr seconds kLineEvery{10};     // a log should stay readable

double Seconds(Clock::Duration time) { return duration<double>(time).count(); }

}  // namespace

BarProgress::BarProgress(std::ostream& out, const Clock& clock, int columns)
    : out_(out), clock_(clock), columns_(std::max(columns, 20)) {}

void BarProgress::Begin(std::string_view what, uint64_t total) {
  what_ = what;
  note_.clear();
  total_ = total;
  done_ = 0;
  began_ = clock_.Now();
  Draw();
}

void BarProgress::Update(uint64_t done, std::string_view note) {
  done_ = done;
  note_ = note;
  if (clock_.Now() - drawn_ >= kRedraw || (total_ != 0 && done == total_)) Draw();
}

void BarProgress::End() {
  // The bar goes away; what there is to say stands in the command's own output.
  out_ << '\r' << std::string(columns_ - 1, ' ') << '\r' << std::flush;
}

void BarProgress::Draw() {
  drawn_ = clock_.Now();
  const double elapsed = Seconds(drawn_ - began_);
  std::string tail = total_ != 0 ? fmt::format(" {}/{} {:.0f}s", done_, total_, elapsed)
                                 : fmt::format(" {} {:.0f}s", done_, elapsed);
  if (!note_.empty()) tail += " " + note_;
  constexpr int kBar = 24;
  std::string line = what_ + " ";
  if (total_ != 0) {
    const int full = static_cast<int>(kBar * std::min(done_, total_) / total_);
    line += "[" + std::string(full, '=') + std::string(kBar - full, ' ') + "]";
  }
  line += tail;
  line.resize(columns_ - 1, ' ');
  out_ << '\r' << line << std::flush;
}

LineProgress::LineProgress(std::ostream& out, const Clock& clock) : out_(out), clock_(clock) {}

void LineProgress::Begin(std::string_view what, uint64_t total) {
  what_ = what;
  total_ = total;
  done_ = 0;
  began_ = said_ = clock_.Now();
  out_ << (total != 0 ? fmt::format("{}: 0/{}\n", what_, total) : fmt::format("{}\n", what_))
       << std::flush;
}

void LineProgress::Update(uint64_t done, std::string_view note) {
  done_ = done;
  if (clock_.Now() - said_ < kLineEvery) return;
  said_ = clock_.Now();
  out_ << fmt::format("{}: {}", what_, done);
  if (total_ != 0) out_ << fmt::format("/{}", total_);
  out_ << fmt::format(", {:.0f} s", Seconds(said_ - began_));
  if (!note.empty()) out_ << ", " << note;
  out_ << '\n' << std::flush;
}

void LineProgress::End() {
  out_ << fmt::format("{}: {} done in {:.1f} s\n", what_, done_, Seconds(clock_.Now() - began_))
       << std::flush;
}

}  // namespace kernelsmith
