// The search for a certificate that polynomials can't all be natural at once. Private to the
// prover.
#pragma once

#include <cstdint>
#include <vector>

#include "sizes/prover.h"

namespace kernelsmith::sizes {

// Whether positive multiples of the columns, and of natural monomials, add up to a negative
// constant. Adds what it cost to `work`.
bool HasCertificate(const SymbolTable& symbols, const std::vector<Polynomial>& columns,
                    uint64_t& work);

}  // namespace kernelsmith::sizes
