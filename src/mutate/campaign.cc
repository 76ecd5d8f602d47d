#include "mutate/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

#include "mutate/mutate.h"
#include "support/finding_kind.h"
#include "support/hash.h"

namespace kernelsmith::mutate {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Job {
  const CorpusKernel* kernel = nullptr;
  Judged judged;  // the answer goes here
  fs::path path;
  bool device = true;
  size_t round = 0;  // the right kernel is 0, its mutants count from 1
};

// For verifiers that don't name the stage. Those of others have words that we don't know.
std::string StageOfKind(std::optional<FindingKind> kind) {
  if (!kind) return "run";
  switch (*kind) {
    case FindingKind::kCompileError:
      return "compile";
    case FindingKind::kWrongValue:
    case FindingKind::kUnwritten:
    case FindingKind::kWrongShape:
    case FindingKind::kWrongDtype:
    case FindingKind::kWrongOutputCount:
    case FindingKind::kInputModified:
      return "numbers";
    default:
      return "run";
  }
}

class Campaign {
 public:
  Campaign(const CampaignOptions& options, FileSystem& files, ProcessRunner& processes,
           CandidateCompiler& compiler, const Clock& clock, Progress& progress)
      : options_(options),
        files_(files),
        processes_(processes),
        compiler_(compiler),
        clock_(clock),
        progress_(progress) {}

  Result<std::vector<Judged>> Run(const std::vector<CorpusKernel>& kernels) {
    KS_RETURN_IF_ERROR(files_.MakeDirectories(options_.output));
    KS_RETURN_IF_ERROR(ReadEarlier());
    for (const CorpusKernel& kernel : kernels) KS_RETURN_IF_ERROR(Plan(kernel));
    std::vector<Job*> open;
    for (Job& job : jobs_) {
      const auto known = earlier_.find(job.judged.key);
      if (known != earlier_.end()) {
        job.judged = known->second;
      } else {
        open.push_back(&job);
      }
    }
    std::vector<std::pair<size_t, size_t>> order;  // round, place: the same on every machine
    for (size_t i = 0; i < open.size(); ++i) order.emplace_back(open[i]->round, i);
    std::sort(order.begin(), order.end());
    std::vector<Job*> sorted;
    for (const auto& [round, i] : order) sorted.push_back(open[i]);
    progress_.Begin("mutants", jobs_.size());
    done_ = jobs_.size() - open.size();
    progress_.Update(done_);
    Work(sorted);
    progress_.End();
    if (failure_) return *failure_;
    std::vector<Judged> answers;
    for (Job& job : jobs_) {
      if (!job.judged.outcome.empty()) answers.push_back(std::move(job.judged));
    }
    return answers;
  }

 private:
  fs::path Results() const { return options_.output / "results.jsonl"; }

  Status ReadEarlier() {
    if (!files_.Exists(Results())) return {};
    KS_TRY(const std::string text, files_.Read(Results()));
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = text.find('\n', begin);
      if (end == std::string::npos) break;  // a run was stopped in the middle of a line
      if (Result<Judged> judged = ParseJudged(text.substr(begin, end - begin)); judged.ok()) {
        const std::string key = judged->key;
        earlier_[key] = *std::move(judged);
      }
      begin = end + 1;
    }
    return {};
  }

  Status Plan(const CorpusKernel& kernel) {
    KS_TRY(const std::string text, files_.Read(kernel.path));
    size_t round = 0;
    const auto add = [&](Judged judged, fs::path path, const std::string& contents, bool device) {
      judged.kernel = kernel.name;
      std::string everything = fmt::format("{}\n{}\n{}\n{}\n", kernel.name, judged.mutant,
                                           options_.seed, kernel.dtypes.front());
      for (const std::string& option : options_.verifier_options) everything += option + "\n";
      for (const OutsideVerifier& each : options_.outside) everything += each.command + "\n";
      judged.key = Sha256(everything + contents).substr(0, 24);
      jobs_.push_back({.kernel = &kernel,
                       .judged = std::move(judged),
                       .path = std::move(path),
                       .device = device,
                       .round = round++});
    };
    add({}, kernel.path, text, false);
    KS_TRY(const std::vector<Mutation> all, FindMutations(text, options_.operators));
    const fs::path folder = options_.output / kernel.name;
    KS_RETURN_IF_ERROR(files_.MakeDirectories(folder));
    for (const Mutation& each : Choose(all, options_.per_kernel, options_.seed)) {
      const std::string mutated = Apply(text, each);
      const fs::path path = folder / (each.name + ".cu");
      KS_RETURN_IF_ERROR(files_.Write(path, mutated));
      Judged judged;
      judged.mutant = each.name;
      judged.operator_name = each.operator_name;
      judged.diff = Diff(text, each);
      add(std::move(judged), path, mutated, each.device);
    }
    return {};
  }

  void Work(const std::vector<Job*>& open) {
    std::atomic<size_t> next{0};
    const Clock::Duration begin = clock_.Now();
    const auto worker = [&] {
      for (size_t i = next++; i < open.size(); i = next++) {
        if (options_.limit.count() > 0 && clock_.Now() - begin > options_.limit) return;
        Status status = JudgeOne(*open[i]);
        const std::lock_guard lock(mutex_);
        if (!status.ok() && !failure_) failure_ = status.error();
        if (failure_) return;
        progress_.Update(++done_, open[i]->judged.kernel + " " + open[i]->judged.mutant);
      }
    };
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.jobs; ++i) threads.emplace_back(worker);
    worker();
    for (std::thread& thread : threads) thread.join();
  }

  Status JudgeOne(Job& job) {
    ProcessRequest request{.argv = options_.verifier, .timeout = options_.timeout};
    for (const std::string& word :
         {std::string("verify"), job.kernel->task, job.path.string(), std::string("--dtype"),
          job.kernel->dtypes.front(), std::string("--json"), std::string("--quiet"),
          std::string("--seed"), fmt::format("{}", options_.seed)}) {
      request.argv.push_back(word);
    }
    if (job.kernel->backward) request.argv.emplace_back("--backward");
    request.argv.insert(request.argv.end(), options_.verifier_options.begin(),
                        options_.verifier_options.end());
    KS_TRY(const ProcessResult result, processes_.Run(request));
    Judged& judged = job.judged;
    judged.seconds = std::chrono::duration<double>(result.duration).count();
    if (result.timed_out) {
      judged.outcome = "error";
      judged.reason =
          fmt::format("no verdict within {} s",
                      std::chrono::duration_cast<std::chrono::seconds>(options_.timeout).count());
    } else {
      ReadVerdict(result.out, judged);
      if (judged.outcome == "error" && judged.reason.empty()) {
        judged.reason = fmt::format("exit code {}: {}", result.exit_code,
                                    result.err.substr(0, result.err.find('\n')));
      }
    }
    if (!judged.right() && judged.outcome != "refuted" && judged.outcome != "uncompilable") {
      KS_RETURN_IF_ERROR(CompareCode(job));
    }
    if (judged.judged()) KS_RETURN_IF_ERROR(AskOthers(job));
    return Record(judged);
  }

  // A change that the compiler took away again is no mutant.
  Status CompareCode(Job& job) {
    if (!job.device) return {};
    const std::lock_guard lock(mutex_);
    const Result<CompiledCandidate> mutant = compiler_.Compile(job.path, {});
    const Result<CompiledCandidate> right = compiler_.Compile(job.kernel->path, {});
    if (!mutant.ok() || !right.ok()) return {};  // then the verdict says so
    if (NormalisePtx(mutant->ptx) == NormalisePtx(right->ptx)) job.judged.outcome = "identical";
    return {};
  }

  Status AskOthers(Job& job) {
    for (const OutsideVerifier& each : options_.outside) {
      const ProcessRequest request{
          .argv = {"/bin/sh", "-c", each.command + " \"$1\"", "sh", job.path.string()},
          .env = {{"KERNELSMITH_TASK", job.kernel->task},
                  {"KERNELSMITH_DIRECTION", job.kernel->backward ? "backward" : "forward"},
                  {"KERNELSMITH_DTYPE", job.kernel->dtypes.front()}},
          .timeout = options_.timeout};
      KS_TRY(const ProcessResult result, processes_.Run(request));
      std::string word;
      for (const char c : result.out) {
        if (std::isalpha(static_cast<unsigned char>(c)) == 0) {
          if (word.empty()) continue;
          break;
        }
        word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      }
      job.judged.outside[each.name] = word == "yes" || word == "no" ? word : "none";
    }
    return {};
  }

  Status Record(const Judged& judged) {
    const std::lock_guard lock(mutex_);
    std::ofstream out(Results(), std::ios::app);
    out << ToJson(judged).dump() << "\n";
    out.flush();
    if (!out) return InvalidInput(fmt::format("can't write {}", Results().string()));
    return {};
  }

  const CampaignOptions& options_;
  FileSystem& files_;
  ProcessRunner& processes_;
  CandidateCompiler& compiler_;
  const Clock& clock_;
  Progress& progress_;
  std::vector<Job> jobs_;
  std::map<std::string, Judged> earlier_;  // verdicts of earlier runs by key
  std::mutex mutex_;
  size_t done_ = 0;
  std::optional<Error> failure_;
};

}  // namespace

void ReadVerdict(const std::string& verdict, Judged& judged) {
  judged.outcome = "error";
  const json document = json::parse(verdict, nullptr, false);
  if (!document.is_object() || !document.contains("verdict")) return;
  judged.outcome = document.value("verdict", "error");
  std::optional<FindingKind> kind;
  for (const json& finding : document.value("findings", json::array())) {
    // The first that decides; notes and warnings stand beside it.
    if (finding.value("weight", "decides") != "decides") continue;
    const std::string word = finding.value("kind", "");
    kind = FindingKindOf(word);
    judged.reason = CurrentWord(word) + ": " + finding.value("message", "");
    judged.stage = finding.value("stage", StageOfKind(kind));
    break;
  }
  if (judged.outcome == "refuted" && kind == FindingKind::kCompileError && !judged.right()) {
    judged.outcome = "uncompilable";
  }
  judged.processor_seconds = document.value("processor_seconds", 0.0);
  if (const auto proof = document.find("proof"); proof != document.end() && proof->is_object()) {
    const auto algebra = proof->find("algebra");
    if (algebra != proof->end() && algebra->is_object()) {
      judged.algebra = algebra->value("outcome", "");
    }
  }
  for (const json& stage : document.value("stages", json::array())) {
    judged.stages.emplace_back(stage.value("name", ""), stage.value("outcome", ""));
  }
  if (judged.stages.empty() && !judged.stage.empty()) {
    judged.stages.emplace_back(judged.stage, judged.outcome);
  }
}

Result<std::vector<Judged>> RunCampaign(const std::vector<CorpusKernel>& kernels,
                                        const CampaignOptions& options, FileSystem& files,
                                        ProcessRunner& processes, CandidateCompiler& compiler,
                                        const Clock& clock, Progress& progress) {
  return Campaign(options, files, processes, compiler, clock, progress).Run(kernels);
}

}  // namespace kernelsmith::mutate
