#include "plan/host/system_call_filter.h"

#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "plan/protocol.h"
#include "plan/walls.h"

namespace kernelsmith::host {
namespace {

using protocol::kChannel;

// What a candidate needs to compute, allocate, wait, print and end.
constexpr int kAllowed[] = {
    SYS_read,
    SYS_write,
    SYS_writev,
    SYS_readv,
    SYS_pread64,
    SYS_close,
    SYS_lseek,
    SYS_fstat,
    SYS_newfstatat,
    SYS_munmap,
    SYS_mremap,
    SYS_madvise,
    SYS_brk,
    SYS_fallocate,
    SYS_ftruncate,
    SYS_futex,
    SYS_sched_yield,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_clock_getres,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_time,
    SYS_clock_nanosleep,
    SYS_gettid,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_rseq,
    SYS_set_robust_list,
    SYS_set_tid_address,
    SYS_membarrier,
    SYS_exit,
    SYS_restart_syscall,
    SYS_exit_group,
    SYS_poll,
    SYS_sched_getaffinity,
};

// Asked for by libraries out of habit: refused without a word.
struct Silent {
  int call;
  int error;
};
constexpr Silent kSilent[] = {
    {SYS_ioctl, ENOTTY},      {SYS_clone3, ENOSYS},           {SYS_access, ENOENT},
    {SYS_faccessat, ENOENT},  {SYS_faccessat2, ENOENT},       {SYS_readlink, ENOENT},
    {SYS_readlinkat, ENOENT}, {SYS_getcwd, ENOENT},           {SYS_mbind, EPERM},
    {SYS_mlock, EPERM},       {SYS_sched_setaffinity, EPERM}, {SYS_munlock, EPERM},
    {SYS_uname, ENOSYS},      {SYS_sysinfo, ENOSYS},          {SYS_getrusage, ENOSYS},
    {SYS_getcpu, ENOSYS},
};

struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// The code that may make system calls: this program's, the C library's, the loader's and the
// kernel's own page. The candidate's library is not loaded yet.
struct Text {
  std::vector<Range> own;
  std::vector<Range> all;
  Range loader;
};

int FindText(dl_phdr_info* info, size_t, void* data) {
  auto* text = static_cast<Text*>(data);
  const std::string_view path = info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool own = path.empty();
  if (!own && !name.starts_with("libc.so") && !name.starts_with("ld-linux") &&
      !name.starts_with("linux-vdso") && !name.starts_with("libpthread.so")) {
    return 0;
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const uint64_t begin = info->dlpi_addr + header.p_vaddr;
    const Range range{begin, begin + header.p_memsz};
    text->all.push_back(range);
    if (own) text->own.push_back(range);
    if (name.starts_with("ld-linux")) text->loader = range;
  }
  return 0;
}

// Ranges whose addresses share their upper half, as the filter can compare 32 bits at a time.
std::vector<Range> SplitAtFourGigabytes(const std::vector<Range>& ranges) {
  std::vector<Range> split;
  for (Range range : ranges) {
    while (range.begin < range.end) {
      const uint64_t boundary = (range.begin | 0xffffffffU) + 1;
      const uint64_t end = boundary < range.end ? boundary : range.end;
      split.push_back({range.begin, end});
      range.begin = end;
    }
  }
  return split;
}

constexpr uint32_t kNumber = offsetof(seccomp_data, nr);
constexpr uint32_t kArchitecture = offsetof(seccomp_data, arch);
constexpr uint32_t kInstruction = offsetof(seccomp_data, instruction_pointer);
constexpr uint32_t Argument(uint32_t index) { return offsetof(seccomp_data, args) + 8 * index; }

// A program of few kinds of statements; every statement that does not end it goes on with the next.
class Program {
 public:
  void Load(uint32_t offset) { Add(BPF_LD | BPF_W | BPF_ABS, offset); }
  void Return(uint32_t action) { Add(BPF_RET | BPF_K, action); }
  // If the loaded word is `value`, that is the end.
  void ReturnIf(uint32_t value, uint32_t action) {
    Jump(BPF_JEQ, value, 0, 1);
    Return(action);
  }
  // Where the call's number is `call` the statements that `body` adds run, else they are skipped.
  template <typename Body>
  void OnCall(uint32_t call, const Body& body) {
    Load(kNumber);
    If(call, body);
    Load(kNumber);
  }
  // The same for the loaded word.
  template <typename Body>
  void If(uint32_t value, const Body& body) {
    Jump(BPF_JEQ, value, 1, 0);
    const size_t skip = code_.size();
    Add(BPF_JMP | BPF_JA, 0);
    body();
    code_[skip].k = static_cast<uint32_t>(code_.size() - skip - 1);
  }
  // Ends with `action` unless the instruction lies in one of the ranges.
  void RequireInstructionIn(const std::vector<Range>& ranges, uint32_t action) {
    std::vector<size_t> found;
    for (const Range& range : SplitAtFourGigabytes(ranges)) {
      Load(kInstruction + 4);
      Jump(BPF_JEQ, static_cast<uint32_t>(range.begin >> 32), 0, 4);
      Load(kInstruction);
      Jump(BPF_JGE, static_cast<uint32_t>(range.begin), 0, 2);
      // The instruction pointer stands behind the instruction.
      Jump(BPF_JGT, static_cast<uint32_t>(range.end - 1), 1, 0);
      found.push_back(code_.size());
      Add(BPF_JMP | BPF_JA, 0);
    }
    Return(action);
    for (const size_t at : found) code_[at].k = static_cast<uint32_t>(code_.size() - at - 1);
  }
  void Jump(uint16_t test, uint32_t value, uint8_t yes, uint8_t no) {
    code_.push_back({static_cast<uint16_t>(BPF_JMP | test | BPF_K), yes, no, value});
  }
  std::vector<sock_filter>& code() { return code_; }

 private:
  void Add(uint16_t code, uint32_t value) { code_.push_back({code, 0, 0, value}); }

  std::vector<sock_filter> code_;
};

std::vector<sock_filter> MakeFilter(const Text& text, const std::set<std::string>& without) {
  constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
  constexpr uint32_t kAsk = SECCOMP_RET_USER_NOTIF;
  Program program;
  program.Load(kArchitecture);
  program.Jump(BPF_JEQ, AUDIT_ARCH_X86_64, 1, 0);
  program.Return(SECCOMP_RET_KILL_PROCESS);
  if (!without.contains(walls::kInstructions)) program.RequireInstructionIn(text.all, kAsk);

  // The channel belongs to this program's own instructions.
  for (const int call : {SYS_read, SYS_write, SYS_writev, SYS_readv, SYS_pread64, SYS_close,
                         SYS_ftruncate, SYS_fallocate}) {
    if (without.contains(walls::kChannel)) break;
    program.OnCall(static_cast<uint32_t>(call), [&] {
      program.Load(Argument(0));
      program.ReturnIf(static_cast<uint32_t>(kChannel), kAsk);
    });
  }
  for (const int call : {SYS_sendto, SYS_recvfrom, SYS_sendmsg}) {
    program.OnCall(static_cast<uint32_t>(call), [&] {
      if (!without.contains(walls::kChannel)) program.RequireInstructionIn(text.own, kAsk);
      program.Load(Argument(0));
      program.ReturnIf(static_cast<uint32_t>(kChannel), kAllow);
      program.Return(kAsk);
    });
  }
  // Memory, but no new code.
  for (const int call : {SYS_mmap, SYS_mprotect}) {
    program.OnCall(static_cast<uint32_t>(call), [&] {
      program.Load(Argument(2));
      program.Jump(BPF_JSET, PROT_EXEC, 0, 1);
      program.Return(without.contains(walls::kCode) ? kAllow : kAsk);
      program.Return(kAllow);
    });
  }
  if (without.contains(walls::kCalls)) program.Return(kAllow);
  // Threads, but no processes.
  program.OnCall(SYS_clone, [&] {
    program.Load(Argument(0));
    program.Jump(BPF_JSET, CLONE_THREAD, 1, 0);
    program.Return(kAsk);
    program.Return(kAllow);
  });
  // abort() signals itself.
  program.OnCall(SYS_tgkill, [&] {
    program.Load(Argument(0));
    program.ReturnIf(static_cast<uint32_t>(::getpid()), kAllow);
    program.Return(kAsk);
  });
  // Limits may be read, not set.
  program.OnCall(SYS_prlimit64, [&] {
    program.Load(Argument(2));
    program.Jump(BPF_JEQ, 0, 1, 0);
    program.Return(kAsk);
    program.Load(Argument(2) + 4);
    program.ReturnIf(0, kAllow);
    program.Return(kAsk);
  });
  // No second way to a descriptor.
  program.OnCall(SYS_fcntl, [&] {
    program.Load(Argument(1));
    for (const int command : {F_GETFD, F_SETFD, F_GETFL}) {
      program.ReturnIf(static_cast<uint32_t>(command), kAllow);
    }
    program.Return(kAsk);
  });
  program.Load(kNumber);
  for (const int call : kAllowed) program.ReturnIf(static_cast<uint32_t>(call), kAllow);
  for (const Silent& silent : kSilent) {
    program.ReturnIf(static_cast<uint32_t>(silent.call),
                     SECCOMP_RET_ERRNO | static_cast<uint32_t>(silent.error));
  }
  program.Return(kAsk);
  return std::move(program.code());
}

}  // namespace

CallFilter InstallSystemCallFilter(const std::set<std::string>& without) {
  Text text;
  ::dl_iterate_phdr(FindText, &text);
  CallFilter filter{.loader_begin = text.loader.begin, .loader_end = text.loader.end};
  if (text.own.empty()) return filter;
  std::vector<sock_filter> code = MakeFilter(text, without);
  const sock_fprog program{static_cast<unsigned short>(code.size()), code.data()};
  filter.listener =
      static_cast<int>(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                 SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC |
                                     SECCOMP_FILTER_FLAG_TSYNC_ESRCH,
                                 &program));
  return filter;
}

}  // namespace kernelsmith::host
