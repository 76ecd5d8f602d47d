// The order of src/'s folders is the architecture: a folder includes only from itself and from the
// folders that its CMakeLists.txt lists, all of which stand before it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

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

}  // namespace
