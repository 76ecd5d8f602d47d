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
  // Bytes that the tensors of `described` take in device memory, with what lies between them.
  static std::optional<uint64_t> RoomFor(const nlohmann::json& described);

  // Places them from `address` on; `read` gives the next bytes of the request. False: the request
  // is none.
  bool Place(nlohmann::json& described, uint64_t address,
             const std::function<bool(void*, size_t)>& read);
  void AddTo(TraceRecorder& recorder) const;
  // Their memory becomes what it was given, also where the candidate changed it.
  void Restore() const;

 private:
  struct Given {
    uint64_t address = 0;
    std::string name;
    std::vector<std::byte> bytes;  // empty: all zeros, and not worth restoring
  };
  bool PlaceOne(nlohmann::json& described, const std::function<bool(void*, size_t)>& read);

  uint64_t next_ = 0;
  std::vector<Given> given_;
};

}  // namespace kernelsmith::broker
