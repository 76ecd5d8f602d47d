#include "verify/case_jobs.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

namespace kernelsmith {

void RunJobs(const Verification& verification, std::vector<CaseJob>& jobs, bool all) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  const auto work = [&] {
    for (size_t i = next++; i < jobs.size() && (all || !failed); i = next++) {
      jobs[i].outcome = verification.Judge(*jobs[i].traced, jobs[i].sample);
      if (!jobs[i].outcome->ok() || !(*jobs[i].outcome)->objections.empty()) failed = true;
    }
  };
  const size_t threads =
      std::min<size_t>({jobs.size(), 4, std::max(1U, std::thread::hardware_concurrency())});
  std::vector<std::future<void>> others;
  for (size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work));
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace kernelsmith
