#include "vgpu/jit_library.h"

#include <gtest/gtest.h>

namespace kernelsmith::vgpu {
namespace {

TEST(JitLibrary, OfAnotherVersionIsRefused) {
  const JitLibrary other = FindJitLibrary(KS_OTHER_JIT);
  EXPECT_EQ(other.compile, nullptr);
  EXPECT_NE(other.why.find("belongs to another version"), std::string::npos) << other.why;
}

TEST(JitLibrary, OfThisVersionIsFound) {
  const JitLibrary own = FindJitLibrary("");
  EXPECT_NE(own.compile, nullptr) << own.why;
}

}  // namespace
}  // namespace kernelsmith::vgpu
