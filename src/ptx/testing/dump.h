// The whole tree as text, every field but positions, written apart from the printer: what
// round-trip tests compare.
#pragma once

#include <string>

#include "ptx/syntax.h"

namespace kernelsmith::ptx {

std::string Dump(const Module& module);

}  // namespace kernelsmith::ptx
