#include "plan/broker/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "plan/protocol.h"

namespace kernelsmith::broker {
namespace {

using protocol::kChannel;

// Between fork and exec: only calls that are safe there. What the child gets is a null device, our
// standard error for all it prints, and the channel; of the environment nothing.
[[noreturn]] void BecomeChild(int channel, pid_t parent, const char* program, char* const* argv,
                              char* const* environment, bool descriptors) {
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  // The channel must not be overwritten while it still has a low number.
  const int high = ::fcntl(channel, F_DUPFD, 10);
  if (null < 0 || high < 0 || ::dup2(null, 0) < 0 || ::dup2(2, 1) < 0 ||
      ::dup2(high, kChannel) < 0) {
    ::_exit(126);
  }
  if (!descriptors && ::syscall(SYS_close_range, kChannel + 1, ~0U, 0) != 0) ::_exit(126);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  ::execve(program, argv, environment);
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<Child>> Child::Start(const std::filesystem::path& program,
                                            const Inherits& inherits) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return InternalError(fmt::format("no socket for the child: {}", std::strerror(errno)));
  }
  // What a user's process would have, and what ours has: neither holds anything of the judge.
  std::string path = program.string();
  std::string name = inherits.disguise ? "python3" : path;
  std::string variables[] = {"PATH=/usr/bin:/bin", "HOME=/home/user", "PYTHONHASHSEED=0",
                             "CUDA_VISIBLE_DEVICES=0", "OMP_NUM_THREADS=8"};
  char* argv[] = {name.data(), nullptr};
  char* nothing[] = {nullptr};
  char* usual[std::size(variables) + 1] = {};
  for (size_t i = 0; i < std::size(variables); ++i) usual[i] = variables[i].data();
  // Libraries open files without O_CLOEXEC. One that is always there, at a number that nothing else
  // has, lets tests and doctor see whether it gets through.
  const int canary = ::fcntl(ends[0], F_DUPFD, 100);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    BecomeChild(ends[1], parent, path.c_str(), argv,
                inherits.environment ? environ
                : inherits.disguise  ? usual
                                     : nothing,
                inherits.descriptors);
  }
  ::close(ends[1]);
  ::close(canary);
  if (pid < 0) {
    ::close(ends[0]);
    return InternalError(fmt::format("no process for the child: {}", std::strerror(errno)));
  }
  return std::unique_ptr<Child>(new Child(pid, ends[0]));
}

Child::~Child() {
  End();
  ::close(socket_);
}

bool Child::WaitForNews(int milliseconds) const {
  pollfd file{socket_, POLLIN, 0};
  return ::poll(&file, 1, milliseconds) != 0;
}

bool Child::Send(const std::string& frame) {
  size_t done = 0;
  while (done < frame.size()) {
    const ssize_t count = ::send(socket_, frame.data() + done, frame.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

bool Child::Read(void* to, size_t bytes, int* descriptor) {
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    iovec part{out, bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    // Without room for them the kernel drops descriptors that nobody asked for.
    if (descriptor != nullptr) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
    }
    const ssize_t count = ::recvmsg(socket_, &message, MSG_CMSG_CLOEXEC);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    if (descriptor != nullptr) {
      for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
           header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
            header->cmsg_len == CMSG_LEN(sizeof(int))) {
          std::memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
        }
      }
    }
    out += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

std::optional<Child::Frame> Child::Receive(size_t most, int* descriptor) {
  std::byte bytes[protocol::kFrameHeaderBytes];
  if (!Read(bytes, sizeof bytes, descriptor)) return std::nullopt;
  const protocol::FrameHeader header = protocol::ReadFrameHeader(bytes);
  if (header.length > most) return Frame{.kind = ~0U, .payload = {}};
  Frame frame{.kind = header.kind, .payload = {}};
  // Memory only for what has come: a length is easily said.
  constexpr size_t kStep = size_t{1} << 20;
  while (frame.payload.size() < header.length) {
    const size_t had = frame.payload.size();
    frame.payload.resize(std::min<size_t>(had + kStep, header.length));
    if (!Read(frame.payload.data() + had, frame.payload.size() - had, descriptor)) {
      return std::nullopt;
    }
  }
  return frame;
}

Child::Ending Child::End() {
  if (pid_ <= 0) return {};
  ::kill(pid_, SIGKILL);
  return AwaitEnd();
}

Child::Ending Child::AwaitEnd() {
  if (pid_ <= 0) return {};
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0};
}

}  // namespace kernelsmith::broker
