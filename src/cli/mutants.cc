// `kernelsmith mutants`: how good is the verifier? Runs it over right kernels and their mutants.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "cli/commands.h"
#include "cli/judge_tools.h"
#include "cli/task_options.h"
#include "cli/task_store.h"
#include "mutate/campaign.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string kernels = KS_PROJECT_DIR "/kernels";
  std::vector<std::string> only;
  DirectionChoice direction;
  size_t per_kernel = 16;
  std::vector<std::string> operators;
  std::string output;
  std::string equivalents;
  int jobs = 1;
  int timeout = 300;
  int minutes = 0;
  std::vector<std::string> outside;
  std::vector<std::string> models;
  std::vector<std::string> model_options;
  std::vector<std::string> verify_options;
};

// As one word of the shell.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

Result<ExitCode> RunMutants(Session& session, const Options& options) {
  KS_TRY(std::vector<mutate::CorpusKernel> kernels,
         mutate::ReadCorpus(session.files, options.kernels));
  if (!options.only.empty()) {
    std::erase_if(kernels, [&](const mutate::CorpusKernel& kernel) {
      return std::none_of(options.only.begin(), options.only.end(), [&](const std::string& part) {
        return kernel.name.find(part) != std::string::npos;
      });
    });
  }
  if (options.direction.given) {
    std::erase_if(kernels, [&](const mutate::CorpusKernel& kernel) {
      return kernel.backward != options.direction.backward();
    });
  }
  if (kernels.empty()) return InvalidInput(fmt::format("no kernels in {}", options.kernels));
  const fs::path equivalents = options.equivalents.empty()
                                   ? fs::path(options.kernels) / "equivalent_mutants.txt"
                                   : fs::path(options.equivalents);
  KS_TRY(const auto reasons, mutate::ReadEquivalents(session.files, equivalents));

  mutate::CampaignOptions campaign;
  campaign.output = options.output.empty() ? session.settings.folders.Cache() / "mutants"
                                           : fs::path(options.output);
  campaign.per_kernel = options.per_kernel;
  campaign.operators = options.operators;
  campaign.seed = session.seed_option.value_or(1);
  campaign.jobs = options.jobs;
  campaign.timeout = std::chrono::seconds(options.timeout);
  campaign.limit = std::chrono::minutes(options.minutes);
  campaign.verifier = {fs::read_symlink("/proc/self/exe").string()};
  campaign.verifier_options = options.verify_options;
  for (const std::string& each : options.outside) {
    const size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0) {
      return InvalidInput(fmt::format("--outside '{}': expected NAME=COMMAND", each));
    }
    campaign.outside.push_back({each.substr(0, equals), each.substr(equals + 1)});
  }
  for (const std::string& model : options.models) {
    std::string command = fmt::format("{} ask-verifier --quiet --model {}",
                                      Quoted(campaign.verifier.front()), Quoted(model));
    for (const std::string& option : options.model_options) command += " " + Quoted(option);
    // Without the address: which port a server has is nobody's business.
    campaign.outside.push_back({model.substr(0, model.find('@')), command});
  }
  CandidateCompiler compiler = MakeCompiler(session);
  const std::unique_ptr<Progress> progress = session.MakeProgress();
  KS_TRY(const std::vector<mutate::Judged> judged,
         mutate::RunCampaign(kernels, campaign, session.files, session.processes, compiler,
                             session.clock, *progress));
  const mutate::Summary summary = mutate::Summarise(judged, reasons);
  const nlohmann::json document = ToJson(summary);
  KS_RETURN_IF_ERROR(session.files.Write(campaign.output / "report.json", document.dump(1) + "\n"));
  KS_RETURN_IF_ERROR(session.files.Write(campaign.output / "report.txt", ToText(summary)));
  if (session.json) {
    session.PrintJson(document);
  } else {
    session.out << ToText(summary);
  }
  // A right kernel that is refuted is the worst that a verifier can do.
  return summary.verifier.right_refuted > 0 ? kExitRefuted : kExitOk;
}

}  // namespace

void AddMutants(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("mutants", "Measure the verifier on right kernels and their mutants");
  command->fallthrough();
  command->footer(
      "Every answer is kept in OUTPUT/results.jsonl; a run that was stopped goes on there. The\n"
      "report is also in OUTPUT/report.txt and report.json. Mutants that are called right count\n"
      "as missed unless KERNELS/equivalent_mutants.txt has a reason: 'KERNEL MUTANT: reason'.\n"
      "Exit code: 1 if a right kernel was refuted.");
  auto options = std::make_shared<Options>();
  command->add_option("--kernels", options->kernels, "Folder of right kernels: TASK/NAME.cu")
      ->capture_default_str();
  command->add_option("--only", options->only, "Only kernels with this in their name");
  AddDirection(*command, options->direction);
  command->add_option("--per-kernel", options->per_kernel, "Mutants of each kernel (0: all)")
      ->capture_default_str();
  command->add_option("--operators", options->operators, "Only these, with commas between")
      ->delimiter(',');
  command->add_option("--output", options->output, "Folder for mutants and results");
  command->add_option("--equivalents", options->equivalents, "File of mutants that are right");
  command->add_option("--jobs", options->jobs, "Verifications at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--timeout", options->timeout, "Seconds for one verification")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command->add_option("--minutes", options->minutes, "Begin nothing new after this (0: no limit)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--outside", options->outside,
                      "NAME=COMMAND: another verifier; gets the file's path, prints yes or no");
  command->add_option("--model", options->models,
                      "A language model as one more verifier (kernelsmith ask-verifier)");
  command->add_option("--model-option", options->model_options,
                      "Handed to ask-verifier, e.g. --model-option=--no-reflection");
  command->add_option("--verify-option", options->verify_options,
                      "Handed to every verification, e.g. --verify-option=--draws=1");
  command->callback([&session, options] {
    session.action = [&session, options] { return RunMutants(session, *options); };
  });
}

}  // namespace kernelsmith
