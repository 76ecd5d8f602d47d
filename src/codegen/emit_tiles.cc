#include "codegen/emit_tiles.h"

#include <fmt/format.h>

#include <set>

namespace kernelsmith::codegen {

Scalar Multiplied(const Program& program, const std::vector<Scalar>& factors) {
  Scalar product = factors[0];
  for (size_t i = 1; i < factors.size(); ++i) product = product * factors[i];
  return Flattened(program, product);
}

bool IsGuarded(const Scalar& value) {
  return value->kind == ScalarNode::Kind::kGuard && IsConstant(value->args[2], 0);
}

const Scalar& Unguarded(const Scalar& value) { return IsGuarded(value) ? value->args[1] : value; }

bool DepthIsContiguous(const Scalar& value, const std::vector<Int>& axes,
                       const std::vector<Int>& depth) {
  int by_depth = 0, by_axis = 0;
  VisitScalars(value, [&](const Scalar& node) {
    if (node->kind != ScalarNode::Kind::kLoad || node->index.empty()) return;
    const auto k = CoefficientOf(node->index[0], depth.back().atom());
    const auto a = CoefficientOf(node->index[0], axes.back().atom());
    if (k && k->is(1)) ++by_depth;
    if (a && a->is(1)) ++by_axis;
  });
  return by_depth > by_axis;
}

TileResults ResultsOf(const Program& program, const Kernel& kernel) {
  TileResults results;
  std::set<BufferId> own;
  for (const Nest& nest : kernel.nests) own.insert(nest.outputs[0]);
  for (const Nest& nest : kernel.nests) {
    results.flats.push_back(FlatIndex(program.buffers[nest.outputs[0]].shape, nest.axes));
    if (&nest == &kernel.nests[0]) continue;
    // What this kernel computed is a variable, whatever its index.
    results.bodies.push_back(
        SubstituteLoads(Flattened(program, nest.body), [&](const ScalarNode& load) -> Scalar {
          return own.contains(load.buffer) ? Load(load.buffer, {Int(0)}, load.dtype) : nullptr;
        }));
  }
  return results;
}

void CollapseTile(std::vector<Int>& axes, std::vector<Scalar*> values, TileResults* results) {
  CollapseInput input{&axes, std::move(values), {}};
  if (results != nullptr) {
    for (Scalar& body : results->bodies) input.values.push_back(&body);
    for (Int& flat : results->flats) input.flats.push_back(&flat);
  }
  Collapse(input);
}

void StoreResults(KernelWriter& out, const Kernel& kernel, const TileResults& results,
                  const std::string& value) {
  out.Share(results.bodies);
  const auto store = [&](size_t nest, const std::string& text) {
    const BufferId id = kernel.nests[nest].outputs[0];
    out.Bind(id, text);
    if (out.context().needed.contains(id)) out.Store(id, results.flats[nest], text);
  };
  store(0, value);
  for (size_t k = 0; k < results.bodies.size(); ++k) {
    const bool last = k + 1 == results.bodies.size();
    store(k + 1, last ? out.Text(results.bodies[k]) : out.Variable(results.bodies[k], "v"));
  }
}

std::string GroupedPlace(const std::string& j, const std::string& tx, int64_t each, int64_t group,
                         int64_t threads) {
  if (group == 1) return fmt::format("{} + {} * {}", tx, j, threads);
  if (group >= each) return fmt::format("{} * {} + {}", tx, each, j);
  return fmt::format("{0} / {1} * {2} + {3} * {1} + {0} % {1}", j, group, group * threads, tx);
}

void WriteProduct(KernelWriter& out, const SquareProduct& product) {
  const auto& [type, sums, k, depth, unroll, a, b, i, j, ty, rows, columns, left, right, column] =
      product;
  out.OpenUnrolled(k, depth, 1, unroll);
  out.Line(fmt::format("{} {}[{}], {}[{}];", type, a, rows, b, columns));
  out.Line("#pragma unroll");
  out.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0}] = {3}[{4} * {1} + {0}];", i,
                       rows, a, left, ty));
  out.Line("#pragma unroll");
  out.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{0}] = {3}[{4}];", j, columns, b,
                       right, column));
  out.OpenUnrolled(i, rows);
  out.Line("#pragma unroll");
  out.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{3}][{0}] += {4}[{3}] * {5}[{0}];",
                       j, columns, sums, i, a, b));
  out.Close();
  out.Close();
}

void WriteOrigins(KernelWriter& out, const Tiles& tiles) {
  const std::string& type = out.context().index_type;
  const std::string tiles_n = out.Fresh("tiles_n"), tiles_m = out.Fresh("tiles_m");
  const auto count = [&](const std::string& name, const std::string& size, int64_t tile) {
    out.Line(fmt::format("const {} {} = ({} + {}) / {};", type, name, size, tile - 1, tile));
  };
  count(tiles_n, tiles.columns_text, tiles.tile_n);
  count(tiles_m, tiles.rows_text, tiles.tile_m);
  out.Line(
      fmt::format("const {} {} = blockIdx.x % {} * {};", type, tiles.n0, tiles_n, tiles.tile_n));
  out.Line(fmt::format("const {} {} = blockIdx.x / {} % {} * {};", type, tiles.m0, tiles_n, tiles_m,
                       tiles.tile_m));
  if (!tiles.batch.empty()) {
    const std::string batch = out.Fresh("batch");
    out.Line(fmt::format("const {} {} = blockIdx.x / ({} * {});", type, batch, tiles_n, tiles_m));
    out.Decompose(tiles.batch, batch);
  }
}

void WriteThreads(KernelWriter& out, const Tiles& tiles) {
  if (!tiles.square_warps) {
    out.Line(fmt::format("const int {0} = threadIdx.x % {1}, {2} = threadIdx.x / {1};", tiles.tx,
                         tiles.threads_n, tiles.ty));
    return;
  }
  // Lanes with numbers that differ in bit 0 share their columns, those that differ in bit 1 their
  // rows: shared memory serves such loads of four elements in two passes, not four.
  const std::string lane = out.Fresh("in_warp"), warp = out.Fresh("warp");
  out.Line("// A warp has 4 x 8 threads; neighbours share what they read from shared memory.");
  out.Line(fmt::format("const int {} = threadIdx.x % 32, {} = threadIdx.x / 32;", lane, warp));
  const int64_t across = tiles.threads_n / 8;
  out.Line(across == 1 ? fmt::format("const int {} = {} / 2 % 8;", tiles.tx, lane)
                       : fmt::format("const int {} = {} % {} * 8 + {} / 2 % 8;", tiles.tx, warp,
                                     across, lane));
  out.Line(fmt::format("const int {} = {}{} * 4 + {} / 16 * 2 + {} % 2;", tiles.ty, warp,
                       across == 1 ? "" : fmt::format(" / {}", across), lane, lane));
}

KernelText FinishTiles(KernelWriter& out, const Kernel& kernel, const Tiles& tiles,
                       const std::string& comment) {
  const std::string batch =
      tiles.batch.empty() ? "" : fmt::format(" * ({})", HostText(Count(tiles.batch)));
  Launch launch;
  launch.kernel = kernel.name;
  launch.grid = fmt::format("Blocks({}, {}) * Blocks({}, {}){}", HostText(Count(tiles.rows)),
                            tiles.tile_m, HostText(Count(tiles.columns)), tiles.tile_n, batch);
  launch.block = std::to_string(tiles.threads);
  launch.arguments = out.Arguments();
  return {out.Source(comment, fmt::format("__launch_bounds__({})", tiles.threads)), {launch}};
}

}  // namespace kernelsmith::codegen
