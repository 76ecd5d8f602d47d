// The child's end of the protocol (plan/protocol.h).
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "plan/protocol.h"

namespace kernelsmith::host {

// Its system calls are made by instructions of this program's own text: the filter lets nobody else
// write to the channel (system_call_filter.h).
class Channel {
 public:
  // Never destroyed: candidates free things from exit handlers.
  static Channel& Get();

  template <typename Message>
  void Send(protocol::Kind kind, const Message& message) {
    const std::lock_guard lock(mutex_);
    Append(protocol::Encode(kind, message));
  }
  // Sends, and waits for the answer.
  template <typename Message>
  protocol::DataMessage Ask(protocol::Kind kind, const Message& message) {
    const std::lock_guard lock(mutex_);
    Append(protocol::Encode(kind, message));
    Flush();
    return AwaitData();
  }
  // The next message of the broker, which must be of this kind.
  template <typename Message>
  Message Await(protocol::Kind kind) {
    const std::lock_guard lock(mutex_);
    Flush();
    std::optional<Message> message = protocol::Decode<Message>(Receive(kind));
    if (!message) End();
    return *std::move(message);
  }
  // `descriptor` goes along with a message that says nothing else than `walls`.
  void SendWalls(const protocol::WallsMessage& walls, int descriptor);

 private:
  void Append(const std::string& frame);
  void Flush();
  std::string Receive(protocol::Kind kind);
  protocol::DataMessage AwaitData();
  // The broker is gone or another version: there is nothing left to do.
  [[noreturn]] static void End();

  std::mutex mutex_;
  std::string out_;  // one-way messages wait here for the next question
};

}  // namespace kernelsmith::host
