#include "vgpu/memory.h"

#include <gtest/gtest.h>

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <set>

#include "vgpu/heap.h"

namespace kernelsmith::vgpu {
namespace {

std::unique_ptr<DeviceMemory> NewMemory(DeviceMemory::Options options = {}) {
  auto memory = DeviceMemory::Create(options);
  EXPECT_TRUE(memory.ok());
  return *std::move(memory);
}

TEST(DeviceMemory, AllocationsAreZeroedApartAndFound) {
  auto memory = NewMemory();
  const uint64_t a = *memory->Allocate(100, AllocationKind::kDevice, "a");
  const uint64_t b = *memory->Allocate(5000, AllocationKind::kDevice, "b");
  EXPECT_EQ(a % 256, 0u);
  EXPECT_GE(b, a + 100 + 4096);
  const auto* bytes = static_cast<const unsigned char*>(memory->HostAlias(b, 5000));
  ASSERT_NE(bytes, nullptr);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(bytes[i], 0);
  EXPECT_EQ(memory->Find(a + 99)->where, "a");
  EXPECT_FALSE(memory->Find(a + 100).has_value());
  EXPECT_EQ(memory->HostAlias(a, 101), nullptr);
  EXPECT_NE(memory->HostAlias(a + 100, 0), nullptr);
  EXPECT_EQ(memory->used_bytes(), 5100u);
}

TEST(DeviceMemory, FreedMemoryIsKnownForReportsAndComesBackZeroed) {
  DeviceMemory::Options options;
  options.quarantine_bytes = 0;
  auto memory = NewMemory(options);
  const uint64_t a = *memory->Allocate(4096, AllocationKind::kDevice, "a");
  std::memset(memory->HostAlias(a, 4096), 0xff, 4096);
  ASSERT_TRUE(memory->Free(a).ok());
  EXPECT_EQ(memory->HostAlias(a, 1), nullptr);
  EXPECT_FALSE(memory->Free(a).ok());
  const uint64_t b = *memory->Allocate(4096, AllocationKind::kDevice, "b");
  EXPECT_EQ(b, a);  // nothing in quarantine: the hole is used again
  EXPECT_EQ(*static_cast<const unsigned char*>(memory->HostAlias(b, 1)), 0);
}

TEST(DeviceMemory, QuarantineKeepsFreshFreesApart) {
  auto memory = NewMemory();
  const uint64_t a = *memory->Allocate(64, AllocationKind::kDevice, "first");
  ASSERT_TRUE(memory->Free(a).ok());
  const uint64_t b = *memory->Allocate(64, AllocationKind::kDevice, "second");
  EXPECT_NE(a, b);
  const auto report = memory->FindForReport(a + 3);
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->freed);
  EXPECT_EQ(report->where, "first");
}

TEST(DeviceMemory, CapacityIsALimit) {
  DeviceMemory::Options options;
  options.capacity = 1 << 20;
  auto memory = NewMemory(options);
  EXPECT_TRUE(memory->Allocate(1 << 19, AllocationKind::kDevice, "a").ok());
  EXPECT_FALSE(memory->Allocate((1 << 19) + 1, AllocationKind::kDevice, "b").ok());
  EXPECT_FALSE(memory->Allocate(~uint64_t{0}, AllocationKind::kDevice, "c").ok());
}

TEST(DeviceMemory, HostSeesManagedMemoryAtTheSameAddress) {
  auto memory = NewMemory();
  const uint64_t a = *memory->Allocate(8, AllocationKind::kManaged, "m");
  *reinterpret_cast<uint64_t*>(a) = 42;
  EXPECT_EQ(*static_cast<uint64_t*>(memory->HostAlias(a, 8)), 42u);
}

sigjmp_buf g_jump;

TEST(DeviceMemory, HostCannotTouchDeviceMemory) {
  auto memory = NewMemory();
  const uint64_t a = *memory->Allocate(8, AllocationKind::kDevice, "d");
  struct sigaction old{};
  struct sigaction action{};
  action.sa_handler = [](int) { siglongjmp(g_jump, 1); };
  sigaction(SIGSEGV, &action, &old);
  const bool faulted = sigsetjmp(g_jump, 1) != 0;
  if (!faulted) *reinterpret_cast<volatile uint64_t*>(a) = 1;
  sigaction(SIGSEGV, &old, nullptr);
  EXPECT_TRUE(faulted);
}

TEST(DeviceMemory, RegisteredHostRangesTranslateToThemselves) {
  auto memory = NewMemory();
  std::vector<int> values(100);
  ASSERT_TRUE(memory->RegisterHostRange(values.data(), 400, "v").ok());
  EXPECT_FALSE(memory->RegisterHostRange(values.data() + 50, 400, "w").ok());
  const auto address = reinterpret_cast<uint64_t>(values.data());
  EXPECT_EQ(memory->HostAlias(address + 8, 4), values.data() + 2);
  EXPECT_FALSE(memory->Free(address).ok());
  ASSERT_TRUE(memory->UnregisterHostRange(values.data()).ok());
  EXPECT_EQ(memory->HostAlias(address, 4), nullptr);
}

TEST(DeviceHeap, BlocksAreReusedAndBadFreesAreRefused) {
  auto memory = NewMemory();
  DeviceHeap heap(*memory, 1024);
  const uint64_t a = heap.Allocate(500);
  const uint64_t b = heap.Allocate(500);
  ASSERT_NE(a, 0u);
  ASSERT_NE(b, 0u);
  EXPECT_EQ(a % 16, 0u);
  EXPECT_EQ(heap.Allocate(100), 0u);
  EXPECT_FALSE(heap.Free(a + 16));
  EXPECT_TRUE(heap.Free(a));
  EXPECT_FALSE(heap.Free(a));
  EXPECT_TRUE(heap.Free(b));
  EXPECT_EQ(heap.Allocate(1024), a);  // the parts have merged
}

// Nobody can foresee where an allocation begins, nor how far from the one before.
TEST(DeviceMemory, ScattersAllocations) {
  auto memory = DeviceMemory::Create({.reserve = uint64_t{1} << 36,
                                      .quarantine_bytes = DeviceMemory::kNeverAgain,
                                      .scattered = true});
  ASSERT_TRUE(memory.ok());
  std::set<uint64_t> places;
  std::set<uint64_t> distances;
  uint64_t last = 0;
  for (int i = 0; i < 64; ++i) {
    const auto address = (*memory)->Allocate(100, AllocationKind::kDevice, "here");
    ASSERT_TRUE(address.ok());
    EXPECT_EQ(*address % 512, 0u);
    places.insert(*address >> 9 & 0xfff);
    distances.insert(*address - last);
    last = *address;
    const auto pinned = (*memory)->Allocate(100, AllocationKind::kPinned, "there");
    ASSERT_TRUE(pinned.ok());
    EXPECT_EQ(*pinned % 4096, 0u);
    EXPECT_TRUE((*memory)->Free(*pinned).ok());
  }
  EXPECT_GT(places.size(), 48u);
  EXPECT_GT(distances.size(), 48u);
}

}  // namespace
}  // namespace kernelsmith::vgpu
