#pragma once

#include <string>
#include <vector>

#include "support/progress.h"

namespace kernelsmith {

// Remembers what it was told.
class FakeProgress : public Progress {
 public:
  struct Step {
    uint64_t done;
    std::string note;
  };
  std::string what;
  uint64_t total = 0;
  std::vector<Step> steps;
  bool ended = false;

  void Begin(std::string_view name, uint64_t count) override {
    what = name;
    total = count;
  }
  void Update(uint64_t done, std::string_view note) override {
    steps.push_back({done, std::string(note)});
  }
  void End() override { ended = true; }
};

}  // namespace kernelsmith
