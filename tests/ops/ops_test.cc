// Our operators against PyTorch, on the cases that generate.py made in the folder KS_OPS_CASES, and
// the laws of the field.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "codegen/point_evaluator.h"
#include "graph/aten_ops.h"
#include "graph/evaluate.h"
#include "support/file_system.h"
#include "tensor/safetensors.h"

namespace kernelsmith {
namespace {

struct Case {
  std::string name;
  Graph graph;
  TensorMap tensors;
};

std::filesystem::path CasesFolder() {
  const char* folder = std::getenv("KS_OPS_CASES");
  return folder == nullptr ? "" : folder;
}

Result<Case> Load(const std::filesystem::path& path) {
  KS_TRY(const std::string text, DiskFileSystem().Read(path));
  std::filesystem::path data = path;
  KS_TRY(Safetensors file, ReadSafetensors(data.replace_extension(".safetensors")));
  KS_TRY(Graph graph, ParseGraph(text, path.filename().string(), file.tensors));
  return Case{path.stem().string(), std::move(graph), std::move(file.tensors)};
}

std::vector<std::filesystem::path> Graphs(const std::string& suffix) {
  std::vector<std::filesystem::path> paths;
  if (CasesFolder().empty()) return paths;
  for (const auto& entry : std::filesystem::directory_iterator(CasesFolder())) {
    if (entry.path().string().ends_with(suffix)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool IsSame(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The largest finite element: errors are measured against it.
double SizeOfValues(const HostTensor& expected) {
  double size = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    if (std::isfinite(expected.at(i))) size = std::max(size, std::fabs(expected.at(i)));
  }
  return size;
}

// Compares every node's results; `tolerance(i)` is the allowed difference of element i.
template <typename T, typename F>
std::string CompareNode(const Tensor<T>& actual, const HostTensor& expected, const F& tolerance) {
  if (actual.shape != expected.shape) return "another shape";
  for (int64_t i = 0; i < actual.count(); ++i) {
    const double a = Float(actual[i]), b = expected.at(i);
    if (IsSame(a, b)) continue;
    const double allowed = IsFloat(expected.dtype) ? tolerance(i) : 0;
    if (!(std::fabs(a - b) <= allowed))
      return fmt::format("element {}: {} where PyTorch has {}", i, a, b);
  }
  return "";
}

// PyTorch rounded the node's result to a coarser type than that of the case.
double UnitOf(DType dtype, double unit) {
  if (dtype == DType::kFloat32) return std::max(unit, 1e-6);
  if (dtype == DType::kFloat16) return 0x1p-9;
  if (dtype == DType::kBfloat16) return 0x1p-6;
  return unit;
}

template <typename T>
void CheckAgainstTorch(const std::string& suffix, double unit, std::set<std::string>* covered) {
  for (const auto& path : Graphs(suffix)) {
    Result<Case> loaded = Load(path);
    ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
    const Case& c = *loaded;
    // Decomposed to operators that no export has.
    if (suffix == ".law.json" && !CheckOperators(c.graph).ok()) continue;
    Result<std::vector<Tensor<T>>> inputs = GraphInputs<T>(c.graph, c.tensors);
    ASSERT_TRUE(inputs.ok()) << inputs.error().Format();
    EvaluateOptions<T> options{.round_to_dtype = std::is_same_v<T, float>};
    double case_unit = unit;
    options.observe = [&](size_t index, const std::vector<Tensor<T>>& results) {
      const Node& node = c.graph.nodes[index];
      if (node.kind != NodeKind::kOperator) return;
      for (size_t i = 0; i < results.size(); ++i) {
        const auto expected = c.tensors.find(fmt::format("node.{}.{}", node.name, i));
        if (expected == c.tensors.end() || !results[i].defined()) continue;
        const HostTensor& values = expected->second;
        case_unit = std::max(case_unit, UnitOf(values.dtype, unit));
        const double allowed = case_unit * (SizeOfValues(values) + 1e-2);
        const std::string difference =
            CompareNode(results[i], values, [&](int64_t) { return allowed; });
        EXPECT_EQ(difference, "") << c.name << " node " << node.name << " (" << node.op
                                  << ") result " << i;
        covered->insert(node.op);
      }
    };
    const Result<std::vector<Tensor<T>>> outputs = Evaluate<T>(c.graph, *inputs, options);
    EXPECT_TRUE(outputs.ok()) << c.name << ": " << outputs.error().Format();
  }
}

void ExpectAllCovered(const std::set<std::string>& covered) {
  for (const Operator& op : AllOperators()) {
    if (!op.evaluated() || op.name.find("empty") != std::string::npos) continue;
    EXPECT_TRUE(covered.contains(op.name)) << op.name << " has no case";
  }
}

TEST(Operators, CasesExist) {
  ASSERT_GT(Graphs(".json").size(), 500u) << "run generate.py, set KS_OPS_CASES";
}

TEST(Operators, AgreeWithTorchInFloat64) {
  std::set<std::string> covered;
  CheckAgainstTorch<double>(".float64.json", 1e-10, &covered);
  CheckAgainstTorch<double>(".law.json", 1e-10, &covered);
  ExpectAllCovered(covered);
}

TEST(Operators, AgreeWithTorchInFloat32) {
  std::set<std::string> covered;
  CheckAgainstTorch<float>(".float32.json", 3e-5, &covered);
  ExpectAllCovered(covered);
}

// Single elements by the operators' loop nests (codegen/point_evaluator.h) are what the whole is.
TEST(Operators, SingleElementsAreThoseOfTheWhole) {
  std::set<std::string> covered;
  for (const auto& path : Graphs(".float64.json")) {
    Result<Case> loaded = Load(path);
    ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
    const Case& c = *loaded;
    std::vector<std::string> names;
    for (const GraphOutput& output : c.graph.outputs) names.push_back(c.graph.OutputName(output));
    const auto points =
        codegen::PointEvaluator::Make(std::make_shared<const Graph>(c.graph), names);
    if (!points.ok()) continue;  // an operator without a loop nest
    const Result<std::vector<Tensor<double>>> inputs = GraphInputs<double>(c.graph, c.tensors);
    ASSERT_TRUE(inputs.ok()) << inputs.error().Format();
    const Result<std::vector<Tensor<double>>> outputs = Evaluate<double>(c.graph, *inputs);
    if (!outputs.ok()) continue;
    for (const size_t node : c.graph.placeholders) {
      const std::string& name = c.graph.nodes[node].name;
      if (const auto values = c.tensors.find(name); values != c.tensors.end()) {
        (*points)->SetArgument(name, values->second);
      }
    }
    for (size_t i = 0; i < outputs->size(); ++i) {
      const Tensor<double>& whole = (*outputs)[i];
      for (int64_t k = 0; k < whole.count(); k += 1 + whole.count() / 16) {
        uint64_t budget = 10'000'000;
        const auto point = (*points)->At(i, k, &budget);
        ASSERT_TRUE(point.has_value()) << c.name << " element " << k << " of result " << i;
        const double expected = Float(whole[k]);
        if (IsSame(point->exact, expected)) continue;
        EXPECT_NEAR(point->exact, expected, 1e-9 * (1 + std::fabs(expected)))
            << c.name << " element " << k << " of result " << i;
      }
    }
    for (const Node& node : c.graph.nodes) covered.insert(node.op);
  }
  // Most operators have one.
  EXPECT_GT(covered.size(), 100u);
}

// PyTorch's float32 results are off by a small multiple of eps times the scale that Bounded
// computes; and that scale is not so large that it would hide anything.
TEST(Operators, ErrorScalesBoundTorchsRounding) {
  double worst = 0;
  int64_t elements = 0, loose = 0;
  for (const auto& path : Graphs(".float32.json")) {
    Result<Case> loaded = Load(path);
    ASSERT_TRUE(loaded.ok());
    const Case& c = *loaded;
    const auto is_small_float = [](const Node& node) {
      return std::any_of(node.outputs.begin(), node.outputs.end(), [](const auto& meta) {
        return meta && (meta->dtype == DType::kFloat16 || meta->dtype == DType::kBfloat16);
      });
    };
    if (std::any_of(c.graph.nodes.begin(), c.graph.nodes.end(), is_small_float)) continue;
    Result<std::vector<Tensor<Bounded>>> inputs = GraphInputs<Bounded>(c.graph, c.tensors);
    ASSERT_TRUE(inputs.ok());
    EvaluateOptions<Bounded> options;
    options.observe = [&](size_t index, const std::vector<Tensor<Bounded>>& results) {
      const Node& node = c.graph.nodes[index];
      for (size_t i = 0; i < results.size(); ++i) {
        const auto expected = c.tensors.find(fmt::format("node.{}.{}", node.name, i));
        if (expected == c.tensors.end() || !results[i].defined() ||
            !IsFloat(expected->second.dtype))
          continue;
        for (int64_t j = 0; j < results[i].count(); ++j) {
          const Bounded& value = results[i][j];
          const double torch = expected->second.at(j);
          if (!std::isfinite(value.v) || !std::isfinite(value.m) || IsSame(value.v, torch))
            continue;
          const double ratio = std::fabs(value.v - torch) / (0x1p-24 * value.m + 1e-37);
          worst = std::max(worst, ratio);
          ++elements;
          loose += value.m > 1e4 * (std::fabs(value.v) + 1e-2);
          EXPECT_LT(ratio, 64) << c.name << " node " << node.name << " (" << node.op << ") element "
                               << j << ": " << value.v << " and " << torch << ", scale " << value.m;
        }
      }
    };
    ASSERT_TRUE(Evaluate<Bounded>(c.graph, *inputs, options).ok()) << c.name;
  }
  EXPECT_LT(loose, elements / 25);
  std::printf(
      "worst error %.3g eps·scale over %ld elements, scale above 1e4 of the value for %ld\n", worst,
      static_cast<long>(elements), static_cast<long>(loose));
}

// Each function evaluated in the field through two graphs: as the bridge exports it, and decomposed
// further. They must not differ, and nearly every element must be proved equal in one of a few
// draws.
TEST(Field, DeeperDecompositionsAreEqual) {
  int compared = 0, skipped = 0;
  int64_t elements = 0, proved = 0;
  std::map<uint32_t, int64_t> reasons;
  for (const auto& path : Graphs(".law.json")) {
    const std::string stem =
        path.string().substr(0, path.string().size() - std::string(".law.json").size());
    Result<Case> deep = Load(path);
    Result<Case> plain = Load(stem + ".float64.json");
    ASSERT_TRUE(deep.ok() && plain.ok()) << path;
    if (!CheckOperators(deep->graph).ok()) {
      ++skipped;
      continue;
    }
    ++compared;
    std::vector<std::vector<bool>> done;
    for (uint64_t draw = 0; draw < 6; ++draw) {
      const Algebra algebra(1000 + draw);
      const AlgebraScope scope(&algebra);
      const auto run = [&](const Case& c) {
        auto inputs = GraphInputs<Symbolic>(c.graph, c.tensors);
        KS_CHECK(inputs.ok());
        return Evaluate<Symbolic>(c.graph, *inputs);
      };
      const auto left = run(*plain), right = run(*deep);
      ASSERT_TRUE(left.ok()) << left.error().Format();
      ASSERT_TRUE(right.ok()) << right.error().Format();
      ASSERT_EQ(left->size(), right->size()) << path;
      done.resize(left->size());
      for (size_t o = 0; o < left->size(); ++o) {
        const Tensor<Symbolic>&a = (*left)[o], &b = (*right)[o];
        ASSERT_EQ(a.shape, b.shape) << path;
        done[o].resize(static_cast<size_t>(a.count()));
        for (int64_t i = 0; i < a.count(); ++i) {
          const Comparison comparison = CompareValues(a[i], b[i]);
          EXPECT_NE(comparison.equality, Equality::kDifferent)
              << path.filename() << " output " << o << " element " << i << ": " << a[i].v << " and "
              << b[i].v;
          if (comparison.equality == Equality::kEqual) {
            done[o][static_cast<size_t>(i)] = true;
          } else if (draw == 5 && !done[o][static_cast<size_t>(i)]) {
            ++reasons[comparison.reason];
          }
          if (comparison.equality == Equality::kDifferent) return;
        }
      }
    }
    int64_t here = 0, total = 0;
    for (const auto& output : done) {
      total += static_cast<int64_t>(output.size());
      here += std::count(output.begin(), output.end(), true);
    }
    if (here < total)
      std::printf("  %s: %ld of %ld proved\n", path.stem().c_str(), static_cast<long>(here),
                  static_cast<long>(total));
    elements += total;
    proved += here;
  }
  std::printf(
      "%d functions, %ld of %ld elements proved equal in 6 draws; %d use operators below ours\n",
      compared, static_cast<long>(proved), static_cast<long>(elements), skipped);
  for (const auto& [reason, count] : reasons)
    std::printf("  %ld: %s\n", static_cast<long>(count), DescribeReason(reason).c_str());
  EXPECT_GT(compared, 200);
  EXPECT_GT(static_cast<double>(proved), 0.97 * static_cast<double>(elements));
}

// The floats that ride along are those of the double evaluation.
TEST(Field, FloatsAreThoseOfDouble) {
  for (const auto& path : Graphs(".float64.json")) {
    Result<Case> loaded = Load(path);
    ASSERT_TRUE(loaded.ok());
    const Algebra algebra(7);
    const AlgebraScope scope(&algebra);
    const auto doubles =
        Evaluate<double>(loaded->graph, *GraphInputs<double>(loaded->graph, loaded->tensors));
    const auto symbolic =
        Evaluate<Symbolic>(loaded->graph, *GraphInputs<Symbolic>(loaded->graph, loaded->tensors));
    ASSERT_TRUE(doubles.ok() && symbolic.ok()) << path;
    for (size_t o = 0; o < doubles->size(); ++o) {
      for (int64_t i = 0; i < (*doubles)[o].count(); ++i) {
        const double a = (*doubles)[o][i], b = (*symbolic)[o][i].v;
        if (IsSame(a, b)) continue;
        ASSERT_NEAR(a, b, 1e-9 * (1 + std::fabs(a))) << path << " output " << o << " element " << i;
      }
    }
  }
}

}  // namespace
}  // namespace kernelsmith
