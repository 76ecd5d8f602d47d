// One graph for a family of shapes. The same code exported at several configurations gives graphs
// that differ in numbers only: a number that varies is expressed by the sizes and numbers that the
// function is called with, one that does not vary is a constant. What fits every known
// configuration may still be wrong elsewhere: whoever uses the result verifies it at configurations
// that were not fitted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codegen/int_expr.h"
#include "codegen/scalar.h"
#include "graph/graph.h"
#include "support/result.h"

namespace kernelsmith::codegen {

// A number argument of the function, with its value in every configuration.
struct NumberArgument {
  std::string name;
  bool integer = true;
  std::vector<double> values;
};

class Family {
 public:
  struct Symbol {
    std::string name;
    std::string text;  // how the host computes it: "x.size(0)"
    std::vector<int64_t> values;
  };
  // A size of an argument that must be what the kernels assume.
  struct Assumption {
    std::string text;  // "weight.size(1)"
    Int expected;
  };

  // `graphs` have the same structure (SameStructure). `size_names` are names people gave to sizes,
  // by their values.
  static Result<Family> Make(std::vector<std::shared_ptr<const Graph>> graphs,
                             std::vector<NumberArgument> numbers,
                             const std::map<std::string, std::vector<int64_t>>& size_names,
                             const std::vector<std::string>& taken_names);
  // Sizes come from placeholders that are among `taken_names`: those the function is called with.

  const Graph& graph() const { return *graphs_[0]; }
  const std::vector<std::shared_ptr<const Graph>>& graphs() const { return graphs_; }
  size_t count() const { return graphs_.size(); }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const std::vector<Assumption>& assumptions() const { return assumptions_; }

  // An expression with these values; none is found: nullopt.
  std::optional<Int> Fit(const std::vector<int64_t>& values) const;
  // The same for a float; the text of a host expression, or empty where the values are one
  // constant.
  std::optional<std::string> FitNumber(const std::vector<double>& values) const;

  // An expression that later fits may use: the output size of a convolution.
  void Offer(const Int& expression);

  std::vector<int64_t> ValuesOf(const Int& expression) const;
  int64_t LargestOf(const Int& expression) const;
  int64_t ValueOf(const Int& expression, size_t configuration) const;

 private:
  struct Candidate {
    Int expression;
    std::vector<int64_t> values;
  };
  void AddCandidate(const Int& expression, std::vector<int64_t> values);

  std::vector<std::shared_ptr<const Graph>> graphs_;
  std::vector<NumberArgument> numbers_;
  std::vector<Symbol> symbols_;
  std::vector<Assumption> assumptions_;
  std::vector<Candidate> candidates_;  // simplest first
  std::map<std::vector<int64_t>, size_t> by_values_;
};

// Graphs that differ in numbers only: same nodes, operators, ranks, dtypes.
bool SameStructure(const Graph& a, const Graph& b);

}  // namespace kernelsmith::codegen
