#include "compile/own_headers.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <optional>

#include "compile/pp_tokens.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 9> kSuffixes = {".h",  ".hh",  ".hpp", ".hxx", ".cuh",
                                                       ".cu", ".inl", ".inc", ".ipp"};
// A candidate is one kernel or a few; its headers are helpers.
constexpr size_t kMostHeaders = 64;
constexpr size_t kMostBytes = size_t{4} << 20;

std::vector<std::string> QuotedIncludes(std::string_view text) {
  std::vector<std::string> names;
  for (const PpToken& token : PpTokens(text)) {
    if (token.kind != PpToken::Kind::kHeaderName || token.text.size() < 3) continue;
    if (token.text.front() == '"') names.push_back(token.text.substr(1, token.text.size() - 2));
  }
  return names;
}

// The file's bytes. The kernel itself sees to it that no link and no `..` leads out of the folder,
// so nobody can change the path between a look and the reading.
std::optional<std::string> ReadBeneath(int folder, const std::string& name, size_t limit) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const int fd = static_cast<int>(::syscall(SYS_openat2, folder, name.c_str(), &how, sizeof how));
  if (fd < 0) return std::nullopt;
  std::optional<std::string> text;
  struct stat info{};
  if (::fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    text.emplace();
    char buffer[1 << 16];
    while (text->size() <= limit) {
      const ssize_t count = ::read(fd, buffer, sizeof buffer);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      text->append(buffer, static_cast<size_t>(count));
    }
  }
  ::close(fd);
  return text;
}

}  // namespace

Result<std::vector<OwnHeader>> OwnHeaders(const fs::path& folder, std::string_view text) {
  std::vector<OwnHeader> headers;
  std::vector<std::string> first = QuotedIncludes(text);
  if (first.empty()) return headers;
  const fs::path named = folder.empty() ? fs::path(".") : folder;
  const int root = ::open(named.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return headers;
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{root};

  std::map<std::string, bool> seen;
  std::deque<std::pair<std::string, std::vector<std::string>>> todo;  // a folder, names in it
  todo.emplace_back("", std::move(first));
  size_t bytes = 0;
  while (!todo.empty()) {
    const auto [inside, names] = std::move(todo.front());
    todo.pop_front();
    for (const std::string& name : names) {
      const fs::path path = (fs::path(inside) / name).lexically_normal();
      if (fs::path(name).is_absolute() || path.empty() || *path.begin() == "..") continue;
      if (std::find(kSuffixes.begin(), kSuffixes.end(), path.extension().string()) ==
          kSuffixes.end()) {
        continue;
      }
      if (!seen.emplace(path.string(), true).second) continue;
      std::optional<std::string> header = ReadBeneath(root, path.string(), kMostBytes);
      if (!header) continue;
      bytes += header->size();
      if (headers.size() == kMostHeaders || bytes > kMostBytes) {
        return Unsupported(
            fmt::format("the candidate includes more than {} headers of its own, or more than {} "
                        "MiB of them",
                        kMostHeaders, kMostBytes >> 20));
      }
      todo.emplace_back(path.parent_path().string(), QuotedIncludes(*header));
      headers.push_back({path.string(), *std::move(header)});
    }
  }
  std::sort(headers.begin(), headers.end(),
            [](const OwnHeader& a, const OwnHeader& b) { return a.name < b.name; });
  return headers;
}

}  // namespace kernelsmith
