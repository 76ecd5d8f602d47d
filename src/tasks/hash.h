// Content hashes for the cache's keys.
#pragma once

#include <string>
#include <string_view>

namespace kernelsmith {

// SHA-256 in hexadecimal.
std::string Sha256(std::string_view data);

}  // namespace kernelsmith
