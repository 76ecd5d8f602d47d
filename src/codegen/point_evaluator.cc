#include "codegen/point_evaluator.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "codegen/fold.h"
#include "codegen/lower.h"
#include "codegen/program.h"
#include "codegen/scalar_functions.h"
#include "tensor/dtype.h"

namespace kernelsmith::codegen {
namespace {

// Thrown when the budget is spent, caught by At().
struct Spent {};

// An Int or a Scalar as numbers of other entries, so that evaluating it looks nothing up.
struct AtomCode {
  AtomNode::Kind kind = AtomNode::Kind::kSize;
  int64_t number = 0;  // kSize: its value; kAxis: its place in the frame
  std::vector<size_t> args;
  size_t value = 0;  // kValue
};
struct IntCode {
  struct Term {
    int64_t factor = 0;
    std::vector<size_t> atoms;
  };
  // Most terms are a number times an axis: those need no atom.
  struct AxisTerm {
    int64_t factor = 0;
    size_t slot = 0;
  };
  int64_t constant = 0;
  std::vector<AxisTerm> axes;
  std::vector<Term> terms;  // the others
};
struct ScalarCode {
  Scalar node;
  ScalarFunction function = nullptr;
  std::vector<size_t> index;
  std::vector<size_t> args;
};

double RoundTo(double value, DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return static_cast<double>(static_cast<float>(value));
    case DType::kFloat16:
    case DType::kBfloat16: {
      std::byte one[2];
      StoreElement(dtype, value, one);
      return LoadElement(dtype, one);
    }
    default:
      return value;
  }
}

double CastTo(double value, DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return value != 0 ? 1 : 0;
    case DType::kInt8:
      return static_cast<int8_t>(static_cast<int64_t>(value));
    case DType::kInt16:
      return static_cast<int16_t>(static_cast<int64_t>(value));
    case DType::kUint8:
      return static_cast<uint8_t>(static_cast<int64_t>(value));
    case DType::kInt32:
      return static_cast<int32_t>(static_cast<int64_t>(value));
    case DType::kInt64:
      return static_cast<double>(static_cast<int64_t>(value));
    default:
      return value;
  }
}

// One nest, ready to be evaluated.
class NestCode {
 public:
  NestCode(const Nest& nest, const Family& family) : nest_(nest), family_(family) {
    for (const Int& axis : nest.axes) axes_.push_back(SlotOf(axis));
    for (const Int& axis : nest.reduced) {
      reduced_.push_back(SlotOf(axis));
      extents_.push_back(family.ValueOf(axis.atom()->extent, 0));
    }
    for (const Int& axis : nest.out_axes) out_axes_.push_back(SlotOf(axis));
    if (nest.body) body_ = Add(nest.body);
    if (nest.base) base_ = Add(nest.base);
    if (nest.condition) condition_ = Add(nest.condition);
    for (const Int& index : nest.target) target_.push_back(Add(index));
  }

  const Nest& nest() const { return nest_; }
  size_t frame_size() const { return slots_.size(); }
  const std::vector<int>& axes() const { return axes_; }  // slots; -1: always 0
  const std::vector<int>& out_axes() const { return out_axes_; }
  const std::vector<int>& reduced() const { return reduced_; }
  const std::vector<int64_t>& extents() const { return extents_; }
  size_t body() const { return body_; }
  size_t base() const { return base_; }
  std::optional<size_t> condition() const { return condition_; }
  const std::vector<size_t>& target() const { return target_; }

  const ScalarCode& scalar(size_t i) const { return scalars_[i]; }
  const IntCode& integer(size_t i) const { return integers_[i]; }
  const AtomCode& atom(size_t i) const { return atoms_[i]; }
  size_t scalars() const { return scalars_.size(); }

 private:
  int SlotOf(const Int& axis) {
    const Atom atom = axis.atom();
    if (atom == nullptr || atom->kind != AtomNode::Kind::kAxis) return -1;
    return static_cast<int>(slots_.emplace(atom->key, slots_.size()).first->second);
  }

  size_t Add(const Int& value) {
    IntCode code;
    for (const auto& [atoms, factor] : value.terms()) {
      IntCode::Term term{.factor = factor, .atoms = {}};
      for (const Atom& atom : atoms) {
        const size_t added = Add(atom);
        if (atoms_[added].kind == AtomNode::Kind::kSize) {
          term.factor *= atoms_[added].number;
        } else {
          term.atoms.push_back(added);
        }
      }
      if (term.atoms.empty()) {
        code.constant += term.factor;
      } else if (const AtomCode& only = atoms_[term.atoms[0]];
                 term.atoms.size() == 1 && only.kind == AtomNode::Kind::kAxis) {
        code.axes.push_back({term.factor, static_cast<size_t>(only.number)});
      } else {
        code.terms.push_back(std::move(term));
      }
    }
    integers_.push_back(std::move(code));
    return integers_.size() - 1;
  }

  size_t Add(const Atom& atom) {
    if (const auto known = known_atoms_.find(atom->key); known != known_atoms_.end()) {
      return known->second;
    }
    AtomCode code{.kind = atom->kind};
    switch (atom->kind) {
      case AtomNode::Kind::kSize:
        code.number = family_.ValueOf(Int(atom), 0);
        break;
      case AtomNode::Kind::kAxis:
        code.number = SlotOf(Int(atom));
        break;
      case AtomNode::Kind::kValue:
        code.value = Add(atom->value);
        break;
      case AtomNode::Kind::kDivide:
      case AtomNode::Kind::kModulo:
      case AtomNode::Kind::kMin:
      case AtomNode::Kind::kMax:
        for (const Int& arg : atom->args) code.args.push_back(Add(arg));
        break;
    }
    atoms_.push_back(std::move(code));
    known_atoms_[atom->key] = atoms_.size() - 1;
    return atoms_.size() - 1;
  }

  size_t Add(const Scalar& value) {
    if (const auto known = known_scalars_.find(value->hash()); known != known_scalars_.end()) {
      return known->second;
    }
    ScalarCode code{.node = value};
    for (const Scalar& arg : value->args) code.args.push_back(Add(arg));
    for (const Int& index : value->index) code.index.push_back(Add(index));
    if (value->function != nullptr) {
      const bool floats = value->args.size() > 0 && IsFloat(value->args.back()->dtype);
      code.function = FindScalarFunction(value->function->name, floats);
    }
    scalars_.push_back(std::move(code));
    known_scalars_[value->hash()] = scalars_.size() - 1;
    return scalars_.size() - 1;
  }

  const Nest& nest_;
  const Family& family_;
  std::map<std::string, size_t> slots_;
  std::map<std::string, size_t> known_atoms_;
  std::map<ScalarNode::Hash, size_t> known_scalars_;
  std::vector<AtomCode> atoms_;
  std::vector<IntCode> integers_;
  std::vector<ScalarCode> scalars_;
  std::vector<int> axes_;
  std::vector<int> out_axes_;
  std::vector<int> reduced_;
  std::vector<int64_t> extents_;
  size_t body_ = 0;
  size_t base_ = 0;
  std::optional<size_t> condition_;
  std::vector<size_t> target_;
};

class Evaluator;

// The values of the axes of a nest, and what was computed of its scalars for them.
class Frame {
 public:
  Frame(Evaluator& evaluator, const NestCode& code)
      : evaluator_(evaluator),
        code_(code),
        slots_(code.frame_size()),
        values_(code.scalars()),
        known_(code.scalars(), 0) {}

  // Other values of axes make what was computed invalid.
  void Set(int slot, int64_t value) {
    if (slot >= 0) slots_[static_cast<size_t>(slot)] = value;
    ++turn_;
  }
  int64_t Integer(size_t i);
  double Scalar(size_t i);

 private:
  int64_t Atom(size_t i);
  double Compute(const ScalarCode& code);

  Evaluator& evaluator_;
  const NestCode& code_;
  std::vector<int64_t> slots_;
  std::vector<double> values_;
  std::vector<uint64_t> known_;  // the turn that a value belongs to
  uint64_t turn_ = 1;
};

class Evaluator final : public PointEvaluator {
 public:
  Evaluator(Family family, Program program)
      : family_(std::move(family)), program_(std::move(program)) {
    producer_.resize(program_.buffers.size(), SIZE_MAX);
    for (size_t i = 0; i < program_.nests.size(); ++i) {
      codes_.emplace_back(program_.nests[i], family_);
      for (const BufferId output : program_.nests[i].outputs) producer_[output] = i;
    }
    for (const Buffer& buffer : program_.buffers) {
      std::vector<int64_t>& shape = shapes_.emplace_back();
      for (const Int& size : buffer.shape) shape.push_back(family_.ValueOf(size, 0));
    }
    arguments_.resize(program_.buffers.size(), nullptr);
  }

  void SetArgument(const std::string& name, const HostTensor& values) override {
    for (BufferId i = 0; i < program_.buffers.size(); ++i) {
      const Buffer& buffer = program_.buffers[i];
      if (buffer.kind == Buffer::Kind::kArgument && buffer.name == name) arguments_[i] = &values;
    }
    for (auto& memory : memory_) memory.clear();
    rows_.clear();
  }

  std::optional<Point> At(size_t result, int64_t flat, uint64_t* budget) override {
    left_ = *budget;
    try {
      Point point;
      rounds_ = false;
      point.exact = Element(program_.results.at(result), flat);
      rounds_ = true;
      point.rounded = Element(program_.results.at(result), flat);
      *budget = left_;
      return point;
    } catch (const Spent&) {
      *budget = 0;
      return std::nullopt;
    }
  }

  double Element(BufferId buffer, int64_t flat) {
    const Buffer& declared = program_.buffers[buffer];
    if (declared.kind == Buffer::Kind::kConstant) return declared.data.at(flat);
    if (declared.kind == Buffer::Kind::kArgument) {
      const HostTensor* argument = arguments_[buffer];
      if (argument == nullptr) throw Spent();
      if (argument->dtype != DType::kFloat32) return argument->at(flat);
      float value = 0;
      std::memcpy(&value, argument->bytes.data() + flat * int64_t{sizeof value}, sizeof value);
      return value;
    }
    constexpr size_t kMostRemembered = 1 << 21;
    auto& memory = memory_[rounds_ ? 1 : 0];
    const uint64_t key = static_cast<uint64_t>(buffer) << 44 ^ static_cast<uint64_t>(flat);
    if (const auto known = memory.find(key); known != memory.end()) return known->second;
    const double value = Stored(Compute(buffer, flat), declared.dtype);
    if (memory.size() > kMostRemembered) memory.clear();
    memory[key] = value;
    return value;
  }

  // `index(d)`: the place on axis d.
  template <typename Index>
  double Load(BufferId buffer, const Index& index) {
    const std::vector<int64_t>& shape = shapes_[buffer];
    int64_t flat = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t at = index(d);
      // A guard keeps such a value from being used.
      if (at < 0 || at >= shape[d]) return std::numeric_limits<double>::quiet_NaN();
      flat = flat * shape[d] + at;
    }
    return Element(buffer, flat);
  }

  void Spend() {
    if (left_ == 0) throw Spent();
    --left_;
  }
  bool rounds() const { return rounds_; }

 private:
  double Stored(double value, DType dtype) const { return rounds_ ? RoundTo(value, dtype) : value; }

  static std::vector<int64_t> Unflatten(int64_t flat, const std::vector<int64_t>& shape) {
    std::vector<int64_t> index(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
      index[d] = flat % shape[d];
      flat /= shape[d];
    }
    return index;
  }

  double Compute(BufferId buffer, int64_t flat) {
    const NestCode& code = codes_[producer_.at(buffer)];
    const Nest& nest = code.nest();
    Frame frame(*this, code);
    const std::vector<int64_t> index = Unflatten(flat, shapes_[buffer]);
    if (nest.kind == Nest::Kind::kScatter) return Scattered(code, index, frame);
    for (size_t d = 0; d < index.size() && d < code.axes().size(); ++d) {
      frame.Set(code.axes()[d], index[d]);
    }
    const bool second = nest.outputs.size() > 1 && nest.outputs[1] == buffer;
    switch (nest.kind) {
      case Nest::Kind::kMap:
        return frame.Scalar(code.body());
      case Nest::Kind::kReduce:
        return Reduced(code, frame);
      case Nest::Kind::kArgReduce:
        return ArgReduced(code, frame, second);
      case Nest::Kind::kScan:
        return Scanned(code, frame, index[nest.scan], second);
      case Nest::Kind::kSort:
        return Sorted(code, frame, index, second);
      case Nest::Kind::kScatter:
        break;
    }
    throw Spent();
  }

  // Calls `visit` for every combination of the reduced axes, row-major.
  template <typename Visit>
  void ForEachReduced(const NestCode& code, Frame& frame, const Visit& visit) {
    const std::vector<int64_t>& extents = code.extents();
    std::vector<int64_t> at(extents.size(), 0);
    const int64_t count =
        std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
    for (size_t d = 0; d < at.size(); ++d) frame.Set(code.reduced()[d], 0);
    for (int64_t i = 0; i < count; ++i) {
      visit(i);
      for (size_t d = at.size(); d-- > 0;) {
        if (++at[d] < extents[d]) {
          frame.Set(code.reduced()[d], at[d]);
          break;
        }
        at[d] = 0;
        frame.Set(code.reduced()[d], 0);
      }
    }
  }

  double Combined(Combine combine, double a, double b, DType dtype) const {
    switch (combine) {
      case Combine::kSum:
        return Stored(a + b, dtype);
      case Combine::kProduct:
        return Stored(a * b, dtype);
      case Combine::kMax:
        return std::isnan(a) || a > b ? a : b;
      case Combine::kMin:
        return std::isnan(a) || a < b ? a : b;
      case Combine::kAny:
        return a != 0 || b != 0 ? 1 : 0;
      case Combine::kAll:
        return a != 0 && b != 0 ? 1 : 0;
      case Combine::kSet:
        return b;
    }
    return b;
  }

  static double StartOf(Combine combine) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    switch (combine) {
      case Combine::kProduct:
      case Combine::kAll:
        return 1;
      case Combine::kMax:
        return -kInfinity;
      case Combine::kMin:
        return kInfinity;
      default:
        return 0;
    }
  }

  // In parts, as kernels add up: a serial sum in float32 would have an error of its own.
  double Reduced(const NestCode& code, Frame& frame) {
    constexpr int64_t kPart = 128;
    const Nest& nest = code.nest();
    const DType dtype = nest.body->dtype;
    double all = StartOf(nest.combine);
    double part = all;
    ForEachReduced(code, frame, [&](int64_t i) {
      part = Combined(nest.combine, part, frame.Scalar(code.body()), dtype);
      if ((i + 1) % kPart == 0) {
        all = Combined(nest.combine, all, part, dtype);
        part = StartOf(nest.combine);
      }
    });
    return Combined(nest.combine, all, part, dtype);
  }

  double ArgReduced(const NestCode& code, Frame& frame, bool position) {
    const bool largest = code.nest().combine == Combine::kMax;
    double best = 0;
    int64_t where = -1;
    ForEachReduced(code, frame, [&](int64_t i) {
      const double value = frame.Scalar(code.body());
      const bool better = where < 0 || (std::isnan(value) && !std::isnan(best)) ||
                          (largest ? value > best : value < best);
      if (!better) return;
      best = value;
      where = i;
    });
    return position ? static_cast<double>(where) : best;
  }

  double Scanned(const NestCode& code, Frame& frame, int64_t last, bool position) {
    const Nest& nest = code.nest();
    const int slot = code.axes()[nest.scan];
    double all = StartOf(nest.combine);
    int64_t where = 0;
    for (int64_t i = 0; i <= last; ++i) {
      frame.Set(slot, i);
      const double value = frame.Scalar(code.body());
      const double combined = Combined(nest.combine, all, value, nest.body->dtype);
      if (combined != all || i == 0 || (nest.last_wins && value == all)) where = i;
      all = combined;
    }
    return position ? static_cast<double>(where) : all;
  }

  // The whole row is sorted once.
  double Sorted(const NestCode& code, Frame& frame, std::vector<int64_t> index, bool position) {
    const int64_t wanted = index.back();
    index.back() = rounds_ ? 1 : 0;
    auto& row = rows_[{&code, index}];
    if (row.empty()) {
      const int slot = code.axes().back();
      const int64_t count = family_.ValueOf(code.nest().axes.back().atom()->extent, 0);
      for (int64_t i = 0; i < count; ++i) {
        frame.Set(slot, i);
        row.emplace_back(frame.Scalar(code.body()), i);
      }
      const bool descending = code.nest().descending;
      // A NaN counts as larger than all numbers.
      const auto larger = [](double a, double b) {
        return std::isnan(a) ? !std::isnan(b) : !std::isnan(b) && a > b;
      };
      std::sort(row.begin(), row.end(), [&](const auto& a, const auto& b) {
        const bool first = descending ? larger(a.first, b.first) : larger(b.first, a.first);
        const bool second = descending ? larger(b.first, a.first) : larger(a.first, b.first);
        return first || (!second && a.second < b.second);
      });
    }
    const auto& [value, where] = row.at(static_cast<size_t>(wanted));
    return position ? static_cast<double>(where) : value;
  }

  // All of the source is looked through for what goes there.
  double Scattered(const NestCode& code, const std::vector<int64_t>& index, Frame& frame) {
    const Nest& nest = code.nest();
    for (size_t d = 0; d < index.size(); ++d) frame.Set(code.out_axes()[d], index[d]);
    double value = frame.Scalar(code.base());
    std::vector<int64_t> extents;
    int64_t count = 1;
    for (const Int& axis : nest.axes) {
      const Atom atom = axis.atom();
      extents.push_back(atom == nullptr ? 1 : family_.ValueOf(atom->extent, 0));
      count *= extents.back();
    }
    for (int64_t i = 0; i < count; ++i) {
      const std::vector<int64_t> source = Unflatten(i, extents);
      for (size_t d = 0; d < source.size(); ++d) frame.Set(code.axes()[d], source[d]);
      Spend();
      if (code.condition() && frame.Scalar(*code.condition()) == 0) continue;
      bool there = true;
      for (size_t d = 0; d < index.size() && there; ++d) {
        there = frame.Integer(code.target()[d]) == index[d];
      }
      if (there) value = Combined(nest.combine, value, frame.Scalar(code.body()), nest.body->dtype);
    }
    return value;
  }

  Family family_;
  Program program_;
  std::vector<NestCode> codes_;
  std::vector<size_t> producer_;  // the nest of each buffer
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<const HostTensor*> arguments_;
  std::unordered_map<uint64_t, double> memory_[2];  // exact and rounded elements
  std::map<std::pair<const NestCode*, std::vector<int64_t>>,
           std::vector<std::pair<double, int64_t>>>
      rows_;
  bool rounds_ = false;
  uint64_t left_ = 0;
};

int64_t Frame::Integer(size_t i) {
  const IntCode& code = code_.integer(i);
  int64_t sum = code.constant;
  for (const IntCode::AxisTerm& term : code.axes) sum += term.factor * slots_[term.slot];
  for (const IntCode::Term& term : code.terms) {
    int64_t product = term.factor;
    for (const size_t atom : term.atoms) product *= Atom(atom);
    sum += product;
  }
  return sum;
}

int64_t Frame::Atom(size_t i) {
  const AtomCode& atom = code_.atom(i);
  const auto both = [&](const auto& combine) {
    const int64_t a = Integer(atom.args[0]);
    const int64_t b = Integer(atom.args[1]);
    return combine(a, b);
  };
  switch (atom.kind) {
    case AtomNode::Kind::kSize:
      return atom.number;
    case AtomNode::Kind::kAxis:
      return slots_[static_cast<size_t>(atom.number)];
    case AtomNode::Kind::kValue:
      return static_cast<int64_t>(Scalar(atom.value));
    case AtomNode::Kind::kDivide:
      return both([](int64_t a, int64_t b) { return b == 0 ? 0 : a / b; });
    case AtomNode::Kind::kModulo:
      return both([](int64_t a, int64_t b) { return b == 0 ? 0 : a % b; });
    case AtomNode::Kind::kMin:
      return both([](int64_t a, int64_t b) { return std::min(a, b); });
    case AtomNode::Kind::kMax:
      return both([](int64_t a, int64_t b) { return std::max(a, b); });
  }
  return 0;
}

double Frame::Scalar(size_t i) {
  if (known_[i] == turn_) return values_[i];
  const double value = Compute(code_.scalar(i));
  known_[i] = turn_;
  values_[i] = value;
  return value;
}

double Frame::Compute(const ScalarCode& code) {
  using Kind = ScalarNode::Kind;
  const ScalarNode& node = *code.node;
  evaluator_.Spend();
  const auto rounded = [&](double value) {
    return evaluator_.rounds() ? RoundTo(value, node.dtype) : value;
  };
  switch (node.kind) {
    case Kind::kConstant:
      return IsFloat(node.dtype) ? rounded(node.number) : static_cast<double>(node.integer);
    case Kind::kLoad: {
      return evaluator_.Load(node.buffer, [&](size_t d) { return Integer(code.index[d]); });
    }
    case Kind::kIndex:
      return static_cast<double>(Integer(code.index[0]));
    case Kind::kCall: {
      if (code.function == nullptr) throw Spent();
      double args[3] = {};
      for (size_t i = 0; i < code.args.size() && i < 3; ++i) args[i] = Scalar(code.args[i]);
      const double value = code.function(args);
      return IsFloat(node.dtype) ? rounded(value) : CastTo(value, node.dtype);
    }
    case Kind::kCast: {
      const double value = Scalar(code.args[0]);
      const auto dtype = static_cast<DType>(node.integer);
      return IsFloat(dtype) ? rounded(value) : CastTo(value, dtype);
    }
    case Kind::kGuard:
      return Scalar(code.args[Scalar(code.args[0]) != 0 ? 1 : 2]);
    case Kind::kParameter:
    case Kind::kVariable:
      break;
  }
  throw Spent();
}

}  // namespace

Result<std::unique_ptr<PointEvaluator>> PointEvaluator::Make(
    std::shared_ptr<const Graph> graph, const std::vector<std::string>& results) {
  std::vector<std::string> names;
  for (const size_t node : graph->placeholders) names.push_back(graph->nodes[node].name);
  // Of one configuration all numbers are constants.
  KS_TRY(Family family, Family::Make({std::move(graph)}, {}, {}, names));
  KS_TRY(Program program, Lower(family, {.results = results}));
  program = Fold(program, {});
  return std::unique_ptr<PointEvaluator>(
      std::make_unique<Evaluator>(std::move(family), std::move(program)));
}

}  // namespace kernelsmith::codegen
