#include "plan/host/device_client.h"

#include <execinfo.h>

#include <cstring>

#include "cudart/graph.h"
#include "plan/host/channel.h"

namespace kernelsmith::host {
namespace {

using cudart::Runtime;
using protocol::Kind;

// <<<>>> calls three functions that nvcc makes (the kernel's own name on the host and two stubs)
// before it reaches the runtime.
constexpr int kLaunchFrames = 3;

bool HostSees(vgpu::AllocationKind kind) {
  return kind == vgpu::AllocationKind::kManaged || kind == vgpu::AllocationKind::kPinned ||
         kind == vgpu::AllocationKind::kHostRegistered;
}

protocol::Memory MemoryOf(vgpu::AllocationKind kind) {
  switch (kind) {
    case vgpu::AllocationKind::kManaged:
      return protocol::Memory::kManaged;
    case vgpu::AllocationKind::kPinned:
      return protocol::Memory::kPinned;
    case vgpu::AllocationKind::kHostRegistered:
      return protocol::Memory::kRegistered;
    case vgpu::AllocationKind::kGlobal:
      return protocol::Memory::kGlobal;
    case vgpu::AllocationKind::kConstant:
      return protocol::Memory::kConstant;
    case vgpu::AllocationKind::kDevice:
    case vgpu::AllocationKind::kParameter:
    case vgpu::AllocationKind::kHeap:
      break;
  }
  return protocol::Memory::kDevice;
}

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

DeviceClient& DeviceClient::Get() {
  static DeviceClient* const client = new DeviceClient;
  return *client;
}

void DeviceClient::SetLibraryRange(uint64_t begin, uint64_t end) {
  library_begin_ = begin;
  library_end_ = end;
}

void DeviceClient::Start(bool busy) {
  busy_ = busy;
  Runtime::Get().memory().SetListener(
      [this](const vgpu::Allocation& allocation) { OnAllocation(allocation); });
}

void DeviceClient::OnUnsupported(const std::string& function) {
  // The trace ends here: nothing that depends on the answer is the program that a user runs.
  Channel::Get().Send(Kind::kThrew,
                      protocol::ThrewMessage{.why = protocol::ThrewMessage::Why::kUnsupported,
                                             .text = function + " is not supported",
                                             .site = Site()});
}

void DeviceClient::OnBadFree(uint64_t address) {
  // Anything else fails in the same way on a GPU, and the program sees the error.
  if (!Runtime::Get().memory().InReservedRange(address)) return;
  Channel::Get().Send(Kind::kFree,
                      protocol::FreeMessage{.address = address, .refused = true, .site = Site()});
}

bool DeviceClient::StillRuns() {
  if (answers_until_done_ == 0) return false;
  --answers_until_done_;
  return true;
}

float DeviceClient::ElapsedMilliseconds() {
  return 0.001F * static_cast<float>(1 + RandomSeed() % 100'000);
}

uint64_t DeviceClient::MemoryOfOthers() const {
  constexpr uint64_t kPage = uint64_t{2} << 20;
  return (256 + identity_ % 2048) * kPage;
}

void DeviceClient::OnAllocation(const vgpu::Allocation& allocation) {
  if (allocation.freed) {
    Channel::Get().Send(Kind::kFree,
                        protocol::FreeMessage{.address = allocation.address, .site = Site()});
    return;
  }
  Channel::Get().Send(Kind::kAllocate,
                      protocol::AllocateMessage{.address = allocation.address,
                                                .bytes = allocation.size,
                                                .memory = MemoryOf(allocation.kind),
                                                .variable = allocation.variable});
}

uint64_t DeviceClient::Site(int skip) const {
  void* frames[32];
  const int count = ::backtrace(frames, 32);
  for (int i = 0; i < count; ++i) {
    const auto address = AddressOf(frames[i]);
    if (address < library_begin_ || address >= library_end_) continue;
    if (skip-- == 0) return address - library_begin_;
  }
  return 0;
}

protocol::Place DeviceClient::PlaceOf(uint64_t stream, int skip) const {
  Runtime& runtime = Runtime::Get();
  if (stream == runtime.FindStream(nullptr)->id) return {.site = Site(skip)};
  return {.site = Site(skip), .stream = stream, .apart = runtime.IsApart(stream)};
}

protocol::Place DeviceClient::DefaultPlace() const {
  return current_stream_ ? PlaceOf(*current_stream_) : protocol::Place{.site = Site()};
}

void DeviceClient::SetCurrentStream(cudaStream_t stream) {
  const std::shared_ptr<cudart::Stream> found = Runtime::Get().FindStream(stream);
  current_stream_ =
      stream == nullptr || found == nullptr ? std::nullopt : std::optional<uint64_t>(found->id);
  several_streams_ |= current_stream_.has_value();
}

bool DeviceClient::IsDeviceMemory(const void* pointer) const {
  const std::optional<vgpu::Allocation> allocation =
      Runtime::Get().memory().Find(AddressOf(pointer));
  return allocation && allocation->kind != vgpu::AllocationKind::kPinned &&
         allocation->kind != vgpu::AllocationKind::kHostRegistered;
}

void DeviceClient::UploadHostMemory(const protocol::Place& place) {
  vgpu::DeviceMemory& memory = Runtime::Get().memory();
  for (const vgpu::Allocation& allocation : memory.LiveAllocations()) {
    if (!HostSees(allocation.kind) || allocation.size == 0) continue;
    const auto* now =
        static_cast<const std::byte*>(memory.HostAlias(allocation.address, allocation.size));
    if (now == nullptr) continue;
    std::vector<std::byte>& before = host_memory_[allocation.address];
    if (before.size() == allocation.size && std::memcmp(before.data(), now, before.size()) == 0) {
      continue;
    }
    before.assign(now, now + allocation.size);
    Channel::Get().Send(
        Kind::kUpload,
        protocol::UploadMessage{.place = place, .to = allocation.address, .bytes = before});
  }
}

void DeviceClient::OnSynchronise(const Awaited& awaited) {
  CheckDeviceReads();
  const uint64_t null_stream = Runtime::Get().FindStream(nullptr)->id;
  // The default stream waits for those that are not apart.
  std::erase_if(device_reads_, [&](const DeviceRead& read) {
    return !awaited.stream || *awaited.stream == read.stream ||
           (*awaited.stream == null_stream && !PlaceOf(read.stream).apart);
  });
  answers_until_done_ = 0;
  ExchangeHostMemory();
  if (!several_streams_) return;
  uint32_t event = protocol::EventMessage::kEverything;
  if (awaited.stream) {
    event = next_event_++;
    Channel::Get().Send(Kind::kRecord, protocol::EventMessage{PlaceOf(*awaited.stream), event});
  } else if (awaited.record != nullptr) {
    const auto found = events_.find(awaited.record);
    if (found == events_.end()) return;
    event = found->second;
  }
  Channel::Get().Send(Kind::kWaited, protocol::EventMessage{DefaultPlace(), event});
}

void DeviceClient::OnQuery() {
  CheckDeviceReads();
  ExchangeHostMemory();
}

void DeviceClient::NoteDeviceReads(uint64_t address, uint64_t bytes, uint64_t stream) {
  // More than any candidate has in flight; whoever has, is looked at in part.
  constexpr size_t kMostReads = 256;
  constexpr uint64_t kMostBytes = 16 << 20;
  const std::optional<vgpu::Allocation> allocation = Runtime::Get().memory().Find(address);
  if (!allocation || !HostSees(allocation->kind) || device_reads_.size() >= kMostReads) return;
  bytes = std::min({bytes, allocation->end() - address, kMostBytes});
  const auto* now =
      static_cast<const std::byte*>(Runtime::Get().memory().HostAlias(address, bytes));
  if (now == nullptr) return;
  device_reads_.push_back({address, {now, now + bytes}, stream});
}

void DeviceClient::NoteDeviceReads(const cudart::KernelWork& kernel, uint64_t stream) {
  for (size_t at = 0; at + sizeof(uint64_t) <= kernel.parameters.size(); at += sizeof(uint64_t)) {
    uint64_t address = 0;
    std::memcpy(&address, kernel.parameters.data() + at, sizeof address);
    if (Runtime::Get().memory().InReservedRange(address)) {
      NoteDeviceReads(address, UINT64_MAX, stream);
    }
  }
}

void DeviceClient::CheckDeviceReads() {
  vgpu::DeviceMemory& memory = Runtime::Get().memory();
  for (const DeviceRead& read : device_reads_) {
    const void* now = memory.HostAlias(read.address, read.contents.size());
    if (now == nullptr || std::memcmp(now, read.contents.data(), read.contents.size()) == 0) {
      continue;
    }
    Channel::Get().Send(
        Kind::kThrew,
        protocol::ThrewMessage{.why = protocol::ThrewMessage::Why::kHostRace,
                               .text = "race between the host, which writes to memory of its own, "
                                       "and the device, which reads it: nothing waits for the "
                                       "kernel or copy that was begun before",
                               .site = Site()});
  }
}

void DeviceClient::ExchangeHostMemory() {
  Runtime& runtime = Runtime::Get();
  std::erase_if(host_memory_, [&](const auto& known) {
    return runtime.memory().HostAlias(known.first, known.second.size()) == nullptr;
  });
  // Without memory that the host can see there is nothing it could notice.
  if (host_memory_.empty()) return;
  UploadHostMemory(DefaultPlace());
  protocol::SynchroniseMessage message;
  for (const auto& [address, contents] : host_memory_) {
    message.ranges.push_back({address, contents.size()});
  }
  const protocol::DataMessage data = Channel::Get().Ask(Kind::kSynchronise, message);
  size_t at = 0;
  for (auto& [address, contents] : host_memory_) {
    if (data.bytes.size() - at < contents.size()) break;
    const std::byte* from = data.bytes.data() + at;
    at += contents.size();
    contents.assign(from, from + contents.size());
    void* to = runtime.memory().HostAlias(address, contents.size());
    if (to != nullptr) std::memcpy(to, contents.data(), contents.size());
  }
  // What the device wrote itself is no race with it.
  for (DeviceRead& read : device_reads_) {
    const void* now = runtime.memory().HostAlias(read.address, read.contents.size());
    if (now != nullptr) std::memcpy(read.contents.data(), now, read.contents.size());
  }
  if (data.error != 0) runtime.Fail(static_cast<cudaError_t>(data.error), "a kernel failed");
}

cudaError_t DeviceClient::OnFree(uint64_t address) {
  host_memory_.erase(address);
  return Runtime::Get().memory().Free(address).ok() ? cudaSuccess : cudaErrorInvalidValue;
}

void DeviceClient::OnModule(const std::string& ptx) {
  Channel::Get().Send(Kind::kModule, protocol::ModuleMessage{ptx});
}

void DeviceClient::OnAttribute(const cudart::Kernel& kernel) {
  Channel::Get().Send(Kind::kAttribute, protocol::AttributeMessage{
                                            .kernel = kernel.name,
                                            .max_dynamic_shared = kernel.max_dynamic_shared,
                                            .non_portable_cluster = kernel.non_portable_cluster,
                                            .cluster_x = kernel.cluster_x,
                                            .cluster_y = kernel.cluster_y,
                                            .cluster_z = kernel.cluster_z});
}

cudaError_t DeviceClient::OnWork(const cudart::Work& work, uint64_t stream) {
  constexpr int kAnswers = 3;
  answers_until_done_ = busy_ ? kAnswers : 0;
  CheckDeviceReads();
  several_streams_ |= stream != Runtime::Get().FindStream(nullptr)->id;
  Channel& channel = Channel::Get();
  if (const auto* kernel = std::get_if<cudart::KernelWork>(&work)) {
    const protocol::Place place = PlaceOf(stream, kLaunchFrames);
    UploadHostMemory(place);
    channel.Send(Kind::kLaunch, protocol::LaunchMessage{.place = place,
                                                        .kernel = kernel->kernel->name,
                                                        .grid = kernel->grid,
                                                        .block = kernel->block,
                                                        .cluster = kernel->cluster,
                                                        .dynamic_shared = kernel->dynamic_shared,
                                                        .cooperative = kernel->cooperative,
                                                        .programmatic = kernel->programmatic,
                                                        .parameters = kernel->parameters});
    NoteDeviceReads(*kernel, stream);
  } else if (const auto* copy = std::get_if<cudart::CopyWork>(&work)) {
    return SendCopy(*copy, stream);
  } else if (const auto* fill = std::get_if<cudart::FillWork>(&work)) {
    if (fill->empty()) return cudaSuccess;
    channel.Send(Kind::kFill, protocol::FillMessage{.place = PlaceOf(stream),
                                                    .to = AddressOf(fill->dst),
                                                    .value = fill->value,
                                                    .element_bytes = fill->element_bytes,
                                                    .width = fill->width,
                                                    .height = fill->height,
                                                    .depth = fill->depth,
                                                    .pitch = fill->pitch,
                                                    .slice = fill->slice});
  } else if (const auto* graph = std::get_if<cudart::GraphWork>(&work)) {
    SendGraph(*graph->program, stream);
  } else if (const auto* release = std::get_if<cudart::FreeWork>(&work)) {
    return OnFree(AddressOf(release->pointer));
  } else if (const auto* record = std::get_if<cudart::RecordWork>(&work)) {
    const uint32_t number = next_event_++;
    events_[record->record.get()] = number;
    channel.Send(Kind::kRecord, protocol::EventMessage{PlaceOf(stream), number});
  } else if (const auto* wait = std::get_if<cudart::WaitWork>(&work)) {
    const std::shared_ptr<cudart::Event> event = Runtime::Get().FindEvent(wait->event);
    const auto found = event == nullptr ? events_.end() : events_.find(event->last.get());
    if (found != events_.end()) {
      channel.Send(Kind::kWait, protocol::EventMessage{PlaceOf(stream), found->second});
    }
  } else if (std::holds_alternative<cudart::HostWork>(work)) {
    // It runs when the stream has come to it: the host itself has waited for nothing.
    ExchangeHostMemory();
    Runtime::Get().Execute(work);
  }
  return cudaSuccess;
}

cudaError_t DeviceClient::SendCopy(const cudart::CopyWork& work, uint64_t stream) {
  if (work.empty()) return cudaSuccess;
  Runtime& runtime = Runtime::Get();
  const bool from_device = IsDeviceMemory(work.src);
  const bool to_device = IsDeviceMemory(work.dst);
  const protocol::Place place = PlaceOf(stream);
  if (from_device && to_device) {
    UploadHostMemory(place);
    Channel::Get().Send(Kind::kCopy, protocol::CopyMessage{.place = place,
                                                           .to = AddressOf(work.dst),
                                                           .from = AddressOf(work.src),
                                                           .width = work.width,
                                                           .height = work.height,
                                                           .depth = work.depth,
                                                           .to_pitch = work.dst_pitch,
                                                           .from_pitch = work.src_pitch,
                                                           .to_slice = work.dst_slice,
                                                           .from_slice = work.src_slice});
    return cudaSuccess;
  }
  const auto row = [&](size_t y, size_t z, size_t pitch, size_t slice) {
    return z * slice + y * pitch;
  };
  if (to_device) {
    // Row by row: each is contiguous on both sides.
    for (size_t z = 0; z < work.depth; ++z) {
      for (size_t y = 0; y < work.height; ++y) {
        const auto* from = runtime.Access(
            static_cast<const std::byte*>(work.src) + row(y, z, work.src_pitch, work.src_slice),
            work.width);
        if (from == nullptr) return cudaErrorInvalidValue;
        Channel::Get().Send(
            Kind::kUpload,
            protocol::UploadMessage{
                .place = place,
                .to = AddressOf(work.dst) + row(y, z, work.dst_pitch, work.dst_slice),
                .bytes = std::vector<std::byte>(from, from + work.width)});
        NoteDeviceReads(AddressOf(work.src) + row(y, z, work.src_pitch, work.src_slice), work.width,
                        stream);
      }
    }
    return cudaSuccess;
  }
  if (!from_device) {
    ExchangeHostMemory();
    runtime.Execute(cudart::Work(work));
    return runtime.RevealFault();
  }
  const protocol::DataMessage data = Channel::Get().Ask(
      Kind::kRead, protocol::ReadMessage{place, AddressOf(work.src), work.src_extent()});
  if (data.error != 0) {
    runtime.Fail(static_cast<cudaError_t>(data.error), "a kernel failed");
    return runtime.RevealFault();
  }
  if (data.bytes.size() != work.src_extent()) return cudaErrorInvalidValue;
  for (size_t z = 0; z < work.depth; ++z) {
    for (size_t y = 0; y < work.height; ++y) {
      std::byte* to = runtime.Access(
          static_cast<std::byte*>(work.dst) + row(y, z, work.dst_pitch, work.dst_slice),
          work.width);
      if (to == nullptr) return cudaErrorInvalidValue;
      std::memcpy(to, data.bytes.data() + row(y, z, work.src_pitch, work.src_slice), work.width);
    }
  }
  ExchangeHostMemory();
  return cudaSuccess;
}

void DeviceClient::SendGraph(const cudart::GraphProgram& program, uint64_t stream) {
  for (const cudart::GraphProgram::Step& step : program.steps) {
    if (!step.enabled) continue;
    if (step.child != nullptr) {
      SendGraph(*step.child, stream);
    } else {
      OnWork(step.work, stream);
    }
  }
}

void DeviceClient::Fill(uint64_t address, uint64_t value, uint32_t element_bytes, uint64_t count) {
  if (count == 0) return;
  Channel::Get().Send(Kind::kFill, protocol::FillMessage{.place = DefaultPlace(),
                                                         .to = address,
                                                         .value = value,
                                                         .element_bytes = element_bytes,
                                                         .width = count,
                                                         .height = 1,
                                                         .depth = 1});
}

void DeviceClient::Upload(uint64_t address, const void* data, uint64_t bytes) {
  if (bytes == 0) return;
  const auto* from = static_cast<const std::byte*>(data);
  Channel::Get().Send(
      Kind::kUpload,
      protocol::UploadMessage{
          .place = DefaultPlace(), .to = address, .bytes = std::vector(from, from + bytes)});
}

std::vector<std::byte> DeviceClient::Read(uint64_t address, uint64_t bytes) {
  protocol::DataMessage data =
      Channel::Get().Ask(Kind::kRead, protocol::ReadMessage{DefaultPlace(), address, bytes});
  if (data.bytes.size() != bytes) data.bytes.clear();
  return std::move(data.bytes);
}

void DeviceClient::Library(std::string op, std::string arguments,
                           std::vector<protocol::Tensor> tensors,
                           std::vector<protocol::Tensor> outputs) {
  const protocol::Place place = DefaultPlace();
  UploadHostMemory(place);
  Channel::Get().Send(Kind::kLibrary, protocol::LibraryMessage{.place = place,
                                                               .op = std::move(op),
                                                               .arguments = std::move(arguments),
                                                               .tensors = std::move(tensors),
                                                               .outputs = std::move(outputs)});
}

}  // namespace kernelsmith::host
