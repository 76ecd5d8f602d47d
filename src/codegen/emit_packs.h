// Several neighbours at a time: loads and stores of packs along one axis. Not for other folders.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/emit.h"

namespace kernelsmith::codegen {

// A value of the loop, and where it is stored, if it is.
struct PackedValue {
  Scalar body;  // flattened
  std::optional<BufferId> store;
  Int flat;
};

// Whether values may be computed in packs along `axis`: they are stored side by side, something is
// loaded or stored side by side, and nothing is guarded.
bool CanPack(const std::vector<PackedValue>& values, const Atom& axis);

// Elements in a pack that make the most of 16 bytes, given the types that are loaded and stored.
int64_t BestPack(const Program& program, const std::vector<PackedValue>& values, const Atom& axis);

// The code around one pack:
//
//   PackLoop loop(out, axis, 4);
//   values = loop.Begin(values, "first", extent);   // loads; opens a loop over its elements
//   ...                                             // bodies, with loads replaced
//   loop.Keep(i, text);                             // what value i is, where it is stored
//   loop.End();                                     // closes the loop, stores
class PackLoop {
 public:
  PackLoop(KernelWriter& out, Atom axis, int64_t width);

  std::vector<PackedValue> Begin(const std::vector<PackedValue>& values, const std::string& first,
                                 const std::string& extent);
  void Keep(size_t value, const std::string& text);
  void End();

  // "c < count": whether the element exists.
  std::string Exists() const { return element_ + " < " + count_; }
  const std::string& element() const { return element_; }

 private:
  KernelWriter& out_;
  Atom axis_;
  int64_t width_;
  std::string first_, count_, element_, position_, wide_;
  struct Stored {
    size_t value;
    BufferId id;
    Int flat;
    std::string pack;
  };
  std::vector<Stored> stored_;
};

}  // namespace kernelsmith::codegen
