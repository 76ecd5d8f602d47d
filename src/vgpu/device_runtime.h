// The CUDA runtime as kernels see it (libcudadevrt, "dynamic parallelism"): launches of other
// kernels, copies and fills, streams, events, memory, errors.
//
// What a kernel launches runs when its own grid has ended, in the order of the launches, each with
// all that it launches itself before the next; tail launches come last. A GPU may run it so: nobody
// may count on a child that runs beside its parent, and a grid has ended only when its children
// have. All streams and events of a grid are kept by that order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vgpu/ir.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::vgpu {

struct Warp;

// What a kernel started and what has yet to run.
struct DeviceWork {
  enum class Kind : uint8_t { kLaunch, kCopy, kFill };
  Kind kind = Kind::kLaunch;
  uint32_t depth = 0;  // of the kernel that is launched: 0 is the host's
  // -- kLaunch
  std::string entry;
  Dim3 grid;
  Dim3 block;
  uint32_t dynamic_shared_bytes = 0;
  std::vector<std::byte> parameters;
  // -- kCopy, kFill: rows
  uint64_t to = 0;
  uint64_t from = 0;
  uint8_t value = 0;
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t to_pitch = 0;
  uint64_t from_pitch = 0;
};

// The runtime of one running grid. Thread-safe.
class DeviceRuntime {
 public:
  // A launch below this many others fails.
  static constexpr uint32_t kMostDepth = 24;

  DeviceRuntime(VirtualGpu& gpu, const LoadedModule& module, uint32_t depth)
      : gpu_(gpu), module_(module), depth_(depth) {}
  ~DeviceRuntime();
  DeviceRuntime(const DeviceRuntime&) = delete;
  DeviceRuntime& operator=(const DeviceRuntime&) = delete;

  // One lane's call of a function from kGetLastError on.
  void Call(Warp& warp, const CallSite& site, SystemCall call, int lane);
  // What is to run behind the grid, in order.
  std::vector<DeviceWork> TakeWork();

 private:
  struct Configuration {
    std::string entry;
    Dim3 grid;
    Dim3 block;
    uint32_t dynamic_shared_bytes = 0;
    uint32_t parameter_bytes = 0;
  };
  class Caller;  // a lane, its arguments and its memory

  int Launch(const Caller& caller, SystemCall call);
  uint64_t GetParameterBuffer(const Caller& caller, SystemCall call);
  int Copy(const Caller& caller, SystemCall call);
  int Memory(const Caller& caller, SystemCall call);
  int Handles(const Caller& caller, SystemCall call);
  int Queries(const Caller& caller, SystemCall call);
  uint64_t ErrorText(int error, bool name);

  const EntryInfo* EntryAt(uint64_t address) const;
  int Check(const EntryInfo& info, const Configuration& configuration) const;
  uint64_t NewBuffer(uint64_t bytes);
  int Add(DeviceWork work, uint64_t stream);

  VirtualGpu& gpu_;
  const LoadedModule& module_;
  const uint32_t depth_;

  std::mutex mutex_;  // guards the rest
  std::vector<DeviceWork> children_;
  std::vector<DeviceWork> tail_;
  std::map<uint64_t, Configuration> buffers_;  // by address: parameters of launches to come
  uint64_t chunk_ = 0;                         // where buffers are taken from
  uint64_t chunk_left_ = 0;
  std::vector<uint64_t> allocated_;
  std::map<std::pair<int, bool>, uint64_t> texts_;
  std::set<uint64_t> handles_;  // streams and events
  uint64_t next_handle_ = 0;
  std::map<uint64_t, int> last_error_;  // of threads that had one
};

}  // namespace kernelsmith::vgpu
