// Content hashes: the keys of caches, and the names of sources in archives.
#pragma once

#include <string>
#include <string_view>

namespace kernelsmith {

// SHA-256 in hexadecimal.
std::string Sha256(std::string_view data);

}  // namespace kernelsmith
