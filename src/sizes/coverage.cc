#include "sizes/coverage.h"

#include <algorithm>
#include <set>

namespace kernelsmith::sizes {
namespace {

// Bytes from `first` on, each written once.
struct Interval {
  Polynomial first;
  Polynomial count;
};

class SiteDigits {
 public:
  SiteDigits(const Site& site, const Ids& ids, const SymbolTable& symbols, Facts& facts)
      : facts_(facts), symbols_(symbols), ids_(ids), rest_(site.offset), unit_(site.bytes) {
    for (const auto& [symbol, size] : ids) digits_.insert(symbol);
    AddCounters(site.offset);
    for (const Polynomial& guard : site.guards) {
      AddCounters(guard);
      guards_.push_back(guard);
    }
    FixPinned();
  }

  // Nothing: `why` says why not.
  std::optional<Interval> Find(std::string& why) {
    if (HasMadeSymbols()) {
      why = "a quotient or a rest of ids decides where it is written";
      return std::nullopt;
    }
    while (!digits_.empty()) {
      if (TakeDigit()) continue;
      if (!span_ || *span_ == Polynomial(1)) {
        why = "several threads may write one element, or the elements lie in no order of digits";
        return std::nullopt;
      }
      Close(*span_);
    }
    if (!span_) {
      why = "a loop has no limit";
      return std::nullopt;
    }
    unit_ = unit_ * *span_;
    for (const Polynomial& guard : guards_) {
      if (facts_.Natural(known_, guard)) continue;
      why = "it is written only where " + symbols_.Text(guard) + " >= 0";
      return std::nullopt;
    }
    return Interval{rest_, unit_};
  }

 private:
  void AddCounters(const Polynomial& polynomial) {
    for (const auto& [monomial, coefficient] : polynomial.terms()) {
      for (const Symbol symbol : monomial.factors) {
        if (symbols_.IsCounter(symbol)) digits_.insert(symbol);
      }
    }
  }

  // Functions of the digits would have to be taken apart.
  bool HasMadeSymbols() const {
    const auto made = [&](const Polynomial& polynomial) {
      return std::any_of(
          polynomial.terms().begin(), polynomial.terms().end(), [&](const auto& term) {
            return std::any_of(
                term.first.factors.begin(), term.first.factors.end(), [&](Symbol symbol) {
                  return !digits_.contains(symbol) && symbols_.ChangesWith(symbol, digits_);
                });
          });
    };
    return made(rest_) || std::any_of(guards_.begin(), guards_.end(), made);
  }

  // A digit that a guard leaves no value but 0: `if (threadIdx.x == 0)`.
  void FixPinned() {
    for (const Symbol symbol : std::set<Symbol>(digits_)) {
      const Polynomial pin = -Polynomial::Of(symbol);
      if (std::find(guards_.begin(), guards_.end(), pin) == guards_.end()) continue;
      digits_.erase(symbol);
      rest_ = rest_.Substitute(symbol, Polynomial(0));
      for (Polynomial& guard : guards_) guard = guard.Substitute(symbol, Polynomial(0));
    }
  }

  // Adds the digit whose stride is what the digits below it span.
  bool TakeDigit() {
    if (!span_) return false;
    const Polynomial stride = unit_ * *span_;
    for (const Symbol symbol : digits_) {
      const std::optional<Polynomial> coefficient = rest_.CoefficientOf(symbol);
      if (!coefficient || !(*coefficient == stride)) continue;
      rest_ = rest_ - stride * Polynomial::Of(symbol);
      value_ = value_ + *span_ * Polynomial::Of(symbol);
      const auto size = ids_.find(symbol);
      span_ = size == ids_.end() ? std::nullopt : std::optional(*span_ * size->second);
      digits_.erase(symbol);
      ApplyGuard();
      return true;
    }
    return false;
  }

  // A guard that limits the number that the digits make together.
  void ApplyGuard() {
    for (auto guard = guards_.begin(); guard != guards_.end(); ++guard) {
      const Polynomial limit = *guard + Polynomial(1) + value_;
      if (!limit.valid() || HasDigits(limit)) continue;
      if (span_ && !facts_.Natural(known_, *span_ - limit)) continue;
      facts_.Add(known_, *guard);
      guards_.erase(guard);
      Close(limit);
      return;
    }
  }

  bool HasDigits(const Polynomial& polynomial) const {
    return std::any_of(polynomial.terms().begin(), polynomial.terms().end(), [&](const auto& term) {
      return std::any_of(term.first.factors.begin(), term.first.factors.end(), [&](Symbol symbol) {
        return symbol != 0 &&
               (digits_.contains(symbol) || ids_.contains(symbol) || symbols_.IsCounter(symbol));
      });
    });
  }

  // The digits so far are one number from 0 to below `limit`.
  void Close(const Polynomial& limit) {
    unit_ = unit_ * limit;
    span_ = Polynomial(1);
    value_ = Polynomial(0);
  }

  Facts& facts_;
  const SymbolTable& symbols_;
  const Ids& ids_;
  std::set<Symbol> digits_;  // that are still to be placed
  std::vector<Polynomial> guards_;
  State known_;      // guards that were used
  Polynomial rest_;  // of the offset
  Polynomial unit_;  // bytes from one value of the number to the next
  std::optional<Polynomial> span_ = Polynomial(1);  // how many values it has; nothing: no limit
  Polynomial value_;
};

}  // namespace

std::string WhyNotWrittenOnce(const std::vector<Site>& sites, const Polynomial& bytes,
                              const Ids& ids, const SymbolTable& symbols, Facts& facts) {
  std::vector<Interval> intervals;
  for (const Site& site : sites) {
    if (!site.exact) return "it is reached in too many ways";
    std::string why;
    const std::optional<Interval> interval = SiteDigits(site, ids, symbols, facts).Find(why);
    if (!interval) return why;
    intervals.push_back(*interval);
  }
  // One behind the other they make the whole.
  Polynomial end(0);
  while (!intervals.empty()) {
    const auto next = std::find_if(intervals.begin(), intervals.end(),
                                   [&](const Interval& each) { return each.first == end; });
    if (next == intervals.end()) return "parts that are written overlap or leave gaps";
    end = end + next->count;
    intervals.erase(next);
  }
  return end == bytes ? ""
                      : symbols.Text(end) + " of " + symbols.Text(bytes) + " bytes are written";
}

}  // namespace kernelsmith::sizes
