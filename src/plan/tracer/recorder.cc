#include "plan/tracer/recorder.h"

#include <execinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cudart/graph.h"

namespace kernelsmith::tracer {
namespace {

using cudart::Runtime;
using nlohmann::json;

// Lines are collected up to this size: a system call for each would cost more than the line.
constexpr size_t kBufferedBytes = 1 << 16;

// <<<>>> calls three functions that nvcc makes (the kernel's own name on the host and two stubs)
// before it reaches the runtime.
constexpr int kLaunchFrames = 3;

json Three(const vgpu::Dim3& d) { return json::array({d.x, d.y, d.z}); }

const char* KindName(vgpu::AllocationKind kind) {
  switch (kind) {
    case vgpu::AllocationKind::kPinned:
    case vgpu::AllocationKind::kHostRegistered:
      return "pinned";
    case vgpu::AllocationKind::kManaged:
      return "managed";
    case vgpu::AllocationKind::kGlobal:
    case vgpu::AllocationKind::kConstant:
      return "variable";
    default:
      return "workspace";
  }
}

}  // namespace

std::string Hex(const std::byte* data, size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(bytes * 2, '0');
  for (size_t i = 0; i < bytes; ++i) {
    text[2 * i] = kDigits[std::to_integer<unsigned>(data[i]) >> 4];
    text[2 * i + 1] = kDigits[std::to_integer<unsigned>(data[i]) & 15];
  }
  return text;
}

TraceRecorder& TraceRecorder::Get() {
  static TraceRecorder* const recorder = new TraceRecorder;
  return *recorder;
}

void TraceRecorder::SetLibraryRange(uint64_t begin, uint64_t end) {
  library_begin_ = begin;
  library_end_ = end;
}

void TraceRecorder::Emit(const json& line) {
  out_ += line.dump(-1, ' ', false, json::error_handler_t::replace);
  out_ += '\n';
  if (out_.size() >= kBufferedBytes) FlushReply();
}

void TraceRecorder::FlushReply() {
  size_t done = 0;
  while (done < out_.size()) {
    const ssize_t count = ::write(reply_, out_.data() + done, out_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  out_.clear();
}

uint64_t TraceRecorder::Site(int skip) {
  void* frames[32];
  const int count = ::backtrace(frames, 32);
  for (int i = 0; i < count; ++i) {
    const auto address = reinterpret_cast<uint64_t>(frames[i]);
    if (address < library_begin_ || address >= library_end_) continue;
    if (skip-- == 0) return address - library_begin_;
  }
  return 0;
}

uint32_t TraceRecorder::StreamNumber(uint64_t stream) {
  // The runtime's default stream has the lowest number, but need not be seen first.
  const uint64_t null_stream = Runtime::Get().FindStream(nullptr)->id;
  if (stream == null_stream) return 0;
  return streams_.emplace(stream, static_cast<uint32_t>(streams_.size() + 1)).first->second;
}

void TraceRecorder::Record(json step, uint64_t stream, int skip) {
  step["st"] = StreamNumber(stream);
  step["at"] = Site(skip);
  Emit(step);
}

const TraceRecorder::Seen* TraceRecorder::Note(uint64_t address) {
  vgpu::DeviceMemory& memory = Runtime::Get().memory();
  std::optional<vgpu::Allocation> allocation = memory.Find(address);
  // One past the end belongs to the allocation before, as iterators do.
  if (!allocation && address > 0) {
    allocation = memory.Find(address - 1);
    if (allocation && allocation->end() != address) allocation.reset();
  }
  if (!allocation) return nullptr;
  const auto found = seen_.find(allocation->id);
  if (found != seen_.end()) return &found->second;
  Seen seen{.index = static_cast<uint32_t>(seen_.size())};
  json line = {{"s", "buffer"},
               {"i", seen.index},
               {"a", allocation->address},
               {"n", allocation->size},
               {"kind", KindName(allocation->kind)}};
  if (const auto input = inputs_.find(allocation->address); input != inputs_.end()) {
    line["kind"] = "input";
    line["name"] = input->second.first;
    line["arg"] = input->second.second;
  } else if (line["kind"] == "variable") {
    line["name"] = allocation->variable;
  }
  Emit(line);
  return &seen_.emplace(allocation->id, seen).first->second;
}

json TraceRecorder::Reference(uint64_t address) {
  const Seen* seen = Note(address);
  if (seen == nullptr) return json::array({-1, address});
  std::optional<vgpu::Allocation> allocation = Runtime::Get().memory().Find(address);
  if (!allocation) allocation = Runtime::Get().memory().Find(address - 1);
  return json::array({seen->index, address - allocation->address});
}

void TraceRecorder::NotePointers(const std::byte* data, size_t bytes) {
  for (size_t at = 0; at + 8 <= bytes; at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data + at, 8);
    if (Runtime::Get().memory().InReservedRange(word)) Note(word);
  }
}

void TraceRecorder::AddInput(uint64_t address, uint64_t bytes, const std::string& name,
                             uint32_t argument) {
  inputs_[address] = {name, argument};
  Note(address);
}

bool TraceRecorder::IsDeviceMemory(const void* pointer) {
  const std::optional<vgpu::Allocation> allocation =
      Runtime::Get().memory().Find(reinterpret_cast<uint64_t>(pointer));
  if (!allocation) return false;
  return allocation->kind != vgpu::AllocationKind::kPinned &&
         allocation->kind != vgpu::AllocationKind::kHostRegistered;
}

void TraceRecorder::UploadHostMemory(uint64_t stream) {
  vgpu::DeviceMemory& memory = Runtime::Get().memory();
  for (const vgpu::Allocation& allocation : memory.LiveAllocations()) {
    const bool host = allocation.kind == vgpu::AllocationKind::kManaged ||
                      allocation.kind == vgpu::AllocationKind::kPinned ||
                      allocation.kind == vgpu::AllocationKind::kHostRegistered;
    if (!host || allocation.size == 0) continue;
    const auto* now =
        static_cast<const std::byte*>(memory.HostAlias(allocation.address, allocation.size));
    if (now == nullptr) continue;
    std::vector<std::byte>& before = host_memory_[allocation.address];
    if (before.size() == allocation.size && std::memcmp(before.data(), now, before.size()) == 0) {
      continue;
    }
    before.assign(now, now + allocation.size);
    NotePointers(now, allocation.size);
    Record({{"s", "upload"},
            {"to", Reference(allocation.address)},
            {"data", Hex(now, allocation.size)}},
           stream);
  }
}

void TraceRecorder::RememberHostMemory() {
  vgpu::DeviceMemory& memory = Runtime::Get().memory();
  for (auto& [address, contents] : host_memory_) {
    const auto* now = static_cast<const std::byte*>(memory.HostAlias(address, contents.size()));
    if (now != nullptr) contents.assign(now, now + contents.size());
  }
}

void TraceRecorder::Run() {
  if (running_) return;
  running_ = true;
  while (!pending_.empty()) {
    const std::function<void()> work = std::move(pending_.front());
    pending_.pop_front();
    work();
  }
  running_ = false;
  RememberHostMemory();
}

void TraceRecorder::OnSynchronise() {
  // Without memory that the host can see there is nothing it could notice.
  if (!host_memory_.empty()) Run();
}

cudaError_t TraceRecorder::OnFree(uint64_t address) {
  Note(address);
  if (const std::optional<vgpu::Allocation> allocation = Runtime::Get().memory().Find(address)) {
    seen_[allocation->id].freed = true;
  }
  host_memory_.erase(address);
  pending_.emplace_back([address] { (void)Runtime::Get().memory().Free(address); });
  return cudaSuccess;
}

cudaError_t TraceRecorder::OnWork(const cudart::Work& work, uint64_t stream) {
  if (const auto* kernel = std::get_if<cudart::KernelWork>(&work)) {
    UploadHostMemory(stream);
    RecordKernel(*kernel, stream);
  } else if (const auto* copy = std::get_if<cudart::CopyWork>(&work)) {
    return RecordCopy(*copy, stream);
  } else if (const auto* fill = std::get_if<cudart::FillWork>(&work)) {
    RecordFill(*fill, stream);
  } else if (const auto* graph = std::get_if<cudart::GraphWork>(&work)) {
    RecordGraph(*graph->program, stream);
  } else if (const auto* release = std::get_if<cudart::FreeWork>(&work)) {
    return OnFree(reinterpret_cast<uint64_t>(release->pointer));
  } else if (const auto* record = std::get_if<cudart::RecordWork>(&work)) {
    const auto number = static_cast<uint32_t>(events_.size());
    events_[record->record.get()] = number;
    Record({{"s", "event"}, {"k", "record"}, {"e", number}}, stream);
  } else if (const auto* wait = std::get_if<cudart::WaitWork>(&work)) {
    const std::shared_ptr<cudart::Event> event = Runtime::Get().FindEvent(wait->event);
    const auto found = event == nullptr ? events_.end() : events_.find(event->last.get());
    if (found != events_.end()) {
      Record({{"s", "event"}, {"k", "wait"}, {"e", found->second}}, stream);
    }
  } else if (std::holds_alternative<cudart::HostWork>(work)) {
    Run();
    Runtime::Get().Execute(work);
  }
  return cudaSuccess;
}

void TraceRecorder::RecordKernel(const cudart::KernelWork& work, uint64_t stream) {
  NotePointers(work.parameters.data(), work.parameters.size());
  Record({{"s", "launch"},
          {"k", work.kernel->name},
          {"g", Three(work.grid)},
          {"b", Three(work.block)},
          {"c", Three(work.cluster)},
          {"m", work.dynamic_shared},
          {"coop", work.cooperative},
          {"p", Hex(work.parameters.data(), work.parameters.size())}},
         stream, kLaunchFrames);
  pending_.emplace_back([work] { Runtime::Get().Execute(cudart::Work(work)); });
}

void TraceRecorder::RecordFill(const cudart::FillWork& work, uint64_t stream) {
  if (work.empty()) return;
  Record({{"s", "fill"},
          {"to", Reference(reinterpret_cast<uint64_t>(work.dst))},
          {"v", work.value},
          {"e", work.element_bytes},
          {"w", work.width},
          {"h", work.height},
          {"d", work.depth},
          {"pitch", work.pitch},
          {"slice", work.slice}},
         stream);
  pending_.emplace_back([work] { Runtime::Get().Execute(cudart::Work(work)); });
}

cudaError_t TraceRecorder::RecordCopy(const cudart::CopyWork& work, uint64_t stream) {
  if (work.empty()) return cudaSuccess;
  Runtime& runtime = Runtime::Get();
  const bool from_device = IsDeviceMemory(work.src);
  const bool to_device = IsDeviceMemory(work.dst);
  if (from_device && to_device) {
    UploadHostMemory(stream);
    Record({{"s", "copy"},
            {"to", Reference(reinterpret_cast<uint64_t>(work.dst))},
            {"from", Reference(reinterpret_cast<uint64_t>(work.src))},
            {"w", work.width},
            {"h", work.height},
            {"d", work.depth},
            {"tp", work.dst_pitch},
            {"fp", work.src_pitch},
            {"ts", work.dst_slice},
            {"fs", work.src_slice}},
           stream);
    pending_.emplace_back([work] { Runtime::Get().Execute(cudart::Work(work)); });
    return cudaSuccess;
  }
  if (to_device) {
    // Row by row: each is contiguous on both sides.
    for (size_t z = 0; z < work.depth; ++z) {
      for (size_t y = 0; y < work.height; ++y) {
        const std::byte* from = runtime.Access(
            static_cast<const std::byte*>(work.src) + z * work.src_slice + y * work.src_pitch,
            work.width);
        if (from == nullptr) return cudaErrorInvalidValue;
        Upload(reinterpret_cast<uint64_t>(work.dst) + z * work.dst_slice + y * work.dst_pitch, from,
               work.width);
      }
    }
    return cudaSuccess;
  }
  Run();
  if (from_device) {
    Record({{"s", "read"},
            {"from", Reference(reinterpret_cast<uint64_t>(work.src))},
            {"n", work.src_extent()}},
           stream);
  }
  runtime.Execute(cudart::Work(work));
  return runtime.RevealFault();
}

void TraceRecorder::RecordGraph(const cudart::GraphProgram& program, uint64_t stream) {
  for (const cudart::GraphProgram::Step& step : program.steps) {
    if (!step.enabled) continue;
    if (step.child != nullptr) {
      RecordGraph(*step.child, stream);
    } else {
      OnWork(step.work, stream);
    }
  }
}

void TraceRecorder::Fill(uint64_t address, uint64_t value, uint32_t element_bytes, uint64_t count) {
  if (count == 0) return;
  Record({{"s", "fill"},
          {"to", Reference(address)},
          {"v", value},
          {"e", element_bytes},
          {"w", count},
          {"h", 1},
          {"d", 1},
          {"pitch", 0},
          {"slice", 0}},
         Runtime::Get().FindStream(nullptr)->id);
  pending_.emplace_back([address, value, element_bytes, count] {
    auto* to =
        static_cast<std::byte*>(Runtime::Get().memory().HostAlias(address, count * element_bytes));
    if (to == nullptr) return;
    for (uint64_t i = 0; i < count; ++i) std::memcpy(to + i * element_bytes, &value, element_bytes);
  });
}

void TraceRecorder::Upload(uint64_t address, const void* data, uint64_t bytes) {
  if (bytes == 0) return;
  const auto* from = static_cast<const std::byte*>(data);
  NotePointers(from, bytes);
  Record({{"s", "upload"}, {"to", Reference(address)}, {"data", Hex(from, bytes)}},
         Runtime::Get().FindStream(nullptr)->id);
  pending_.emplace_back([address, copy = std::vector<std::byte>(from, from + bytes)] {
    void* to = Runtime::Get().memory().HostAlias(address, copy.size());
    if (to != nullptr) std::memcpy(to, copy.data(), copy.size());
  });
}

const std::byte* TraceRecorder::HostRead(uint64_t address, uint64_t bytes) {
  Run();
  Record({{"s", "read"}, {"from", Reference(address)}, {"n", bytes}},
         Runtime::Get().FindStream(nullptr)->id);
  return static_cast<const std::byte*>(Runtime::Get().memory().HostAlias(address, bytes));
}

void TraceRecorder::Library(json step, std::function<void()> run) {
  UploadHostMemory(Runtime::Get().FindStream(nullptr)->id);
  step["s"] = "library";
  Record(std::move(step), Runtime::Get().FindStream(nullptr)->id);
  pending_.push_back(std::move(run));
}

void TraceRecorder::Phase(const char* name) { Emit({{"s", "phase"}, {"p", name}}); }

void TraceRecorder::Finding(FindingKind kind, const std::string& message, bool out_of_memory) {
  Emit({{"s", "finding"},
        {"kind", Name(kind)},
        {"message", message},
        {"oom", out_of_memory},
        {"at", Site()}});
}

}  // namespace kernelsmith::tracer
