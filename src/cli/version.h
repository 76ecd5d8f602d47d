#pragma once

namespace kernelsmith {

inline constexpr char kVersion[] = KS_VERSION;

}  // namespace kernelsmith
