// A broker without a child, for tests and fuzzers: they are the child.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "plan/broker/broker.h"

namespace kernelsmith::broker {

// The range of a child that there is not.
inline constexpr uint64_t kTestBase = uint64_t{0x5000} << 32;
inline constexpr uint64_t kTestReserve = uint64_t{1} << 34;

// A kernel with a pointer and a number, and a variable.
inline constexpr const char* kTestPtx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .u32 counter;
.visible .entry fill(.param .u64 to, .param .u32 value)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [to];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd2, %rd2, %rd3;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

// The runtime of this process becomes the broker's GPU, once.
inline void SetUpTestGpu() {
  static const bool done = [] {
    cudart::Runtime& runtime = cudart::Runtime::Get();
    Settings settings;
    settings.engine.engine = Engine::kInterpreter;
    settings.runtime.quiet = true;
    runtime.SetSettings(settings);
    runtime.SetMemoryOptions({.capacity = uint64_t{64} << 20,
                              .reserve = 2 * kTestReserve,
                              .quarantine_bytes = 0,
                              .base = kTestBase,
                              .placed = kTestReserve,
                              .elsewhere = true});
    return runtime.Initialise() == cudaSuccess;
  }();
  KS_CHECK(done);
}

// A broker whose lines go nowhere, or to `reply`.
class TestBroker {
 public:
  explicit TestBroker(int reply = -1) {
    SetUpTestGpu();
    if (reply < 0) reply = nowhere_ = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    broker_.emplace(
        reply, kTestPtx,
        PlanLimits{.buffers = 1000, .steps = 10'000, .upload_bytes = uint64_t{1} << 20});
  }
  ~TestBroker() {
    broker_.reset();
    vgpu::DeviceMemory& memory = cudart::Runtime::Get().memory();
    for (const vgpu::Allocation& allocation : memory.LiveAllocations()) {
      if (!memory.Free(allocation.address).ok()) {
        (void)memory.UnregisterHostRange(reinterpret_cast<void*>(allocation.address));
      }
    }
    if (nowhere_ >= 0) ::close(nowhere_);
  }

  // A frame as it comes from the socket.
  Broker::Next Handle(std::string_view frame) {
    const protocol::FrameHeader header =
        protocol::ReadFrameHeader(reinterpret_cast<const std::byte*>(frame.data()));
    answer_.clear();
    return broker_->Handle(header.kind, frame.substr(protocol::kFrameHeaderBytes), &answer_);
  }
  template <typename Message>
  Broker::Next Send(protocol::Kind kind, const Message& message) {
    return Handle(protocol::Encode(kind, message));
  }
  const std::string& answer() const { return answer_; }
  Broker& broker() { return *broker_; }
  static uint64_t first() { return cudart::Runtime::Get().memory().first_address(); }

 private:
  int nowhere_ = -1;
  std::optional<Broker> broker_;
  std::string answer_;
};

}  // namespace kernelsmith::broker
