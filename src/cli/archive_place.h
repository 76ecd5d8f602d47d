// Where the archive is, for all commands that have one.
#pragma once

#include <string>

#include "cli/session.h"

namespace kernelsmith {

// `option` (--archive) if it is not empty, otherwise archive.db among the user's data.
std::string ArchivePlace(const Session& session, const std::string& option);

}  // namespace kernelsmith
