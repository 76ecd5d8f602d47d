#include "plan/raw_trace.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

namespace kernelsmith {
namespace {

using nlohmann::json;

// Text that ends up in messages is cut: a hostile child must not flood the report.
constexpr size_t kMaxText = 4000;
constexpr size_t kMaxRank = 64;

// Reads fields of one line; the first thing that is wrong sticks.
class Line {
 public:
  explicit Line(const json& object) : object_(object) {}

  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  void Fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }

  uint64_t Number(const char* key, uint64_t max = UINT64_MAX) {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_number_unsigned()) {
      Fail(fmt::format("'{}' is not a number", key));
      return 0;
    }
    const auto value = found->get<uint64_t>();
    if (value > max) Fail(fmt::format("'{}' is too large", key));
    return value;
  }
  uint32_t Small(const char* key) { return static_cast<uint32_t>(Number(key, UINT32_MAX)); }
  std::string Text(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_string()) {
      Fail(fmt::format("'{}' is not text", key));
      return {};
    }
    return found->get<std::string>();
  }
  bool Flag(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_boolean()) {
      Fail(fmt::format("'{}' is not true or false", key));
      return false;
    }
    return found->get<bool>();
  }
  BufferRef Reference(const char* key) { return ReferenceOf(Field(key)); }
  vgpu::Dim3 Three(const char* key) {
    const json& list = Field(key);
    vgpu::Dim3 dim;
    uint32_t* const parts[] = {&dim.x, &dim.y, &dim.z};
    if (!list.is_array() || list.size() != 3) {
      Fail(fmt::format("'{}' is not three numbers", key));
      return dim;
    }
    for (size_t i = 0; i < 3; ++i) {
      if (!list[i].is_number_unsigned() || list[i].get<uint64_t>() > UINT32_MAX) {
        Fail(fmt::format("'{}' is not three numbers", key));
        return dim;
      }
      *parts[i] = list[i].get<uint32_t>();
    }
    return dim;
  }
  std::vector<std::byte> Bytes(const char* key) {
    const auto found = object_.find(key);
    if (found == object_.end() || !found->is_string()) {
      Fail(fmt::format("'{}' is not bytes", key));
      return {};
    }
    const auto& text = found->get_ref<const std::string&>();
    std::vector<std::byte> bytes(text.size() / 2);
    const auto digit = [](char c) {
      return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    };
    for (size_t i = 0; i < bytes.size(); ++i) {
      const int high = digit(text[2 * i]);
      const int low = digit(text[2 * i + 1]);
      if (high < 0 || low < 0) {
        Fail(fmt::format("'{}' is not bytes", key));
        return {};
      }
      bytes[i] = static_cast<std::byte>(high * 16 + low);
    }
    if (text.size() % 2 != 0) Fail(fmt::format("'{}' is not bytes", key));
    return bytes;
  }
  std::vector<PlanTensor> Tensors(const char* key) {
    const json& list = Field(key);
    std::vector<PlanTensor> tensors;
    if (!list.is_array()) Fail(fmt::format("'{}' is not a list of tensors", key));
    for (const json& item : list) {
      if (!ok()) break;
      tensors.push_back(TensorOf(item));
    }
    return tensors;
  }

 private:
  const json& Field(const char* key) {
    static const json kNull;
    const auto found = object_.find(key);
    return found == object_.end() ? kNull : *found;
  }
  BufferRef ReferenceOf(const json& pair) {
    BufferRef ref;
    if (!pair.is_array() || pair.size() != 2 || !pair[1].is_number_unsigned() ||
        !pair[0].is_number_unsigned() || pair[0].get<uint64_t>() > UINT32_MAX) {
      Fail("memory that was never allocated");
      return ref;
    }
    ref.buffer = pair[0].get<BufferIndex>();
    ref.offset = pair[1].get<uint64_t>();
    return ref;
  }
  Shape Sizes(const json& list) {
    Shape sizes;
    if (!list.is_array() || list.size() > kMaxRank) {
      Fail("sizes of a tensor are not a list");
      return sizes;
    }
    for (const json& item : list) {
      if (!item.is_number_unsigned() || item.get<uint64_t>() > (uint64_t{1} << 48)) {
        Fail("a size of a tensor is out of range");
        return sizes;
      }
      sizes.push_back(item.get<int64_t>());
    }
    return sizes;
  }
  PlanTensor TensorOf(const json& item) {
    PlanTensor tensor;
    if (!item.is_object() || !item.contains("d") || !item["d"].is_string()) {
      Fail("not a tensor");
      return tensor;
    }
    const std::optional<DType> dtype = ParseDType(item["d"].get<std::string>());
    if (!dtype) Fail("a tensor of unknown dtype");
    tensor.dtype = dtype.value_or(DType::kFloat32);
    static const json kNull;
    tensor.shape = Sizes(item.contains("n") ? item["n"] : kNull);
    tensor.strides = Sizes(item.contains("t") ? item["t"] : kNull);
    tensor.at = ReferenceOf(item.contains("at") ? item["at"] : kNull);
    return tensor;
  }

  const json& object_;
  std::string error_;
};

std::optional<PlanBuffer::Kind> BufferKind(const std::string& name) {
  if (name == "input") return PlanBuffer::Kind::kInput;
  if (name == "workspace") return PlanBuffer::Kind::kWorkspace;
  if (name == "pinned") return PlanBuffer::Kind::kPinned;
  if (name == "managed") return PlanBuffer::Kind::kManaged;
  if (name == "variable") return PlanBuffer::Kind::kVariable;
  return std::nullopt;
}

// What the tracer may say: no word of it can be another stage's finding.
FindingKind HostKind(const std::string& word) {
  const FindingKind kind = FindingKindOf(word).value_or(FindingKind::kUnsupported);
  switch (kind) {
    case FindingKind::kException:
    case FindingKind::kCrash:
    case FindingKind::kForbidden:
    case FindingKind::kLaunchError:
    case FindingKind::kFailedLaunch:
    case FindingKind::kWrongResult:
    case FindingKind::kForged:
    case FindingKind::kExit:
    case FindingKind::kUseAfterFree:
    case FindingKind::kDoubleFree:
    case FindingKind::kInvalidFree:
    case FindingKind::kNoFunction:
    case FindingKind::kRace:
      return kind;
    default:
      return FindingKind::kUnsupported;
  }
}

// The action of a step line; nothing if it is no step.
std::optional<PlanStep> StepOf(const std::string& kind, Line& line) {
  PlanStep step;
  if (kind == "launch") {
    LaunchStep launch;
    launch.kernel = line.Text("k");
    launch.grid = line.Three("g");
    launch.block = line.Three("b");
    launch.cluster = line.Three("c");
    launch.dynamic_shared = line.Small("m");
    launch.cooperative = line.Flag("coop");
    launch.programmatic = line.Flag("pdl");
    launch.parameters = line.Bytes("p");
    step.action = std::move(launch);
  } else if (kind == "fill") {
    step.action = FillStep{.to = line.Reference("to"),
                           .value = line.Number("v"),
                           .element_bytes = line.Small("e"),
                           .width = line.Number("w"),
                           .height = line.Number("h"),
                           .depth = line.Number("d"),
                           .pitch = line.Number("pitch"),
                           .slice = line.Number("slice")};
  } else if (kind == "copy") {
    step.action = CopyStep{.to = line.Reference("to"),
                           .from = line.Reference("from"),
                           .width = line.Number("w"),
                           .height = line.Number("h"),
                           .depth = line.Number("d"),
                           .to_pitch = line.Number("tp"),
                           .from_pitch = line.Number("fp"),
                           .to_slice = line.Number("ts"),
                           .from_slice = line.Number("fs")};
  } else if (kind == "upload") {
    step.action = UploadStep{.to = line.Reference("to"), .data = line.Bytes("data")};
  } else if (kind == "read") {
    step.action = HostReadStep{.from = line.Reference("from"), .bytes = line.Number("n")};
  } else if (kind == "library") {
    step.action = LibraryStep{.op = line.Text("op"),
                              .arguments = line.Text("args"),
                              .tensors = line.Tensors("in"),
                              .outputs = line.Tensors("out")};
  } else if (kind == "event") {
    const std::string what = line.Text("k");
    const std::optional<EventStep::Kind> kind = EventKindOf(what);
    if (!kind) line.Fail("an event that is neither record nor wait nor synchronise");
    step.action =
        EventStep{.kind = kind.value_or(EventStep::Kind::kRecord), .event = line.Small("e")};
  } else {
    return std::nullopt;
  }
  step.stream = line.Small("st");
  step.apart = line.Flag("apart");
  step.site = line.Number("at");
  return step;
}

// Takes a trace line by line.
class TraceParser {
 public:
  explicit TraceParser(const PlanLimits& limits) : limits_(limits) {}

  Result<RawTrace> Run(std::string_view text) {
    while (!text.empty()) {
      ++number_;
      const size_t end = text.find('\n');
      // The child died while it wrote.
      if (end == std::string_view::npos) return Forged("it ends in the middle of a line");
      const json object = json::parse(text.substr(0, end), nullptr, false);
      text.remove_prefix(end + 1);
      if (!object.is_object()) return Forged("it is not an object");
      Line line(object);
      const std::string kind = line.Text("s");
      if (line.ok()) Take(kind, object, line);
      if (!line.ok()) return Forged(line.error());
    }
    return std::move(trace_);
  }

 private:
  Error Forged(const std::string& what) const {
    return InvalidInput(fmt::format("line {} of the trace: {}", number_, what));
  }

  void Take(const std::string& kind, const json& object, Line& line) {
    if (trace_.complete && kind != "finding") {
      line.Fail("something follows the end");
    } else if (kind == "buffer") {
      TakeBuffer(line);
    } else if (kind == "call") {
      trace_.calls.push_back({.number = line.Small("n"), .set = line.Small("set")});
    } else if (kind == "result") {
      RawTrace::Call& call = CurrentCall();
      if (call.returned) line.Fail("a second result");
      call.returned = true;
      call.outputs = line.Tensors("tensors");
    } else if (kind == "data") {
      if (trace_.data.size() >= CurrentCall().outputs.size()) line.Fail("data of no output");
      trace_.data.push_back(line.Bytes("hex"));
    } else if (kind == "calls") {
      TakeCounts(object, line);
    } else if (kind == "done") {
      if (!CurrentCall().returned) line.Fail("no result before the end");
      trace_.complete = true;
    } else if (kind == "finding") {
      RawFinding finding{.kind = HostKind(line.Text("kind")), .message = line.Text("message")};
      finding.site = object.contains("at") ? line.Number("at") : 0;
      finding.out_of_memory = object.contains("oom") && line.Flag("oom");
      if (finding.message.size() > kMaxText) finding.message.resize(kMaxText);
      if (trace_.findings.size() < 100) trace_.findings.push_back(std::move(finding));
    } else if (kind == "sandbox") {
      const auto walls = object.find("walls");
      if (walls == object.end() || !walls->is_array()) return line.Fail("no list of walls");
      for (const json& wall : *walls) {
        if (wall.is_string() && trace_.walls.size() < 16) trace_.walls.push_back(wall);
      }
    } else {
      TakeStep(kind, line);
    }
  }

  // What loading the library does comes before the first call and belongs to it.
  RawTrace::Call& CurrentCall() {
    if (trace_.calls.empty()) trace_.calls.emplace_back();
    return trace_.calls.back();
  }

  void TakeBuffer(Line& line) {
    RawTrace::Buffer buffer;
    if (line.Number("i") != trace_.buffers.size()) line.Fail("buffers out of order");
    buffer.address = line.Number("a");
    buffer.buffer.bytes = line.Number("n");
    const std::optional<PlanBuffer::Kind> kind = BufferKind(line.Text("kind"));
    if (!kind) line.Fail("a buffer of unknown kind");
    buffer.buffer.kind = kind.value_or(PlanBuffer::Kind::kWorkspace);
    if (buffer.buffer.kind == PlanBuffer::Kind::kInput) {
      buffer.set = line.Small("set");
      buffer.buffer.argument = line.Small("arg");
      buffer.buffer.name = line.Text("name");
    }
    if (buffer.buffer.kind == PlanBuffer::Kind::kVariable) buffer.buffer.name = line.Text("name");
    buffer.call = trace_.calls.empty() ? 0 : trace_.calls.size() - 1;
    trace_.buffers.push_back(std::move(buffer));
    if (trace_.buffers.size() > limits_.buffers) line.Fail("too many buffers");
  }

  void TakeCounts(const json& object, Line& line) {
    trace_.all_calls = line.Small("n");
    trace_.lost = line.Small("lost");
    trace_.lost_in = line.Small("in");
    const auto times = object.find("times");
    if (times == object.end() || !times->is_array() || times->size() != trace_.calls.size()) {
      return line.Fail("no counts of calls");
    }
    for (size_t i = 0; i < trace_.calls.size(); ++i) {
      if (!(*times)[i].is_number_unsigned()) return line.Fail("no counts of calls");
      trace_.calls[i].times = (*times)[i].get<uint32_t>();
    }
  }

  void TakeStep(const std::string& kind, Line& line) {
    std::optional<PlanStep> step = StepOf(kind, line);
    if (!step) return line.Fail(fmt::format("a step of unknown kind '{:.40}'", kind));
    if (const auto* upload = std::get_if<UploadStep>(&step->action)) {
      uploaded_ += upload->data.size();
      if (uploaded_ > limits_.upload_bytes) line.Fail("too many bytes from the host");
    }
    CurrentCall().steps.push_back(*std::move(step));
    if (++steps_ > 2 * limits_.steps) line.Fail("too many steps");
  }

  const PlanLimits& limits_;
  RawTrace trace_;
  size_t number_ = 0;
  uint64_t steps_ = 0;
  uint64_t uploaded_ = 0;
};

}  // namespace

Result<RawTrace> ParseRawTrace(std::string_view text, const PlanLimits& limits) {
  return TraceParser(limits).Run(text);
}

}  // namespace kernelsmith
