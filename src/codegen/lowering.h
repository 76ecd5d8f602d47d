// What the rules of lower_*.cc are written with. Not for other folders.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "codegen/family.h"
#include "codegen/lower.h"
#include "codegen/program.h"
#include "graph/aten_ops.h"
#include "support/check.h"

namespace kernelsmith::codegen {

// Thrown by rules, caught by Lower().
struct LoweringError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Indices = std::vector<Int>;

class Lowering {
 public:
  explicit Lowering(Family& family) : family_(family) {}

  // -- the node that is being lowered
  const Node& node() const { return *node_; }
  bool has(size_t arg) const { return arg < node_->args.size() && !node_->args[arg].is_none(); }
  bool is_tensor(size_t arg) const;
  BufferId tensor(size_t arg);
  std::vector<std::optional<BufferId>> tensors(size_t arg);
  // The element at `index`, broadcast from the right; a number is itself.
  Scalar read(size_t arg, const Indices& index);
  Scalar number(size_t arg, DType dtype);
  // A number that must be the same in every configuration: an axis, a flag.
  int64_t fixed(size_t arg) const;
  std::vector<int64_t> fixed_list(size_t arg) const;
  bool flag(size_t arg) const;
  std::string text(size_t arg) const;
  // Numbers that may vary over the family.
  Int integer(size_t arg);
  std::vector<Int> integers(size_t arg);
  Indices result_shape(size_t result = 0);
  DType result_type(size_t result = 0) const;
  bool has_result(size_t result) const {
    return result < node_->outputs.size() && node_->outputs[result].has_value();
  }
  size_t result_count() const { return node_->outputs.size(); }

  // -- buffers
  const Indices& shape(BufferId id) const { return program.buffers[id].shape; }
  DType dtype(BufferId id) const { return program.buffers[id].dtype; }
  size_t rank(BufferId id) const { return shape(id).size(); }
  // A constant of one element is a number.
  Scalar load(BufferId id, Indices index) const;
  Scalar broadcast(BufferId id, const Indices& index) const;
  Indices axes(const Indices& shape);

  // -- nests. `set` makes a buffer the node's result.
  void set(size_t result, BufferId id);
  BufferId map(DType dtype, const Indices& shape,
               const std::function<Scalar(const Indices&)>& body);
  // `body` gets the outer index and the reduced one.
  BufferId reduce(DType dtype, const Indices& outer, const Indices& inner, Combine combine,
                  const std::function<Scalar(const Indices&, const Indices&)>& body);
  // Value and position.
  std::pair<BufferId, BufferId> arg_reduce(
      DType dtype, const Indices& outer, const Indices& inner, Combine combine,
      const std::function<Scalar(const Indices&, const Indices&)>& body);
  // Over `dims` of a tensor of `shape`; the result keeps reduced dimensions as 1 where `keep`.
  BufferId reduce_dims(DType dtype, const Indices& shape, const std::vector<int64_t>& dims,
                       bool keep, Combine combine,
                       const std::function<Scalar(const Indices&)>& body);
  BufferId add(Nest nest, DType dtype, const Indices& shape);
  BufferId buffer(DType dtype, const Indices& shape, const std::string& hint = "");

  // Index into a tensor of shape `from` of the element that has `index` in a view of shape `to`.
  Indices reshape(const Indices& from, const Indices& to, const Indices& index) const;
  bool equal(const Int& a, const Int& b) const;
  Family& family() { return family_; }

  [[noreturn]] void fail(const std::string& why) const;

  Program program;

 private:
  friend Result<Program> Lower(Family& family, const LowerOptions& options);
  const Argument& arg(size_t i) const { return node_->args[i]; }
  // A size that has these values in the configurations.
  Int fit(const std::vector<int64_t>& values) const;
  // Neighbouring dimensions of an operand seen as one, whatever their sizes come from.
  std::optional<Int> joined_dimensions(const std::vector<int64_t>& values) const;

  Family& family_;
  const Node* node_ = nullptr;
  size_t position_ = 0;
  std::map<std::pair<size_t, size_t>, BufferId> values_;
  int next_axis_ = 0;
  std::map<std::string, int> names_;
};

using Rule = std::function<void(Lowering&)>;
// What becomes of each operator. A test holds it against the table: an operator has a rule if its
// row in aten_ops.def says Lowered, and only then.
class Rules {
 public:
  // rules[op] = rule, rules[{op, other}] = rule: once for each operator.
  class Place {
   public:
    Place(Rules* rules, std::vector<AtenOp> ops) : rules_(rules), ops_(std::move(ops)) {}
    void operator=(const Rule& rule) {
      for (const AtenOp op : ops_)
        KS_CHECK(rules_->rules_.emplace(op, rule).second, OperatorOf(op).name);
    }

   private:
    Rules* rules_;
    std::vector<AtenOp> ops_;
  };
  Place operator[](AtenOp op) { return {this, {op}}; }
  Place operator[](std::initializer_list<AtenOp> ops) { return {this, ops}; }
  // Null: none.
  const Rule* Find(AtenOp op) const {
    const auto found = rules_.find(op);
    return found == rules_.end() ? nullptr : &found->second;
  }

 private:
  std::map<AtenOp, Rule> rules_;
};
void AddPointwiseRules(Rules& rules);
void AddReductionRules(Rules& rules);
void AddOrderRules(Rules& rules);
void AddLayoutRules(Rules& rules);
void AddIndexRules(Rules& rules);
void AddLinearRules(Rules& rules);
void AddConvolutionRules(Rules& rules);
void AddPoolRules(Rules& rules);
void AddNormRules(Rules& rules);

// What sums and statistics of a type are kept in.
inline DType AccumulateType(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16 ? DType::kFloat32 : dtype;
}
// dims as 0 .. rank-1, sorted; empty means all.
std::vector<int64_t> NormalizedDims(std::vector<int64_t> dims, size_t rank);

}  // namespace kernelsmith::codegen
