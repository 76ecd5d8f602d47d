// f64 arithmetic in the directed rounding modes. The operation stands between two changes of the
// host's rounding mode; FENV_ACCESS keeps the compiler from folding or moving it.
#include <cfenv>
#include <cmath>

#include "support/check.h"
#include "vgpu/math/arith.h"

#pragma STDC FENV_ACCESS ON

namespace kernelsmith::vgpu::math {
namespace {

class HostRounding {
 public:
  explicit HostRounding(Round round) : saved_(fegetround()) { fesetround(Mode(round)); }
  ~HostRounding() { fesetround(saved_); }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  static int Mode(Round round) {
    switch (round) {
      case Round::kRz:
        return FE_TOWARDZERO;
      case Round::kRm:
        return FE_DOWNWARD;
      case Round::kRp:
        return FE_UPWARD;
      case Round::kRn:
      case Round::kRna:
      case Round::kOdd:
        return FE_TONEAREST;
    }
    KS_CHECK(false, "no such rounding mode");
  }
  int saved_;
};

}  // namespace

double AddF64Directed(Round round, double a, double b) {
  HostRounding rounding(round);
  return a + b;
}

double MulF64Directed(Round round, double a, double b) {
  HostRounding rounding(round);
  return a * b;
}

double FmaF64Directed(Round round, double a, double b, double c) {
  HostRounding rounding(round);
  return std::fma(a, b, c);
}

double DivF64Directed(Round round, double a, double b) {
  HostRounding rounding(round);
  return a / b;
}

double SqrtF64Directed(Round round, double a) {
  HostRounding rounding(round);
  return std::sqrt(a);
}

}  // namespace kernelsmith::vgpu::math
