// From a candidate to its outputs: compile, trace, run on the virtual GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "compile/compile.h"
#include "device/observable_device.h"
#include "plan/trace.h"
#include "support/rng.h"
#include "support/testing/real_settings.h"

namespace kernelsmith {
namespace {

TEST(ThinPath, Softmax) {
  SystemProcessRunner processes;
  DiskFileSystem files;
  ToolFinder tools(processes, files, RealSettings().tools, KS_SOURCE_DIR);
  CandidateCompiler compiler(files, processes, tools, {});
  const auto candidate =
      compiler.Compile(KS_SOURCE_DIR "/tests/candidates/softmax_rows.cu",
                       {.cache = std::filesystem::temp_directory_path() / "ks-thin-path"});
  ASSERT_TRUE(candidate.ok()) << candidate.error().Format();

  const int64_t rows = 5;
  const int64_t columns = 300;
  Rng rng(7);
  HostTensor x = MakeHostTensor(DType::kFloat32, {rows, columns});
  for (int64_t i = 0; i < x.count(); ++i) x.set(i, rng.Normal());
  const std::vector<CallArgument> arguments{CallArgument::Tensor("x", x)};
  const auto traced = Trace(*candidate, arguments, {.tracer = KS_TRACER_PROGRAM}, processes);
  ASSERT_TRUE(traced.ok()) << traced.error().Format();
  ASSERT_TRUE(traced->plan.has_value())
      << (traced->findings.empty() ? "" : traced->findings[0].message) << traced->printed;
  EXPECT_EQ(traced->plan->steps.size(), 1u);

  auto device = MakeVirtualDevice();
  ASSERT_TRUE(device.ok());
  const auto outcome = (*device)->Run(
      {.plan = &*traced->plan, .ptx = candidate->ptx, .inputs = FlattenTensors(arguments)});
  ASSERT_TRUE(outcome.ok()) << outcome.error().Format();
  ASSERT_FALSE(outcome->failure.has_value()) << outcome->failure->message;
  ASSERT_EQ(outcome->outputs.size(), 1u);
  EXPECT_FALSE(outcome->input_changed[0]);
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) sum += std::exp(x.at(r * columns + c));
    for (int64_t c = 0; c < columns; ++c) {
      EXPECT_FALSE(outcome->unwritten[0][static_cast<size_t>(r * columns + c)]);
      EXPECT_NEAR(outcome->outputs[0].at(r * columns + c), std::exp(x.at(r * columns + c)) / sum,
                  1e-6);
    }
  }
}

}  // namespace
}  // namespace kernelsmith
