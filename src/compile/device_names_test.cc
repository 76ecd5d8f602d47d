#include "compile/device_names.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace kernelsmith {
namespace {

TEST(DeviceNames, CanonicalNamesOfBothCompilers) {
  // nvcc 13 and clang 19, of the same source.
  const std::pair<const char*, const char*> pairs[] = {
      {"_ZN40_GLOBAL__N__7d914090_12_candidate_cu_run2k1EPf", "_ZN12_GLOBAL__N_12k1EPf"},
      {"_ZN40_GLOBAL__N__7d914090_12_candidate_cu_run2k3IfEEvPT_", "_ZN12_GLOBAL__N_12k3IfEEvPT_"},
      {"_ZN38_INTERNAL_7d914090_12_candidate_cu_run40_GLOBAL__N__7d914090_12_candidate_cu_run1cE",
       "_ZN12_GLOBAL__N_11cE"},
      {"_Z2k2Pf", "_ZL2k2Pf"},
      {"sc", "_ZL2sc"},
      {"counter", "counter"},
      {"_Z6kernelILi12EEvPf", "_Z6kernelILi12EEvPf"},
  };
  for (const auto& [nvcc, clang] : pairs) EXPECT_EQ(CanonicalName(nvcc), CanonicalName(clang));
  EXPECT_NE(CanonicalName("_Z2k2Pf"), CanonicalName("_Z2k2Pd"));
  EXPECT_NE(CanonicalName("_ZN2ns1kEPf"), CanonicalName("_Z1kPf"));
  EXPECT_EQ(CanonicalName("_Z99k"), "_Z99k");
  EXPECT_EQ(CanonicalName("_Z99999999999999999999999k"), "_Z99999999999999999999999k");
  EXPECT_EQ(CanonicalName("_Z"), "_Z");
  EXPECT_EQ(CanonicalName(""), "");
}

constexpr const char* kPtx = R"(.version 9.0
.target sm_90
.address_size 64
.const .align 4 .b8 sc[16];
.global .align 4 .u32 only_device;
.entry _Z2k2Pf(.param .u64 _Z2k2Pf_param_0) { ret; }
)";

TEST(DeviceNames, PtxGetsTheNamesThatTheHostRegisters) {
  const auto renamed = NamesAsRegistered(kPtx, {"_ZL2k2Pf", "_ZL2sc", "a message"});
  ASSERT_TRUE(renamed.ok()) << renamed.error().Format();
  EXPECT_NE(renamed->find(".entry _ZL2k2Pf(.param .u64 _Z2k2Pf_param_0)"), std::string::npos);
  EXPECT_NE(renamed->find(".b8 _ZL2sc[16]"), std::string::npos);
  EXPECT_NE(renamed->find("only_device"), std::string::npos);
  // And back, as of a second compilation.
  const auto back = NamesAsIn(*renamed, kPtx);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, kPtx);
}

TEST(DeviceNames, WhatHasNoCounterpartIsRefused) {
  EXPECT_FALSE(NamesAsRegistered(kPtx, {"_Z2k2Pd", "_ZL2sc"}).ok());     // another kernel
  EXPECT_FALSE(NamesAsRegistered(kPtx, {"_Z2k2Pf", "_ZL5table"}).ok());  // another variable
  EXPECT_FALSE(NamesAsRegistered("no ptx", {}).ok());
  // A struct by value, whose padding clang leaves as it was.
  const std::string header = ".version 9.0\n.target sm_90\n.address_size 64\n";
  EXPECT_FALSE(
      NamesAsRegistered(header + ".entry k(.param .align 8 .b8 k_param_0[40]) { ret; }\n", {"k"})
          .ok());
  EXPECT_TRUE(
      NamesAsRegistered(header + ".entry k(.param .align 4 .b8 k_param_0[4]) { ret; }\n", {"k"})
          .ok());
}

TEST(DeviceNames, LiteralStringsOfNoObject) {
  EXPECT_FALSE(LiteralStrings("").ok());
  EXPECT_FALSE(LiteralStrings(std::string(200, 'x')).ok());
  std::string cut(
      "\x7f"
      "ELF",
      4);
  cut.resize(64, '\xff');
  EXPECT_FALSE(LiteralStrings(cut).ok());
  EXPECT_FALSE(HasSection(cut, ".text"));
}

TEST(DeviceNames, SectionsAreNotLiterals) {
  // This program is an ELF file; it has the name below as a literal.
  std::ifstream in("/proc/self/exe", std::ios::binary);
  const std::string self{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(HasSection(self, ".text"));
  const char* volatile literal = ".no_section_but_a_literal";
  const std::string name = literal;
  EXPECT_NE(self.find(name), std::string::npos);
  EXPECT_FALSE(HasSection(self, name));
}

}  // namespace
}  // namespace kernelsmith
