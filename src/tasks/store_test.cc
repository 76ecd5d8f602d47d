// Real tasks through the real bridge. One worker serves a whole test, because importing PyTorch
// takes seconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "support/testing/real_settings.h"
#include "support/tool_finder.h"
#include "tasks/task.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

const fs::path kFixtures = fs::path(KS_PROJECT_DIR) / "tests" / "tasks" / "fixtures";

class TaskStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    SystemProcessRunner processes;
    ToolFinder tools(processes, files_, RealSettings().tools, KS_PROJECT_DIR);
    const std::optional<Tool> python = tools.PythonWithTorch();
    ASSERT_TRUE(python) << "no Python with torch: run scripts/setup";
    options_.python = python->path;
    options_.torch_version = python->version;
    options_.bridge = fs::path(KS_PROJECT_DIR) / "python";
    options_.suite = fs::path(KS_PROJECT_DIR) / "tasks";
    options_.cache = KS_TEST_CACHE;
  }

  // Exports and evaluates every task of a fixture folder in both directions, at its first and last
  // configuration.
  void RunAll(const std::string& folder, size_t at_least) {
    TaskStore store(options_, files_);
    const Result<std::vector<fs::path>> paths = store.List(kFixtures / folder);
    ASSERT_TRUE(paths.ok()) << paths.error().Format();
    EXPECT_GE(paths->size(), at_least);
    for (const fs::path& path : *paths) {
      SCOPED_TRACE(path.string());
      const Result<Task> task = store.Load(path.string());
      ASSERT_TRUE(task.ok()) << task.error().Format();
      for (const TaskDirection direction : task->directions) {
        const std::vector<TaskConfiguration>& all = task->Configurations(direction);
        for (size_t i = 0; i < all.size(); i += std::max<size_t>(1, all.size() - 1)) {
          const TaskConfiguration& configuration = all[i];
          SCOPED_TRACE(std::string(Name(direction)) + " " + configuration.name);
          const TaskRequest request{.direction = direction, .configuration = configuration};
          const Result<TaskGraph> graph = store.Export(*task, request);
          ASSERT_TRUE(graph.ok()) << graph.error().Format();
          const Result<TaskCase> sample = store.Evaluate(*task, request, 7);
          ASSERT_TRUE(sample.ok()) << sample.error().Format();
          CheckCase(*graph, *sample);
        }
      }
    }
  }

  // What the graph promises is in the case, with the right shapes, and PyTorch's own result is near
  // the float64 one.
  void CheckCase(const TaskGraph& graph, const TaskCase& sample) {
    const Result<CaseTensors> tensors = ReadCase(sample);
    ASSERT_TRUE(tensors.ok()) << tensors.error().Format();
    for (const TensorSpec& spec : graph.tensors) {
      ASSERT_TRUE(tensors->values.contains(spec.name)) << spec.name;
      EXPECT_EQ(tensors->values.at(spec.name).shape, spec.shape) << spec.name;
    }
    const std::vector<std::string> results = graph.AllResults();
    EXPECT_THAT(results, testing::Not(IsEmpty()));
    for (const std::string& name : results) {
      ASSERT_TRUE(tensors->values.contains(name)) << name;
      ASSERT_TRUE(tensors->expected.contains(name)) << name;
      const HostTensor& own = tensors->values.at(name);
      const HostTensor& exact = tensors->expected.at(name);
      ASSERT_EQ(own.shape, exact.shape) << name;
      double largest = 0, difference = 0;
      for (int64_t i = 0; i < own.count(); ++i) {
        largest = std::max(largest, std::abs(exact.at(i)));
        difference = std::max(difference, std::abs(exact.at(i) - own.at(i)));
      }
      const bool narrow = own.dtype == DType::kFloat16 || own.dtype == DType::kBfloat16;
      // The absolute part is for gradients that cancel to nothing (a bias before a batch norm).
      EXPECT_LE(difference, (narrow ? 2e-2 : 1e-5) * largest + 1e-4) << name;
    }
  }

  DiskFileSystem files_;
  TaskStoreOptions options_;
};

// No PyTorch: the format is seen from the text.
TEST(TaskFormats, DefinitionsInStringsAndCommentsDoNotCount) {
  DiskFileSystem files;
  const fs::path folder = fs::path(testing::TempDir()) / "task_formats";
  fs::create_directories(folder);
  const TaskStore store({}, files);
  const std::string model = "class Model:\n  pass\ndef get_inputs():\n  return []\n";
  for (const auto& [text, format] :
       {std::pair<std::string, TaskFormat>{"def arguments():\n  pass\ndef forward():\n  pass\n",
                                           TaskFormat::kSuite},
        {"KERNEL = \"\"\"\ndef arguments():\ndef forward():\n\"\"\"\n" + model, TaskFormat::kModel},
        {"# it's \"\"\"\n" + model + "x = 'a\"\"\"'\n", TaskFormat::kModel},
        {"QUOTE = '\"\"\"'\ndef arguments():\n  pass\ndef forward():\n  pass\n",
         TaskFormat::kSuite}}) {
    std::ofstream(folder / "task.py") << text;
    const Result<Task> task = store.Glance(folder / "task.py");
    ASSERT_TRUE(task.ok()) << task.error().Format();
    EXPECT_EQ(task->format, format) << text;
    EXPECT_THAT(*store.List(folder), testing::SizeIs(1)) << text;
  }
}

TEST_F(TaskStoreTest, KernelBenchFixturesExportAndRun) { RunAll("kernelbench", 12); }
TEST_F(TaskStoreTest, ModelFixturesExportAndRun) { RunAll("models", 12); }
TEST_F(TaskStoreTest, RobustKbenchFixturesExportAndRun) { RunAll("robust", 12); }

TEST_F(TaskStoreTest, SignaturesAreThoseOfTheCandidate) {
  TaskStore store(options_, files_);
  const auto graph_of = [&](const std::string& path, TaskDirection direction) {
    const Result<Task> task = store.Load((kFixtures / path).string());
    EXPECT_TRUE(task.ok()) << task.error().Format();
    const TaskRequest request{.direction = direction,
                              .configuration = task->Configurations(direction).front()};
    Result<TaskGraph> graph = store.Export(*task, request);
    EXPECT_TRUE(graph.ok()) << graph.error().Format();
    return *std::move(graph);
  };
  const auto names = [](const TaskGraph& graph) {
    std::vector<std::string> result;
    for (const TaskArgument& argument : graph.arguments) result.push_back(argument.name);
    return result;
  };

  // backward_fn of the fixture decides the order: the gradient of the output comes last.
  const TaskGraph pool = graph_of("robust/conv_relu_pool", TaskDirection::kBackward);
  EXPECT_THAT(names(pool), ElementsAre("x", "weights", "biases", "grad_output"));
  EXPECT_THAT(pool.results, ElementsAre("gradient.x", "gradient.weights", "gradient.biases"));

  const TaskGraph swapped = graph_of("robust/backward_only", TaskDirection::kBackward);
  EXPECT_THAT(swapped.results, ElementsAre("gradient.factor", "gradient.x"));

  const TaskGraph tuple = graph_of("robust/max_pool", TaskDirection::kBackward);
  ASSERT_EQ(tuple.arguments.size(), 2u);
  EXPECT_EQ(tuple.arguments[0].kind, TaskArgument::Kind::kList);
  ASSERT_EQ(tuple.arguments[0].items.size(), 1u);
  EXPECT_EQ(tuple.arguments[0].items[0].text, "x");

  const TaskGraph norm = graph_of("robust/layernorm", TaskDirection::kBackward);
  ASSERT_EQ(norm.arguments.size(), 6u);
  EXPECT_EQ(norm.arguments[4].kind, TaskArgument::Kind::kFloat);
  EXPECT_EQ(norm.arguments[4].number, 1e-5);
  ASSERT_EQ(norm.arguments[5].items.size(), 2u);
  EXPECT_EQ(norm.arguments[5].items[1].integer, 6);

  const TaskGraph saved = graph_of("robust/rmsnorm_saved", TaskDirection::kBackward);
  ASSERT_EQ(saved.arguments.size(), 5u);
  EXPECT_EQ(saved.arguments[3].kind, TaskArgument::Kind::kTensor);
  EXPECT_EQ(saved.arguments[4].kind, TaskArgument::Kind::kBool);

  const TaskGraph scalars = graph_of("robust/scalars_between", TaskDirection::kForward);
  EXPECT_THAT(names(scalars), ElementsAre("x", "stride", "padding", "weight", "bias", "groups"));
  EXPECT_EQ(scalars.arguments[1].integer, 2);

  const TaskGraph keyword = graph_of("robust/keyword_call", TaskDirection::kForward);
  EXPECT_THAT(names(keyword), ElementsAre("x", "weight", "bias", "eps"));
  EXPECT_EQ(keyword.arguments[1].kind, TaskArgument::Kind::kNone);

  // Inputs, then parameters, then buffers; the counter of batches is nobody's business.
  const TaskGraph batch = graph_of("kernelbench/3_batchnorm_training.py", TaskDirection::kForward);
  EXPECT_THAT(names(batch), ElementsAre("x", "conv_weight", "conv_bias", "bn_weight", "bn_bias",
                                        "bn_running_mean", "bn_running_var"));
  EXPECT_THAT(batch.mutated,
              UnorderedElementsAre("mutated.bn_running_mean", "mutated.bn_running_var"));

  const TaskGraph strided = graph_of("models/strided_inputs.py", TaskDirection::kForward);
  EXPECT_THAT(strided.tensors[0].strides, ElementsAre(1, 4));
  EXPECT_THAT(strided.tensors[1].strides, ElementsAre(0, 1));

  const TaskGraph by_name = graph_of("models/dict_inputs.py", TaskDirection::kForward);
  EXPECT_THAT(names(by_name), ElementsAre("scores", "values"));
}

TEST_F(TaskStoreTest, GradientsFollowTheTasksOwnDerivative) {
  // The fixture's derivative of x*x is x, not 2x.
  TaskStore store(options_, files_);
  const Result<Task> task = store.Load((kFixtures / "models" / "custom_autograd.py").string());
  ASSERT_TRUE(task.ok());
  const Result<TaskCase> sample = store.Evaluate(*task, {.direction = TaskDirection::kBackward}, 3);
  ASSERT_TRUE(sample.ok()) << sample.error().Format();
  const Result<CaseTensors> tensors = ReadCase(*sample);
  ASSERT_TRUE(tensors.ok());
  const HostTensor& x = tensors->values.at("x");
  const HostTensor& go = tensors->values.at("grad_output");
  const HostTensor& gradient = tensors->expected.at("gradient.x");
  for (int64_t i = 0; i < x.count(); ++i) EXPECT_EQ(gradient.at(i), x.at(i) * go.at(i));
}

TEST_F(TaskStoreTest, SeedsDtypesAndGivenValuesDecideTheCase) {
  TaskStore store(options_, files_);
  const Result<Task> task = store.Load("matmul");
  ASSERT_TRUE(task.ok()) << task.error().Format();
  TaskRequest request{.configuration = *task->Find(TaskDirection::kForward, "hidden")};
  const auto read = [&](uint64_t seed, const std::string& dtype) {
    request.dtype = dtype;
    const Result<TaskCase> sample = store.Evaluate(*task, request, seed);
    EXPECT_TRUE(sample.ok()) << sample.error().Format();
    return *ReadCase(*sample);
  };
  const CaseTensors one = read(10, "float32"), two = read(20, "float32");
  const CaseTensors half = read(10, "float16");
  EXPECT_NE(one.values.at("a").at(0), two.values.at("a").at(0));
  EXPECT_EQ(half.values.at("a").dtype, DType::kFloat16);
  EXPECT_EQ(half.values.at("output.0").dtype, DType::kFloat16);
  EXPECT_EQ(half.values.at("a").at(0), RoundTo(DType::kFloat16, one.values.at("a").at(0)));
  // The yardstick starts from the rounded inputs. The first hidden shape is 1x1x1.
  EXPECT_EQ(half.expected.at("output.0").at(0),
            half.values.at("a").at(0) * half.values.at("b").at(0));
  EXPECT_EQ(half.expected.at("output.0").dtype, DType::kFloat64);
}

TEST_F(TaskStoreTest, AnswersAreCachedByContent) {
  const fs::path folder = fs::path(testing::TempDir()) / "task_cache_test";
  fs::remove_all(folder);
  options_.cache = folder / "cache";
  fs::create_directories(folder);
  const fs::path path = folder / "task.py";
  const auto write = [&](const std::string& factor) {
    std::ofstream(path)
        << "import torch\nfrom factor import factor\nclass Model(torch.nn.Module):\n"
           "  def forward(self, x):\n    return x * factor\n"
           "def get_inputs():\n  return [torch.ones(3)]\n";
    std::ofstream(folder / "factor.py") << "factor = " << factor << "\n";
  };
  const auto value = [&](TaskStore& store) {
    const Result<Task> task = store.Load(path.string());
    EXPECT_TRUE(task.ok()) << task.error().Format();
    const Result<TaskCase> sample = store.Evaluate(*task, {}, 1);
    EXPECT_TRUE(sample.ok()) << sample.error().Format();
    return ReadCase(*sample)->values.at("output.0").at(0);
  };
  write("2");
  {
    TaskStore store(options_, files_);
    EXPECT_EQ(value(store), 2);
    EXPECT_EQ(value(store), 2);
    EXPECT_EQ(store.asked(), 1);
    EXPECT_EQ(store.cached(), 1);
    // A changed import changes the task.
    write("3");
    EXPECT_EQ(value(store), 3);
    EXPECT_EQ(store.asked(), 2);
  }
  options_.python.clear();
  TaskStore without_python(options_, files_);
  EXPECT_EQ(value(without_python), 3);
  EXPECT_EQ(without_python.asked(), 0);
  fs::remove_all(folder);
}

TEST_F(TaskStoreTest, TasksShrinkToTheWorkAskedFor) {
  TaskStore store(options_, files_);
  const auto elements = [&](const std::string& path, int64_t work) {
    const Result<Task> task = store.Load(path);
    EXPECT_TRUE(task.ok()) << task.error().Format();
    TaskRequest request{.configuration = *task->Find(TaskDirection::kForward, "timing")};
    const Result<TaskConfiguration> small = store.Reduce(*task, request, work);
    EXPECT_TRUE(small.ok()) << small.error().Format();
    request.configuration = *small;
    const Result<TaskCase> sample = store.Evaluate(*task, request, 1);
    EXPECT_TRUE(sample.ok()) << sample.error().Format();
    int64_t total = 0;
    const Result<CaseTensors> tensors = ReadCase(*sample);
    EXPECT_TRUE(tensors.ok()) << tensors.error().Format();
    for (const auto& [name, tensor] : tensors->values) total += tensor.count();
    return total;
  };
  // Heads divide the width of the fixture and its mask is longer than the sequence.
  EXPECT_LT(elements((kFixtures / "kernelbench" / "7_attention_heads.py").string(), 20'000),
            40'000);
  EXPECT_LT(elements((kFixtures / "kernelbench" / "1_matmul_constants.py").string(), 50'000),
            100'000);
  // Its batch can shrink, its width, which is the same number, can't.
  EXPECT_LT(elements((kFixtures / "kernelbench" / "14_norm_of_width.py").string(), 500'000),
            100'000);
  EXPECT_LT(elements((kFixtures / "robust" / "linear").string(), 200), 400);
  // 4096 x 4096 and more, down to something that runs in no time.
  EXPECT_LT(elements("llama_ffw", 1'000'000), 2'000'000);
  EXPECT_LT(elements("resnet_block", 1'000'000), 2'000'000);
}

struct BadTask {
  const char* name;
  ErrorKind kind;
  const char* message;
  int line;  // 0: not checked
};

TEST_F(TaskStoreTest, BadTasksGetTheRightErrorAndTheWorkerLivesOn) {
  options_.timeout = std::chrono::milliseconds(4000);
  options_.memory_gib = 2;
  options_.cache = fs::path(testing::TempDir()) / "bad_task_cache";
  TaskStore store(options_, files_);
  const ErrorKind invalid = ErrorKind::kInvalidInput, unsupported = ErrorKind::kUnsupported;
  const ErrorKind limit = ErrorKind::kTimeout, missing = ErrorKind::kMissingTool;
  const BadTask tasks[] = {
      {"import_error.py", invalid, "cannot import name 'NoSuchLayer'", 2},
      {"missing_package.py", missing, "needs the Python package 'flash_attn_of_nobody'", 2},
      {"syntax_error.py", invalid, "syntax error: expected ':'", 3},
      {"endless_import.py", limit, "no result within 4 s while importing", 0},
      {"endless_forward.py", limit, "no result within 4 s while running the reference", 0},
      {"huge_allocation.py", limit, "out of memory while creating the inputs", 10},
      {"huge_list.py", limit, "out of memory while creating the inputs: the limit is 2 GiB", 10},
      {"no_inputs.py", invalid, "get_inputs() returned no inputs", 0},
      {"no_get_inputs.py", invalid, "the task has no function get_inputs", 0},
      {"no_model.py", invalid, "the task has no class Model", 0},
      {"model_is_a_function.py", invalid, "Model must be a torch.nn.Module", 0},
      {"segmentation_fault.py", invalid, "crashed while running the reference: segmentation", 0},
      {"exits.py", invalid, "ended the process while importing (exit code 0)", 0},
      {"raises_system_exit.py", invalid, "called exit('enough') while creating the model", 9},
      {"kills_itself.py", invalid, "crashed while importing: SIGTERM", 0},
      {"random_output.py", unsupported, "unsupported: random: aten.", 10},
      {"wrong_shapes.py", invalid, "while running the reference", 6},
      {"complex_numbers.py", unsupported, "unsupported dtype: complex64", 0},
      {"returns_no_tensor.py", invalid, "returns no tensor and changes none", 0},
      {"endless_recursion.py", invalid, "endless recursion", 6},
      {"too_many_arguments.py", invalid, "takes 2 positional arguments but 3 were given", 0},
      {"forks_and_waits.py", invalid, "ended the process while importing (exit code 7)", 0},
      {"kills_the_worker.py", invalid, "brought the PyTorch bridge down", 0},
      {"wrong_config", invalid, "missing 1 required positional argument: 'width'", 0},
      {"unknown_argument", invalid, "unexpected keyword argument 'height'", 0},
      {"no_fn_call", invalid, "must call fn exactly once, it called it 0 times", 0},
      {"fn_called_twice", invalid, "must call fn exactly once, it called it 2 times", 0},
      {"no_config", invalid, "no such file: every func_*.py needs its configurations", 0},
      {"broken_config", invalid, "malformed JSON", 2},
      {"nothing_here.py", invalid, "no such file", 0},
  };
  for (const BadTask& bad : tasks) {
    SCOPED_TRACE(bad.name);
    const Result<Task> task = store.Load((kFixtures / "bad" / bad.name).string());
    std::optional<Error> error;
    if (!task.ok()) {
      error = task.error();
    } else {
      const Result<TaskCase> sample =
          store.Evaluate(*task, {.configuration = task->forward_configurations.front()}, 1);
      if (!sample.ok()) error = sample.error();
    }
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind(), bad.kind) << error->Format();
    EXPECT_THAT(error->message(), HasSubstr(bad.message));
    if (bad.line > 0) {
      EXPECT_EQ(error->diagnostics()[0].where.line, bad.line) << error->Format();
      EXPECT_THAT(error->diagnostics()[0].where.file, HasSubstr(bad.name));
    }
    // A shape that depends on data is refused when it is traced, not when it runs.
  }
  const Result<Task> dynamic = store.Load((kFixtures / "bad" / "data_dependent_shape.py").string());
  ASSERT_TRUE(dynamic.ok());
  const Result<TaskGraph> traced = store.Export(*dynamic, {});
  ASSERT_FALSE(traced.ok());
  EXPECT_THAT(traced.error().message(), HasSubstr("depends on the values of a tensor"));
  // A task that writes to every descriptor does not get its forged answer through. It is honest
  // otherwise, so it gets the time that a busy machine needs.
  options_.timeout = std::chrono::minutes(2);
  TaskStore patient(options_, files_);
  const Result<Task> forger =
      patient.Load((kFixtures / "bad" / "writes_to_every_descriptor.py").string());
  ASSERT_TRUE(forger.ok());
  const Result<TaskCase> honest = patient.Evaluate(*forger, {}, 1);
  ASSERT_TRUE(honest.ok()) << honest.error().Format();
  EXPECT_EQ(honest->results.size(), 1u);
  fs::remove_all(options_.cache);
}

TEST_F(TaskStoreTest, DrawsSizesAndScalarsThatTheTaskRunsWith) {
  TaskStore store(options_, files_);
  const Result<Task> task = store.Load("group_norm");
  ASSERT_TRUE(task.ok()) << task.error().Format();
  const Result<DrawnConfigurations> drawn = store.Draw(*task, {}, 17, {});
  ASSERT_TRUE(drawn.ok()) << drawn.error().Format();
  EXPECT_GE(drawn->shapes.size(), 3u);
  for (const TaskConfiguration& each : drawn->shapes) {
    // Groups divide channels, which only the task knows.
    const auto& input = each.values["input"];
    EXPECT_EQ(input["channels"].get<int>() % input["groups"].get<int>(), 0) << each.name;
    EXPECT_TRUE(store.Export(*task, {.configuration = each}).ok()) << each.name;
  }
  ASSERT_FALSE(drawn->scalars.empty());
  EXPECT_THAT(drawn->scalars[0].names, ElementsAre("eps"));
  // The candidate gets the drawn value.
  const Result<TaskGraph> graph =
      store.Export(*task, {.configuration = drawn->scalars[0].configuration});
  ASSERT_TRUE(graph.ok()) << graph.error().Format();
  EXPECT_GT(graph->arguments.back().number, 0.01);
  // The same seed draws the same, without PyTorch.
  const int asked = store.asked();
  const Result<DrawnConfigurations> again = store.Draw(*task, {}, 17, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(store.asked(), asked);
  EXPECT_EQ(again->shapes[0].values, drawn->shapes[0].values);
  const Result<DrawnConfigurations> other = store.Draw(*task, {}, 40, {});
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->shapes[0].values, drawn->shapes[0].values);
}

TEST_F(TaskStoreTest, CollectionsThatAreNotThereAreNamed) {
  TaskStore store(options_, files_);
  const auto missing = store.List("no/such/collection");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message(), HasSubstr("not part of kernelsmith"));
  const auto unknown = store.Load("no_such_task");
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message(), HasSubstr("no task 'no_such_task'"));
}

}  // namespace
}  // namespace kernelsmith
