#include "sizes/prover.h"

#include <algorithm>
#include <set>

#include "sizes/certificate.h"

namespace kernelsmith::sizes {
namespace {

// Columns of a linear program: more of them have proved nothing that fewer do not.
constexpr size_t kMostColumns = 700;

}  // namespace

Symbol SymbolTable::Make(std::string name, bool natural) {
  names_.push_back(std::move(name));
  natural_.push_back(natural);
  return static_cast<Symbol>(names_.size() - 1);
}

Symbol SymbolTable::MakeCounter(std::string name) {
  const Symbol symbol = Make(std::move(name), true);
  counters_.insert(symbol);
  return symbol;
}

void SymbolTable::MadeOf(Symbol symbol, const Polynomial& polynomial) {
  std::set<Symbol>& parts = made_of_[symbol];
  for (const auto& [monomial, coefficient] : polynomial.terms()) {
    for (const Symbol part : monomial.factors) {
      if (part == 0) continue;
      parts.insert(part);
      const auto more = made_of_.find(part);
      if (more != made_of_.end()) parts.insert(more->second.begin(), more->second.end());
    }
  }
}

bool SymbolTable::ChangesWith(Symbol symbol, const std::set<Symbol>& others) const {
  if (others.contains(symbol)) return true;
  const auto parts = made_of_.find(symbol);
  return parts != made_of_.end() && std::any_of(others.begin(), others.end(), [&](Symbol other) {
           return parts->second.contains(other);
         });
}

bool SymbolTable::IsNatural(const Monomial& monomial) const {
  return std::all_of(monomial.factors.begin(), monomial.factors.end(),
                     [&](Symbol symbol) { return symbol == 0 || natural_[symbol]; });
}

std::string SymbolTable::Text(const Polynomial& polynomial) const {
  return ToString(polynomial, [&](Symbol symbol) { return names_[symbol]; });
}

Polynomial Tightened(const Polynomial& fact) {
  const Integer content = fact.Content();
  if (content <= 1) return fact;
  const Integer constant = fact.Constant();
  return *(fact - Polynomial(constant)).DividedBy(content) +
         Polynomial(FloorDivide(constant, content));
}

bool Prover::NonNegative(const std::vector<Polynomial>& facts, const Polynomial& goal) {
  if (!goal.valid()) return false;
  if (goal.IsConstant()) return goal.Constant() >= 0;
  const bool plain = std::all_of(goal.terms().begin(), goal.terms().end(), [&](const auto& term) {
    return term.second >= 0 && symbols_.IsNatural(term.first);
  });
  if (plain) return true;
  if (exhausted()) return false;
  const auto [known, fresh] = known_.try_emplace({facts, goal}, false);
  if (!fresh) return known->second;
  std::vector<Polynomial> base = {Tightened(Polynomial(-1) - goal)};
  for (const Polynomial& fact : facts) {
    if (fact.valid()) base.push_back(fact);
  }
  known->second = Refute(base);
  return known->second;
}

bool Prover::Refute(const std::vector<Polynomial>& base) {
  std::vector<Polynomial> columns = base;
  if (HasCertificate(symbols_, columns, work_)) return true;
  // With products: those that have a chance to cancel, as they make a monomial that is there.
  std::set<std::pair<size_t, Monomial>> made;
  for (int round = 0; round < 2 && !exhausted(); ++round) {
    std::set<Monomial> wanted;
    for (const Polynomial& column : columns) {
      for (const auto& [monomial, coefficient] : column.terms()) {
        if (monomial.Degree() > 1) wanted.insert(monomial);
      }
    }
    const size_t before = columns.size();
    for (size_t i = 0; i < base.size() && columns.size() < kMostColumns; ++i) {
      for (const auto& [monomial, coefficient] : base[i].terms()) {
        if (monomial.IsOne()) continue;
        for (const Monomial& target : wanted) {
          const std::optional<Monomial> factor = target.DividedBy(monomial);
          if (!factor || factor->IsOne() || !symbols_.IsNatural(*factor) ||
              !made.emplace(i, *factor).second) {
            continue;
          }
          Polynomial product = base[i] * Polynomial::Of(*factor);
          if (product.valid()) columns.push_back(std::move(product));
        }
      }
    }
    if (columns.size() == before) return false;
    if (HasCertificate(symbols_, columns, work_)) return true;
  }
  return false;
}

}  // namespace kernelsmith::sizes
