#include "plan/broker/broker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cudart/launch.h"
#include "plan/argument.h"
#include "plan/library.h"
#include "support/demangle.h"

namespace kernelsmith::broker {
namespace {

using cudart::Runtime;
using protocol::Kind;

constexpr size_t kMaxRank = 64;
constexpr size_t kMaxName = 100'000;  // mangled names of templates are long

vgpu::AllocationKind KindOf(protocol::Memory memory) {
  switch (memory) {
    case protocol::Memory::kDevice:
      return vgpu::AllocationKind::kDevice;
    case protocol::Memory::kManaged:
      return vgpu::AllocationKind::kManaged;
    case protocol::Memory::kPinned:
      return vgpu::AllocationKind::kPinned;
    case protocol::Memory::kRegistered:
      return vgpu::AllocationKind::kHostRegistered;
    case protocol::Memory::kGlobal:
      return vgpu::AllocationKind::kGlobal;
    case protocol::Memory::kConstant:
      return vgpu::AllocationKind::kConstant;
  }
  return vgpu::AllocationKind::kDevice;
}

dim3 ToDim3(const vgpu::Dim3& d) { return {d.x, d.y, d.z}; }

// Rows that go beyond what numbers can say.
bool Overflows(uint64_t width, uint64_t height, uint64_t depth, uint64_t pitch, uint64_t slice) {
  constexpr uint64_t kMost = uint64_t{1} << 48;
  return width > kMost || height > (1u << 24) || depth > (1u << 24) || pitch > kMost ||
         slice > kMost || (height > 0 && pitch > kMost / height) ||
         (depth > 0 && slice > kMost / depth) || height * depth > (1u << 24);
}

// PTX without comments and with single spaces: nvcc leaves comments out of fat binaries and pads
// what is in them.
std::string Bare(std::string_view ptx) {
  std::string bare;
  bool quoted = false;
  for (size_t i = 0; i < ptx.size(); ++i) {
    const char c = ptx[i];
    if (!quoted && c == '/' && i + 1 < ptx.size() && (ptx[i + 1] == '/' || ptx[i + 1] == '*')) {
      const bool line = ptx[i + 1] == '/';
      const size_t end = ptx.find(line ? "\n" : "*/", i + 2);
      if (end == std::string_view::npos) break;
      i = line ? end - 1 : end + 1;
      continue;
    }
    if (c == '"') quoted = !quoted;
    const bool space = c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
    if (quoted || !space) {
      bare += c;
    } else if (!bare.empty() && bare.back() != ' ') {
      bare += ' ';
    }
  }
  while (!bare.empty() && bare.back() == ' ') bare.pop_back();
  return bare;
}

bool SameCode(std::string_view a, std::string_view b) { return a == b || Bare(a) == Bare(b); }

}  // namespace

Broker::Broker(int reply, std::string ptx, PlanLimits limits)
    : ptx_(std::move(ptx)),
      limits_(limits),
      parameter_use_(ptx_),
      recorder_(reply, [this] { Module(); }, parameter_use_) {}

Broker::~Broker() {
  if (module_ != nullptr) Runtime::Get().registry().Remove(module_);
}

Broker::Next Broker::Problem(FindingKind kind, const std::string& what, uint64_t site,
                             bool out_of_memory) {
  recorder_.Finding(kind, what, site, out_of_memory);
  return Next::kEnd;
}

Broker::Next Broker::Forged(const std::string& what) {
  return Problem(FindingKind::kForged, "the host code wrote to the device itself: " + what);
}

template <typename Message>
Broker::Next Broker::With(std::string_view payload, Next (Broker::*handle)(const Message&)) {
  const std::optional<Message> message = protocol::Decode<Message>(payload);
  if (!message) return Forged("what came is no message");
  return (this->*handle)(*message);
}

Broker::Next Broker::Handle(uint32_t kind, std::string_view payload, std::string* answer) {
  answer_ = answer;
  if (recorder_.lines() > limits_.steps + limits_.buffers) return Forged("too many calls");
  switch (kind > static_cast<uint32_t>(protocol::kLastKind) ? Kind::kStart
                                                            : static_cast<Kind>(kind)) {
    case Kind::kLoaded:
      return With(payload, &Broker::OnLoaded);
    case Kind::kModule:
      return With(payload, &Broker::OnModule);
    case Kind::kAllocate:
      return With(payload, &Broker::OnAllocate);
    case Kind::kFree:
      return With(payload, &Broker::OnFree);
    case Kind::kAttribute:
      return With(payload, &Broker::OnAttribute);
    case Kind::kLaunch:
      return With(payload, &Broker::OnLaunch);
    case Kind::kCopy:
      return With(payload, &Broker::OnCopy);
    case Kind::kFill:
      return With(payload, &Broker::OnFill);
    case Kind::kUpload:
      return With(payload, &Broker::OnUpload);
    case Kind::kRead:
      return With(payload, &Broker::OnRead);
    case Kind::kSynchronise:
      return With(payload, &Broker::OnSynchronise);
    case Kind::kLibrary:
      return With(payload, &Broker::OnLibrary);
    case Kind::kRecord:
      return With(payload, &Broker::OnRecord);
    case Kind::kWait:
      return With(payload, &Broker::OnWait);
    case Kind::kWaited:
      return With(payload, &Broker::OnWaited);
    case Kind::kReturned:
      return With(payload, &Broker::OnReturned);
    case Kind::kThrew:
      return With(payload, &Broker::OnThrew);
    case Kind::kStart:
    case Kind::kLoad:
    case Kind::kCall:
    case Kind::kData:
    case Kind::kHello:
    case Kind::kWalls:
      break;
  }
  return Forged("a message that is no call");
}

Broker::Next Broker::OnLoaded(const protocol::LoadedMessage& message) {
  if (!message.problem.empty()) return Problem(FindingKind::kUnsupported, message.problem);
  return Next::kReturned;
}

Broker::Next Broker::OnModule(const protocol::ModuleMessage& message) {
  if (!SameCode(message.ptx, ptx_)) {
    return Problem(FindingKind::kUnsupported,
                   "the host code loads device code that is not what was compiled from it");
  }
  if (told_of_module_) {
    return Problem(FindingKind::kUnsupported, "the host code loads its device code again");
  }
  told_of_module_ = true;
  return Next::kGoOn;
}

Broker::Next Broker::OnAllocate(const protocol::AllocateMessage& message) {
  vgpu::DeviceMemory& memory = Runtime::Get().memory();
  if (++allocations_ > limits_.buffers) return Forged("too many buffers");
  const bool variable =
      message.memory == protocol::Memory::kGlobal || message.memory == protocol::Memory::kConstant;
  if (variable) {
    if (message.variable.empty() || message.variable.size() > kMaxName || tried_to_load_) {
      return Forged("a variable that its device code does not have");
    }
    memory.PlaceVariable(message.variable, message.address);
    return Next::kGoOn;
  }
  if (message.memory == protocol::Memory::kRegistered) {
    registered_ += std::min(message.bytes, limits_.upload_bytes + 1);
    if (registered_ > limits_.upload_bytes) {
      return Problem(FindingKind::kUnsupported, "too much host memory is registered");
    }
    if (const Status made =
            memory.RegisterForeignRange(message.address, message.bytes, "cudaHostRegister");
        !made.ok()) {
      return Forged(made.error().message());
    }
    recorder_.NoteAllocation(memory.Find(message.address)->id);
    return Next::kGoOn;
  }
  if (const Status made = memory.AllocateAt(message.address, message.bytes, KindOf(message.memory),
                                            "the candidate");
      !made.ok()) {
    return Forged(made.error().message());
  }
  recorder_.NoteAllocation(memory.Find(message.address)->id);
  return Next::kGoOn;
}

Broker::Next Broker::OnFree(const protocol::FreeMessage& message) {
  const std::optional<vgpu::Allocation> found = Runtime::Get().memory().Find(message.address);
  if (freed_.contains(message.address)) {
    return Problem(FindingKind::kDoubleFree, "the host code frees memory twice", message.site);
  }
  if (message.refused || recorder_.IsInput(message.address)) {
    return Problem(FindingKind::kInvalidFree,
                   "the host code frees device memory that is not its own: an argument's, a "
                   "tensor's, or a part of an allocation",
                   message.site);
  }
  if (!found || found->address != message.address) {
    return Forged("memory is freed that is not there");
  }
  if (found->kind == vgpu::AllocationKind::kGlobal ||
      found->kind == vgpu::AllocationKind::kConstant) {
    return Problem(FindingKind::kUnsupported, "the host code unloads its device code");
  }
  freed_[message.address] = found->end();
  recorder_.Free(message.address);
  return Next::kGoOn;
}

bool Broker::IsFreed(uint64_t address) const {
  const auto after = freed_.upper_bound(address);
  return after != freed_.begin() && address < std::prev(after)->second;
}

Broker::Next Broker::UsedAfterFree(const std::string& what, const protocol::Place& place) {
  return Problem(FindingKind::kUseAfterFree,
                 what +
                     " memory that was freed before (by cudaFree, or with the last tensor that "
                     "had it); another tensor may have it by now",
                 place.site);
}

cudart::DeviceModule* Broker::Module() {
  if (tried_to_load_) return module_;
  tried_to_load_ = true;
  Runtime& runtime = Runtime::Get();
  cudart::DeviceModule* module = runtime.registry().AddLibrary(ptx_, "the candidate");
  if (module->Load(runtime.gpu(), runtime.model()) != cudaSuccess) {
    device_code_fails_ = true;
    return nullptr;
  }
  module_ = module;
  return module_;
}

cudart::Kernel* Broker::FindKernel(const std::string& name) {
  cudart::DeviceModule* module = Module();
  cudart::Kernel* kernel = module == nullptr ? nullptr : module->FindKernel(name);
  if (kernel != nullptr) Runtime::Get().registry().NoteHandle(kernel);
  return kernel;
}

Broker::Next Broker::OnAttribute(const protocol::AttributeMessage& message) {
  cudart::Kernel* kernel = FindKernel(message.kernel);
  if (kernel == nullptr) return Forged("an attribute of a kernel that there is not");
  const vgpu::EntryInfo* info = module_->loaded()->FindEntry(message.kernel);
  if (message.max_dynamic_shared < -1 || info == nullptr ||
      int64_t{message.max_dynamic_shared} + info->static_shared_bytes >
          int64_t{Runtime::Get().model().shared_per_block_optin} ||
      std::min({message.cluster_x, message.cluster_y, message.cluster_z}) < 0) {
    return Forged("an attribute that no GPU takes");
  }
  kernel->max_dynamic_shared = message.max_dynamic_shared;
  kernel->non_portable_cluster = message.non_portable_cluster;
  kernel->cluster_x = message.cluster_x;
  kernel->cluster_y = message.cluster_y;
  kernel->cluster_z = message.cluster_z;
  return Next::kGoOn;
}

Broker::Next Broker::OnLaunch(const protocol::LaunchMessage& message) {
  Runtime& runtime = Runtime::Get();
  cudart::Kernel* kernel = FindKernel(message.kernel);
  if (kernel == nullptr) {
    return device_code_fails_
               ? Problem(FindingKind::kUnsupported, "the device code can't be loaded")
               : Forged("a launch of a kernel that there is not");
  }
  const vgpu::EntryInfo* info = module_->loaded()->FindEntry(message.kernel);
  if (message.parameters.size() != info->parameter_bytes) {
    return Forged("a launch with arguments of another size");
  }
  std::vector<std::byte> bytes = message.parameters;
  for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (IsFreed(word) && parameter_use_.Reads(message.kernel, at)) {
      return UsedAfterFree("the kernel " + Demangle(message.kernel) + " is given", message.place);
    }
  }
  std::vector<void*> arguments;
  for (const vgpu::ParameterInfo& parameter : info->parameters) {
    arguments.push_back(bytes.data() + parameter.offset);
  }
  cudart::KernelWork work;
  const cudaError_t error = cudart::MakeKernelWork(runtime, kernel,
                                                   {.grid = ToDim3(message.grid),
                                                    .block = ToDim3(message.block),
                                                    .dynamic_shared = message.dynamic_shared,
                                                    .cooperative = message.cooperative,
                                                    .programmatic = message.programmatic,
                                                    .cluster = ToDim3(message.cluster)},
                                                   arguments.data(), &work);
  if (error == cudaErrorNotSupported || error == cudaErrorInvalidPtx) {
    const auto prepared = module_->loaded()->Prepare(message.kernel);
    return Problem(FindingKind::kUnsupported,
                   prepared.ok() ? "the kernel can't be launched" : prepared.error().Format(),
                   message.place.site);
  }
  if (error != cudaSuccess) {
    return Problem(FindingKind::kLaunchError,
                   std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error),
                   message.place.site);
  }
  work.parameters = std::move(bytes);  // what lies between parameters, too
  recorder_.Launch(message.place, std::move(work));
  return Next::kGoOn;
}

Broker::Next Broker::OnCopy(const protocol::CopyMessage& message) {
  if (Overflows(message.width, message.height, message.depth, message.to_pitch, message.to_slice) ||
      Overflows(message.width, message.height, message.depth, message.from_pitch,
                message.from_slice)) {
    return Forged("a copy of more than there can be");
  }
  if (IsFreed(message.to) || IsFreed(message.from)) {
    return UsedAfterFree("a copy uses", message.place);
  }
  recorder_.Copy(message);
  return Next::kGoOn;
}

Broker::Next Broker::OnFill(const protocol::FillMessage& message) {
  const uint32_t bytes = message.element_bytes;
  if ((bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) ||
      Overflows(message.width, message.height, message.depth, message.pitch, message.slice)) {
    return Forged("a fill of more than there can be");
  }
  if (IsFreed(message.to)) return UsedAfterFree("a fill writes", message.place);
  recorder_.Fill(message);
  return Next::kGoOn;
}

Broker::Next Broker::OnUpload(const protocol::UploadMessage& message) {
  uploaded_ += message.bytes.size();
  if (uploaded_ > limits_.upload_bytes) return Forged("too many bytes from the host");
  if (IsFreed(message.to)) return UsedAfterFree("a copy writes", message.place);
  recorder_.Upload(message);
  return Next::kGoOn;
}

protocol::DataMessage Broker::Answer(std::vector<std::byte> bytes) {
  Runtime::Get().FlushPrints();
  return {.error = Runtime::Get().RevealFault(), .bytes = std::move(bytes)};
}

Broker::Next Broker::OnRead(const protocol::ReadMessage& message) {
  const std::byte* data = recorder_.Read(message);
  std::vector<std::byte> bytes;
  if (data != nullptr) bytes.assign(data, data + message.bytes);
  *answer_ = protocol::Encode(Kind::kData, Answer(std::move(bytes)));
  return Next::kGoOn;
}

Broker::Next Broker::OnSynchronise(const protocol::SynchroniseMessage& message) {
  // Among many calls nothing runs for a host that can't look at it.
  if (!many_calls_ || !message.ranges.empty()) recorder_.Look();
  std::vector<std::byte> bytes;
  for (const protocol::SynchroniseMessage::Range& range : message.ranges) {
    const auto* data = static_cast<const std::byte*>(
        Runtime::Get().memory().HostAlias(range.address, range.bytes));
    if (data == nullptr || bytes.size() > limits_.upload_bytes ||
        range.bytes > limits_.upload_bytes) {
      return Forged("it waits for memory that is not there");
    }
    bytes.insert(bytes.end(), data, data + range.bytes);
  }
  *answer_ = protocol::Encode(Kind::kData, Answer(std::move(bytes)));
  return Next::kGoOn;
}

bool Broker::IsTensor(const protocol::Tensor& tensor) const {
  if (!ParseDType(tensor.dtype) || tensor.shape.size() > kMaxRank ||
      tensor.strides.size() != tensor.shape.size()) {
    return false;
  }
  const auto fits = [](int64_t n) { return n >= 0 && n <= int64_t{1} << 48; };
  return std::all_of(tensor.shape.begin(), tensor.shape.end(), fits) &&
         std::all_of(tensor.strides.begin(), tensor.strides.end(), fits);
}

Broker::Next Broker::OnLibrary(const protocol::LibraryMessage& message) {
  struct Place {
    PlanTensor tensor;
    uint64_t address = 0;
    uint64_t bytes = 0;
  };
  std::vector<Place> from;
  std::vector<Place> to;
  for (const bool inputs : {true, false}) {
    for (const protocol::Tensor& tensor : inputs ? message.tensors : message.outputs) {
      if (!IsTensor(tensor)) return Forged("an operator on what is no tensor");
      Place place{.tensor = {.dtype = *ParseDType(tensor.dtype),
                             .shape = tensor.shape,
                             .strides = tensor.strides},
                  .address = tensor.address};
      const std::optional<uint64_t> bytes = ExtentBytes(place.tensor);
      if (!bytes) return Forged("an operator on what is no tensor");
      if (IsFreed(tensor.address)) return UsedAfterFree(message.op + " uses", message.place);
      place.bytes = *bytes;
      (inputs ? from : to).push_back(std::move(place));
    }
  }
  recorder_.Library(message, [this, name = message.op, text = message.arguments, from, to] {
    const auto resolve = [](const std::vector<Place>& places) {
      std::vector<TensorMemory> memories;
      for (const Place& place : places) {
        auto* data =
            static_cast<std::byte*>(Runtime::Get().memory().HostAlias(place.address, place.bytes));
        if (data == nullptr && place.bytes > 0) break;
        memories.push_back({.dtype = place.tensor.dtype,
                            .shape = place.tensor.shape,
                            .strides = place.tensor.strides,
                            .data = data});
      }
      return memories;
    };
    const std::vector<TensorMemory> inputs = resolve(from);
    const std::vector<TensorMemory> outputs = resolve(to);
    if (inputs.size() != from.size() || outputs.size() != to.size()) {
      recorder_.Finding(FindingKind::kCrash, name + " on memory that was freed");
      return;
    }
    const Status status = RunLibrary(name, text, inputs, outputs);
    if (!status.ok()) {
      recorder_.Finding(FindingKind::kUnsupported, name + ": " + status.error().message());
    }
  });
  return Next::kGoOn;
}

Broker::Next Broker::OnRecord(const protocol::EventMessage& message) {
  if (!events_.insert(message.event).second) return Forged("an event is recorded twice");
  recorder_.Event(message, "record");
  return Next::kGoOn;
}

Broker::Next Broker::OnWait(const protocol::EventMessage& message) {
  if (!events_.contains(message.event)) return Forged("it waits for an event that there is not");
  recorder_.Event(message, "wait");
  return Next::kGoOn;
}

Broker::Next Broker::OnWaited(const protocol::EventMessage& message) {
  if (message.event != protocol::EventMessage::kEverything && !events_.contains(message.event)) {
    return Forged("the host has waited for an event that there is not");
  }
  recorder_.Event(message, "synchronise");
  return Next::kGoOn;
}

Broker::Next Broker::OnReturned(const protocol::ReturnedMessage& message) {
  returned_ = message;
  return Next::kReturned;
}

Broker::Next Broker::OnThrew(const protocol::ThrewMessage& message) {
  using Why = protocol::ThrewMessage::Why;
  FindingKind kind = FindingKind::kException;
  switch (message.why) {
    case Why::kException:
      break;
    case Why::kUnsupported:
      kind = FindingKind::kUnsupported;
      break;
    case Why::kNoFunction:
      kind = FindingKind::kNoFunction;
      break;
    case Why::kHostRace:
      kind = FindingKind::kRace;
      break;
  }
  return Problem(kind, message.text, message.site, message.ran_out_of_memory);
}

bool Broker::Conclude(bool direct) {
  if (!returned_.error.empty()) {
    Problem(FindingKind::kLaunchError, returned_.error, 0, returned_.ran_out_of_memory);
    return false;
  }
  if (!returned_.failed_launch.empty()) {
    recorder_.Finding(FindingKind::kFailedLaunch, returned_.failed_launch, 0,
                      returned_.ran_out_of_memory);
  }
  if (!returned_.problem.empty()) {
    Problem(FindingKind::kWrongResult, returned_.problem);
    return false;
  }
  for (const protocol::Tensor& tensor : returned_.tensors) {
    if (!IsTensor(tensor)) {
      Forged("a result that is no tensor");
      return false;
    }
    if (IsFreed(tensor.address)) {
      UsedAfterFree("the result lies in", {});
      return false;
    }
  }
  recorder_.Result(returned_.tensors);
  if (!direct) return true;
  recorder_.Run();
  for (const protocol::Tensor& tensor : returned_.tensors) {
    const DType dtype = *ParseDType(tensor.dtype);
    const std::optional<uint64_t> bytes =
        ExtentBytes({.dtype = dtype, .shape = tensor.shape, .strides = tensor.strides});
    const auto* data = !bytes ? nullptr
                              : static_cast<const std::byte*>(
                                    Runtime::Get().memory().HostAlias(tensor.address, *bytes));
    const std::vector<std::byte> dense =
        data == nullptr ? std::vector<std::byte>()
                        : GatherElements(data, tensor.shape, tensor.strides, SizeOf(dtype));
    recorder_.Emit({{"s", "data"}, {"hex", Hex(dense.data(), dense.size())}});
  }
  return true;
}

}  // namespace kernelsmith::broker
