#include "mutate/mutate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

namespace kernelsmith::mutate {
namespace {

// What one operator makes of a source, every mutant's whole text.
std::vector<std::string> All(const std::string& source, const std::string& name) {
  const Result<std::vector<Mutation>> found = FindMutations(source, {name});
  std::vector<std::string> texts;
  for (const Mutation& each : found.value()) texts.push_back(Apply(source, each));
  return texts;
}

std::string Kernel(const std::string& body) {
  return "__global__ void k(float* x, int n, int m) { " + body + " }";
}

std::vector<std::string> Kernels(std::initializer_list<const char*> bodies) {
  std::vector<std::string> texts;
  for (const char* body : bodies) texts.push_back(Kernel(body));
  return texts;
}

struct Case {
  const char* operator_name;
  const char* before;
  std::initializer_list<const char*> after;
};

TEST(Mutate, EachOperatorOfTheDevice) {
  const Case kCases[] = {
      {"drop_barrier", "__syncthreads(); a = b;", {"; a = b;"}},
      {"wrong_bound", "if (i < n) f<2>(a);", {"if (i <= n) f<2>(a);"}},
      {"loop_starts_late",
       "for (int i = 0; i < n; ++i) f();",
       {"for (int i = 0 + 1; i < n; ++i) f();"}},
      {"loop_ends_early",
       "for (int i = 0; i < n; ++i) f();",
       {"for (int i = 0; i < n - 1; ++i) f();"}},
      {"wrong_step",
       "for (;a; o >>= 1) f(); for (;a; i += q) f(); for (;a; ++i) f();",
       {"for (;a; o >>= 2) f(); for (;a; i += q) f(); for (;a; ++i) f();",
        "for (;a; o >>= 1) f(); for (;a; i += 2 * (q)) f(); for (;a; ++i) f();",
        "for (;a; o >>= 1) f(); for (;a; i += q) f(); for (;a; i += 2) f();"}},
      {"lost_guard",
       "if (i >= n) return; if (a) b = c;",
       {"; if (a) b = c;", "if (i >= n) return; if (true) b = c;"}},
      {"lost_condition", "v = a < b && c < d ? e : f;", {"v = a < b  ? e : f;"}},
      {"wrong_condition", "if (a == b) c();", {"if (a != b) c();"}},
      {"swapped_arms", "v = a ? f(b, c) : d;", {"v = a ? d : f(b, c);"}},
      {"flipped_sign", "v = a + b; v -= c;", {"v = a - b; v -= c;", "v = a + b; v += c;"}},
      {"wrong_operator", "v = a * b / c;", {"v = a + b / c;", "v = a * b * c;"}},
      {"swapped_operands", "v = a * b - c;", {"v = (c) - (a * b);"}},
      {"lost_term", "v = rsqrtf(s / n + eps);", {"v = rsqrtf(s / n );"}},
      {"lost_factor", "v = a * scale;", {"v = a ;"}},
      {"lost_maximum", "v = expf(row[i] - m);", {"v = expf(row[i] );"}},
      {"wrong_constant", "v = 0.5f * a;", {"v = 0.502000000f * a;"}},
      {"wrong_integer", "int o = 16;", {"int o = 17;", "int o = 8;"}},
      {"swapped_extremes", "v = fmaxf(a, b);", {"v = fminf(a, b);"}},
      {"wrong_function", "v = logf(a);", {"v = log2f(a);"}},
      {"wrong_axis", "v = threadIdx.x;", {"v = threadIdx.y;"}},
      {"shifted_index", "v = x[i];", {"v = x[i + 1];"}},
      {"wrong_parameter", "v = n;", {"v = m;"}},
      {"lost_assignment", "float v = a; x[i] = v;", {"float v = a; ;"}},
      {"lost_initialisation",
       "float v = 0, w = 0.0f;",
       {"float v , w = 0.0f;", "float v = 0, w ;"}},
      {"missing_atomic", "atomicAdd(&x[i], v);", {"*(&x[i]) += v;"}},
      {"wrong_shuffle",
       "v += __shfl_xor_sync(~0u, v, o);",
       {"v += __shfl_up_sync(~0u, v, o);", "v += __shfl_xor_sync(~0u, v, o, 16);",
        "v += __shfl_xor_sync(0x0000ffffu, v, o);"}},
      {"small_shared", "__shared__ float s[32][33];", {"__shared__ float s[32 - 1][33];"}},
  };
  for (const Case& each : kCases) {
    std::vector<std::string> expected = Kernels(each.after),
                             got = All(Kernel(each.before), each.operator_name);
    std::sort(expected.begin(), expected.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, expected) << each.operator_name;
  }
}

TEST(Mutate, EachOperatorOfTheHost) {
  const auto host = [](const std::string& body) {
    return "void forward(Tensor x) { " + body + " }";
  };
  const std::vector<std::array<std::string, 3>> kCases = {
      {"grid_rounds_down", "k<<<(n + 31) / 32, 32>>>(n);", "k<<<(n ) / 32, 32>>>(n);"},
      {"small_grid", "k<<<n, 32>>>(n);", "k<<<((n) + 1) / 2, 32>>>(n);"},
      {"small_block", "k<<<grid, 32>>>(n);", "k<<<grid, (32) / 2>>>(n);"},
      {"small_dynamic_shared", "k<<<g, b, bytes>>>(n);", "k<<<g, b, (bytes) - 4>>>(n);"},
      {"missing_launch", "a(); k<<<g, b>>>(n);", "a(); ;"},
      {"swapped_arguments", "k<<<g, b>>>(a.data_ptr<float>(), c.data_ptr<float>(), n);",
       "k<<<g, b>>>(c.data_ptr<float>(), a.data_ptr<float>(), n);"},
      {"missing_zeroing", "auto y = torch::zeros_like(x);", "auto y = torch::empty_like(x);"},
      {"wrong_size", "int n = x.size(1);", "int n = x.size(0);"},
      {"wrong_host_arithmetic", "k<<<g, b>>>(n, 1.0f / n);", "k<<<g, b>>>(n, 1.01 * (1.0f / n));"},
      {"wrong_host_arithmetic", "k<<<g, b>>>(n, n / 2);", "k<<<g, b>>>(n, (n / 2) + 1);"},
  };
  for (const auto& [name, before, after] : kCases) {
    EXPECT_EQ(All(host(before), name), std::vector<std::string>{host(after)}) << name;
    const std::vector<Mutation> found = FindMutations(host(before), {name}).value();
    for (const Mutation& each : found) {
      EXPECT_FALSE(each.device) << name << ": equal PTX must not hide it";
    }
  }
}

TEST(Mutate, PaddingOfSharedMemoryIsNoMistake) {
  const std::string source = Kernel("__shared__ float s[32][32 + 1], t[8]; f();");
  for (const char* name : {"shifted_index", "lost_term", "wrong_integer", "flipped_sign"}) {
    EXPECT_TRUE(All(source, name).empty()) << name;
  }
  EXPECT_EQ(All(source, "small_shared"),
            Kernels({"__shared__ float s[32 - 1][32 + 1], t[8]; f();",
                     "__shared__ float s[32][32 + 1], t[8 - 1]; f();"}));
}

TEST(Mutate, HalfAccumulationBringsItsHeader) {
  EXPECT_EQ(All("#include <a.h>\n" + Kernel("float s = 0; s += a * b;"), "half_accumulation"),
            std::vector<std::string>{
                "#include <cuda_fp16.h>\n#include <a.h>\n" +
                Kernel("float s = 0; s = __half2float(__float2half(s + (a * b)));")});
}

TEST(Mutate, NamesAreUniqueAndTextsDiffer) {
  const std::string source =
      Kernel("for (int i = 0; i < n; i += 32) x[i] = x[i] * 2.0f + x[i + m] - 1;");
  std::set<std::string> names, texts = {source};
  const std::vector<Mutation> found = FindMutations(source).value();
  for (const Mutation& each : found) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_TRUE(texts.insert(Apply(source, each)).second) << each.name;
  }
  EXPECT_GT(names.size(), 15U);
}

TEST(Mutate, ChoiceIsByTheSeedAndOperatorsTakeTurns) {
  const std::string source =
      Kernel("for (int i = 0; i < n; ++i) x[i] = x[i] * 2.0f + x[i + m] - 1;");
  const std::vector<Mutation> all = FindMutations(source).value();
  const auto names = [](const std::vector<Mutation>& list) {
    std::vector<std::string> result;
    for (const Mutation& each : list) result.push_back(each.name);
    return result;
  };
  EXPECT_EQ(names(Choose(all, 6, 1)), names(Choose(all, 6, 1)));
  EXPECT_NE(names(Choose(all, 6, 1)), names(Choose(all, 6, 2)));
  std::set<std::string> operators;
  for (const Mutation& each : Choose(all, 6, 1)) operators.insert(each.operator_name);
  EXPECT_EQ(operators.size(), 6U);
  EXPECT_EQ(Choose(all, 0, 1).size(), all.size());
}

TEST(Mutate, UnknownOperatorNamesTheOthers) {
  const auto found = FindMutations("", {"drop_barier"});
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.error().message().find("drop_barrier"), std::string::npos);
}

TEST(Mutate, DiffShowsTheLine) {
  const std::string source = "__global__ void k() {\n  a();\n  __syncthreads();\n}\n";
  EXPECT_EQ(Diff(source, FindMutations(source, {"drop_barrier"}).value().front()),
            "-3:   __syncthreads();\n+3:   ;\n");
}

TEST(NormalisePtx, LeavesOnlyCode) {
  EXPECT_EQ(NormalisePtx("// Generated\n.version 9.0\n\n\t.file 1 \"a.cu\"\n.loc 1 2 3\n"
                         "ret; // end\n.section .debug_str {\n.b8 1\n}\n"),
            ".version 9.0\nret;\n");
  EXPECT_EQ(NormalisePtx(".entry _ZN39_GLOBAL__N__7a0b1c2d_4_a_cu_7a0b1c2d_99f3kE()"),
            NormalisePtx(".entry _ZN39_GLOBAL__N__11111111_4_a_cu_22222222_99f3kE()"));
  EXPECT_NE(NormalisePtx("add.f32 %f1, %f2, 0f3F800000;"),
            NormalisePtx("add.f32 %f1, %f2, 0f40000000;"));
}

}  // namespace
}  // namespace kernelsmith::mutate
