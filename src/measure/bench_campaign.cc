#include "measure/bench_campaign.h"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "support/hash.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

class Campaign {
 public:
  Campaign(const std::vector<BenchItem>& items, const BenchCampaignOptions& options,
           FileSystem& files, ProcessRunner& processes, Progress& progress)
      : items_(items),
        options_(options),
        files_(files),
        processes_(processes),
        progress_(progress) {}

  Result<BenchCampaignOutcome> Run() {
    KS_RETURN_IF_ERROR(files_.MakeDirectories(options_.results.parent_path()));
    KS_RETURN_IF_ERROR(ReadEarlier());
    answers_.resize(items_.size());
    keys_.resize(items_.size());
    std::vector<size_t> open;
    for (size_t i = 0; i < items_.size(); ++i) {
      KS_TRY(keys_[i], KeyOf(items_[i]));
      const auto known = earlier_.find(keys_[i]);
      if (known == earlier_.end()) {
        open.push_back(i);
      } else {
        answers_[i] = known->second;
      }
    }
    BenchCampaignOutcome outcome{.known = items_.size() - open.size()};
    progress_.Begin("bench", items_.size());
    done_ = outcome.known;
    progress_.Update(done_, "");
    Work(open);
    progress_.End();
    if (failure_) return *failure_;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (!answers_[i]) {
        ++outcome.missing;
        continue;
      }
      answers_[i]->candidate = items_[i].name;
      outcome.results.push_back(*std::move(answers_[i]));
    }
    return outcome;
  }

 private:
  // Whatever decides the answer: the candidate's text, the task, the options, the program.
  Result<std::string> KeyOf(const BenchItem& item) const {
    KS_TRY(const std::string text, files_.Read(item.candidate));
    std::string everything =
        fmt::format("{}\n{}\n{}\n", item.task, item.backward ? "backward" : "forward", item.dtype);
    everything += options_.version + "\n";
    // A task that is a file may change under its name; of a folder only the name is known.
    if (const Result<std::string> task = files_.Read(item.task); task.ok()) everything += *task;
    for (const std::string& option : options_.options) everything += option + "\n";
    return Sha256(everything + text).substr(0, 24);
  }

  Status ReadEarlier() {
    if (!files_.Exists(options_.results)) return {};
    KS_TRY(const std::string text, files_.Read(options_.results));
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = text.find('\n', begin);
      if (end == std::string::npos) {  // a run was stopped in the middle of a line
        torn_ = true;
        break;
      }
      const json line = json::parse(text.substr(begin, end - begin), nullptr, false);
      begin = end + 1;
      if (!line.is_object() || !line.contains("key") || !line["key"].is_string()) continue;
      if (std::optional<BenchResult> result = ParseBenchResult(line.value("result", json()))) {
        earlier_[line["key"].get<std::string>()] = *std::move(result);
      }
    }
    return {};
  }

  bool Stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  void Work(const std::vector<size_t>& open) {
    std::atomic<size_t> next{0};
    const auto worker = [&] {
      for (size_t i = next++; i < open.size() && !Stopped(); i = next++) {
        const Status status = BenchOne(open[i]);
        const std::lock_guard lock(mutex_);
        if (!status.ok() && !failure_) failure_ = status.error();
        if (failure_) return;
        ++done_;
        progress_.Update(done_, items_[open[i]].name);
      }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.jobs; ++i) threads.emplace_back(worker);
    worker();
    for (std::thread& thread : threads) thread.join();
  }

  Status BenchOne(size_t index) {
    const BenchItem& item = items_[index];
    ProcessRequest request{.argv = options_.program, .timeout = options_.timeout};
    for (const std::string& word :
         {std::string("bench"), item.candidate.string(), std::string("--task"), item.task,
          std::string("--dtype"), item.dtype, std::string("--json"), std::string("--quiet")}) {
      request.argv.push_back(word);
    }
    if (item.backward) request.argv.emplace_back("--backward");
    request.argv.insert(request.argv.end(), options_.options.begin(), options_.options.end());
    KS_TRY(const ProcessResult process, processes_.Run(request));
    const json document = json::parse(process.out, nullptr, false);
    std::optional<BenchResult> result;
    if (document.is_object() && document.contains("candidates") &&
        document["candidates"].is_array() && document["candidates"].size() == 1) {
      result = ParseBenchResult(document["candidates"][0]);
    }
    if (!result) {
      result = BenchResult{.task = item.task,
                           .candidate = item.name,
                           .direction = item.backward ? "backward" : "forward",
                           .dtype = item.dtype,
                           .verdict = "error"};
      result->reason =
          process.timed_out
              ? fmt::format("no answer within {} s", options_.timeout.count() / 1000)
              : fmt::format("exit code {}: {}", process.exit_code, process.err.substr(0, 300));
      result->seconds = std::chrono::duration<double>(process.duration).count();
      // Ours, and maybe gone the next time: not kept.
      const std::lock_guard lock(mutex_);
      answers_[index] = *std::move(result);
      return {};
    }
    const std::lock_guard lock(mutex_);
    answers_[index] = *result;
    std::ofstream out(options_.results, std::ios::app);
    if (torn_) out << '\n';
    torn_ = false;
    out << json{{"key", keys_[index]}, {"result", ToJson(*result)}}.dump(
               -1, ' ', false, json::error_handler_t::replace)
        << '\n';
    out.flush();
    if (!out) return InvalidInput(fmt::format("can't write {}", options_.results.string()));
    return {};
  }

  const std::vector<BenchItem>& items_;
  const BenchCampaignOptions& options_;
  FileSystem& files_;
  ProcessRunner& processes_;
  Progress& progress_;
  std::map<std::string, BenchResult> earlier_;  // answers of earlier runs by key
  std::vector<std::string> keys_;
  std::vector<std::optional<BenchResult>> answers_;
  std::mutex mutex_;
  size_t done_ = 0;
  bool torn_ = false;  // the results file ends in the middle of a line
  std::optional<Error> failure_;
};

}  // namespace

Result<BenchCampaignOutcome> RunBenchCampaign(const std::vector<BenchItem>& items,
                                              const BenchCampaignOptions& options,
                                              FileSystem& files, ProcessRunner& processes,
                                              Progress& progress) {
  return Campaign(items, options, files, processes, progress).Run();
}

}  // namespace kernelsmith
