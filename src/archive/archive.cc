#include "archive/archive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>

#include "archive/database.h"
#include "archive/schema.h"
#include "support/hash.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::array kVerdicts = {"verified",    "refuted",  "inconclusive",
                                  "unsupported", "rejected", "none"};

constexpr char kRunColumns[] =
    "id, task, direction, dtype, seed, options, budget, state, seconds, started_at, changed_at";

// Calls visit(name, field) for every column of `candidate` that is written when one is added. A new
// column is one line here, a section of schema.sql and a field of ArchivedCandidate.
template <typename Candidate, typename Visit>
void VisitColumns(Candidate& c, const Visit& visit) {
  visit("run", c.run);
  visit("number", c.number);
  visit("task", c.task);
  visit("direction", c.direction);
  visit("dtype", c.dtype);
  visit("generation", c.generation);
  visit("island", c.island);
  visit("proposer", c.proposer);
  visit("note", c.note);
  visit("genes", c.genes);
  visit("source", c.source);
  visit("source_sha256", c.source_sha256);
  visit("ptx_hash", c.ptx_hash);
  visit("verdict", c.verdict);
  visit("stage", c.stage);
  visit("reason", c.reason);
  visit("findings", c.findings);
  visit("counters", c.counters);
  visit("time_ns", c.time_ns);
  visit("time_kind", c.time_kind);
  visit("gpu", c.gpu);
  visit("limits", c.limits);
  visit("cell", c.cell);
  visit("prompt", c.prompt);
  visit("answer", c.answer);
  visit("tokens_in", c.tokens_in);
  visit("tokens_out", c.tokens_out);
  visit("dollars", c.dollars);
  visit("seconds", c.seconds);
}

std::vector<std::string> WrittenColumns() {
  std::vector<std::string> names;
  ArchivedCandidate any;
  VisitColumns(any, [&](const char* name, const auto&) { names.push_back(name); });
  return names;
}

// What ReadCandidate() reads, in its order.
std::string ReadColumns() {
  return fmt::format("candidate.id, created_at, {}", fmt::join(WrittenColumns(), ", "));
}

// Texts of candidates and models need not be UTF-8.
std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<json> Parse(const std::string& text, const char* column, int64_t id) {
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded()) {
    return InvalidInput(fmt::format("damaged archive: {} of entry {} is no JSON", column, id));
  }
  return value;
}

Result<ArchivedRun> ReadRun(const Statement& row) {
  ArchivedRun run;
  run.id = row.Integer(0);
  run.task = row.Text(1);
  run.direction = row.Text(2);
  run.dtype = row.Text(3);
  run.seed = std::strtoull(row.Text(4).c_str(), nullptr, 10);
  KS_TRY(run.options, Parse(row.Text(5), "options", run.id));
  KS_TRY(run.budget, Parse(row.Text(6), "budget", run.id));
  run.state = row.Text(7);
  run.seconds = row.Real(8);
  run.started_at = row.Text(9);
  run.changed_at = row.Text(10);
  return run;
}

// One column of a row into a field of its type.
Status ReadField(const Statement& row, int column, const char*, int64_t, std::string& field) {
  field = row.Text(column);
  return {};
}
Status ReadField(const Statement& row, int column, const char*, int64_t, int64_t& field) {
  field = row.Integer(column);
  return {};
}
Status ReadField(const Statement& row, int column, const char*, int64_t, double& field) {
  field = row.Real(column);
  return {};
}
Status ReadField(const Statement& row, int column, const char* name, int64_t id, json& field) {
  KS_TRY(field, Parse(row.Text(column), name, id));
  return {};
}
template <typename T>
Status ReadField(const Statement& row, int column, const char* name, int64_t id,
                 std::optional<T>& field) {
  if (row.Null(column)) return {};
  return ReadField(row, column, name, id, field.emplace());
}

Result<ArchivedCandidate> ReadCandidate(const Statement& row) {
  ArchivedCandidate candidate;
  candidate.id = row.Integer(0);
  candidate.created_at = row.Text(1);
  int column = 2;
  Status status;
  VisitColumns(candidate, [&](const char* name, auto& field) {
    if (status.ok()) status = ReadField(row, column++, name, candidate.id, field);
  });
  KS_RETURN_IF_ERROR(status);
  return candidate;
}

const char* OrderOf(ArchiveFilter::Order order) {
  switch (order) {
    case ArchiveFilter::Order::kBest:
      // Times of different kinds or for different GPUs are never compared with each other.
      return "task, direction, dtype, verdict != 'verified', time_kind IS NULL, time_kind, gpu, "
             "time_ns, candidate.id";
    case ArchiveFilter::Order::kNewest:
      return "candidate.id DESC";
    case ArchiveFilter::Order::kNumber:
      return "run, number, candidate.id";
  }
  return "candidate.id";
}

}  // namespace

Archive::Archive(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Archive::~Archive() = default;

Result<std::unique_ptr<Archive>> Archive::Open(const fs::path& path, Options options) {
  std::error_code failure;
  if (fs::is_directory(path, failure)) {
    return InvalidInput(fmt::format("can't open archive {}: it is a folder", path.string()));
  }
  bool immutable = false;
  const fs::path folder = fs::absolute(path).parent_path();
  if (options.read_only) {
    if (!fs::exists(path, failure)) {
      return InvalidInput(fmt::format("there is no archive {}", path.string()));
    }
    // Readers, too, leave lock files beside the archive. Where they can't, nobody else of our
    // rights writes it either, and with no log beside it the file alone is all of it.
    immutable = ::access(folder.c_str(), W_OK) != 0 && !fs::exists(path.string() + "-wal", failure);
  } else {
    fs::create_directories(folder, failure);
    if (failure) {
      return InvalidInput(fmt::format("can't make folder {} of the archive: {}", folder.string(),
                                      failure.message()));
    }
    // SQLite says only that it can't open it.
    if (!fs::exists(path, failure) && ::access(folder.c_str(), W_OK) != 0) {
      return InvalidInput(
          fmt::format("can't make archive {}: its folder is read-only for us", path.string()));
    }
  }
  KS_TRY(std::unique_ptr<Database> database,
         Database::Open(path, options.read_only, immutable, options.patience));
  // The file is looked at first: nothing is changed in one that is not ours.
  KS_RETURN_IF_ERROR(Migrate(*database, path.string(), options.read_only, SchemaSections().size()));
  if (!options.read_only) {
    // With WAL readers don't wait for the writer; with FULL a commit survives a power cut, for a
    // few ms beside a second or more of evaluation.
    KS_RETURN_IF_ERROR(database->Execute(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  }
  if (options.max_pages > 0) {
    KS_RETURN_IF_ERROR(
        database->Execute(fmt::format("PRAGMA max_page_count = {}", options.max_pages)));
  }
  return std::unique_ptr<Archive>(new Archive(std::move(database)));
}

Result<int64_t> Archive::AddRun(const ArchivedRun& run) {
  KS_TRY(Statement insert,
         database_->Prepare("INSERT INTO run (task, direction, dtype, seed, options, budget, "
                            "state, seconds) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.Bind(run.task, run.direction, run.dtype, std::to_string(run.seed), Dump(run.options),
              Dump(run.budget), run.state, run.seconds);
  KS_RETURN_IF_ERROR(insert.Run());
  return database_->LastRowId();
}

Status Archive::UpdateRun(int64_t id, const std::string& state, double seconds,
                          const json& budget) {
  KS_TRY(Statement update,
         database_->Prepare("UPDATE run SET state = ?, seconds = ?, budget = ?, changed_at = "
                            "strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = ?"));
  return update.Bind(state, seconds, Dump(budget), id).Run();
}

Result<ArchivedRun> Archive::GetRun(int64_t id) const {
  KS_TRY(Statement select,
         database_->Prepare(fmt::format("SELECT {} FROM run WHERE id = ?", kRunColumns)));
  KS_TRY(const bool found, select.Bind(id).Step());
  if (!found) return InvalidInput(fmt::format("the archive has no run {}", id));
  return ReadRun(select);
}

Result<std::vector<ArchivedRun>> Archive::Runs() const {
  KS_TRY(Statement select,
         database_->Prepare(fmt::format("SELECT {} FROM run ORDER BY id DESC", kRunColumns)));
  std::vector<ArchivedRun> runs;
  while (true) {
    KS_TRY(const bool row, select.Step());
    if (!row) return runs;
    KS_TRY(runs.emplace_back(), ReadRun(select));
  }
}

Result<int64_t> Archive::Insert(const ArchivedCandidate& candidate) {
  ArchivedCandidate c = candidate;
  c.source_sha256 = Sha256(c.source);
  if (std::find(kVerdicts.begin(), kVerdicts.end(), c.verdict) == kVerdicts.end()) {
    return InvalidInput(fmt::format("unknown verdict '{}' of a candidate", c.verdict));
  }
  if (c.time_ns.has_value() != (c.time_kind == "estimated" || c.time_kind == "measured")) {
    return InvalidInput("a candidate's time must say whether it is estimated or measured");
  }
  if (c.run && c.number) {
    KS_TRY(Statement select,
           database_->Prepare("SELECT id FROM candidate WHERE run = ? AND number = ?"));
    KS_TRY(const bool found, select.Bind(*c.run, *c.number).Step());
    if (found) {
      return InvalidInput(fmt::format(
          "run {} has its candidate {} already: is another process continuing the same run?",
          *c.run, *c.number));
    }
  }
  std::vector<const char*> values;
  VisitColumns(c, [&](std::string_view name, const auto&) {
    // Without a time its kind is NULL, as the schema demands.
    values.push_back(name == "time_kind" ? "nullif(?, '')" : "?");
  });
  KS_TRY(Statement insert, database_->Prepare(fmt::format("INSERT INTO candidate ({}) VALUES ({})",
                                                          fmt::join(WrittenColumns(), ", "),
                                                          fmt::join(values, ", "))));
  VisitColumns(c, [&]<typename Field>(const char*, const Field& field) {
    if constexpr (std::is_same_v<Field, json>) {
      insert.Bind(Dump(field));
    } else {
      insert.Bind(field);
    }
  });
  KS_RETURN_IF_ERROR(insert.Run());
  const int64_t id = database_->LastRowId();
  KS_TRY(Statement parent,
         database_->Prepare("INSERT INTO parent (candidate, position, parent) VALUES (?, ?, ?)"));
  for (size_t i = 0; i < c.parents.size(); ++i) {
    KS_RETURN_IF_ERROR(parent.Bind(id, static_cast<int64_t>(i), c.parents[i]).Run());
  }
  return id;
}

Result<ArchivedCandidate> Archive::Add(const ArchivedCandidate& candidate) {
  KS_TRY(std::vector<ArchivedCandidate> added, AddAll({&candidate, 1}));
  return std::move(added.front());
}

Result<std::vector<ArchivedCandidate>> Archive::AddAll(
    std::span<const ArchivedCandidate> candidates) {
  KS_TRY(const std::unique_ptr<Transaction> transaction, Transaction::Begin(*database_));
  std::vector<ArchivedCandidate> added;
  for (const ArchivedCandidate& candidate : candidates) {
    KS_TRY(const int64_t id, Insert(candidate));
    KS_TRY(added.emplace_back(), Get(id));
  }
  KS_RETURN_IF_ERROR(transaction->Commit());
  return added;
}

Result<std::vector<ArchivedCandidate>> Archive::Read(Statement& statement) const {
  std::vector<ArchivedCandidate> candidates;
  while (true) {
    KS_TRY(const bool row, statement.Step());
    if (!row) break;
    KS_TRY(candidates.emplace_back(), ReadCandidate(statement));
  }
  KS_TRY(Statement parents,
         database_->Prepare("SELECT parent FROM parent WHERE candidate = ? ORDER BY position"));
  for (ArchivedCandidate& candidate : candidates) {
    parents.Bind(candidate.id);
    while (true) {
      KS_TRY(const bool row, parents.Step());
      if (!row) break;
      candidate.parents.push_back(parents.Integer(0));
    }
  }
  return candidates;
}

Result<ArchivedCandidate> Archive::Get(int64_t id) const {
  KS_TRY(Statement select,
         database_->Prepare(fmt::format("SELECT {} FROM candidate WHERE id = ?", ReadColumns())));
  select.Bind(id);
  KS_TRY(std::vector<ArchivedCandidate> found, Read(select));
  if (found.empty()) return InvalidInput(fmt::format("the archive has no candidate {}", id));
  return std::move(found.front());
}

Result<std::vector<ArchivedCandidate>> Archive::List(const ArchiveFilter& filter) const {
  KS_TRY(Statement select,
         database_->Prepare(fmt::format(
             "SELECT {} FROM candidate WHERE (?1 = '' OR task = ?1) AND (?2 = '' OR verdict = ?2) "
             "AND (?3 IS NULL OR run = ?3) ORDER BY {} LIMIT ?4",
             ReadColumns(), OrderOf(filter.order))));
  select.Bind(filter.task, filter.verdict, filter.run, filter.limit);
  return Read(select);
}

Result<std::vector<ArchivedCandidate>> Archive::Ancestors(int64_t id) const {
  // UNION: each pair of ancestor and distance once; an ancestor on several ways counts by its
  // shortest. A parent is older than its child, so there are no circles.
  KS_TRY(
      Statement select,
      database_->Prepare(fmt::format(
          "WITH RECURSIVE line (id, distance) AS ("
          "  SELECT parent, 1 FROM parent WHERE candidate = ?"
          "  UNION SELECT parent.parent, distance + 1 FROM parent JOIN line ON candidate = line.id)"
          " SELECT {} FROM candidate JOIN (SELECT id, min(distance) AS distance FROM line GROUP BY"
          " id) AS near ON near.id = candidate.id ORDER BY near.distance, candidate.id",
          ReadColumns())));
  select.Bind(id);
  return Read(select);
}

Result<std::string> Archive::IntegrityCheck() const {
  return database_->Ask("PRAGMA integrity_check");
}

json ToJson(const ArchivedRun& run) {
  return {{"id", run.id},
          {"task", run.task},
          {"direction", run.direction},
          {"dtype", run.dtype},
          {"seed", run.seed},
          {"options", run.options},
          {"budget", run.budget},
          {"state", run.state},
          {"seconds", run.seconds},
          {"started_at", run.started_at},
          {"changed_at", run.changed_at}};
}

json ToJson(const ArchivedCandidate& c) {
  json document = {{"id", c.id}, {"parents", c.parents}, {"created_at", c.created_at}};
  VisitColumns(c, [&](const char* name, const auto& field) {
    if constexpr (requires { field.has_value(); }) {
      document[name] = field ? json(*field) : json();
    } else {
      document[name] = field;
    }
  });
  // A time never stands without what it is and what it is for.
  for (const char* part : {"time_ns", "time_kind", "gpu"}) document.erase(part);
  document["time"] = json();
  if (c.time_ns) document["time"] = {{"ns", *c.time_ns}, {"kind", c.time_kind}, {"gpu", c.gpu}};
  return document;
}

}  // namespace kernelsmith
