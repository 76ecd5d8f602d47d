// Reductions and what is done with their results, a row at a time: by one thread, one warp or one
// block.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit.h"
#include "codegen/emit_packs.h"
#include "support/check.h"

namespace kernelsmith::codegen {
namespace {

enum Workers { kThread = 0, kWarp = 1, kBlock = 2 };

// One nest with its own loops flattened and collapsed.
struct Phase {
  const Nest* nest = nullptr;
  std::vector<Int> columns;  // loops inside the row
  Scalar body;
  Int flat;  // the flat index of the store
  bool reduces = false;
};

std::string Identity(Combine combine, DType dtype) {
  const bool is_float = IsFloat(dtype);
  switch (combine) {
    case Combine::kProduct:
      return is_float ? (dtype == DType::kFloat64 ? "1.0" : "1.0f") : "1";
    case Combine::kMax:
      return is_float                 ? "-INFINITY"
             : dtype == DType::kInt64 ? "INT64_MIN"
             : dtype == DType::kBool  ? "false"
                                      : "INT_MIN";
    case Combine::kMin:
      return is_float                 ? "INFINITY"
             : dtype == DType::kInt64 ? "INT64_MAX"
             : dtype == DType::kBool  ? "true"
                                      : "INT_MAX";
    case Combine::kAny:
      return "false";
    case Combine::kAll:
      return "true";
    default:
      return is_float ? (dtype == DType::kFloat64 ? "0.0" : "0.0f") : "0";
  }
}

const char* Operation(Combine combine) {
  switch (combine) {
    case Combine::kProduct:
      return "Multiply";
    case Combine::kMax:
      return "TakeMax";
    case Combine::kMin:
      return "TakeMin";
    case Combine::kAny:
      return "Either";
    case Combine::kAll:
      return "Both";
    default:
      return "Add";
  }
}

std::string Accumulate(EmitContext& context, Combine combine, DType dtype, const std::string& total,
                       const std::string& value) {
  switch (combine) {
    case Combine::kProduct:
      return fmt::format("{} *= {};", total, value);
    case Combine::kMax:
    case Combine::kMin: {
      if (!IsFloat(dtype)) {
        return fmt::format("{0} = {1}({0}, {2}({3}));", total,
                           combine == Combine::kMax ? "max" : "min", ValueType(dtype), value);
      }
      const char* helper = combine == Combine::kMax ? "Maximum" : "Minimum";
      context.helpers.insert(helper);
      return fmt::format("{0} = {1}({0}, {2});", total, helper, value);
    }
    case Combine::kAny:
      return fmt::format("{0} = {0} || {1};", total, value);
    case Combine::kAll:
      return fmt::format("{0} = {0} && {1};", total, value);
    default:
      return fmt::format("{} += {};", total, value);
  }
}

class RowsEmitter {
 public:
  RowsEmitter(EmitContext& context, const Kernel& kernel)
      : context_(context), kernel_(kernel), out_(context, kernel.name) {}

  KernelText Run() {
    Prepare();
    Choose();
    const std::string& type = context_.index_type;
    Int rows(1);
    for (const Int& axis : axes_) rows = rows * axis.atom()->extent;
    const std::string row = out_.Fresh("row");
    if (workers_ == kThread) {
      out_.Line(
          fmt::format("const {} {} = blockIdx.x * {}(blockDim.x) + threadIdx.x;", type, row, type));
      out_.Line(fmt::format("if ({} >= {}) return;", row, out_.Text(rows)));
    } else if (workers_ == kWarp) {
      out_.Line(fmt::format("const {} {} = blockIdx.x * {}({}) + threadIdx.x / 32;", type, row,
                            type, threads_ / 32));
      out_.Line("const int lane = threadIdx.x % 32;");
      out_.Line(fmt::format("if ({} >= {}) return;", row, out_.Text(rows)));
    } else {
      out_.Line(fmt::format("const {} {} = blockIdx.x;", type, row));
    }
    if (!axes_.empty()) out_.Decompose(axes_, row);
    for (size_t first = 0; first < phases_.size();) {
      const size_t last = EndOfPass(first);
      Pass(first, last);
      first = last;
    }
    Launch launch;
    launch.kernel = kernel_.name;
    launch.grid = workers_ == kThread ? fmt::format("Blocks({}, {})", HostText(rows), threads_)
                  : workers_ == kWarp ? fmt::format("Blocks({}, {})", HostText(rows), threads_ / 32)
                                      : HostText(rows);
    launch.block = std::to_string(threads_);
    launch.arguments = out_.Arguments();
    return {out_.Source(Comment(kernel_)), {launch}};
  }

 private:
  void Prepare() {
    const Program& program = context_.program;
    axes_ = kernel_.axes;
    for (const Nest& nest : kernel_.nests) {
      Phase phase;
      phase.nest = &nest;
      phase.reduces = nest.kind != Nest::Kind::kMap;
      phase.body = Flattened(program, nest.body);
      phase.flat = FlatIndex(program.buffers[nest.outputs[0]].shape, nest.axes);
      if (phase.reduces) {
        phase.columns = nest.reduced;
      } else {
        for (const Int& axis : AxesIn(nest.axes)) {
          const bool is_row = std::any_of(axes_.begin(), axes_.end(), [&](const Int& each) {
            return each.atom()->key == axis.atom()->key;
          });
          if (!is_row) phase.columns.push_back(axis);
        }
      }
      phases_.push_back(std::move(phase));
    }
    // Values of this kernel's own rows are variables, whatever their index: bind them before
    // indices are merged.
    std::set<BufferId> own;
    for (const Phase& phase : phases_)
      own.insert(phase.nest->outputs.begin(), phase.nest->outputs.end());
    for (Phase& phase : phases_) {
      phase.body = SubstituteLoads(phase.body, [&](const ScalarNode& load) -> Scalar {
        return own.contains(load.buffer) ? Load(load.buffer, {Int(0)}, load.dtype) : nullptr;
      });
    }
    CollapseInput rows{&axes_, {}, {}};
    for (Phase& phase : phases_) {
      rows.values.push_back(&phase.body);
      rows.flats.push_back(&phase.flat);
      // A position in several loops is counted by them: they stay apart.
      if (phase.nest->kind == Nest::Kind::kArgReduce) {
        CollapseInput columns{&phase.columns, {&phase.body}, {}};
        Collapse(columns);
      } else {
        CollapseInput columns{&phase.columns, {&phase.body}, {&phase.flat}};
        Collapse(columns);
      }
    }
    Collapse(rows);
  }

  Int Columns(const Phase& phase) const {
    Int count(1);
    for (const Int& axis : phase.columns) count = count * axis.atom()->extent;
    return count;
  }
  // Neighbouring threads should read neighbouring elements: along columns if the loads are
  // contiguous there.
  bool ColumnsAreContiguous() const {
    int by_column = 0, by_row = 0;
    for (const Phase& phase : phases_) {
      if (phase.columns.empty()) continue;
      VisitScalars(phase.body, [&](const Scalar& node) {
        if (node->kind != ScalarNode::Kind::kLoad || node->index.empty()) return;
        const auto column = CoefficientOf(node->index[0], phase.columns.back().atom());
        if (column && column->is(1)) ++by_column;
        if (axes_.empty()) return;
        const auto row = CoefficientOf(node->index[0], axes_.back().atom());
        if (row && row->is(1)) ++by_row;
      });
    }
    return by_column >= by_row;
  }

  void Choose() {
    int64_t columns = 1, rows = 1;
    for (const Phase& phase : phases_)
      columns = std::max(columns, context_.family.LargestOf(Columns(phase)));
    for (const Int& axis : axes_) rows *= context_.family.LargestOf(axis.atom()->extent);
    int64_t workers = kBlock;
    if (columns <= 16 || (!ColumnsAreContiguous() && rows >= 512)) {
      workers = kThread;
    } else if (columns <= 1024 && rows >= 64) {
      workers = kWarp;
    }
    workers_ = static_cast<int>(
        context_.Choose(kernel_.gene + ".workers", {kThread, kWarp, kBlock}, workers));
    vector_ = workers_ == kThread ? 1 : ChooseVector();
    const int64_t each = vector_ == 1 ? 4 : 2 * vector_;
    const int64_t wanted =
        workers_ == kBlock ? std::clamp<int64_t>((columns / each + 31) / 32 * 32, 64, 1024) : 128;
    int64_t threads = 64;
    while (threads < wanted) threads *= 2;
    threads_ = context_.Choose(kernel_.gene + ".threads", {32, 64, 128, 256, 512, 1024}, threads);
    unroll_ = context_.Choose(kernel_.gene + ".unroll", {0, 1, 2, 4, 8}, 0);
  }

  // Values of phases that share a loop, over the columns of the first of them.
  std::vector<PackedValue> ValuesOf(size_t first, size_t last) const {
    std::vector<PackedValue> values;
    for (size_t i = first; i < last; ++i) {
      const auto replace = [&](const Atom& atom) -> std::optional<Int> {
        for (size_t d = 0; d < phases_[i].columns.size(); ++d) {
          if (phases_[i].columns[d].atom()->key == atom->key) return phases_[first].columns[d];
        }
        return std::nullopt;
      };
      values.push_back(
          {SubstituteIndices(phases_[i].body, replace),
           phases_[i].reduces ? std::nullopt : std::optional(phases_[i].nest->outputs[0]),
           Substitute(phases_[i].flat, replace)});
    }
    return values;
  }

  // The condition that all values of a pass are guarded by, if it is the same for a whole pack and
  // leaves nothing to be done where it fails.
  Scalar CommonGuard(size_t first, const std::vector<PackedValue>& values) const {
    const Scalar& body = values[0].body;
    if (body->kind != ScalarNode::Kind::kGuard ||
        UsesAxis(body->args[0], phases_[first].columns.back().atom())) {
      return nullptr;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const Phase& phase = phases_[first + i];
      const Scalar& each = values[i].body;
      if (!phase.reduces || each->kind != ScalarNode::Kind::kGuard ||
          !SameScalar(each->args[0], body->args[0]) || phase.nest->combine != Combine::kSum ||
          phase.nest->kind != Nest::Kind::kReduce || !IsConstant(each->args[2], 0)) {
        return nullptr;
      }
    }
    return body->args[0];
  }

  bool Packs(size_t first, size_t last) const {
    const Phase& phase = phases_[first];
    if (phase.columns.empty()) return false;
    std::vector<PackedValue> values = ValuesOf(first, last);
    for (size_t i = first; i < last; ++i) {
      if (phases_[i].nest->kind == Nest::Kind::kArgReduce && phase.columns.size() > 1) return false;
    }
    if (CommonGuard(first, values)) {
      for (PackedValue& value : values) value.body = value.body->args[1];
    }
    return CanPack(values, phase.columns.back().atom());
  }

  size_t EndOfPass(size_t first) const {
    size_t last = first + 1;
    while (last < phases_.size() && SharesLoop(first, last)) ++last;
    return last;
  }

  int64_t ChooseVector() {
    int64_t best = 1;
    bool possible = false;
    for (size_t first = 0; first < phases_.size(); first = EndOfPass(first)) {
      if (!Packs(first, EndOfPass(first))) continue;
      possible = true;
      const Atom axis = phases_[first].columns.back().atom();
      // A pack for every lane, at least.
      const int64_t pack = BestPack(context_.program, ValuesOf(first, EndOfPass(first)), axis);
      if (context_.family.LargestOf(axis->extent) >= 32 * pack) best = std::max(best, pack);
    }
    return possible ? context_.Choose(kernel_.gene + ".vector", {1, 2, 4, 8}, best) : 1;
  }

  bool SharesLoop(size_t first, size_t next) const {
    const Phase &a = phases_[first], &b = phases_[next];
    if (a.columns.empty() || a.columns.size() != b.columns.size()) return false;
    for (size_t d = 0; d < a.columns.size(); ++d) {
      if (!(a.columns[d].atom()->extent == b.columns[d].atom()->extent)) return false;
    }
    for (size_t i = first; i < next; ++i) {
      for (const BufferId id : phases_[i].nest->outputs) {
        if (LoadsFrom(b.body, id)) return false;
      }
    }
    return true;
  }

  std::string FirstColumn() const {
    return workers_ == kThread ? "0" : workers_ == kWarp ? "lane" : "threadIdx.x";
  }
  int64_t Step() const { return workers_ == kThread ? 1 : workers_ == kWarp ? 32 : threads_; }
  // One of the threads that share a row.
  std::string Leader() const { return workers_ == kWarp ? "lane == 0" : "threadIdx.x == 0"; }

  void StoreRow(const Phase& phase, size_t output, const std::string& value) {
    const BufferId id = phase.nest->outputs[output];
    out_.Bind(id, value);
    if (!context_.needed.contains(id)) return;
    if (workers_ == kThread) {
      out_.Store(id, phase.flat, value);
    } else {
      out_.Open(fmt::format("if ({}) {{", Leader()));
      out_.Store(id, phase.flat, value);
      out_.Close();
    }
  }

  void Pass(size_t first, size_t last) {
    if (phases_[first].columns.empty()) {
      // This is a value of the whole row: every thread has it.
      for (size_t i = first; i < last; ++i) {
        out_.Share({phases_[i].body});
        StoreRow(phases_[i], 0, out_.Variable(phases_[i].body, NameOf(phases_[i])));
      }
      return;
    }
    std::vector<std::string> totals, positions;
    for (size_t i = first; i < last; ++i) {
      const Phase& phase = phases_[i];
      totals.emplace_back();
      positions.emplace_back();
      if (!phase.reduces) continue;
      totals.back() = out_.Fresh(NameOf(phase));
      const DType type = phase.body->dtype;
      out_.Line(fmt::format("{} {} = {};", ValueType(type), totals.back(),
                            Identity(phase.nest->combine, type)));
      if (phase.nest->kind == Nest::Kind::kArgReduce) {
        positions.back() = out_.Fresh(totals.back() + "_at");
        out_.Line(fmt::format("{} {} = {};", context_.index_type, positions.back(), "-1"));
      }
    }
    const std::string column = out_.Fresh("col");
    const int64_t width = vector_ > 1 && Packs(first, last) ? vector_ : 1;
    std::vector<Int> columns = phases_[first].columns;
    const Int inner = columns.back();
    if (width > 1) {
      columns.back() =
          Axis(inner.atom()->name + "_pack", CeilDivide(inner.atom()->extent, Int(width)));
    }
    Int count(1);
    for (const Int& axis : columns) count = count * axis.atom()->extent;
    if (unroll_ > 0) out_.Line(fmt::format("#pragma unroll {}", unroll_));
    out_.Open(fmt::format("for ({} {} = {}; {} < {}; {}) {{", context_.index_type, column,
                          FirstColumn(), column, out_.Text(count),
                          Step() == 1 ? "++" + column : fmt::format("{} += {}", column, Step())));
    // The loops of all phases run together.
    out_.Decompose(columns, column);
    std::vector<PackedValue> values = ValuesOf(first, last);
    std::optional<PackLoop> loop;
    std::string at = column;
    if (width > 1) {
      if (const Scalar guard = CommonGuard(first, values)) {
        out_.Line(fmt::format("if (!({})) continue;", out_.Text(guard)));
        for (PackedValue& value : values) value.body = value.body->args[1];
      }
      const std::string begin = out_.Fresh("begin");
      out_.Line(fmt::format("const {} {} = {} * {};", context_.index_type, begin,
                            out_.Text(columns.back()), width));
      loop.emplace(out_, inner.atom(), width);
      values = loop->Begin(values, begin, out_.Text(inner.atom()->extent));
      at = fmt::format("{} + {}", begin, loop->element());
    }
    std::vector<Scalar> bodies;
    for (const PackedValue& value : values) bodies.push_back(value.body);
    out_.Share(bodies);
    for (size_t i = first; i < last; ++i) {
      const Phase& phase = phases_[i];
      const Scalar& body = bodies[i - first];
      const std::string& total = totals[i - first];
      const std::string exists = loop ? loop->Exists() : "";
      if (!phase.reduces) {
        const std::string value = out_.Text(body);
        if (loop) {
          loop->Keep(i - first, value);
        } else {
          out_.Store(phase.nest->outputs[0], values[i - first].flat, value);
        }
      } else if (phase.nest->kind == Nest::Kind::kArgReduce) {
        const std::string value = out_.Variable(body, "value");
        const std::string better = Better(phase, value, total, positions[i - first]);
        out_.Open(loop ? fmt::format("if ({} && ({})) {{", exists, better)
                       : fmt::format("if ({}) {{", better));
        out_.Line(fmt::format("{} = {};", total, value));
        out_.Line(fmt::format("{} = {};", positions[i - first], at));
        out_.Close();
      } else {
        const std::string value = out_.Text(body);
        out_.Line((loop ? fmt::format("if ({}) ", exists) : "") +
                  Accumulate(context_, phase.nest->combine, body->dtype, total, value));
      }
    }
    if (loop) loop->End();
    out_.Close();
    for (size_t i = first; i < last; ++i) {
      if (phases_[i].reduces) Finish(phases_[i], totals[i - first], positions[i - first]);
    }
  }

  // The first position of the extreme; a NaN is one.
  std::string Better(const Phase& phase, const std::string& value, const std::string& best,
                     const std::string& position) const {
    const char* sign = phase.nest->combine == Combine::kMax ? ">" : "<";
    if (!IsFloat(phase.body->dtype))
      return fmt::format("{} < 0 || {} {} {}", position, value, sign, best);
    return fmt::format("{0} < 0 || {1} {2} {3} || (isnan({1}) && !isnan({3}))", position, value,
                       sign, best);
  }

  // Joins what the threads of a row have.
  void Finish(const Phase& phase, const std::string& total, const std::string& position) {
    const char* scope = workers_ == kWarp ? "Warp" : "Block";
    const std::string tail = workers_ == kWarp ? "" : fmt::format("<{}>", threads_);
    if (workers_ != kThread) {
      if (!position.empty()) {
        context_.helpers.insert(fmt::format("{}Extreme", scope));
        out_.Line(fmt::format("{}Extreme{}({}, {}, {});", scope, tail, total, position,
                              phase.nest->combine == Combine::kMax ? "true" : "false"));
      } else {
        const char* operation = Operation(phase.nest->combine);
        context_.helpers.insert(operation);
        context_.helpers.insert(fmt::format("{}Reduce", scope));
        if (workers_ == kBlock) {
          out_.Line(fmt::format("{0} = BlockReduce<{1}>({0}, {2}());", total, threads_, operation));
        } else {
          out_.Line(fmt::format("{0} = WarpReduce({0}, {1}());", total, operation));
        }
      }
    }
    StoreRow(phase, 0, total);
    if (!position.empty()) StoreRow(phase, 1, position);
  }

  std::string NameOf(const Phase& phase) const {
    switch (phase.nest->kind) {
      case Nest::Kind::kMap:
        return "v";
      default:
        switch (phase.nest->combine) {
          case Combine::kMax:
            return "largest";
          case Combine::kMin:
            return "smallest";
          case Combine::kProduct:
            return "product";
          case Combine::kAny:
            return "any";
          case Combine::kAll:
            return "all";
          default:
            return "sum";
        }
    }
  }

  EmitContext& context_;
  const Kernel& kernel_;
  KernelWriter out_;
  std::vector<Int> axes_;
  std::vector<Phase> phases_;
  int workers_ = kBlock;
  int64_t threads_ = 256;
  int64_t vector_ = 1;  // neighbouring columns that a thread takes together
  int64_t unroll_ = 0;  // rounds of a row's loop that are written out; 0: as the compiler thinks
};

}  // namespace

KernelText EmitRows(EmitContext& context, const Kernel& kernel) {
  return RowsEmitter(context, kernel).Run();
}

}  // namespace kernelsmith::codegen
