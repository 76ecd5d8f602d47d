#include "support/subprocess.h"

#include <gtest/gtest.h>

#include <thread>

namespace kernelsmith {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Result<ProcessResult> Shell(const std::string& script, ProcessRequest request = {}) {
  request.argv = {"/bin/sh", "-c", script};
  return SystemProcessRunner().Run(request);
}

TEST(Subprocess, CapturesOutputErrorsAndExitCode) {
  const auto result = Shell("echo out; echo err >&2; exit 7");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_EQ(result->signal, 0);
}

TEST(Subprocess, SignalsAreToldAsShellsTellThem) {
  const auto result = Shell("kill -9 $$");
  EXPECT_EQ(result->signal, 9);
  EXPECT_EQ(result->exit_code, 137);
}

TEST(Subprocess, FullPipesInAllDirectionsDoNotDeadlock) {
  // cat writes back while we write; both sides exceed a pipe's 64 KiB many times over.
  ProcessRequest request;
  request.input.assign(8 << 20, 'x');
  const auto result = Shell("tee /dev/stderr", request);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, request.input);
  EXPECT_EQ(result->err.size(), request.input.size());
}

TEST(Subprocess, ChildThatDoesNotReadItsInputIsFine) {
  ProcessRequest request;
  request.input.assign(8 << 20, 'x');
  EXPECT_EQ(Shell("exit 3", request)->exit_code, 3);
}

TEST(Subprocess, OutputIsLimitedButTheChildGoesOn) {
  ProcessRequest request;
  request.max_output = 1000;
  const auto result = Shell("head -c 10000000 /dev/zero; echo done >&2", request);
  EXPECT_EQ(result->out.size(), 1000u);
  EXPECT_TRUE(result->truncated);
  EXPECT_EQ(result->err, "done\n");
}

TEST(Subprocess, TimeoutKillsTheWholeGroup) {
  ProcessRequest request;
  request.timeout = milliseconds(200);
  const auto result = Shell("sleep 1000 & sleep 1000", request);
  EXPECT_TRUE(result->timed_out);
  EXPECT_EQ(result->signal, 9);
  EXPECT_LT(result->duration, seconds(20));
}

TEST(Subprocess, GrandchildWithThePipeIsNotWaitedFor) {
  const auto result = Shell("sleep 1000 & echo started");
  EXPECT_EQ(result->out, "started\n");
  EXPECT_FALSE(result->timed_out);
  EXPECT_LT(result->duration, seconds(20));
}

TEST(Subprocess, MissingProgramAndFolder) {
  SystemProcessRunner runner;
  const auto missing = runner.Run({.argv = {"no-such-program"}});
  EXPECT_EQ(missing.error().kind(), ErrorKind::kMissingTool);
  EXPECT_EQ(missing.error().message(), "can't run no-such-program: program not found");
  EXPECT_EQ(runner.Run({.argv = {"/etc/passwd"}}).error().message(),
            "can't run /etc/passwd: not executable");
  EXPECT_EQ(runner.Run({.argv = {"true"}, .directory = "/no/such/folder"}).error().kind(),
            ErrorKind::kInvalidInput);
  EXPECT_FALSE(runner.Run({}).ok());
}

TEST(Subprocess, EnvironmentAndDirectory) {
  ProcessRequest request;
  request.env = {{"KS_TEST", "a b"}};
  request.unset_env = {"HOME"};
  request.directory = "/";
  EXPECT_EQ(Shell("echo $KS_TEST ${HOME-none} $PWD", request)->out, "a b none /\n");
}

TEST(Subprocess, VariablesForAllChildrenYieldToTheRequest) {
  SystemProcessRunner runner;
  runner.SetForAll({{"KS_ONE", "1"}, {"KS_TWO", "1"}, {"KS_THREE", "1"}});
  const auto result = runner.Run({.argv = {"sh", "-c", "echo $KS_ONE $KS_TWO ${KS_THREE-none}"},
                                  .env = {{"KS_TWO", "2"}},
                                  .unset_env = {"KS_THREE"}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->out, "1 2 none\n");
}

TEST(Subprocess, RunsFromSeveralThreads) {
  std::vector<std::thread> threads;
  std::vector<std::string> outputs(8);
  for (size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&, i] { outputs[i] = Shell("echo " + std::to_string(i))->out; });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(outputs[i], std::to_string(i) + "\n");
}

// A worker in shell: noise on standard output must not be taken for a reply.
constexpr char kEcho[] =
    "while read line; do echo noise; echo warning >&2; echo \"got $line\" >&$KERNELSMITH_REPLY_FD; "
    "done";

Result<std::unique_ptr<LineWorker>> StartShell(const std::string& script) {
  return LineWorker::Start({.argv = {"/bin/bash", "-c", script}});
}

TEST(LineWorker, AnswersLineByLine) {
  auto worker = StartShell(kEcho);
  ASSERT_TRUE(worker.ok());
  EXPECT_EQ(*(*worker)->Ask("one", seconds(20)), "got one");
  EXPECT_EQ(*(*worker)->Ask("two", seconds(20)), "got two");
  EXPECT_NE((*worker)->error_output().find("warning"), std::string::npos);
}

TEST(LineWorker, DeathIsAnErrorNotAHang) {
  auto worker = StartShell("read line; echo oops >&2; exit 1");
  const auto reply = (*worker)->Ask("x", seconds(20));
  EXPECT_EQ(reply.error().message(), "the worker ended without an answer");
  EXPECT_FALSE((*worker)->alive());
  EXPECT_EQ((*worker)->error_output(), "oops\n");
  EXPECT_FALSE((*worker)->Ask("y", seconds(1)).ok());
}

TEST(LineWorker, SilenceIsATimeout) {
  auto worker = StartShell("sleep 1000");
  EXPECT_EQ((*worker)->Ask("x", milliseconds(100)).error().kind(), ErrorKind::kTimeout);
  EXPECT_FALSE((*worker)->alive());
}

TEST(LineWorker, EndlessLineIsCutOff) {
  auto worker = StartShell("read line; cat /dev/zero >&$KERNELSMITH_REPLY_FD");
  EXPECT_FALSE((*worker)->Ask("x", seconds(20), 1 << 20).ok());
  EXPECT_FALSE((*worker)->alive());
}

}  // namespace
}  // namespace kernelsmith
