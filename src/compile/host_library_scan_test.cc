#include "compile/host_library_scan.h"

#include <gtest/gtest.h>

namespace kernelsmith {
namespace {
TEST(HostLibraryScan, Placeholder) {}
}  // namespace
}  // namespace kernelsmith
