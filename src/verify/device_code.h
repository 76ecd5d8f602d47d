// What a candidate's device code uses, read from its PTX.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kernelsmith {

struct DeviceCode {
  // Kinds of arithmetic: "float32", "float16", "tf32 mma", "float32 approximate" ...
  std::vector<std::string> precision;
  // Special registers by which a kernel could tell a test from use: %clock64, %smid ...
  std::vector<std::string> environment;
  // Wishes for data to stay in L2 beyond its use: L2::evict_last.
  std::vector<std::string> cache_policy;
};

// Of the kernels in `entries` (names in the PTX) and all functions that kernels may call. An error:
// it is no PTX that we know.
Result<DeviceCode> ReadDeviceCode(std::string_view ptx, const std::vector<std::string>& entries);

}  // namespace kernelsmith
