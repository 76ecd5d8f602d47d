// Attention that stores no scores: a block has a tile of rows (queries) and of columns, and goes
// over the keys once. Largest score and sum of weights of a row are those of the keys so far; when
// a larger score turns up, what has been summed is scaled down (the online softmax).
#include <fmt/format.h>

#include <cmath>

#include "codegen/emit_tiles.h"

namespace kernelsmith::codegen {
namespace {

// Threads side by side share rows; their number is fixed, so that a row is half a warp.
constexpr int64_t kLanes = 16;
constexpr int64_t kSharedBytes = 48 << 10;
constexpr int64_t kPad = 4;  // keeps rows aligned for loads of four, in different banks

class AttentionEmitter {
 public:
  AttentionEmitter(EmitContext& context, const Kernel& kernel)
      : context_(context), kernel_(kernel), out_(context, kernel.name) {}

  KernelText Run() {
    Choose();
    for (std::string* name : {&m0_, &n0_, &d0_, &k0_, &k_, &e_, &tx_, &ty_, &i_, &j_, &a_, &b_,
                              &scores_, &sums_, &largest_, &total_}) {
      *name = out_.Fresh(*name);  // unless an argument has that name
    }
    Prepare();
    rows_text_ = out_.Text(Count(rows_));
    columns_text_ = out_.Text(Count(columns_));
    keys_text_ = out_.Text(key_.atom()->extent);
    depth_text_ = out_.Text(Count(depth_));
    Begin();
    const std::string& type = context_.index_type;
    out_.Open(
        fmt::format("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{", type, n0_, keys_text_, tile_n_));
    SkipMasked();
    Scores();
    Weights();
    Values();
    out_.Close();
    Finish();
    const std::string note = "// Goes over the keys once, with the softmax of those so far.\n";
    return FinishTiles(out_, kernel_, Layout(), Comment(kernel_) + note);
  }

 private:
  int64_t SharedBytes() const {
    return 4 * ((tile_n_ + tile_k_) * (tile_m_ + kPad) + tile_k_ * (tile_n_ + kPad) +
                tile_k_ * (tile_d_ + kPad));
  }

  void Choose() {
    const std::string& gene = kernel_.gene;
    const int64_t columns = context_.family.LargestOf(Count(kernel_.column_axes));
    const int64_t rows = context_.family.LargestOf(Count(kernel_.row_axes));
    tile_m_ = context_.Choose(gene + ".tile_m", {32, 64, 128}, rows <= 32 ? 32 : 64);
    tile_n_ = context_.Choose(gene + ".tile_n", {16, 32, 64}, 64);
    tile_d_ = context_.Choose(gene + ".tile_d", {16, 32, 64, 128},
                              columns <= 32   ? 32
                              : columns <= 64 ? 64
                                              : 128);
    tile_k_ = context_.Choose(gene + ".tile_k", {8, 16}, 16);
    unroll_ = context_.Choose(gene + ".unroll", {0, 2, 4, 8}, 0);
    rows_each_ = context_.Choose(gene + ".thread_m", {2, 4, 8}, tile_m_ >= 64 ? 8 : 4);
    // What a schedule asks for is bent to fit: shared memory, and at least a warp.
    while (SharedBytes() > kSharedBytes) (tile_n_ > 16 ? tile_n_ : tile_m_) /= 2;
    while (tile_m_ / rows_each_ < 2) rows_each_ /= 2;
    threads_ = kLanes * (tile_m_ / rows_each_);
    keys_each_ = tile_n_ / kLanes;
    columns_each_ = tile_d_ / kLanes;
  }

  void Prepare() {
    const Program& program = context_.program;
    batch_ = kernel_.batch_axes;
    rows_ = kernel_.row_axes;
    columns_ = kernel_.column_axes;
    depth_ = kernel_.depth;
    key_ = kernel_.nests[0].reduced[0];
    left_ = Multiplied(program, kernel_.left);
    right_ = Multiplied(program, kernel_.right);
    values_ = Multiplied(program, kernel_.values);
    const std::string product = fmt::format("{}[{}][{}]", scores_, i_, j_);
    score_ = Flattened(program, SubstituteLoads(kernel_.score, [&](const ScalarNode& load) {
                         return load.buffer == kernel_.product ? Variable(product, load.dtype)
                                                               : Scalar();
                       }));
    results_ = ResultsOf(program, kernel_);
    CollapseTile(batch_, {&left_, &right_, &values_, &score_}, &results_);
    CollapseTile(rows_, {&left_, &score_}, &results_);
    CollapseTile(columns_, {&values_}, &results_);
    CollapseTile(depth_, {&left_, &right_}, nullptr);
  }

  Tiles Layout() const {
    return {batch_,   rows_,  columns_, rows_text_, columns_text_, tile_m_, tile_d_,
            threads_, kLanes, false,    m0_,        d0_,           tx_,     ty_};
  }

  void Begin() {
    const auto shared = [&](std::string& name, const char* hint, int64_t outer, int64_t inner) {
      name = out_.Fresh(hint);
      out_.Line(
          fmt::format("__shared__ __align__(16) float {}[{}][{}];", name, outer, inner + kPad));
    };
    shared(left_tile_, "left", tile_k_, tile_m_);
    shared(right_tile_, "right", tile_k_, tile_n_);
    shared(weights_tile_, "weights", tile_n_, tile_m_);
    shared(values_tile_, "slice", tile_k_, tile_d_);
    WriteOrigins(out_, Layout());
    WriteThreads(out_, Layout());
    out_.Line(fmt::format("float {}[{}][{}] = {{}};", sums_, rows_each_, columns_each_));
    out_.Line(fmt::format("float {}[{}], {}[{}];", largest_, rows_each_, total_, rows_each_));
    out_.OpenUnrolled(i_, rows_each_);
    out_.Line(fmt::format("{}[{}] = -INFINITY;", largest_, i_));
    out_.Line(fmt::format("{}[{}] = 0.0f;", total_, i_));
    out_.Close();
  }

  // A comparison that is false for all keys from some on, and for all of them earlier in earlier
  // rows: what a causal mask asks. `masks`: it holds where the score is -infinity.
  bool IsCausal(const Scalar& condition, bool masks) const {
    const bool less = IsCall(condition, "le") || IsCall(condition, "lt");
    const bool more = IsCall(condition, "ge") || IsCall(condition, "gt");
    if ((!less && !more) || rows_.size() != 1) return false;
    const auto a = AsIndex(condition->args[0]), b = AsIndex(condition->args[1]);
    if (!a || !b) return false;
    // Positive where masked.
    const Int excess = less != masks ? *a - *b : *b - *a;
    const auto key = CoefficientOf(excess, key_.atom());
    const auto row = CoefficientOf(excess, rows_[0].atom());
    return key && row && key->constant().value_or(0) > 0 && row->constant().value_or(1) <= 0;
  }

  // The part of the score that is -infinity behind some key; null if there is none.
  Scalar Mask(const Scalar& score, bool* masks) const {
    if (IsCall(score, "add")) {
      const Scalar first = Mask(score->args[0], masks);
      return first ? first : Mask(score->args[1], masks);
    }
    if (!IsCall(score, "where")) return nullptr;
    *masks = IsMinusInfinity(score->args[1]);
    if (!*masks && !IsMinusInfinity(score->args[2])) return nullptr;
    return IsCausal(score->args[0], *masks) ? score->args[0] : nullptr;
  }

  void SkipMasked() {
    bool masks = false;
    const Scalar mask = Mask(score_, &masks);
    if (!mask) return;
    const std::string last = out_.Fresh("last_row");
    out_.Line(fmt::format("const {0} {1} = min({0}({2} + {3}), {0}({4})) - 1;", context_.index_type,
                          last, m0_, tile_m_, rows_text_));
    // Axes of their own: what is known of the mask at other keys must not be mixed up with this.
    const Int key = Axis("first_key", key_.atom()->extent);
    const Int row = Axis("last_row", rows_[0].atom()->extent);
    out_.Name(key.atom(), n0_);
    out_.Name(row.atom(), last);
    const Scalar there = SubstituteIndices(mask, [&](const Atom& atom) -> std::optional<Int> {
      if (atom->key == key_.atom()->key) return key;
      return atom->key == rows_[0].atom()->key ? std::optional(row) : std::nullopt;
    });
    out_.Line(fmt::format("if ({}({})) break;  // masked from here on", masks ? "" : "!",
                          out_.Text(there)));
  }

  // A slice of a factor into shared memory: neighbouring threads read neighbouring elements.
  struct Slice {
    const std::string& array;
    const Scalar& value;
    const std::vector<Int>& axes;  // along the tile
    std::string origin, extent;
    int64_t tile;
    const std::vector<Int>& depth;  // along the slice
    std::string depth_origin, depth_extent;
  };
  void Fill(const Slice& slice) {
    const std::string& type = context_.index_type;
    const bool along_k = DepthIsContiguous(slice.value, slice.axes, slice.depth);
    const std::string x = out_.Fresh("x"), k = out_.Fresh("z");
    const std::string at = out_.Fresh("at"), depth = out_.Fresh("depth");
    out_.Line("#pragma unroll");
    out_.Open(fmt::format("for (int {0} = threadIdx.x; {0} < {1}; {0} += {2}) {{", e_,
                          slice.tile * tile_k_, threads_));
    const int64_t across = along_k ? tile_k_ : slice.tile;
    const std::string inner = fmt::format("{} % {}", e_, across),
                      outer = fmt::format("{} / {}", e_, across);
    out_.Line(fmt::format("const int {} = {}, {} = {};", x, along_k ? outer : inner, k,
                          along_k ? inner : outer));
    out_.Line(fmt::format("const {} {} = {} + {};", type, at, slice.origin, x));
    out_.Decompose(slice.axes, at);
    out_.Line(fmt::format("const {} {} = {} + {};", type, depth, slice.depth_origin, k));
    out_.Decompose(slice.depth, depth);
    Scalar inside = codegen::Variable(
        fmt::format("{} < {} && {} < {}", at, slice.extent, depth, slice.depth_extent),
        DType::kBool);
    if (IsGuarded(slice.value)) inside = And(inside, slice.value->args[0]);
    const Scalar& value = Unguarded(slice.value);
    out_.Share({value});
    out_.Line(fmt::format("{}[{}][{}] = {};", slice.array, k, x,
                          out_.Text(Guard(inside, value, Number(0)))));
    out_.Close();
  }

  // target[i][j] += a(row i) · b(column j), over one slice.
  void Multiply(const std::string& target, const std::string& left, const std::string& first,
                const std::string& right, int64_t each) {
    WriteProduct(out_, {"float", target, k_, tile_k_, unroll_, a_, b_, i_, j_, ty_, rows_each_,
                        each, fmt::format("{}[{}{}]", left, first, k_),
                        fmt::format("{}[{}]", right, k_), Place(each)});
  }

  std::string Place(int64_t each) const { return GroupedPlace(j_, tx_, each, 4, kLanes); }

  void Scores() {
    out_.Line(fmt::format("float {}[{}][{}] = {{}};", scores_, rows_each_, keys_each_));
    out_.Open(fmt::format("for ({0} {1} = 0; {1} < {2}; {1} += {3}) {{", context_.index_type, k0_,
                          depth_text_, tile_k_));
    out_.Line("__syncthreads();  // the last slices may still be read");
    Fill({left_tile_, left_, rows_, m0_, rows_text_, tile_m_, depth_, k0_, depth_text_});
    Fill({right_tile_, right_, {key_}, n0_, keys_text_, tile_n_, depth_, k0_, depth_text_});
    out_.Line("__syncthreads();");
    Multiply(scores_, left_tile_, "", right_tile_, keys_each_);
    out_.Close();
  }

  void Weights() {
    const std::string& type = context_.index_type;
    for (const char* helper : {"LanesReduce", "TakeMax", "Add", "Maximum"})
      context_.helpers.insert(helper);
    const std::string row = out_.Fresh("row"), key = out_.Fresh("key");
    const std::string next = out_.Fresh("next"), shift = out_.Fresh("shift"),
                      scale = out_.Fresh("scale"), sum = out_.Fresh("sum"),
                      weight = out_.Fresh("weight");
    out_.OpenUnrolled(i_, rows_each_);
    out_.Line(fmt::format("const {} {} = {} + {} * {} + {};", type, row, m0_, ty_, rows_each_, i_));
    out_.Decompose(rows_, row);
    out_.Line(fmt::format("float {} = {}[{}];", next, largest_, i_));
    out_.OpenUnrolled(j_, keys_each_);
    out_.Line(fmt::format("const {} {} = {} + {};", type, key, n0_, Place(keys_each_)));
    out_.Name(key_.atom(), key);
    out_.Share({score_});
    const Scalar inside = codegen::Variable(
        fmt::format("{} < {} && {} < {}", row, rows_text_, key, keys_text_), DType::kBool);
    const std::string text = out_.Text(Guard(inside, score_, Number(-INFINITY)));
    out_.Line(fmt::format("{}[{}][{}] = {};", scores_, i_, j_, text));
    out_.Line(fmt::format("{0} = Maximum({0}, {1}[{2}][{3}]);", next, scores_, i_, j_));
    out_.Close();
    out_.Line(fmt::format("{0} = LanesReduce<{1}>({0}, TakeMax());", next, kLanes));
    out_.Line(fmt::format("const float {0} = {1} == -INFINITY ? 0.0f : {1};", shift, next));
    out_.Line(fmt::format("const float {} = expf({}[{}] - {});", scale, largest_, i_, shift));
    out_.Line(fmt::format("{}[{}] = {};", largest_, i_, next));
    out_.Line(fmt::format("float {} = 0.0f;", sum));
    out_.OpenUnrolled(j_, keys_each_);
    out_.Line(
        fmt::format("const float {} = expf({}[{}][{}] - {});", weight, scores_, i_, j_, shift));
    out_.Line(fmt::format("{} += {};", sum, weight));
    out_.Line(fmt::format("{}[{}][{} * {} + {}] = {};", weights_tile_, Place(keys_each_), ty_,
                          rows_each_, i_, weight));
    out_.Close();
    out_.Line(fmt::format("{0}[{1}] = {0}[{1}] * {2} + LanesReduce<{3}>({4}, Add());", total_, i_,
                          scale, kLanes, sum));
    out_.Line("#pragma unroll");
    out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2}[{3}][{0}] *= {4};", j_,
                          columns_each_, sums_, i_, scale));
    out_.Close();
  }

  void Values() {
    out_.Open(fmt::format("for (int {0} = 0; {0} < {1}; {0} += {2}) {{", k0_, tile_n_, tile_k_));
    out_.Line("__syncthreads();  // weights are complete, the last slice was read");
    Fill({values_tile_,
          values_,
          columns_,
          d0_,
          columns_text_,
          tile_d_,
          {key_},
          fmt::format("{} + {}", n0_, k0_),
          keys_text_});
    out_.Line("__syncthreads();");
    Multiply(sums_, weights_tile_, k0_ + " + ", values_tile_, columns_each_);
    out_.Close();
  }

  void Finish() {
    const std::string& type = context_.index_type;
    const std::string row = out_.Fresh("row"), col = out_.Fresh("col");
    out_.OpenUnrolled(i_, rows_each_);
    out_.Line(fmt::format("const {} {} = {} + {} * {} + {};", type, row, m0_, ty_, rows_each_, i_));
    out_.Line(fmt::format("if ({} >= {}) break;", row, rows_text_));
    out_.Decompose(rows_, row);
    out_.OpenUnrolled(j_, columns_each_);
    out_.Line(fmt::format("const {} {} = {} + {};", type, col, d0_, Place(columns_each_)));
    out_.Line(fmt::format("if ({} >= {}) break;", col, columns_text_));
    out_.Decompose(columns_, col);
    const std::string value = out_.Fresh("v");
    const std::string quotient = fmt::format("{}[{}][{}] / {}[{}]", sums_, i_, j_, total_, i_);
    out_.Line(fmt::format("const float {} = {};", value,
                          kernel_.empty_is_zero ? fmt::format("{}[{}] == -INFINITY ? 0.0f : {}",
                                                              largest_, i_, quotient)
                                                : quotient));
    StoreResults(out_, kernel_, results_, value);
    out_.Close();
    out_.Close();
  }

  EmitContext& context_;
  const Kernel& kernel_;
  KernelWriter out_;
  std::vector<Int> batch_, rows_, columns_, depth_;
  Int key_;
  Scalar left_, right_, values_, score_;
  TileResults results_;
  int64_t tile_m_ = 64, tile_n_ = 64, tile_d_ = 64, tile_k_ = 16, threads_ = 128;
  int64_t unroll_ = 0;  // steps of a slice that are written out at a time; 0: all
  int64_t rows_each_ = 8, keys_each_ = 4, columns_each_ = 4;  // rows, keys and columns of a thread
  std::string rows_text_, columns_text_, keys_text_, depth_text_;
  // Names in the kernel.
  std::string m0_ = "m0", n0_ = "n0", d0_ = "d0", k0_ = "k0", k_ = "k", e_ = "e", tx_ = "tx",
              ty_ = "ty", i_ = "i", j_ = "j", a_ = "a", b_ = "b", scores_ = "scores",
              sums_ = "sums", largest_ = "largest", total_ = "total";
  std::string left_tile_, right_tile_, weights_tile_, values_tile_;
};

}  // namespace

KernelText EmitAttention(EmitContext& context, const Kernel& kernel) {
  return AttentionEmitter(context, kernel).Run();
}

}  // namespace kernelsmith::codegen
