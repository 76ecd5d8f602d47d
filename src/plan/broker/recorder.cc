#include "plan/broker/recorder.h"

#include <fmt/format.h>
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

std::string TextOf(const json& line) {
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

void TraceRecorder::Emit(const json& line) {
  ++lines_;
  if (call_) {
    ++call_->line_count;
    call_->lines += TextOf(line) + '\n';
    return;
  }
  out_ += TextOf(line) + '\n';
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

void TraceRecorder::Record(json step, const protocol::Place& place,
                           const std::vector<std::byte>& bytes) {
  uint32_t stream = 0;
  if (place.stream != 0) {
    stream =
        streams_.emplace(place.stream, static_cast<uint32_t>(streams_.size() + 1)).first->second;
  }
  step["st"] = stream;
  step["apart"] = place.apart;
  if (call_) call_->comparable += Comparable(step, bytes);
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
  std::string name = fmt::format("kept {}", allocation->id);
  if (const auto input = inputs_.find(allocation->address); input != inputs_.end()) {
    line["kind"] = "input";
    line["name"] = input->second.name;
    line["set"] = input->second.set;
    line["arg"] = input->second.argument;
    name = fmt::format("input {} {}", input->second.set, input->second.argument);
  } else if (line["kind"] == "variable") {
    line["name"] = allocation->variable;
    name = "variable " + allocation->variable;
  } else if (call_ && allocation->id >= call_->first_allocation) {
    name = fmt::format("fresh {}", call_->fresh++);
  }
  Emit(line);
  seen_.emplace(allocation->id, index);
  names_.push_back(std::move(name));
  if (call_) call_->noted.push_back(allocation->id);
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

void TraceRecorder::AddInput(uint64_t address, const std::string& name, uint32_t set,
                             uint32_t argument) {
  inputs_[address] = {name, set, argument};
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
          {"pdl", work.programmatic},
          {"p", Hex(work.parameters.data(), work.parameters.size())}},
         place, work.parameters);
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
         upload.place, upload.bytes);
  pending_.emplace_back([upload = std::move(upload)] {
    void* to = At(upload.to, upload.bytes.size());
    if (to == nullptr || upload.bytes.empty()) return;
    std::memcpy(to, upload.bytes.data(), upload.bytes.size());
  });
}

const std::byte* TraceRecorder::Read(const protocol::ReadMessage& read) {
  Look();
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

void TraceRecorder::Event(const protocol::EventMessage& message, const char* what) {
  Record({{"s", "event"}, {"k", what}, {"e", message.event}}, message.place);
}

void TraceRecorder::Free(uint64_t address) {
  --live_;
  // The result of a call is freed in the next one, which is nothing that call does.
  if (!call_) Note(address);
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
  json line = {{"s", "result"}, {"tensors", std::move(list)}};
  if (call_) call_->comparable += Comparable(line, {});
  Emit(line);
}

void TraceRecorder::NoteAllocation(uint64_t id) {
  last_allocation_ = id;
  ++live_;
}

void TraceRecorder::BeginCall(uint32_t number, uint32_t set) {
  Emit({{"s", "call"}, {"n", number}, {"set", set}});
}

void TraceRecorder::BeginRepeatableCall(uint32_t number, uint32_t set) {
  call_ = Call{.set = set, .first_allocation = last_allocation_ + 1};
  BeginCall(number, set);
}

void TraceRecorder::EndRepeatableCall() {
  Call call = *std::move(call_);
  call_.reset();
  const auto [known, first] =
      known_calls_.emplace(std::pair(call.set, std::move(call.comparable)), times_.size());
  if (first) {
    times_.push_back(1);
    out_ += call.lines;
    FlushReply();
    return;
  }
  ++times_[known->second];
  // Its buffers were the last ones to be named.
  for (const uint64_t id : call.noted) seen_.erase(id);
  names_.resize(seen_.size());
  lines_ -= call.line_count;
}

json TraceRecorder::ComparablePlace(const json& reference) const {
  const auto buffer = reference[0].get<int64_t>();
  if (buffer < 0) return reference;
  return json::array({names_[static_cast<size_t>(buffer)], reference[1]});
}

json TraceRecorder::ComparableBytes(std::vector<std::byte> bytes, const std::string& kernel) {
  // What no kernel reads is what the stack had there.
  for (size_t i = 0; i < bytes.size() && !kernel.empty(); ++i) {
    if (!use_.Reads(kernel, i)) bytes[i] = std::byte{0};
  }
  json pointers = json::array();
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    if (!Runtime::Get().memory().InReservedRange(word)) continue;
    const json place = Reference(word);
    if (place[0].get<int64_t>() < 0) continue;
    pointers.push_back(ComparablePlace(place));
    std::memset(bytes.data() + at, 0, 8);
  }
  return json::array({Hex(bytes.data(), bytes.size()), std::move(pointers)});
}

std::string TraceRecorder::Comparable(json step, const std::vector<std::byte>& bytes) {
  for (const char* key : {"to", "from"}) {
    if (const auto place = step.find(key); place != step.end()) *place = ComparablePlace(*place);
  }
  for (const char* key : {"in", "out", "tensors"}) {
    const auto tensors = step.find(key);
    if (tensors == step.end()) continue;
    for (json& tensor : *tensors) tensor["at"] = ComparablePlace(tensor["at"]);
  }
  const auto number = [&step](const char* key, std::map<uint32_t, size_t>& numbers) {
    if (const auto found = step.find(key); found != step.end()) {
      *found = numbers.emplace(found->get<uint32_t>(), numbers.size()).first->second;
    }
  };
  if (step["s"] == "event") number("e", call_->events);
  if (step.value("st", 0U) != 0) number("st", call_->streams);
  for (const char* key : {"p", "data"}) {
    if (!step.contains(key)) continue;
    step[key] = ComparableBytes(bytes, step.value("k", std::string()));
  }
  return TextOf(step) + '\n';
}

void TraceRecorder::Finding(FindingKind kind, const std::string& message, uint64_t site,
                            bool out_of_memory) {
  // Whatever becomes of the call: a finding stays.
  ++lines_;
  out_ += TextOf({{"s", "finding"},
                  {"kind", Name(kind)},
                  {"message", message},
                  {"oom", out_of_memory},
                  {"at", site}}) +
          '\n';
}

}  // namespace kernelsmith::broker
