// How what a machine is like goes through instructions: clocks, places (SM, warp) and addresses.
//
// A value without a label is the same on every machine. A label names a *symbol*, a number that is
// known here and may be another elsewhere, and says that the value is that symbol plus something
// that is the same everywhere. So the difference of two addresses in one allocation has no label,
// and neither has which of them is the lower one. What is neither is opaque: of such a value only
// those bits are known that may vary.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "vgpu/ir.h"

namespace kernelsmith::checkers {

// Sets of these bits say what a value depends on.
namespace environment {
inline constexpr uint8_t kClock = 1;
inline constexpr uint8_t kPlace = 2;
inline constexpr uint8_t kAddress = 4;
}  // namespace environment

using Label = uint32_t;
inline constexpr Label kSameEverywhere = 0;

// One operand of one lane.
struct Labelled {
  uint64_t value = 0;
  Label label = kSameEverywhere;
};

class LabelTable {
 public:
  LabelTable();

  // A value of which the bits of `varies` may be others elsewhere; none: no label.
  Label Opaque(uint8_t origins, uint64_t varies);
  // An object of `size` bytes at `base`, a multiple of `alignment` wherever it lies.
  Label Object(uint64_t base, uint64_t size, uint64_t alignment);
  // The same in shared or local memory, whose addresses count from the block's or thread's first
  // byte.
  Label OwnObject(vgpu::MemorySpace space, uint64_t base, uint64_t alignment);
  // cvta and cvta.to: to generic addresses and back. `window` is where the space begins in them.
  Label Generic(const Labelled& own, uint64_t window);
  Label FromGeneric(Label generic);
  // mapa: the same place in another block's shared memory, `distance` further.
  Label Moved(Label generic, uint64_t distance);

  // Halves of a 64-bit value, and the value of two halves.
  Label LowHalf(const Labelled& whole);
  Label HighHalf(const Labelled& whole);
  Label Join(const Labelled& low, const Labelled& high);

  uint8_t OriginsOf(Label label) const { return symbols_[label].origins; }
  uint64_t VariesOf(Label label) const { return symbols_[label].varies; }
  // Why the place within the object that an access goes to may be another elsewhere; none: it is
  // the same, and memory may be accessed there.
  uint8_t OriginsOfPlace(Label label) const;
  // A value that is made of all these in a way that is not known.
  Label Mixed(uint8_t origins) { return origins == 0 ? kSameEverywhere : Opaque(origins, ~0ULL); }

  // The label of the result of `in` for one lane, whose result has `bits` bits. For instructions
  // whose result depends on the lane's own operands only.
  Label Result(const vgpu::Instruction& in, const Labelled& a, const Labelled& b, const Labelled& c,
               const Labelled& e, int bits);

 private:
  enum class Kind : uint8_t {
    kOpaque,
    kObject,      // an address
    kLow,         // the low half of `parent`
    kHigh,        // the upper half of `parent` plus `offset`
    kHighPlaced,  // the same where it belongs in 64 bits
    kScaled,      // `parent` shifted to the right: what descriptors of matrices hold
    kAligned,     // `parent` plus `offset`, rounded to a larger multiple than `parent` is one of
    kDifference,  // `parent` minus `other`, one of which may be missing
    kIndexed,     // `parent`, an object, plus `other`, which is opaque: a table's element
  };
  struct Symbol {
    Kind kind = Kind::kOpaque;
    uint8_t origins = 0;
    uint8_t bits = 64;  // it has no more
    uint64_t varies = 0;
    uint64_t base = 0;  // its value here
    uint64_t size = 0;
    Label parent = 0;
    Label other = 0;
    uint64_t offset = 0;
  };
  using Key = std::tuple<Kind, Label, Label, uint64_t, uint64_t>;

  Label Intern(const Key& key, const Symbol& symbol);
  bool IsSum(Label label, int bits) const;   // a symbol plus something
  bool IsNear(const Labelled& value) const;  // and not far from the object
  bool SameSymbol(const Labelled& a, const Labelled& b) const;
  Label Sum(const Labelled& a, const Labelled& b, bool subtract, int bits);
  Label Difference(Label plus, Label minus);
  Label Indexed(Label object, Label index, int bits);
  Label And(const Labelled& value, uint64_t mask, int bits);
  Label Bits(const Labelled& value, uint64_t changed, int bits);
  Label ShiftedRight(const Labelled& value, uint64_t amount, int bits);
  Label Resized(const Labelled& value, int from, int to, bool sign);
  // Nullopt-like: false where it is not known to be the same everywhere.
  bool ComparesAlike(const vgpu::Instruction& in, const Labelled& a, const Labelled& b) const;
  // By the bits that may vary alone.
  Label ByBits(const vgpu::Instruction& in, const Labelled& a, const Labelled& b, const Labelled& c,
               const Labelled& e, int bits);

  std::vector<Symbol> symbols_;
  std::map<Key, Label> known_;
};

}  // namespace kernelsmith::checkers
