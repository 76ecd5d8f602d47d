// What the addresses of a function's accesses were made from, by a look at its text: an array in
// shared memory, a parameter of the kernel, or nothing that can be told. A register counts for all
// of the function: compilers give each value one of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/syntax.h"

namespace kernelsmith::checkers {

struct PointerOrigin {
  enum class Kind : uint8_t {
    kUnset,      // no value yet
    kNumber,     // an index, a size: no address as far as can be seen
    kShared,     // from the address of a variable in shared memory, plus numbers
    kParameter,  // from a 64-bit parameter of the kernel, plus numbers
    kUnknown,    // from several of these, or from what is not followed
  };
  Kind kind = Kind::kUnset;
  ptx::Symbol symbol;  // the variable (without its number of `x<n>`) or the parameter
  bool operator==(const PointerOrigin&) const = default;
};

class PointerOrigins {
 public:
  // Both must outlive it.
  PointerOrigins(const ptx::Module& module, const ptx::Function& function);

  // Of the address of a load, store or atomic; kUnknown for all other instructions.
  PointerOrigin OfAddress(const ptx::Instruction& instruction) const;

 private:
  using Kind = PointerOrigin::Kind;

  PointerOrigin Of(const ptx::Operand& operand) const;
  // Of a sum, a difference, and of what may be the one or the other.
  static PointerOrigin Sum(const PointerOrigin& a, const PointerOrigin& b);
  static PointerOrigin Difference(const PointerOrigin& a, const PointerOrigin& b);
  static PointerOrigin Either(const PointerOrigin& a, const PointerOrigin& b);
  PointerOrigin ResultOf(const ptx::Instruction& instruction) const;
  PointerOrigin Loaded(const ptx::Instruction& load) const;
  // Of a result that depends on all sources in a way that is not followed.
  PointerOrigin Mixed(const ptx::Instruction& instruction) const;
  PointerOrigin MixedOf(const ptx::Operand& operand) const;
  void Assign(const ptx::Operand& target, const PointerOrigin& origin);
  void Transfer(const ptx::Instruction& instruction);

  const ptx::Module& module_;
  const ptx::Function& function_;
  std::vector<size_t> first_;  // of each ptx::Register, in origins_
  std::vector<PointerOrigin> origins_;
  bool changed_ = false;
};

// Null: the symbol is no variable in shared memory.
const ptx::Variable* SharedVariable(const ptx::Module& module, const ptx::Function& function,
                                    const ptx::Symbol& symbol);

}  // namespace kernelsmith::checkers
