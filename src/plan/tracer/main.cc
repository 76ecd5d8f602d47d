// kernelsmith-tracer: the child that runs a candidate's host code. It gets a request on standard
// input and answers on standard output with lines of JSON; whatever the candidate prints goes to
// standard error. Nothing here is trusted by the parent.
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "cudart/runtime.h"
#include "plan/tracer/call.h"
#include "plan/tracer/light_runtime.h"
#include "plan/tracer/recorder.h"
#include "plan/tracer/sandbox.h"
#include "support/demangle.h"

namespace kernelsmith::tracer {
namespace {

using cudart::Runtime;
using nlohmann::json;

bool ReadAll(void* to, size_t bytes) {
  auto* out = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t count = ::read(0, out, bytes);
    if (count <= 0) return false;
    out += count;
    bytes -= static_cast<size_t>(count);
  }
  return true;
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

int Run(int reply) {
  TraceRecorder& recorder = TraceRecorder::Get();
  recorder.SetReply(reply);
  uint64_t header_bytes = 0;
  if (!ReadAll(&header_bytes, sizeof header_bytes) || header_bytes > (64u << 20)) return 2;
  std::string header(header_bytes, '\0');
  if (!ReadAll(header.data(), header.size())) return 2;
  const json request = json::parse(header, nullptr, false);
  if (!request.is_object()) return 2;

  Runtime& runtime = Runtime::Get();
  runtime.SetRecorder(&recorder);
  // Addresses are never used twice, so that each names one allocation in the whole trace.
  runtime.SetMemoryOptions({.capacity = request["device_memory"].get<uint64_t>(),
                            .reserve = uint64_t{256} << 30,
                            .quarantine_bytes = ~uint64_t{0}});
  if (runtime.Initialise() != cudaSuccess) return 2;
  // The two children have other addresses even where the system maps them alike.
  const auto shift = request["shift"].get<uint64_t>();
  if (shift > 0 &&
      !runtime.memory().Allocate(shift, vgpu::AllocationKind::kDevice, "shift of addresses").ok()) {
    return 2;
  }
  std::vector<light::Value> arguments;
  if (!ReadArguments(request["arguments"], ReadAll, &arguments)) return 2;

  // The first call loads what unwinding needs; in the sandbox it could not.
  void* frame = nullptr;
  ::backtrace(&frame, 1);
  const std::string library = request["library"].get<std::string>();
  recorder.Emit({{"s", "sandbox"}, {"walls", EnterSandbox(library, request["memory"], reply)}});
  recorder.FlushReply();

  // From here on everything is the candidate's.
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    recorder.Finding(FindingKind::kUnsupported, ExplainLoadError(::dlerror()));
    return 0;
  }
  CloseFileSystem();
  Range range{.name = library};
  ::dl_iterate_phdr(FindRange, &range);
  recorder.SetLibraryRange(range.begin, range.end);
  CallCandidate(request, arguments);
  return 0;
}

// --walls: which walls stand on this machine, as a line of JSON. The library is this program.
int ShowWalls() {
  const json walls = EnterSandbox("/proc/self/exe", uint64_t{1} << 30, 1);
  const std::string line = walls.dump() + "\n";
  return ::write(1, line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 1;
}

}  // namespace
}  // namespace kernelsmith::tracer

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--walls") == 0) ::_exit(kernelsmith::tracer::ShowWalls());
  // Replies go where the candidate does not write by accident.
  const int reply = ::dup(1);
  if (reply < 0 || ::dup2(2, 1) < 0) return 2;
  int code = 2;
  try {
    code = kernelsmith::tracer::Run(reply);
  } catch (const nlohmann::json::exception&) {
    // A request of another version; the candidate's own exceptions never come here.
  }
  kernelsmith::tracer::TraceRecorder::Get().FlushReply();
  std::fflush(nullptr);
  // No destructors: the candidate's would run.
  ::_exit(code);
}
