#include "vgpu/jit_library.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace kernelsmith::vgpu {
namespace {

TEST(JitLibrary, OfAnotherVersionIsRefused) {
  ::setenv("KERNELSMITH_JIT_LIBRARY", KS_OTHER_JIT, 1);
  const JitLibrary other = FindJitLibrary();
  ::unsetenv("KERNELSMITH_JIT_LIBRARY");
  EXPECT_EQ(other.compile, nullptr);
  EXPECT_NE(other.why.find("belongs to another version"), std::string::npos) << other.why;
}

TEST(JitLibrary, OfThisVersionIsFound) {
  const JitLibrary own = FindJitLibrary();
  EXPECT_NE(own.compile, nullptr) << own.why;
}

}  // namespace
}  // namespace kernelsmith::vgpu
