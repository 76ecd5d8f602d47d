// `kernelsmith bench`: verdict and time of a candidate, a folder of them, or the bundled kernels.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cli/final_build.h"
#include "cli/interrupt.h"
#include "cli/judge_tools.h"
#include "cli/task_options.h"
#include "cli/task_store.h"
#include "measure/bench_campaign.h"
#include "mutate/corpus.h"
#include "report/bench_report.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string first, second;  // [task] candidate
  std::string candidate;
  std::string task;
  bool suite = false;
  std::string kernels = KS_PROJECT_DIR "/kernels";
  std::vector<std::string> only;
  DirectionChoice direction;
  std::string dtype = "task";
  std::string mode = "task";
  std::string gpu{DefaultGpuModel().key};
  uint64_t blocks = 48;
  std::string inputs = "task";
  bool no_libraries = false;
  bool final_build = false;
  std::vector<std::string> allow;
  std::string output;
  std::string csv;
  std::string html;
  int jobs = 1;
  int timeout = 600;
};

Result<BenchOptions> OptionsOf(Session& session, const Options& options) {
  BenchOptions bench{.max_blocks = options.blocks};
  KS_TRY(bench.gpu, FindGpuModel(options.gpu));
  bench.verify.direction = options.direction.value();
  bench.verify.dtype = options.dtype;
  bench.verify.seed = session.Seed();
  bench.verify.policy.no_libraries = options.no_libraries;
  bench.verify.policy.allow = options.allow;
  if (options.inputs == "structured") {
    bench.verify.policy.inputs = VerifyPolicy::Inputs::kStructured;
  }
  return bench;
}

Result<std::vector<BenchResult>> BenchOne(Session& session, const Options& options) {
  KS_RETURN_IF_ERROR(session.files.Read(options.candidate));
  KS_TRY(const BenchOptions bench, OptionsOf(session, options));
  JudgeTools tools(session);
  KS_TRY(const Task task, tools.store().Load(options.task, options.mode));
  KS_RETURN_IF_ERROR(tools.Start());
  KS_TRY(BenchResult result, BenchCandidate(task, tools.Open(options.candidate), bench,
                                            {.verify = tools.Verification(),
                                             .finder = session.tools,
                                             .processes = session.processes}));
  return std::vector{std::move(result)};
}

bool Chosen(const Options& options, const std::string& name) {
  return options.only.empty() ||
         std::any_of(options.only.begin(), options.only.end(),
                     [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

Result<std::vector<BenchItem>> ItemsOf(Session& session, const Options& options) {
  std::vector<BenchItem> items;
  if (options.suite) {
    KS_TRY(const std::vector<mutate::CorpusKernel> kernels,
           mutate::ReadCorpus(session.files, options.kernels));
    const fs::path suite = DefaultTaskStoreOptions(session, false).suite;
    for (const mutate::CorpusKernel& kernel : kernels) {
      if (!Chosen(options, kernel.name)) continue;
      if (options.direction.given && options.direction.backward() != kernel.backward) continue;
      const fs::path task = suite / (kernel.task + ".py");
      for (const std::string& dtype : kernel.dtypes) {
        if (options.dtype != "task" && options.dtype != dtype) continue;
        items.push_back({.task = session.files.Exists(task) ? task.string() : kernel.task,
                         .candidate = kernel.path,
                         .name = kernel.name,
                         .backward = kernel.backward,
                         .dtype = dtype});
      }
    }
    if (items.empty()) return InvalidInput(fmt::format("no kernels in {}", options.kernels));
    return items;
  }
  std::set<fs::path> paths;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(options.candidate, error)) {
    if (entry.path().extension() == ".cu") paths.insert(entry.path());
  }
  for (const fs::path& path : paths) {
    const std::string name = fs::relative(path, options.candidate).string();
    if (!Chosen(options, name)) continue;
    items.push_back({.task = options.task,
                     .candidate = path,
                     .name = name,
                     .backward = options.direction.backward(),
                     .dtype = options.dtype});
  }
  if (items.empty()) return InvalidInput(fmt::format("no .cu files in {}", options.candidate));
  return items;
}

// Another build of the program may answer otherwise.
std::string Version(const fs::path& program) {
  std::error_code error;
  return fmt::format("{} {}", fs::file_size(program, error),
                     fs::last_write_time(program, error).time_since_epoch().count());
}

Result<std::vector<BenchResult>> BenchMany(Session& session, const Options& options,
                                           size_t* missing) {
  // One seed for all of a campaign, so that answers can be kept.
  if (!session.seed_option) session.seed_option = 1;
  KS_RETURN_IF_ERROR(OptionsOf(session, options));  // a bad one should not fail once an item
  KS_TRY(const std::vector<BenchItem> items, ItemsOf(session, options));
  const fs::path program = fs::read_symlink("/proc/self/exe");
  BenchCampaignOptions campaign;
  campaign.results = (options.output.empty() ? session.settings.folders.Cache() / "bench"
                                             : fs::path(options.output)) /
                     "results.jsonl";
  campaign.program = {program.string()};
  campaign.version = Version(program);
  campaign.options = {
      "--seed",   fmt::format("{}", *session.seed_option), "--gpu",    options.gpu,
      "--blocks", fmt::format("{}", options.blocks),       "--inputs", options.inputs};
  if (options.mode != "task")
    campaign.options.insert(campaign.options.end(), {"--mode", options.mode});
  if (options.no_libraries) campaign.options.emplace_back("--no-libraries");
  if (!options.allow.empty()) {
    campaign.options.insert(campaign.options.end(),
                            {"--allow", fmt::format("{}", fmt::join(options.allow, ","))});
  }
  if (!session.engine.empty()) {
    campaign.options.insert(campaign.options.end(), {"--engine", session.engine});
  }
  campaign.jobs = options.jobs;
  campaign.timeout = std::chrono::seconds(options.timeout);
  const Interrupt interrupt;
  campaign.stop = &Interrupt::flag();
  const std::unique_ptr<Progress> progress = session.MakeProgress();
  KS_TRY(BenchCampaignOutcome outcome,
         RunBenchCampaign(items, campaign, session.files, session.processes, *progress));
  *missing = outcome.missing;
  return std::move(outcome.results);
}

ExitCode ExitOf(const std::vector<BenchResult>& results, size_t missing) {
  bool all = missing == 0;
  for (const BenchResult& each : results) {
    if (each.verdict == "refuted") return kExitRefuted;
    all = all && each.verified();
  }
  return all ? kExitOk : kExitInconclusive;
}

Result<ExitCode> RunBench(Session& session, Options options) {
  if (options.second.empty()) {
    options.candidate = options.first;
  } else {
    if (!options.task.empty()) return InvalidInput("bench has its task twice");
    options.task = options.first;
    options.candidate = options.second;
  }
  if (options.suite != options.candidate.empty()) {
    return InvalidInput("bench needs either a candidate (or a folder of them) or --suite");
  }
  if (!options.suite && options.task.empty()) {
    return InvalidInput("bench needs a task: kernelsmith bench TASK CANDIDATE");
  }
  size_t missing = 0;
  std::error_code error;
  const bool many = options.suite || fs::is_directory(options.candidate, error);
  if (many && options.final_build) {
    return InvalidInput("--final is for one candidate: it takes minutes");
  }
  KS_TRY(const std::vector<BenchResult> results,
         many ? BenchMany(session, options, &missing) : BenchOne(session, options));
  std::optional<RealComparison> real;
  if (options.final_build && results.front().verified()) {
    KS_TRY(real, FinalBuild(session, options.candidate));
  }
  if (!options.csv.empty()) {
    KS_RETURN_IF_ERROR(session.files.Write(options.csv, BenchCsv(results)));
  }
  if (!options.html.empty()) {
    KS_RETURN_IF_ERROR(session.files.Write(options.html, BenchHtml(results)));
  }
  if (session.json) {
    nlohmann::json document = BenchJson(results);
    document["missing"] = missing;
    if (real) document["real_headers"] = ToJson(*real);
    session.PrintJson(document);
  } else {
    session.out << BenchText(results, session.ColorOut());
    if (real) session.out << ToText(*real);
    if (missing > 0) {
      session.out << fmt::format("stopped: {} not done; the same command goes on with them\n",
                                 missing);
    }
  }
  // Whatever was verified is not what users would run.
  if (real && !real->differences.empty()) return kExitInconclusive;
  return ExitOf(results, missing);
}

}  // namespace

void AddBench(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "bench", "Verdict and time of a candidate, a folder of them, or the bundled kernels");
  command->fallthrough();
  command->footer(
      "Times are estimated (kernelsmith estimate), at every shape of the task's timing group; the\n"
      "speed is the geometric mean over them, over PyTorch's eager mode by the same model. A\n"
      "candidate that is not verified gets no time. A folder or the suite runs candidates as\n"
      "processes of their own and keeps answers in OUTPUT/results.jsonl: a run that was stopped\n"
      "(ctrl-C) goes on there; what changed (candidate, task file, options, program) is asked\n"
      "again. With --suite, --direction and --dtype choose among the bundled kernels.\n"
      "Exit code: 0 all verified, 1 one refuted, 3 otherwise.");
  auto options = std::make_shared<Options>();
  command->add_option("TASK", options->first,
                      "The task, as --task takes it; leave it out if --task names it");
  command->add_option("CANDIDATE", options->second, "A .cu file, or a folder of them");
  AddTaskOption(*command, options->task);
  command->add_flag("--suite", options->suite, "The bundled kernels, each with its task");
  command->add_option("--kernels", options->kernels, "Folder of TASK/NAME.cu for --suite")
      ->capture_default_str();
  command->add_option("--only", options->only, "Only candidates with this in their name");
  AddDirection(*command, options->direction);
  AddDtype(*command, options->dtype);
  AddMode(*command, options->mode);
  AddGpu(*command, options->gpu);
  command->add_option("--blocks", options->blocks, "Blocks of a launch to watch; 0: all")
      ->capture_default_str();
  command
      ->add_option("--inputs", options->inputs,
                   "What decides, as for verify: the task's own or structured inputs")
      ->check(CLI::IsMember({"task", "structured"}))
      ->capture_default_str();
  command->add_flag("--no-libraries", options->no_libraries,
                    "Refute candidates that delegate to ATen or cuBLAS");
  command->add_flag("--final", options->final_build,
                    "Build a verified candidate with PyTorch's own headers, too, and compare its "
                    "kernels; takes minutes");
  AddAllow(*command, options->allow);
  command->add_option("--csv", options->csv, "Write a table with one line a shape to this file");
  command->add_option("--html", options->html, "Write a page to this file");
  command->add_option("--output", options->output,
                      "Folder for the answers of a folder or the suite");
  command->add_option("--jobs", options->jobs, "Candidates at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--timeout", options->timeout, "Seconds for one candidate of many")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command->callback([&session, options] {
    session.action = [&session, options] { return RunBench(session, *options); };
  });
}

}  // namespace kernelsmith
