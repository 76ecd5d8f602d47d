// SQLite with our errors: what every statement of the archive goes through. Inside src/archive
// only.
#pragma once

#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/result.h"

namespace kernelsmith {

class Database;

// A prepared statement; bind its parameters in order, then step. The first error of binding or
// stepping is kept.
class Statement {
 public:
  // std::string_view, int64_t, double, std::optional<double>, std::optional<int64_t>
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    (BindOne(values), ...);
    return *this;
  }
  // True: there is a row. After false or an error the statement is reset.
  Result<bool> Step();
  // For statements without rows.
  Status Run();

  std::string Text(int column) const;
  int64_t Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  double Real(int column) const { return sqlite3_column_double(handle_.get(), column); }
  bool Null(int column) const { return sqlite3_column_type(handle_.get(), column) == SQLITE_NULL; }

 private:
  friend class Database;
  Statement(const Database& database, sqlite3_stmt* handle)
      : database_(&database), handle_(handle, &sqlite3_finalize) {}
  void BindOne(std::string_view value);
  void BindOne(const std::string& value) { BindOne(std::string_view(value)); }
  void BindOne(int64_t value);
  void BindOne(double value);
  void BindOne(const std::optional<double>& value);
  void BindOne(const std::optional<int64_t>& value);
  void Note(int code);

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> handle_;
  int parameter_ = 0;
  int failed_ = SQLITE_OK;
};

class Database {
 public:
  // `immutable`: nobody writes it, so that no lock files are needed beside it.
  static Result<std::unique_ptr<Database>> Open(const std::filesystem::path& path, bool read_only,
                                                bool immutable, std::chrono::milliseconds patience);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // One or several statements without parameters.
  Status Execute(const std::string& sql);
  Result<Statement> Prepare(std::string_view sql) const;
  // The first column of the first row.
  Result<std::string> Ask(std::string_view sql) const;
  int64_t LastRowId() const { return sqlite3_last_insert_rowid(handle_.get()); }

  // What went wrong, for a person: locked, full, no database ...
  Error Explain(int code) const;

 private:
  Database(std::filesystem::path path, std::chrono::milliseconds patience)
      : path_(std::move(path)), patience_(patience), handle_(nullptr, &sqlite3_close_v2) {}

  std::filesystem::path path_;
  std::chrono::milliseconds patience_;
  std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)> handle_;
};

// Begins a transaction that will write (so that it waits for its turn here and not in the middle)
// and takes it back unless Commit() was called.
class Transaction {
 public:
  static Result<std::unique_ptr<Transaction>> Begin(Database& database);
  ~Transaction();
  Status Commit();

 private:
  explicit Transaction(Database& database) : database_(database) {}
  Database& database_;
  bool open_ = true;
};

}  // namespace kernelsmith
