// How many registers a thread holds of each matrix of mma, wmma, ldmatrix and stmatrix.
#pragma once

#include <optional>

#include "ptx/syntax.h"

namespace kernelsmith::ptx {

// The number of registers, and their size in bits, of one operand.
struct Fragment {
  int registers = 0;
  int bits = 32;
};

// The fragment of operand `index`; nothing if the operand is no matrix, or the table leaves it
// open.
std::optional<Fragment> FragmentOf(const Mnemonic& mnemonic, size_t index);

}  // namespace kernelsmith::ptx
