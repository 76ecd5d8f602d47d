// Where the archive is, for all commands that have one.
#pragma once

#include <string>

namespace kernelsmith {

// `option` (--archive) if it is not empty, otherwise $XDG_DATA_HOME/kernelsmith/archive.db or its usual place under $HOME.
std::string ArchivePlace(const std::string& option);

}  // namespace kernelsmith
