#include "plan/broker/recorder.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kernelsmith::broker {
namespace {

using cudart::Runtime;
using nlohmann::json;

// Lines are collected up to this size: a system call for each would cost more than the line.
constexpr size_t kBufferedBytes = 1 << 16;

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
    case vgpu::AllocationKind::kDevice:
    case vgpu::AllocationKind::kParameter:
    case vgpu::AllocationKind::kHeap:
      break;
  }
  return "workspace";
}

void* At(uint64_t address, uint64_t bytes) {
  return Runtime::Get().memory().HostAlias(address, bytes);
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

void TraceRecorder::Emit(const json& line) {
  ++lines_;
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

void TraceRecorder::Record(json step, const protocol::Place& place) {
  uint32_t stream = 0;
  if (place.stream != 0) {
    stream =
        streams_.emplace(place.stream, static_cast<uint32_t>(streams_.size() + 1)).first->second;
  }
  step["st"] = stream;
  step["at"] = place.site;
  Emit(step);
}

std::optional<uint32_t> TraceRecorder::Note(uint64_t address, uint64_t* offset) {
  vgpu::DeviceMemory& memory = Runtime::Get().memory();
  const auto find = [&] {
    std::optional<vgpu::Allocation> allocation = memory.Find(address);
    // One past the end belongs to the allocation before, as iterators do.
    if (!allocation && address > 0) {
      allocation = memory.Find(address - 1);
      if (allocation && allocation->end() != address) allocation.reset();
    }
    return allocation;
  };
  std::optional<vgpu::Allocation> allocation = find();
  if (!allocation) {
    load_module_();
    allocation = find();
  }
  if (!allocation) return std::nullopt;
  if (offset != nullptr) *offset = address - allocation->address;
  const auto found = seen_.find(allocation->id);
  if (found != seen_.end()) return found->second;
  const auto index = static_cast<uint32_t>(seen_.size());
  json line = {{"s", "buffer"},
               {"i", index},
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
  seen_.emplace(allocation->id, index);
  return index;
}

json TraceRecorder::Reference(uint64_t address) {
  uint64_t offset = 0;
  const std::optional<uint32_t> buffer = Note(address, &offset);
  if (!buffer) return json::array({-1, address});
  return json::array({*buffer, offset});
}

void TraceRecorder::NotePointers(const std::vector<std::byte>& bytes) {
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    if (Runtime::Get().memory().InReservedRange(word)) Note(word);
  }
}

void TraceRecorder::AddInput(uint64_t address, const std::string& name, uint32_t argument) {
  inputs_[address] = {name, argument};
  Note(address);
}

void TraceRecorder::Run() {
  while (!pending_.empty()) {
    const std::function<void()> work = std::move(pending_.front());
    pending_.pop_front();
    work();
  }
}

void TraceRecorder::Launch(const protocol::Place& place, cudart::KernelWork work) {
  NotePointers(work.parameters);
  Record({{"s", "launch"},
          {"k", work.kernel->name},
          {"g", Three(work.grid)},
          {"b", Three(work.block)},
          {"c", Three(work.cluster)},
          {"m", work.dynamic_shared},
          {"coop", work.cooperative},
          {"p", Hex(work.parameters.data(), work.parameters.size())}},
         place);
  pending_.emplace_back([work = std::move(work)] { Runtime::Get().Execute(cudart::Work(work)); });
}

// Fills and copies are not given to Runtime::Execute: it serves programs, whose host memory is its
// own, and would take an address of the child's for one of this process. At() knows device memory
// only.
void TraceRecorder::Fill(const protocol::FillMessage& fill) {
  Record({{"s", "fill"},
          {"to", Reference(fill.to)},
          {"v", fill.value},
          {"e", fill.element_bytes},
          {"w", fill.width},
          {"h", fill.height},
          {"d", fill.depth},
          {"pitch", fill.pitch},
          {"slice", fill.slice}},
         fill.place);
  pending_.emplace_back([fill] {
    const uint64_t row = fill.width * fill.element_bytes;
    for (uint64_t z = 0; z < fill.depth; ++z) {
      for (uint64_t y = 0; y < fill.height; ++y) {
        auto* to = static_cast<std::byte*>(At(fill.to + z * fill.slice + y * fill.pitch, row));
        if (to == nullptr) return;
        for (uint64_t x = 0; x < fill.width; ++x) {
          std::memcpy(to + x * fill.element_bytes, &fill.value, fill.element_bytes);
        }
      }
    }
  });
}

void TraceRecorder::Copy(const protocol::CopyMessage& copy) {
  Record({{"s", "copy"},
          {"to", Reference(copy.to)},
          {"from", Reference(copy.from)},
          {"w", copy.width},
          {"h", copy.height},
          {"d", copy.depth},
          {"tp", copy.to_pitch},
          {"fp", copy.from_pitch},
          {"ts", copy.to_slice},
          {"fs", copy.from_slice}},
         copy.place);
  pending_.emplace_back([copy] {
    for (uint64_t z = 0; z < copy.depth; ++z) {
      for (uint64_t y = 0; y < copy.height; ++y) {
        void* to = At(copy.to + z * copy.to_slice + y * copy.to_pitch, copy.width);
        const void* from = At(copy.from + z * copy.from_slice + y * copy.from_pitch, copy.width);
        if (to == nullptr || from == nullptr) return;
        std::memmove(to, from, copy.width);
      }
    }
  });
}

void TraceRecorder::Upload(protocol::UploadMessage upload) {
  NotePointers(upload.bytes);
  Record({{"s", "upload"},
          {"to", Reference(upload.to)},
          {"data", Hex(upload.bytes.data(), upload.bytes.size())}},
         upload.place);
  pending_.emplace_back([upload = std::move(upload)] {
    void* to = At(upload.to, upload.bytes.size());
    if (to == nullptr || upload.bytes.empty()) return;
    std::memcpy(to, upload.bytes.data(), upload.bytes.size());
  });
}

const std::byte* TraceRecorder::Read(const protocol::ReadMessage& read) {
  Run();
  Record({{"s", "read"}, {"from", Reference(read.from)}, {"n", read.bytes}}, read.place);
  return static_cast<const std::byte*>(At(read.from, read.bytes));
}

json TraceRecorder::TensorLine(const protocol::Tensor& tensor) {
  return {{"d", tensor.dtype},
          {"n", tensor.shape},
          {"t", tensor.strides},
          {"at", Reference(tensor.address)}};
}

void TraceRecorder::Library(const protocol::LibraryMessage& message, std::function<void()> run) {
  json in = json::array();
  json out = json::array();
  for (const protocol::Tensor& tensor : message.tensors) in.push_back(TensorLine(tensor));
  for (const protocol::Tensor& tensor : message.outputs) out.push_back(TensorLine(tensor));
  Record({{"s", "library"},
          {"op", message.op},
          {"args", message.arguments},
          {"in", std::move(in)},
          {"out", std::move(out)}},
         message.place);
  pending_.push_back(std::move(run));
}

void TraceRecorder::Event(const protocol::EventMessage& message, bool record) {
  Record({{"s", "event"}, {"k", record ? "record" : "wait"}, {"e", message.event}}, message.place);
}

void TraceRecorder::Free(uint64_t address) {
  Note(address);
  pending_.emplace_back([address] {
    vgpu::DeviceMemory& memory = Runtime::Get().memory();
    if (!memory.Free(address).ok()) {
      (void)memory.UnregisterHostRange(reinterpret_cast<void*>(address));
    }
  });
}

void TraceRecorder::Result(const std::vector<protocol::Tensor>& tensors) {
  json list = json::array();
  for (const protocol::Tensor& tensor : tensors) list.push_back(TensorLine(tensor));
  Emit({{"s", "result"}, {"tensors", std::move(list)}});
}

void TraceRecorder::Phase(const char* name) { Emit({{"s", "phase"}, {"p", name}}); }

void TraceRecorder::Finding(FindingKind kind, const std::string& message, uint64_t site,
                            bool out_of_memory) {
  Emit({{"s", "finding"},
        {"kind", Name(kind)},
        {"message", message},
        {"oom", out_of_memory},
        {"at", site}});
}

}  // namespace kernelsmith::broker
