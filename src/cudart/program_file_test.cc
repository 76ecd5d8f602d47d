#include "cudart/program_file.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "support/rng.h"

namespace kernelsmith::cudart {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

std::string OwnProgram() {
  std::ifstream in("/proc/self/exe", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(ProgramFile, ReadsARealProgram) {
  const Result<ProgramFile> file = InspectProgram(OwnProgram(), "test");
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE(file->script);
  EXPECT_TRUE(file->dynamic);
  EXPECT_THAT(file->needed, Contains("libc.so.6"));
  EXPECT_FALSE(file->has_device_code);
  EXPECT_FALSE(file->has_static_runtime());
}

TEST(ProgramFile, KnowsScripts) {
  const Result<ProgramFile> file = InspectProgram("#!/bin/sh\necho hi\n", "x.sh");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->script);
}

TEST(ProgramFile, RefusesWhatIsNoProgram) {
  for (const std::string& contents : {std::string(), std::string("hello"),
                                      std::string("\x7f"
                                                  "ELF")}) {
    const Result<ProgramFile> file = InspectProgram(contents, "notes.txt");
    ASSERT_FALSE(file.ok());
    EXPECT_EQ(file.error().message(), "notes.txt is not an executable program");
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = EM_X86_64;
  header.e_type = ET_REL;
  const Result<ProgramFile> object =
      InspectProgram({reinterpret_cast<const char*>(&header), sizeof(header)}, "a.o");
  ASSERT_FALSE(object.ok());
  EXPECT_THAT(object.error().message(), HasSubstr("object file"));
  header.e_machine = EM_AARCH64;
  EXPECT_EQ(
      InspectProgram({reinterpret_cast<const char*>(&header), sizeof(header)}, "a").error().kind(),
      ErrorKind::kUnsupported);
}

TEST(ProgramFile, SurvivesDamage) {
  const std::string original = OwnProgram();
  Rng rng(7);
  for (int round = 0; round < 20; ++round) {
    std::string damaged = original;
    for (int i = 0; i < 6; ++i) damaged[rng.Below(64)] = static_cast<char>(rng.Next());
    (void)InspectProgram(damaged, "damaged");
    (void)InspectProgram(original.substr(0, rng.Below(original.size())), "cut off");
  }
}

}  // namespace
}  // namespace kernelsmith::cudart
