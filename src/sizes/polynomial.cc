#include "sizes/polynomial.h"

#include <algorithm>

namespace kernelsmith::sizes {
namespace {

constexpr Integer kLargest = Integer{1} << 100;

Integer Magnitude(Integer value) { return value < 0 ? -value : value; }

Integer Gcd(Integer a, Integer b) {
  a = Magnitude(a);
  b = Magnitude(b);
  while (b != 0) {
    a %= b;
    std::swap(a, b);
  }
  return a;
}

}  // namespace

Integer FloorDivide(Integer a, Integer b) { return a / b - (a % b < 0 ? 1 : 0); }

size_t Monomial::Degree() const {
  size_t degree = 0;
  while (degree < kMostFactors && factors[degree] != 0) ++degree;
  return degree;
}

bool Monomial::Has(Symbol symbol) const {
  return std::find(factors.begin(), factors.end(), symbol) != factors.end();
}

std::optional<Monomial> Monomial::Times(const Monomial& other) const {
  if (Degree() + other.Degree() > kMostFactors) return std::nullopt;
  std::array<Symbol, 2 * kMostFactors> both{};
  std::merge(factors.begin(), factors.end(), other.factors.begin(), other.factors.end(),
             both.begin(), std::greater<>());
  Monomial product;
  std::copy_n(both.begin(), kMostFactors, product.factors.begin());
  return product;
}

std::optional<Monomial> Monomial::DividedBy(const Monomial& other) const {
  Monomial quotient;
  size_t at = 0;
  size_t out = 0;
  for (size_t i = 0; i < kMostFactors && factors[i] != 0; ++i) {
    if (at < kMostFactors && other.factors[at] == factors[i]) {
      ++at;
    } else {
      quotient.factors[out++] = factors[i];
    }
  }
  if (at != other.Degree()) return std::nullopt;
  return quotient;
}

Polynomial::Polynomial(Integer constant) {
  if (constant != 0) terms_.emplace_back(Monomial{}, constant);
}

Polynomial Polynomial::Of(Symbol symbol) {
  Polynomial result;
  Monomial monomial;
  monomial.factors[0] = symbol;
  result.terms_.emplace_back(monomial, 1);
  return result;
}

Polynomial Polynomial::Of(const Monomial& monomial) {
  Polynomial result;
  result.terms_.emplace_back(monomial, 1);
  return result;
}

Polynomial Polynomial::Invalid() {
  Polynomial result;
  result.valid_ = false;
  return result;
}

Integer Polynomial::Constant() const { return CoefficientOf(Monomial{}); }

Integer Polynomial::CoefficientOf(const Monomial& monomial) const {
  const auto at = std::lower_bound(terms_.begin(), terms_.end(), monomial,
                                   [](const Term& a, const Monomial& b) { return a.first < b; });
  return at != terms_.end() && at->first == monomial ? at->second : 0;
}

bool Polynomial::Has(Symbol symbol) const {
  return std::any_of(terms_.begin(), terms_.end(),
                     [&](const Term& term) { return term.first.Has(symbol); });
}

Integer Polynomial::Content() const {
  Integer content = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    if (!monomial.IsOne()) content = Gcd(content, coefficient);
  }
  return content;
}

void Polynomial::Normalise() {
  std::sort(terms_.begin(), terms_.end(),
            [](const Term& a, const Term& b) { return a.first < b.first; });
  size_t out = 0;
  for (size_t i = 0; i < terms_.size();) {
    Term sum = terms_[i];
    for (++i; i < terms_.size() && terms_[i].first == sum.first; ++i)
      sum.second += terms_[i].second;
    if (Magnitude(sum.second) > kLargest) valid_ = false;
    if (sum.second != 0) terms_[out++] = sum;
  }
  terms_.resize(out);
  if (!valid_) terms_.clear();
}

Polynomial Polynomial::operator+(const Polynomial& other) const {
  Polynomial sum = *this;
  sum.valid_ = valid_ && other.valid_;
  sum.terms_.insert(sum.terms_.end(), other.terms_.begin(), other.terms_.end());
  sum.Normalise();
  return sum;
}

Polynomial Polynomial::operator-(const Polynomial& other) const { return *this + -other; }

Polynomial Polynomial::operator*(const Polynomial& other) const {
  Polynomial product;
  product.valid_ = valid_ && other.valid_;
  for (const Term& a : terms_) {
    for (const Term& b : other.terms_) {
      const std::optional<Monomial> monomial = a.first.Times(b.first);
      Integer coefficient;
      if (!monomial || __builtin_mul_overflow(a.second, b.second, &coefficient) ||
          Magnitude(coefficient) > kLargest) {
        return Invalid();
      }
      product.terms_.emplace_back(*monomial, coefficient);
    }
  }
  product.Normalise();
  return product;
}

Polynomial Polynomial::Substitute(Symbol symbol, const Polynomial& value) const {
  if (!valid_ || !Has(symbol)) return *this;
  Polynomial result;
  Monomial single;
  single.factors[0] = symbol;
  for (const auto& [monomial, coefficient] : terms_) {
    Polynomial term(coefficient);
    Monomial rest = monomial;
    while (const std::optional<Monomial> less =
               rest.Has(symbol) ? rest.DividedBy(single) : std::nullopt) {
      rest = *less;
      term = term * value;
    }
    result = result + term * Of(rest);
  }
  return result;
}

std::optional<Polynomial> Polynomial::DividedBy(Integer divisor) const {
  Polynomial quotient = *this;
  for (Term& term : quotient.terms_) {
    if (term.second % divisor != 0) return std::nullopt;
    term.second /= divisor;
  }
  return quotient;
}

std::optional<Polynomial> Polynomial::DividedBy(const Polynomial& divisor) const {
  if (!valid_ || !divisor.valid_ || divisor.terms_.empty()) return std::nullopt;
  Polynomial rest = *this;
  Polynomial quotient;
  // Terms in falling order, as by hand; the order of monomials need not be admissible, so that the
  // number of steps is limited.
  for (size_t step = 0; !rest.terms_.empty(); ++step) {
    if (step > 64 || !rest.valid_) return std::nullopt;
    const Term& first = divisor.terms_.back();
    const Term& last = rest.terms_.back();
    const std::optional<Monomial> monomial = last.first.DividedBy(first.first);
    if (!monomial || last.second % first.second != 0) return std::nullopt;
    Polynomial term;
    term.terms_.emplace_back(*monomial, last.second / first.second);
    quotient = quotient + term;
    rest = rest - term * divisor;
  }
  return quotient;
}

std::optional<Integer> Polynomial::LinearCoefficient(Symbol symbol) const {
  Integer found = 0;
  for (const auto& [monomial, coefficient] : terms_) {
    if (!monomial.Has(symbol)) continue;
    if (monomial.Degree() != 1) return std::nullopt;
    found = coefficient;
  }
  return found;
}

std::optional<Polynomial> Polynomial::CoefficientOf(Symbol symbol) const {
  Polynomial result;
  Monomial single;
  single.factors[0] = symbol;
  for (const auto& [monomial, coefficient] : terms_) {
    if (!monomial.Has(symbol)) continue;
    const std::optional<Monomial> rest = monomial.DividedBy(single);
    if (!rest || rest->Has(symbol)) return std::nullopt;
    result.terms_.emplace_back(*rest, coefficient);
  }
  result.Normalise();
  return result;
}

std::string ToString(Integer value) {
  if (value < 0) return "-" + ToString(-value);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  return digits;
}

std::string ToString(const Polynomial& polynomial, const std::function<std::string(Symbol)>& name) {
  if (!polynomial.valid()) return "(too large)";
  std::string text;
  const auto& terms = polynomial.terms();
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) {
    const bool negative = term->second < 0;
    const Integer coefficient = Magnitude(term->second);
    text += text.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    std::string product;
    for (size_t i = term->first.Degree(); i-- > 0;) {
      product += (product.empty() ? "" : "*") + name(term->first.factors[i]);
    }
    if (product.empty() || coefficient != 1) {
      text += ToString(coefficient) + (product.empty() ? "" : "*");
    }
    text += product;
  }
  return text.empty() ? "0" : text;
}

}  // namespace kernelsmith::sizes
