// Maps over one domain: a thread an element, or a pack of neighbours.
#include <fmt/format.h>

#include <algorithm>

#include "codegen/emit.h"
#include "codegen/emit_packs.h"

namespace kernelsmith::codegen {

namespace {

std::vector<PackedValue> Values(const EmitContext& context, const Kernel& kernel,
                                const std::vector<Scalar>& bodies, const std::vector<Int>& flats) {
  std::vector<PackedValue> values;
  std::set<BufferId> own;
  for (const Nest& nest : kernel.nests) own.insert(nest.outputs[0]);
  for (size_t i = 0; i < bodies.size(); ++i) {
    const BufferId id = kernel.nests[i].outputs[0];
    // What the kernel itself makes is a variable by then, whatever its index.
    const Scalar body = SubstituteLoads(bodies[i], [&](const ScalarNode& load) -> Scalar {
      return own.contains(load.buffer) ? Load(load.buffer, {Int(0)}, load.dtype) : nullptr;
    });
    values.push_back(
        {body, context.needed.contains(id) ? std::optional(id) : std::nullopt, flats[i]});
  }
  return values;
}

// Neighbours that one thread computes.
int64_t VectorOf(EmitContext& context, const Kernel& kernel, const std::vector<Int>& axes,
                 const std::vector<Scalar>& bodies, const std::vector<Int>& flats) {
  if (axes.empty()) return 1;
  const std::vector<PackedValue> values = Values(context, kernel, bodies, flats);
  const Atom axis = axes.back().atom();
  if (!CanPack(values, axis)) return 1;
  int64_t longest = 0;
  for (const int64_t size : context.family.ValuesOf(axis->extent))
    longest = std::max(longest, size);
  const int64_t best = longest >= 64 ? BestPack(context.program, values, axis) : 1;
  return context.Choose(kernel.gene + ".vector", {1, 2, 4, 8}, best);
}

KernelText EmitPacked(EmitContext& context, const Kernel& kernel, std::vector<Int> axes,
                      const std::vector<Scalar>& bodies, const std::vector<Int>& flats,
                      int64_t threads, int64_t vector) {
  KernelWriter out(context, kernel.name);
  const std::string& type = context.index_type;
  const Int last = axes.back();
  const Int extent = last.atom()->extent;
  // Computes the last axis in packs.
  axes.back() = Axis(last.atom()->name + "_pack", CeilDivide(extent, Int(vector)));
  Int count(1);
  for (const Int& axis : axes) count = count * axis.atom()->extent;
  const std::string position = out.Fresh("i"), first = out.Fresh("first");
  out.Line(
      fmt::format("const {0} {1} = blockIdx.x * {0}(blockDim.x) + threadIdx.x;", type, position));
  out.Line(fmt::format("if ({} >= {}) return;", position, out.Text(count)));
  out.Decompose(axes, position);
  out.Line(fmt::format("const {} {} = {} * {};", type, first, out.Text(axes.back()), vector));
  std::vector<PackedValue> values = Values(context, kernel, bodies, flats);
  PackLoop loop(out, last.atom(), vector);
  values = loop.Begin(values, first, out.Text(extent));
  std::vector<Scalar> inside;
  for (const PackedValue& value : values) inside.push_back(value.body);
  out.Share(inside);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string text =
        values.size() == 1 ? out.Text(values[i].body) : out.Variable(values[i].body, "v");
    out.Bind(kernel.nests[i].outputs[0], text);
    loop.Keep(i, text);
  }
  loop.End();
  Launch launch;
  launch.kernel = kernel.name;
  launch.grid = fmt::format("Blocks({}, {})", HostText(count), threads);
  launch.block = std::to_string(threads);
  launch.arguments = out.Arguments();
  return {out.Source(Comment(kernel)), {launch}};
}

}  // namespace

KernelText EmitElementwise(EmitContext& context, const Kernel& kernel) {
  const Program& program = context.program;
  std::vector<Int> axes = kernel.axes;
  std::vector<Scalar> bodies;
  std::vector<Int> flats;
  for (const Nest& nest : kernel.nests) {
    bodies.push_back(Flattened(program, nest.body));
    flats.push_back(FlatIndex(program.buffers[nest.outputs[0]].shape, nest.axes));
  }
  CollapseInput input{&axes, {}, {}};
  for (Scalar& body : bodies) input.values.push_back(&body);
  for (Int& flat : flats) input.flats.push_back(&flat);
  Collapse(input);

  const int64_t threads = context.Choose(kernel.gene + ".threads", {64, 128, 256, 512, 1024}, 256);
  KernelWriter out(context, kernel.name);
  const int64_t vector = VectorOf(context, kernel, axes, bodies, flats);
  if (vector > 1) {
    return EmitPacked(context, kernel, std::move(axes), bodies, flats, threads, vector);
  }
  const int64_t items = context.Choose(kernel.gene + ".items", {1, 2, 4, 8}, 1);
  Int count(1);
  for (const Int& axis : axes) count = count * axis.atom()->extent;
  const std::string total = out.Text(count);
  const std::string position = out.Fresh("i");
  const std::string& type = context.index_type;
  if (items == 1) {
    out.Line(fmt::format("const {} {} = blockIdx.x * {}{} + threadIdx.x;", type, position,
                         type == "int" ? "" : "static_cast<int64_t>",
                         type == "int" ? "blockDim.x" : "(blockDim.x)"));
    out.Line(fmt::format("if ({} >= {}) return;", position, total));
  } else {
    // Neighbours stay neighbours: each thread's elements are a block apart.
    const std::string first = out.Fresh("first");
    out.Line(fmt::format("const {} {} = blockIdx.x * {}({}) + threadIdx.x;", type, first, type,
                         threads * items));
    out.OpenUnrolled("item", items);
    out.Line(fmt::format("const {} {} = {} + item * {};", type, position, first, threads));
    out.Line(fmt::format("if ({} >= {}) return;", position, total));
  }
  if (!axes.empty()) out.Decompose(axes, position);
  out.Share(bodies);
  // Every value before the first store: results may be written over what they are computed from.
  std::vector<std::string> values;
  for (size_t i = 0; i < bodies.size(); ++i) {
    const BufferId id = kernel.nests[i].outputs[0];
    values.push_back(bodies.size() == 1 ? out.Text(bodies[i]) : out.Variable(bodies[i], "v"));
    out.Bind(id, values.back());
  }
  for (size_t i = 0; i < bodies.size(); ++i) {
    const BufferId id = kernel.nests[i].outputs[0];
    if (context.needed.contains(id)) out.Store(id, flats[i], values[i]);
  }
  if (items > 1) out.Close();
  Launch launch;
  launch.kernel = kernel.name;
  launch.grid = fmt::format("Blocks({}, {})", HostText(count), threads * items);
  launch.block = std::to_string(threads);
  launch.arguments = out.Arguments();
  return {out.Source(Comment(kernel)), {launch}};
}

}  // namespace kernelsmith::codegen
