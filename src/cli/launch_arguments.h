// The --arg values of `kernelsmith launch`: kernel parameters written on a command line.
//
//   u32=5  f32=1.5  f32=0x3fc00000       a scalar; hexadecimal for a float is its bits
//   bytes=00112233                       a parameter passed by value, byte by byte
//   out:f32[64]                          a buffer of zeros
//   in:s32[32]=iota                      0, 1, 2 ...; =iota:S starts at S
//   in:s32[32]=fill:7                    all the same
//   in:f32[32]=random:SEED               floats in [-1, 1), integers of all bits
//   in:s32[4]=1,2,3                      the rest is zero
//   &in  &in+16                          a pointer into an earlier buffer, in bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kernelsmith {

enum class ElementKind { kSigned, kUnsigned, kFloat, kHalf, kBrainHalf };

struct ElementType {
  std::string_view name;
  uint32_t bytes;
  ElementKind kind;
};

struct LaunchArgument {
  enum class Kind { kScalar, kBuffer, kPointer };
  Kind kind = Kind::kScalar;
  std::string name;  // buffer: its own, pointer: the buffer it points into
  const ElementType* type = nullptr;
  std::vector<std::byte> data;  // the scalar, or the buffer's first contents
  bool initialised = false;     // buffer: contents were given
  int64_t offset = 0;           // pointer
};

// Buffers above this size are refused: a typing error should not fill the memory.
inline constexpr uint64_t kMaxLaunchBuffer = uint64_t{4} << 30;

Result<LaunchArgument> ParseLaunchArgument(std::string_view text);

// One element as text: shortest decimal that reads back the same, or its bits in hexadecimal.
std::string FormatElement(const ElementType& type, const std::byte* element, bool hex);

}  // namespace kernelsmith
