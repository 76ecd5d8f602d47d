// Sums of products, tiled: every product of matrices and every convolution, with what is done to
// the result.
//
// The axes of the result are a batch, rows (only the left factor has them) and columns (only the
// right one). A block computes a tile of rows and columns: it brings slices of both factors into
// shared memory, whatever index arithmetic, padding or activation they come with, and each thread
// keeps a small square of sums in registers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/emit_tiles.h"

namespace kernelsmith::codegen {
namespace {

class ContractionEmitter {
 public:
  ContractionEmitter(EmitContext& context, const Kernel& kernel)
      : context_(context), kernel_(kernel), out_(context, kernel.name) {}

  KernelText Run() {
    Prepare();
    if (!ChooseTiles()) return EmitRows(context_, kernel_);
    const std::string& type = context_.index_type;
    const std::string value_type = ValueType(kernel_.nests[0].body->dtype);
    element_type_ = tensor_ ? MemoryType(*tensor_) : value_type;
    for (std::string* name : {&k0_, &m0_, &n0_, &k_, &e_, &tx_, &ty_, &i_, &j_, &a_, &b_, &sums_,
                              &left_tile_, &right_tile_, &staged_, &warp_}) {
      *name = out_.Fresh(*name);  // unless an argument has that name
    }
    rows_text_ = out_.Text(Count(rows_));
    columns_text_ = out_.Text(Count(columns_));
    depth_text_ = out_.Text(Count(depth_));
    // Padding of four keeps rows aligned for loads of four elements; padding of one puts
    // neighbouring k into different banks.
    const int alignment = tensor_ ? 32 : 16;
    out_.Line(fmt::format("__shared__ __align__({}) {} {}[{}][{}];", alignment, element_type_,
                          left_tile_, tile_k_, tile_m_ + pad_));
    out_.Line(fmt::format("__shared__ __align__({}) {} {}[{}][{}];", alignment, element_type_,
                          right_tile_, tile_k_, tile_n_ + pad_));
    WriteOrigins(out_, Layout());
    if (tensor_) {
      BeginTensor();
    } else {
      WriteThreads(out_, Layout());
      out_.Line(fmt::format("{} {}[{}][{}] = {{}};", value_type, sums_, thread_m_, thread_n_));
    }
    Side left{left_tile_, left_, rows_, m0_, rows_text_, tile_m_};
    Side right{right_tile_, right_, columns_, n0_, columns_text_, tile_n_};
    Hoist(left);
    Hoist(right);
    out_.Open(fmt::format("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{", type, k0_, depth_text_,
                          tile_k_));
    Fetch({&left, &right});
    out_.Line("__syncthreads();  // the last step may still be read");
    Put(left);
    Put(right);
    out_.Line("__syncthreads();");
    if (tensor_) {
      MultiplyTensor();
    } else {
      WriteProduct(out_, {value_type, sums_, k_, tile_k_, a_, b_, i_, j_, ty_, thread_m_, thread_n_,
                          fmt::format("{}[{}]", left_tile_, k_),
                          fmt::format("{}[{}]", right_tile_, k_), Column()});
    }
    out_.Close();
    if (tensor_) {
      FinishTensor();
    } else {
      Finish();
    }
    return FinishTiles(out_, kernel_, Layout(), Comment(kernel_));
  }

 private:
  void Prepare() {
    const Program& program = context_.program;
    batch_ = kernel_.batch_axes;
    rows_ = kernel_.row_axes;
    columns_ = kernel_.column_axes;
    depth_ = kernel_.nests[0].reduced;
    left_ = Multiplied(program, kernel_.left);
    right_ = Multiplied(program, kernel_.right);
    results_ = ResultsOf(program, kernel_);
    CollapseTile(batch_, {&left_, &right_}, &results_);
    CollapseTile(rows_, {&left_}, &results_);
    CollapseTile(columns_, {&right_}, &results_);
    CollapseTile(depth_, {&left_, &right_}, nullptr);
  }

  Tiles Layout() const {
    return {batch_,   rows_,      columns_,      rows_text_, columns_text_, tile_m_, tile_n_,
            threads_, threads_n_, square_warps_, m0_,        n0_,           tx_,     ty_};
  }

  // False: too small to tile.
  bool ChooseTiles() {
    const int64_t m = context_.family.LargestOf(Count(rows_)),
                  n = context_.family.LargestOf(Count(columns_)),
                  k = context_.family.LargestOf(Count(depth_));
    const std::string& gene = kernel_.gene;
    if (context_.Choose(gene + ".tiled", {0, 1}, m >= 8 && n >= 8 && k >= 4 ? 1 : 0) == 0)
      return false;
    const auto tile = [](int64_t size, int64_t most) {
      int64_t t = 16;
      while (t < size && t < most) t *= 2;
      return t;
    };
    // Large tiles reuse more, but leave multiprocessors idle unless there are a few hundred of
    // them.
    const int64_t most =
        m * n * context_.family.LargestOf(Count(batch_)) >= (int64_t{1} << 22) ? 128 : 64;
    tile_m_ = context_.Choose(gene + ".tile_m", {16, 32, 64, 128, 256}, tile(m, most));
    tile_n_ = context_.Choose(gene + ".tile_n", {16, 32, 64, 128, 256}, tile(n, most));
    tile_k_ = context_.Choose(gene + ".tile_k", {4, 8, 16, 32}, k <= 8 ? 8 : 16);
    pad_ = context_.Choose(gene + ".pad", {0, 1, 4}, 4);
    vector_ = context_.Choose(gene + ".vector", {1, 4}, 4);
    tensor_ = TensorType();
    const int64_t worth = m >= 16 && n >= 16 && k >= 16 ? 1 : 0;
    if (tensor_ && context_.Choose(gene + ".tensor_cores", {0, 1}, worth) == 0) tensor_.reset();
    if (tensor_) {
      ChooseWarps();
      return true;
    }
    const auto each = [](int64_t t) {
      return t >= 128 ? int64_t{8} : t >= 64 ? int64_t{4} : t >= 32 ? int64_t{2} : int64_t{1};
    };
    thread_m_ = context_.Choose(gene + ".thread_m", {1, 2, 4, 8, 16}, each(tile_m_));
    thread_n_ = context_.Choose(gene + ".thread_n", {1, 2, 4, 8, 16}, each(tile_n_));
    // What a schedule asks for is bent to fit.
    const int64_t bytes = SizeOf(RegisterType(kernel_.nests[0].body->dtype));
    while ((tile_m_ + tile_n_ + 2 * pad_) * tile_k_ * bytes > kSharedBytes) tile_k_ /= 2;
    // Sums in registers, of which a thread has 255.
    while (thread_m_ * thread_n_ > 128) (thread_m_ >= thread_n_ ? thread_m_ : thread_n_) /= 2;
    // At most 1024 threads, at least a warp.
    while (tile_m_ / thread_m_ * (tile_n_ / thread_n_) > 1024)
      (thread_m_ <= thread_n_ ? thread_m_ : thread_n_) *= 2;
    while (tile_m_ / thread_m_ * (tile_n_ / thread_n_) < 32)
      (thread_m_ >= thread_n_ ? thread_m_ : thread_n_) /= 2;
    group_ = std::min(thread_n_, context_.Choose(gene + ".group", {1, 2, 4}, 4));
    threads_n_ = tile_n_ / thread_n_;
    threads_ = tile_m_ / thread_m_ * threads_n_;
    square_warps_ = context_.Choose(gene + ".square_warps", {0, 1}, 1) == 1 &&
                    threads_n_ % 8 == 0 && threads_ / threads_n_ % 4 == 0;
    return true;
  }

  // The element type of both factors if tensor cores multiply it: what is computed from several
  // values would have to be rounded first.
  std::optional<DType> TensorType() const {
    std::optional<DType> type;
    for (const Scalar& factor : {left_, right_}) {
      const ScalarNode* node = Unguarded(factor).get();
      while (node->kind == ScalarNode::Kind::kCast) node = node->args[0].get();
      if (node->kind != ScalarNode::Kind::kLoad || out_.IsBound(node->buffer)) return std::nullopt;
      const DType own = context_.program.buffers[node->buffer].dtype;
      if (own != DType::kFloat16 && own != DType::kBfloat16) return std::nullopt;
      if (type && *type != own) return std::nullopt;
      type = own;
    }
    return type;
  }

  // Tensor cores multiply squares of 16: each warp has some of them.
  void ChooseWarps() {
    const std::string& gene = kernel_.gene;
    pad_ = 8;  // rows begin at multiples of 16 bytes, in other banks
    tile_k_ = std::max<int64_t>(tile_k_, 16);
    warp_m_ = std::min(tile_m_, context_.Choose(gene + ".warp_m", {16, 32, 64}, 32));
    warp_n_ = std::min(tile_n_, context_.Choose(gene + ".warp_n", {16, 32, 64}, 32));
    while (tile_m_ / warp_m_ * (tile_n_ / warp_n_) > 16)
      (warp_m_ <= warp_n_ ? warp_m_ : warp_n_) *= 2;
    threads_ = tile_m_ / warp_m_ * (tile_n_ / warp_n_) * 32;
    const int64_t staged = threads_ / 32 * 16 * kStagedWidth * 4;
    while (tile_k_ > 16 && (tile_m_ + tile_n_ + 2 * pad_) * tile_k_ * 2 + staged > kSharedBytes)
      tile_k_ /= 2;
  }

  void BeginTensor() {
    context_.helpers.insert("wmma");
    out_.Line(fmt::format("__shared__ __align__(32) float {}[{}][16][{}];", staged_, threads_ / 32,
                          kStagedWidth));
    const int64_t across = tile_n_ / warp_n_;
    out_.Line(fmt::format("const int {} = threadIdx.x / 32;", warp_));
    out_.Line(fmt::format("const int {} = {} / {} * {}, {} = {} % {} * {};", ty_, warp_, across,
                          warp_m_, tx_, warp_, across, warp_n_));
    out_.Line(fmt::format("wmma::fragment<wmma::accumulator, 16, 16, 16, float> {}[{}][{}];", sums_,
                          warp_m_ / 16, warp_n_ / 16));
    EachSquare(
        [&] { out_.Line(fmt::format("wmma::fill_fragment({}[{}][{}], 0.0f);", sums_, i_, j_)); });
  }

  // Body of loops over the squares of a warp.
  void EachSquare(const std::function<void()>& body) {
    out_.OpenUnrolled(i_, warp_m_ / 16);
    out_.OpenUnrolled(j_, warp_n_ / 16);
    body();
    out_.Close();
    out_.Close();
  }

  void MultiplyTensor() {
    out_.OpenUnrolled(k_, tile_k_, 16);
    const auto load = [&](const std::string& name, const char* matrix, const char* layout,
                          const std::string& index, int64_t count, const std::string& tile,
                          const std::string& first, int64_t width) {
      out_.Line(fmt::format("wmma::fragment<wmma::{}, 16, 16, 16, {}, wmma::{}> {}[{}];", matrix,
                            element_type_, layout, name, count));
      out_.OpenUnrolled(index, count);
      out_.Line(fmt::format("wmma::load_matrix_sync({}[{}], &{}[{}][{} + {} * 16], {});", name,
                            index, tile, k_, first, index, width));
      out_.Close();
    };
    load(a_, "matrix_a", "col_major", i_, warp_m_ / 16, left_tile_, ty_, tile_m_ + pad_);
    load(b_, "matrix_b", "row_major", j_, warp_n_ / 16, right_tile_, tx_, tile_n_ + pad_);
    EachSquare([&] {
      out_.Line(fmt::format("wmma::mma_sync({0}[{1}][{2}], {3}[{1}], {4}[{2}], {0}[{1}][{2}]);",
                            sums_, i_, j_, a_, b_));
    });
    out_.Close();
  }

  // Which lane has which sum only the hardware knows: squares go through shared memory.
  void FinishTensor() {
    const std::string& type = context_.index_type;
    EachSquare([&] {
      const std::string square = fmt::format("{}[{}]", staged_, warp_);
      out_.Line(
          fmt::format("wmma::store_matrix_sync(&{}[0][0], {}[{}][{}], {}, "
                      "wmma::mem_row_major);",
                      square, sums_, i_, j_, kStagedWidth));
      out_.Line("__syncwarp();");
      out_.Open(fmt::format("for (int {0} = threadIdx.x % 32; {0} < 256; {0} += 32) {{", e_));
      const std::string m = out_.Fresh("row"), n = out_.Fresh("col");
      out_.Line(
          fmt::format("const {} {} = {} + {} + {} * 16 + {} / 16;", type, m, m0_, ty_, i_, e_));
      out_.Line(
          fmt::format("const {} {} = {} + {} + {} * 16 + {} % 16;", type, n, n0_, tx_, j_, e_));
      out_.Line(
          fmt::format("if ({} >= {} || {} >= {}) continue;", m, rows_text_, n, columns_text_));
      out_.Decompose(rows_, m);
      out_.Decompose(columns_, n);
      StoreResults(out_, kernel_, results_, fmt::format("{0}[{1} / 16][{1} % 16]", square, e_));
      out_.Close();
      out_.Line("__syncwarp();");
    });
  }

  // One factor, and how its slices get into shared memory: neighbouring threads read neighbouring
  // elements, `width` of them each.
  struct Side {
    std::string array;  // in shared memory
    Scalar value;
    const std::vector<Int>& axes;  // rows or columns
    std::string origin, extent;
    int64_t tile = 0;
    bool along_k = false;    // neighbours have neighbouring k
    int64_t width = 1;       // elements that lie side by side in memory
    std::string wide = "";   // a variable: whether they may be loaded as one
    int64_t groups = 0;      // of `width` elements, in a slice
    int64_t turns = 1;       // groups a thread brings
    std::string x, k, next;  // where in the tile the first group lies; registers
    std::string at;          // set if all groups of a thread have one position
  };

  Atom Contiguous(const Side& side) const {
    return (side.along_k ? depth_ : side.axes).back().atom();
  }

  // A guard "axis + rest < limit": the end of a part of a split sum. Where rest and limit are
  // multiples of the width, a group is inside as a whole or not at all.
  struct EndGuard {
    Int rest, limit;
  };
  std::optional<EndGuard> EndOf(const Side& side) const {
    const Scalar& condition = side.value->args[0];
    if (condition->kind != ScalarNode::Kind::kCall ||
        std::string_view(condition->function->name) != "lt") {
      return std::nullopt;
    }
    const auto below = AsIndex(condition->args[0]), limit = AsIndex(condition->args[1]);
    if (!below || !limit) return std::nullopt;
    const Atom axis = Contiguous(side);
    const auto factor = CoefficientOf(*below, axis);
    if (!factor || !(factor->is(1) || factor->is(0)) || Uses(*limit, axis)) return std::nullopt;
    if (factor->is(0)) return EndGuard{Int(0), Int(0)};
    return EndGuard{*below - Int(axis), *limit};
  }

  // Groups of four may be loaded at once: every load has the contiguous axis as it is, or not at
  // all, and nothing is guarded but by the end of a part.
  bool CanBeWide(const Side& side) const {
    if ((side.along_k ? depth_ : side.axes).size() != 1) return false;
    if (IsGuarded(side.value) && !EndOf(side)) return false;
    const Atom axis = Contiguous(side);
    bool possible = true, any = false;
    VisitScalars(Unguarded(side.value), [&](const Scalar& node) {
      if (node->kind == ScalarNode::Kind::kGuard) possible = false;
      if (node->kind == ScalarNode::Kind::kIndex && Uses(node->index[0], axis)) possible = false;
      if (node->kind != ScalarNode::Kind::kLoad) return;
      for (const Int& index : node->index) {
        const auto factor = CoefficientOf(index, axis);
        possible = possible && factor && (factor->is(1) || factor->is(0));
        any = any || (factor && factor->is(1));
        VisitAtoms(index, [&](const Atom& atom) {
          possible = possible && atom->kind != AtomNode::Kind::kValue;
        });
      }
    });
    return possible && any;
  }

  // What must hold at run time: every other part of an address is a multiple of the width.
  std::string WideCondition(const Side& side) {
    const Atom axis = Contiguous(side);
    std::vector<std::string> conditions;
    std::set<std::string> multiples;  // atoms known to be
    const auto require = [&](const Int& size) {
      const std::string text =
          fmt::format("{} % {} == 0", Parenthesised(out_.Text(size)), side.width);
      if (std::find(conditions.begin(), conditions.end(), text) == conditions.end())
        conditions.push_back(text);
    };
    if (const auto constant = axis->extent.constant()) {
      if (*constant % side.width != 0) return "";
    } else {
      require(axis->extent);
      if (const Atom atom = axis->extent.atom()) multiples.insert(atom->key);
    }
    bool possible = true;
    if (IsGuarded(side.value)) {
      const EndGuard end = *EndOf(side);
      for (const auto& [monomial, factor] : end.rest.terms()) {
        possible = possible && factor % side.width == 0;
      }
      if (const auto constant = end.limit.constant()) {
        possible = possible && *constant % side.width == 0;
      } else {
        require(end.limit);
        if (const Atom atom = end.limit.atom()) multiples.insert(atom->key);
      }
    }
    std::vector<BufferId> buffers;
    VisitScalars(Unguarded(side.value), [&](const Scalar& node) {
      if (node->kind != ScalarNode::Kind::kLoad || node->index.empty()) return;
      if (!CoefficientOf(node->index[0], axis)->is(1)) return;
      buffers.push_back(node->buffer);
      for (const auto& [monomial, factor] : node->index[0].terms()) {
        if (factor % side.width == 0) continue;
        if (monomial.size() == 1 && monomial[0]->key == axis->key) continue;
        bool multiple = false;
        Int sizes(factor);
        for (const Atom& atom : monomial) {
          multiple = multiple || multiples.contains(atom->key);
          if (atom->kind == AtomNode::Kind::kSize) sizes = sizes * Int(atom);
        }
        if (multiple) continue;
        if (sizes.constant()) {
          possible = false;
        } else {
          require(sizes);
        }
      }
    });
    if (!possible) return "";
    for (const BufferId id : buffers) {
      context_.helpers.insert("IsAligned");
      const std::string text =
          fmt::format("IsAligned<{}>({})", side.width, out_.Pointer(id, false));
      if (std::find(conditions.begin(), conditions.end(), text) == conditions.end())
        conditions.push_back(text);
    }
    std::string all;
    for (const std::string& each : conditions) all += (all.empty() ? "" : " && ") + each;
    return all;
  }
  static std::string Parenthesised(const std::string& text) {
    return text.find(' ') == std::string::npos ? text : "(" + text + ")";
  }

  // Before the loop over k: what stays the same in it.
  void Hoist(Side& side) {
    const std::string& type = context_.index_type;
    side.along_k = DepthIsContiguous(side.value, side.axes, depth_);
    constexpr int64_t kWidth = 4;
    if (vector_ > 1 && (side.along_k ? tile_k_ : side.tile) % kWidth == 0 && CanBeWide(side)) {
      side.width = kWidth;
      const std::string condition = WideCondition(side);
      if (condition.empty()) {
        side.width = 1;
      } else {
        side.wide = out_.Fresh(side.array + "_wide");
        out_.Line(fmt::format("const bool {} = {};", side.wide, condition));
      }
    }
    side.groups = side.tile * tile_k_ / side.width;
    side.turns = std::max<int64_t>(1, side.groups / threads_);
    side.next = out_.Fresh(side.array + "_next");
    side.x = out_.Fresh(side.array + "_x");
    side.k = out_.Fresh(side.array + "_k");
    const int64_t across = (side.along_k ? tile_k_ : side.tile) / side.width;
    const std::string first =
        fmt::format("threadIdx.x % {}{}", across,
                    side.width > 1 ? fmt::format(" * {}", side.width) : std::string());
    const std::string second = fmt::format("threadIdx.x / {}", across);
    out_.Line(fmt::format("const int {} = {}, {} = {};", side.x, side.along_k ? second : first,
                          side.k, side.along_k ? first : second));
    if (!side.along_k && threads_ % across == 0) {
      side.at = out_.Fresh(side.array + "_at");
      const std::string position = fmt::format("{} + {}", side.origin, side.x);
      out_.Line(fmt::format("const {} {} = {};", type, side.at,
                            side.width > 1 ? Inside(side, position) : position));
      out_.Decompose(side.axes, side.at);
    }
  }

  // Where turn `e` of a thread lies: text added to its first x, and to its first k.
  std::pair<std::string, std::string> Offsets(const Side& side) const {
    if (side.turns == 1) return {"", ""};
    const int64_t across = (side.along_k ? tile_k_ : side.tile) / side.width;
    // A turn moves the threads on by whole rows of groups, or within one.
    const auto step = [&](int64_t by) { return fmt::format(" + {} * {}", e_, by); };
    if (threads_ >= across) {
      const int64_t rows = threads_ / across;
      return side.along_k ? std::pair{step(rows), std::string()}
                          : std::pair{std::string(), step(rows)};
    }
    const int64_t parts = across / threads_;
    const std::string within = fmt::format(" + {} % {} * {}", e_, parts, threads_ * side.width);
    const std::string rows = fmt::format(" + {} / {}", e_, parts);
    return side.along_k ? std::pair{rows, within} : std::pair{within, rows};
  }

  // Slices of the factors into registers, all loads of a step in flight together: in one branch
  // for both, or the second would wait for the first.
  void Fetch(const std::vector<const Side*>& sides) {
    std::string wide;
    for (const Side* side : sides) {
      out_.Line(fmt::format("{} {}[{}];", tensor_ ? element_type_ : ValueType(side->value->dtype),
                            side->next, side->turns * side->width));
      out_.Share({side->value});
      if (!side->wide.empty()) wide += (wide.empty() ? "" : " && ") + side->wide;
    }
    const auto fetch = [&](bool at_once) {
      for (const Side* side : sides) FetchGroups(*side, at_once && !side->wide.empty());
    };
    if (wide.empty()) return fetch(false);
    // The last step may be shorter: it is not worth the guards of all others.
    out_.Open(fmt::format("if ({} && {} + {} <= {}) {{", wide, k0_, tile_k_, depth_text_));
    fetch(true);
    out_.Close("} else {");
    out_.Indent();
    fetch(false);
    out_.Close();
  }

  // A value as the tiles in shared memory have it.
  std::string Element(const std::string& value) const {
    if (!tensor_) return value;
    return fmt::format("{}({})", *tensor_ == DType::kFloat16 ? "__float2half" : "__float2bfloat16",
                       value);
  }

  // Rows and columns outside are computed and not stored: any element will do for them.
  std::string Inside(const Side& side, const std::string& position) const {
    const std::string& type = context_.index_type;
    const std::string last =
        fmt::format("{} - {}", side.extent, side.along_k ? int64_t{1} : side.width);
    return fmt::format("min({}, {})", position,
                       type == "int" ? last : fmt::format("{}({})", type, last));
  }

  void FetchGroups(const Side& side, bool at_once) {
    const std::string& type = context_.index_type;
    const auto [x_step, k_step] = Offsets(side);
    const std::string at = side.at.empty() ? out_.Fresh("at") : side.at;
    const std::string depth = out_.Fresh("depth");
    const bool each = side.width > 1 && !at_once;  // one element after the other
    const std::string c = each ? out_.Fresh("c") : "";
    const std::string x_part = each && !side.along_k ? " + " + c : "";
    const std::string k_part = each && side.along_k ? " + " + c : "";
    const bool fixed_k = k_step.empty() && k_part.empty();
    if (fixed_k) {
      out_.Line(fmt::format("const {} {} = {} + {};", type, depth, k0_, side.k));
      out_.Decompose(depth_, depth);
    }
    if (side.turns > 1) {
      out_.OpenUnrolled(e_, side.turns);
    }
    if (each) {
      out_.OpenUnrolled(c, side.width);
    }
    std::string here = at;
    if (side.at.empty() || !x_part.empty()) {
      here = side.at.empty() ? at : out_.Fresh("at");
      const std::string position = fmt::format("{} + {}{}{}", side.origin, side.x, x_step, x_part);
      out_.Line(fmt::format("const {} {} = {};", type, here,
                            at_once ? Inside(side, position) : position));
      out_.Decompose(side.axes, here);
    }
    if (!fixed_k) {
      out_.Line(
          fmt::format("const {} {} = {} + {}{}{};", type, depth, k0_, side.k, k_step, k_part));
      out_.Decompose(depth_, depth);
    }
    std::string condition =
        at_once ? "" : fmt::format("{} < {} && {} < {}", here, side.extent, depth, depth_text_);
    if (side.groups < threads_) {
      condition += fmt::format("{}threadIdx.x < {}", condition.empty() ? "" : " && ", side.groups);
    }
    const std::string slot =
        side.turns == 1
            ? (each ? c : "0")
            : fmt::format("{}{}{}", e_, side.width > 1 ? fmt::format(" * {}", side.width) : "",
                          each ? " + " + c : "");
    if (at_once) {
      FetchWide(side, condition, side.turns == 1 ? "" : slot + " + ");
    } else {
      const Scalar zero = Number(0, side.value->dtype);
      Scalar inside = Variable(condition, DType::kBool);
      Scalar value = side.value;
      if (value->kind == ScalarNode::Kind::kGuard && IsConstant(value->args[2], 0)) {
        inside = And(inside, value->args[0]);
        value = value->args[1];
      }
      out_.Line(fmt::format("{}[{}] = {};", side.next, slot,
                            Element(out_.Text(Guard(inside, value, zero)))));
    }
    if (each) out_.Close();
    if (side.turns > 1) out_.Close();
    // The hoisted position is the name of the axes again.
    if (!side.at.empty() && !x_part.empty() && side.axes.size() == 1)
      out_.Name(side.axes[0].atom(), side.at);
  }

  // One group: each load brings all of its elements. An empty condition always holds.
  void FetchWide(const Side& side, const std::string& condition, const std::string& slot) {
    context_.helpers.insert("Pack");
    const Atom axis = Contiguous(side);
    const Scalar& value = Unguarded(side.value);
    std::string inside;
    if (IsGuarded(side.value) || !condition.empty()) {
      inside = out_.Fresh("inside");
      const Scalar given = condition.empty() ? nullptr : Variable(condition, DType::kBool);
      const Scalar guard = !IsGuarded(side.value) ? given
                           : given == nullptr     ? side.value->args[0]
                                                  : And(given, side.value->args[0]);
      out_.Line(fmt::format("const bool {} = {};", inside, out_.Text(guard)));
    }
    const auto place = [&](const Int& index) {
      return inside.empty() ? out_.Text(index)
                            : fmt::format("{} ? {} : 0", inside, out_.Text(index));
    };
    std::map<ScalarNode::Hash, std::string> packs;
    VisitScalars(value, [&](const Scalar& node) {
      if (node->kind != ScalarNode::Kind::kLoad || node->index.empty()) return;
      if (!CoefficientOf(node->index[0], axis)->is(1)) return;
      const std::string name = out_.Fresh("pack");
      const std::string at = place(node->index[0]);
      out_.Line(fmt::format("const auto {} = LoadPack<{}>({} + {});", name, side.width,
                            out_.Pointer(node->buffer, false),
                            inside.empty() ? at : "(" + at + ")"));
      packs[node->hash()] = name;
    });
    const std::string c = out_.Fresh("c");
    const Scalar element = SubstituteLoads(value, [&](const ScalarNode& load) -> Scalar {
      const auto at = packs.find(load.hash());
      if (at == packs.end()) {
        return Variable(
            out_.Element(load.buffer, load.index.empty() ? std::string("0") : place(load.index[0])),
            load.dtype);
      }
      return Variable(out_.Converted(load.buffer, fmt::format("{}.items[{}]", at->second, c)),
                      load.dtype);
    });
    out_.OpenUnrolled(c, side.width);
    out_.Share({element});
    // A plain load where tensor cores get it.
    const std::string text =
        tensor_ ? fmt::format("{}.items[{}]", packs.begin()->second, c) : out_.Text(element);
    out_.Line(fmt::format(
        "{}[{}{}] = {};", side.next, slot, c,
        inside.empty() ? text : fmt::format("{} ? {} : {}", inside, text, Element("0.0f"))));
    out_.Close();
  }

  // From registers into shared memory.
  void Put(const Side& side) {
    const auto [x_step, k_step] = Offsets(side);
    const bool some = side.groups < threads_;
    if (some) out_.Open(fmt::format("if (threadIdx.x < {}) {{", side.groups));
    if (side.turns > 1) {
      out_.OpenUnrolled(e_, side.turns);
    }
    const std::string slot = side.turns == 1 ? "" : fmt::format("{} * {} + ", e_, side.width);
    if (side.width == 1) {
      out_.Line(fmt::format("{}[{}{}][{}{}] = {}[{}];", side.array, side.k, k_step, side.x, x_step,
                            side.next, side.turns == 1 ? "0" : e_));
    } else {
      const std::string c = out_.Fresh("c");
      out_.Line("#pragma unroll");
      out_.Line(fmt::format(
          "for (int {0} = 0; {0} < {1}; ++{0}) {2}[{3}{4}{5}][{6}{7}{8}] = {9}[{10}{0}];", c,
          side.width, side.array, side.k, k_step, side.along_k ? " + " + c : "", side.x, x_step,
          side.along_k ? "" : " + " + c, side.next, slot));
    }
    if (side.turns > 1) out_.Close();
    if (some) out_.Close();
  }

  std::string Column() const { return GroupedPlace(j_, tx_, thread_n_, group_, threads_n_); }

  void Finish() {
    const std::string& type = context_.index_type;
    out_.OpenUnrolled(i_, thread_m_);
    const std::string m = out_.Fresh("row"), n = out_.Fresh("col");
    out_.Line(fmt::format("const {} {} = {} + {} * {} + {};", type, m, m0_, ty_, thread_m_, i_));
    out_.Line(fmt::format("if ({} >= {}) break;", m, rows_text_));
    out_.Decompose(rows_, m);
    out_.OpenUnrolled(j_, thread_n_);
    out_.Line(fmt::format("const {} {} = {} + {};", type, n, n0_, Column()));
    out_.Line(fmt::format("if ({} >= {}) break;", n, columns_text_));
    out_.Decompose(columns_, n);
    StoreResults(out_, kernel_, results_, fmt::format("{}[{}][{}]", sums_, i_, j_));
    out_.Close();
    out_.Close();
  }

  EmitContext& context_;
  const Kernel& kernel_;
  KernelWriter out_;
  std::vector<Int> batch_, rows_, columns_, depth_;
  Scalar left_, right_;
  TileResults results_;
  int64_t tile_m_ = 64, tile_n_ = 64, tile_k_ = 16, thread_m_ = 4, thread_n_ = 4, threads_n_ = 16,
          threads_ = 256;
  int64_t pad_ = 4, group_ = 4, vector_ = 4;
  bool square_warps_ = false;
  std::optional<DType> tensor_;  // tensor cores multiply elements of this type
  int64_t warp_m_ = 32, warp_n_ = 32;
  static constexpr int64_t kSharedBytes = 48 << 10;  // that a block has without an opt-in
  static constexpr int kStagedWidth = 20;            // of a square's rows in shared memory
  std::string element_type_;                         // of the tiles in shared memory
  std::string rows_text_, columns_text_, depth_text_;
  // Names in the kernel.
  std::string k0_ = "k0", m0_ = "m0", n0_ = "n0", k_ = "k", e_ = "e", tx_ = "tx", ty_ = "ty",
              i_ = "i", j_ = "j", a_ = "a", b_ = "b", sums_ = "sums", left_tile_ = "left",
              right_tile_ = "right", staged_ = "staged", warp_ = "warp";
};

}  // namespace

KernelText EmitContraction(EmitContext& context, const Kernel& kernel) {
  return ContractionEmitter(context, kernel).Run();
}

}  // namespace kernelsmith::codegen
