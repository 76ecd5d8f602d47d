// Progress of long work: a bar on a terminal, plain lines elsewhere, nothing with --quiet.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "support/clock.h"

namespace kernelsmith {

class Progress {
 public:
  virtual ~Progress() = default;
  // A new piece of work with `total` steps (0: unknown) begins.
  virtual void Begin(std::string_view what, uint64_t total) = 0;
  // `done` steps are done; `note` is a short word on the state, e.g. "best 1.31x".
  virtual void Update(uint64_t done, std::string_view note = {}) = 0;
  virtual void End() = 0;
};

class SilentProgress : public Progress {
 public:
  void Begin(std::string_view, uint64_t) override {}
  void Update(uint64_t, std::string_view) override {}
  void End() override {}
};

// One line that is drawn anew, ten times a second at most.
class BarProgress : public Progress {
 public:
  BarProgress(std::ostream& out, const Clock& clock, int columns = 80);
  void Begin(std::string_view what, uint64_t total) override;
  void Update(uint64_t done, std::string_view note) override;
  void End() override;

 private:
  void Draw();

  std::ostream& out_;
  const Clock& clock_;
  int columns_;
  std::string what_;
  std::string note_;
  uint64_t total_ = 0;
  uint64_t done_ = 0;
  Clock::Duration began_{0};
  Clock::Duration drawn_{0};
};

// For logs: a line when work begins and ends, and one every ten seconds between.
class LineProgress : public Progress {
 public:
  LineProgress(std::ostream& out, const Clock& clock);
  void Begin(std::string_view what, uint64_t total) override;
  void Update(uint64_t done, std::string_view note) override;
  void End() override;

 private:
  std::ostream& out_;
  const Clock& clock_;
  std::string what_;
  uint64_t total_ = 0;
  uint64_t done_ = 0;
  Clock::Duration began_{0};
  Clock::Duration said_{0};
};

}  // namespace kernelsmith
