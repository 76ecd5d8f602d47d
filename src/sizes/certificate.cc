#include "sizes/certificate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace kernelsmith::sizes {
namespace {

// ---- exact fractions; nothing when they leave 126 bits

struct Fraction {
  Integer numerator = 0;
  Integer denominator = 1;
};

Integer Gcd(Integer a, Integer b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) {
    a %= b;
    std::swap(a, b);
  }
  return a;
}

class Exact {
 public:
  bool failed() const { return failed_; }

  Fraction Make(Integer numerator, Integer denominator) {
    if (denominator < 0) {
      numerator = -numerator;
      denominator = -denominator;
    }
    const Integer divisor = Gcd(numerator, denominator);
    if (divisor > 1) {
      numerator /= divisor;
      denominator /= divisor;
    }
    return {numerator, denominator};
  }
  Fraction Times(Fraction a, Fraction b) {
    const Fraction first = Make(a.numerator, b.denominator);
    const Fraction second = Make(b.numerator, a.denominator);
    return {Product(first.numerator, second.numerator),
            Product(first.denominator, second.denominator)};
  }
  Fraction Over(Fraction a, Fraction b) { return Times(a, Make(b.denominator, b.numerator)); }
  Fraction Minus(Fraction a, Fraction b) {
    Integer difference;
    if (__builtin_sub_overflow(Product(a.numerator, b.denominator),
                               Product(b.numerator, a.denominator), &difference)) {
      failed_ = true;
    }
    return Make(failed_ ? 0 : difference, failed_ ? 1 : Product(a.denominator, b.denominator));
  }

 private:
  Integer Product(Integer a, Integer b) {
    Integer product;
    if (__builtin_mul_overflow(a, b, &product) || product > kMost || product < -kMost) {
      failed_ = true;
      return 1;
    }
    return product;
  }
  static constexpr Integer kMost = Integer{1} << 126;
  bool failed_ = false;
};

// ---- the program

struct Row {
  bool natural = false;  // what remains of it may be positive: it is >= 0 by itself
  std::vector<std::pair<uint32_t, Integer>> entries;
};

class Search {
 public:
  Search(const SymbolTable& symbols, const std::vector<Polynomial>& columns, uint64_t& work)
      : columns_(columns), alive_(columns.size(), true), work_(work) {
    for (uint32_t column = 0; column < columns.size(); ++column) {
      for (const auto& [monomial, coefficient] : columns[column].terms()) {
        if (monomial.IsOne()) continue;
        Row& row = rows_[monomial];
        row.natural = symbols.IsNatural(monomial);
        row.entries.emplace_back(column, coefficient);
      }
    }
  }

  bool Run() {
    Prune();
    std::vector<double> multiples;
    return Solve(multiples) && Confirm(multiples);
  }

 private:
  // A monomial that can't cancel takes its columns out of the search.
  void Prune() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [monomial, row] : rows_) {
        std::erase_if(row.entries, [&](const auto& entry) { return !alive_[entry.first]; });
        bool positive = false;
        bool negative = false;
        for (const auto& entry : row.entries) (entry.second > 0 ? positive : negative) = true;
        if (positive == negative || (negative && row.natural)) continue;
        for (const auto& entry : row.entries) alive_[entry.first] = false;
        row.entries.clear();
        changed = true;
      }
    }
  }

  // A dense tableau in which all but the last row say: the sum of a monomial is not positive. The
  // sum of the multiples is at most 1, and minus the constant is as large as possible.
  bool Solve(std::vector<double>& multiples) {
    std::vector<uint32_t> used;
    for (uint32_t i = 0; i < columns_.size(); ++i) {
      if (alive_[i]) used.push_back(i);
    }
    std::vector<uint32_t> place(columns_.size(), 0);
    std::vector<double> scale;
    for (uint32_t i = 0; i < used.size(); ++i) {
      place[used[i]] = i;
      double largest = 1;
      for (const auto& [monomial, coefficient] : columns_[used[i]].terms()) {
        if (!monomial.IsOne())
          largest = std::max(largest, std::fabs(static_cast<double>(coefficient)));
      }
      scale.push_back(1 / largest);
    }
    const size_t width = used.size() + 1;  // and the right side
    std::vector<std::vector<double>> table;
    for (const auto& [monomial, row] : rows_) {
      if (row.entries.empty()) continue;
      std::vector<double> line(width);
      for (const auto& [column, coefficient] : row.entries) {
        line[place[column]] = static_cast<double>(coefficient) * scale[place[column]];
      }
      table.push_back(line);
      if (row.natural) continue;
      for (double& each : line) each = -each;
      table.push_back(std::move(line));
    }
    table.emplace_back(width, 1.0);
    std::vector<double> objective(width);
    for (size_t i = 0; i < used.size(); ++i) {
      objective[i] = -static_cast<double>(columns_[used[i]].Constant()) * scale[i];
    }
    // By number: columns first, then the rows' slacks. A non-basic slack takes the place of the
    // column that replaced it.
    std::vector<size_t> basic(table.size());
    std::vector<size_t> free(used.size());
    for (size_t i = 0; i < free.size(); ++i) free[i] = i;
    for (size_t i = 0; i < basic.size(); ++i) basic[i] = used.size() + i;
    constexpr double kTiny = 1e-9;
    const size_t limit = 20 * (table.size() + width);
    for (size_t pivots = 0; pivots < limit; ++pivots) {
      work_ += table.size() * width;
      // The steepest column at first; the one with the smallest number later, which never circles.
      const bool careful = pivots > 2 * table.size();
      size_t enter = width;
      for (size_t i = 0; i + 1 < width; ++i) {
        if (objective[i] <= kTiny) continue;
        if (enter == width || (careful ? free[i] < free[enter] : objective[i] > objective[enter])) {
          enter = i;
        }
      }
      if (enter == width) break;
      size_t leave = table.size();
      for (size_t row = 0; row < table.size(); ++row) {
        if (table[row][enter] <= kTiny) continue;
        if (leave == table.size()) {
          leave = row;
          continue;
        }
        const double ratio = table[row].back() / table[row][enter];
        const double best = table[leave].back() / table[leave][enter];
        if (ratio < best - kTiny || (ratio <= best + kTiny && basic[row] < basic[leave])) {
          leave = row;
        }
      }
      if (leave == table.size()) return false;  // the sum is limited, so this is rounding
      Pivot(table, objective, leave, enter);
      std::swap(basic[leave], free[enter]);
      if (objective.back() < -1e-7) break;  // positive already: the right side has its negative
    }
    if (objective.back() > -1e-7) return false;
    multiples.assign(columns_.size(), 0);
    for (size_t row = 0; row < table.size(); ++row) {
      if (basic[row] >= used.size() || table[row].back() < kTiny) continue;
      multiples[used[basic[row]]] = table[row].back() * scale[basic[row]];
    }
    return true;
  }

  static void Pivot(std::vector<std::vector<double>>& table, std::vector<double>& objective,
                    size_t leave, size_t enter) {
    std::vector<double>& line = table[leave];
    const double pivot = line[enter];
    line[enter] = 1;
    for (double& each : line) each /= pivot;
    const auto eliminate = [&](std::vector<double>& other) {
      const double factor = other[enter];
      if (factor == 0) return;
      other[enter] = 0;
      for (size_t i = 0; i < other.size(); ++i) {
        other[i] -= factor * line[i];
        if (std::fabs(other[i]) < 1e-12) other[i] = 0;
      }
    };
    for (size_t row = 0; row < table.size(); ++row) {
      if (row != leave) eliminate(table[row]);
    }
    eliminate(objective);
  }

  // The same multiples as fractions: the monomials that cancel give equations for them.
  bool Confirm(const std::vector<double>& multiples) const {
    std::vector<uint32_t> used;
    for (uint32_t i = 0; i < multiples.size(); ++i) {
      if (multiples[i] > 0) used.push_back(i);
    }
    if (used.empty()) return false;
    Exact exact;
    std::vector<std::vector<Fraction>> equations;
    for (const auto& [monomial, row] : rows_) {
      double sum = 0;
      double size = 0;
      std::vector<Fraction> equation(used.size());
      for (const auto& [column, coefficient] : row.entries) {
        const auto at = std::lower_bound(used.begin(), used.end(), column);
        if (at == used.end() || *at != column) continue;
        const double part = static_cast<double>(coefficient) * multiples[column];
        sum += part;
        size += std::fabs(part);
        equation[static_cast<size_t>(at - used.begin())] = {coefficient, 1};
      }
      if (size > 0 && std::fabs(sum) < 1e-6 * size) equations.push_back(std::move(equation));
    }
    const std::optional<std::vector<Fraction>> solution = NullVector(exact, equations, used.size());
    return solution && Check(exact, used, *solution);
  }

  // The vector that all equations map to 0, if it is the only one apart from its multiples.
  static std::optional<std::vector<Fraction>> NullVector(
      Exact& exact, std::vector<std::vector<Fraction>>& equations, size_t unknowns) {
    std::vector<size_t> row_of(unknowns, SIZE_MAX);
    size_t rank = 0;
    size_t open = SIZE_MAX;
    for (size_t column = 0; column < unknowns; ++column) {
      size_t pivot = rank;
      while (pivot < equations.size() && equations[pivot][column].numerator == 0) ++pivot;
      if (pivot == equations.size()) {
        if (open != SIZE_MAX) return std::nullopt;
        open = column;
        continue;
      }
      std::swap(equations[rank], equations[pivot]);
      std::vector<Fraction>& line = equations[rank];
      const Fraction factor = line[column];
      for (Fraction& each : line) each = exact.Over(each, factor);
      for (size_t row = 0; row < equations.size(); ++row) {
        const Fraction times = equations[row][column];
        if (row == rank || times.numerator == 0) continue;
        for (size_t i = 0; i < unknowns; ++i) {
          equations[row][i] = exact.Minus(equations[row][i], exact.Times(times, line[i]));
        }
      }
      if (exact.failed()) return std::nullopt;
      row_of[column] = rank++;
    }
    if (open == SIZE_MAX) return std::nullopt;
    std::vector<Fraction> solution(unknowns);
    for (size_t column = 0; column < unknowns; ++column) {
      if (column == open) {
        solution[column] = {1, 1};
      } else {
        const Fraction value = equations[row_of[column]][open];
        solution[column] = {-value.numerator, value.denominator};
      }
    }
    return solution;
  }

  bool Check(Exact& exact, const std::vector<uint32_t>& used,
             const std::vector<Fraction>& solution) const {
    // As whole numbers.
    Integer common = 1;
    for (const Fraction& each : solution) {
      if (each.numerator < 0) return false;
      const Integer factor = each.denominator / Gcd(common, each.denominator);
      if (__builtin_mul_overflow(common, factor, &common)) return false;
    }
    Polynomial sum;
    for (size_t i = 0; i < used.size(); ++i) {
      const Polynomial times(common / solution[i].denominator);
      sum = sum + columns_[used[i]] * times * Polynomial(solution[i].numerator);
    }
    if (exact.failed() || !sum.valid()) return false;
    for (const auto& [monomial, coefficient] : sum.terms()) {
      if (monomial.IsOne()) continue;
      // What is left must be natural by itself, and it is taken away.
      if (coefficient > 0 || !rows_.at(monomial).natural) return false;
    }
    return sum.Constant() < 0;
  }

  const std::vector<Polynomial>& columns_;
  std::vector<bool> alive_;
  std::map<Monomial, Row> rows_;
  uint64_t& work_;
};

}  // namespace

bool HasCertificate(const SymbolTable& symbols, const std::vector<Polynomial>& columns,
                    uint64_t& work) {
  return Search(symbols, columns, work).Run();
}

}  // namespace kernelsmith::sizes
