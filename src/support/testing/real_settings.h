// Settings for tests and benchmarks that use real tools: those of the environment they run in.
#pragma once

#include "support/check.h"
#include "support/settings.h"

namespace kernelsmith {

inline Settings RealSettings() {
  Status problems;
  Settings settings = SettingsFromEnvironment(problems);
  KS_CHECK(problems.ok(), problems.error().message());
  return settings;
}

}  // namespace kernelsmith
