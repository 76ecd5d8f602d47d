#include "codegen/int_expr.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/scalar.h"
#include "support/check.h"

namespace kernelsmith::codegen {
namespace {

bool Less(const Atom& a, const Atom& b) { return a->key < b->key; }
bool Same(const Atom& a, const Atom& b) { return a == b || a->key == b->key; }

Int FromTerms(const Int::Terms& terms) {
  Int result;
  for (const auto& [monomial, factor] : terms) {
    Int term(factor);
    for (const Atom& atom : monomial) term = term * Int(atom);
    result = result + term;
  }
  return result;
}

// The largest value an expression over axes can take, as an expression of sizes; none where an atom
// has no known range or a factor is negative.
std::optional<Int> UpperBound(const Int& value) {
  Int bound;
  for (const auto& [monomial, factor] : value.terms()) {
    Int term(factor);
    bool has_axis = false;
    for (const Atom& atom : monomial) {
      if (atom->kind == AtomNode::Kind::kAxis) {
        term = term * (atom->extent - Int(1));
        has_axis = true;
      } else if (atom->kind == AtomNode::Kind::kModulo) {
        term = term * (atom->args[1] - Int(1));
        has_axis = true;
      } else if (atom->kind == AtomNode::Kind::kSize) {
        term = term * Int(atom);
      } else if (atom->kind == AtomNode::Kind::kDivide) {
        // x / b with x <= c·b - 1 is at most c - 1.
        const auto inner = UpperBound(atom->args[0]);
        if (!inner) return std::nullopt;
        const Int past = *inner + Int(1);
        const Int quotient = Divide(past, atom->args[1]);
        if (!(quotient * atom->args[1] == past)) return std::nullopt;
        term = term * (quotient - Int(1));
        has_axis = true;
      } else {
        return std::nullopt;
      }
    }
    if (factor < 0 && has_axis) return std::nullopt;
    bound = bound + term;
  }
  return bound;
}

// Sizes are at least 1, so a polynomial without negative factors is not negative.
bool NeverNegative(const Int& value) {
  return std::all_of(value.terms().begin(), value.terms().end(),
                     [](const auto& term) { return term.second >= 0; });
}

// 0 <= value < limit can be shown.
bool Within(const Int& value, const Int& limit) {
  const auto bound = UpperBound(value);
  return bound && NeverNegative(value) && NeverNegative(limit - Int(1) - *bound);
}

// `monomial` without the atoms of `divisor`; none if they do not all occur.
std::optional<Int::Monomial> Without(Int::Monomial monomial, const Int::Monomial& divisor) {
  for (const Atom& atom : divisor) {
    const auto at = std::find_if(monomial.begin(), monomial.end(),
                                 [&](const Atom& each) { return Same(each, atom); });
    if (at == monomial.end()) return std::nullopt;
    monomial.erase(at);
  }
  return monomial;
}

// value = quotient·divisor + rest, with as much as possible in the quotient. The divisor must be
// one term.
std::pair<Int, Int> Split(const Int& value, const Int& divisor) {
  const auto& [atoms, factor] = *divisor.terms().begin();
  Int::Terms quotient, rest;
  for (const auto& [monomial, c] : value.terms()) {
    const auto left = Without(monomial, atoms);
    if (left && c % factor == 0) {
      quotient[*left] += c / factor;
    } else {
      rest[monomial] = c;
    }
  }
  return {FromTerms(quotient), FromTerms(rest)};
}

Int Opaque(AtomNode::Kind kind, const char* name, const Int& a, const Int& b) {
  auto node = std::make_shared<AtomNode>();
  node->kind = kind;
  node->args = {a, b};
  node->key = fmt::format("{}({},{})", name, a.key(), b.key());
  return Int(Atom(node));
}

}  // namespace

bool Int::ByKey::operator()(const Monomial& a, const Monomial& b) const {
  if (a.size() != b.size()) return a.size() > b.size();  // high degrees first, the constant last
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), Less);
}

Int::Int(int64_t value) {
  if (value != 0) terms_[{}] = value;
}
Int::Int(Atom atom) { terms_[{std::move(atom)}] = 1; }

std::optional<int64_t> Int::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}
Atom Int::atom() const {
  if (terms_.size() != 1) return nullptr;
  const auto& [monomial, factor] = *terms_.begin();
  return monomial.size() == 1 && factor == 1 ? monomial[0] : nullptr;
}

Int operator+(const Int& a, const Int& b) {
  Int result = a;
  for (const auto& [monomial, factor] : b.terms_) {
    const int64_t sum = (result.terms_[monomial] += factor);
    if (sum == 0) result.terms_.erase(monomial);
  }
  return result;
}
Int operator-(const Int& a, const Int& b) { return a + Int(-1) * b; }
Int operator*(const Int& a, const Int& b) {
  Int result;
  for (const auto& [x, m] : a.terms_) {
    for (const auto& [y, n] : b.terms_) {
      Int::Monomial product;
      std::merge(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(product), Less);
      const int64_t sum = (result.terms_[product] += m * n);
      if (sum == 0) result.terms_.erase(product);
    }
  }
  return result;
}
bool Int::operator==(const Int& other) const {
  if (terms_.size() != other.terms_.size()) return false;
  return key() == other.key();
}
std::string Int::key() const {
  std::string text;
  for (const auto& [monomial, factor] : terms_) {
    text += fmt::format("{}{}", text.empty() ? "" : "+", factor);
    for (const Atom& atom : monomial) text += "*" + atom->key;
  }
  return text.empty() ? "0" : text;
}

Int Size(const std::string& name) {
  auto node = std::make_shared<AtomNode>();
  node->kind = AtomNode::Kind::kSize;
  node->name = name;
  node->key = name;
  return Int(Atom(node));
}
Int Axis(const std::string& name, const Int& extent) {
  auto node = std::make_shared<AtomNode>();
  node->kind = AtomNode::Kind::kAxis;
  node->name = name;
  node->extent = extent;
  node->key = "@" + name;
  return Int(Atom(node));
}
Int Value(const Scalar& value) {
  if (const auto index = AsIndex(value)) return *index;
  auto node = std::make_shared<AtomNode>();
  node->kind = AtomNode::Kind::kValue;
  node->value = value;
  node->key = fmt::format("${:016x}{:016x}", value->hash().first, value->hash().second);
  return Int(Atom(node));
}

Int Divide(const Int& a, const Int& b) {
  if (b.is(1)) return a;
  if (a.is(0)) return a;
  const auto x = a.constant(), y = b.constant();
  if (x && y && *y != 0) return *x / *y;
  if (b.terms().size() == 1) {
    const auto [quotient, rest] = Split(a, b);
    if (rest.is(0)) return quotient;
    if (Within(rest, b)) return quotient;
    // Parts that are multiples of the divisor leave the division; only where nothing can be
    // negative.
    if (!quotient.is(0) && NeverNegative(rest) && NeverNegative(quotient)) {
      return quotient + Opaque(AtomNode::Kind::kDivide, "div", rest, b);
    }
  }
  if (a == b) return 1;
  return Opaque(AtomNode::Kind::kDivide, "div", a, b);
}
Int Modulo(const Int& a, const Int& b) {
  if (b.is(1) || a.is(0)) return 0;
  const auto x = a.constant(), y = b.constant();
  if (x && y && *y != 0) return *x % *y;
  if (Within(a, b)) return a;
  if (b.terms().size() == 1) {
    const auto [quotient, rest] = Split(a, b);
    if (rest.is(0)) return 0;
    if (NeverNegative(rest) && NeverNegative(quotient)) {
      return Within(rest, b) ? rest : Opaque(AtomNode::Kind::kModulo, "mod", rest, b);
    }
  }
  return Opaque(AtomNode::Kind::kModulo, "mod", a, b);
}
Int Min(const Int& a, const Int& b) {
  const auto x = a.constant(), y = b.constant();
  if (x && y) return std::min(*x, *y);
  return a == b ? a : Opaque(AtomNode::Kind::kMin, "min", a, b);
}
Int Max(const Int& a, const Int& b) {
  const auto x = a.constant(), y = b.constant();
  if (x && y) return std::max(*x, *y);
  return a == b ? a : Opaque(AtomNode::Kind::kMax, "max", a, b);
}
Int CeilDivide(const Int& a, const Int& b) {
  if (b.is(1)) return a;
  return Divide(a + b - Int(1), b);
}
Int Product(const std::vector<Int>& factors) {
  Int result(1);
  for (const Int& factor : factors) result = result * factor;
  return result;
}

void VisitAtoms(const Int& value, const std::function<void(const Atom&)>& visit) {
  for (const auto& [monomial, factor] : value.terms()) {
    for (const Atom& atom : monomial) {
      visit(atom);
      for (const Int& arg : atom->args) VisitAtoms(arg, visit);
    }
  }
}
bool Uses(const Int& value, const Atom& atom) {
  bool found = false;
  VisitAtoms(value, [&](const Atom& each) {
    found = found || Same(each, atom);
    if (each->kind == AtomNode::Kind::kValue) found = found || UsesAxis(each->value, atom);
  });
  return found;
}

Int Substitute(const Int& value, const std::function<std::optional<Int>(const Atom&)>& replace) {
  Int result;
  for (const auto& [monomial, factor] : value.terms()) {
    Int term(factor);
    for (const Atom& atom : monomial) {
      if (const auto other = replace(atom)) {
        term = term * *other;
        continue;
      }
      switch (atom->kind) {
        case AtomNode::Kind::kDivide:
          term =
              term * Divide(Substitute(atom->args[0], replace), Substitute(atom->args[1], replace));
          break;
        case AtomNode::Kind::kModulo:
          term =
              term * Modulo(Substitute(atom->args[0], replace), Substitute(atom->args[1], replace));
          break;
        case AtomNode::Kind::kMin:
          term = term * Min(Substitute(atom->args[0], replace), Substitute(atom->args[1], replace));
          break;
        case AtomNode::Kind::kMax:
          term = term * Max(Substitute(atom->args[0], replace), Substitute(atom->args[1], replace));
          break;
        case AtomNode::Kind::kValue:
          term = term * Value(SubstituteIndices(atom->value, replace));
          break;
        default:
          term = term * Int(atom);
      }
    }
    result = result + term;
  }
  return result;
}

bool KnownNonNegative(const Int& value) {
  bool known = NeverNegative(value);
  VisitAtoms(value,
             [&](const Atom& atom) { known = known && atom->kind != AtomNode::Kind::kValue; });
  return known;
}
bool KnownLess(const Int& a, const Int& b) {
  if (const auto difference = (b - a).constant()) return *difference > 0;
  const auto bound = UpperBound(a);
  return bound && NeverNegative(b - Int(1) - *bound);
}

std::optional<Int> CoefficientOf(const Int& value, const Atom& axis) {
  Int coefficient;
  for (const auto& [monomial, factor] : value.terms()) {
    int count = 0;
    Int rest(factor);
    for (const Atom& atom : monomial) {
      if (Same(atom, axis)) {
        ++count;
      } else if (atom->kind != AtomNode::Kind::kSize && Uses(Int(atom), axis)) {
        return std::nullopt;
      } else {
        rest = rest * Int(atom);
      }
    }
    if (count > 1) return std::nullopt;
    if (count == 1) coefficient = coefficient + rest;
  }
  return coefficient;
}

int64_t Evaluate(const Int& value, const std::function<int64_t(const std::string&)>& size) {
  int64_t result = 0;
  for (const auto& [monomial, factor] : value.terms()) {
    int64_t term = factor;
    for (const Atom& atom : monomial) {
      const auto arg = [&](size_t i) { return Evaluate(atom->args[i], size); };
      switch (atom->kind) {
        case AtomNode::Kind::kSize:
          term *= size(atom->name);
          break;
        case AtomNode::Kind::kDivide: {
          const int64_t divisor = arg(1);
          term *= divisor == 0 ? 0 : arg(0) / divisor;
          break;
        }
        case AtomNode::Kind::kModulo: {
          const int64_t divisor = arg(1);
          term *= divisor == 0 ? 0 : arg(0) % divisor;
          break;
        }
        case AtomNode::Kind::kMin:
          term *= std::min(arg(0), arg(1));
          break;
        case AtomNode::Kind::kMax:
          term *= std::max(arg(0), arg(1));
          break;
        default:
          KS_CHECK(false, "an index where a size is expected");
      }
    }
    result += term;
  }
  return result;
}

namespace {

std::string Parenthesised(const Int& value, const std::function<std::string(const Atom&)>& name) {
  const std::string text = ToText(value, name);
  const bool simple = value.constant()
                          ? *value.constant() >= 0
                          : value.atom() != nullptr && text.find(' ') == std::string::npos;
  return simple ? text : "(" + text + ")";
}

std::string AtomText(const Atom& atom, const std::function<std::string(const Atom&)>& name) {
  switch (atom->kind) {
    case AtomNode::Kind::kDivide:
      return Parenthesised(atom->args[0], name) + " / " + Parenthesised(atom->args[1], name);
    case AtomNode::Kind::kModulo:
      return Parenthesised(atom->args[0], name) + " % " + Parenthesised(atom->args[1], name);
    case AtomNode::Kind::kMin:
    case AtomNode::Kind::kMax:
      return fmt::format("{}({}, {})", atom->kind == AtomNode::Kind::kMin ? "min" : "max",
                         ToText(atom->args[0], name), ToText(atom->args[1], name));
    default:
      return name(atom);
  }
}

std::string TermText(const Int::Monomial& monomial, int64_t factor,
                     const std::function<std::string(const Atom&)>& name) {
  // Axes before sizes: i * n.
  Int::Monomial order;
  for (const bool sizes : {false, true}) {
    for (const Atom& atom : monomial) {
      if ((atom->kind == AtomNode::Kind::kSize) == sizes) order.push_back(atom);
    }
  }
  std::string text;
  const bool alone = order.size() == 1 && factor == 1;
  for (const Atom& atom : order) {
    std::string part = AtomText(atom, name);
    if (!alone && part.find(' ') != std::string::npos && part.find("min(") != 0 &&
        part.find("max(") != 0) {
      part = "(" + part + ")";
    }
    text += (text.empty() ? "" : " * ") + part;
  }
  if (factor != 1 || order.empty()) {
    text = text.empty() ? std::to_string(factor) : text + " * " + std::to_string(factor);
  }
  return text;
}

}  // namespace

std::string ToText(const Int& value, const std::function<std::string(const Atom&)>& name) {
  // Horner: what most terms share is written once, ((n * C + c) * H + h) * W + w.
  std::map<std::string, std::pair<int, Atom>> counts;
  for (const auto& [monomial, factor] : value.terms()) {
    std::string last;
    for (const Atom& atom : monomial) {
      if (atom->key == last) continue;
      last = atom->key;
      auto& entry = counts[atom->key];
      ++entry.first;
      entry.second = atom;
    }
  }
  Atom shared;
  int best = 1;
  for (const auto& [key, entry] : counts) {
    if (entry.first > best) {
      best = entry.first;
      shared = entry.second;
    }
  }
  if (shared) {
    const auto [quotient, rest] = Split(value, Int(shared));
    std::string text =
        fmt::format("{} * {}", Parenthesised(quotient, name), TermText({shared}, 1, name));
    if (AtomText(shared, name).find(' ') != std::string::npos) {
      text = fmt::format("{} * ({})", Parenthesised(quotient, name), AtomText(shared, name));
    }
    if (rest.is(0)) return text;
    const std::string tail = ToText(rest, name);
    return tail[0] == '-' ? text + " - " + tail.substr(1) : text + " + " + tail;
  }
  std::string text;
  // What is added before what is subtracted.
  std::vector<std::pair<Int::Monomial, int64_t>> order;
  for (const bool positive : {true, false}) {
    for (const auto& term : value.terms()) {
      if ((term.second > 0) == positive) order.push_back(term);
    }
  }
  for (const auto& [monomial, factor] : order) {
    if (text.empty()) {
      text =
          factor < 0 ? "-" + TermText(monomial, -factor, name) : TermText(monomial, factor, name);
    } else {
      text += factor < 0 ? " - " + TermText(monomial, -factor, name)
                         : " + " + TermText(monomial, factor, name);
    }
  }
  return text.empty() ? "0" : text;
}

}  // namespace kernelsmith::codegen
