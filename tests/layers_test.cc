// Rules about the tree. The order of src/'s folders is the architecture: a folder includes only
// from itself and from the folders that its CMakeLists.txt lists, all of which stand before it. And
// the environment is read in one place.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/settings.h"

namespace {

namespace fs = std::filesystem;

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Folder, and every folder that it may include from: those it lists and those they list.
std::map<std::string, std::set<std::string>> Allowed() {
  std::map<std::string, std::set<std::string>> allowed;
  std::ifstream in(KS_USES_FILE);
  for (std::string line; std::getline(in, line);) {
    const size_t colon = line.find(':');
    const std::string folder = line.substr(0, colon);
    std::set<std::string>& own = allowed[folder];
    own.insert(folder);
    // Folders come in order, so what the used ones may use is complete by now.
    for (const std::string& used : Words(line.substr(colon + 1))) {
      own.insert(allowed[used].begin(), allowed[used].end());
    }
  }
  return allowed;
}

TEST(Layers, FoldersIncludeOnlyWhatTheyList) {
  const std::vector<std::string> order = Words(KS_FOLDER_ORDER);
  const std::map<std::string, std::set<std::string>> allowed = Allowed();
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(KS_SOURCE_DIR) / "src")) {
    const std::string extension = entry.path().extension().string();
    if (extension != ".h" && extension != ".cc") continue;
    ++files;
    const std::string name = fs::relative(entry.path(), KS_SOURCE_DIR).string();
    const std::string folder =
        fs::relative(entry.path(), fs::path(KS_SOURCE_DIR) / "src").begin()->string();
    ASSERT_NE(std::find(order.begin(), order.end(), folder), order.end())
        << name << ": src/" << folder << " is not in KS_FOLDERS (CMakeLists.txt)";
    if (!allowed.contains(folder)) continue;  // not built yet
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      if (!line.starts_with("#include \"")) continue;
      const std::string path = line.substr(10, line.find('"', 10) - 10);
      const std::string used = path.substr(0, path.find('/'));
      if (std::find(order.begin(), order.end(), used) == order.end()) continue;
      EXPECT_TRUE(allowed.at(folder).contains(used))
          << name << " includes " << path << ", but src/" << folder << " does not list " << used;
    }
  }
  EXPECT_GT(files, 20);
}

// Files below these folders whose names end so.
std::vector<fs::path> FilesOf(const std::vector<std::string>& folders,
                              const std::set<std::string>& extensions) {
  std::vector<fs::path> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(KS_SOURCE_DIR) / folder)) {
      if (extensions.contains(entry.path().extension().string())) files.push_back(entry.path());
    }
  }
  return files;
}

std::string TextOf(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Environment, IsReadAndWrittenInOnePlace) {
  const std::map<std::string, std::string> allowed = {
      {"src/support/settings.cc", "the place"},
      {"src/support/subprocess.cc", "makes the environment of children"},
      {"src/support/confinement_test.cc", "what a confined child must not see"},
      {"src/candidate/candidate_test.cc", "names it in a candidate's words"},
      {"src/compile/host_library_scan_test.cc", "names it as what candidates must not use"},
      {"src/compile/walls_test.cc", "what compilers must not see"},
      {"src/plan/broker/child.cc", "what a child without its wall would inherit, for a test"},
      {"src/plan/host/probe.cc", "looks for what it must not see"},
      {"src/checkers/random_kernels_test.cc", "how long a test runs"},
      {"src/checkers/screen_programs_test.cc", "how long a test runs"},
      {"src/checkers/screen_test.cc", "how long a test runs"},
      {"tests/ops/ops_test.cc", "where another test left its cases"},
      {"tests/layers_test.cc", "this test"},
      {"bench/engine_pocl.cc", "PoCL is in our process and has no other way to be told"},
  };
  const std::regex access(R"(\b(secure_getenv|getenv|setenv|unsetenv|putenv|clearenv|environ)\b)");
  std::set<std::string> found;
  for (const fs::path& file : FilesOf({"src", "bench", "fuzz", "tests"}, {".h", ".cc"})) {
    const std::string name = fs::relative(file, KS_SOURCE_DIR).string();
    if (!std::regex_search(TextOf(file), access)) continue;
    found.insert(name);
    EXPECT_TRUE(allowed.contains(name))
        << name << " uses the environment: read it in src/support/settings.cc and pass it down; "
        << "for a child use ProcessRequest::env";
  }
  for (const auto& [name, why] : allowed) {
    EXPECT_TRUE(found.contains(name)) << name << " is allowed to, and need not be any more";
  }
}

TEST(Environment, VariablesOfOursAreInTheTable) {
  std::set<std::string> known;
  for (const kernelsmith::Setting& setting : kernelsmith::AllSettings()) {
    known.insert(setting.variable);
  }
  const std::regex variable("KERNELSMITH_[A-Z0-9_]*[A-Z0-9]");
  int names = 0;
  for (const fs::path& file : FilesOf({"src", "bench", "fuzz", "tests", "python", "docs"},
                                      {".h", ".cc", ".py", ".md", ".test", ".txt"})) {
    const std::string text = TextOf(file);
    for (std::sregex_iterator it(text.begin(), text.end(), variable), end; it != end; ++it) {
      ++names;
      EXPECT_TRUE(known.contains(it->str()))
          << fs::relative(file, KS_SOURCE_DIR).string() << " has " << it->str()
          << ", which is not in src/support/settings.cc";
    }
  }
  EXPECT_GT(names, 50);
}

}  // namespace
