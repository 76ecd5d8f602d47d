// Other programs: run one to its end, or keep one and talk to it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/confinement.h"
#include "support/result.h"

namespace kernelsmith {

struct ProcessRequest {
  std::vector<std::string> argv;           // argv[0] is looked up in PATH unless it has a '/'
  std::map<std::string, std::string> env;  // set on top of our own environment, or all of it
  bool only_env = false;                   // `env` is all of the child's environment
  std::vector<std::string> unset_env;      // removed from it
  std::filesystem::path directory;         // empty: ours
  std::string input;                       // goes to standard input, then end of file
  std::chrono::milliseconds timeout{600'000};
  size_t max_output = size_t{64} << 20;  // bytes of each stream; the rest is read and dropped
  std::optional<Confinement> confinement;
};

struct ProcessResult {
  int exit_code = 0;  // 128 + signal if a signal ended it, as shells say it
  int signal = 0;
  bool timed_out = false;
  bool truncated = false;  // a stream was longer than max_output
  std::string out;
  std::string err;
  std::chrono::nanoseconds duration{0};
  std::chrono::microseconds processor_time{0};  // of it and of the children that it waited for
};

// Our own environment with these variables set and those removed, as execve wants it: for a child.
std::vector<std::string> ChildEnvironment(const std::map<std::string, std::string>& set,
                                          const std::vector<std::string>& unset = {});

class ProcessRunner {
 public:
  virtual ~ProcessRunner() = default;
  // Set in the environment of every child from now on, where its request does not say otherwise.
  void SetForAll(std::map<std::string, std::string> variables) { for_all_ = std::move(variables); }
  // Where the kernel has no Landlock, programs that should be confined run without it from now on.
  // Otherwise they don't run there.
  void AllowWithoutLandlock(bool allow) { without_landlock_ = allow; }
  // Runs to the end, or to the timeout: then the whole process group is killed and timed_out is
  // set. An error means that it never started: kMissingTool if there is no such program.
  virtual Result<ProcessResult> Run(const ProcessRequest& request) = 0;

 protected:
  std::map<std::string, std::string> for_all_;
  bool without_landlock_ = false;
};

// Real processes. Both output pipes are drained while input is fed, so a full pipe can't deadlock;
// a grandchild that keeps a pipe open does not keep us waiting once the child itself has ended.
// The child dies with the calling thread, and has no descriptors of ours but its standard streams.
class SystemProcessRunner : public ProcessRunner {
 public:
  Result<ProcessResult> Run(const ProcessRequest& request) override;
};

// A child that lives on and is talked to line by line: requests go to its standard input, replies
// come from a pipe that the child finds as the descriptor in the environment variable
// KERNELSMITH_REPLY_FD (so that what it prints to standard output can't be taken for a reply).
// Standard output is thrown away; standard error is kept (its end, 64 KiB) for error messages.
class LineWorker {
 public:
  // `request.input`, `timeout` and `max_output` are not used.
  static Result<std::unique_ptr<LineWorker>> Start(const ProcessRequest& request);
  // Kills what is left of the child's process group.
  ~LineWorker();
  LineWorker(const LineWorker&) = delete;
  LineWorker& operator=(const LineWorker&) = delete;

  // Sends `line` (which has no line end) and waits for one line. After an error (timeout, the child
  // died, a line over `max_line`) the child is dead and a new worker is needed.
  Result<std::string> Ask(std::string_view line, std::chrono::milliseconds timeout,
                          size_t max_line = size_t{256} << 20);
  bool alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  // The last of what the child wrote to standard error.
  const std::string& error_output() const { return error_output_; }

 private:
  LineWorker() = default;
  void Kill();
  void DrainErrors();

  pid_t pid_ = -1;
  int requests_ = -1;
  int replies_ = -1;
  int errors_ = -1;
  std::string pending_;  // bytes after the last complete line
  std::string error_output_;
};

}  // namespace kernelsmith
