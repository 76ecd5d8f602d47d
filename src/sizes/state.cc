#include "sizes/state.h"

#include <algorithm>
#include <utility>

namespace kernelsmith::sizes {
namespace {

void Insert(std::vector<uint32_t>& numbers, uint32_t number) {
  const auto at = std::lower_bound(numbers.begin(), numbers.end(), number);
  if (at == numbers.end() || *at != number) numbers.insert(at, number);
}

bool Same(const ConditionPointer& a, const ConditionPointer& b) {
  return a == b || (a != nullptr && b != nullptr && *a == *b);
}

ConditionPointer Substituted(const ConditionPointer& condition, Symbol symbol,
                             const Polynomial& value) {
  if (condition == nullptr) return nullptr;
  if (condition->a != nullptr) {
    const ConditionPointer a = Substituted(condition->a, symbol, value);
    const ConditionPointer b = Substituted(condition->b, symbol, value);
    return condition->kind == Condition::Kind::kAnd ? And(a, b) : Or(a, b);
  }
  return condition->polynomial.Has(symbol)
             ? MakeCondition(condition->kind, condition->polynomial.Substitute(symbol, value))
             : condition;
}

}  // namespace

bool Condition::operator==(const Condition& other) const {
  return kind == other.kind && kind != Kind::kUnknown && polynomial == other.polynomial &&
         Same(a, other.a) && Same(b, other.b);
}

ConditionPointer MakeCondition(Condition::Kind kind, Polynomial polynomial) {
  using Kind = Condition::Kind;
  if (!polynomial.valid()) return std::make_shared<Condition>();
  if (polynomial.IsConstant()) {
    const Integer value = polynomial.Constant();
    std::optional<bool> truth;
    if (kind == Kind::kNatural) truth = value >= 0;
    if (kind == Kind::kZero) truth = value == 0;
    if (kind == Kind::kNonzero) truth = value != 0;
    if (truth) return std::make_shared<Condition>(Condition{*truth ? Kind::kTrue : Kind::kFalse});
  }
  return std::make_shared<Condition>(Condition{kind, std::move(polynomial)});
}

ConditionPointer And(const ConditionPointer& a, const ConditionPointer& b) {
  if (a->kind == Condition::Kind::kTrue || b->kind == Condition::Kind::kFalse) return b;
  if (b->kind == Condition::Kind::kTrue || a->kind == Condition::Kind::kFalse) return a;
  return std::make_shared<Condition>(Condition{Condition::Kind::kAnd, {}, a, b});
}

ConditionPointer Or(const ConditionPointer& a, const ConditionPointer& b) {
  if (a->kind == Condition::Kind::kFalse || b->kind == Condition::Kind::kTrue) return b;
  if (b->kind == Condition::Kind::kFalse || a->kind == Condition::Kind::kTrue) return a;
  return std::make_shared<Condition>(Condition{Condition::Kind::kOr, {}, a, b});
}

ConditionPointer Not(const ConditionPointer& condition) {
  using Kind = Condition::Kind;
  switch (condition->kind) {
    case Kind::kUnknown:
      return condition;
    case Kind::kTrue:
      return MakeCondition(Kind::kFalse);
    case Kind::kFalse:
      return MakeCondition(Kind::kTrue);
    case Kind::kNatural:
      return MakeCondition(Kind::kNatural, Polynomial(-1) - condition->polynomial);
    case Kind::kZero:
      return MakeCondition(Kind::kNonzero, condition->polynomial);
    case Kind::kNonzero:
      return MakeCondition(Kind::kZero, condition->polynomial);
    case Kind::kAnd:
      return Or(Not(condition->a), Not(condition->b));
    case Kind::kOr:
      return And(Not(condition->a), Not(condition->b));
  }
  return condition;
}

Value Value::Number(Polynomial number) {
  if (!number.valid()) return {};
  return {.kind = Kind::kNumber, .number = std::move(number)};
}

Value Value::Predicate(ConditionPointer condition) {
  return {.kind = Kind::kPredicate, .condition = std::move(condition)};
}

bool Value::operator==(const Value& other) const {
  if (kind != other.kind) return false;
  if (kind == Kind::kNumber) return number == other.number;
  return kind == Kind::kUnknown || Same(condition, other.condition);
}

uint32_t Facts::NumberOf(const Polynomial& polynomial) {
  const auto [at, fresh] =
      numbers_.try_emplace(polynomial, static_cast<uint32_t>(polynomials_.size()));
  if (fresh) polynomials_.push_back(&at->first);
  return at->second;
}

void Facts::AddEverywhere(const Polynomial& fact) { everywhere_.push_back(Tightened(fact)); }

std::vector<Polynomial> Facts::FactsOf(const State& state) const {
  std::vector<Polynomial> facts = everywhere_;
  for (const uint32_t number : state.facts) facts.push_back(*polynomials_[number]);
  return facts;
}

bool Facts::Natural(const State& state, const Polynomial& goal) {
  return prover_.NonNegative(FactsOf(state), goal);
}

bool Facts::Add(State& state, const Polynomial& fact, int depth) {
  const Polynomial tight = Tightened(fact);
  if (!tight.valid()) return true;
  if (tight.IsConstant()) return tight.Constant() >= 0;
  const uint32_t number = NumberOf(tight);
  if (std::binary_search(state.facts.begin(), state.facts.end(), number)) return true;
  Insert(state.facts, number);
  AddCuts(state, tight, depth);
  return true;
}

// The largest or the smallest value that the state leaves to a division's rest.
Integer Facts::BoundOf(const State& state, Symbol rest, bool largest, Integer divisor) const {
  Integer bound = largest ? divisor - 1 : 0;
  const Polynomial symbol = Polynomial::Of(rest);
  for (const uint32_t number : state.facts) {
    const Polynomial left = Of(number) + (largest ? symbol : -symbol);
    if (!left.IsConstant()) continue;
    bound = largest ? std::min(bound, left.Constant()) : std::max(bound, -left.Constant());
  }
  return bound;
}

Polynomial Facts::WithoutRests(const State& state, const Polynomial& polynomial) const {
  Polynomial result = polynomial;
  for (const uint32_t index : state.divisions) {
    const Division& division = divisions_[index];
    if (!division.divisor.IsConstant() ||
        BoundOf(state, division.rest, true, division.divisor.Constant()) != 0) {
      continue;
    }
    // e = divisor * quotient, solved for a symbol of e.
    const Polynomial equation = division.e - division.divisor * Polynomial::Of(division.quotient);
    for (const auto& [monomial, coefficient] : division.e.terms()) {
      if (monomial.Degree() != 1 || (coefficient != 1 && coefficient != -1)) continue;
      const Symbol pivot = monomial.factors[0];
      if (!division.e.LinearCoefficient(pivot)) continue;
      result = result.Substitute(pivot, Polynomial::Of(pivot) - equation * Polynomial(coefficient));
      break;
    }
  }
  return result;
}

// The same with a divisor W that is a size: fact = W * whole + rest. If the rest is negative, whole
// is positive.
void Facts::AddCut(State& state, const Polynomial& fact, const Division& division, int depth) {
  if (division.divisor.terms().size() != 1) return;
  const auto& [size, factor] = division.divisor.terms()[0];
  if (factor != 1 || !symbols_.IsNatural(size)) return;
  for (const auto& [monomial, coefficient] : division.e.terms()) {
    if (monomial.Degree() != 1 || (coefficient != 1 && coefficient != -1)) continue;
    const Symbol pivot = monomial.factors[0];
    const std::optional<Integer> times = fact.LinearCoefficient(pivot);
    if (!times || *times == 0 || !division.e.LinearCoefficient(pivot)) continue;
    const Polynomial equation = division.e - division.divisor * Polynomial::Of(division.quotient) -
                                Polynomial::Of(division.rest);
    const Polynomial without = fact - Polynomial(*times * coefficient) * equation;
    Polynomial whole;
    bool negative = without.Constant() < 0;
    for (const auto& [part, count] : without.terms()) {
      if (part.IsOne()) continue;
      if (const std::optional<Monomial> quotient = part.DividedBy(size)) {
        whole = whole + Polynomial::Of(*quotient) * Polynomial(count);
      } else {
        negative &= count < 0 && symbols_.IsNatural(part);
      }
    }
    if (negative && !whole.IsConstant()) Add(state, whole - Polynomial(1), depth + 1);
    return;
  }
}

// fact = c * p + ... and e = p + ... = g * q + r: without p, all coefficients but r's may be
// divisible by g, and then the integer part of the fact is another fact.
void Facts::AddCuts(State& state, const Polynomial& fact, int depth) {
  constexpr int kDeepest = 3;
  if (depth >= kDeepest) return;
  for (const uint32_t index : std::vector<uint32_t>(state.divisions)) {
    const Division& division = divisions_[index];
    if (!division.divisor.IsConstant()) {
      AddCut(state, fact, division, depth);
      continue;
    }
    const Integer divisor = division.divisor.Constant();
    for (const auto& [monomial, coefficient] : division.e.terms()) {
      if (monomial.Degree() != 1 || (coefficient != 1 && coefficient != -1)) continue;
      const Symbol pivot = monomial.factors[0];
      const std::optional<Integer> times = fact.LinearCoefficient(pivot);
      if (!times || *times == 0 || division.e.LinearCoefficient(pivot) != coefficient) continue;
      const Polynomial equation = division.e -
                                  division.divisor * Polynomial::Of(division.quotient) -
                                  Polynomial::Of(division.rest);
      const Polynomial without = fact - Polynomial(*times * coefficient) * equation;
      Polynomial whole;
      Integer slack = 0;
      bool possible = true;
      for (const auto& [part, factor] : without.terms()) {
        if (part.IsOne()) {
          slack += factor;
        } else if (factor % divisor == 0) {
          whole = whole + Polynomial::Of(part) * Polynomial(factor / divisor);
        } else if (part.Degree() == 1 && part.factors[0] == division.rest) {
          slack += factor * BoundOf(state, division.rest, factor > 0, divisor);
        } else {
          possible = false;
        }
      }
      if (!possible || whole.IsConstant()) continue;
      Add(state, whole + Polynomial(FloorDivide(slack, divisor)), depth + 1);
    }
  }
}

bool Facts::AddZero(State& state, const Polynomial& zero) {
  if (!zero.valid()) return true;
  if (zero.IsConstant()) return zero.Constant() == 0;
  const Integer content = zero.Content();
  const std::optional<Polynomial> equation = zero.DividedBy(content);
  if (!equation) return false;  // never 0
  // A counter that is known has done its work.
  for (const auto& [monomial, coefficient] : equation->terms()) {
    const Symbol symbol = monomial.factors[0];
    if (monomial.Degree() != 1 || (coefficient != 1 && coefficient != -1) ||
        !symbols_.IsCounter(symbol) || !equation->LinearCoefficient(symbol)) {
      continue;
    }
    Substitute(state, symbol, Polynomial::Of(symbol) - *equation * Polynomial(coefficient));
    return true;
  }
  return Add(state, *equation, 0) && Add(state, -*equation, 0);
}

void Facts::Substitute(State& state, Symbol symbol, const Polynomial& value) {
  const std::vector<uint32_t> facts = std::exchange(state.facts, {});
  const std::vector<uint32_t> nonzero = std::exchange(state.nonzero, {});
  // A division of something that has the symbol says nothing any more.
  std::erase_if(state.divisions, [&](uint32_t index) {
    return divisions_[index].e.Has(symbol) || divisions_[index].divisor.Has(symbol);
  });
  for (auto& [place, each] : state.registers) {
    if (each.kind == Value::Kind::kNumber) {
      each = Value::Number(each.number.Substitute(symbol, value));
    }
    if (each.kind == Value::Kind::kPredicate) {
      each.condition = Substituted(each.condition, symbol, value);
    }
  }
  Add(state, value, 0);  // counters are natural
  AddGuard(state, value);
  for (const uint32_t fact : facts) Add(state, Of(fact).Substitute(symbol, value), 0);
  for (const uint32_t guard : std::exchange(state.guards, {})) {
    AddGuard(state, Of(guard).Substitute(symbol, value));
  }
  for (const uint32_t each : nonzero) {
    Insert(state.nonzero, NumberOf(Of(each).Substitute(symbol, value)));
  }
}

bool Facts::AddNonzero(State& state, const Polynomial& nonzero) {
  if (!nonzero.valid()) return true;
  if (nonzero.IsConstant()) return nonzero.Constant() != 0;
  const std::optional<Polynomial> tight = nonzero.DividedBy(nonzero.Content());
  if (!tight) return true;  // never 0 anyway
  // Together with a sign it is an inequality.
  if (Natural(state, *tight)) return Add(state, *tight - Polynomial(1), 0);
  if (Natural(state, -*tight)) return Add(state, -*tight - Polynomial(1), 0);
  Insert(state.nonzero, NumberOf(*tight));
  return true;
}

std::vector<State> Facts::Assume(const State& state, const Condition& condition) {
  using Kind = Condition::Kind;
  std::vector<State> states;
  switch (condition.kind) {
    case Kind::kUnknown:
      states.push_back(state);
      states.back().exact = false;
      break;
    case Kind::kTrue:
      states.push_back(state);
      break;
    case Kind::kFalse:
      break;
    case Kind::kNatural: {
      State now = state;
      AddGuard(now, condition.polynomial);
      if (Add(now, condition.polynomial, 0)) states.push_back(std::move(now));
      break;
    }
    case Kind::kZero:
    case Kind::kNonzero: {
      // With a sign it is an inequality, whose opposite is one as well.
      const bool zero = condition.kind == Kind::kZero;
      const Polynomial one(1);
      const Polynomial& p = condition.polynomial;
      State now = state;
      if (Natural(state, p)) {
        AddGuard(now, zero ? -p : p - one);
      } else if (Natural(state, -p)) {
        AddGuard(now, zero ? p : -p - one);
      } else if (zero) {
        AddGuard(now, p);
        AddGuard(now, -p);
      } else {
        now.exact = false;
      }
      if (zero ? AddZero(now, p) : AddNonzero(now, p)) states.push_back(std::move(now));
      break;
    }
    case Kind::kAnd:
      for (const State& each : Assume(state, *condition.a)) {
        for (State& both : Assume(each, *condition.b)) states.push_back(std::move(both));
      }
      break;
    case Kind::kOr:
      // Apart from one another, so that both together are neither more nor less.
      states = Assume(state, *condition.a);
      for (const State& each : Assume(state, *Not(condition.a))) {
        for (State& both : Assume(each, *condition.b)) states.push_back(std::move(both));
      }
      break;
  }
  return states;
}

void Facts::AddGuard(State& state, const Polynomial& guard) {
  const Polynomial tight = Tightened(guard);
  if (tight.valid() && !tight.IsConstant()) Insert(state.guards, NumberOf(tight));
}

bool Facts::MergeGuards(std::vector<std::vector<uint32_t>> guards, std::vector<uint32_t>& common) {
  // Two that differ in one guard, which is the opposite, are one without it.
  for (bool changed = true; changed && guards.size() > 1;) {
    changed = false;
    for (size_t i = 0; i < guards.size() && !changed; ++i) {
      for (size_t k = i + 1; k < guards.size() && !changed; ++k) {
        std::vector<uint32_t> here;
        std::vector<uint32_t> there;
        std::set_difference(guards[i].begin(), guards[i].end(), guards[k].begin(), guards[k].end(),
                            std::back_inserter(here));
        std::set_difference(guards[k].begin(), guards[k].end(), guards[i].begin(), guards[i].end(),
                            std::back_inserter(there));
        if (here.size() != 1 || there.size() != 1 ||
            !(Of(here[0]) + Of(there[0]) == Polynomial(-1))) {
          continue;
        }
        std::erase(guards[i], here[0]);
        guards.erase(guards.begin() + static_cast<std::ptrdiff_t>(k));
        changed = true;
      }
    }
  }
  common = guards[0];
  return guards.size() == 1;
}

Division Facts::Divide(State& state, const Polynomial& e, const Polynomial& divisor, bool natural) {
  const Polynomial limit = divisor - Polynomial(1);
  auto known = std::find_if(divisions_.begin(), divisions_.end(), [&](const Division& each) {
    return each.e == e && each.divisor == divisor && symbols_.IsNatural(each.quotient) == natural;
  });
  if (known == divisions_.end()) {
    const std::string text = symbols_.Text(e);
    const std::string by = symbols_.Text(divisor);
    Division division{.e = e, .divisor = divisor};
    division.quotient = symbols_.Make("((" + text + ") / " + by + ")", natural);
    division.rest = symbols_.Make("((" + text + ") % " + by + ")", true);
    for (const Symbol symbol : {division.quotient, division.rest}) {
      symbols_.MadeOf(symbol, e);
      symbols_.MadeOf(symbol, divisor);
    }
    if (divisor.IsConstant()) AddEverywhere(limit - Polynomial::Of(division.rest));
    known = divisions_.insert(divisions_.end(), std::move(division));
  }
  const Division division = *known;
  const auto number = static_cast<uint32_t>(known - divisions_.begin());
  if (std::binary_search(state.divisions.begin(), state.divisions.end(), number)) return division;
  const Polynomial equation =
      e - divisor * Polynomial::Of(division.quotient) - Polynomial::Of(division.rest);
  Add(state, equation, 0);
  Add(state, -equation, 0);
  Add(state, limit - Polynomial::Of(division.rest), 0);
  Insert(state.divisions, number);
  // What was known before may say more now.
  for (const uint32_t fact : std::vector<uint32_t>(state.facts)) AddCuts(state, Of(fact), 0);
  return division;
}

uint32_t Facts::ReasonOf(std::string text) {
  const auto known = std::find(reasons_.begin(), reasons_.end(), text);
  if (known != reasons_.end()) return static_cast<uint32_t>(known - reasons_.begin());
  reasons_.push_back(std::move(text));
  return static_cast<uint32_t>(reasons_.size() - 1);
}

}  // namespace kernelsmith::sizes
