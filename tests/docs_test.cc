// The documentation is held to the tree: what README.md, CONTRIBUTING.md and docs/*.md name must be
// there, and the two files that newcomers read first keep their form.
#include <fnmatch.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

// Of the tree, what documents name. Build folders and the like are not looked at.
constexpr const char* kTopFolders[] = {"bench",   "cmake",   "docs",    "examples",
                                       "fuzz",    "kernels", "prompts", "python",
                                       "scripts", "src",     "tasks",   "tests"};

std::string Read(const fs::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> Lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<fs::path> Documents() {
  std::vector<fs::path> documents = {fs::path(KS_SOURCE_DIR) / "README.md",
                                     fs::path(KS_SOURCE_DIR) / "CONTRIBUTING.md"};
  for (const auto& entry : fs::directory_iterator(fs::path(KS_SOURCE_DIR) / "docs")) {
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  }
  std::sort(documents.begin(), documents.end());
  return documents;
}

// Paths of all files and folders, from the root of the tree.
const std::set<std::string>& Tree() {
  static const std::set<std::string> tree = [] {
    std::set<std::string> paths;
    for (const char* top : kTopFolders) {
      paths.insert(top);
      for (const auto& entry : fs::recursive_directory_iterator(fs::path(KS_SOURCE_DIR) / top)) {
        paths.insert(fs::relative(entry.path(), KS_SOURCE_DIR).string());
      }
    }
    return paths;
  }();
  return tree;
}

// `name` is a path from the root, or its end: "src/vgpu/screen.h", "vgpu/screen.h", "screen.h". A
// star stands for anything.
bool Exists(const std::string& name) {
  return std::any_of(Tree().begin(), Tree().end(), [&](const std::string& path) {
    return fnmatch(name.c_str(), path.c_str(), 0) == 0 ||
           fnmatch(("*/" + name).c_str(), path.c_str(), 0) == 0;
  });
}

// As Exists(), but NAME, TASK or NN stand for something that the reader chooses: then the folder
// that it is in must be there.
bool IsThere(const std::string& name) {
  if (Exists(name)) return true;
  for (size_t i = 0; i + 1 < name.size(); ++i) {
    if (std::isupper(static_cast<unsigned char>(name[i])) == 0 ||
        std::isupper(static_cast<unsigned char>(name[i + 1])) == 0) {
      continue;
    }
    const size_t slash = name.rfind('/', i);
    return slash == std::string::npos || Exists(name.substr(0, slash));
  }
  return false;
}

// The words of a document that name files or folders of the tree: those that begin with one of its
// top folders, and file names of the source.
std::vector<std::string> NamedPaths(const std::string& text) {
  std::vector<std::string> named;
  std::string word;
  const auto take = [&] {
    while (!word.empty() && (word.back() == '.' || word.back() == '/')) word.pop_back();
    const std::string top = word.substr(0, word.find('/'));
    const bool rooted =
        word.find('/') != std::string::npos && word.find("//") == std::string::npos &&
        std::find(std::begin(kTopFolders), std::end(kTopFolders), top) != std::end(kTopFolders);
    const std::string extension = fs::path(word).extension().string();
    const bool source = extension == ".h" || extension == ".cc" || extension == ".def";
    if (rooted || (source && !word.starts_with("."))) named.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || std::strchr("_./*-", c) != nullptr) {
      word += c;
    } else {
      take();
    }
  }
  take();
  return named;
}

TEST(Docs, WhatTheyNameIsThere) {
  int named = 0;
  for (const fs::path& document : Documents()) {
    for (const std::string& path : NamedPaths(Read(document))) {
      ++named;
      EXPECT_TRUE(IsThere(path)) << document.filename().string() << " names " << path
                                 << ", which does not exist";
    }
  }
  EXPECT_GT(named, 100);
}

// A folder's paragraph begins with **its name**; file names without a folder are of that folder.
TEST(Docs, ArchitectureNamesFilesOfTheRightFolder) {
  std::string folder;
  for (const std::string& line : Lines(Read(fs::path(KS_SOURCE_DIR) / "docs/architecture.md"))) {
    if (line.empty()) folder.clear();
    if (line.starts_with("**")) folder = line.substr(2, line.find("**", 2) - 2);
    if (folder.empty()) continue;
    for (const std::string& path : NamedPaths(line)) {
      if (path.find('/') != std::string::npos) continue;
      EXPECT_TRUE(Exists("src/" + folder + "/" + path)) << folder << " has no " << path;
    }
  }
}

TEST(Docs, ArchitectureFitsItsColumns) {
  int number = 0;
  for (const std::string& line : Lines(Read(fs::path(KS_SOURCE_DIR) / "docs/architecture.md"))) {
    ++number;
    // Bytes that begin a character of UTF-8.
    const auto columns =
        std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
    EXPECT_LE(columns, 120) << "docs/architecture.md:" << number;
  }
}

TEST(Docs, ArchitectureHasOneParagraphAFolderInOrder) {
  std::istringstream in(KS_FOLDER_ORDER);
  std::vector<std::string> folders, described;
  for (std::string folder; in >> folder;) folders.push_back(folder);
  for (const std::string& line : Lines(Read(fs::path(KS_SOURCE_DIR) / "docs/architecture.md"))) {
    if (!line.starts_with("**")) continue;
    described.push_back(line.substr(2, line.find("**", 2) - 2));
  }
  EXPECT_EQ(described, folders);
}

// The rows of the table below a heading, without its head.
std::vector<std::vector<std::string>> TableBelow(const std::string& text,
                                                 const std::string& heading) {
  std::vector<std::vector<std::string>> rows;
  bool below = false;
  for (const std::string& line : Lines(text)) {
    if (line.starts_with("## ")) below = line == "## " + heading;
    if (!below || !line.starts_with("|")) {
      if (below && rows.size() > 2) break;  // the first table alone
      continue;
    }
    std::vector<std::string> cells;
    std::istringstream cut(line.substr(1));
    for (std::string cell; std::getline(cut, cell, '|');) cells.push_back(cell);
    rows.push_back(cells);
  }
  if (rows.size() >= 2) rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

TEST(Docs, EveryChangeTouchesAtMostFourFiles) {
  const auto rows =
      TableBelow(Read(fs::path(KS_SOURCE_DIR) / "docs/architecture.md"), "Where to make a change");
  EXPECT_GE(rows.size(), 12u);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 2u);
    const auto files = std::count(row[1].begin(), row[1].end(), '`') / 2;
    EXPECT_GE(files, 1) << row[0];
    EXPECT_LE(files, 4) << row[0];
  }
}

TEST(Docs, ReadmeHasEveryCommand) {
  std::vector<std::string> commands, listed;
#define KS_COMMAND(heading, add) commands.push_back(#add);
#include "cli/commands.def"
#undef KS_COMMAND
  for (std::string& command : commands) {
    std::string name;  // AddAskVerifier is ask-verifier
    for (const char c : command.substr(3)) {
      if (std::isupper(static_cast<unsigned char>(c)) && !name.empty()) name += '-';
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    command = name;
  }
  for (const auto& row : TableBelow(Read(fs::path(KS_SOURCE_DIR) / "README.md"), "The commands")) {
    if (!row[0].starts_with(" `")) continue;  // a heading
    listed.push_back(row[0].substr(2, row[0].find_first_of(" `", 2) - 2));
  }
  EXPECT_EQ(listed, commands);
}

TEST(Docs, ReadmeLinksEveryDocument) {
  const std::string readme = Read(fs::path(KS_SOURCE_DIR) / "README.md");
  for (const fs::path& document : Documents()) {
    const std::string name = fs::relative(document, KS_SOURCE_DIR).string();
    if (name == "README.md") continue;
    EXPECT_NE(readme.find("](" + name + ")"), std::string::npos) << name;
  }
}

TEST(Docs, ReadmeHasShortParagraphs) {
  int length = 0;
  for (const std::string& line : Lines(Read(fs::path(KS_SOURCE_DIR) / "README.md"))) {
    const bool prose = !line.empty() && std::string_view("|#- ").find(line[0]) == std::string::npos;
    length = prose ? length + 1 : 0;
    EXPECT_LE(length, 5) << line;
  }
}

}  // namespace
