// Sums of products, tiled: every product of matrices and every convolution, with what is done to
// the result.
//
// The axes of the result are a batch, rows (only the left factor has them) and columns (only the
// right one). A block computes a tile of rows and columns: it brings slices of both factors into
// shared memory (emit_slices.h), and each thread keeps a small square of sums in registers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/emit_slices.h"
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
    const std::string value_type = ValueType(kernel_.nests[0].body->dtype);
    for (std::string* name : {&k0_, &m0_, &n0_, &k_, &e_, &tx_, &ty_, &i_, &j_, &a_, &b_, &sums_,
                              &left_tile_, &right_tile_, &staged_, &warp_, &into_, &from_}) {
      *name = out_.Fresh(*name);  // unless an argument has that name
    }
    rows_text_ = out_.Text(Count(rows_));
    columns_text_ = out_.Text(Count(columns_));
    slices_.depth = depth_;
    slices_.depth_text = out_.Text(Count(depth_));
    slices_.threads = threads_;
    slices_.element_type = tensor_ ? MemoryType(*tensor_) : value_type;
    slices_.tensor = tensor_;
    slices_.e = e_;
    slices_.into = into_;
    Slices slices(out_, slices_);
    slices.Add(left_tile_, left_, rows_, m0_, rows_text_, tile_m_);
    slices.Add(right_tile_, right_, columns_, n0_, columns_text_, tile_n_);
    slices.Declare();
    WriteOrigins(out_, Layout());
    if (tensor_) {
      BeginTensor();
    } else {
      WriteThreads(out_, Layout());
      out_.Line(fmt::format("{} {}[{}][{}] = {{}};", value_type, sums_, thread_m_, thread_n_));
    }
    slices.Hoist();
    if (slices_.stages > 1) {
      LoopInStages(slices);
    } else {
      Loop(slices);
    }
    if (tensor_) {
      FinishTensor();
    } else {
      Finish();
    }
    return FinishTiles(out_, kernel_, Layout(), Comment(kernel_));
  }

 private:
  // Slice after slice: loaded, put into shared memory, multiplied.
  void Loop(Slices& slices) {
    out_.Open(fmt::format("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{", context_.index_type, k0_,
                          slices_.depth_text, slices_.tile_k));
    slices.Fetch(k0_);
    out_.Line("__syncthreads();  // the last step may still be read");
    slices.Put();
    out_.Line("__syncthreads();");
    Multiply(slices);
    out_.Close();
  }

  // The next slices are on their way while one is multiplied; the first rounds only fetch.
  void LoopInStages(Slices& slices) {
    const int64_t ahead = (slices_.stages - 1) * slices_.tile_k;
    const std::string next = out_.Fresh("next");
    out_.Line(fmt::format("int {} = 0;", into_));
    out_.Open(fmt::format("for ({0} {1} = -{2}; {1} < {3}; {1} += {4}) {{", context_.index_type,
                          k0_, ahead, slices_.depth_text, slices_.tile_k));
    out_.Line(fmt::format("const int {} = ({} + 1) % {};", from_, into_, slices_.stages));
    out_.Open(fmt::format("if ({} >= 0) {{", k0_));
    if (slices.UsesCopies())
      out_.Line(fmt::format("__pipeline_wait_prior({});", slices_.stages - 2));
    out_.Line("__syncthreads();  // this slice is there, and the one before it was read");
    out_.Close();
    out_.Line(fmt::format("const {} {} = {} + {};", context_.index_type, next, k0_, ahead));
    slices.Fetch(next);
    if (slices.UsesCopies()) out_.Line("__pipeline_commit();");
    out_.Open(fmt::format("if ({} >= 0) {{", k0_));
    Multiply(slices);
    out_.Close();
    slices.Put();
    out_.Line(fmt::format("{} = {};", into_, from_));
    out_.Close();
  }

  void Multiply(const Slices& slices) {
    if (tensor_) return MultiplyTensor(slices);
    WriteProduct(out_, {ValueType(kernel_.nests[0].body->dtype), sums_, k_, slices_.tile_k, unroll_,
                        a_, b_, i_, j_, ty_, thread_m_, thread_n_,
                        fmt::format("{}[{}]", slices.Stage(Slices::kLeft, from_), k_),
                        fmt::format("{}[{}]", slices.Stage(Slices::kRight, from_), k_), Column()});
  }

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
    tensor_ = TensorType();
    const int64_t worth = m >= 16 && n >= 16 && k >= 16 ? 1 : 0;
    if (tensor_ && context_.Choose(gene + ".tensor_cores", {0, 1}, worth) == 0) tensor_.reset();
    if (tensor_) {
      ChooseWarps(k);
      return true;
    }
    slices_.tile_k = context_.Choose(gene + ".tile_k", {4, 8, 16, 32}, k <= 8 ? 8 : 16);
    // Four keeps rows aligned for loads of four elements; one puts neighbouring k into different
    // banks.
    slices_.pad = context_.Choose(gene + ".pad", {0, 1, 4}, 4);
    ChooseStages();
    if (slices_.copies > 0 && slices_.pad == 1) slices_.pad = 4;  // copies are aligned
    unroll_ = context_.Choose(gene + ".unroll", {0, 2, 4, 8}, 0);
    const auto each = [](int64_t t) {
      return t >= 128 ? int64_t{8} : t >= 64 ? int64_t{4} : t >= 32 ? int64_t{2} : int64_t{1};
    };
    thread_m_ = context_.Choose(gene + ".thread_m", {1, 2, 4, 8, 16}, each(tile_m_));
    thread_n_ = context_.Choose(gene + ".thread_n", {1, 2, 4, 8, 16}, each(tile_n_));
    // What a schedule asks for is bent to fit.
    const int64_t bytes = SizeOf(RegisterType(kernel_.nests[0].body->dtype));
    FitSlices(bytes, kSharedBytes, 4);
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
  void ChooseWarps(int64_t k) {
    const std::string& gene = kernel_.gene;
    slices_.pad = 8;  // rows begin at multiples of 16 bytes, in other banks
    slices_.tile_k = context_.Choose(gene + ".tile_k", {16, 32, 64}, k <= 16 ? 16 : 32);
    ChooseStages();
    warp_m_ = std::min(tile_m_,
                       context_.Choose(gene + ".warp_m", {16, 32, 64}, tile_m_ >= 128 ? 64 : 32));
    warp_n_ = std::min(tile_n_, context_.Choose(gene + ".warp_n", {16, 32, 64}, 32));
    while (tile_m_ / warp_m_ * (tile_n_ / warp_n_) > 16)
      (warp_m_ <= warp_n_ ? warp_m_ : warp_n_) *= 2;
    threads_ = tile_m_ / warp_m_ * (tile_n_ / warp_n_) * 32;
    const int64_t staged = threads_ / 32 * 16 * kStagedWidth * 4;
    FitSlices(2, kSharedBytes - staged, 16);
  }

  void ChooseStages() {
    const std::string& gene = kernel_.gene;
    slices_.vectors = context_.Choose(gene + ".vector", {1, 4}, 4) > 1;
    slices_.stages = context_.Choose(gene + ".stages", {1, 2, 3, 4}, 1);
    if (slices_.stages > 1) slices_.copies = context_.Choose(gene + ".async", {0, 1, 2}, 1);
  }

  // Fewer stages or shorter slices, until they fit.
  void FitSlices(int64_t element_bytes, int64_t room, int64_t least_k) {
    while (Slices::Bytes(slices_, tile_m_, tile_n_, element_bytes) > room) {
      if (slices_.stages > 2 || slices_.tile_k <= least_k) {
        if (slices_.stages == 1) return;
        --slices_.stages;
      } else {
        slices_.tile_k /= 2;
      }
    }
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

  void MultiplyTensor(const Slices& slices) {
    out_.OpenUnrolled(k_, slices_.tile_k, 16);
    const auto load = [&](Slices::Factor factor, const std::string& name, const char* matrix,
                          const std::string& index, int64_t count, const std::string& first) {
      const bool left = factor == Slices::kLeft, turned = slices.IsTurned(factor);
      // The rows of shared memory are the left matrix's columns unless it is turned, and the right
      // matrix's rows.
      out_.Line(fmt::format("wmma::fragment<wmma::{}, 16, 16, 16, {}, wmma::{}> {}[{}];", matrix,
                            slices_.element_type, left == turned ? "row_major" : "col_major", name,
                            count));
      out_.OpenUnrolled(index, count);
      const std::string at = fmt::format("{} + {} * 16", first, index);
      out_.Line(fmt::format("wmma::load_matrix_sync({}[{}], &{}[{}][{}], {});", name, index,
                            slices.Stage(factor, from_), turned ? at : k_, turned ? k_ : at,
                            slices.Width(factor)));
      out_.Close();
    };
    load(Slices::kLeft, a_, "matrix_a", i_, warp_m_ / 16, ty_);
    load(Slices::kRight, b_, "matrix_b", j_, warp_n_ / 16, tx_);
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
  SliceLayout slices_;
  int64_t tile_m_ = 64, tile_n_ = 64, thread_m_ = 4, thread_n_ = 4, threads_n_ = 16, threads_ = 256;
  int64_t group_ = 4;
  int64_t unroll_ = 0;  // steps of a slice that are written out at a time; 0: all
  bool square_warps_ = false;
  std::optional<DType> tensor_;  // tensor cores multiply elements of this type
  int64_t warp_m_ = 32, warp_n_ = 32;
  static constexpr int64_t kSharedBytes = 48 << 10;  // what a block has without an opt-in
  static constexpr int kStagedWidth = 20;  // the length of a square's rows in shared memory
  std::string rows_text_, columns_text_;
  // Names in the kernel.
  std::string k0_ = "k0", m0_ = "m0", n0_ = "n0", k_ = "k", e_ = "e", tx_ = "tx", ty_ = "ty",
              i_ = "i", j_ = "j", a_ = "a", b_ = "b", sums_ = "sums", left_tile_ = "left",
              right_tile_ = "right", staged_ = "staged", warp_ = "warp", into_ = "into",
              from_ = "from";
};

}  // namespace

KernelText EmitContraction(EmitContext& context, const Kernel& kernel) {
  return ContractionEmitter(context, kernel).Run();
}

}  // namespace kernelsmith::codegen
