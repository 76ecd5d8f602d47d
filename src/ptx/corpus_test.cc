// The files of tests/ptx_syntax: PTX of every producer must go through and round; malformed files
// must give the diagnostics that they name.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "ptx/ptx.h"
#include "ptx/testing/dump.h"

namespace kernelsmith::ptx {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesOf(const char* folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(KS_PTX_SYNTAX_DIR) / folder)) {
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string Read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CorpusTest, EveryProducerParsesAndRounds) {
  const std::vector<fs::path> files = FilesOf("corpus");
  ASSERT_GE(files.size(), 12u);
  for (const fs::path& path : files) {
    const std::string text = Read(path);
    const Result<Module> first = Parse(text, path.filename());
    ASSERT_TRUE(first.ok()) << first.error().Format();
    const std::string printed = Print(*first);
    const Result<Module> second = Parse(printed, path.filename());
    ASSERT_TRUE(second.ok()) << second.error().Format();
    // EXPECT_EQ would print both.
    EXPECT_TRUE(Dump(*first) == Dump(*second)) << path << " changes when printed and parsed";
  }
}

// Lines `// expect 12:7: message` in the file, in the order of the diagnostics.
TEST(CorpusTest, MalformedFilesGiveTheirDiagnostics) {
  const std::vector<fs::path> files = FilesOf("malformed");
  ASSERT_GE(files.size(), 10u);
  for (const fs::path& path : files) {
    const std::string text = Read(path);
    std::string expected;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("// expect ")) expected += line.substr(10) + "\n";
    }
    const Result<Module> module = Parse(text, path.filename());
    ASSERT_FALSE(module.ok()) << path;
    std::string actual;
    for (const Diagnostic& diagnostic : module.error().diagnostics()) {
      actual += std::to_string(diagnostic.where.line) + ":" +
                std::to_string(diagnostic.where.column) + ": " + diagnostic.message + "\n";
    }
    EXPECT_EQ(actual, expected) << path;
  }
}

// Whatever the text is, there is an answer, and what parses can be printed and parsed again.
void MustSurvive(const std::string& text) {
  const Result<Module> module = Parse(text, "mutated.ptx");
  if (!module.ok()) {
    EXPECT_FALSE(module.error().diagnostics().empty());
    return;
  }
  const Result<Module> again = Parse(Print(*module), "printed.ptx");
  ASSERT_TRUE(again.ok()) << again.error().Format();
}

TEST(CorpusTest, TruncatedFilesSurvive) {
  for (const char* folder : {"corpus", "malformed"}) {
    for (const fs::path& path : FilesOf(folder)) {
      const std::string text = Read(path);
      const size_t step = std::max<size_t>(1, text.size() / 40);
      for (size_t size = 0; size < text.size(); size += step) MustSurvive(text.substr(0, size));
    }
  }
}

TEST(CorpusTest, MutatedFilesSurvive) {
  std::mt19937_64 random(20240807);
  std::vector<std::string> texts;
  for (const char* folder : {"corpus", "malformed"}) {
    for (const fs::path& path : FilesOf(folder)) {
      std::string text = Read(path);
      if (text.size() < 25000) texts.push_back(std::move(text));
    }
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  const auto below = [&](size_t limit) { return limit == 0 ? 0 : random() % limit; };
  constexpr std::string_view kPieces[] = {"{", "}",   "[",  "]",  ";",    ",",   "(",
                                          ")", "@!",  "|",  "_",  ".b32", "<9>", "0x",
                                          "-", "%r1", "::", "\"", "/*",   ".v4", ".x"};
  while (std::chrono::steady_clock::now() < end) {
    std::string text = texts[below(texts.size())];
    for (size_t i = below(6) + 1; i-- > 0;) {
      const size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text.erase(at, below(20));
          break;
        case 1:
          text.insert(at, kPieces[below(std::size(kPieces))]);
          break;
        case 2:
          text[at] = static_cast<char>(random());
          break;
        case 3:
          text.insert(at, text.substr(below(text.size()), below(60)));
          break;
        default:
          std::swap(text[at], text[below(text.size())]);
          break;
      }
    }
    MustSurvive(text);
  }
}

}  // namespace
}  // namespace kernelsmith::ptx
