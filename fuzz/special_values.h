// Numbers that random kernels compute with more often than chance would have it.
#pragma once

#include <cstdint>

namespace kernelsmith::fuzz {

// Floats at which something happens, as bits.
inline constexpr uint32_t kFloats[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                                       0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x00000001,
                                       0x807fffff, 0x00800000, 0x7f7fffff, 0x4b000000, 0x4f000000,
                                       0xcf000000, 0x3f000000, 0x5f000000, 0x7e900000, 0x40490fdb};
inline constexpr uint64_t kDoubles[] = {0,
                                        0x8000000000000000,
                                        0x3ff0000000000000,
                                        0xbff8000000000000,
                                        0x7ff0000000000000,
                                        0x7ff8000000000001,
                                        0xfff0000000000001,
                                        0x0000000000000001,
                                        0x41dfffffffc00000,
                                        0x36a0000000000001,
                                        0x7fefffffffffffff};
inline constexpr int64_t kIntegers[] = {
    0,  1,   2,   3,  4,  5,  7,   8,   15,    16,         31,          32,         33, 63,
    64, 255, 256, -1, -2, -4, -31, -32, 65535, 2147483647, -2147483648, 0x55555555, 100};

}  // namespace kernelsmith::fuzz
