#include "cudart/task.h"

#include "support/check.h"

namespace kernelsmith::cudart {

void Executor::Submit(const TaskPtr& task, std::span<const TaskPtr> after, Where where) {
  {
    const std::lock_guard lock(mutex_);
    for (const TaskPtr& earlier : after) {
      if (earlier == nullptr || earlier->done_) continue;
      earlier->dependents_.push_back(task);
      ++task->waits_for_;
    }
    if (task->waits_for_ > 0) return;
    if (where == Where::kAnyThread) {
      MakeReady(task);
      return;
    }
  }
  Run(task);
}

void Executor::MakeReady(TaskPtr task) {
  ready_.push_back(std::move(task));
  if (ready_.size() > idle_threads_) {
    // Detached: a thread may be inside a kernel that never ends when the process exits, and the
    // executor itself is never destroyed.
    std::thread([this] { Work(); }).detach();
  } else {
    work_arrived_.notify_one();
  }
}

void Executor::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    while (ready_.empty()) {
      ++idle_threads_;
      work_arrived_.wait(lock);
      --idle_threads_;
    }
    const TaskPtr task = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    Run(task);
    lock.lock();
  }
}

void Executor::Run(const TaskPtr& task) {
  task->body_();
  task->body_ = nullptr;  // lets go of what it captured
  const std::lock_guard lock(mutex_);
  task->done_ = true;
  for (TaskPtr& next : task->dependents_) {
    KS_CHECK(next->waits_for_ > 0);
    if (--next->waits_for_ == 0) MakeReady(std::move(next));
  }
  task->dependents_.clear();
  changed_.notify_all();
}

bool Executor::WaitFor(const TaskPtr& task, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [&] { return task->done_; });
}

void Executor::Wait(const TaskPtr& task) {
  if (task == nullptr) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return task->done_; });
}

bool Executor::IsDone(const TaskPtr& task) {
  if (task == nullptr) return true;
  const std::lock_guard lock(mutex_);
  return task->done_;
}

}  // namespace kernelsmith::cudart
