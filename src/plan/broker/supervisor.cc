#include "plan/broker/supervisor.h"

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "support/rng.h"

namespace kernelsmith::broker {
namespace {

constexpr size_t kMostTold = 20;

// The argument that is a path; nothing if the call has none.
std::optional<int> PathArgument(int call) {
  switch (call) {
    case SYS_open:
    case SYS_creat:
    case SYS_execve:
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_rmdir:
    case SYS_rename:
    case SYS_chmod:
    case SYS_chdir:
    case SYS_truncate:
    case SYS_stat:
    case SYS_lstat:
      return 0;
    case SYS_openat:
    case SYS_openat2:
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_execveat:
    case SYS_statx:
      return 1;
    default:
      return std::nullopt;
  }
}

// Text of the child, with nothing in it but plain characters; empty if it can't be read.
std::string TextAt(pid_t thread, uint64_t address) {
  char bytes[200];
  const iovec local{bytes, sizeof bytes};
  // To the end of its page: the next one may not be there.
  const size_t room = std::min<size_t>(sizeof bytes, 4096 - address % 4096);
  const iovec remote{reinterpret_cast<void*>(address), room};
  const ssize_t count = ::process_vm_readv(thread, &local, 1, &remote, 1, 0);
  std::string text;
  for (ssize_t i = 0; i < count && bytes[i] != '\0'; ++i) {
    const char c = bytes[i];
    text += c >= ' ' && c < 127 && c != '"' && c != '\\' ? c : '?';
  }
  return text;
}

std::string CallName(int call) {
  char* name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, call);
  std::string text = name == nullptr ? std::to_string(call) : name;
  std::free(name);
  return text;
}

// Who the child is: it may ask, and learns nothing. Other numbers in each child.
std::optional<int64_t> Invented(int call) {
  static const uint64_t seed = RandomSeed();
  switch (call) {
    case SYS_getpid:
      return static_cast<int64_t>(2000 + seed % 30'000);
    case SYS_getppid:
      return static_cast<int64_t>(2000 + seed / 65'536 % 30'000);
    case SYS_getuid:
    case SYS_geteuid:
    case SYS_getgid:
    case SYS_getegid:
      return static_cast<int64_t>(1000 + seed / 4'294'967'296 % 50);
    default:
      return std::nullopt;
  }
}

bool MakesCode(const seccomp_data& data) {
  return (data.nr == SYS_mmap || data.nr == SYS_mprotect) && (data.args[2] & PROT_EXEC) != 0;
}

// The C library reads these to count cores.
bool IsHarmless(std::string_view path) {
  return path.starts_with("/sys/devices/system/cpu") || path == "/proc/stat" ||
         path == "/proc/cpuinfo";
}

}  // namespace

Supervisor::Supervisor(int listener, pid_t child, uint64_t loader_begin, uint64_t loader_end)
    : listener_(listener),
      child_(child),
      loader_begin_(loader_begin),
      loader_end_(loader_end),
      wake_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Serve(); }) {}

Supervisor::~Supervisor() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  thread_.join();
  ::close(wake_);
  ::close(listener_);
}

std::vector<std::string> Supervisor::TakeRefusals() {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> taken;
  taken.swap(refusals_);
  return taken;
}

void Supervisor::Serve() {
  while (true) {
    pollfd files[] = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
    if (::poll(files, 2, -1) < 0 && errno != EINTR) return;
    if ((files[1].revents & POLLIN) != 0) return;
    if ((files[0].revents & (POLLHUP | POLLERR)) != 0) return;
    if ((files[0].revents & POLLIN) == 0) continue;
    seccomp_notif request{};
    if (::ioctl(listener_, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) continue;
    const seccomp_data& data = request.data;
    seccomp_notif_resp answer{};
    answer.id = request.id;
    answer.error = -EPERM;
    const bool opens = data.nr == SYS_openat;
    const std::optional<int> path_argument = PathArgument(data.nr);
    std::string path;
    if (path_argument) path = TextAt(static_cast<pid_t>(request.pid), data.args[*path_argument]);
    const bool by_loader =
        data.instruction_pointer >= loader_begin_ && data.instruction_pointer <= loader_end_;
    if (loading_ && by_loader && (opens || MakesCode(data))) {
      // Landlock decides which files these are, whatever becomes of the path meanwhile.
      answer.error = 0;
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    } else if (const std::optional<int64_t> number = Invented(data.nr)) {
      answer.error = 0;
      answer.val = *number;
    } else if (opens && IsHarmless(path)) {
      answer.error = -ENOENT;
    } else {
      const std::lock_guard lock(mutex_);
      if (++told_ > kMostTold) {
        // It would go on for ever.
        gave_up_ = true;
        ::kill(child_, SIGKILL);
      } else {
        const std::string name = CallName(data.nr);
        refusals_.push_back(MakesCode(data) ? name + " of memory that can be executed"
                            : path.empty()  ? "system call " + name
                                            : "system call " + name + " on " + path);
      }
    }
    ::ioctl(listener_, SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

}  // namespace kernelsmith::broker
