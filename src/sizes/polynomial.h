// Integer polynomials over symbols: what a kernel's index arithmetic computes.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace kernelsmith::sizes {

using Integer = __int128;
using Symbol = uint16_t;  // 0: none; SymbolTable names them

// A product of symbols, the largest number first.
struct Monomial {
  static constexpr size_t kMostFactors = 7;
  std::array<Symbol, kMostFactors> factors{};

  auto operator<=>(const Monomial&) const = default;
  bool IsOne() const { return factors[0] == 0; }
  size_t Degree() const;
  bool Has(Symbol symbol) const;
  // Nothing if the product has too many factors.
  std::optional<Monomial> Times(const Monomial& other) const;
  // Nothing if it is not divisible.
  std::optional<Monomial> DividedBy(const Monomial& other) const;
};

// A sum of monomials with coefficients that are not 0, in the order of the monomials. A result that
// can't be represented (coefficients beyond 2^100, too many factors) is not valid, and neither is
// what is made of it.
class Polynomial {
 public:
  using Term = std::pair<Monomial, Integer>;

  Polynomial() = default;
  Polynomial(Integer constant);  // NOLINT: numbers are polynomials
  static Polynomial Of(Symbol symbol);
  static Polynomial Of(const Monomial& monomial);
  static Polynomial Invalid();

  bool valid() const { return valid_; }
  const std::vector<Term>& terms() const { return terms_; }
  bool IsConstant() const {
    return terms_.empty() || (terms_.size() == 1 && terms_[0].first.IsOne());
  }
  Integer Constant() const;  // the constant term
  Integer CoefficientOf(const Monomial& monomial) const;
  bool Has(Symbol symbol) const;
  // The greatest common divisor of all coefficients but the constant; 0 if there are none.
  Integer Content() const;

  Polynomial operator+(const Polynomial& other) const;
  Polynomial operator-(const Polynomial& other) const;
  Polynomial operator*(const Polynomial& other) const;
  Polynomial operator-() const { return *this * Polynomial(-1); }
  bool operator==(const Polynomial&) const = default;
  auto operator<=>(const Polynomial&) const = default;

  Polynomial Substitute(Symbol symbol, const Polynomial& value) const;
  // The quotient if every coefficient is divisible.
  std::optional<Polynomial> DividedBy(Integer divisor) const;
  // The quotient if the division by `divisor` leaves nothing.
  std::optional<Polynomial> DividedBy(const Polynomial& divisor) const;
  // The symbol's coefficient if it occurs in no power and no product; nothing if it does. 0: it
  // does not occur.
  std::optional<Integer> LinearCoefficient(Symbol symbol) const;
  // c if this = c * symbol + what does not have it.
  std::optional<Polynomial> CoefficientOf(Symbol symbol) const;

 private:
  void Normalise();

  std::vector<Term> terms_;
  bool valid_ = true;
};

Integer FloorDivide(Integer a, Integer b);  // b > 0
std::string ToString(Integer value);
std::string ToString(const Polynomial& polynomial, const std::function<std::string(Symbol)>& name);

}  // namespace kernelsmith::sizes
