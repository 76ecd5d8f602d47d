// The filter on tasks whose weakness is known by hand, and the whole suite against PyTorch.
#include "tasks/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "graph/evaluate.h"
#include "graph/graph.h"
#include "support/testing/real_settings.h"
#include "support/tool_finder.h"
#include "tasks/truncate.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// 16 times PyTorch's own RMS error or an eighth of an ulp of the terms: the shape of the verifier's
// rule, which stands above this folder.
bool Accepts(const OutputUnderTest& output) {
  double squares = 0;
  for (size_t i = 0; i < output.exact.size(); ++i) {
    squares += std::pow(output.torch[i] - output.exact[i], 2);
  }
  const double rms = std::sqrt(squares / double(std::max<size_t>(1, output.exact.size())));
  for (size_t i = 0; i < output.exact.size(); ++i) {
    const double terms = output.magnitude.empty() ? 0 : output.magnitude[i] * 1.5e-8;
    if (!(std::abs(output.got[i] - output.exact[i]) <= 16 * std::max(rms, terms))) return false;
  }
  return true;
}

class FilterTest : public testing::Test {
 protected:
  void SetUp() override {
    SystemProcessRunner processes;
    ToolFinder tools(processes, files_, RealSettings().tools, KS_PROJECT_DIR);
    const std::optional<Tool> python = tools.PythonWithTorch();
    ASSERT_TRUE(python) << "no Python with torch: run scripts/setup";
    TaskStoreOptions options;
    options.python = python->path;
    options.torch_version = python->version;
    options.bridge = fs::path(KS_PROJECT_DIR) / "python";
    options.suite = fs::path(KS_PROJECT_DIR) / "tasks";
    options.cache = KS_TEST_CACHE;
    store_ = std::make_unique<TaskStore>(options, files_);
  }

  TaskReport Check(const std::string& name) {
    const fs::path path =
        fs::path(KS_PROJECT_DIR) / "tests" / "tasks" / "fixtures" / "weak" / (name + ".py");
    const Result<Task> task = store_->Load(path.string());
    EXPECT_TRUE(task.ok()) << task.error().Format();
    const Result<TaskGraph> graph = store_->Export(*task, {});
    const Result<TaskCase> first = store_->Evaluate(*task, {}, 4);
    const Result<TaskCase> second = store_->Evaluate(*task, {}, 6);
    EXPECT_TRUE(graph.ok() && first.ok() && second.ok());
    Result<TaskReport> report =
        FilterTask(*graph, *ReadCase(*first), *ReadCase(*second), Accepts, 11);
    EXPECT_TRUE(report.ok()) << report.error().Format();
    return *std::move(report);
  }

  static std::vector<std::string> Messages(const TaskReport& report) {
    std::vector<std::string> messages;
    for (const TaskFinding& finding : report.findings) messages.push_back(finding.message);
    return messages;
  }

  // Our evaluation of every task of the suite against PyTorch's, in float64 and in float32.
  void CompareSuite(TaskDirection direction) {
    const Result<std::vector<fs::path>> paths = store_->List({});
    ASSERT_TRUE(paths.ok());
    EXPECT_GE(paths->size(), 37u);
    for (const fs::path& path : *paths) {
      const Result<Task> task = store_->Load(path.string());
      ASSERT_TRUE(task.ok()) << task.error().Format();
      if (std::find(task->directions.begin(), task->directions.end(), direction) ==
          task->directions.end()) {
        continue;
      }
      for (const char* group : {"quick", "hidden"}) {
        SCOPED_TRACE(task->name + " " + group);
        const TaskRequest request{.direction = direction,
                                  .configuration = *task->Find(direction, group),
                                  .dtype = "float32"};
        const Result<TaskGraph> exported = store_->Export(*task, request);
        ASSERT_TRUE(exported.ok()) << exported.error().Format();
        const Result<TaskCase> sample = store_->Evaluate(*task, request, 2);
        ASSERT_TRUE(sample.ok()) << sample.error().Format();
        const Result<CaseTensors> tensors = ReadCase(*sample);
        ASSERT_TRUE(tensors.ok());
        const Result<Graph> graph = ReadGraph(exported->file);
        ASSERT_TRUE(graph.ok()) << graph.error().Format();
        const Status known = CheckOperators(*graph);
        ASSERT_TRUE(known.ok()) << known.error().Format();
        Compare<double>(*graph, tensors->values, tensors->expected, 1e-11);
        Compare<float>(*graph, tensors->values, tensors->values, 3e-5);
      }
    }
  }

  template <typename T>
  void Compare(const Graph& graph, const TensorMap& values, const TensorMap& expected,
               double tolerance) {
    const auto inputs = GraphInputs<T>(graph, values);
    ASSERT_TRUE(inputs.ok()) << inputs.error().Format();
    const auto results = Evaluate<T>(graph, *inputs);
    ASSERT_TRUE(results.ok()) << results.error().Format();
    for (size_t o = 0; o < results->size(); ++o) {
      const std::string name = graph.OutputName(graph.outputs[o]);
      const HostTensor& want = expected.at(name);
      const Tensor<T>& got = (*results)[o];
      ASSERT_EQ(got.shape, want.shape) << name;
      double largest = 0, difference = 0;
      for (int64_t i = 0; i < want.count(); ++i) {
        largest = std::max(largest, std::abs(want.at(i)));
        difference = std::max(difference, std::abs(want.at(i) - static_cast<double>(got[i])));
      }
      const bool narrow = want.dtype == DType::kFloat16 || want.dtype == DType::kBfloat16;
      const double limit = !IsFloat(want.dtype) ? 0 : (narrow ? 1e-2 : tolerance) * (1 + largest);
      EXPECT_LE(difference, limit) << name;
    }
  }

  DiskFileSystem files_;
  std::unique_ptr<TaskStore> store_;
};

TEST_F(FilterTest, WeakTasksAreProvedWeak) {
  const TaskReport dead = Check("dead_input");
  EXPECT_TRUE(dead.weak());
  EXPECT_THAT(Messages(dead), Contains("no result depends on the input y"));
  EXPECT_THAT(dead.depends_on, ElementsAre("x"));

  const TaskReport parameter = Check("dead_parameter");
  EXPECT_TRUE(parameter.weak());
  EXPECT_THAT(Messages(parameter), Contains("no result depends on the parameter shift"));
  EXPECT_THAT(parameter.depends_on, ElementsAre("x", "weight"));

  const TaskReport constant = Check("constant_output");
  EXPECT_TRUE(constant.weak());
  EXPECT_THAT(Messages(constant), Contains("the results are the same for every input"));
  EXPECT_THAT(Messages(constant),
              Contains("a kernel that returns 'its own mean everywhere' passes"));

  const TaskReport zero = Check("zero_output");
  EXPECT_TRUE(zero.weak());
  EXPECT_THAT(Messages(zero), Contains("the results are the same for every input"));
  EXPECT_THAT(Messages(zero), Contains("a kernel that returns 'zeros' passes"));
}

TEST_F(FilterTest, RedundantWorkIsFound) {
  const TaskReport cancelled = Check("cancelled_term");
  EXPECT_FALSE(cancelled.weak());
  EXPECT_TRUE(cancelled.redundant());
  EXPECT_THAT(Messages(cancelled), ElementsAre("aten.sub.Tensor (cancelled_term.py:7) computes "
                                               "aten.mul.Tensor (cancelled_term.py:7) again"));

  const TaskReport duplicate = Check("duplicate_work");
  EXPECT_TRUE(duplicate.redundant());
  EXPECT_THAT(Messages(duplicate), ElementsAre("aten.div.Tensor (duplicate_work.py:8) computes "
                                               "aten.mean.dim (duplicate_work.py:7) again"));

  const TaskReport twice = Check("idempotent");
  EXPECT_THAT(Messages(twice), ElementsAre("aten.relu.default (idempotent.py:7) computes "
                                           "aten.relu.default (idempotent.py:7) again"));

  const TaskReport one = Check("constant_subgraph");
  EXPECT_TRUE(one.weak());
  EXPECT_THAT(Messages(one), Contains("no result depends on the input y"));
  EXPECT_THAT(Messages(one), Contains(HasSubstr("gives the same numbers for every input")));
}

TEST_F(FilterTest, ASmallScaleIsNoWeakness) {
  const TaskReport tiny = Check("tiny_scale");
  EXPECT_FALSE(tiny.weak()) << Messages(tiny)[0];
  EXPECT_THAT(tiny.findings, IsEmpty());
  ASSERT_EQ(tiny.scales.size(), 1u);
  EXPECT_LT(tiny.scales[0].rms, 1e-6);
}

TEST_F(FilterTest, ForwardSuiteAgreesWithPyTorch) { CompareSuite(TaskDirection::kForward); }
TEST_F(FilterTest, BackwardSuiteAgreesWithPyTorch) { CompareSuite(TaskDirection::kBackward); }

TEST(TruncateReductions, CutsAQuarterOfTheReducedAxis) {
  const json document = json::parse(R"({
    "placeholders": [{"name": "a", "shape": [2, 8], "dtype": "float32", "strides": [8, 1]},
                     {"name": "b", "shape": [8, 3], "dtype": "float32", "strides": [3, 1]}],
    "nodes": [{"name": "mm", "op": "aten.mm.default", "args": [{"node": "a"}, {"node": "b"}], "kwargs": {},
               "outputs": [{"shape": [2, 3], "dtype": "float32", "strides": [3, 1]}], "where": "m.py:3"},
              {"name": "s", "op": "aten.sum.dim_IntList", "args": [{"node": "mm"}, [0], true], "kwargs": {},
               "outputs": [{"shape": [1, 3], "dtype": "float32", "strides": [3, 1]}]}]})");
  const std::vector<TruncatedGraph> graphs = TruncateReductions(document, 8);
  ASSERT_EQ(graphs.size(), 2u);
  EXPECT_EQ(graphs[0].name, "truncated aten.mm.default (m.py:3)");
  const json& nodes = graphs[0].document["nodes"];
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(nodes[0]["args"], json::parse(R"([{"node": "a"}, 1, 0, 6])"));
  EXPECT_EQ(nodes[1]["args"], json::parse(R"([{"node": "kept_part"}, [0, 2], 0.0])"));
  EXPECT_EQ(nodes[2]["args"][0]["node"], "cut_short");
  // The sum along axis 0 pads the first axis: the pair of the last axis comes first.
  EXPECT_EQ(graphs[1].document["nodes"][2]["args"][1], json::parse("[0, 0, 0, 1]"));
  EXPECT_EQ(TruncateReductions(document, 1).size(), 1u);
}

}  // namespace
}  // namespace kernelsmith
