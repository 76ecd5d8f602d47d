#include "plan/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <map>

namespace kernelsmith {
namespace {

constexpr const char* kKindNames[] = {"input", "workspace", "pinned", "managed", "variable"};

std::string Quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < ' ' || byte == 127) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string Hex(const std::vector<std::byte>& bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return text;
}

std::string Ref(const BufferRef& ref) { return fmt::format("{}+{}", ref.buffer, ref.offset); }
std::string Three(const vgpu::Dim3& d) { return fmt::format("{},{},{}", d.x, d.y, d.z); }
std::string List(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::string Pointers(const std::vector<PointerPatch>& pointers) {
  std::string text;
  for (const PointerPatch& pointer : pointers) {
    text += fmt::format(" {}={}", pointer.at, Ref(pointer.target));
  }
  return text.empty() ? text : " pointers" + text;
}

std::string TensorText(const PlanTensor& tensor) {
  return fmt::format("{} {} strides {} at {}", DTypeName(tensor.dtype), List(tensor.shape),
                     List(tensor.strides), Ref(tensor.at));
}

std::string Box(uint64_t width, uint64_t height, uint64_t depth) {
  return fmt::format("{},{},{}", width, height, depth);
}

struct StepWriter {
  std::string operator()(const LaunchStep& s) const {
    std::string text =
        fmt::format("launch {} grid {} block {}", Quote(s.kernel), Three(s.grid), Three(s.block));
    if (s.cluster != vgpu::Dim3{}) text += " cluster " + Three(s.cluster);
    if (s.dynamic_shared != 0) text += fmt::format(" shared {}", s.dynamic_shared);
    if (s.cooperative) text += " cooperative";
    if (s.programmatic) text += " programmatic";
    if (!s.parameters.empty()) text += " parameters " + Hex(s.parameters);
    return text + Pointers(s.pointers);
  }
  std::string operator()(const FillStep& s) const {
    return fmt::format("fill {} value {:#x} element {} box {} pitch {},{}", Ref(s.to), s.value,
                       s.element_bytes, Box(s.width, s.height, s.depth), s.pitch, s.slice);
  }
  std::string operator()(const CopyStep& s) const {
    return fmt::format("copy {} from {} box {} pitch {},{} from-pitch {},{}", Ref(s.to),
                       Ref(s.from), Box(s.width, s.height, s.depth), s.to_pitch, s.to_slice,
                       s.from_pitch, s.from_slice);
  }
  std::string operator()(const UploadStep& s) const {
    return fmt::format("upload {} data {}", Ref(s.to), s.data.empty() ? "-" : Hex(s.data)) +
           Pointers(s.pointers);
  }
  std::string operator()(const HostReadStep& s) const {
    return fmt::format("read {} bytes {}", Ref(s.from), s.bytes);
  }
  std::string operator()(const LibraryStep& s) const {
    std::string text = fmt::format("library {} arguments {}", Quote(s.op), Quote(s.arguments));
    for (const PlanTensor& tensor : s.tensors) text += " input " + TensorText(tensor);
    for (const PlanTensor& tensor : s.outputs) text += " output " + TensorText(tensor);
    return text;
  }
  std::string operator()(const EventStep& s) const {
    return fmt::format("event {} {}", Name(s.kind), s.event);
  }
};

std::string StepText(const PlanStep& step) {
  std::string text = std::visit(StepWriter{}, step.action);
  if (step.stream != 0) text += fmt::format(" stream {}", step.stream);
  if (step.apart) text += " apart";
  if (step.site != 0) text += fmt::format(" site {:#x}", step.site);
  return text;
}

// The words of one line. The first thing that is wrong sticks.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) { Skip(); }

  bool done() const { return rest_.empty(); }
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  void Fail(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    rest_ = {};
  }

  std::string Next(const char* what) {
    if (rest_.empty()) {
      Fail(fmt::format("expected {}", what));
      return {};
    }
    const size_t end = std::min(rest_.find(' '), rest_.size());
    std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    Skip();
    return word;
  }
  std::string_view Peek() const { return rest_.substr(0, std::min(rest_.find(' '), rest_.size())); }
  bool Take(std::string_view word) {
    if (Peek() != word) return false;
    rest_.remove_prefix(word.size());
    Skip();
    return true;
  }
  void Expect(std::string_view word) {
    if (!Take(word)) Fail(fmt::format("expected '{}'", word));
  }

  uint64_t ToNumber(std::string_view text) {
    int base = 10;
    if (text.starts_with("0x")) {
      text.remove_prefix(2);
      base = 16;
    }
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
      Fail(fmt::format("expected a number, found '{:.40}'", text));
    }
    return value;
  }
  uint64_t Number(const char* what = "a number") { return ToNumber(Next(what)); }
  uint32_t Small(const char* what = "a number") {
    const uint64_t value = Number(what);
    if (value > UINT32_MAX) Fail("a number is too large");
    return static_cast<uint32_t>(value);
  }
  std::vector<uint64_t> Numbers(std::string_view text, size_t count) {
    std::vector<uint64_t> values;
    while (ok()) {
      const size_t comma = text.find(',');
      values.push_back(ToNumber(text.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    if (values.size() != count) Fail(fmt::format("expected {} numbers", count));
    values.resize(count);
    return values;
  }
  std::vector<uint64_t> Tuple(size_t count) {
    const std::string word = Next("numbers");
    return Numbers(word, count);
  }
  vgpu::Dim3 Dim() {
    const std::vector<uint64_t> v = Tuple(3);
    for (const uint64_t x : v) {
      if (x > UINT32_MAX) Fail("a number is too large");
    }
    return {static_cast<uint32_t>(v[0]), static_cast<uint32_t>(v[1]), static_cast<uint32_t>(v[2])};
  }
  BufferRef ToRef(std::string_view text) {
    const size_t plus = text.find('+');
    if (plus == std::string_view::npos) {
      Fail("expected buffer+offset");
      return {};
    }
    const uint64_t buffer = ToNumber(text.substr(0, plus));
    if (buffer > UINT32_MAX) Fail("a number is too large");
    return {static_cast<BufferIndex>(buffer), ToNumber(text.substr(plus + 1))};
  }
  BufferRef Reference() { return ToRef(Next("buffer+offset")); }
  Shape Sizes() {
    std::string word = Next("a list");
    Shape shape;
    if (word.size() < 2 || word.front() != '[' || word.back() != ']') {
      Fail("expected a list in brackets");
      return shape;
    }
    std::string_view text = std::string_view(word).substr(1, word.size() - 2);
    while (ok() && !text.empty()) {
      const size_t comma = text.find(',');
      const uint64_t size = ToNumber(text.substr(0, comma));
      if (size > uint64_t{1} << 48) Fail("a size is too large");
      shape.push_back(static_cast<int64_t>(size));
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    return shape;
  }
  std::string Quoted() {
    if (rest_.empty() || rest_[0] != '"') {
      Fail("expected a name in quotes");
      return {};
    }
    std::string text;
    size_t i = 1;
    for (; i < rest_.size() && rest_[i] != '"'; ++i) {
      if (rest_[i] != '\\') {
        text += rest_[i];
        continue;
      }
      unsigned value = 0;
      if (i + 3 >= rest_.size() || rest_[i + 1] != 'x' ||
          std::from_chars(rest_.data() + i + 2, rest_.data() + i + 4, value, 16).ptr !=
              rest_.data() + i + 4) {
        Fail("expected \\xNN");
        return {};
      }
      text += static_cast<char>(value);
      i += 3;
    }
    if (i >= rest_.size()) {
      Fail("a quote is not closed");
      return {};
    }
    rest_.remove_prefix(i + 1);
    Skip();
    return text;
  }
  std::vector<std::byte> Bytes() {
    const std::string word = Next("bytes");
    std::vector<std::byte> bytes;
    if (word == "-") return bytes;
    if (word.size() % 2 != 0) Fail("expected an even number of hexadecimal digits");
    for (size_t i = 0; ok() && i + 1 < word.size(); i += 2) {
      unsigned value = 0;
      const char* begin = word.data() + i;
      if (std::from_chars(begin, begin + 2, value, 16).ptr != begin + 2) {
        Fail("expected hexadecimal digits");
      }
      bytes.push_back(static_cast<std::byte>(value));
    }
    return bytes;
  }
  std::vector<PointerPatch> Patches() {
    std::vector<PointerPatch> pointers;
    if (!Take("pointers")) return pointers;
    while (ok() && Peek().find('=') != std::string_view::npos) {
      const std::string word = Next("a pointer");
      const size_t equals = word.find('=');
      const uint64_t at = ToNumber(std::string_view(word).substr(0, equals));
      if (at > UINT32_MAX) Fail("a number is too large");
      pointers.push_back(
          {static_cast<uint32_t>(at), ToRef(std::string_view(word).substr(equals + 1))});
    }
    return pointers;
  }
  PlanTensor ReadTensor() {
    PlanTensor tensor;
    const std::optional<DType> dtype = ParseDType(Next("a dtype"));
    if (!dtype) Fail("expected a dtype");
    tensor.dtype = dtype.value_or(DType::kFloat32);
    tensor.shape = Sizes();
    Expect("strides");
    tensor.strides = Sizes();
    Expect("at");
    tensor.at = Reference();
    return tensor;
  }

 private:
  void Skip() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }

  std::string_view rest_;
  std::string error_;
};

std::optional<PlanStep> ReadStep(const std::string& kind, Words& words) {
  PlanStep step;
  if (kind == "launch") {
    LaunchStep s;
    s.kernel = words.Quoted();
    words.Expect("grid");
    s.grid = words.Dim();
    words.Expect("block");
    s.block = words.Dim();
    if (words.Take("cluster")) s.cluster = words.Dim();
    if (words.Take("shared")) s.dynamic_shared = words.Small();
    s.cooperative = words.Take("cooperative");
    s.programmatic = words.Take("programmatic");
    if (words.Take("parameters")) s.parameters = words.Bytes();
    s.pointers = words.Patches();
    step.action = std::move(s);
  } else if (kind == "fill") {
    FillStep s;
    s.to = words.Reference();
    words.Expect("value");
    s.value = words.Number();
    words.Expect("element");
    s.element_bytes = words.Small();
    words.Expect("box");
    const std::vector<uint64_t> box = words.Tuple(3);
    words.Expect("pitch");
    const std::vector<uint64_t> pitch = words.Tuple(2);
    s.width = box[0];
    s.height = box[1];
    s.depth = box[2];
    s.pitch = pitch[0];
    s.slice = pitch[1];
    step.action = s;
  } else if (kind == "copy") {
    CopyStep s;
    s.to = words.Reference();
    words.Expect("from");
    s.from = words.Reference();
    words.Expect("box");
    const std::vector<uint64_t> box = words.Tuple(3);
    words.Expect("pitch");
    const std::vector<uint64_t> to = words.Tuple(2);
    words.Expect("from-pitch");
    const std::vector<uint64_t> from = words.Tuple(2);
    s.width = box[0];
    s.height = box[1];
    s.depth = box[2];
    s.to_pitch = to[0];
    s.to_slice = to[1];
    s.from_pitch = from[0];
    s.from_slice = from[1];
    step.action = s;
  } else if (kind == "upload") {
    UploadStep s;
    s.to = words.Reference();
    words.Expect("data");
    s.data = words.Bytes();
    s.pointers = words.Patches();
    step.action = std::move(s);
  } else if (kind == "read") {
    HostReadStep s;
    s.from = words.Reference();
    words.Expect("bytes");
    s.bytes = words.Number();
    step.action = s;
  } else if (kind == "library") {
    LibraryStep s;
    s.op = words.Quoted();
    words.Expect("arguments");
    s.arguments = words.Quoted();
    while (words.Take("input")) s.tensors.push_back(words.ReadTensor());
    while (words.Take("output")) s.outputs.push_back(words.ReadTensor());
    step.action = std::move(s);
  } else if (kind == "event") {
    const auto found = EventKindOf(words.Next("record, wait or synchronise"));
    if (!found) words.Fail("expected record, wait or synchronise");
    EventStep s;
    if (found) s.kind = *found;
    s.event = words.Small();
    step.action = s;
  } else {
    return std::nullopt;
  }
  if (words.Take("stream")) step.stream = words.Small();
  step.apart = words.Take("apart");
  if (words.Take("site")) step.site = words.Number();
  return step;
}

PlanBuffer ReadBuffer(Words& words) {
  PlanBuffer buffer;
  const std::string kind = words.Next("a kind of buffer");
  bool known = false;
  for (size_t i = 0; i < std::size(kKindNames); ++i) {
    if (kind != kKindNames[i]) continue;
    buffer.kind = static_cast<PlanBuffer::Kind>(i);
    known = true;
  }
  if (!known) words.Fail("expected a kind of buffer");
  buffer.bytes = words.Number("the number of bytes");
  if (words.Take("argument")) buffer.argument = words.Small();
  if (words.Take("name")) buffer.name = words.Quoted();
  buffer.prepared = words.Take("prepared");
  return buffer;
}

}  // namespace

std::string FormatPlan(const Plan& plan) {
  std::string text = "plan 1\n";
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const PlanBuffer& buffer = plan.buffers[i];
    text += fmt::format("buffer {} {} {}", i, kKindNames[static_cast<size_t>(buffer.kind)],
                        buffer.bytes);
    if (buffer.kind == PlanBuffer::Kind::kInput)
      text += fmt::format(" argument {}", buffer.argument);
    if (!buffer.name.empty()) text += " name " + Quote(buffer.name);
    if (buffer.prepared) text += " prepared";
    text += '\n';
  }
  if (!plan.preparation.empty()) {
    text += "preparation\n";
    for (const PlanStep& step : plan.preparation) text += StepText(step) + '\n';
    text += "call\n";
  }
  for (const PlanStep& step : plan.steps) text += StepText(step) + '\n';
  for (const PlanTensor& output : plan.outputs) text += "output " + TensorText(output) + '\n';
  return text;
}

Result<Plan> ParsePlan(std::string_view text, const std::string& file) {
  Plan plan;
  int number = 0;
  bool preparing = false;
  const auto fail = [&](const std::string& message) {
    return Error(ErrorKind::kInvalidInput,
                 Diagnostic{.where = {.file = file, .line = number}, .message = message});
  };
  bool header = false;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    Words words(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.done()) continue;
    if (!header) {
      words.Expect("plan");
      if (words.Number() != 1 || !words.ok()) return fail("expected 'plan 1'");
      header = true;
      continue;
    }
    const std::string kind = words.Next("a step");
    if (kind == "buffer") {
      if (words.Number() != plan.buffers.size()) words.Fail("buffers must be numbered in order");
      plan.buffers.push_back(ReadBuffer(words));
    } else if (kind == "preparation") {
      preparing = true;
    } else if (kind == "call") {
      preparing = false;
    } else if (kind == "output") {
      plan.outputs.push_back(words.ReadTensor());
    } else {
      std::optional<PlanStep> step = ReadStep(kind, words);
      if (!step) return fail(fmt::format("unknown step '{:.40}'", kind));
      (preparing ? plan.preparation : plan.steps).push_back(*std::move(step));
    }
    if (words.ok() && !words.done()) words.Fail(fmt::format("unexpected '{:.40}'", words.Peek()));
    if (!words.ok()) return fail(words.error());
  }
  if (!header) return fail("expected 'plan 1'");
  return plan;
}

}  // namespace kernelsmith
