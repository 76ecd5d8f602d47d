#include "archive/schema.h"

#include <fmt/format.h>

namespace kernelsmith {

extern const char kArchiveSchema[];  // schema.sql

std::vector<std::string_view> SchemaSections() {
  constexpr std::string_view kMark = "\n-- version ";
  const std::string_view text = kArchiveSchema;
  std::vector<std::string_view> sections;
  size_t begin = text.find(kMark);
  while (begin != std::string_view::npos) {
    const size_t end = text.find(kMark, begin + 1);
    sections.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    begin = end;
  }
  return sections;
}

namespace {

struct State {
  int64_t application = 0;
  size_t version = 0;
  bool empty = false;
};

Result<State> Look(const Database& database) {
  State state;
  KS_TRY(const std::string application, database.Ask("PRAGMA application_id"));
  KS_TRY(const std::string version, database.Ask("PRAGMA user_version"));
  KS_TRY(const std::string objects, database.Ask("SELECT count(*) FROM sqlite_schema"));
  state.application = std::stoll(application);
  const int64_t number = std::stoll(version);
  state.version = number < 0 ? SIZE_MAX : static_cast<size_t>(number);
  state.empty = objects == "0";
  return state;
}

}  // namespace

Status Migrate(Database& database, const std::string& name, bool read_only, size_t version) {
  const auto check = [&](const State& state) -> Status {
    const bool fresh = state.application == 0 && state.version == 0 && state.empty;
    if (!fresh && state.application != kArchiveApplicationId) {
      return InvalidInput(fmt::format("{} is a database of another program, no archive", name));
    }
    if (state.version > version) {
      return InvalidInput(
          fmt::format("archive {} is of a newer kernelsmith (version {} of its tables, this one "
                      "knows {}): use that one or another archive",
                      name, state.version, version));
    }
    return {};
  };
  KS_TRY(State state, Look(database));
  KS_RETURN_IF_ERROR(check(state));
  if (state.version == version) return {};
  if (read_only) {
    return InvalidInput(fmt::format(
        "archive {} is of an older kernelsmith and can't be brought up to date: it is read-only",
        name));
  }
  KS_TRY(const std::unique_ptr<Transaction> transaction, Transaction::Begin(database));
  // Another process may have done it while we waited.
  KS_TRY(state, Look(database));
  KS_RETURN_IF_ERROR(check(state));
  const std::vector<std::string_view> sections = SchemaSections();
  for (size_t next = state.version; next < version; ++next) {
    KS_RETURN_IF_ERROR(database.Execute(std::string(sections[next])));
  }
  KS_RETURN_IF_ERROR(database.Execute(fmt::format(
      "PRAGMA application_id = {}; PRAGMA user_version = {}", kArchiveApplicationId, version)));
  return transaction->Commit();
}

}  // namespace kernelsmith
