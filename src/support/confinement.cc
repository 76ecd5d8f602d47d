#include "support/confinement.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace kernelsmith {
namespace {

// linux/landlock.h of older systems lacks the newer rights, so they stand here: the numbers are the
// kernel's, from its documentation (userspace-api/landlock.rst).
struct LandlockRuleset {
  uint64_t files;
  uint64_t network;
  uint64_t scoped;
};
struct __attribute__((packed)) LandlockPath {
  uint64_t allowed;
  int32_t parent;
};
constexpr int kRulePathBeneath = 1;
constexpr uint32_t kAskVersion = 1;

constexpr uint64_t kExecute = 1 << 0;
constexpr uint64_t kWriteFile = 1 << 1;
constexpr uint64_t kReadFile = 1 << 2;
constexpr uint64_t kReadFolder = 1 << 3;
constexpr uint64_t kRemoveFolder = 1 << 4;
constexpr uint64_t kRemoveFile = 1 << 5;
constexpr uint64_t kMakeFolder = 1 << 7;
constexpr uint64_t kMakeFile = 1 << 8;
constexpr uint64_t kRefer = 1 << 13;
constexpr uint64_t kTruncate = 1 << 14;
constexpr uint64_t kDeviceControl = 1 << 15;

constexpr uint64_t kReadable = kExecute | kReadFile | kReadFolder;
// No links, sockets, pipes or devices: no compiler makes any.
constexpr uint64_t kWritable = kReadFile | kReadFolder | kWriteFile | kRemoveFolder | kRemoveFile |
                               kMakeFolder | kMakeFile | kRefer | kTruncate;
constexpr uint64_t kOfFiles = kExecute | kReadFile | kWriteFile | kTruncate | kDeviceControl;

// Everything that this version of Landlock can forbid.
LandlockRuleset EverythingForbidden(int version) {
  LandlockRuleset rules{.files = kRefer - 1, .network = 0, .scoped = 0};
  if (version >= 2) rules.files |= kRefer;
  if (version >= 3) rules.files |= kTruncate;
  if (version >= 4) rules.network = 3;  // to bind and to connect
  if (version >= 5) rules.files |= kDeviceControl;
  if (version >= 6) rules.scoped = 3;  // abstract sockets and signals of others
  return rules;
}

// Landlock knows nothing of these: sockets that are no TCP, other processes' memory, mounts, files
// by handle. A program that asks is told that it may not, and goes on: libraries ask for the name
// service now and then. Leaving the process group would outlive our kill.
#if defined(__x86_64__)
constexpr uint32_t kForbiddenCalls[] = {SYS_socket,
                                        SYS_socketpair,
                                        SYS_connect,
                                        SYS_bind,
                                        SYS_listen,
                                        SYS_accept,
                                        SYS_accept4,
                                        SYS_ptrace,
                                        SYS_process_vm_readv,
                                        SYS_process_vm_writev,
                                        SYS_process_madvise,
                                        SYS_pidfd_getfd,
                                        SYS_kcmp,
                                        SYS_perf_event_open,
                                        SYS_bpf,
                                        SYS_io_uring_setup,
                                        SYS_userfaultfd,
                                        SYS_add_key,
                                        SYS_request_key,
                                        SYS_keyctl,
                                        SYS_mount,
                                        SYS_umount2,
                                        SYS_move_mount,
                                        SYS_open_tree,
                                        SYS_fsopen,
                                        SYS_fspick,
                                        SYS_pivot_root,
                                        SYS_chroot,
                                        SYS_unshare,
                                        SYS_setns,
                                        SYS_open_by_handle_at,
                                        SYS_name_to_handle_at,
                                        SYS_init_module,
                                        SYS_finit_module,
                                        SYS_delete_module,
                                        SYS_kexec_load,
                                        SYS_kexec_file_load,
                                        SYS_swapon,
                                        SYS_swapoff,
                                        SYS_reboot,
                                        SYS_sethostname,
                                        SYS_settimeofday,
                                        SYS_clock_settime,
                                        SYS_iopl,
                                        SYS_ioperm,
                                        SYS_quotactl,
                                        SYS_acct,
                                        SYS_syslog,
                                        SYS_setsid,
                                        SYS_setpgid};
constexpr size_t kForbiddenCount = std::size(kForbiddenCalls);

struct Filter {
  // The architecture and its second call table, one comparison for each call, and two ends.
  sock_filter code[4 + kForbiddenCount + 3];
  unsigned short size = 0;
};

constexpr Filter MakeFilter() {
  Filter filter{};
  const auto add = [&](uint16_t code, uint32_t k, uint8_t yes, uint8_t no) {
    filter.code[filter.size++] = {code, yes, no, k};
  };
  constexpr uint8_t kRest = static_cast<uint8_t>(kForbiddenCount);
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch), 0, 0);
  add(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, kRest + 3);
  add(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr), 0, 0);
  add(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, kRest + 1, 0);  // the calls of x32
  for (size_t i = 0; i < kForbiddenCount; ++i) {
    add(BPF_JMP | BPF_JEQ | BPF_K, kForbiddenCalls[i], static_cast<uint8_t>(kRest - i), 0);
  }
  add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
  add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM, 0, 0);
  add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);  // another architecture's numbers
  return filter;
}

bool EnterSeccomp() {
  static constexpr Filter kFilter = MakeFilter();
  const sock_fprog program{kFilter.size, const_cast<sock_filter*>(kFilter.code)};
  return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}
#else
bool EnterSeccomp() { return true; }
#endif

bool Limit(int resource, uint64_t soft, uint64_t hard) {
  rlimit before{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &before) != 0) return false;
  // A limit that somebody has set already may be lower, and stays.
  const rlimit limit{std::min<rlim_t>(soft, before.rlim_max),
                     std::min<rlim_t>(hard, before.rlim_max)};
  return ::setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
}

Status Allow(int ruleset, const std::filesystem::path& path, uint64_t rights, bool needed) {
  const int fd = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) {
    if (!needed) return {};
    return InternalError(fmt::format("can't open {}: {}", path.string(), std::strerror(errno)));
  }
  struct stat info{};
  const bool folder = ::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  const LandlockPath rule{folder ? rights : rights & kOfFiles, fd};
  const bool ok = ::syscall(SYS_landlock_add_rule, ruleset, kRulePathBeneath, &rule, 0) == 0;
  const int error = errno;
  ::close(fd);
  if (ok) return {};
  return InternalError(
      fmt::format("Landlock takes no rule for {}: {}", path.string(), std::strerror(error)));
}

}  // namespace

int LandlockVersion() {
  static const int version = [] {
    const long answer = ::syscall(SYS_landlock_create_ruleset, nullptr, size_t{0}, kAskVersion);
    return answer > 0 ? static_cast<int>(answer) : 0;
  }();
  return version;
}

Result<PreparedWalls> PreparedWalls::Prepare(const Confinement& confinement,
                                             bool without_landlock) {
  PreparedWalls walls;
  walls.processor_seconds_ = static_cast<uint64_t>(confinement.processor_time.count());
  walls.memory_ = confinement.memory;
  walls.file_size_ = confinement.file_size;
  const int version = LandlockVersion();
  if (version == 0) {
    if (without_landlock) return walls;
    return MissingTool(
        "this kernel has no Landlock, so compilers could read any file into a candidate; "
        "KERNELSMITH_WITHOUT_LANDLOCK=1 lets them run nevertheless");
  }
  const LandlockRuleset forbidden = EverythingForbidden(version);
  // Older kernels know a shorter structure.
  const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  walls.ruleset_ =
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &forbidden, size, uint32_t{0}));
  if (walls.ruleset_ < 0) {
    return InternalError(fmt::format("Landlock takes no rules: {}", std::strerror(errno)));
  }
  for (const std::filesystem::path& path : confinement.readable) {
    KS_RETURN_IF_ERROR(Allow(walls.ruleset_, path, kReadable & forbidden.files, false));
  }
  for (const std::filesystem::path& path : confinement.writable) {
    KS_RETURN_IF_ERROR(Allow(walls.ruleset_, path, kWritable & forbidden.files, true));
  }
  return walls;
}

PreparedWalls::PreparedWalls(PreparedWalls&& other) noexcept
    : ruleset_(std::exchange(other.ruleset_, -1)),
      processor_seconds_(other.processor_seconds_),
      memory_(other.memory_),
      file_size_(other.file_size_) {}

PreparedWalls::~PreparedWalls() {
  if (ruleset_ >= 0) ::close(ruleset_);
}

bool PreparedWalls::Enter() const {
  // The soft limit's signal can be caught, the hard one's can't.
  return Limit(RLIMIT_CPU, processor_seconds_, processor_seconds_ + 2) &&
         Limit(RLIMIT_DATA, memory_, memory_) && Limit(RLIMIT_FSIZE, file_size_, file_size_) &&
         Limit(RLIMIT_CORE, 0, 0) && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         (ruleset_ < 0 || ::syscall(SYS_landlock_restrict_self, ruleset_, uint32_t{0}) == 0) &&
         EnterSeccomp();
}

}  // namespace kernelsmith
