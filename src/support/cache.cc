#include "support/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

#include "support/rng.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

enum KindIndex { kTasks, kCandidates, kCompiler, kSources, kUnfinished, kFirstResult };

// The folders of results have the names of their kinds.
constexpr CacheKind kKinds[] = {
    {"tasks", "graphs of tasks, and what PyTorch computed for them"},
    {"candidates", "compiled candidates"},
    {"compiler", "precompiled headers and a changed libdevice"},
    {"optimize", "sources that optimize has tried"},
    {"unfinished", "what killed processes left behind"},
    {"bench", "results of bench", true},
    {"mutants", "results of mutants", true},
    {"translations", "results of translate --suite", true},
};

constexpr char kUsers[] = "users";
constexpr char kLock[] = "lock";
constexpr char kTrimmed[] = "trimmed";  // its time is that of the last look
constexpr std::chrono::minutes kBetweenLooks{10};
// Trimmed to less than the limit, so that the next entry does not ask for it again.
constexpr double kTrimTo = 0.9;
// Sources of optimize and unfinished entries belong to somebody who has not said so only if they
// are young: nothing that makes an entry takes an hour.
constexpr std::chrono::hours kUnclaimedAge{1};
// With less space on the disk a candidate's compilation fails halfway.
constexpr uint64_t kLeastSpace = 32 << 20;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);  // which gives a lock back
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error CantWrite(const fs::path& folder, int error) {
  return InvalidInput(
      fmt::format("the cache {} can't be written: {}", folder.string(), std::strerror(error)));
}

int Lock(int fd, int operation) {
  int result = 0;
  do {
    result = ::flock(fd, operation);
  } while (result != 0 && errno == EINTR);
  return result;
}

int OpenLock(const fs::path& folder) {
  return ::open((folder / kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

// This process's file in users/, which goes with the process.
struct User {
  explicit User(fs::path file) : file(std::move(file)) {}
  ~User() {
    ::unlink(file.c_str());
    if (fd >= 0) ::close(fd);
  }
  fs::path file;
  int fd = -1;
  std::set<std::string> entries;
};

struct Users {
  std::mutex mutex;
  std::map<fs::path, std::unique_ptr<User>> by_folder;
};
Users& OwnUsers() {
  static Users users;
  return users;
}

// The file whose time says when an entry was used last: the one that is written last.
fs::path MarkerOf(const fs::path& folder, const fs::path& entry) {
  const std::string top = entry.begin()->string();
  const fs::path marker = folder / entry / (top == "tasks" ? "manifest.json" : "complete");
  std::error_code ignored;
  return fs::exists(marker, ignored) ? marker : folder / entry;
}

uint64_t BytesOnDisk(const fs::path& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0) return 0;
  uint64_t bytes = static_cast<uint64_t>(info.st_blocks) * 512;
  std::error_code error;
  if (!S_ISDIR(info.st_mode)) return bytes;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    if (::lstat(it->path().c_str(), &info) == 0) {
      bytes += static_cast<uint64_t>(info.st_blocks) * 512;
    }
  }
  return bytes;
}

std::vector<fs::path> ChildrenOf(const fs::path& folder) {
  std::vector<fs::path> children;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    children.push_back(it->path().filename());
  }
  std::sort(children.begin(), children.end());
  return children;
}

// Names of all entries that living processes use. The caller holds the folder's lock.
std::set<std::string> EntriesInUse(const fs::path& folder) {
  std::set<std::string> used;
  for (const fs::path& name : ChildrenOf(folder / kUsers)) {
    const fs::path file = folder / kUsers / name;
    const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (opened.get() < 0) continue;
    if (Lock(opened.get(), LOCK_EX | LOCK_NB) == 0) {
      ::unlink(file.c_str());  // its process is gone
      continue;
    }
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) used.insert(line);
  }
  return used;
}

bool IsScratch(const std::string& name) {
  return name.starts_with("new-") || name.ends_with(".tmp");
}

class Lister {
 public:
  explicit Lister(const fs::path& folder) : folder_(folder) {}

  std::vector<CacheEntry> List() {
    for (const fs::path& name : ChildrenOf(folder_)) {
      if (name.string().starts_with("trash-")) Add(kUnfinished, name);
    }
    for (const fs::path& name : ChildrenOf(folder_ / "tasks")) {
      const fs::path path = fs::path("tasks") / name;
      Add(Has(path / "manifest.json") ? kTasks : kUnfinished, path);
    }
    ListCandidates();
    for (const fs::path& name : ChildrenOf(folder_ / "optimize")) {
      Add(kSources, fs::path("optimize") / name);
    }
    for (size_t kind = kFirstResult; kind < std::size(kKinds); ++kind) {
      for (const fs::path& name : ChildrenOf(folder_ / kKinds[kind].name)) {
        Add(kind, fs::path(kKinds[kind].name) / name);
      }
    }
    std::sort(entries_.begin(), entries_.end(), [](const CacheEntry& a, const CacheEntry& b) {
      return std::tie(a.used, a.path) < std::tie(b.used, b.path);
    });
    return std::move(entries_);
  }

 private:
  bool Has(const fs::path& path) const {
    std::error_code ignored;
    return fs::exists(folder_ / path, ignored);
  }

  void Add(size_t kind, const fs::path& path) {
    std::error_code error;
    const fs::file_time_type used = fs::last_write_time(MarkerOf(folder_, path), error);
    if (error) return;  // somebody has just removed it
    entries_.push_back(
        {.kind = &kKinds[kind], .path = path, .bytes = BytesOnDisk(folder_ / path), .used = used});
  }

  // candidates/ab/abcdef... are candidates; beside these folders is what compiling them needs.
  void ListCandidates() {
    for (const fs::path& name : ChildrenOf(folder_ / "candidates")) {
      const fs::path path = fs::path("candidates") / name;
      if (IsScratch(name.string())) {
        Add(kUnfinished, path);
      } else if (name.string().size() == 2) {
        for (const fs::path& key : ChildrenOf(folder_ / path)) {
          Add(Has(path / key / "complete") ? kCandidates : kUnfinished, path / key);
        }
      } else {
        Add(kCompiler, path);
      }
    }
  }

  const fs::path& folder_;
  std::vector<CacheEntry> entries_;
};

bool IsUnclaimed(const CacheEntry& entry, fs::file_time_type now) {
  const bool claimed_by_use = entry.kind != &kKinds[kUnfinished] && entry.kind != &kKinds[kSources];
  return claimed_by_use || entry.path.string().starts_with("trash-") ||
         now - entry.used > kUnclaimedAge;
}

}  // namespace

std::span<const CacheKind> AllCacheKinds() { return kKinds; }

Status Cache::Use(const fs::path& entry) const {
  Users& own = OwnUsers();
  const std::lock_guard guard(own.mutex);
  std::unique_ptr<User>& user = own.by_folder[folder_];
  if (user == nullptr || !user->entries.contains(entry.string())) {
    std::error_code error;
    fs::create_directories(folder_ / kUsers, error);
    if (error) return CantWrite(folder_, error.value());
    const Descriptor lock(OpenLock(folder_));
    if (lock.get() < 0) return CantWrite(folder_, errno);
    // While it is held nobody decides what to remove.
    if (Lock(lock.get(), LOCK_SH) != 0) return CantWrite(folder_, errno);
    if (user == nullptr) {
      auto made = std::make_unique<User>(folder_ / kUsers /
                                         fmt::format("{}-{:x}", ::getpid(), RandomSeed()));
      made->fd = ::open(made->file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
      if (made->fd < 0 || Lock(made->fd, LOCK_EX) != 0) return CantWrite(folder_, errno);
      user = std::move(made);
    }
    const std::string line = entry.string() + "\n";
    if (::write(user->fd, line.data(), line.size()) != std::ssize(line)) {
      return CantWrite(folder_, errno);
    }
    user->entries.insert(entry.string());
  }
  ::utimensat(AT_FDCWD, MarkerOf(folder_, entry).c_str(), nullptr, 0);
  return {};
}

Status Cache::CheckWritable() const {
  KS_RETURN_IF_ERROR(Use("check"));
  std::error_code error;
  const fs::space_info space = fs::space(folder_, error);
  if (!error && space.available < kLeastSpace) return CantWrite(folder_, ENOSPC);
  return {};
}

std::vector<CacheEntry> Cache::Entries() const { return Lister(folder_).List(); }

Result<CacheRemoval> Cache::Remove(const std::vector<CacheEntry>& entries, uint64_t enough) const {
  CacheRemoval removal;
  std::vector<fs::path> trash;
  if (!entries.empty()) {
    const Descriptor lock(OpenLock(folder_));
    if (lock.get() < 0 || Lock(lock.get(), LOCK_EX) != 0) return CantWrite(folder_, errno);
    const std::set<std::string> used = EntriesInUse(folder_);
    for (const CacheEntry& entry : entries) {
      if (removal.bytes >= enough && entry.kind != &kKinds[kUnfinished]) continue;
      std::error_code error;
      const fs::file_time_type now = fs::last_write_time(MarkerOf(folder_, entry.path), error);
      if (error) continue;  // another process was faster
      if (used.contains(entry.path.string()) || now != entry.used) {
        ++removal.in_use;
        continue;
      }
      const fs::path to = folder_ / fmt::format("trash-{}-{:x}", ::getpid(), RandomSeed());
      fs::rename(folder_ / entry.path, to, error);
      if (error) return CantWrite(folder_, error.value());
      if (entry.path.extension() == ".pch") {  // the header that it was made of
        fs::remove((folder_ / entry.path).replace_extension(".h"), error);
      }
      trash.push_back(to);
      ++removal.entries;
      removal.bytes += entry.bytes;
    }
  }
  std::error_code ignored;
  for (const fs::path& path : trash) fs::remove_all(path, ignored);
  return removal;
}

Result<CacheRemoval> Cache::Trim(uint64_t limit) const { return TrimTo(limit, limit); }

Result<CacheRemoval> Cache::TrimTo(uint64_t limit, uint64_t target) const {
  const fs::file_time_type now = fs::file_time_type::clock::now();
  uint64_t total = 0;
  std::vector<CacheEntry> chosen;
  for (const CacheEntry& entry : Entries()) {
    if (entry.kind->is_result) continue;
    total += entry.bytes;
    if (IsUnclaimed(entry, now)) chosen.push_back(entry);
  }
  return Remove(chosen, total > limit ? total - target : 0);
}

Result<CacheRemoval> Cache::Clear(const Selection& selection) const {
  const fs::file_time_type now = fs::file_time_type::clock::now();
  std::vector<CacheEntry> chosen;
  for (const CacheEntry& entry : Entries()) {
    const bool named = selection.kinds.empty()
                           ? !entry.kind->is_result
                           : std::find(selection.kinds.begin(), selection.kinds.end(),
                                       entry.kind->name) != selection.kinds.end();
    const bool old = !selection.unused_for || now - entry.used > *selection.unused_for;
    if (named && old && IsUnclaimed(entry, now)) chosen.push_back(entry);
  }
  return Remove(chosen, UINT64_MAX);
}

void Cache::KeepBelow(uint64_t limit) const {
  std::error_code error;
  if (limit == 0 || !fs::exists(folder_, error)) return;
  const fs::path stamp = folder_ / kTrimmed;
  const fs::file_time_type last = fs::last_write_time(stamp, error);
  if (!error && fs::file_time_type::clock::now() - last < kBetweenLooks) return;
  const Descriptor file(::open(stamp.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (file.get() < 0) return;  // a cache that can't be written does not grow
  ::futimens(file.get(), nullptr);
  static_cast<void>(TrimTo(limit, static_cast<uint64_t>(kTrimTo * static_cast<double>(limit))));
}

}  // namespace kernelsmith
