// The ATen operators and what is known about each, from aten_ops.def. A graph's operators are
// resolved to AtenOp once, when it is read; code that decides asks OperatorOf() and never looks at
// names.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace kernelsmith {

enum class AtenOp : uint16_t {
  kUnknown,  // no row has its name; every fact is at its default
#define KS_POINTWISE(enumerator, ...) k##enumerator,
#define KS_REDUCTION(enumerator, ...) k##enumerator,
#define KS_LAYOUT(enumerator, ...) k##enumerator,
#define KS_CREATION(enumerator, ...) k##enumerator,
#define KS_LINEAR(enumerator, ...) k##enumerator,
#define KS_WINDOW(enumerator, ...) k##enumerator,
#define KS_NORM(enumerator, ...) k##enumerator,
#define KS_RANDOM(enumerator, ...) k##enumerator,
#define KS_FOREIGN(enumerator, ...) k##enumerator,
#include "graph/aten_ops.def"
};

// The section of the table, which is also the file that evaluates it.
enum class OperatorClass {
  kPointwise,
  kReduction,
  kLayout,
  kCreation,
  kLinear,
  kWindow,
  kNorm,
  kRandom,   // draws numbers: refused
  kForeign,  // known by name, not evaluated
};

enum class Codegen : bool { kNotLowered, kLowered };

// What limits PyTorch's kernel for it (measure/eager_model.h).
enum class EagerCost : uint8_t {
  kPointwise,
  kReduction,
  kSoftmax,
  kPool,
  kScan,
  kNorm,
  kRowNorm,  // a norm whose rows lie in one piece
  kMatmul,
  kConvolution,
};

// The degree of the result as a polynomial of the inputs.
enum class Degree : uint8_t {
  kKeeps,       // it adds, moves or selects: the degree of an operand
  kMultiplies,  // the sum of the operands' degrees
  kDivides,     // keeps it where the divisor is a constant; otherwise no polynomial
  kPower,       // multiplies it by a constant exponent; otherwise no polynomial
  kUnbounded,   // no polynomial, or nobody has looked
};

// How long the sums behind one element of the result are, where the shapes alone do not tell.
enum class SumKind : uint8_t {
  kNoSums,
  kProduct,          // along the last axis of tensor `argument`
  kFilter,           // the elements of one filter of tensor `argument`
  kFilterGradients,  // both gradients of a convolution whose weight is tensor `argument`
  kAxis,             // along an axis of the first tensor
  kScattered,        // all terms may go to one place
};
struct Sums {
  SumKind kind = SumKind::kNoSums;
  size_t argument = 0;
};

// Of a result, several are right.
enum class ChoiceKind : uint8_t {
  kNoChoice,
  kExtreme,       // indices of argmax, argmin, max, min
  kOrder,         // indices of sort, topk, kthvalue, median
  kPool,          // indices of a max pool
  kPoolGradient,  // a max pool's gradient
  kUnchecked,     // indices that no witness check knows
};
struct Chooses {
  ChoiceKind kind = ChoiceKind::kNoChoice;
  size_t result = 0;
  size_t spatial = 0;  // dimensions of a pool's window
};

// How to cut a reduction short: which argument along which axis, and what a missing element counts
// as.
struct Cut {
  static constexpr size_t kNothing = std::numeric_limits<size_t>::max();
  static constexpr int64_t kDim = std::numeric_limits<int64_t>::min();  // the parameter `dim`
  size_t argument = kNothing;
  int64_t axis = -1;
  double missing = 0;
  bool possible() const { return argument != kNothing; }
};

// What is true of few operators.
struct OperatorFacts {
  bool view = false;      // the result lies in the memory of the first argument
  bool in_order = false;  // every element stays where it is in row-major order
  // A view, a copy, a constant or a guard against values that a draw may not have: repeating one
  // costs nothing worth telling.
  bool trivial = false;
  bool reads_part = false;     // of its operand
  bool converts = false;       // between dtypes; a float may become an integer
  bool needs_maximum = false;  // exponentials that overflow unless each row's maximum is taken off
  bool collides = false;       // of several elements written to one position any may stay
  Sums sums;
  Chooses chooses;
  Cut cut;
};

struct Parameter {
  std::string name;
  std::optional<Argument> fallback;  // none: required
};

struct Operator {
  AtenOp op = AtenOp::kUnknown;
  std::string name;  // "aten.add.Tensor"
  OperatorClass kind = OperatorClass::kForeign;
  Codegen codegen = Codegen::kNotLowered;
  EagerCost eager = EagerCost::kPointwise;
  Degree degree = Degree::kUnbounded;
  std::vector<Parameter> parameters;
  OperatorFacts facts;

  bool evaluated() const {
    return kind != OperatorClass::kRandom && kind != OperatorClass::kForeign;
  }
  bool lowered() const { return codegen == Codegen::kLowered; }
  // The position of a parameter; nothing: there is none of that name.
  std::optional<size_t> FindParameter(std::string_view parameter) const;
};

// In the order of aten_ops.def, without kUnknown.
std::span<const Operator> AllOperators();
const Operator& OperatorOf(AtenOp op);
// "aten.add.Tensor".
AtenOp FindOperator(std::string_view name);
// Any overload, in place or not: "aten.add_.Tensor" is kAddTensor, as is "aten.add.out". What is
// the same for all overloads of a function (the eager cost) can be asked of the result.
AtenOp FindFunction(std::string_view name);
std::string_view OperatorClassName(OperatorClass kind);

}  // namespace kernelsmith
