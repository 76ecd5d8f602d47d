// What is known when a thread comes to a place in a kernel: values of registers as polynomials, and
// the facts that the way there has made true.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sizes/prover.h"

namespace kernelsmith::sizes {

// A predicate as far as it is known.
struct Condition {
  enum class Kind : uint8_t {
    kUnknown,
    kTrue,
    kFalse,
    kNatural,  // polynomial >= 0
    kZero,     // polynomial == 0
    kNonzero,
    kAnd,
    kOr,
  };
  Kind kind = Kind::kUnknown;
  Polynomial polynomial;
  std::shared_ptr<const Condition> a;
  std::shared_ptr<const Condition> b;

  bool operator==(const Condition& other) const;
};
using ConditionPointer = std::shared_ptr<const Condition>;
ConditionPointer MakeCondition(Condition::Kind kind, Polynomial polynomial = {});
ConditionPointer And(const ConditionPointer& a, const ConditionPointer& b);
ConditionPointer Or(const ConditionPointer& a, const ConditionPointer& b);
ConditionPointer Not(const ConditionPointer& condition);

struct Value {
  enum class Kind : uint8_t {
    kUnknown,
    kNumber,     // the register has the low bits of `number`
    kPredicate,  // `condition` tells
  };
  Kind kind = Kind::kUnknown;
  Polynomial number;
  ConditionPointer condition;
  uint32_t reason = 0;  // kUnknown: why, a number of Facts::ReasonText; 0: data

  static Value Number(Polynomial number);
  static Value Predicate(ConditionPointer condition);
  static Value Unknown(uint32_t reason = 0) { return {.reason = reason}; }
  bool operator==(const Value& other) const;  // apart from reasons
};

// e = divisor * quotient + rest, with 0 <= rest < divisor.
struct Division {
  Polynomial e;
  Polynomial divisor;
  Symbol quotient = 0;
  Symbol rest = 0;
  bool operator==(const Division&) const = default;
};

struct State {
  std::map<uint32_t, Value> registers;  // by offset; those that are not there are data
  std::vector<uint32_t> facts;          // each >= 0; ascending numbers of Facts::Of
  std::vector<uint32_t> nonzero;        // the same, not 0
  std::vector<uint32_t> guards;         // facts that branches have made true, as `facts`
  bool exact = true;                    // threads come here where the guards hold, and only there
  std::vector<uint32_t> divisions;      // that hold here; ascending numbers
};

// Facts by number, and what is made of them. All states of a kernel share one.
class Facts {
 public:
  Facts(SymbolTable& symbols, Prover& prover) : symbols_(symbols), prover_(prover) {}

  uint32_t NumberOf(const Polynomial& polynomial);
  const Polynomial& Of(uint32_t number) const { return *polynomials_[number]; }
  // It holds everywhere.
  void AddEverywhere(const Polynomial& fact);

  // Adds fact >= 0 with what follows from it by divisions. False: it is a negative constant.
  bool Add(State& state, const Polynomial& fact) { return Add(state, fact, 0); }
  bool AddZero(State& state, const Polynomial& zero);
  bool AddNonzero(State& state, const Polynomial& nonzero);
  // The states in which the condition is true: none, one, or several for an "or".
  std::vector<State> Assume(const State& state, const Condition& condition);

  bool Natural(const State& state, const Polynomial& goal);

  // The same number where divisions by numbers leave no rest: symbols that are multiples show it.
  Polynomial WithoutRests(const State& state, const Polynomial& polynomial) const;

  // Quotient and rest of e by a positive divisor, added to what the state knows. `natural`: e is
  // not negative there. Otherwise the divisor must be a number.
  Division Divide(State& state, const Polynomial& e, const Polynomial& divisor, bool natural);

  // What a branch asks: threads are here only where guard >= 0.
  void AddGuard(State& state, const Polynomial& guard);
  // Of states that part ways which are all that there is: the guards that they have in common.
  // False: they are not all, and the state is no longer exact.
  bool MergeGuards(std::vector<std::vector<uint32_t>> guards, std::vector<uint32_t>& common);

  uint32_t ReasonOf(std::string text);
  const std::string& ReasonText(uint32_t reason) const { return reasons_[reason]; }

 private:
  bool Add(State& state, const Polynomial& fact, int depth);
  Integer BoundOf(const State& state, Symbol rest, bool largest, Integer divisor) const;
  void AddCut(State& state, const Polynomial& fact, const Division& division, int depth);
  void AddCuts(State& state, const Polynomial& fact, int depth);
  // The symbol is `value` from here on.
  void Substitute(State& state, Symbol symbol, const Polynomial& value);
  std::vector<Polynomial> FactsOf(const State& state) const;

  SymbolTable& symbols_;
  Prover& prover_;
  std::map<Polynomial, uint32_t> numbers_;
  std::vector<const Polynomial*> polynomials_;
  std::vector<Polynomial> everywhere_;
  std::vector<Division> divisions_;
  std::vector<std::string> reasons_ = {"the index depends on data"};
};

}  // namespace kernelsmith::sizes
