// A finding: one fact against a program, with its place. Checkers make them, the sink folds what is
// the same defect into one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "support/diagnostic.h"
#include "support/finding_kind.h"
#include "vgpu/fault.h"
#include "vgpu/memory.h"
#include "vgpu/observer.h"

namespace kernelsmith::checkers {

const char* NameOf(Severity severity);  // "error", "warning", "note"

// Memory the address is in or near.
enum class Space : uint8_t { kNone, kGlobal, kShared, kLocal, kConstant, kParam };
const char* NameOf(Space space);  // "" for kNone

// A return address in host code: enough to find its line later, in another process.
struct HostFrame {
  std::string module;   // path of the program or library
  uint64_t offset = 0;  // in its file's address space
  std::string symbol;   // nearest exported symbol; empty: none
};

// Where in a kernel, or (kernel empty) in host code.
struct Place {
  std::string kernel;
  SourceLocation source;  // a place in the CUDA source; empty without -lineinfo
  SourceLocation ptx;
  std::string instruction;        // as PTX text
  std::string function;           // the function of host code, when known
  std::vector<HostFrame> frames;  // frames of host code, innermost first
  std::optional<vgpu::Dim3> block;
  std::optional<vgpu::Dim3> thread;
};

// The place where `lane` of the warp executes `instruction`.
Place PlaceOf(const std::string& kernel, const vgpu::WarpView& warp,
              const vgpu::Instruction& instruction, int lane);

struct Finding {
  FindingKind kind = FindingKind::kOutOfBounds;
  Severity severity = Severity::kError;
  Space space = Space::kNone;
  Place place;
  std::string message;  // one sentence, lower case, without the place
  uint64_t address = 0;
  uint64_t count = 1;
  // The other side of a race, the barrier others wait at, the first free, the origin of undefined
  // bits ...
  std::optional<Place> other;
  std::string other_message;                   // what happened there
  bool host_sees_it = false;                   // undefined bits of a kernel, at `other`
  bool between_operations = false;             // a race that streams or events could prevent
  bool decides = false;                        // undefined bits: a branch, a write or an address
  uint8_t environment = 0;                     // what decides: see environment_labels.h
  std::optional<vgpu::Allocation> allocation;  // in which or near which the address is
  std::optional<Place> allocated;              // where that was allocated
};

// Thread-safe.
class FindingSink {
 public:
  // The same defect (kind, source line or PTX line, kernel, space, and the same of the other side)
  // is kept once; `count` adds up. The number of the finding, for Count().
  size_t Add(Finding finding);
  // The defect with this number happened `times` more often.
  void Count(size_t number, uint64_t times);
  // Hears of each finding when it is new, with the sink locked.
  void SetListener(std::function<void(const Finding&)> listener);
  // In the order of their first appearance.
  std::vector<Finding> Findings() const;
  uint64_t size() const;
  bool HasErrors() const;

 private:
  using Key = std::tuple<FindingKind, Space, std::string, std::string, int, std::string, int>;
  mutable std::mutex mutex_;
  std::vector<Finding> findings_;
  std::function<void(const Finding&)> listener_;
  std::map<Key, size_t> index_;
};

}  // namespace kernelsmith::checkers
