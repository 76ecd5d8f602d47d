// Maps over one domain: a thread an element.
#include <fmt/format.h>

#include "codegen/emit.h"

namespace kernelsmith::codegen {

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
  const int64_t items = context.Choose(kernel.gene + ".items", {1, 2, 4, 8}, 1);
  KernelWriter out(context, kernel.name);
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
    out.Line("#pragma unroll");
    out.Open(fmt::format("for (int item = 0; item < {}; ++item) {{", items));
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
