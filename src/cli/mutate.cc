// `kernelsmith mutate CANDIDATE`: wrong variants of a right kernel.
#include "mutate/mutate.h"

#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/judge_tools.h"
#include "compile/compile.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string candidate;
  size_t count = 0;
  std::vector<std::string> operators;
  std::string output;
  bool list = false;
};

nlohmann::json ToJson(const mutate::Mutation& mutation, const std::string& source,
                      const std::string& state) {
  return {{"name", mutation.name},
          {"operator", mutation.operator_name},
          {"line", mutation.line},
          {"column", mutation.column},
          {"where", mutation.device ? "device" : "host"},
          {"diff", mutate::Diff(source, mutation)},
          {"state", state}};
}

Result<ExitCode> RunMutate(Session& session, const Options& options) {
  KS_TRY(const std::string source, session.files.Read(options.candidate));
  KS_TRY(const std::vector<mutate::Mutation> all, mutate::FindMutations(source, options.operators));
  // The same seed, the same choice; without one the choice is the same every time.
  const uint64_t seed = session.seed_option.value_or(1);
  const std::vector<mutate::Mutation> chosen = mutate::Choose(all, options.count, seed);
  const bool compile = !options.list;
  CandidateCompiler compiler = MakeCompiler(session);
  std::string right;
  fs::path folder = options.output;
  if (compile) {
    KS_TRY(const CompiledCandidate candidate, compiler.Compile(options.candidate, {}));
    right = mutate::NormalisePtx(candidate.ptx);
    if (folder.empty())
      folder = fs::temp_directory_path() / fmt::format("kernelsmith-mutate-{:x}", seed);
    KS_RETURN_IF_ERROR(session.files.MakeDirectories(folder));
  }
  const std::unique_ptr<Progress> progress = session.MakeProgress();
  if (compile) progress->Begin("mutate", chosen.size());
  nlohmann::json rows = nlohmann::json::array();
  std::string text;
  size_t made = 0, identical = 0, uncompilable = 0;
  const std::string stem = fs::path(options.candidate).stem().string();
  for (size_t i = 0; i < chosen.size(); ++i) {
    const mutate::Mutation& each = chosen[i];
    std::string state = "made";
    if (compile) {
      const fs::path path = folder / fmt::format("{}.{}.cu", stem, each.name);
      KS_RETURN_IF_ERROR(session.files.Write(path, mutate::Apply(source, each)));
      const Result<CompiledCandidate> mutant = compiler.Compile(path, {});
      if (!mutant.ok()) {
        if (mutant.error().kind() != ErrorKind::kInvalidInput) return mutant.error();
        state = "uncompilable";
      } else if (each.device && mutate::NormalisePtx(mutant->ptx) == right) {
        state = "identical";
      }
      std::error_code ignored;
      if (state != "made" || options.output.empty()) fs::remove(path, ignored);
    }
    made += state == "made" ? 1 : 0;
    identical += state == "identical" ? 1 : 0;
    uncompilable += state == "uncompilable" ? 1 : 0;
    if (compile) progress->Update(i + 1, each.name);
    rows.push_back(ToJson(each, source, state));
    if (state == "made") text += fmt::format("{}\n{}", each.name, mutate::Diff(source, each));
  }
  if (compile) progress->End();
  const nlohmann::json document = {{"candidate", options.candidate}, {"seed", seed},
                                   {"possible", all.size()},         {"made", made},
                                   {"identical", identical},         {"uncompilable", uncompilable},
                                   {"mutants", std::move(rows)}};
  if (!options.output.empty() && compile) {
    KS_RETURN_IF_ERROR(session.files.Write(folder / "mutants.json", document.dump(1) + "\n"));
  }
  if (session.json) {
    session.PrintJson(document);
    return kExitOk;
  }
  session.out << text;
  if (compile) {
    session.out << fmt::format(
        "{} mutants of {} possible; {} more have the same PTX, {} don't compile\n", made,
        all.size(), identical, uncompilable);
  } else {
    session.out << fmt::format("{} of {} possible mutants\n", made, all.size());
  }
  return kExitOk;
}

}  // namespace

void AddMutate(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand("mutate", "Make wrong variants of a right kernel");
  command->fallthrough();
  std::string footer = "Operators:\n";
  for (const mutate::OperatorInfo& each : mutate::Operators()) {
    footer += fmt::format("  {:<22} {}\n", each.name, each.what);
  }
  command->footer(footer + "Mutants whose PTX is the same as the original's are left out.");
  auto options = std::make_shared<Options>();
  command->add_option("candidate", options->candidate, "A .cu file that is right")->required();
  command
      ->add_option("--count", options->count,
                   "The most mutants to make, all kinds in turn (0: all)")
      ->capture_default_str();
  command->add_option("--operators", options->operators, "Only these, with commas between")
      ->delimiter(',');
  command->add_option("--output", options->output, "Folder for the mutants and mutants.json");
  command->add_flag("--list", options->list, "Only show what is possible; nothing is compiled");
  command->callback([&session, options] {
    session.action = [&session, options] { return RunMutate(session, *options); };
  });
}

}  // namespace kernelsmith
