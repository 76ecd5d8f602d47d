// Integer expressions: sizes, strides and indices. An Int is a polynomial with integer coefficients
// over atoms, kept in one canonical form, so that equal polynomials compare equal and (i·N + j) / N
// becomes i where j < N is known.
//
// Division and remainder are C's; they are built only where both operands are not negative, or
// where a guard keeps the result from being used.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kernelsmith::codegen {

struct AtomNode;
using Atom = std::shared_ptr<const AtomNode>;

class Int {
 public:
  using Monomial = std::vector<Atom>;  // sorted by key
  struct ByKey {
    bool operator()(const Monomial& a, const Monomial& b) const;
  };
  using Terms = std::map<Monomial, int64_t, ByKey>;

  Int() = default;  // 0
  Int(int64_t value);
  Int(int value) : Int(static_cast<int64_t>(value)) {}
  explicit Int(Atom atom);

  const Terms& terms() const { return terms_; }
  std::optional<int64_t> constant() const;
  bool is(int64_t value) const { return constant() == value; }
  // Set if the expression is just this atom.
  Atom atom() const;

  friend Int operator+(const Int& a, const Int& b);
  friend Int operator-(const Int& a, const Int& b);
  friend Int operator*(const Int& a, const Int& b);
  bool operator==(const Int& other) const;
  // Equal expressions have equal keys.
  std::string key() const;

 private:
  Terms terms_;  // no zero coefficients
};

class ScalarNode;
using Scalar = std::shared_ptr<const ScalarNode>;

struct AtomNode {
  enum class Kind {
    kSize,    // a size known on the host: a named variable there, a parameter in kernels
    kAxis,    // a loop variable, 0 <= it < extent
    kDivide,  // args[0] / args[1]
    kModulo,
    kMin,
    kMax,
    kValue,  // computed or loaded in the kernel: the index of a gather
  };
  Kind kind = Kind::kSize;
  std::string name;       // kSize, kAxis
  Int extent;             // kAxis
  std::vector<Int> args;  // kDivide ...
  Scalar value;           // kValue
  std::string key;
};

Int Size(const std::string& name);
Int Axis(const std::string& name, const Int& extent);
Int Value(const Scalar& value);
Int Divide(const Int& a, const Int& b);
Int Modulo(const Int& a, const Int& b);
Int Min(const Int& a, const Int& b);
Int Max(const Int& a, const Int& b);
// (a + b - 1) / b
Int CeilDivide(const Int& a, const Int& b);
Int Product(const std::vector<Int>& factors);

// Every atom of the expression, those inside divisions too.
void VisitAtoms(const Int& value, const std::function<void(const Atom&)>& visit);
bool Uses(const Int& value, const Atom& atom);

// With atoms replaced; null keeps an atom. Divisions are built (and simplified) again.
Int Substitute(const Int& value, const std::function<std::optional<Int>(const Atom&)>& replace);

// What can be shown from the extents of axes; sizes are at least 1.
bool KnownNonNegative(const Int& value);
bool KnownLess(const Int& a, const Int& b);

// The factor of `axis` if the expression is linear in it and it does not occur otherwise.
std::optional<Int> CoefficientOf(const Int& value, const Atom& axis);

// With every size known; nothing else may occur.
int64_t Evaluate(const Int& value, const std::function<int64_t(const std::string&)>& size);

// As C: "(i * n + j) * 4 + 1". `name` gives the text of atoms that are no arithmetic.
std::string ToText(const Int& value, const std::function<std::string(const Atom&)>& name);

}  // namespace kernelsmith::codegen
