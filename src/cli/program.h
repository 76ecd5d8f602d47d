// Programs that run with our runtime library: `run`, `sanitize` and `profile`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/session.h"

namespace kernelsmith {

// Of a command that was given a task and a candidate: an error if there is a third operand.
Status CheckCandidateOperands(const Session& session);

struct PreparedProgram {
  std::string path;                                // to execute
  std::map<std::string, std::string> environment;  // set on top of ours
};

// Checks that the program can run with our library, and makes it find that.
Result<PreparedProgram> PrepareProgram(Session& session, const std::string& name);

// Becomes the program. Returns only if that fails, with errno set.
void ExecuteProgram(const PreparedProgram& program, const std::vector<std::string>& command);

// Runs it to its end: the wait status. With `redirect` its standard output goes to standard error.
// With a timeout it is killed after so many seconds; `timed_out` says whether.
Result<int> RunProgram(const PreparedProgram& program, const std::vector<std::string>& command,
                       bool redirect, std::optional<int> timeout_seconds = {},
                       bool* timed_out = nullptr);

// A file that goes with the object. Its path is empty if there could be none.
class ScratchFile {
 public:
  ScratchFile();
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace kernelsmith
