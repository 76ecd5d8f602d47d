#include "archive/database.h"

#include <fmt/format.h>

#include <cstring>

namespace kernelsmith {

void Statement::Note(int code) {
  if (failed_ == SQLITE_OK) failed_ = code;
}

void Statement::BindOne(std::string_view value) {
  // A null pointer would bind NULL.
  const char* text = value.data() != nullptr ? value.data() : "";
  Note(sqlite3_bind_text64(handle_.get(), ++parameter_, text, value.size(), SQLITE_TRANSIENT,
                           SQLITE_UTF8));
}
void Statement::BindOne(int64_t value) {
  Note(sqlite3_bind_int64(handle_.get(), ++parameter_, value));
}
void Statement::BindOne(double value) {
  Note(sqlite3_bind_double(handle_.get(), ++parameter_, value));
}
void Statement::BindOne(const std::optional<double>& value) {
  if (value) return BindOne(*value);
  Note(sqlite3_bind_null(handle_.get(), ++parameter_));
}
void Statement::BindOne(const std::optional<int64_t>& value) {
  if (value) return BindOne(*value);
  Note(sqlite3_bind_null(handle_.get(), ++parameter_));
}

Result<bool> Statement::Step() {
  if (failed_ != SQLITE_OK) return database_->Explain(failed_);
  const int code = sqlite3_step(handle_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    Error error = database_->Explain(code);
    sqlite3_reset(handle_.get());
    return error;
  }
  sqlite3_reset(handle_.get());
  parameter_ = 0;
  return false;
}

Status Statement::Run() {
  KS_TRY(bool row, Step());
  while (row) {
    KS_TRY(row, Step());
  }
  return {};
}

std::string Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_.get(), column);
  if (text == nullptr) return "";
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column))};
}

Result<std::unique_ptr<Database>> Database::Open(const std::filesystem::path& path, bool read_only,
                                                 bool immutable,
                                                 std::chrono::milliseconds patience) {
  std::unique_ptr<Database> database(new Database(path, patience));
  // A URI, for `immutable`: what means something in one is escaped.
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02X}", c);
    } else {
      uri += c;
    }
  }
  if (immutable) uri += "?immutable=1";
  const int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX |
                    (read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &handle, flags, nullptr);
  database->handle_.reset(handle);
  if (code != SQLITE_OK) return database->Explain(code);
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, static_cast<int>(patience.count()));
  return database;
}

Status Database::Execute(const std::string& sql) {
  const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return Explain(code);
  return {};
}

Result<Statement> Database::Prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return Explain(code);
  return Statement(*this, statement);
}

Result<std::string> Database::Ask(std::string_view sql) const {
  KS_TRY(Statement statement, Prepare(sql));
  KS_TRY(const bool row, statement.Step());
  return row ? statement.Text(0) : std::string();
}

Error Database::Explain(int code) const {
  const std::string name = path_.string();
  const char* detail = handle_ != nullptr ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return TimedOut(fmt::format("archive {} is locked by another process (waited {:.1f} s)", name,
                                  static_cast<double>(patience_.count()) / 1000));
    case SQLITE_FULL:
      return InternalError(
          fmt::format("can't write archive {}: no space left; what was committed is safe", name));
    case SQLITE_NOTADB:
      return InvalidInput(fmt::format("{} is no archive: not a SQLite database", name));
    case SQLITE_CORRUPT:
      return InvalidInput(fmt::format("archive {} is damaged: {}", name, detail));
    case SQLITE_READONLY:
      return InvalidInput(
          fmt::format("can't write archive {}: it or its folder is read-only", name));
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH: {
      const int reason = handle_ != nullptr ? sqlite3_system_errno(handle_.get()) : 0;
      return InvalidInput(fmt::format("can't open archive {}: {}", name,
                                      reason != 0 ? std::strerror(reason) : detail));
    }
    case SQLITE_IOERR:
    case SQLITE_NOMEM:
      return InternalError(fmt::format("archive {}: {}", name, detail));
    default:
      return InternalError(fmt::format("archive {}: {} (SQLite code {})", name, detail, code));
  }
}

Result<std::unique_ptr<Transaction>> Transaction::Begin(Database& database) {
  KS_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  return std::unique_ptr<Transaction>(new Transaction(database));
}

Transaction::~Transaction() {
  // After some errors (a full disk) SQLite has rolled back by itself; then this one fails, rightly.
  if (open_) (void)database_.Execute("ROLLBACK");
}

Status Transaction::Commit() {
  KS_RETURN_IF_ERROR(database_.Execute("COMMIT"));
  open_ = false;
  return {};
}

}  // namespace kernelsmith
