// Work on the virtual GPU as a graph of tasks: a task runs when all the tasks it waits for are
// done. Streams, events and the rules of the default stream are all expressed as such edges
// (stream.h).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace kernelsmith::cudart {

class Task {
 public:
  explicit Task(std::function<void()> body) : body_(std::move(body)) {}
  uint64_t operation = 0;  // the checkers' number of the task; set before it is submitted

 private:
  friend class Executor;
  std::function<void()> body_;
  // The rest is guarded by the executor's mutex.
  size_t waits_for_ = 0;
  std::vector<std::shared_ptr<Task>> dependents_;
  bool done_ = false;
};

using TaskPtr = std::shared_ptr<Task>;

// Threads that run tasks. A task that blocks (a kernel that spins on a flag of the host, a callback
// that waits for a lock) holds up only those that wait for it: there is always a thread for the
// next ready task.
class Executor {
 public:
  enum class Where {
    kAnyThread,     // it runs on a thread of the executor
    kCallerIfReady  // here and now if nothing is waited for: for short work that can't block
  };

  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  void Submit(const TaskPtr& task, std::span<const TaskPtr> after, Where where);

  // False if `patience` ran out before the task was done.
  bool WaitFor(const TaskPtr& task, std::chrono::milliseconds patience);
  void Wait(const TaskPtr& task);
  bool IsDone(const TaskPtr& task);

 private:
  void Run(const TaskPtr& task);
  void Work();
  void MakeReady(TaskPtr task);  // The mutex is held.

  std::mutex mutex_;
  std::condition_variable changed_;       // some task is done
  std::condition_variable work_arrived_;  // something is ready
  std::deque<TaskPtr> ready_;
  size_t idle_threads_ = 0;
};

}  // namespace kernelsmith::cudart
