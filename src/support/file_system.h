// Files, behind an interface so that tests can have a disk that is full or a file that is
// unreadable.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "support/result.h"

namespace kernelsmith {

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // The whole file. Errors are one line that names the file and the reason, e.g.
  // "can't read kernel.cu: no such file or directory".
  virtual Result<std::string> Read(const std::filesystem::path& path) const = 0;
  // Writes to a temporary name beside `path`, then renames: readers see the old file or the whole
  // new one, also when the disk fills up or the process dies.
  virtual Status Write(const std::filesystem::path& path, std::string_view contents) = 0;
  virtual bool Exists(const std::filesystem::path& path) const = 0;
  virtual Status MakeDirectories(const std::filesystem::path& path) = 0;
};

class DiskFileSystem : public FileSystem {
 public:
  Result<std::string> Read(const std::filesystem::path& path) const override;
  Status Write(const std::filesystem::path& path, std::string_view contents) override;
  bool Exists(const std::filesystem::path& path) const override;
  Status MakeDirectories(const std::filesystem::path& path) override;
};

}  // namespace kernelsmith
