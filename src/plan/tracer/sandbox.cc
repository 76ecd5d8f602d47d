#include "plan/tracer/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace kernelsmith::tracer {
namespace {

// What a candidate needs to compute, allocate, wait and end; everything else is refused. Opening
// files is allowed until the library is loaded (Landlock decides which).
constexpr int kAllowed[] = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(close),
    SCMP_SYS(lseek),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(fcntl),
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mprotect),
    SCMP_SYS(mremap),
    SCMP_SYS(madvise),
    SCMP_SYS(brk),
    SCMP_SYS(fallocate),
    SCMP_SYS(ftruncate),
    SCMP_SYS(futex),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(clock_getres),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(getppid),
    SCMP_SYS(getuid),
    SCMP_SYS(geteuid),
    SCMP_SYS(getgid),
    SCMP_SYS(getegid),
    SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),
    SCMP_SYS(sysinfo),
    SCMP_SYS(uname),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(set_tid_address),
    SCMP_SYS(membarrier),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(poll),
    SCMP_SYS(getcpu),
    // Further filters can only forbid more; CloseFileSystem adds one.
    SCMP_SYS(seccomp),
};

// Asked for by libraries out of habit: refused without a word.
struct Silent {
  int call;
  int error;
};
constexpr Silent kSilent[] = {
    {SCMP_SYS(ioctl), ENOTTY},      {SCMP_SYS(clone3), ENOSYS},
    {SCMP_SYS(access), ENOENT},     {SCMP_SYS(faccessat), ENOENT},
    {SCMP_SYS(faccessat2), ENOENT}, {SCMP_SYS(readlink), ENOENT},
    {SCMP_SYS(readlinkat), ENOENT}, {SCMP_SYS(getcwd), ENOENT},
    {SCMP_SYS(mbind), EPERM},       {SCMP_SYS(sched_setaffinity), EPERM},
    {SCMP_SYS(mlock), EPERM},       {SCMP_SYS(munlock), EPERM},
};

int reply_descriptor = -1;
std::atomic<int> reports{0};

bool TakesPath(long call, int* argument) {
  switch (call) {
    case SYS_open:
    case SYS_creat:
    case SYS_execve:
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_rename:
    case SYS_chmod:
    case SYS_truncate:
      *argument = 0;
      return true;
    case SYS_openat:
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_openat2:
      *argument = 1;
      return true;
    default:
      return false;
  }
}

// Runs in place of a refused system call: tells the parent and makes the call fail. Only functions
// that are safe in signal handlers.
void OnRefusal(int, siginfo_t* info, void* context) {
  auto* state = static_cast<ucontext_t*>(context);
  const long call = info->si_syscall;
  const greg_t* registers = state->uc_mcontext.gregs;
  const char* path = nullptr;
  int argument = 0;
  if (TakesPath(call, &argument)) {
    path = reinterpret_cast<const char*>(registers[argument == 0 ? REG_RDI : REG_RSI]);
  }
  state->uc_mcontext.gregs[REG_RAX] = -EPERM;
  // The C library reads these to count cores.
  if (path != nullptr &&
      (std::strncmp(path, "/sys/devices/system/cpu", 23) == 0 ||
       std::strcmp(path, "/proc/stat") == 0 || std::strcmp(path, "/proc/cpuinfo") == 0)) {
    return;
  }
  if (reports.fetch_add(1) >= 20) return;
  char line[512];
  size_t length = 0;
  const auto add = [&](const char* text, size_t limit) {
    for (size_t i = 0; i < limit && text[i] != '\0' && length < sizeof line - 8; ++i) {
      const char c = text[i];
      const bool plain = c >= ' ' && c < 127 && c != '"' && c != '\\';
      line[length++] = plain ? c : '?';
    }
  };
  const auto raw = [&](const char* text) {
    for (; *text != '\0'; ++text) line[length++] = *text;
  };
  raw("{\"s\":\"finding\",\"kind\":\"forbidden\",\"at\":0,\"message\":\"system call ");
  char digits[24];
  int count = 0;
  for (long rest = call; count == 0 || rest > 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  while (count > 0) line[length++] = digits[--count];
  if (path != nullptr) {
    raw(" on ");
    add(path, 200);
  }
  raw("\"}\n");
  [[maybe_unused]] const ssize_t ignored = ::write(reply_descriptor, line, length);
}

bool EnterNamespaces() {
  constexpr int kOthers = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
  return ::unshare(CLONE_NEWUSER | kOthers) == 0;
}

// Among all files only `library` may be opened.
bool EnterLandlock(const std::string& library) {
  const auto version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  landlock_ruleset_attr attributes{};
  // Every right of the first version; later ones only refine writing.
  attributes.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  const int ruleset = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0));
  if (ruleset < 0) return false;
  bool ok = false;
  const int file = ::open(library.c_str(), O_PATH | O_CLOEXEC);
  if (file >= 0) {
    landlock_path_beneath_attr rule{};
    rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
    rule.parent_fd = file;
    ok = ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    ::close(file);
  }
  ::close(ruleset);
  return ok;
}

uint64_t AddressSpaceInUse() {
  FILE* statm = std::fopen("/proc/self/statm", "re");
  if (statm == nullptr) return 0;
  unsigned long pages = 0;
  const int got = std::fscanf(statm, "%lu", &pages);
  std::fclose(statm);
  return got == 1 ? uint64_t{pages} * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

void Limit(__rlimit_resource resource, uint64_t value) {
  const rlimit limit{value, value};
  ::setrlimit(resource, &limit);
}

bool EnterSeccomp() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
  if (filter == nullptr) return false;
  bool ok = true;
  for (const int call : kAllowed) {
    ok &= seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0) == 0;
  }
  for (const Silent& silent : kSilent) {
    ok &= seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<uint32_t>(silent.error)), silent.call,
                           0) == 0;
  }
  // Threads, but no processes.
  ok &= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                         SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)) == 0;
  // abort() signals itself.
  ok &= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                         SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid()))) == 0;
  ok &= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                         SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT, O_RDONLY)) == 0;
  // Limits may be read, not set.
  ok &= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A2(SCMP_CMP_EQ, 0)) ==
        0;
  ok = ok && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return ok;
}

}  // namespace

nlohmann::json EnterSandbox(const std::string& library, uint64_t memory, int reply) {
  reply_descriptor = reply;
  nlohmann::json walls = nlohmann::json::array();
  const uint64_t in_use = AddressSpaceInUse();
  ::close(0);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  if (EnterNamespaces()) walls.push_back("namespaces");
  if (EnterLandlock(library)) walls.push_back("landlock");
  Limit(RLIMIT_CORE, 0);
  if (in_use > 0) {
    Limit(RLIMIT_AS, in_use + memory);
    walls.push_back("memory");
  }
  struct sigaction action{};
  action.sa_sigaction = OnRefusal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigaction(SIGSYS, &action, nullptr);
  if (!EnterSeccomp()) {
    // Without this wall nothing may run.
    std::fprintf(stderr, "seccomp is not available\n");
    ::_exit(3);
  }
  walls.push_back("seccomp");
  return walls;
}

void CloseFileSystem() {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) ::_exit(3);
  const bool ok = seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0) == 0 &&
                  seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(openat), 0) == 0 &&
                  seccomp_load(filter) == 0;
  seccomp_release(filter);
  if (!ok) ::_exit(3);
}

}  // namespace kernelsmith::tracer
