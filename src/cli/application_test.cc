#include "cli/application.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "support/testing/fake_clock.h"
#include "support/testing/fake_file_system.h"
#include "support/testing/fake_process_runner.h"

namespace kernelsmith {
namespace {

using testing::HasSubstr;

// One run of the command line in a world without any tool.
struct Invocation {
  explicit Invocation(const std::vector<std::string>& arguments) {
    FakeClock clock;
    FakeFileSystem files;
    FakeProcessRunner processes;
    ToolFinder tools(processes, files, ToolSettings{}, "/project");
    std::ostringstream out_stream;
    std::ostringstream err_stream;
    Session session{.out = out_stream,
                    .err = err_stream,
                    .out_is_terminal = false,
                    .err_is_terminal = false,
                    .clock = clock,
                    .files = files,
                    .processes = processes,
                    .tools = tools};
    code = RunApplication(arguments, session);
    out = out_stream.str();
    err = err_stream.str();
  }
  int code;
  std::string out;
  std::string err;
};

TEST(Application, HelpShowsTheFlowAndTheExitCodes) {
  const Invocation run({"--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("model.py"));
  EXPECT_THAT(run.out, HasSubstr("3  inconclusive, unsupported"));
  EXPECT_THAT(run.out, HasSubstr("doctor"));
}

TEST(Application, NoCommandPrintsHelpAsAUsageError) {
  const Invocation run({});
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.out, HasSubstr("Usage: kernelsmith"));
}

TEST(Application, HelpAllCoversEveryCommand) {
  const Invocation run({"--help-all"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("bash, zsh or fish"));
}

TEST(Application, ErrorsAreOneLine) {
  const Invocation run({"doctor", "--seed", "many"});
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1);
  EXPECT_THAT(run.err, HasSubstr("--seed"));
}

TEST(Application, ErrorsAreJsonToo) {
  const Invocation run({"--json", "doctr"});
  EXPECT_EQ(run.code, 2);
  const nlohmann::json document = nlohmann::json::parse(run.out);
  EXPECT_EQ(document["error"]["exit_code"], 2);
  EXPECT_THAT(document["error"]["diagnostics"][0]["message"].get<std::string>(),
              HasSubstr("did you mean 'doctor'?"));
}

TEST(Application, DoctorWithoutAnyToolSaysWhatEachCosts) {
  const Invocation run({"doctor"});
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.out,
              HasSubstr("missing nvcc        without it: candidates (.cu) can't be compiled"));
  EXPECT_THAT(run.out, HasSubstr("missing torch"));
  const nlohmann::json document = nlohmann::json::parse(Invocation({"doctor", "--json"}).out);
  EXPECT_EQ(document["complete"], false);
  EXPECT_EQ(document["tools"]["nvcc"]["found"], false);
}

TEST(Application, CompletionKnowsCommandsAndOptions) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Invocation run({"completion", shell});
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, HasSubstr("doctor"));
    EXPECT_THAT(run.out, HasSubstr("seed"));
  }
  EXPECT_EQ(Invocation({"completion", "csh"}).code, 2);
}

TEST(Application, ColoursOnlyWhereAskedFor) {
  EXPECT_EQ(Invocation({"doctor"}).out.find('\033'), std::string::npos);
  EXPECT_NE(Invocation({"doctor", "--color", "always"}).out.find('\033'), std::string::npos);
}

}  // namespace
}  // namespace kernelsmith
