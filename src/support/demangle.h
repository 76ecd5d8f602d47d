// Symbols as people write them.
#pragma once

#include <string>

namespace kernelsmith {

// The whole declaration, "void scale<4>(float*)"; the symbol itself if it is not mangled.
std::string Demangle(const std::string& symbol);

// A kernel as its launch names it, "scale<4>": without the return type, the parameters and
// anonymous namespaces, which only repeat what the source says. Template arguments stay, because
// they tell instances of one template apart.
std::string KernelName(const std::string& symbol);

}  // namespace kernelsmith
