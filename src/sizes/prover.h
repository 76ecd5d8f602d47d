// Decides whether a polynomial can't be negative where others are not.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sizes/polynomial.h"

namespace kernelsmith::sizes {

// What symbols are.
class SymbolTable {
 public:
  // `natural`: it is never negative.
  Symbol Make(std::string name, bool natural);
  // Its value is a function of that polynomial and others named so.
  void MadeOf(Symbol symbol, const Polynomial& polynomial);
  // Whether its value may change with one of `others`.
  bool ChangesWith(Symbol symbol, const std::set<Symbol>& others) const;
  const std::string& NameOf(Symbol symbol) const { return names_[symbol]; }
  bool IsNatural(Symbol symbol) const { return natural_[symbol]; }
  bool IsNatural(const Monomial& monomial) const;
  // Of a loop: how often it has gone round.
  Symbol MakeCounter(std::string name);
  bool IsCounter(Symbol symbol) const { return counters_.contains(symbol); }
  size_t size() const { return names_.size(); }
  std::string Text(const Polynomial& polynomial) const;

 private:
  std::vector<std::string> names_ = {""};
  std::vector<bool> natural_ = {false};
  std::set<Symbol> counters_;
  std::map<Symbol, std::set<Symbol>> made_of_;  // with what those are made of
};

// Of an integer polynomial that is not negative: the same with the greatest common divisor of its
// coefficients taken out, where the constant may be rounded down.
Polynomial Tightened(const Polynomial& fact);

// Proofs are certificates: the negated claim and the facts, multiplied by products of natural
// symbols and by positive numbers, add up to a negative constant. A linear program over doubles
// looks for the numbers; whether they do is checked exactly, so that no rounding can prove
// anything.
class Prover {
 public:
  explicit Prover(const SymbolTable& symbols) : symbols_(symbols) {}

  // goal >= 0 wherever all facts are >= 0? False: not found.
  bool NonNegative(const std::vector<Polynomial>& facts, const Polynomial& goal);

  // Linear programs' pivots times their size, so far: what proofs cost. Beyond the limit nothing is
  // proved any more.
  uint64_t work() const { return work_; }
  void set_limit(uint64_t limit) { limit_ = limit; }
  bool exhausted() const { return work_ > limit_; }

 private:
  bool Refute(const std::vector<Polynomial>& base);

  const SymbolTable& symbols_;
  uint64_t work_ = 0;
  uint64_t limit_ = UINT64_MAX;
  std::map<std::pair<std::vector<Polynomial>, Polynomial>, bool> known_;
};

}  // namespace kernelsmith::sizes
