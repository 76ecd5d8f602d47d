// The archive: every candidate that was ever evaluated, with its parents, verdict, counters, time
// and cost. A SQLite file; what Add returned from is there also after kill -9 or a power cut.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/result.h"

namespace kernelsmith {

class Database;

// One optimisation: candidates that belong together.
struct ArchivedRun {
  int64_t id = 0;  // given by the archive
  std::string task;
  std::string direction;
  std::string dtype;
  uint64_t seed = 0;
  nlohmann::json options = nlohmann::json::object();  // what a resumed run must have the same
  nlohmann::json budget = nlohmann::json::object();
  std::string state = "running";  // running, stopped, finished
  double seconds = 0;             // the time of all its sessions
  std::string started_at;         // UTC, by the archive
  std::string changed_at;
};

struct ArchivedCandidate {
  int64_t id = 0;              // given by the archive
  std::optional<int64_t> run;  // a run has each `number` once
  std::optional<int64_t> number;
  std::string task;
  std::string direction;
  std::string dtype;
  int64_t generation = 0;
  int64_t island = 0;
  std::string proposer;
  std::string note;                                 // the proposer's words
  nlohmann::json genes = nlohmann::json::object();  // the proposer's own description
  std::string source;
  std::string source_sha256;  // computed by the archive
  std::string ptx_hash;       // the hash of the normalised PTX; empty: not known
  // verified, refuted, inconclusive, unsupported; rejected: an early stage had a reason not to go
  // on; none: the proposer had nothing
  std::string verdict = "none";
  std::string stage;   // the stage that decided
  std::string reason;  // the reason in one line
  nlohmann::json findings = nlohmann::json::array();
  nlohmann::json counters = nlohmann::json::object();
  std::optional<double> time_ns;
  std::string time_kind;  // estimated, measured; empty without a time
  std::string gpu;
  nlohmann::json limits = nlohmann::json::array();
  std::string cell;  // its cell in the archive of elites
  std::string prompt;
  std::string answer;
  int64_t tokens_in = 0;
  int64_t tokens_out = 0;
  double dollars = 0;
  double seconds = 0;
  std::string created_at;        // UTC, by the archive
  std::vector<int64_t> parents;  // ids

  bool verified() const { return verdict == "verified"; }
};

struct ArchiveFilter {
  std::string task;     // empty: any
  std::string verdict;  // empty: any
  std::optional<int64_t> run;
  // best: by task, direction, dtype, then verified before others and faster before slower.
  // Otherwise newest, or by number.
  enum class Order { kBest, kNewest, kNumber } order = Order::kBest;
  int64_t limit = -1;  // none
};

// Used by one thread at a time. Several processes may have the same archive open.
class Archive {
 public:
  struct Options {
    bool read_only = false;                     // the file must exist
    std::chrono::milliseconds patience{10000};  // how long to wait for another process that writes
    int64_t max_pages = 0;                      // pages of 4 KiB; 0: as many as the disk has
  };
  // Makes the file and its folders if they are not there. Errors say whether it is locked, full,
  // read-only, damaged, no archive, or of a newer version.
  static Result<std::unique_ptr<Archive>> Open(const std::filesystem::path& path, Options options);
  static Result<std::unique_ptr<Archive>> Open(const std::filesystem::path& path) {
    return Open(path, Options());
  }
  ~Archive();

  // The new run's id.
  Result<int64_t> AddRun(const ArchivedRun& run);
  Status UpdateRun(int64_t id, const std::string& state, double seconds,
                   const nlohmann::json& budget);
  Result<ArchivedRun> GetRun(int64_t id) const;
  // Newest first.
  Result<std::vector<ArchivedRun>> Runs() const;

  // Commits the candidate and returns it as the archive has it. A second one with the same run and
  // number is an error.
  Result<ArchivedCandidate> Add(const ArchivedCandidate& candidate);
  // The same for several: all or none.
  Result<std::vector<ArchivedCandidate>> AddAll(std::span<const ArchivedCandidate> candidates);
  Result<ArchivedCandidate> Get(int64_t id) const;
  Result<std::vector<ArchivedCandidate>> List(const ArchiveFilter& filter) const;
  // Its ancestors: parents first, then theirs, each once.
  Result<std::vector<ArchivedCandidate>> Ancestors(int64_t id) const;

  // "ok", or what SQLite finds wrong with the file.
  Result<std::string> IntegrityCheck() const;

 private:
  explicit Archive(std::unique_ptr<Database> database);
  Result<std::vector<ArchivedCandidate>> Read(class Statement& statement) const;
  Result<int64_t> Insert(const ArchivedCandidate& candidate);

  std::unique_ptr<Database> database_;
};

nlohmann::json ToJson(const ArchivedRun& run);
nlohmann::json ToJson(const ArchivedCandidate& candidate);

}  // namespace kernelsmith
