// Brings an archive to this program's version of the schema. Inside src/archive only.
#pragma once

#include <string_view>
#include <vector>

#include "archive/database.h"

namespace kernelsmith {

// Marks a SQLite file as ours ("KSAR"), so that nobody's other database gets our tables.
inline constexpr int64_t kArchiveApplicationId = 0x4B534152;

// The sections of schema.sql in order: section i takes version i to i + 1.
std::vector<std::string_view> SchemaSections();

// Checks that the file is an archive (or empty) and not of a newer program, and runs the sections
// it lacks, up to `version`, all in one transaction. A read-only archive must be current already.
Status Migrate(Database& database, const std::string& name, bool read_only, size_t version);

}  // namespace kernelsmith
