#include "vgpu/device_runtime.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "vgpu/call_arguments.h"
#include "vgpu/device_runtime_host.h"
#include "vgpu/heap.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

namespace {

// Of cudaError_t.
enum : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidConfiguration = 9,
  kLaunchMaxDepthExceeded = 65,
  kInvalidDeviceFunction = 98,
  kInvalidDevice = 101,
  kInvalidResourceHandle = 400,
  kNotSupported = 801,
};

// Handles of streams that are always there: the null stream, the two names of it, and two kinds of
// launches that wait for nobody and for everybody.
constexpr uint64_t kTailLaunch = 3;
constexpr uint64_t kFireAndForget = 4;
constexpr uint64_t kFirstHandle = 1 << 16;

constexpr unsigned int kStreamNonBlocking = 1;
constexpr unsigned int kEventDisableTiming = 2;

constexpr uint64_t kBufferAlignment = 64;
constexpr uint64_t kChunkBytes = 64 << 10;

}  // namespace

// One lane in a call.
class DeviceRuntime::Caller {
 public:
  Caller(Warp& warp, const CallSite& site, int lane) : warp_(warp), site_(site), lane_(lane) {}

  template <typename T>
  T Argument(size_t index) const {
    return ReadArgument<T>(warp_, lane_, site_, index);
  }

  Dim3 Dimensions(size_t index) const {
    const auto d = Argument<std::array<uint32_t, 3>>(index);
    return {d[0], d[1], d[2]};
  }

  // Writes through a pointer argument. An error if it leads nowhere.
  template <typename T>
  int Give(size_t index, T value) const {
    return GiveBytes(index, {reinterpret_cast<const std::byte*>(&value), sizeof value});
  }

  int GiveBytes(size_t index, std::span<const std::byte> bytes) const {
    WarpPicture picture(warp_);
    return picture.WriteMemory(lane_, Argument<uint64_t>(index), bytes) ? kSuccess : kInvalidValue;
  }

  // Never the same for two threads of a grid.
  uint64_t thread() const {
    const uint64_t threads = warp_.launch->request.block.Count();
    return warp_.block->number * threads + warp_.index * kWarpSize + static_cast<uint64_t>(lane_);
  }

  Warp& warp() const { return warp_; }
  int lane() const { return lane_; }

 private:
  Warp& warp_;
  const CallSite& site_;
  int lane_;
};

DeviceRuntime::~DeviceRuntime() {
  for (const uint64_t address : allocated_) static_cast<void>(gpu_.memory().Free(address));
}

std::vector<DeviceWork> DeviceRuntime::TakeWork() {
  const std::lock_guard lock(mutex_);
  std::vector<DeviceWork> all = std::move(children_);
  all.insert(all.end(), std::make_move_iterator(tail_.begin()),
             std::make_move_iterator(tail_.end()));
  children_.clear();
  tail_.clear();
  return all;
}

void DeviceRuntime::Call(Warp& w, const CallSite& site, SystemCall call, int lane) {
  const Caller caller(w, site, lane);
  const std::lock_guard lock(mutex_);
  const auto last_error = [&] {
    const auto found = last_error_.find(caller.thread());
    return found == last_error_.end() ? kSuccess : found->second;
  };
  int error = kSuccess;
  switch (call) {
    case SystemCall::kGetLastError:
      WriteResult<int>(w, lane, site, last_error());
      last_error_.erase(caller.thread());
      return;
    case SystemCall::kPeekAtLastError:
      WriteResult<int>(w, lane, site, last_error());
      return;
    case SystemCall::kGetErrorString:
    case SystemCall::kGetErrorName:
      WriteResult<uint64_t>(w, lane, site,
                            ErrorText(caller.Argument<int>(0), call == SystemCall::kGetErrorName));
      return;
    case SystemCall::kGraphSetConditional:
      if (gpu_.options().runtime_host != nullptr) {
        gpu_.options().runtime_host->SetConditional(caller.Argument<uint64_t>(0),
                                                    caller.Argument<uint32_t>(1));
      }
      return;
    case SystemCall::kGetParameterBuffer:
    case SystemCall::kGetParameterBufferV2:
      WriteResult<uint64_t>(w, lane, site, GetParameterBuffer(caller, call));
      return;
    case SystemCall::kLaunchDevice:
    case SystemCall::kLaunchDeviceV2:
      error = Launch(caller, call);
      break;
    case SystemCall::kMemcpy:
    case SystemCall::kMemcpy2D:
    case SystemCall::kMemset:
    case SystemCall::kMemset2D:
      error = Copy(caller, call);
      break;
    case SystemCall::kCudaMalloc:
    case SystemCall::kCudaFree:
      error = Memory(caller, call);
      break;
    case SystemCall::kStreamCreate:
    case SystemCall::kStreamDestroy:
    case SystemCall::kStreamWaitEvent:
    case SystemCall::kEventCreate:
    case SystemCall::kEventRecord:
    case SystemCall::kEventDestroy:
      error = Handles(caller, call);
      break;
    default:
      error = Queries(caller, call);
      break;
  }
  if (error != kSuccess) last_error_[caller.thread()] = error;
  WriteResult<int>(w, lane, site, error);
}

// ---- launches

const EntryInfo* DeviceRuntime::EntryAt(uint64_t address) const {
  return module_.FindEntryAt(address);
}

int DeviceRuntime::Check(const EntryInfo& info, const Configuration& c) const {
  const uint32_t grid[] = {c.grid.x, c.grid.y, c.grid.z};
  const uint32_t block[] = {c.block.x, c.block.y, c.block.z};
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || grid[i] > static_cast<uint64_t>(GpuModel::kMaxGridDim[i]) ||
        block[i] == 0 || block[i] > static_cast<uint64_t>(GpuModel::kMaxBlockDim[i])) {
      return kInvalidConfiguration;
    }
  }
  if (c.block.Count() > GpuModel::kMaxThreadsPerBlock) return kInvalidConfiguration;
  if (info.required_threads && !(*info.required_threads == c.block)) return kInvalidValue;
  if (info.max_threads && c.block.Count() > info.max_threads->Count()) return kInvalidValue;
  DeviceRuntimeHost* host = gpu_.options().runtime_host;
  const uint64_t most_shared = host != nullptr
                                   ? host->DynamicSharedLimit(module_, info)
                                   : gpu_.options().max_shared_bytes - info.static_shared_bytes;
  return c.dynamic_shared_bytes <= most_shared ? kSuccess : kInvalidValue;
}

uint64_t DeviceRuntime::NewBuffer(uint64_t bytes) {
  bytes =
      (std::max<uint64_t>(bytes, 1) + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  if (bytes > chunk_left_) {
    const uint64_t size = std::max(bytes, kChunkBytes);
    const Result<uint64_t> chunk =
        gpu_.memory().Allocate(size, AllocationKind::kDevice, "parameters of launches by kernels");
    if (!chunk.ok()) return 0;
    allocated_.push_back(*chunk);
    chunk_ = *chunk;
    chunk_left_ = size;
  }
  const uint64_t address = chunk_;
  chunk_ += bytes;
  chunk_left_ -= bytes;
  return address;
}

// Null and an error for the thread if there can be no such launch.
uint64_t DeviceRuntime::GetParameterBuffer(const Caller& caller, SystemCall call) {
  Configuration configuration;
  if (call == SystemCall::kGetParameterBuffer) {
    configuration.parameter_bytes =
        static_cast<uint32_t>(std::min<uint64_t>(caller.Argument<uint64_t>(1), kChunkBytes));
  } else {
    int error = kInvalidDeviceFunction;
    if (const EntryInfo* info = EntryAt(caller.Argument<uint64_t>(0))) {
      configuration = {.entry = info->name,
                       .grid = caller.Dimensions(1),
                       .block = caller.Dimensions(2),
                       .dynamic_shared_bytes = caller.Argument<uint32_t>(3),
                       .parameter_bytes = info->parameter_bytes};
      error = Check(*info, configuration);
    }
    if (error == kSuccess && depth_ >= kMostDepth) error = kLaunchMaxDepthExceeded;
    if (error != kSuccess) {
      last_error_[caller.thread()] = error;
      return 0;
    }
  }
  const uint64_t address = NewBuffer(configuration.parameter_bytes);
  if (address == 0) {
    last_error_[caller.thread()] = kMemoryAllocation;
    return 0;
  }
  buffers_[address] = std::move(configuration);
  return address;
}

int DeviceRuntime::Launch(const Caller& caller, SystemCall call) {
  const bool old = call == SystemCall::kLaunchDevice;
  const auto buffer = caller.Argument<uint64_t>(old ? 1 : 0);
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end()) return kInvalidValue;
  Configuration configuration = std::move(found->second);
  buffers_.erase(found);
  if (old) {
    const EntryInfo* info = EntryAt(caller.Argument<uint64_t>(0));
    if (info == nullptr) return kInvalidDeviceFunction;
    if (info->parameter_bytes > configuration.parameter_bytes) return kInvalidValue;
    configuration.entry = info->name;
    configuration.grid = caller.Dimensions(2);
    configuration.block = caller.Dimensions(3);
    configuration.dynamic_shared_bytes = caller.Argument<uint32_t>(4);
    configuration.parameter_bytes = info->parameter_bytes;
    if (const int error = Check(*info, configuration); error != kSuccess) return error;
    if (depth_ >= kMostDepth) return kLaunchMaxDepthExceeded;
  }
  DeviceWork work{.kind = DeviceWork::Kind::kLaunch,
                  .depth = depth_ + 1,
                  .entry = std::move(configuration.entry),
                  .grid = configuration.grid,
                  .block = configuration.block,
                  .dynamic_shared_bytes = configuration.dynamic_shared_bytes};
  work.parameters.resize(configuration.parameter_bytes);
  if (!work.parameters.empty()) {
    std::memcpy(work.parameters.data(),
                gpu_.memory().HostAlias(buffer, configuration.parameter_bytes),
                configuration.parameter_bytes);
  }
  return Add(std::move(work), caller.Argument<uint64_t>(old ? 5 : 1));
}

int DeviceRuntime::Add(DeviceWork work, uint64_t stream) {
  if (stream > kFireAndForget && !handles_.contains(stream)) return kInvalidResourceHandle;
  if (stream == kTailLaunch) {
    // It runs beside nobody, in its parent's place.
    if (work.depth > 0) work.depth = depth_;
    tail_.push_back(std::move(work));
  } else {
    children_.push_back(std::move(work));
  }
  return kSuccess;
}

// ---- memory

int DeviceRuntime::Copy(const Caller& caller, SystemCall call) {
  DeviceWork work{.to = caller.Argument<uint64_t>(0)};
  uint64_t stream = 0;
  switch (call) {
    case SystemCall::kMemcpy:
      work.kind = DeviceWork::Kind::kCopy;
      work.from = caller.Argument<uint64_t>(1);
      work.width = caller.Argument<uint64_t>(2);
      stream = caller.Argument<uint64_t>(4);
      break;
    case SystemCall::kMemcpy2D:
      work.kind = DeviceWork::Kind::kCopy;
      work.to_pitch = caller.Argument<uint64_t>(1);
      work.from = caller.Argument<uint64_t>(2);
      work.from_pitch = caller.Argument<uint64_t>(3);
      work.width = caller.Argument<uint64_t>(4);
      work.height = caller.Argument<uint64_t>(5);
      stream = caller.Argument<uint64_t>(7);
      if (work.to_pitch < work.width || work.from_pitch < work.width) return kInvalidValue;
      break;
    case SystemCall::kMemset:
      work.kind = DeviceWork::Kind::kFill;
      work.value = static_cast<uint8_t>(caller.Argument<uint32_t>(1));
      work.width = caller.Argument<uint64_t>(2);
      stream = caller.Argument<uint64_t>(3);
      break;
    default:
      work.kind = DeviceWork::Kind::kFill;
      work.to_pitch = caller.Argument<uint64_t>(1);
      work.value = static_cast<uint8_t>(caller.Argument<uint32_t>(2));
      work.width = caller.Argument<uint64_t>(3);
      work.height = caller.Argument<uint64_t>(4);
      stream = caller.Argument<uint64_t>(5);
      if (work.to_pitch < work.width) return kInvalidValue;
      break;
  }
  if (work.width == 0 || work.height == 0) return kSuccess;
  return Add(std::move(work), stream);
}

// From the heap of malloc, as CUDA does; what the host allocated can't be freed here.
int DeviceRuntime::Memory(const Caller& caller, SystemCall call) {
  Observer* observer = caller.warp().launch->observer;
  WarpPicture picture(caller.warp());
  if (call == SystemCall::kCudaMalloc) {
    const auto size = caller.Argument<uint64_t>(1);
    const uint64_t address = gpu_.heap().Allocate(size);
    if (observer != nullptr) observer->OnDeviceMalloc(picture, caller.lane(), address, size);
    const int error = caller.Give<uint64_t>(0, address);
    return address == 0 ? kMemoryAllocation : error;
  }
  const auto address = caller.Argument<uint64_t>(0);
  if (address == 0) return kSuccess;
  if (observer != nullptr && !observer->OnDeviceFree(picture, caller.lane(), address)) {
    return kInvalidValue;
  }
  ++caller.warp().launch->heap_frees;
  caller.warp().ForgetWindows();
  return gpu_.heap().Free(address) ? kSuccess : kInvalidValue;
}

// ---- streams and events

int DeviceRuntime::Handles(const Caller& caller, SystemCall call) {
  const auto is_stream = [&](uint64_t handle) {
    return handle <= kFireAndForget || handles_.contains(handle);
  };
  switch (call) {
    case SystemCall::kStreamCreate:
    case SystemCall::kEventCreate: {
      const unsigned int only =
          call == SystemCall::kStreamCreate ? kStreamNonBlocking : kEventDisableTiming;
      if (caller.Argument<uint32_t>(1) != only) return kInvalidValue;
      const uint64_t handle = kFirstHandle + next_handle_++;
      handles_.insert(handle);
      return caller.Give<uint64_t>(0, handle);
    }
    case SystemCall::kStreamDestroy:
    case SystemCall::kEventDestroy:
      return handles_.erase(caller.Argument<uint64_t>(0)) > 0 ? kSuccess : kInvalidResourceHandle;
    case SystemCall::kStreamWaitEvent:
      return is_stream(caller.Argument<uint64_t>(0)) &&
                     handles_.contains(caller.Argument<uint64_t>(1))
                 ? kSuccess
                 : kInvalidResourceHandle;
    default:  // kEventRecord
      return handles_.contains(caller.Argument<uint64_t>(0)) &&
                     is_stream(caller.Argument<uint64_t>(1))
                 ? kSuccess
                 : kInvalidResourceHandle;
  }
}

// ---- what there is

int DeviceRuntime::Queries(const Caller& caller, SystemCall call) {
  if (call == SystemCall::kGetDeviceCount) return caller.Give<int>(0, 1);
  if (call == SystemCall::kGetDevice) return caller.Give<int>(0, 0);
  DeviceRuntimeHost* host = gpu_.options().runtime_host;
  if (host == nullptr) return kNotSupported;
  switch (call) {
    case SystemCall::kRuntimeGetVersion:
      return caller.Give<int>(0, host->RuntimeVersion());
    case SystemCall::kDeviceGetAttribute: {
      if (caller.Argument<int>(2) != 0) return kInvalidDevice;
      const std::optional<int> value = host->DeviceAttribute(caller.Argument<int>(1));
      return value ? caller.Give<int>(0, *value) : kInvalidValue;
    }
    case SystemCall::kDeviceGetLimit: {
      const std::optional<uint64_t> value = host->Limit(caller.Argument<int>(1));
      return value ? caller.Give<uint64_t>(0, *value) : kInvalidValue;
    }
    default:
      break;
  }
  const EntryInfo* info = EntryAt(caller.Argument<uint64_t>(1));
  if (info == nullptr) return kInvalidDeviceFunction;
  if (call == SystemCall::kFuncGetAttributes) {
    return caller.GiveBytes(0, host->FunctionAttributes(module_, *info));
  }
  KS_CHECK(call == SystemCall::kOccupancy);
  return caller.Give<int>(
      0, host->ActiveBlocks(*info, caller.Argument<int>(2), caller.Argument<uint64_t>(3)));
}

// Its address as a text of the device's; 0 if there is no memory.
uint64_t DeviceRuntime::ErrorText(int error, bool name) {
  DeviceRuntimeHost* host = gpu_.options().runtime_host;
  uint64_t& address = texts_[{error, name}];
  if (address != 0 || host == nullptr) return address;
  const std::string text = name ? host->ErrorName(error) : host->ErrorString(error);
  const Result<uint64_t> made =
      gpu_.memory().Allocate(text.size() + 1, AllocationKind::kConstant, "the text of an error");
  if (!made.ok()) return 0;
  allocated_.push_back(*made);
  std::memcpy(gpu_.memory().HostAlias(*made, text.size() + 1), text.c_str(), text.size() + 1);
  return address = *made;
}

}  // namespace kernelsmith::vgpu
