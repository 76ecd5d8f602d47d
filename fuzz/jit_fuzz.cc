// ks_jit_fuzz: random kernels under the interpreter and as compiled code; both must agree bit for
// bit. Exit code 1: they did not.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

#include "campaign.h"
#include "generator.h"
#include "shrink.h"

namespace kernelsmith::fuzz {
namespace {

// One instruction is replaced by another before compiled code sees it; the fuzzer must notice.
// The last one changes nothing, and nothing may be found.
constexpr std::pair<const char*, const char*> kBreakages[] = {
    {"setp.lt.s32 %p", "setp.le.s32 %p"},
    {"xor.b32 %r", "or.b32 %r"},
    {"shr.u32 %r", "shr.s32 %r"},
    {"bar.sync", "bar.sync"},
};

Result<bool> SelfTest(uint64_t seed) {
  bool good = true;
  for (const auto& [from, to] : kBreakages) {
    const bool harmless = std::string_view(from) == to;
    CampaignOptions options{.seed = seed,
                            .seconds = 400,
                            .kernels = harmless ? 2u : 400u,
                            .most_findings = 1,
                            .breakage = Breakage{from, to},
                            .quiet = true};
    KS_TRY(const CampaignResult result, RunCampaign(options));
    if (harmless) {
      fmt::print("{} for {}: {} differences in {} kernels\n", to, from, result.findings.size(),
                 result.kernels);
      good = good && result.findings.empty();
      continue;
    }
    if (result.findings.empty()) {
      fmt::print("{} for {}: not found in {} kernels\n", to, from, result.kernels);
      good = false;
      continue;
    }
    const Program& program = result.findings[0].program;
    const bool named = program.Text().find(from) != std::string::npos;
    fmt::print("{} for {}: found in kernel {}, shrunk to {} instructions{}\n", to, from,
               result.kernels + 1, CountInstructions(program),
               named ? "" : ", which do not have it");
    good = good && named;
  }
  return good;
}

int Run(int argc, char** argv) {
  CLI::App app("Random kernels under the interpreter and as compiled code");
  CampaignOptions options;
  std::string output = ".";
  std::string from;
  std::string to;
  uint64_t show = 0;
  bool self_test = false;
  app.add_option("--seconds", options.seconds, "how long");
  app.add_option("--kernels", options.kernels, "at most so many kernels");
  app.add_option("--seed", options.seed, "of the first kernel; the next has the next number");
  app.add_option("--shapes", options.shapes, "block shapes of each kernel");
  app.add_option("--findings", options.most_findings, "stop after so many differences");
  app.add_option("--output", output, "folder for reproducers");
  app.add_option("--show", show, "print the kernel of this seed");
  app.add_flag("--self-test", self_test, "break instructions on purpose and look for them");
  CLI11_PARSE(app, argc, argv);
  if (show != 0) {
    const Program program = Generate(show);
    fmt::print("// {}\n{}", program.LaunchOptions(), program.Text());
    return 0;
  }
  if (self_test) {
    const auto good = SelfTest(options.seed);
    if (!good.ok()) fmt::print("{}\n", good.error().Format());
    return good.ok() && *good ? 0 : 1;
  }
  std::error_code failed;
  std::filesystem::create_directories(output, failed);
  if (failed) {
    fmt::print("{}: {}\n", output, failed.message());
    return 2;
  }
  const auto result = RunCampaign(options);
  if (!result.ok()) {
    fmt::print("{}\n", result.error().Format());
    return 2;
  }
  for (const Finding& finding : result->findings) {
    const std::string path = fmt::format("{}/jit_{}.ptx", output, finding.program.seed);
    std::ofstream(path) << Reproducer(finding);
    fmt::print("{}: {} instructions: {}\n", path, CountInstructions(finding.program),
               finding.difference);
  }
  fmt::print(
      "{} kernels (seeds {} to {}), {} launches, {} compiled, {} sliced, {} with faults, {:.0f} s, "
      "{:.0f} of "
      "a processor: {:.1f} "
      "kernels/s, {:.2f} million lane instructions/s, {:.0f} ms compiling a launch; {} "
      "differences\n",
      result->kernels, options.seed, result->next_seed - 1, result->launches, result->compiled,
      result->sliced, result->faulted, result->seconds, result->processor_seconds,
      static_cast<double>(result->kernels) / result->seconds,
      static_cast<double>(result->lane_instructions) / 1e6 / result->seconds,
      result->compile_ms / static_cast<double>(std::max<uint64_t>(result->launches, 1)),
      result->findings.size());
  return result->findings.empty() ? 0 : 1;
}

}  // namespace
}  // namespace kernelsmith::fuzz

int main(int argc, char** argv) { return kernelsmith::fuzz::Run(argc, argv); }
