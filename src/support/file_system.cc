#include "support/file_system.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace kernelsmith {
namespace {

// "no such file or directory": errno's text as our messages are written, in lower case.
std::string Reason(int error) {
  std::string text = std::strerror(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] += 'a' - 'A';
  return text;
}

Error FileError(const char* verb, const std::filesystem::path& path, int error) {
  // A full disk or a failing one is not the user's input, everything else (missing, no right) is.
  const bool ours = error == ENOSPC || error == EIO || error == EDQUOT;
  return {ours ? ErrorKind::kInternal : ErrorKind::kInvalidInput,
          fmt::format("can't {} {}: {}", verb, path.string(), Reason(error))};
}

// Closes on every way out.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

Result<std::string> DiskFileSystem::Read(const std::filesystem::path& path) const {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return FileError("read", path, errno);
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) return FileError("read", path, errno);
  if (S_ISDIR(info.st_mode)) return FileError("read", path, EISDIR);
  std::string contents;
  if (info.st_size > 0) contents.reserve(info.st_size);
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(file.fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return FileError("read", path, errno);
    if (count == 0) return contents;
    contents.append(buffer, count);
  }
}

Status DiskFileSystem::Write(const std::filesystem::path& path, std::string_view contents) {
  // The name is unique among processes and among the threads of this one.
  static std::atomic<uint64_t> counter{0};
  const std::filesystem::path temporary =
      path.string() + fmt::format(".{}.{}.tmp", ::getpid(), counter.fetch_add(1));
  const auto fail = [&](int error) {
    ::unlink(temporary.c_str());
    return FileError("write", path, error);
  };
  {
    const Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)};
    if (file.fd < 0) return FileError("write", path, errno);
    while (!contents.empty()) {
      const ssize_t count = ::write(file.fd, contents.data(), contents.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return fail(errno);
      contents.remove_prefix(count);
    }
    if (::fsync(file.fd) != 0 && errno != EINVAL) return fail(errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return fail(errno);
  return {};
}

bool DiskFileSystem::Exists(const std::filesystem::path& path) const {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Status DiskFileSystem::MakeDirectories(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return FileError("make directory", path, error.value());
  return {};
}

}  // namespace kernelsmith
