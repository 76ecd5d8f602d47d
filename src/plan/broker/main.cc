// kernelsmith-tracer: runs a candidate's host code in a child behind walls (kernelsmith-host) and
// is the GPU that it talks to. It gets a request on standard input and answers on standard output
// with lines of JSON; whatever the candidate prints goes to standard error.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "plan/broker/arguments.h"
#include "plan/broker/broker.h"
#include "plan/broker/child.h"
#include "plan/broker/supervisor.h"
#include "plan/walls.h"
#include "support/settings.h"

namespace kernelsmith::broker {
namespace {

using cudart::Runtime;
using nlohmann::json;
using protocol::Kind;

// Something is wrong with this program or its installation, not with the candidate.
constexpr int kFailed = 2;
// The largest message: what the host may upload in all, and its header.
constexpr size_t kMostBytes = (size_t{1} << 30) + (1 << 20);

bool ReadAll(void* to, size_t bytes) {
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t count = ::read(0, out, bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    out += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

std::filesystem::path HostProgram() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "kernelsmith-host";
}

int Fail(const std::string& why) {
  std::fprintf(stderr, "kernelsmith-tracer: %s\n", why.c_str());
  return kFailed;
}

// One child and its candidate, from the first word to the last.
class Session {
 public:
  Session(json request, int reply) : request_(std::move(request)), reply_(reply) {}

  int Run() {
    if (const int failed = Start(); failed != 0) return failed;
    Trace();
    TellRefusals();
    broker_->recorder().FlushReply();
    return 0;
  }

  // The child and the walls around it; nothing of a candidate has run.
  int Start() {
    const auto without = request_["without"].get<std::set<std::string>>();
    Result<std::unique_ptr<Child>> child =
        Child::Start(HostProgram(), {.disguise = request_.value("disguise", false),
                                     .environment = without.contains(walls::kEnvironment),
                                     .descriptors = without.contains(walls::kDescriptors)});
    if (!child.ok()) return Fail(child.error().message());
    child_ = *std::move(child);
    return SetUp();
  }
  const std::vector<std::string>& walls() const { return walls_; }

 private:
  // The GPU, the arguments in its memory, the walls around the child.
  int SetUp() {
    const auto hello = Await<protocol::HelloMessage>(Kind::kHello);
    if (!hello) return Fail("kernelsmith-host did not start");
    Status problems;
    Settings settings = SettingsFromEnvironment(problems);
    // Nobody checks or counts here, whatever the user has set for programs.
    settings.runtime = {.gpu = settings.runtime.gpu, .watchdog = settings.runtime.watchdog};
    Runtime& runtime = Runtime::Get();
    runtime.SetSettings(settings);
    const auto capacity = request_["device_memory"].get<uint64_t>();
    runtime.SetMemoryOptions({.capacity = capacity,
                              .reserve = 2 * hello->reserve,
                              .quarantine_bytes = vgpu::DeviceMemory::kNeverAgain,
                              .base = hello->base,
                              .placed = hello->reserve,
                              .elsewhere = true});
    if (runtime.Initialise() != cudaSuccess) return Fail("the virtual GPU could not be set up");

    const std::optional<uint64_t> room = Arguments::RoomFor(request_["sets"]);
    const uint64_t first = runtime.memory().first_address();
    if (!room || !arguments_.Place(request_["sets"], first, ReadAll)) {
      return Fail("the request is not one of this version");
    }
    std::ifstream in(request_["ptx"].get<std::string>(), std::ios::binary);
    std::string ptx{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    broker_.emplace(reply_, std::move(ptx), PlanLimits{});
    arguments_.AddTo(broker_->recorder());

    json told = {{"gpu", settings.runtime.gpu},
                 {"disguise", request_.value("disguise", false)},
                 {"other_stream", request_.value("other_stream", false)}};
    for (const char* key : {"library", "function", "style", "sets", "hints", "memory", "without"}) {
      told[key] = request_[key];
    }
    if (!Say(Kind::kStart, protocol::StartMessage{.request = told.dump(),
                                                  .placed = first + *room - hello->base,
                                                  .capacity = capacity})) {
      return Fail("kernelsmith-host ended");
    }
    int listener = -1;
    const auto walls = Await<protocol::WallsMessage>(Kind::kWalls, &listener);
    if (!walls || listener < 0) return Fail("the sandbox can't be set up");
    supervisor_ = std::make_unique<Supervisor>(listener, child_->pid(), walls->loader_begin,
                                               walls->loader_end);
    walls_ = walls->walls;
    broker_->recorder().Emit({{"s", "sandbox"}, {"walls", walls_}});
    broker_->recorder().FlushReply();
    return 0;
  }

  void Trace() {
    const auto sequence = request_["sequence"].get<std::vector<uint32_t>>();
    if (sequence.empty() ? TraceTwoCalls() : TraceSequence(sequence)) {
      // Nothing of the child counts any more.
      child_->End();
      TellRefusals();
      broker_->recorder().Emit({{"s", "done"}});
    }
  }

  bool Load() {
    const bool loaded = Say(Kind::kLoad, protocol::LoadMessage{}) && AwaitReturn();
    supervisor_->Close();
    return loaded;
  }

  // The library is loaded, then its function is called twice: the first call is the preparation,
  // the second the plan.
  bool TraceTwoCalls() {
    TraceRecorder& recorder = broker_->recorder();
    recorder.BeginCall(1, 0);
    if (!Load() || !Call(1, 0)) return false;
    // The second call gets what the first one got, also where the first changed it.
    recorder.Later([this] { arguments_.Restore(0); });
    recorder.BeginCall(2, 0);
    return Call(2, 0) && broker_->Conclude(request_["direct"].get<bool>());
  }

  // Many calls, each with the set of arguments that `sequence` names. Calls in which the host looks
  // at results cost more than others, since kernels run for them: there are fewer of those, and of
  // calls that ask much of the runtime. Both counts are the same in every child.
  bool TraceSequence(const std::vector<uint32_t>& sequence) {
    constexpr uint64_t kCostOfALook = 25;
    constexpr uint64_t kMostMessages = 300'000;
    TraceRecorder& recorder = broker_->recorder();
    broker_->ExpectManyCalls();
    uint32_t calls = 0;
    int64_t live_halfway = 0;
    uint32_t halfway = 0;
    for (const uint32_t set : sequence) {
      if (calls + recorder.looks() * kCostOfALook >= sequence.size()) break;
      if (messages_ > kMostMessages) break;
      ++calls;
      recorder.BeginRepeatableCall(calls, set);
      if (calls == 1 && !Load()) return false;
      recorder.Later([this, set] { arguments_.Restore(set); });
      if (!Call(calls, set) || !broker_->Conclude(false)) return false;
      recorder.EndRepeatableCall();
      if (calls == sequence.size() / 2) {
        halfway = calls;
        live_halfway = recorder.live();
      }
    }
    const bool knows_leaks = halfway > 0 && calls > halfway;
    recorder.Emit({{"s", "calls"},
                   {"n", calls},
                   {"times", recorder.times()},
                   {"lost", knows_leaks ? std::max<int64_t>(0, recorder.live() - live_halfway) : 0},
                   {"in", knows_leaks ? calls - halfway : 0}});
    return true;
  }

  bool Call(uint32_t number, uint32_t set) {
    return Say(Kind::kCall, protocol::CallMessage{number, set}) && AwaitReturn();
  }

  // Serves the child until its function is back. False: it won't be; a finding says why.
  bool AwaitReturn() {
    while (true) {
      // Should the time run out, what was refused so far is known.
      while (!child_->WaitForNews(200)) {
        TellRefusals();
        broker_->recorder().FlushReply();
      }
      const std::optional<Child::Frame> frame = child_->Receive(kMostBytes);
      if (!frame) {
        TellEnding();
        return false;
      }
      ++messages_;
      std::string answer;
      const Broker::Next next = broker_->Handle(frame->kind, frame->payload, &answer);
      TellRefusals();
      if (next == Broker::Next::kEnd) return false;
      if (!answer.empty() && !child_->Send(answer)) continue;  // its end is told above
      if (next == Broker::Next::kReturned) return true;
    }
  }

  void TellEnding() {
    const Child::Ending ending = child_->AwaitEnd();
    TellRefusals();
    if (supervisor_->gave_up()) return;
    TraceRecorder& recorder = broker_->recorder();
    if (ending.signal != 0) {
      recorder.Finding(FindingKind::kCrash,
                       std::string("the host code crashed: ") + ::strsignal(ending.signal));
    } else {
      recorder.Finding(FindingKind::kExit, "the host code left the process before it returned");
    }
  }

  void TellRefusals() {
    if (supervisor_ == nullptr) return;
    for (const std::string& refusal : supervisor_->TakeRefusals()) {
      broker_->recorder().Finding(FindingKind::kForbidden, refusal);
    }
  }

  template <typename Message>
  std::optional<Message> Await(Kind kind, int* descriptor = nullptr) {
    const std::optional<Child::Frame> frame = child_->Receive(kMostBytes, descriptor);
    if (!frame || frame->kind != static_cast<uint32_t>(kind)) return std::nullopt;
    return protocol::Decode<Message>(frame->payload);
  }
  template <typename Message>
  bool Say(Kind kind, const Message& message) {
    return child_->Send(protocol::Encode(kind, message));
  }

  json request_;
  int reply_;
  std::unique_ptr<Child> child_;
  Arguments arguments_;
  std::optional<Broker> broker_;
  std::unique_ptr<Supervisor> supervisor_;
  std::vector<std::string> walls_;
  uint64_t messages_ = 0;  // that the child has sent
};

int Run(int reply) {
  uint64_t header_bytes = 0;
  if (!ReadAll(&header_bytes, sizeof header_bytes) || header_bytes > (64u << 20)) return kFailed;
  std::string header(header_bytes, '\0');
  if (!ReadAll(header.data(), header.size())) return kFailed;
  json request = json::parse(header, nullptr, false);
  if (!request.is_object()) return kFailed;
  return Session(std::move(request), reply).Run();
}

// Beside the program in a build tree, in the libraries' folder of an installation.
std::filesystem::path ProbeLibrary() {
  const std::filesystem::path folder = HostProgram().parent_path();
  for (const char* place : {"lib/kernelsmith", "../lib/kernelsmith", "../lib64/kernelsmith",
                            "../lib/x86_64-linux-gnu/kernelsmith"}) {
    std::filesystem::path found = folder / place / "kernelsmith-probe.so";
    std::error_code error;
    if (std::filesystem::exists(found, error)) return std::filesystem::canonical(found, error);
  }
  return {};
}

// --walls: puts the walls up and tries each of them for real. Standard output gets the names of
// what the system offers, as a line of JSON; standard error a line "held NAME" or "broken NAME" for
// each try (host/probe.cc).
int TryWalls(int reply) {
  json request = {{"device_memory", uint64_t{1} << 30},
                  {"sets", {{{"arguments", json::array()}, {"results", json::array()}}}},
                  {"sequence", json::array()},
                  {"hints", json::array()},
                  {"ptx", "/dev/null"},
                  {"library", ProbeLibrary().string()},
                  {"function", "probe"},
                  {"style", "torch"},
                  {"memory", uint64_t{2} << 30},
                  {"direct", false},
                  {"without", json::array()}};
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  Session session(std::move(request), nowhere);
  const int failed = session.Run();
  if (failed != 0) return failed;
  const std::string line = json(session.walls()).dump() + "\n";
  return ::write(reply, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 1;
}

}  // namespace
}  // namespace kernelsmith::broker

int main(int argc, char** argv) {
  // Replies go where nothing else is printed.
  const int reply = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
  if (reply < 0 || ::dup2(2, 1) < 0) return 2;
  int code = 2;
  try {
    code = argc == 2 && std::strcmp(argv[1], "--walls") == 0 ? kernelsmith::broker::TryWalls(reply)
                                                             : kernelsmith::broker::Run(reply);
  } catch (const nlohmann::json::exception& error) {
    std::fprintf(stderr, "kernelsmith-tracer: %s\n", error.what());
  }
  std::fflush(nullptr);
  ::_exit(code);
}
