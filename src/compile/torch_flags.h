// The one table of flags: how torch.utils.cpp_extension (load, load_inline) compiles a `.cu` on
// Linux, from PyTorch's torch/utils/cpp_extension.py: COMMON_NVCC_FLAGS and
// _write_ninja_file_to_build_library. Candidates are compiled with exactly these, so that none can
// tell by a macro whether it is judged or used. What we add has no macro: -lineinfo, -g1.
#pragma once

#include <array>

namespace kernelsmith {

// PyTorch 2.10 and later (C++20); it was C++17 before.
inline constexpr const char* kTorchStandard = "-std=c++20";

// `name` of load(name, ...) is the user's choice; every candidate has to get along with any.
inline constexpr const char* kTorchExtensionName = "candidate";

// For every source of an extension.
inline constexpr std::array kTorchDefines = {
    "-DTORCH_EXTENSION_NAME=candidate",
    "-DTORCH_API_INCLUDE_EXTENSION_H",
};

// For `.cu` alone (COMMON_NVCC_FLAGS).
inline constexpr std::array kTorchCudaDefines = {
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
};
inline constexpr std::array kTorchNvccFlags = {"--expt-relaxed-constexpr"};

// Behind --compiler-options.
inline constexpr const char* kTorchHostFlags = "-fPIC";

}  // namespace kernelsmith
