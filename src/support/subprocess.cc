#include "support/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

extern char** environ;

namespace kernelsmith {
namespace {

using SteadyClock = std::chrono::steady_clock;

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      Close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { Close(); }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> MakePipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) {
    return InternalError(fmt::format("can't make a pipe: {}", std::strerror(errno)));
  }
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

void SetNonBlocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& s : strings) pointers.push_back(s.data());
  pointers.push_back(nullptr);
  return pointers;
}

constexpr unsigned kCloseOnExec = 1 << 2;  // CLOSE_RANGE_CLOEXEC

// Which of our descriptors become which of the child's; -1 is /dev/null.
struct Wiring {
  int in = -1;
  int out = -1;
  int err = -1;
  int inherited = -1;  // one more that the child keeps under its own number
  bool die_with_parent = false;
};

// No signal reaches this thread while it lives.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// The child shares our memory until it execs (vfork): fork would copy the page tables of a process
// that may hold gigabytes of tensors, which took a third of an optimisation's time. So only
// async-signal-safe calls are allowed in it, everything is prepared before, and none of our signal
// handlers may run there.
Result<pid_t> Spawn(const ProcessRequest& request, std::vector<std::string> environment,
                    const Wiring& wiring, bool without_landlock = false) {
  if (request.argv.empty() || request.argv[0].empty()) {
    return InvalidInput("no program to run was named");
  }
  std::vector<std::string> arguments = request.argv;
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  const std::string directory = request.directory.string();
  const pid_t parent = ::getpid();
  std::optional<PreparedWalls> walls;
  if (request.confinement) {
    KS_TRY(PreparedWalls prepared, PreparedWalls::Prepare(*request.confinement, without_landlock));
    walls.emplace(std::move(prepared));
  }
  // Carries errno when exec fails; exec itself closes it, so end of file means that it worked.
  KS_TRY(Pipe failure, MakePipe());

  NoSignals quiet;
  // The child does little before exec, and nothing of a large parent is copied for it.
  const pid_t pid = ::vfork();  // NOLINT(bugprone-unsafe-functions): posix_spawn has no walls
  if (pid < 0) return InternalError(fmt::format("can't fork: {}", std::strerror(errno)));
  if (pid == 0) {
    const auto fail = [&] {
      const int error = errno;
      [[maybe_unused]] const ssize_t ignored = ::write(failure.write.get(), &error, sizeof error);
      ::_exit(127);
    };
    ::setpgid(0, 0);
    if (wiring.die_with_parent) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(127);  // it died before prctl
    }
    // The child starts with default signals whatever we ignore or block.
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const int null = ::open("/dev/null", O_RDWR);
    if (::dup2(wiring.in >= 0 ? wiring.in : null, 0) < 0 ||
        ::dup2(wiring.out >= 0 ? wiring.out : null, 1) < 0 ||
        ::dup2(wiring.err >= 0 ? wiring.err : null, 2) < 0) {
      fail();
    }
    // Whatever other threads have open, a server's connections and databases among it, is closed by
    // exec. Kernels before 5.11 don't know the flag; there it rests on O_CLOEXEC.
    ::syscall(SYS_close_range, 3u, ~0u, kCloseOnExec);
    if (wiring.inherited >= 0) ::fcntl(wiring.inherited, F_SETFD, 0);
    if (!directory.empty() && ::chdir(directory.c_str()) != 0) fail();
    if (walls && !walls->Enter()) fail();
    ::execvpe(argv[0], argv.data(), envp.data());
    fail();
  }
  ::setpgid(pid, pid);  // Both do this, so that neither has to wait for the other.
  failure.write.Close();
  int error = 0;
  ssize_t count;
  do {
    count = ::read(failure.read.get(), &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  if (count != sizeof error) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (error == ENOENT || error == EACCES || error == ENOEXEC) {
    if (!directory.empty() && ::access(directory.c_str(), X_OK) != 0) {
      return InvalidInput(fmt::format("can't enter {}: {}", directory, std::strerror(errno)));
    }
    return MissingTool(fmt::format("can't run {}: {}", request.argv[0],
                                   error == ENOENT   ? "program not found"
                                   : error == EACCES ? "not executable"
                                                     : "not a program"));
  }
  return InternalError(fmt::format("can't run {}: {}", request.argv[0], std::strerror(error)));
}

// Reads what is there into `text`. False at end of file.
bool Drain(int fd, std::string& text, size_t limit, bool& truncated) {
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (count == 0) return false;
    const size_t room = limit > text.size() ? limit - text.size() : 0;
    if (static_cast<size_t>(count) > room) truncated = true;
    text.append(buffer, std::min<size_t>(count, room));
  }
}

// Writing to a child that has closed its input must not kill us: SIGPIPE is held back in this
// thread and taken away if it came.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    const timespec now{};
    while (::sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
};

// A limit is extended to at most so many times itself.
constexpr int kMostPatience = 9;

// How long the process was ready to run and had no processor: on a busy machine most of its time,
// and none of its fault. 0 where the kernel does not say.
SteadyClock::duration WaitedForProcessor(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/schedstat", pid));
  int64_t ran = 0;
  int64_t waited = 0;
  file >> ran >> waited;
  return std::chrono::nanoseconds(file ? waited : 0);
}

std::vector<std::string> OnlyThese(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

int MillisecondsUntil(SteadyClock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000'000));
}

}  // namespace

std::vector<std::string> ChildEnvironment(const std::map<std::string, std::string>& set,
                                          const std::vector<std::string>& unset) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string name(text.substr(0, text.find('=')));
    if (set.contains(name)) continue;
    if (std::find(unset.begin(), unset.end(), name) != unset.end()) continue;
    environment.emplace_back(text);
  }
  for (const auto& [name, value] : set) environment.push_back(name + "=" + value);
  return environment;
}

Result<ProcessResult> SystemProcessRunner::Run(const ProcessRequest& request) {
  std::vector<std::string> environment = OnlyThese(request.env);
  if (!request.only_env) {
    std::map<std::string, std::string> set = request.env;
    for (const auto& variable : for_all_) {
      const auto& unset = request.unset_env;
      if (std::find(unset.begin(), unset.end(), variable.first) == unset.end()) {
        set.insert(variable);
      }
    }
    environment = ChildEnvironment(set, request.unset_env);
  }
  KS_TRY(Pipe in, MakePipe());
  KS_TRY(Pipe out, MakePipe());
  KS_TRY(Pipe err, MakePipe());
  const auto start = SteadyClock::now();
  auto deadline = start + request.timeout;
  KS_TRY(const pid_t pid, Spawn(request, std::move(environment),
                                {.in = in.read.get(),
                                 .out = out.write.get(),
                                 .err = err.write.get(),
                                 .die_with_parent = true},
                                without_landlock_));
  in.read.Close();
  out.write.Close();
  err.write.Close();
  SetNonBlocking(in.write.get());
  SetNonBlocking(out.read.get());
  SetNonBlocking(err.read.get());
  // A descriptor that becomes readable when the child ends, so that one poll() waits for
  // everything.
  const Fd ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));

  const NoSigpipe no_sigpipe;
  ProcessResult result;
  std::string_view input = request.input;
  if (input.empty()) in.write.Close();
  bool running = true;
  while (running) {
    pollfd fds[] = {{ended.get(), POLLIN, 0},
                    {out.read.get(), POLLIN, 0},
                    {err.read.get(), POLLIN, 0},
                    {in.write.get(), POLLOUT, 0}};
    // Without pidfd (old kernels, some sandboxes) the child's end is looked for now and then.
    const int wait = MillisecondsUntil(deadline);
    const int ready = ::poll(fds, 4, ended.get() >= 0 ? wait : std::min(wait, 5));
    if (ready < 0 && errno != EINTR) {
      ::kill(-pid, SIGKILL);
      break;
    }
    if (fds[1].revents != 0 &&
        !Drain(out.read.get(), result.out, request.max_output, result.truncated)) {
      out.read.Close();
    }
    if (fds[2].revents != 0 &&
        !Drain(err.read.get(), result.err, request.max_output, result.truncated)) {
      err.read.Close();
    }
    if (fds[3].revents != 0) {
      const ssize_t count = ::write(in.write.get(), input.data(), input.size());
      if (count > 0) input.remove_prefix(count);
      if (input.empty() || (count < 0 && errno != EAGAIN && errno != EINTR)) in.write.Close();
    }
    if (fds[0].revents != 0 || ended.get() < 0) {
      siginfo_t info{};
      ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT);
      running = info.si_pid != pid;
    }
    if (running && SteadyClock::now() >= deadline) {
      // Time without a processor does not count, within reason.
      const auto later =
          start + request.timeout +
          std::min<SteadyClock::duration>(WaitedForProcessor(pid), kMostPatience * request.timeout);
      if (later > SteadyClock::now()) {
        deadline = later;
        continue;
      }
      result.timed_out = true;
      ::kill(-pid, SIGKILL);
      break;
    }
  }
  int status = 0;
  rusage usage{};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  // What the child wrote before it ended is still in the pipes; what a grandchild may write later
  // is not waited for, and the grandchild goes with the group.
  if (out.read.get() >= 0) Drain(out.read.get(), result.out, request.max_output, result.truncated);
  if (err.read.get() >= 0) Drain(err.read.get(), result.err, request.max_output, result.truncated);
  ::kill(-pid, SIGKILL);
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.duration = SteadyClock::now() - start;
  for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
    result.processor_time +=
        std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  }
  return result;
}

Result<std::unique_ptr<LineWorker>> LineWorker::Start(const ProcessRequest& request) {
  KS_TRY(Pipe in, MakePipe());
  KS_TRY(Pipe replies, MakePipe());
  KS_TRY(Pipe err, MakePipe());
  std::map<std::string, std::string> set = request.env;
  set["KERNELSMITH_REPLY_FD"] = std::to_string(replies.write.get());
  // Not die_with_parent: that follows the starting thread, and a worker may outlive it. Its
  // standard input ends when we do.
  KS_TRY(const pid_t pid,
         Spawn(request, ChildEnvironment(set, request.unset_env),
               {.in = in.read.get(), .err = err.write.get(), .inherited = replies.write.get()}));
  auto worker = std::unique_ptr<LineWorker>(new LineWorker());
  worker->pid_ = pid;
  SetNonBlocking(in.write.get());
  SetNonBlocking(replies.read.get());
  SetNonBlocking(err.read.get());
  worker->requests_ = in.write.Release();
  worker->replies_ = replies.read.Release();
  worker->errors_ = err.read.Release();
  return worker;
}

LineWorker::~LineWorker() { Kill(); }

void LineWorker::Kill() {
  if (pid_ <= 0) return;
  ::kill(-pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  DrainErrors();
  for (int* fd : {&requests_, &replies_, &errors_}) ::close(std::exchange(*fd, -1));
  pid_ = -1;
}

void LineWorker::DrainErrors() {
  constexpr size_t kKeep = 64 << 10;
  bool truncated = false;
  std::string fresh;
  if (errors_ >= 0) Drain(errors_, fresh, size_t{1} << 30, truncated);
  error_output_ += fresh;
  if (error_output_.size() > kKeep) error_output_.erase(0, error_output_.size() - kKeep);
}

Result<std::string> LineWorker::Ask(std::string_view line, std::chrono::milliseconds timeout,
                                    size_t max_line) {
  if (!alive()) return InternalError("the worker has ended");
  const auto start = SteadyClock::now();
  const auto waited_before = WaitedForProcessor(pid_);
  auto deadline = start + timeout;
  const NoSigpipe no_sigpipe;
  const std::string request = std::string(line) + "\n";
  std::string_view unsent = request;
  while (true) {
    if (const size_t end = pending_.find('\n'); end != std::string::npos) {
      std::string reply = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      DrainErrors();
      return reply;
    }
    if (pending_.size() > max_line) {
      Kill();
      return InternalError(fmt::format("the worker's reply is longer than {} bytes", max_line));
    }
    pollfd fds[] = {
        {replies_, POLLIN, 0}, {errors_, POLLIN, 0}, {unsent.empty() ? -1 : requests_, POLLOUT, 0}};
    const int ready = ::poll(fds, 3, MillisecondsUntil(deadline));
    if (ready == 0) {
      // Time without a processor does not count, within reason.
      const auto later = start + timeout +
                         std::min<SteadyClock::duration>(WaitedForProcessor(pid_) - waited_before,
                                                         kMostPatience * timeout);
      if (later > SteadyClock::now()) {
        deadline = later;
        continue;
      }
      Kill();
      return TimedOut(fmt::format("the worker did not answer within {} s",
                                  std::chrono::duration<double>(timeout).count()));
    }
    if (fds[1].revents != 0) DrainErrors();
    if (fds[2].revents != 0) {
      const ssize_t count = ::write(requests_, unsent.data(), unsent.size());
      if (count > 0) unsent.remove_prefix(count);
    }
    if (fds[0].revents != 0) {
      bool truncated = false;
      const bool open = Drain(replies_, pending_, max_line + 1, truncated);
      if (!open && pending_.find('\n') == std::string::npos) {
        Kill();
        return InternalError("the worker ended without an answer");
      }
    }
  }
}

}  // namespace kernelsmith
