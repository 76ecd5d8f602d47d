// The broker against a child that says what no honest one says.
#include "plan/broker/broker.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>

#include "plan/broker/testing.h"
#include "plan/raw_trace.h"

namespace kernelsmith::broker {
namespace {

using Next = Broker::Next;
using protocol::Kind;

class BrokerTest : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = ::mkstemp(name_);
    ASSERT_GE(fd_, 0);
    test_.emplace(fd_);
  }
  void TearDown() override {
    test_.reset();
    ::close(fd_);
    ::unlink(name_);
  }
  uint64_t Allocate(uint64_t page, uint64_t bytes) {
    const uint64_t address = TestBroker::first() + page * 4096;
    EXPECT_EQ(test_->Send(Kind::kAllocate, protocol::AllocateMessage{address, bytes}), Next::kGoOn);
    return address;
  }
  protocol::LaunchMessage Launch(uint64_t to, uint32_t value) {
    protocol::LaunchMessage launch{
        .kernel = "fill", .grid = {1, 1, 1}, .block = {4, 1, 1}, .cluster = {0, 0, 0}};
    launch.parameters.resize(12);
    std::memcpy(launch.parameters.data(), &to, 8);
    std::memcpy(launch.parameters.data() + 8, &value, 4);
    return launch;
  }
  // What the judge reads.
  std::string Lines() {
    test_->broker().recorder().FlushReply();
    std::ifstream in(name_);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  RawTrace Trace() {
    const std::string lines = Lines();
    Result<RawTrace> trace = ParseRawTrace(lines, {});
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message()) << lines;
    return trace.ok() ? *trace : RawTrace{};
  }

  char name_[32] = "/tmp/ks_broker_XXXXXX";
  int fd_ = -1;
  std::optional<TestBroker> test_;
};

TEST_F(BrokerTest, LaunchesRunWhenTheHostLooks) {
  const uint64_t buffer = Allocate(0, 16);
  EXPECT_EQ(test_->Send(Kind::kLaunch, Launch(buffer, 7)), Next::kGoOn);
  EXPECT_EQ(test_->Send(Kind::kRead, protocol::ReadMessage{{}, buffer, 16}), Next::kGoOn);
  const auto data = protocol::Decode<protocol::DataMessage>(
      std::string_view(test_->answer()).substr(protocol::kFrameHeaderBytes));
  ASSERT_TRUE(data.has_value());
  EXPECT_EQ(data->error, 0);
  ASSERT_EQ(data->bytes.size(), 16u);
  EXPECT_EQ(data->bytes[12], std::byte{7});
  const RawTrace trace = Trace();
  ASSERT_EQ(trace.calls[0].steps.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<LaunchStep>(trace.calls[0].steps[0].action));
  EXPECT_TRUE(std::holds_alternative<HostReadStep>(trace.calls[0].steps[1].action));
}

TEST_F(BrokerTest, FreedMemoryIsNotUsed) {
  const uint64_t buffer = Allocate(0, 16);
  const uint64_t other = Allocate(1, 16);
  EXPECT_EQ(test_->Send(Kind::kLaunch, Launch(buffer, 7)), Next::kGoOn);
  EXPECT_EQ(test_->Send(Kind::kFree, protocol::FreeMessage{buffer}), Next::kGoOn);
  EXPECT_EQ(test_->Send(Kind::kLaunch, Launch(other, 7)), Next::kGoOn);
  // Also in the middle of it.
  EXPECT_EQ(test_->Send(Kind::kLaunch, Launch(buffer + 8, 7)), Next::kEnd);
  EXPECT_EQ(test_->Send(Kind::kCopy,
                        protocol::CopyMessage{
                            .to = other, .from = buffer, .width = 4, .height = 1, .depth = 1}),
            Next::kEnd);
  EXPECT_EQ(test_->Send(Kind::kFree, protocol::FreeMessage{buffer}), Next::kEnd);
  const RawTrace trace = Trace();
  ASSERT_EQ(trace.findings.size(), 3u);
  EXPECT_EQ(trace.findings[0].kind, FindingKind::kUseAfterFree);
  EXPECT_EQ(trace.findings[1].kind, FindingKind::kUseAfterFree);
  EXPECT_EQ(trace.findings[2].kind, FindingKind::kDoubleFree);
}

TEST_F(BrokerTest, TheEndOfFreedMemoryIsNoUse) {
  const uint64_t buffer = Allocate(0, 16);
  const uint64_t other = Allocate(1, 16);
  EXPECT_EQ(test_->Send(Kind::kFree, protocol::FreeMessage{buffer}), Next::kGoOn);
  // One past the end of freed memory belongs to nobody.
  EXPECT_EQ(test_->Send(Kind::kLaunch, Launch(buffer + 16, 7)), Next::kGoOn);
  EXPECT_EQ(test_->Send(Kind::kLaunch, Launch(other, 7)), Next::kGoOn);
}

// Phases are lines that only the tracer's own loop writes: no message becomes one.
TEST_F(BrokerTest, NoMessageDeclaresAPhase) {
  const uint64_t buffer = Allocate(0, 16);
  test_->Send(Kind::kLaunch, Launch(buffer, 7));
  test_->Send(Kind::kReturned, protocol::ReturnedMessage{});
  test_->Send(Kind::kThrew, protocol::ThrewMessage{.text = "{\"s\":\"phase\",\"p\":\"plan\"}\n"});
  const RawTrace trace = Trace();
  EXPECT_EQ(trace.calls[0].steps.size(), 1u);
  EXPECT_EQ(trace.calls.size(), 1u);
  EXPECT_FALSE(trace.complete);
}

// Of many calls those are written that do something else than the ones before them. Memory of their
// own may lie elsewhere; memory that was there before may not.
TEST_F(BrokerTest, CallsThatRepeatOthersAreCounted) {
  TraceRecorder& recorder = test_->broker().recorder();
  const uint64_t kept = Allocate(0, 16);
  const auto call = [&](uint32_t number, uint64_t to, uint32_t value) {
    recorder.BeginRepeatableCall(number, 0);
    if (to == 0) to = Allocate(number, 16);
    EXPECT_EQ(test_->Send(Kind::kLaunch, Launch(to, value)), Next::kGoOn);
    recorder.Result({});
    recorder.EndRepeatableCall();
  };
  call(1, 0, 7);
  call(2, 0, 7);
  call(3, 0, 8);
  call(4, kept, 7);
  call(5, 0, 7);
  call(6, kept + 4, 7);
  call(7, kept, 7);
  EXPECT_EQ(recorder.times(), (std::vector<uint32_t>{3, 1, 2, 1}));
  recorder.Emit({{"s", "calls"}, {"n", 7}, {"times", recorder.times()}, {"lost", 0}, {"in", 0}});
  const RawTrace trace = Trace();
  ASSERT_EQ(trace.calls.size(), 4u);
  EXPECT_EQ(trace.calls[1].number, 3u);
  EXPECT_EQ(trace.calls[2].number, 4u);
  EXPECT_EQ(trace.calls[2].times, 2u);
  EXPECT_EQ(trace.all_calls, 7u);
  // Two of their own, and the one that was there.
  EXPECT_EQ(trace.buffers.size(), 3u);
}

TEST_F(BrokerTest, BuffersCantOverlap) {
  const uint64_t buffer = Allocate(1, 8192);
  for (const uint64_t address : {buffer, buffer + 256, buffer + 4096, buffer - 256}) {
    EXPECT_EQ(test_->Send(Kind::kAllocate, protocol::AllocateMessage{address, 512}), Next::kEnd);
  }
  EXPECT_NE(Lines().find("\"forged\""), std::string::npos);
}

TEST_F(BrokerTest, BuffersLieWhereTheChildHasRoom) {
  const uint64_t base = cudart::Runtime::Get().memory().shared_window();
  for (const uint64_t address :
       {uint64_t{0}, base, base + kTestReserve, TestBroker::first() + 8, ~uint64_t{0} - 255}) {
    EXPECT_EQ(test_->Send(Kind::kAllocate, protocol::AllocateMessage{address, 256}), Next::kEnd);
  }
  EXPECT_EQ(
      test_->Send(Kind::kAllocate, protocol::AllocateMessage{TestBroker::first(), ~uint64_t{0}}),
      Next::kEnd);
}

TEST_F(BrokerTest, NothingIsFreedTwice) {
  const uint64_t buffer = Allocate(0, 16);
  EXPECT_EQ(test_->Send(Kind::kFree, protocol::FreeMessage{buffer}), Next::kGoOn);
  EXPECT_EQ(test_->Send(Kind::kFree, protocol::FreeMessage{buffer}), Next::kEnd);
  EXPECT_EQ(test_->Send(Kind::kFree, protocol::FreeMessage{buffer + 1}), Next::kEnd);
}

// A launch that somebody wrote by hand is checked as one that cudaLaunchKernel made.
TEST_F(BrokerTest, LaunchesThatNoGpuTakes) {
  const uint64_t buffer = Allocate(0, 16);
  const auto refused = [&](auto change) {
    protocol::LaunchMessage launch = Launch(buffer, 1);
    change(launch);
    return test_->Send(Kind::kLaunch, launch) == Next::kEnd;
  };
  EXPECT_TRUE(refused([](auto& l) { l.kernel = "other"; }));
  EXPECT_TRUE(refused([](auto& l) { l.block = {2048, 1, 1}; }));
  EXPECT_TRUE(refused([](auto& l) { l.grid = {1, 70000, 1}; }));
  EXPECT_TRUE(refused([](auto& l) { l.grid = {0, 1, 1}; }));
  EXPECT_TRUE(refused([](auto& l) { l.dynamic_shared = 100 << 10; }));
  EXPECT_TRUE(refused([](auto& l) { l.parameters.resize(8); }));
  EXPECT_TRUE(refused([](auto& l) { l.cluster = {32, 1, 1}; }));
  EXPECT_FALSE(refused([](auto&) {}));
}

TEST_F(BrokerTest, MoreSharedMemoryWantsAnAttribute) {
  const uint64_t buffer = Allocate(0, 16);
  protocol::LaunchMessage launch = Launch(buffer, 1);
  launch.dynamic_shared = 100 << 10;
  EXPECT_EQ(
      test_->Send(Kind::kAttribute,
                  protocol::AttributeMessage{.kernel = "fill", .max_dynamic_shared = 1 << 30}),
      Next::kEnd);
  EXPECT_EQ(
      test_->Send(Kind::kAttribute,
                  protocol::AttributeMessage{.kernel = "fill", .max_dynamic_shared = 100 << 10}),
      Next::kGoOn);
  EXPECT_EQ(test_->Send(Kind::kLaunch, launch), Next::kGoOn);
}

TEST_F(BrokerTest, DeviceCodeIsWhatWasCompiled) {
  EXPECT_EQ(test_->Send(Kind::kModule,
                        protocol::ModuleMessage{std::string("// a comment\n") + kTestPtx + "\n\n"}),
            Next::kGoOn);
  EXPECT_EQ(test_->Send(Kind::kModule, protocol::ModuleMessage{kTestPtx}), Next::kEnd);
  std::string other = kTestPtx;
  other.replace(other.find("add.s64"), 7, "sub.s64");
  EXPECT_EQ(test_->Send(Kind::kModule, protocol::ModuleMessage{other}), Next::kEnd);
}

TEST_F(BrokerTest, VariablesLieWhereTheChildHasThem) {
  const uint64_t address = TestBroker::first() + 4096;
  EXPECT_EQ(
      test_->Send(Kind::kAllocate,
                  protocol::AllocateMessage{address, 4, protocol::Memory::kGlobal, "counter"}),
      Next::kGoOn);
  EXPECT_EQ(
      test_->Send(Kind::kUpload, protocol::UploadMessage{{}, address, std::vector<std::byte>(4)}),
      Next::kGoOn);
  const RawTrace trace = Trace();
  ASSERT_EQ(trace.buffers.size(), 1u);
  EXPECT_EQ(trace.buffers[0].buffer.kind, PlanBuffer::Kind::kVariable);
  EXPECT_EQ(trace.buffers[0].buffer.name, "counter");
  // Too late for others.
  EXPECT_EQ(test_->Send(Kind::kAllocate, protocol::AllocateMessage{address + 4096, 4,
                                                                   protocol::Memory::kGlobal, "x"}),
            Next::kEnd);
}

TEST_F(BrokerTest, LimitsHold) {
  const uint64_t buffer = Allocate(0, 1 << 20);
  const protocol::UploadMessage upload{{}, buffer, std::vector<std::byte>(600 << 10)};
  EXPECT_EQ(test_->Send(Kind::kUpload, upload), Next::kGoOn);
  EXPECT_EQ(test_->Send(Kind::kUpload, upload), Next::kEnd);
  EXPECT_EQ(test_->Send(Kind::kFill,
                        protocol::FillMessage{
                            .to = buffer, .element_bytes = 3, .width = 1, .height = 1, .depth = 1}),
            Next::kEnd);
  EXPECT_EQ(test_->Send(Kind::kFill, protocol::FillMessage{.to = buffer,
                                                           .element_bytes = 1,
                                                           .width = 1,
                                                           .height = ~uint64_t{0},
                                                           .depth = ~uint64_t{0}}),
            Next::kEnd);
}

TEST_F(BrokerTest, WhatIsNoMessageEndsTheTrace) {
  EXPECT_EQ(test_->Handle(std::string(protocol::kFrameHeaderBytes, '\xff')), Next::kEnd);
  std::string cut = protocol::Encode(Kind::kLaunch, Launch(0, 0));
  cut.pop_back();
  EXPECT_EQ(test_->Handle(cut), Next::kEnd);
  EXPECT_EQ(test_->Handle(protocol::Encode(Kind::kLaunch, Launch(0, 0)) + "x"), Next::kEnd);
  EXPECT_EQ(test_->Send(Kind::kData, protocol::DataMessage{}), Next::kEnd);
  EXPECT_EQ(test_->Send(Kind::kWait, protocol::EventMessage{{}, 5}), Next::kEnd);
}

TEST_F(BrokerTest, ReadsStayWithinABuffer) {
  const uint64_t buffer = Allocate(0, 16);
  for (const auto& [at, bytes] :
       {std::pair(buffer, uint64_t{17}), std::pair(buffer + 8, uint64_t{9}),
        std::pair(uint64_t{0}, uint64_t{8}), std::pair(buffer, ~uint64_t{0})}) {
    EXPECT_EQ(test_->Send(Kind::kRead, protocol::ReadMessage{{}, at, bytes}), Next::kGoOn);
    const auto data = protocol::Decode<protocol::DataMessage>(
        std::string_view(test_->answer()).substr(protocol::kFrameHeaderBytes));
    ASSERT_TRUE(data.has_value());
    EXPECT_TRUE(data->bytes.empty());
  }
}

}  // namespace
}  // namespace kernelsmith::broker
