#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "compile/compile.h"
#include "compile/visible_library.h"
#include "ptx/ptx.h"
#include "support/testing/real_settings.h"
#include "vgpu/math/libdevice.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSource = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <torch/extension.h>
__global__ void k(float* x, double* y, __half* h, __nv_bfloat16* b, int n) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float s, c;
  sincosf(v, &s, &c);
  int e;
  x[i] = expf(v) + tanhf(v) * powf(v, 1.5f) + erff(v) + s * c + frexpf(v, &e) + e +
         fmaxf(v, sqrtf(v)) + rsqrtf(v) + floorf(v) + fmaf(v, v, 1.f) + fabsf(v) + min(i, n);
  y[i] = exp(y[i]) + pow(y[i], 2.5) + sqrt(y[i]) + log1p(y[i]);
  h[i] = __float2half(logf(__half2float(h[i])));
  b[i] = __float2bfloat16(cosf(__bfloat162float(b[i])));
}
torch::Tensor forward(torch::Tensor x) {
  k<<<1, 32>>>(x.data_ptr<float>(), nullptr, nullptr, nullptr, 1);
  return x;
}
)";

class VisibleMath : public testing::Test {
 protected:
  void SetUp() override {
    // Tests of this file run at the same time.
    folder_ = fs::path(testing::TempDir()) /
              (std::string("ks-visible-math-") +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    ASSERT_TRUE(files_.Write(folder_ / "k.cu", kSource).ok());
  }

  // Names of the functions that are called but not defined.
  std::set<std::string> Undefined(const std::string& ptx) {
    std::set<std::string> names;
    const auto module = ptx::Parse(ptx, "k.ptx");
    EXPECT_TRUE(module.ok()) << module.error().Format();
    if (!module.ok()) return names;
    for (const ptx::Function& function : module->functions) {
      if (!function.is_definition) names.insert(function.name);
    }
    for (const ptx::Function& function : module->functions) {
      if (function.is_definition) names.erase(function.name);
    }
    return names;
  }

  fs::path folder_;
  DiskFileSystem files_;
  SystemProcessRunner processes_;
  ToolFinder tools_{processes_, files_, RealSettings().tools, KS_SOURCE_DIR};
};

TEST_F(VisibleMath, CallsStayVisibleAndTheRestIsInlined) {
  CandidateCompiler compiler(files_, processes_, tools_, {});
  const CompileOptions options{.cache = folder_ / "cache"};
  const auto candidate = compiler.Compile(folder_ / "k.cu", options);
  ASSERT_TRUE(candidate.ok()) << candidate.error().Format();
  EXPECT_TRUE(Undefined(candidate->ptx).empty());
  const auto visible = compiler.CompileVisibleMath(*candidate, options);
  ASSERT_TRUE(visible.ok()) << visible.error().Format();
  EXPECT_EQ(Undefined(*visible),
            (std::set<std::string>{"__nv_cosf", "__nv_erff", "__nv_exp", "__nv_expf", "__nv_frexpf",
                                   "__nv_log1p", "__nv_logf", "__nv_pow", "__nv_powf",
                                   "__nv_sincosf", "__nv_tanhf"}));
  EXPECT_NE(visible->find("sqrt.rn.f32"), std::string::npos);
  EXPECT_NE(visible->find("max.f32"), std::string::npos);
  EXPECT_NE(visible->find(".loc"), std::string::npos);  // -lineinfo
  for (const std::string& name : Undefined(*visible)) {
    EXPECT_NE(vgpu::math::FindLibdeviceFunction(name), nullptr) << name;
  }

  // Cached: nothing is run again, so without any tool the answer is the same.
  ToolFinder no_tools(processes_, files_, ToolSettings{}, folder_);
  CandidateCompiler other(files_, processes_, no_tools, {});
  const auto again = other.CompileVisibleMath(*candidate, options);
  ASSERT_TRUE(again.ok()) << again.error().Format();
  EXPECT_EQ(*again, *visible);
}

TEST_F(VisibleMath, FastMathToo) {
  CandidateCompiler compiler(files_, processes_, tools_, {});
  const CompileOptions options{.cache = folder_ / "cache", .flags = {"--use_fast_math"}};
  const auto candidate = compiler.Compile(folder_ / "k.cu", options);
  ASSERT_TRUE(candidate.ok()) << candidate.error().Format();
  const auto visible = compiler.CompileVisibleMath(*candidate, options);
  ASSERT_TRUE(visible.ok()) << visible.error().Format();
  const std::set<std::string> undefined = Undefined(*visible);
  for (const char* name : {"__nv_fast_expf", "__nv_fast_powf", "__nv_fast_cosf", "__nv_fast_logf",
                           "__nv_fast_sincosf", "__nv_erff", "__nv_exp"}) {
    EXPECT_TRUE(undefined.contains(name)) << name;
  }
  for (const std::string& name : undefined) {
    EXPECT_NE(vgpu::math::FindLibdeviceFunction(name), nullptr) << name;
  }
}

TEST(HideFunctions, RefusesOtherFiles) {
  const std::string_view names[] = {"__nv_expf"};
  EXPECT_FALSE(HideFunctions("", names).ok());
  EXPECT_FALSE(HideFunctions("BC no bitcode, but the name __nv_expf in bytes", names).ok());
}

}  // namespace
}  // namespace kernelsmith
