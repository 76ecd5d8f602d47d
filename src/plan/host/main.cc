// kernelsmith-host: the child that runs a candidate's host code behind walls. It talks to the
// broker (kernelsmith-tracer) and to nobody else; what it says is believed by nobody
// (plan/protocol.h).
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "cudart/runtime.h"
#include "plan/host/call.h"
#include "plan/host/channel.h"
#include "plan/host/device_client.h"
#include "plan/host/sandbox.h"
#include "support/demangle.h"
#include "support/rng.h"

namespace kernelsmith::host {
namespace {

using cudart::Runtime;
using nlohmann::json;
using protocol::Kind;

// The heap begins at a page: without this the last bits of what malloc gives would be the same in
// every run, and no others' program has the same ones. It runs before anything else allocates.
__attribute__((constructor(101))) void MoveHeap() {
  [[maybe_unused]] static void* volatile kept = nullptr;
  kept = std::malloc(16 * (1 + RandomSeed() % 1024));
}

struct Range {
  std::string name;
  uint64_t begin = 0;
  uint64_t end = 0;
};

int FindRange(dl_phdr_info* info, size_t, void* data) {
  auto* range = static_cast<Range*>(data);
  if (range->name != info->dlpi_name) return 0;
  range->begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD) continue;
    range->end = std::max<uint64_t>(range->end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
  }
  return 1;
}

// "undefined symbol: _ZN2at..." names what the light headers declare and nobody defines.
std::string ExplainLoadError(const std::string& error) {
  const std::string marker = "undefined symbol: ";
  const size_t at = error.find(marker);
  if (at == std::string::npos) return error;
  return Demangle(error.substr(at + marker.size())) + " is not supported";
}

// Address space for the device, somewhere else in every process.
std::optional<protocol::HelloMessage> ReserveAddresses() {
  constexpr uint64_t kReserve = uint64_t{256} << 30;
  constexpr uint64_t kUnit = vgpu::kSharedWindowSize;
  const uint64_t shift = (2 + RandomSeed() % 512) * kUnit;
  void* range = ::mmap(nullptr, kReserve + shift, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED) return std::nullopt;
  ::munmap(range, kReserve + shift);
  const uint64_t begin = (reinterpret_cast<uint64_t>(range) + kUnit - 1) / kUnit * kUnit;
  return protocol::HelloMessage{begin + shift / kUnit / 2 * kUnit, kReserve};
}

bool SetUpMirror(const protocol::HelloMessage& hello, const protocol::StartMessage& start,
                 const json& request) {
  Runtime& runtime = Runtime::Get();
  Settings settings;
  settings.runtime.gpu = request["gpu"].get<std::string>();
  runtime.SetSettings(settings);
  runtime.SetRecorder(&DeviceClient::Get());
  // Addresses are never used twice, so that each names one allocation in the whole trace.
  runtime.SetMemoryOptions({.capacity = start.capacity,
                            .reserve = hello.reserve,
                            .quarantine_bytes = vgpu::DeviceMemory::kNeverAgain,
                            .base = hello.base,
                            .placed = start.placed,
                            .scattered = true});
  return runtime.Initialise() == cudaSuccess;
}

// Whether that may be why the candidate threw: its checks give the error other words.
bool RanOutOfMemory() { return Runtime::Get().memory().ran_out(); }

template <typename Body>
bool Guarded(const Body& body) {
  using Why = protocol::ThrewMessage::Why;
  protocol::ThrewMessage threw;
  try {
    body();
    return true;
  } catch (const light::UnsupportedError& error) {
    threw = {.why = Why::kUnsupported, .text = error.what()};
  } catch (const light::NoFunctionError& error) {
    threw = {.why = Why::kNoFunction, .text = error.what()};
  } catch (const std::exception& error) {
    threw = {.text = error.what(), .ran_out_of_memory = RanOutOfMemory()};
  } catch (...) {
    threw = {.text = "an exception that is no std::exception",
             .ran_out_of_memory = RanOutOfMemory()};
  }
  threw.site = DeviceClient::Get().Site();
  Channel::Get().Send(Kind::kThrew, threw);
  return false;
}

int Run() {
  Channel& channel = Channel::Get();
  const std::optional<protocol::HelloMessage> hello = ReserveAddresses();
  if (!hello) return 4;
  channel.Send(Kind::kHello, *hello);
  const auto start = channel.Await<protocol::StartMessage>(Kind::kStart);
  const json request = json::parse(start.request, nullptr, false);
  if (!request.is_object() || !SetUpMirror(*hello, start, request)) return 4;
  std::vector<std::vector<light::Value>> arguments;  // by set
  for (const json& set : request["sets"]) {
    if (!MakeArguments(set["arguments"], &arguments.emplace_back())) return 2;
  }
  DeviceClient::Get().Start(request["disguise"].get<bool>());

  // As Python has it. The library's conversions of wide characters would tell.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  // The first call loads what unwinding needs; behind the walls it could not.
  void* frame = nullptr;
  ::backtrace(&frame, 1);
  const std::string library = request["library"].get<std::string>();
  const Walls walls = EnterSandbox(library, request["memory"].get<uint64_t>(),
                                   request["without"].get<std::set<std::string>>());
  channel.SendWalls({walls.names, walls.filter.loader_begin, walls.filter.loader_end},
                    walls.filter.listener);
  ::close(walls.filter.listener);

  channel.Await<protocol::LoadMessage>(Kind::kLoad);
  // PyTorch's processes have threads; std::shared_ptr asks, and so could a candidate.
  __libc_single_threaded = 0;
  // From here on everything is the candidate's.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    channel.Send(Kind::kLoaded, protocol::LoadedMessage{ExplainLoadError(::dlerror())});
    channel.Await<protocol::CallMessage>(Kind::kCall);
    return 0;
  }
  Range range{.name = library};
  ::dl_iterate_phdr(FindRange, &range);
  DeviceClient::Get().SetLibraryRange(range.begin, range.end);
  channel.Send(Kind::kLoaded, protocol::LoadedMessage{});

  std::optional<CandidateFunction> function;
  light::Value kept;  // a caller has the result until the next call
  while (true) {
    // The broker ends this process when it has seen enough.
    const auto call = channel.Await<protocol::CallMessage>(Kind::kCall);
    kept = light::Value();
    Guarded([&] {
      if (!function) function.emplace(request, arguments);
      const protocol::ReturnedMessage returned = function->Call(call.set, &kept);
      DeviceClient::Get().OnReturn();
      channel.Send(Kind::kReturned, returned);
    });
    std::fflush(nullptr);
  }
}

}  // namespace
}  // namespace kernelsmith::host

int main() {
  int code = 0;
  try {
    code = kernelsmith::host::Run();
  } catch (const nlohmann::json::exception&) {
    code = 2;  // a request of another version; the candidate's own exceptions never come here
  }
  std::fflush(nullptr);
  // No destructors: the candidate's would run.
  ::_exit(code);
}
