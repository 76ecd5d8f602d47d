// The math functions of CUDA's libdevice, for modules that call them without defining them: PTX
// compiled with visible math (CandidateCompiler::CompileVisibleMath). Op::kMathCall runs them.
//
// Here are those whose inlined code is polynomials and bit tricks. libdevice's others (fmaxf,
// sqrtf, conversions) are one or two instructions each, which a compiler may inline as ever.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace kernelsmith::vgpu::math {

struct LibdeviceFunction {
  std::string_view name;  // "__nv_fast_expf"
  std::string_view base;  // "exp": what it computes, whatever its precision
  // Types, one letter each: f float, d double, i 32-bit and l 64-bit integer.
  std::string_view arguments;
  std::string_view results;  // at most two
  // The first result is the return value; further ones go through pointers, which are the last
  // parameters. sincos has pointers alone.
  bool returns_value = true;
  // Values as bits, zero-extended. Floats are computed in double and rounded once.
  void (*evaluate)(const uint64_t* arguments, uint64_t* results) = nullptr;
};

// Sorted by name. Op::kMathCall has an index of it in Instruction::target.
std::span<const LibdeviceFunction> LibdeviceFunctions();
// Null: not one of them.
const LibdeviceFunction* FindLibdeviceFunction(std::string_view name);

}  // namespace kernelsmith::vgpu::math
