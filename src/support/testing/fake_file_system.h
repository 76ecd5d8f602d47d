#pragma once

#include <map>
#include <set>
#include <string>

#include "support/file_system.h"

namespace kernelsmith {

// Files in memory. A test can make the disk full or a file unreadable.
class FakeFileSystem : public FileSystem {
 public:
  std::map<std::string, std::string> files;
  std::set<std::string> unreadable;
  bool full = false;

  Result<std::string> Read(const std::filesystem::path& path) const override {
    const auto found = files.find(path.string());
    if (found == files.end()) {
      return InvalidInput("can't read " + path.string() + ": no such file or directory");
    }
    if (unreadable.contains(path.string())) {
      return InvalidInput("can't read " + path.string() + ": permission denied");
    }
    return found->second;
  }
  Status Write(const std::filesystem::path& path, std::string_view contents) override {
    if (full) return InternalError("can't write " + path.string() + ": no space left on device");
    files[path.string()] = std::string(contents);
    return {};
  }
  bool Exists(const std::filesystem::path& path) const override {
    return files.contains(path.string());
  }
  Status MakeDirectories(const std::filesystem::path&) override { return {}; }
};

}  // namespace kernelsmith
