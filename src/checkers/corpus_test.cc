// The faulty kernels of tests/faulty/threads and their corrected twins: every defect is found at
// its line, nothing is said about the twins. The form is in docs/testing.md.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "checkers/determinism.h"
#include "checkers/race.h"
#include "checkers/suite.h"
#include "ptx/ptx.h"
#include "support/file_system.h"
#include "support/subprocess.h"
#include "support/testing/real_settings.h"
#include "support/tool_finder.h"
#include "vgpu/testing.h"

namespace kernelsmith::checkers {
namespace {

struct Case {
  std::string name;
  uint32_t blocks = 1;
  uint32_t threads = 128;
  bool cooperative = false;
  bool bad = false;
  std::string kind;  // expected
  int line = 0;
};

// Lines `KERNEL name(`, `// LAUNCH: blocks[xthreads] [cooperative]`, `... // EXPECT: kind`.
std::vector<Case> ReadCases(const std::string& path) {
  std::vector<Case> cases;
  Case next;
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("// LAUNCH: ")) {
      next = {};
      std::istringstream words(line.substr(11));
      std::string shape;
      std::string option;
      words >> shape >> option;
      next.blocks = static_cast<uint32_t>(std::stoul(shape));
      if (const size_t x = shape.find('x'); x != std::string::npos) {
        next.threads = static_cast<uint32_t>(std::stoul(shape.substr(x + 1)));
      }
      next.cooperative = option == "cooperative";
    } else if (line.starts_with("KERNEL ")) {
      Case made = next;
      made.name = line.substr(7, line.find('(') - 7);
      made.bad = made.name.ends_with("_bad");
      cases.push_back(made);
    } else if (const size_t at = line.find("// EXPECT: "); at != std::string::npos) {
      EXPECT_FALSE(cases.empty());
      cases.back().kind = line.substr(at + 11);
      cases.back().line = number;
    }
  }
  return cases;
}

// How a kernel is looked at: in several orders, or once, as compiled code or by the checkers alone.
enum class Look { kOrders, kScreened, kFull };

std::vector<Finding> FindingsOf(const std::shared_ptr<const ptx::Module>& module, const Case& test,
                                Look look, bool* screened = nullptr) {
  vgpu::VirtualGpu::Options options;
  options.watchdog = std::chrono::milliseconds(300);
  if (look != Look::kOrders) options.settings.engine = vgpu::Engine::kJit;
  options.settings.full_checks = look == Look::kFull;
  vgpu::TestGpu gpu(options);
  const auto loaded = vgpu::LoadedModule::Load({module}, gpu.memory(), test.name);
  EXPECT_TRUE(loaded.ok());
  if (!loaded.ok()) return {};
  std::vector<uint32_t> numbers(1 << 14);
  for (uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  struct {
    uint64_t a;
    uint64_t b;
    uint64_t n;
  } parameters{gpu.Buffer(numbers), gpu.Buffer(std::vector<uint32_t>(1 << 14)), test.threads};
  FindingSink sink;
  CheckerList list(sink);
  if (look == Look::kOrders) {
    list.Add(std::make_unique<RaceChecker>(sink, gpu.gpu()));
    list.Add(MakeSyncChecker(sink, gpu.gpu()));
  } else {
    AddCheckers(list, {"memory", "init", "race", "sync", "index"}, sink, gpu.gpu());
  }
  const vgpu::LaunchRequest request{
      .module = loaded->get(),
      .entry = test.name,
      .grid = {test.blocks, 1, 1},
      .block = {test.threads, 1, 1},
      .parameters = std::as_bytes(std::span(&parameters, 1)).first(20),
      .cooperative = test.cooperative,
      .observer = &list};
  const auto result = look == Look::kOrders ? LaunchInSeveralOrders(gpu.gpu(), request, sink)
                                            : gpu.gpu().Launch(request);
  EXPECT_TRUE(result.ok()) << test.name << (result.ok() ? "" : result.error().Format());
  if (screened != nullptr) *screened = result.ok() && result->screened;
  return sink.Findings();
}

std::string Describe(const Finding& finding) {
  return std::string(Name(finding.kind)) + " in line " + std::to_string(finding.place.source.line) +
         " and " + std::to_string(finding.other ? finding.other->source.line : 0) + ": " +
         finding.message;
}

class FaultyKernels : public ::testing::TestWithParam<const char*> {};

TEST_P(FaultyKernels, AreFoundAndTheirTwinsAreClean) {
  const std::string source = std::string(KS_SOURCE_DIR "/tests/faulty/threads/") + GetParam();
  const std::string ptx_file = std::string(KS_BUILD_DIR "/faulty_") + GetParam() + ".ptx";
  std::filesystem::create_directories(KS_BUILD_DIR);
  SystemProcessRunner processes;
  const DiskFileSystem files;
  ToolFinder tools(processes, files, RealSettings().tools, KS_SOURCE_DIR);
  const auto nvcc = tools.Nvcc();
  ASSERT_TRUE(nvcc.has_value());
  const std::string command = nvcc->path.string() +
                              " -ptx -lineinfo -std=c++17 -arch=compute_90 -o " + ptx_file + " " +
                              source + " 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(ptx_file);
  std::stringstream text;
  text << file.rdbuf();
  auto parsed = ptx::Parse(text.str(), ptx_file);
  ASSERT_TRUE(parsed.ok()) << parsed.error().Format();
  const auto module = std::make_shared<const ptx::Module>(*std::move(parsed));

  int faulty = 0;
  int found = 0;
  int twins = 0;
  int alarms = 0;
  int screened = 0;
  const auto describe = [](const std::vector<Finding>& findings) {
    std::string all;
    for (const Finding& finding : findings) {
      all += "\n  " + Describe(finding) + ", " + std::to_string(finding.count) + " times";
    }
    return all;
  };
  for (const Case& test : ReadCases(source)) {
    // Who leaves it to the screen must hear the same.
    bool silent = false;
    const std::string quick = describe(FindingsOf(module, test, Look::kScreened, &silent));
    EXPECT_EQ(describe(FindingsOf(module, test, Look::kFull)), quick) << test.name;
    screened += silent ? 1 : 0;
    const std::vector<Finding> findings = FindingsOf(module, test, Look::kOrders);
    const std::string all = describe(findings);
    if (!test.bad) {
      ++twins;
      alarms += findings.empty() ? 0 : 1;
      EXPECT_TRUE(findings.empty()) << test.name << " is right, but:" << all;
      continue;
    }
    ++faulty;
    bool hit = false;
    for (const Finding& finding : findings) {
      hit = hit || (Name(finding.kind) == test.kind &&
                    (finding.place.source.line == test.line ||
                     (finding.other && finding.other->source.line == test.line)));
    }
    found += hit ? 1 : 0;
    EXPECT_TRUE(hit) << test.name << ": no " << test.kind << " in line " << test.line << all;
  }
  EXPECT_GT(faulty, 0);
  std::printf(
      "%s: %d of %d defects found, %d alarms on %d twins; %d of both needed the screen only\n",
      GetParam(), found, faulty, alarms, twins, screened);
}

INSTANTIATE_TEST_SUITE_P(All, FaultyKernels,
                         ::testing::Values("shared.cu", "global.cu", "sync.cu", "async.cu"));

}  // namespace
}  // namespace kernelsmith::checkers
