// What the broker and the child that runs a candidate's host code say to each other.
//
// The child is hostile. Each of its messages is a call of the CUDA runtime or of a library, or the
// end of a call of the candidate, and nothing else: whoever writes one by hand has only made that
// call. Nothing in a message says what it means for the plan, which is the broker's to decide.
//
// A frame is a kind and a length, four and eight bytes, and then the fields in the order in which
// Fields() names them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "vgpu/fault.h"

namespace kernelsmith::protocol {

// The child's descriptor of the socket between the two.
inline constexpr int kChannel = 3;

enum class Kind : uint32_t {
  // From the broker.
  kStart,  // StartMessage: the answer to kHello
  kLoad,   // LoadMessage: load the candidate's library
  kCall,   // CallMessage: call the candidate's function once
  kData,   // DataMessage: the answer to kRead, kSynchronise
  // From the child.
  kHello,        // HelloMessage: the first one
  kWalls,        // WallsMessage: the sandbox stands; nothing of the candidate has run
  kLoaded,       // LoadedMessage
  kModule,       // ModuleMessage: device code is loaded
  kAllocate,     // AllocateMessage
  kFree,         // FreeMessage
  kAttribute,    // AttributeMessage: cudaFuncSetAttribute
  kLaunch,       // LaunchMessage
  kCopy,         // CopyMessage: from device to device
  kFill,         // FillMessage
  kUpload,       // UploadMessage: bytes of the host go to the device
  kRead,         // ReadMessage: the host looks at device memory
  kSynchronise,  // SynchroniseMessage: all work so far must have had its effect
  kLibrary,      // LibraryMessage: an operator of PyTorch or cuBLAS
  kRecord,       // EventMessage
  kWait,         // EventMessage: a stream waits
  kWaited,       // EventMessage: the host has waited, for an event or (kEverything) all streams
  kReturned,     // ReturnedMessage: the candidate's function came back
  kThrew,        // ThrewMessage: it did not
};
inline constexpr Kind kLastKind = Kind::kThrew;

struct FrameHeader {
  uint32_t kind = 0;
  uint64_t length = 0;
};
inline constexpr size_t kFrameHeaderBytes = 12;
FrameHeader ReadFrameHeader(const std::byte* bytes);

struct Tensor {
  std::string dtype;  // as in docs/graph_format.md
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  uint64_t address = 0;
  bool operator==(const Tensor&) const = default;
  template <typename A>
  void Fields(A& a) {
    a(dtype, shape, strides, address);
  }
};

// Device addresses mean something in the child only, so it is the child that has room for them.
struct HelloMessage {
  uint64_t base = 0;
  uint64_t reserve = 0;
  template <typename A>
  void Fields(A& a) {
    a(base, reserve);
  }
};

struct StartMessage {
  std::string request;  // JSON: what to load and to call, and where the arguments lie
  uint64_t placed = 0;  // the arguments lie in the first bytes of the range
  uint64_t capacity = 0;
  template <typename A>
  void Fields(A& a) {
    a(request, placed, capacity);
  }
};

struct LoadMessage {
  template <typename A>
  void Fields(A& a) {
    a();
  }
};

struct CallMessage {
  uint32_t number = 0;
  uint32_t set = 0;  // which of the request's sets of arguments it gets
  template <typename A>
  void Fields(A& a) {
    a(number, set);
  }
};

struct DataMessage {
  int32_t error = 0;  // a cudaError_t: the fault of a kernel that has run
  std::vector<std::byte> bytes;
  template <typename A>
  void Fields(A& a) {
    a(error, bytes);
  }
};

struct WallsMessage {
  std::vector<std::string> walls;
  uint64_t loader_begin = 0;  // the code of the dynamic loader
  uint64_t loader_end = 0;
  template <typename A>
  void Fields(A& a) {
    a(walls, loader_begin, loader_end);
  }
};

struct LoadedMessage {
  std::string problem;  // not empty: it could not be loaded
  template <typename A>
  void Fields(A& a) {
    a(problem);
  }
};

struct ModuleMessage {
  std::string ptx;  // the text
  template <typename A>
  void Fields(A& a) {
    a(ptx);
  }
};

// What the child may have in its address space.
enum class Memory : uint32_t { kDevice, kManaged, kPinned, kRegistered, kGlobal, kConstant };
constexpr Memory LastOf(Memory) { return Memory::kConstant; }

struct AllocateMessage {
  uint64_t address = 0;
  uint64_t bytes = 0;
  Memory memory = Memory::kDevice;
  std::string variable;  // the name of the module's variable that it is; empty: it is none
  template <typename A>
  void Fields(A& a) {
    a(address, bytes, memory, variable);
  }
};

struct FreeMessage {
  uint64_t address = 0;
  bool refused = false;  // the runtime gave an error: it is no allocation of the host code
  uint64_t site = 0;
  template <typename A>
  void Fields(A& a) {
    a(address, refused, site);
  }
};

struct AttributeMessage {
  std::string kernel;
  int32_t max_dynamic_shared = -1;
  bool non_portable_cluster = false;
  int32_t cluster_x = 0;
  int32_t cluster_y = 0;
  int32_t cluster_z = 0;
  template <typename A>
  void Fields(A& a) {
    a(kernel, max_dynamic_shared, non_portable_cluster, cluster_x, cluster_y, cluster_z);
  }
};

// Of all work: where in the candidate's library the call was made (0: not known), and in which
// stream.
struct Place {
  uint64_t site = 0;
  uint64_t stream = 0;  // 0 is the default stream
  bool apart = false;   // the stream neither waits for the default stream nor that for it
  template <typename A>
  void Fields(A& a) {
    a(site, stream, apart);
  }
};

struct LaunchMessage {
  Place place;
  std::string kernel;
  vgpu::Dim3 grid;
  vgpu::Dim3 block;
  vgpu::Dim3 cluster;
  uint64_t dynamic_shared = 0;
  bool cooperative = false;
  bool programmatic = false;
  std::vector<std::byte> parameters;
  template <typename A>
  void Fields(A& a) {
    a(place, kernel, grid, block, cluster, dynamic_shared, cooperative, programmatic, parameters);
  }
};

struct CopyMessage {
  Place place;
  uint64_t to = 0;
  uint64_t from = 0;
  uint64_t width = 0;
  uint64_t height = 0;
  uint64_t depth = 0;
  uint64_t to_pitch = 0;
  uint64_t from_pitch = 0;
  uint64_t to_slice = 0;
  uint64_t from_slice = 0;
  template <typename A>
  void Fields(A& a) {
    a(place, to, from, width, height, depth, to_pitch, from_pitch, to_slice, from_slice);
  }
};

struct FillMessage {
  Place place;
  uint64_t to = 0;
  uint64_t value = 0;
  uint32_t element_bytes = 1;
  uint64_t width = 0;
  uint64_t height = 0;
  uint64_t depth = 0;
  uint64_t pitch = 0;
  uint64_t slice = 0;
  template <typename A>
  void Fields(A& a) {
    a(place, to, value, element_bytes, width, height, depth, pitch, slice);
  }
};

struct UploadMessage {
  Place place;
  uint64_t to = 0;
  std::vector<std::byte> bytes;
  template <typename A>
  void Fields(A& a) {
    a(place, to, bytes);
  }
};

struct ReadMessage {
  Place place;
  uint64_t from = 0;
  uint64_t bytes = 0;
  template <typename A>
  void Fields(A& a) {
    a(place, from, bytes);
  }
};

// Answered with the contents of the memory that the host can see, the ranges one after the other.
struct SynchroniseMessage {
  struct Range {
    uint64_t address = 0;
    uint64_t bytes = 0;
    template <typename A>
    void Fields(A& a) {
      a(address, bytes);
    }
  };
  std::vector<Range> ranges;
  template <typename A>
  void Fields(A& a) {
    a(ranges);
  }
};

struct LibraryMessage {
  Place place;
  std::string op;
  std::string arguments;  // JSON
  std::vector<Tensor> tensors;
  std::vector<Tensor> outputs;
  template <typename A>
  void Fields(A& a) {
    a(place, op, arguments, tensors, outputs);
  }
};

struct EventMessage {
  static constexpr uint32_t kEverything = UINT32_MAX;
  Place place;
  uint32_t event = 0;
  template <typename A>
  void Fields(A& a) {
    a(place, event);
  }
};

struct ReturnedMessage {
  std::vector<Tensor> tensors;
  std::string problem;             // not empty: what came back are no tensors of the GPU
  std::string error;               // cudaGetLastError after the call; empty: none
  std::string failed_launch;       // a launch that failed, and whose error was cleared
  bool ran_out_of_memory = false;  // the error is for want of device memory
  template <typename A>
  void Fields(A& a) {
    a(tensors, problem, error, failed_launch, ran_out_of_memory);
  }
};

struct ThrewMessage {
  enum class Why : uint8_t {
    kException,    // of the candidate; the text is its own
    kUnsupported,  // it asked for more than the light headers have
    kNoFunction,   // nothing has the name that the task asks for
    kHostRace      // it wrote to memory of the host that the device still reads
  };
  friend constexpr Why LastOf(Why) { return Why::kHostRace; }
  Why why = Why::kException;
  std::string text;
  bool ran_out_of_memory = false;
  uint64_t site = 0;
  template <typename A>
  void Fields(A& a) {
    a(why, text, ran_out_of_memory, site);
  }
};

// Appends fields to a string.
class Writer {
 public:
  template <typename... T>
  void operator()(const T&... fields) {
    (Put(fields), ...);
  }
  std::string& text() { return text_; }

 private:
  void Raw(const void* data, size_t bytes) { text_.append(static_cast<const char*>(data), bytes); }
  template <typename T>
  void Put(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      text_.push_back(value ? 1 : 0);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      Raw(&value, sizeof value);
    } else if constexpr (std::is_same_v<T, vgpu::Dim3>) {
      (*this)(value.x, value.y, value.z);
    } else {
      const_cast<T&>(value).Fields(*this);
    }
  }
  void Put(const std::string& value) {
    Put(uint64_t{value.size()});
    Raw(value.data(), value.size());
  }
  void Put(const std::vector<std::byte>& value) {
    Put(uint64_t{value.size()});
    Raw(value.data(), value.size());
  }
  template <typename T>
  void Put(const std::vector<T>& values) {
    Put(uint64_t{values.size()});
    for (const T& value : values) Put(value);
  }

  std::string text_;
};

// Takes fields from bytes that nobody vouches for; what is missing or too long makes it fail.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  template <typename... T>
  void operator()(T&... fields) {
    (Get(fields), ...);
  }
  // All of it was there, and nothing else.
  bool complete() const { return !failed_ && rest_.empty(); }

 private:
  void Raw(void* to, size_t bytes) {
    if (failed_ || rest_.size() < bytes) {
      failed_ = true;
      return;
    }
    if (bytes == 0) return;  // an empty vector has no address
    std::memcpy(to, rest_.data(), bytes);
    rest_.remove_prefix(bytes);
  }
  template <typename T>
  void Get(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      uint8_t byte = 0;
      Raw(&byte, 1);
      failed_ |= byte > 1;
      value = byte == 1;
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> number = 0;
      Raw(&number, sizeof number);
      failed_ |= number > static_cast<std::underlying_type_t<T>>(LastOf(T{}));
      value = failed_ ? T{} : static_cast<T>(number);
    } else if constexpr (std::is_integral_v<T>) {
      Raw(&value, sizeof value);
    } else if constexpr (std::is_same_v<T, vgpu::Dim3>) {
      (*this)(value.x, value.y, value.z);
    } else {
      value.Fields(*this);
    }
  }
  // A length that the rest can't hold is no length. Every element takes at least `smallest` bytes.
  size_t Length(size_t smallest) {
    uint64_t length = 0;
    Raw(&length, sizeof length);
    if (failed_ || length > rest_.size() / smallest) {
      failed_ = true;
      return 0;
    }
    return static_cast<size_t>(length);
  }
  void Get(std::string& value) {
    value.resize(Length(1));
    Raw(value.data(), value.size());
  }
  void Get(std::vector<std::byte>& value) {
    value.resize(Length(1));
    Raw(value.data(), value.size());
  }
  template <typename T>
  void Get(std::vector<T>& values) {
    const size_t length = Length(8);
    values.clear();
    for (size_t i = 0; i < length && !failed_; ++i) Get(values.emplace_back());
  }

  std::string_view rest_;
  bool failed_ = false;
};

// A whole frame.
template <typename Message>
std::string Encode(Kind kind, const Message& message) {
  Writer writer;
  writer(static_cast<uint32_t>(kind), uint64_t{0});
  const_cast<Message&>(message).Fields(writer);
  const uint64_t length = writer.text().size() - kFrameHeaderBytes;
  std::memcpy(writer.text().data() + 4, &length, sizeof length);
  return std::move(writer.text());
}

// The message in what follows a frame's header; nothing if it is none.
template <typename Message>
std::optional<Message> Decode(std::string_view payload) {
  Message message;
  Reader reader(payload);
  message.Fields(reader);
  if (!reader.complete()) return std::nullopt;
  return message;
}

}  // namespace kernelsmith::protocol
