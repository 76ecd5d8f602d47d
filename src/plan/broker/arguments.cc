#include "plan/broker/arguments.h"

#include <cstring>

#include "plan/plan.h"
#include "support/rng.h"
#include "vgpu/tensor_places.h"

namespace kernelsmith::broker {
namespace {

using cudart::Runtime;
using nlohmann::json;

constexpr uint64_t kPage = 4096;

std::optional<uint64_t> BytesOf(const json& described) {
  const std::optional<DType> dtype = ParseDType(described["dtype"].get<std::string>());
  if (!dtype) return std::nullopt;
  const std::optional<uint64_t> bytes = ExtentBytes({.dtype = *dtype,
                                                     .shape = described["shape"].get<Shape>(),
                                                     .strides = described["strides"].get<Shape>()});
  if (!bytes || *bytes == 0) return bytes;
  return *bytes + described.value("offset", uint64_t{0}) * static_cast<uint64_t>(SizeOf(*dtype));
}

using vgpu::kTensorAlignment;
using vgpu::kTensorBlock;

// An argument begins somewhere in its room, and behind each is a page that belongs to nobody.
uint64_t Room(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage + kPage + kTensorBlock; }

}  // namespace

std::optional<uint64_t> Arguments::RoomFor(const json& sets) {
  uint64_t room = 0;
  for (const json& set : sets) {
    const std::optional<uint64_t> one = RoomOf(set["arguments"]);
    if (!one) return std::nullopt;
    room += *one;
  }
  return room;
}

std::optional<uint64_t> Arguments::RoomOf(const json& described) {
  uint64_t room = 0;
  for (const json& one : described) {
    const std::string kind = one["kind"];
    if (kind == "list") {
      const std::optional<uint64_t> items = RoomOf(one["items"]);
      if (!items) return std::nullopt;
      room += *items;
    } else if (kind == "tensor") {
      const std::optional<uint64_t> bytes = BytesOf(one);
      if (!bytes) return std::nullopt;
      room += Room(*bytes);
    }
  }
  return room;
}

bool Arguments::PlaceOne(json& described, const std::function<bool(void*, size_t)>& read) {
  const std::string kind = described["kind"];
  if (kind == "list") {
    for (json& item : described["items"]) {
      if (!PlaceOne(item, read)) return false;
    }
    return true;
  }
  if (kind != "tensor") return true;
  const uint64_t bytes = *BytesOf(described);
  const uint64_t address =
      next_ + RandomSeed() % (kTensorBlock / kTensorAlignment) * kTensorAlignment;
  next_ += Room(bytes);
  vgpu::DeviceMemory& memory = Runtime::Get().memory();
  if (!memory.AllocateAt(address, bytes, vgpu::AllocationKind::kDevice, "an argument").ok()) {
    return false;
  }
  void* to = memory.HostAlias(address, bytes);
  // Memory that nobody wrote is zero and takes no room.
  const bool blank = described.value("blank", false);
  if (bytes > 0 && (to == nullptr || (!blank && !read(to, bytes)))) return false;
  const auto* data = static_cast<const std::byte*>(to);
  given_.back().push_back({address, described["name"], {data, data + (blank ? 0 : bytes)}});
  described["address"] = address;
  described["bytes"] = bytes;
  return true;
}

bool Arguments::Place(json& sets, uint64_t address,
                      const std::function<bool(void*, size_t)>& read) {
  next_ = address;
  for (json& set : sets) {
    given_.emplace_back();
    for (json& one : set["arguments"]) {
      if (!PlaceOne(one, read)) return false;
    }
  }
  return true;
}

void Arguments::AddTo(TraceRecorder& recorder) const {
  for (uint32_t set = 0; set < given_.size(); ++set) {
    for (uint32_t i = 0; i < given_[set].size(); ++i) {
      recorder.AddInput(given_[set][i].address, given_[set][i].name, set, i);
    }
  }
}

void Arguments::Restore(uint32_t set) const {
  for (const Given& one : given_.at(set)) {
    void* to = Runtime::Get().memory().HostAlias(one.address, one.bytes.size());
    if (to != nullptr && !one.bytes.empty()) std::memcpy(to, one.bytes.data(), one.bytes.size());
  }
}

}  // namespace kernelsmith::broker
