#include "support/settings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace kernelsmith {
namespace {

using Variables = std::map<std::string, std::string>;

Settings Read(const Variables& variables, Status& problems) {
  return SettingsFrom(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      problems);
}

Settings ReadWell(const Variables& variables) {
  Status problems;
  Settings settings = Read(variables, problems);
  EXPECT_TRUE(problems.ok()) << problems.error().Format();
  return settings;
}

TEST(Settings, DefaultsWithoutVariables) {
  const Settings settings = ReadWell({});
  EXPECT_EQ(settings.engine.engine, Engine::kAuto);
  EXPECT_FALSE(settings.engine.stream_bytes.has_value());
  EXPECT_EQ(settings.runtime.patience.count(), 1000);
  EXPECT_FALSE(settings.runtime.visible_devices.has_value());
  EXPECT_EQ(settings.folders.Cache(), "/tmp/.cache/kernelsmith");
}

TEST(Settings, OfEveryKind) {
  const Settings settings = ReadWell({{"KERNELSMITH_ENGINE", "jit"},
                                      {"KERNELSMITH_VERBOSE", "1"},
                                      {"KERNELSMITH_QUIET", "0"},
                                      {"KERNELSMITH_CHECKS", "full"},
                                      {"KERNELSMITH_STREAM_BYTES", "0"},
                                      {"KERNELSMITH_WATCHDOG_S", "7"},
                                      {"KERNELSMITH_NVCC", "/opt/nvcc"}});
  EXPECT_EQ(settings.engine.engine, Engine::kJit);
  EXPECT_TRUE(settings.engine.verbose);
  EXPECT_FALSE(settings.runtime.quiet);
  EXPECT_TRUE(settings.engine.full_checks);
  EXPECT_EQ(settings.engine.stream_bytes, 0u);
  EXPECT_EQ(settings.runtime.watchdog, std::chrono::seconds(7));
  EXPECT_EQ(settings.tools.nvcc, "/opt/nvcc");
}

TEST(Settings, KeysAreAskedForByName) {
  const Variables variables = {{"OPENAI_API_KEY", "k"}};
  Status problems;
  const Settings settings = Read(variables, problems);
  EXPECT_EQ(settings.key("OPENAI_API_KEY"), "k");
  EXPECT_EQ(settings.key("ANTHROPIC_API_KEY"), "");
}

TEST(Settings, AnEmptyVariableIsNone) {
  const Settings settings = ReadWell({{"KERNELSMITH_ENGINE", ""}, {"CUDA_VISIBLE_DEVICES", ""}});
  EXPECT_EQ(settings.engine.engine, Engine::kAuto);
  EXPECT_EQ(settings.runtime.visible_devices, "") << "CUDA hides all devices then";
}

TEST(Settings, ValuesThatMakeNoSenseAreAllNamedAndLeaveTheDefault) {
  Status problems;
  const Settings settings = Read({{"KERNELSMITH_ENGINE", "fast"},
                                  {"KERNELSMITH_THREADS", "-1"},
                                  {"KERNELSMITH_STREAM_BYTES", "1k"},
                                  {"KERNELSMITH_VERBOSE", "yes\x1b"},
                                  {"KERNELSMITH_ISA", "avx2"},
                                  {"KERNELSMITH_GPU", "t4"}},
                                 problems);
  ASSERT_FALSE(problems.ok());
  std::string all;
  for (const Diagnostic& each : problems.error().diagnostics()) all += each.message + "\n";
  EXPECT_EQ(all,
            "KERNELSMITH_ENGINE must be auto, jit or interpreter, not 'fast'\n"
            "KERNELSMITH_THREADS must be a number of at least 0, not '-1'\n"
            "KERNELSMITH_VERBOSE must be 1 or 0, not 'yes\\x1b'\n"
            "KERNELSMITH_ISA must be base or native, not 'avx2'\n"
            "KERNELSMITH_STREAM_BYTES must be a number of at least 0, not '1k'\n");
  EXPECT_EQ(settings.engine.engine, Engine::kAuto);
  EXPECT_EQ(settings.engine.threads, 0u);
  EXPECT_EQ(settings.runtime.gpu, "t4") << "the others count";
}

TEST(Settings, FoldersOfTheUser) {
  EXPECT_EQ(ReadWell({{"HOME", "/home/u"}}).folders.Cache(), "/home/u/.cache/kernelsmith");
  EXPECT_EQ(ReadWell({{"HOME", "/home/u"}, {"XDG_CACHE_HOME", "/c"}}).folders.Cache(),
            "/c/kernelsmith");
  EXPECT_EQ(ReadWell({{"XDG_CACHE_HOME", "/c"}, {"KERNELSMITH_CACHE", "/k"}}).folders.Cache(),
            "/k");
  EXPECT_EQ(ReadWell({{"HOME", "/home/u"}, {"XDG_DATA_HOME", "relative"}}).folders.UserData(),
            "/home/u/.local/share/kernelsmith");
  EXPECT_EQ(ReadWell({{"XDG_DATA_HOME", "/d"}}).folders.UserData(), "/d/kernelsmith");
}

// A child that reads what its parent sets has the parent's settings.
TEST(Settings, GoToChildren) {
  EngineSettings engine;
  engine.engine = Engine::kInterpreter;
  engine.parallel_atomics = true;
  engine.verbose = true;
  const EngineSettings read = ReadWell(VariablesOf(engine)).engine;
  EXPECT_EQ(read.engine, Engine::kInterpreter);
  EXPECT_TRUE(read.parallel_atomics);
  EXPECT_TRUE(read.verbose);
  EXPECT_FALSE(ReadWell(VariablesOf({})).engine.verbose);
}

TEST(Settings, EveryVariableHasOneRow) {
  std::set<std::string> seen;
  for (const Setting& setting : AllSettings()) {
    EXPECT_TRUE(seen.insert(setting.variable).second) << setting.variable;
  }
}

TEST(Settings, AreDocumented) {
  std::string table =
      "| variable | values | default | who reads it | meaning |\n|---|---|---|---|---|\n";
  for (const Setting& setting : AllSettings()) {
    table += fmt::format("| `{}` | {} | {} | {} | {} |\n", setting.variable, setting.values,
                         setting.otherwise, setting.readers, setting.meaning);
  }
  std::ifstream in(KS_SETTINGS_DOCUMENT);
  std::string documented;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("|")) documented += line + "\n";
  }
  EXPECT_EQ(documented, table) << "the table in docs/settings.md should be\n" << table;
}

}  // namespace
}  // namespace kernelsmith
