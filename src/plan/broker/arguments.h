// The arguments of the candidate's function: read from the request, placed in device memory, and
// described for the child, which never sees what is in them unless it asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "plan/broker/recorder.h"

namespace kernelsmith::broker {

class Arguments {
 public:
  // Bytes that the tensors of `sets` take in device memory, with what lies between them.
  static std::optional<uint64_t> RoomFor(const nlohmann::json& sets);

  // Places the arguments of every set from `address` on; `read` gives the next bytes of the
  // request. False: the request is none.
  bool Place(nlohmann::json& sets, uint64_t address,
             const std::function<bool(void*, size_t)>& read);
  void AddTo(TraceRecorder& recorder) const;
  // The memory of a set becomes what it was given, also where the candidate changed it.
  void Restore(uint32_t set) const;

 private:
  struct Given {
    uint64_t address = 0;
    std::string name;
    std::vector<std::byte> bytes;  // empty: all zeros, and not worth restoring
  };
  static std::optional<uint64_t> RoomOf(const nlohmann::json& described);
  bool PlaceOne(nlohmann::json& described, const std::function<bool(void*, size_t)>& read);

  uint64_t next_ = 0;
  std::vector<std::vector<Given>> given_;  // by set
};

}  // namespace kernelsmith::broker
