// Scans, scatters and sorts.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit.h"

namespace kernelsmith::codegen {
namespace {

std::string Guarded(const std::string& index_type, const std::string& name) {
  return fmt::format("const {} {} = blockIdx.x * {}(blockDim.x) + threadIdx.x;", index_type, name,
                     index_type);
}

Launch OneThreadEach(const Kernel& kernel, const std::string& name, const Int& count,
                     int64_t threads, const KernelWriter& out) {
  Launch launch;
  launch.kernel = name;
  launch.grid = fmt::format("Blocks({}, {})", HostText(count), threads);
  launch.block = std::to_string(threads);
  launch.arguments = out.Arguments();
  return launch;
}

}  // namespace

// One thread computes a row in order, so the sums are those of a loop.
KernelText EmitScan(EmitContext& context, const Kernel& kernel) {
  const Nest& nest = kernel.nests[0];
  const Program& program = context.program;
  const Atom along = nest.axes[nest.scan].atom();
  std::vector<Int> rows;
  for (const Int& axis : kernel.axes) {
    if (axis.atom()->key != along->key) rows.push_back(axis);
  }
  Scalar body = Flattened(program, nest.body);
  Int flat = FlatIndex(program.buffers[nest.outputs[0]].shape, nest.axes);
  CollapseInput input{&rows, {&body}, {&flat}};
  Collapse(input);
  KernelWriter out(context, kernel.name);
  const int64_t threads = context.Choose(kernel.gene + ".threads", {32, 64, 128, 256}, 64);
  const std::string row = out.Fresh("row");
  out.Line(Guarded(context.index_type, row));
  out.Line(fmt::format("if ({} >= {}) return;", row, out.Text(Count(rows))));
  if (!rows.empty()) out.Decompose(rows, row);
  const std::string total = out.Fresh("total");
  const DType type = body->dtype;
  const bool extreme = nest.combine == Combine::kMax || nest.combine == Combine::kMin;
  const std::string position = nest.outputs.size() > 1 ? out.Fresh("position") : "";
  out.Line(fmt::format("{} {} = {};", ValueType(type), total,
                       nest.combine == Combine::kProduct ? "1" : "0"));
  if (!position.empty()) out.Line(fmt::format("{} {} = 0;", context.index_type, position));
  const std::string step = out.Fresh("step");
  out.Name(along, step);
  out.Open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1}) {{", context.index_type, step,
                       out.Text(along->extent)));
  out.Share({body});
  const std::string value = out.Variable(body, "value");
  if (extreme) {
    const char* sign = nest.combine == Combine::kMax ? ">=" : "<=";
    const std::string nan = IsFloat(type) ? fmt::format(" || isnan({})", value) : "";
    const std::string keep = IsFloat(type) ? fmt::format("!isnan({}) && ", total) : "";
    out.Open(fmt::format("if ({} == 0 || ({}{} {} {}){}) {{", step, keep, value, sign, total, nan));
    out.Line(fmt::format("{} = {};", total, value));
    if (!position.empty()) out.Line(fmt::format("{} = {};", position, step));
    out.Close();
  } else {
    out.Line(
        fmt::format("{} {}= {};", total, nest.combine == Combine::kProduct ? "*" : "+", value));
  }
  for (size_t i = 0; i < nest.outputs.size(); ++i) {
    if (context.needed.contains(nest.outputs[i]))
      out.Store(nest.outputs[i], flat, i == 0 ? total : position);
  }
  out.Close();
  return {out.Source(Comment(kernel)),
          {OneThreadEach(kernel, kernel.name, Count(rows), threads, out)}};
}

// First a kernel that writes the base, then one that adds to it.
KernelText EmitScatter(EmitContext& context, const Kernel& kernel) {
  const Nest& nest = kernel.nests[0];
  const Program& program = context.program;
  const BufferId id = nest.outputs[0];
  const DType type = program.buffers[id].dtype;
  Nest base;
  base.axes = nest.out_axes;
  base.body = nest.base;
  base.outputs = {id};
  base.op = nest.op;
  base.where = nest.where;
  Kernel first;
  first.name = kernel.name + "Base";
  first.gene = kernel.gene + ".base";
  first.nests = {base};
  first.axes = AxesIn(base.axes);
  KernelText text = EmitElementwise(context, first);

  const std::vector<Int> axes = AxesIn(nest.axes);
  KernelWriter out(context, kernel.name);
  const int64_t threads = context.Choose(kernel.gene + ".threads", {64, 128, 256, 512}, 256);
  const std::string i = out.Fresh("i");
  out.Line(Guarded(context.index_type, i));
  out.Line(fmt::format("if ({} >= {}) return;", i, out.Text(Count(axes))));
  if (!axes.empty()) out.Decompose(axes, i);
  const Scalar body = Flattened(program, nest.body);
  if (nest.condition) {
    const std::string condition = out.Text(Flattened(program, nest.condition));
    if (condition != "true") out.Line(fmt::format("if (!({})) return;", condition));
  }
  const Int flat = FlatIndex(program.buffers[id].shape, nest.target);
  const std::string at = out.Text(flat);
  const std::string value = out.Text(body);
  const std::string pointer = out.Pointer(id, true);
  if (nest.combine == Combine::kSet) {
    out.Line(fmt::format("{}[{}] = {};", pointer, at, out.StoreText(id, value)));
  } else if (type == DType::kInt64) {
    context.helpers.insert("AtomicAddLong");
    out.Line(fmt::format("AtomicAddLong(&{}[{}], {});", pointer, at, value));
  } else {
    out.Line(fmt::format("atomicAdd(&{}[{}], {});", pointer, at, value));
  }
  text.source += "\n" + out.Source(Comment(kernel));
  text.launches.push_back(OneThreadEach(kernel, kernel.name, Count(axes), threads, out));
  return text;
}

// Every element counts how many stand before it: that is its place. Quadratic, but without a
// barrier, stable, and nothing is computed twice by rows that are short, as they are in top-k
// routing.
KernelText EmitSort(EmitContext& context, const Kernel& kernel) {
  const Nest& nest = kernel.nests[0];
  const Program& program = context.program;
  const Int along = nest.axes.back();
  const std::vector<Int> axes = AxesIn(nest.axes);
  KernelWriter out(context, kernel.name);
  const int64_t threads = context.Choose(kernel.gene + ".threads", {64, 128, 256, 512}, 256);
  const std::string i = out.Fresh("i");
  out.Line(Guarded(context.index_type, i));
  out.Line(fmt::format("if ({} >= {}) return;", i, out.Text(Count(axes))));
  out.Decompose(axes, i);
  const Scalar body = Flattened(program, nest.body);
  const std::string own = out.Text(along);
  const std::string value = out.Variable(body, "value");
  const std::string rank = out.Fresh("rank"), other = out.Fresh("other");
  out.Line(fmt::format("{} {} = 0;", context.index_type, rank));
  out.Open(fmt::format("for ({0} {1} = 0; {1} < {2}; ++{1}) {{", context.index_type, other,
                       out.Text(along.atom()->extent)));
  const Int moving = Axis("other", along.atom()->extent);
  out.Name(moving.atom(), other);
  const Scalar theirs = SubstituteIndices(body, [&](const Atom& atom) -> std::optional<Int> {
    return atom->key == along.atom()->key ? std::optional(moving) : std::nullopt;
  });
  context.helpers.insert("Precedes");
  out.Line(fmt::format("{} += Precedes<{}>({}, {}, {}, {}, {});", rank, ValueType(body->dtype),
                       out.Text(theirs), other, value, own, nest.descending ? "true" : "false"));
  out.Close();
  out.Line(fmt::format("if ({} >= {}) return;", rank, out.Text(nest.keep)));
  std::vector<Int> target(nest.axes.begin(), nest.axes.end() - 1);
  const Int place = Axis("rank", nest.keep);
  out.Name(place.atom(), rank);
  target.push_back(place);
  for (size_t k = 0; k < nest.outputs.size(); ++k) {
    const BufferId id = nest.outputs[k];
    if (!context.needed.contains(id)) continue;
    out.Store(id, FlatIndex(program.buffers[id].shape, target), k == 0 ? value : own);
  }
  return {out.Source(Comment(kernel)),
          {OneThreadEach(kernel, kernel.name, Count(axes), threads, out)}};
}

}  // namespace kernelsmith::codegen
