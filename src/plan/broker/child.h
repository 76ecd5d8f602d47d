// The process that runs the candidate's host code, and the socket to it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "support/result.h"

namespace kernelsmith::broker {

class Child {
 public:
  struct Frame {
    uint32_t kind = 0;
    std::string payload;
  };
  struct Ending {
    int signal = 0;
    int exit_code = 0;
  };

  struct Inherits {
    // Another name and environment than it would have otherwise, so that two children differ in all
    // that is no argument.
    bool disguise = false;
    // For tests: what a child without walls would have of us.
    bool environment = false;
    bool descriptors = false;
  };
  static Result<std::unique_ptr<Child>> Start(const std::filesystem::path& program,
                                              const Inherits& inherits);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Something has come within this time, if only the news that the child has ended.
  bool WaitForNews(int milliseconds) const;
  // False: it is gone.
  bool Send(const std::string& frame);
  // The next message, at most `most` bytes long; nothing when the child has ended, or sent more.
  // A descriptor that comes along goes to `descriptor`.
  std::optional<Frame> Receive(size_t most, int* descriptor = nullptr);
  // Kills it, if it is still there, and says how it ended.
  Ending End();
  // How it ended by itself; it is given a moment for that.
  Ending AwaitEnd();

 private:
  Child(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
  bool Read(void* to, size_t bytes, int* descriptor);

  pid_t pid_;
  int socket_;
};

}  // namespace kernelsmith::broker
