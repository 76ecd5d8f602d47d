#include "compile/host_library_scan.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "support/file_system.h"
#include "support/subprocess.h"
#include "support/testing/real_settings.h"
#include "support/tool_finder.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

TEST(HostImports, WhatComputesIsAllowed) {
  for (const char* name : {"memcpy",
                           "strlen",
                           "cosf",
                           "sqrt",
                           "lgammaf_r",
                           "printf",
                           "malloc",
                           "cudaMalloc",
                           "__cudaPushCallConfiguration",
                           "cublasSgemm_v2",
                           "_Znwm",
                           "_ZdlPvm",
                           "__cxa_throw",
                           "_ZTIi",
                           "_ZNSt6thread4joinEv",
                           "_ZNSolsEi",
                           "_ZSt4cout",
                           "pthread_mutex_lock",
                           "_ZN2at5emptyEN3c108ArrayRefIlEERKNS0_13TensorOptionsE",
                           "__udivti3"}) {
    EXPECT_EQ(GroupOfImport(name), ImportGroup::kAllowed) << name;
  }
}

TEST(HostImports, WhatLooksAroundIsNot) {
  for (const char* name :
       {"getenv", "time", "clock_gettime", "rand", "fopen", "open64", "pthread_self", "getpid",
        "_ZNSt6chrono3_V212system_clock3nowEv", "_ZNSt13random_device9_M_getvalEv", "_ZSt3cin",
        "sigaction", "_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode"}) {
    EXPECT_EQ(GroupOfImport(name), ImportGroup::kTells) << name;
  }
  for (const char* name :
       {"dlsym", "dl_iterate_phdr", "syscall", "environ", "ptrace", "prctl", "mprotect",
        "memfd_create", "fork", "execve", "socket", "_Unwind_Backtrace", "Py_IsInitialized"}) {
    EXPECT_EQ(GroupOfImport(name), ImportGroup::kNever) << name;
  }
  EXPECT_EQ(GroupOfImport("frobnicate"), ImportGroup::kUnknown);
}

// Libraries as the product builds them, of source text.
class HostLibraryScan : public testing::Test {
 protected:
  std::vector<HostLibraryFinding> Scan(const std::string& text) {
    const fs::path folder = fs::path(testing::TempDir()) /
                            (std::string("ks-host-scan-") +
                             testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder);
    EXPECT_TRUE(files_.Write(folder / "host.cc", text).ok());
    const std::optional<Tool> clang = tools_.Clang();
    if (!clang) return {};
    const Result<ProcessResult> built =
        processes_.Run({.argv = {clang->path.string(), "-xc++", "-std=c++17", "-O0", "-g1", "-w",
                                 "-fPIC", "-shared", (folder / "host.cc").string(), "-lstdc++",
                                 "-o", (folder / "host.so").string()}});
    EXPECT_TRUE(built.ok() && built->exit_code == 0) << (built.ok() ? built->err : "");
    const Result<std::string> library = files_.Read(folder / "host.so");
    EXPECT_TRUE(library.ok());
    fs::remove_all(folder);
    return library.ok() ? ScanHostLibrary(*library) : std::vector<HostLibraryFinding>();
  }

  // The only finding of a library.
  HostLibraryFinding One(const std::string& text) {
    const std::vector<HostLibraryFinding> findings = Scan(text);
    EXPECT_EQ(findings.size(), 1U);
    for (const HostLibraryFinding& each : findings) SCOPED_TRACE(each.message);
    return findings.empty() ? HostLibraryFinding{} : findings.front();
  }

  DiskFileSystem files_;
  SystemProcessRunner processes_;
  ToolFinder tools_{processes_, files_, RealSettings().tools, KS_SOURCE_DIR};
};

TEST_F(HostLibraryScan, HonestCodeHasNoFindings) {
  const auto findings = Scan(R"(
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>
std::mutex mutex;
thread_local int calls = 0;
extern "C" double forward(double v) {
  static std::map<std::string, int> table = {{"a", 1}};
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<double> all(3, std::exp(v));
  std::printf("%d\n", ++calls);
  if (all.empty()) throw std::string("empty");
  return all[0] + table.at("a");
}
extern "C" void cuda_softmax(float*) {}
extern "C" void memory_copy(float*) {}
)");
  for (const HostLibraryFinding& each : findings) ADD_FAILURE() << each.message;
}

TEST_F(HostLibraryScan, WeakSymbolsTellProgramsApart) {
  const auto found = One(R"(
extern "C" __attribute__((weak)) int Py_IsInitialized();
bool Judged() { return &Py_IsInitialized == nullptr; }
)");
  EXPECT_EQ(found.wall, HostWall::kWeakSymbols);
  EXPECT_EQ(found.kind, FindingKind::kForbidden);
  EXPECT_FALSE(found.sites.empty());
}

TEST_F(HostLibraryScan, NamesOfTheSourceDoNotCount) {
  const auto found = One(R"(
extern "C" char* ask(const char*) __asm__("getenv");
bool Judged() { return ask("HOME") == nullptr; }
)");
  EXPECT_EQ(found.wall, HostWall::kImports);
  EXPECT_EQ(found.kind, FindingKind::kUnsupported);
  EXPECT_NE(found.message.find("getenv"), std::string::npos);
  EXPECT_EQ(found.sites.size(), 1U);
}

TEST_F(HostLibraryScan, SystemCallsWithoutAFunction) {
  const auto found = One(R"(
long Ask() {
  long number = 39;
  __asm__ volatile("syscall" : "+a"(number) : : "rcx", "r11", "memory");
  return number;
}
)");
  EXPECT_EQ(found.wall, HostWall::kInstructions);
  EXPECT_EQ(found.kind, FindingKind::kForbidden);
}

// Honest code may have such a constant, so this does not refute; but it is not verified either.
TEST_F(HostLibraryScan, BytesInsideOfAConstant) {
  const auto found = One("long Ask() { return 0x9090909003eb050f; }");
  EXPECT_EQ(found.wall, HostWall::kInstructions);
  EXPECT_EQ(found.kind, FindingKind::kUnsupported);
}

// The distance of a call is as long as code happens to be: such bytes mean nothing.
TEST_F(HostLibraryScan, BytesInsideOfADistance) {
  EXPECT_TRUE(Scan(R"(
extern "C" void Far();
extern "C" int Near(int v) { if (v > 0) return v; Far(); return 0; }
__asm__(".text\n.type Padded,@function\nPadded:\n.byte 0xe9\n.long 0x0000050f\n"
        ".skip 0x600,0x90\nret\n.size Padded, .-Padded\n");
extern "C" void Far() {}
)")
                  .empty());
}

TEST_F(HostLibraryScan, ADistanceThatTheCodeJumpsIntoCounts) {
  const auto found = One(R"(
__asm__(".text\n.type Padded,@function\nPadded:\njmp 1f + 1\n1: .byte 0xe9\n.long 0x0000050f\n"
        ".skip 0x600,0x90\nret\n.size Padded, .-Padded\n");
)");
  EXPECT_EQ(found.kind, FindingKind::kUnsupported);
}

TEST_F(HostLibraryScan, ClocksOfTheProcessor) {
  const auto found = One("unsigned long long Now() { return __builtin_ia32_rdtsc(); }");
  EXPECT_EQ(found.wall, HostWall::kInstructions);
  EXPECT_EQ(found.kind, FindingKind::kUnsupported);
  EXPECT_NE(found.message.find("rdtsc"), std::string::npos);
}

TEST_F(HostLibraryScan, FunctionsOfTheRuntimeAreNotTheCandidates) {
  const auto found = One("extern \"C\" int cudaGetDeviceCount(int* n) { return *n = 0; }");
  EXPECT_EQ(found.wall, HostWall::kDefinitions);
  EXPECT_EQ(found.kind, FindingKind::kForbidden);
  EXPECT_EQ(One("extern \"C\" long time(long*) { return 0; }").kind, FindingKind::kUnsupported);
}

// Whatever NVIDIA's runtime exports is not the candidate's to define; neither are the libraries
// that the judge provides.
TEST_F(HostLibraryScan, AllFunctionsOfTheRuntimeAreKnown) {
  const std::optional<Tool> nvcc = tools_.Nvcc();
  if (!nvcc) GTEST_SKIP() << "no nvcc";
  const fs::path runtime =
      fs::path(nvcc->path).parent_path().parent_path() / "lib64/libcudart.so.13";
  if (!fs::exists(runtime)) GTEST_SKIP() << "no " << runtime;
  const Result<ProcessResult> listed =
      processes_.Run({.argv = {"nm", "-D", "--defined-only", runtime.string()}});
  ASSERT_TRUE(listed.ok() && listed->exit_code == 0);
  std::string source = "extern \"C\" int cublasSgemm_v2() { return 0; }\n";
  size_t functions = 1;
  std::istringstream lines(listed->out);
  for (std::string line; std::getline(lines, line);) {
    const std::string symbol = line.substr(line.rfind(' ') + 1);
    const std::string name = symbol.substr(0, symbol.find('@'));
    // The others are versions, which are no code.
    if (!name.starts_with("cuda") && !name.starts_with("__cuda")) continue;
    source += fmt::format("extern \"C\" int {}() {{ return 0; }}\n", name);
    ++functions;
  }
  EXPECT_GT(functions, 300U);
  const std::vector<HostLibraryFinding> findings = Scan(source);
  EXPECT_EQ(findings.size(), functions);
  for (const HostLibraryFinding& found : findings) {
    EXPECT_EQ(found.wall, HostWall::kDefinitions) << found.message;
    EXPECT_EQ(found.kind, FindingKind::kForbidden) << found.message;
  }
}

TEST_F(HostLibraryScan, DeviceCodeIsTheCompilersToRegister) {
  EXPECT_EQ(One("extern \"C\" void** __cudaRegisterFatBinary(void*);\n"
                "void** handle = __cudaRegisterFatBinary(nullptr);")
                .wall,
            HostWall::kRegistration);
  // By its address in a table.
  EXPECT_EQ(One("extern \"C\" void** __cudaRegisterFatBinary(void*);\n"
                "extern \"C\" { void** (*table[])(void*) = {__cudaRegisterFatBinary}; }")
                .wall,
            HostWall::kRegistration);
}

TEST_F(HostLibraryScan, CodeThatCanBeWritten) {
  const auto findings = Scan(R"(
__asm__(".section .both,\"awx\"\n.byte 0xc3\n.text\n");
int Forward() { return 1; }
)");
  EXPECT_TRUE(std::any_of(findings.begin(), findings.end(), [](const HostLibraryFinding& each) {
    return each.wall == HostWall::kLayout && each.kind == FindingKind::kForbidden;
  }));
}

TEST(HostFindings, AreKept) {
  const std::vector<HostLibraryFinding> findings = {
      {.wall = HostWall::kWeakSymbols,
       .kind = FindingKind::kForbidden,
       .message = "asks",
       .where = {.file = "k.cu", .line = 7},
       .sites = {},
       .word = {}},
      {.wall = HostWall::kLayout, .kind = FindingKind::kUnsupported, .message = "needs"}};
  const auto read = ReadHostFindings(WriteHostFindings(findings));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].wall, HostWall::kWeakSymbols);
  EXPECT_EQ((*read)[0].kind, FindingKind::kForbidden);
  EXPECT_EQ((*read)[0].where.line, 7);
  EXPECT_EQ((*read)[1].message, "needs");
  EXPECT_FALSE(ReadHostFindings("{}").ok());
  EXPECT_FALSE(ReadHostFindings("[{\"wall\": 99}]").ok());
}

TEST(HostFindings, AFileThatIsNoLibraryIsNotVerified) {
  EXPECT_EQ(ScanHostLibrary("no library").size(), 1U);
  EXPECT_EQ(ScanHostLibrary({}).size(), 1U);
}

}  // namespace
}  // namespace kernelsmith
