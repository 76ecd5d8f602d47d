#include "plan/host/channel.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kernelsmith::host {
namespace {

using protocol::kChannel;

// One-way messages are collected up to this size: a system call for each would cost more than the
// message.
constexpr size_t kBufferedBytes = 1 << 16;

// A system call by an instruction of this file.
long Call(long number, long a, const void* b, long c, long d = 0) {
  long result = 0;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = 0;
  register long r9 asm("r9") = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

}  // namespace

Channel& Channel::Get() {
  static Channel* const channel = new Channel;
  return *channel;
}

void Channel::End() {
  Call(SYS_exit_group, 5, nullptr, 0);
  __builtin_unreachable();
}

void Channel::Append(const std::string& frame) {
  out_ += frame;
  if (out_.size() >= kBufferedBytes) Flush();
}

void Channel::Flush() {
  size_t done = 0;
  while (done < out_.size()) {
    const long count = Call(SYS_sendto, kChannel, out_.data() + done,
                            static_cast<long>(out_.size() - done), MSG_NOSIGNAL);
    if (count == -EINTR) continue;
    if (count <= 0) End();
    done += static_cast<size_t>(count);
  }
  out_.clear();
}

std::string Channel::Receive(protocol::Kind kind) {
  const auto read = [](void* to, size_t bytes) {
    auto* out = static_cast<char*>(to);
    while (bytes > 0) {
      const long count = Call(SYS_recvfrom, kChannel, out, static_cast<long>(bytes));
      if (count == -EINTR) continue;
      if (count <= 0) End();
      out += count;
      bytes -= static_cast<size_t>(count);
    }
  };
  std::byte bytes[protocol::kFrameHeaderBytes];
  read(bytes, sizeof bytes);
  const protocol::FrameHeader header = protocol::ReadFrameHeader(bytes);
  if (header.kind != static_cast<uint32_t>(kind)) End();
  std::string payload(header.length, '\0');
  read(payload.data(), payload.size());
  return payload;
}

protocol::DataMessage Channel::AwaitData() {
  std::optional<protocol::DataMessage> data =
      protocol::Decode<protocol::DataMessage>(Receive(protocol::Kind::kData));
  if (!data) End();
  return *std::move(data);
}

void Channel::SendWalls(const protocol::WallsMessage& walls, int descriptor) {
  const std::lock_guard lock(mutex_);
  Flush();
  std::string frame = protocol::Encode(protocol::Kind::kWalls, walls);
  iovec part{frame.data(), frame.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  if (Call(SYS_sendmsg, kChannel, &message, MSG_NOSIGNAL) != static_cast<long>(frame.size())) End();
}

}  // namespace kernelsmith::host
