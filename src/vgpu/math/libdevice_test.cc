#include "vgpu/math/libdevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <set>
#include <string>

#include "vgpu/observer.h"
#include "vgpu/testing.h"

namespace kernelsmith::vgpu {
namespace {

double D(const char* name, std::initializer_list<double> arguments, int result = 0) {
  const math::LibdeviceFunction* f = math::FindLibdeviceFunction(name);
  EXPECT_NE(f, nullptr) << name;
  if (f == nullptr) return 0;
  uint64_t in[4] = {};
  size_t n = 0;
  for (const double x : arguments) {
    switch (f->arguments[n]) {
      case 'f':
        in[n++] = std::bit_cast<uint32_t>(static_cast<float>(x));
        break;
      case 'd':
        in[n++] = std::bit_cast<uint64_t>(x);
        break;
      default:
        in[n++] = static_cast<uint32_t>(static_cast<int32_t>(x));
    }
  }
  uint64_t out[2] = {};
  f->evaluate(in, out);
  const uint64_t bits = out[result];
  switch (f->results[static_cast<size_t>(result)]) {
    case 'f':
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case 'd':
      return std::bit_cast<double>(bits);
    case 'i':
      return static_cast<int32_t>(bits);
    default:
      return static_cast<double>(static_cast<int64_t>(bits));
  }
}

TEST(Libdevice, TableIsSortedAndWellFormed) {
  std::set<std::string> names;
  for (const math::LibdeviceFunction& f : math::LibdeviceFunctions()) {
    EXPECT_TRUE(names.insert(std::string(f.name)).second) << f.name;
    EXPECT_EQ(math::FindLibdeviceFunction(f.name), &f);
    EXPECT_TRUE(f.arguments.size() >= 1 && f.arguments.size() <= 4) << f.name;
    EXPECT_TRUE(f.results.size() >= 1 && f.results.size() <= 2) << f.name;
    EXPECT_NE(f.evaluate, nullptr);
  }
  EXPECT_EQ(math::FindLibdeviceFunction("__nv_fmaxf"), nullptr);
  EXPECT_EQ(math::FindLibdeviceFunction(""), nullptr);
}

// Values from tables (Abramowitz and Stegun; NIST DLMF), to the digits they give.
TEST(Libdevice, ValuesFromTables) {
  EXPECT_FLOAT_EQ(D("__nv_expf", {1}), std::numbers::e_v<float>);
  EXPECT_DOUBLE_EQ(D("__nv_exp", {1}), std::numbers::e);
  EXPECT_FLOAT_EQ(D("__nv_fast_expf", {1}), std::numbers::e_v<float>);
  EXPECT_DOUBLE_EQ(D("__nv_exp10", {-2}), 0.01);
  EXPECT_NEAR(D("__nv_erf", {0.5}), 0.5204998778130465, 1e-16);
  EXPECT_NEAR(D("__nv_erfcx", {2}), 0.2553956763105057, 1e-15);
  EXPECT_NEAR(D("__nv_erfcx", {200}) / (std::numbers::inv_sqrtpi / 200 * (1 - 0.5 / 40000.0)), 1,
              1e-9);
  EXPECT_NEAR(D("__nv_erfinv", {0.5}), 0.4769362762044699, 1e-15);
  EXPECT_NEAR(D("__nv_normcdf", {1}), 0.8413447460685429, 1e-15);
  EXPECT_NEAR(D("__nv_normcdfinv", {0.975}), 1.959963984540054, 1e-14);
  EXPECT_NEAR(D("__nv_cyl_bessel_i0", {1}), 1.2660658777520084, 1e-14);
  EXPECT_NEAR(D("__nv_cyl_bessel_i1", {-1}), -0.5651591039924850, 1e-14);
  EXPECT_NEAR(D("__nv_j0", {1}), 0.7651976865579666, 1e-15);
  EXPECT_NEAR(D("__nv_jn", {2, 1}), 0.1149034849319005, 1e-15);
  EXPECT_DOUBLE_EQ(D("__nv_tgamma", {5}), 24);
  EXPECT_NEAR(D("__nv_lgamma", {0.5}), 0.5723649429247001, 1e-15);
  EXPECT_DOUBLE_EQ(D("__nv_pow", {-2, 3}), -8);
  EXPECT_FLOAT_EQ(D("__nv_powif", {1.5, -2}), 1 / 2.25F);
  EXPECT_TRUE(std::isnan(D("__nv_fast_powf", {-2, 2})));  // as lg2 of a negative number
  EXPECT_EQ(D("__nv_powf", {-2, 2}), 4);
  EXPECT_DOUBLE_EQ(D("__nv_rnorm4d", {1, 1, 1, 1}), 0.5);
  EXPECT_EQ(D("__nv_roundf", {-2.5}), -3);
  EXPECT_EQ(D("__nv_llround", {1e300}), 0x1p63);
  EXPECT_EQ(D("__nv_ilogbf", {0.75}), -1);
  EXPECT_EQ(D("__nv_nextafterf", {1, 2}), 1 + 0x1p-23);
  EXPECT_EQ(D("__nv_ldexpf", {1, -149}), 0x1p-149);
}

TEST(Libdevice, SeveralResults) {
  EXPECT_EQ(D("__nv_frexpf", {12}, 0), 0.75);
  EXPECT_EQ(D("__nv_frexpf", {12}, 1), 4);
  EXPECT_EQ(D("__nv_modf", {-2.25}, 0), -0.25);
  EXPECT_EQ(D("__nv_modf", {-2.25}, 1), -2);
  EXPECT_EQ(D("__nv_sincospif", {0.5}, 0), 1);
  EXPECT_EQ(D("__nv_sincospif", {0.5}, 1), 0);
  EXPECT_EQ(D("__nv_remquof", {7, 2}, 0), -1);
  EXPECT_EQ(D("__nv_remquof", {7, 2}, 1), 4);
}

TEST(Libdevice, InversesInvert) {
  for (double x = -0.999; x < 1; x += 0.037) {
    EXPECT_NEAR(std::erf(D("__nv_erfinv", {x})), x, 2e-16) << x;
    EXPECT_NEAR(D("__nv_normcdf", {D("__nv_normcdfinv", {(x + 1) / 2})}), (x + 1) / 2, 4e-16);
  }
  for (double y = 1e-300; y < 1; y *= 1e7) {
    EXPECT_NEAR(std::erfc(D("__nv_erfcinv", {y})) / y, 1, 1e-12) << y;
    EXPECT_NEAR(std::erfc(D("__nv_erfcinv", {2 - y})), 2 - y, 1e-15) << y;
  }
  for (double x = -7; x < 7; x += 0.0625) {
    EXPECT_NEAR(D("__nv_sinpi", {x}),
                static_cast<double>(std::sin(x * std::numbers::pi_v<long double>)), 4e-16)
        << x;
    EXPECT_NEAR(D("__nv_cospi", {x}),
                static_cast<double>(std::cos(x * std::numbers::pi_v<long double>)), 4e-16)
        << x;
  }
}

TEST(Libdevice, NanIsCanonical) {
  const math::LibdeviceFunction* f = math::FindLibdeviceFunction("__nv_logf");
  const uint64_t in[1] = {std::bit_cast<uint32_t>(-1.0F)};
  uint64_t out[2] = {};
  f->evaluate(in, out);
  EXPECT_EQ(out[0], 0x7fffffffu);
}

// As nvcc writes it, with a call under a guard and results through pointers.
constexpr const char* kCalls = R"(
.extern .func (.param .b32 func_retval0) __nv_powf(.param .b32 p0, .param .b32 p1);
.extern .func __nv_sincosf(.param .b32 p0, .param .b64 p1, .param .b64 p2);
.visible .entry k(.param .u64 out) {
  .local .align 8 .b8 depot[8];
  .reg .pred %p<2>;
  .reg .f32 %f<9>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 16;
  add.s64 %rd3, %rd1, %rd2;
  cvt.rn.f32.u32 %f1, %r1;
  setp.ne.u32 %p1, %r1, 3;
  mov.f32 %f2, 0fBF800000;
  @!%p1 bra DONE;
  {
  .param .b32 param0;
  st.param.f32 [param0+0], %f1;
  .param .b32 param1;
  st.param.f32 [param1+0], 0f40000000;
  .param .b32 retval0;
  call.uni (retval0), __nv_powf, (param0, param1);
  ld.param.f32 %f2, [retval0+0];
  }
DONE:
  st.global.f32 [%rd3], %f2;
  mov.u64 %rd4, depot;
  cvta.local.u64 %rd5, %rd4;
  add.s64 %rd6, %rd3, 4;
  {
  .param .b32 param0;
  st.param.f32 [param0+0], %f1;
  .param .b64 param1;
  st.param.b64 [param1+0], %rd5;
  .param .b64 param2;
  st.param.b64 [param2+0], %rd6;
  call.uni __nv_sincosf, (param0, param1, param2);
  }
  ld.local.f32 %f3, [depot];
  st.global.f32 [%rd3+8], %f3;
  ret;
})";

class CallCounter final : public Observer {
 public:
  void AfterInstruction(WarpView& warp, const Instruction& in, uint32_t mask) override {
    if (in.op != Op::kMathCall) return;
    const math::LibdeviceFunction& f = math::LibdeviceFunctions()[in.target];
    seen += std::string(f.base) + "/" + std::to_string(std::popcount(mask)) + " ";
    if (f.base == "pow") {
      square = std::bit_cast<float>(static_cast<uint32_t>(warp.ReadOperand(in.d, 5)));
      exponent = std::bit_cast<float>(static_cast<uint32_t>(warp.ReadOperand(in.b, 5)));
    }
  }
  std::string seen;
  float square = 0;
  float exponent = 0;
};

TEST(Libdevice, RunsInKernelsAndIsOneInstruction) {
  TestGpu gpu;
  const Status loaded = gpu.Load(kCalls);
  ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
  const uint64_t out = gpu.Buffer(std::vector<float>(32 * 4, 0.0F));
  CallCounter counter;
  const auto result = gpu.Launch("k", {1, 1, 1}, {32, 1, 1}, {out}, 0, false, &counter);
  ASSERT_TRUE(result.ok()) << result.error().Format();
  ASSERT_FALSE(result->fault.has_value()) << result->fault->message;
  const std::vector<float> values = gpu.Read<float>(out, 32 * 4);
  for (size_t i = 0; i < 32; ++i) {
    const auto x = static_cast<float>(i);
    EXPECT_EQ(values[4 * i], i == 3 ? -1 : x * x);
    EXPECT_EQ(values[4 * i + 1], static_cast<float>(std::cos(static_cast<double>(x))));
    EXPECT_EQ(values[4 * i + 2], static_cast<float>(std::sin(static_cast<double>(x))));
  }
  EXPECT_EQ(counter.seen, "pow/31 sincos/32 ");
  EXPECT_EQ(counter.square, 25);
  EXPECT_EQ(counter.exponent, 2);
}

TEST(Libdevice, OtherSignaturesAreRefused) {
  TestGpu gpu;
  const Status loaded = gpu.Load(R"(
.extern .func (.param .b64 r) __nv_expf(.param .b64 p0);
.visible .entry k() {
  .param .b64 a;
  .param .b64 b;
  st.param.b64 [a], 0;
  call.uni (b), __nv_expf, (a);
  ret;
})");
  ASSERT_TRUE(loaded.ok()) << loaded.error().Format();
  const auto result = gpu.Launch("k", {1, 1, 1}, {32, 1, 1}, {});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().Format().find("declared otherwise"), std::string::npos)
      << result.error().Format();
}

}  // namespace
}  // namespace kernelsmith::vgpu
