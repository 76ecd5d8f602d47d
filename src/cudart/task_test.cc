#include "cudart/task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

namespace kernelsmith::cudart {
namespace {

using namespace std::chrono_literals;

// Executors are never destroyed: their threads are detached.
Executor& NewExecutor() {
  static auto& all = *new std::vector<std::unique_ptr<Executor>>;
  return *all.emplace_back(std::make_unique<Executor>());
}

TEST(Task, RunsAfterWhatItWaitsFor) {
  Executor& executor = NewExecutor();
  std::promise<void> gate;
  std::vector<int> order;
  const auto first = std::make_shared<Task>([&] {
    gate.get_future().wait();
    order.push_back(1);
  });
  const auto second = std::make_shared<Task>([&] { order.push_back(2); });
  const auto third = std::make_shared<Task>([&] { order.push_back(3); });
  executor.Submit(first, {}, Executor::Where::kAnyThread);
  executor.Submit(second, std::vector{first}, Executor::Where::kCallerIfReady);
  executor.Submit(third, std::vector{second, first}, Executor::Where::kAnyThread);
  EXPECT_FALSE(executor.WaitFor(third, 20ms));
  EXPECT_FALSE(executor.IsDone(first));
  gate.set_value();
  executor.Wait(third);
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
  EXPECT_TRUE(executor.IsDone(second));
}

TEST(Task, RunsHereIfNothingIsWaitedFor) {
  Executor& executor = NewExecutor();
  std::thread::id where;
  const auto task = std::make_shared<Task>([&] { where = std::this_thread::get_id(); });
  executor.Submit(task, std::vector<TaskPtr>{nullptr}, Executor::Where::kCallerIfReady);
  EXPECT_TRUE(executor.IsDone(task));
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(Task, ABlockedTaskHoldsUpNobodyElse) {
  Executor& executor = NewExecutor();
  std::promise<void> gate;
  const std::shared_future<void> opened = gate.get_future().share();
  std::vector<TaskPtr> blocked;
  for (int i = 0; i < 8; ++i) {
    blocked.push_back(std::make_shared<Task>([opened] { opened.wait(); }));
    executor.Submit(blocked.back(), {}, Executor::Where::kAnyThread);
  }
  // Opens the gate that the others wait for.
  const auto opener = std::make_shared<Task>([&] { gate.set_value(); });
  executor.Submit(opener, {}, Executor::Where::kAnyThread);
  for (const TaskPtr& task : blocked) executor.Wait(task);
}

TEST(Task, ManyThreadsSubmitting) {
  Executor& executor = NewExecutor();
  std::atomic<int> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      TaskPtr last;
      for (int i = 0; i < 200; ++i) {
        const auto task = std::make_shared<Task>([&] { ++ran; });
        executor.Submit(task, std::vector{last},
                        i % 3 == 0 ? Executor::Where::kAnyThread : Executor::Where::kCallerIfReady);
        last = task;
      }
      executor.Wait(last);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, 800);
}

}  // namespace
}  // namespace kernelsmith::cudart
