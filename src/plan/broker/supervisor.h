// Decides about the system calls that the child's filter does not allow
// (host/system_call_filter.h). The kernel stops the calling thread and asks here; nothing in the
// child can hide a call, answer in our place or make us forget it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kernelsmith::broker {

class Supervisor {
 public:
  // `listener` is the filter's descriptor; it is closed in the end. While the candidate's library
  // is being loaded, the loader's code may open files and make code of memory.
  Supervisor(int listener, pid_t child, uint64_t loader_begin, uint64_t loader_end);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // The candidate's library is loaded: from now on nobody may.
  void Close() { loading_ = false; }
  // So many calls were refused that the child was ended.
  bool gave_up() const { return gave_up_; }
  // What was refused and not yet told.
  std::vector<std::string> TakeRefusals();

 private:
  void Serve();

  int listener_;
  pid_t child_;
  uint64_t loader_begin_;
  uint64_t loader_end_;
  int wake_;  // an event that ends the thread
  std::atomic<bool> loading_{true};
  std::atomic<bool> gave_up_{false};
  std::mutex mutex_;
  std::vector<std::string> refusals_;
  size_t told_ = 0;
  std::thread thread_;
};

}  // namespace kernelsmith::broker
