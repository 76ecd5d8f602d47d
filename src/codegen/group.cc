#include "codegen/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "codegen/attention.h"
#include "codegen/emit.h"
#include "support/check.h"

namespace kernelsmith::codegen {
namespace {

bool SameAtom(const Atom& a, const Atom& b) { return a && b && a->key == b->key; }
bool Contains(const std::vector<Int>& axes, const Atom& axis) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Int& each) { return SameAtom(each.atom(), axis); });
}

void Replace(Nest& nest, const std::map<std::string, Int>& replacement) {
  const auto replace = [&](const Atom& atom) -> std::optional<Int> {
    if (atom->kind != AtomNode::Kind::kAxis) return std::nullopt;
    const auto at = replacement.find(atom->key);
    return at == replacement.end() ? std::nullopt : std::optional(at->second);
  };
  for (Int& axis : nest.axes) axis = Substitute(axis, replace);
  nest.body = SubstituteIndices(nest.body, replace);
}

class Grouper {
 public:
  Grouper(const Program& program, const Family& family, const Schedule& schedule,
          std::vector<Gene>* genes)
      : program_(program), family_(family), schedule_(schedule), genes_(genes) {}

  std::vector<Kernel> Run() {
    const std::map<size_t, Attention> online = OnlineAttention();
    std::set<size_t> inside;
    for (const auto& [nest, attention] : online)
      inside.insert(attention.parts.begin(), attention.parts.end());
    for (size_t i = 0; i < program_.nests.size(); ++i) {
      if (inside.contains(i)) continue;
      const auto at = online.find(i);
      if (at == online.end()) {
        Place(program_.nests[i]);
      } else {
        PlaceAttention(at->second);
      }
    }
    JoinMapsBesideRows();
    std::vector<Kernel> kernels;
    for (Kernel& kernel : kernels_) {
      if (!kernel.nests.empty()) kernels.push_back(std::move(kernel));
    }
    return Ordered(std::move(kernels));
  }

 private:
  bool Equal(const Int& a, const Int& b) const {
    return a == b || family_.ValuesOf(a) == family_.ValuesOf(b);
  }

  Int Rows(const Kernel& kernel) const {
    Int rows(1);
    for (const Int& axis : kernel.axes) rows = rows * axis.atom()->extent;
    return rows;
  }
  // The kernel whose nests compute a buffer.
  std::optional<size_t> KernelOf(BufferId buffer) const {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      for (const Nest& nest : kernels_[i].nests) {
        if (std::find(nest.outputs.begin(), nest.outputs.end(), buffer) != nest.outputs.end())
          return i;
      }
    }
    return std::nullopt;
  }

  // Kernels that must run before `nest`, directly or not.
  std::set<size_t> Before(const Nest& nest) const {
    std::set<size_t> before;
    std::vector<size_t> open;
    for (const BufferId buffer : LoadedBy(nest)) {
      if (const auto kernel = KernelOf(buffer)) open.push_back(*kernel);
    }
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (!before.insert(at).second) continue;
      for (const Nest& each : kernels_[at].nests) {
        for (const BufferId buffer : LoadedBy(each)) {
          const auto kernel = KernelOf(buffer);
          if (kernel && *kernel != at) open.push_back(*kernel);
        }
      }
    }
    return before;
  }

  // The nest may join the kernel: what it needs from others does not wait for that kernel.
  bool CanJoin(size_t kernel, const Nest& nest) const {
    for (const BufferId buffer : LoadedBy(nest)) {
      const auto direct = KernelOf(buffer);
      if (!direct || *direct == kernel) continue;
      std::set<size_t> seen;
      if (DependsOn(*direct, kernel, seen)) return false;
    }
    return true;
  }
  bool DependsOn(size_t from, size_t on, std::set<size_t>& seen) const {
    if (!seen.insert(from).second) return false;
    for (const Nest& nest : kernels_[from].nests) {
      for (const BufferId buffer : LoadedBy(nest)) {
        const auto kernel = KernelOf(buffer);
        if (!kernel || *kernel == from) continue;
        if (*kernel == on || DependsOn(*kernel, on, seen)) return true;
      }
    }
    return false;
  }

  bool Fuses(const std::string& name, bool otherwise) {
    const std::string gene = name + ".fuse";
    const bool chosen = schedule_.Get(gene, otherwise) != 0;
    if (genes_) genes_->push_back({gene, {0, 1}, chosen ? 1 : 0});
    return chosen;
  }

  void Place(const Nest& nest) {
    switch (nest.kind) {
      case Nest::Kind::kScan:
        return Alone(nest, Kernel::Kind::kScan);
      case Nest::Kind::kScatter:
        return Alone(nest, Kernel::Kind::kScatter);
      case Nest::Kind::kSort:
        return Alone(nest, Kernel::Kind::kSort);
      default:
        break;
    }
    if (JoinRows(nest) || JoinContraction(nest)) return;
    if (nest.kind == Nest::Kind::kMap) {
      if (!JoinElementwise(nest)) Alone(nest, Kernel::Kind::kElementwise);
      return;
    }
    if (nest.kind == Nest::Kind::kReduce && AsContraction(nest)) return;
    if (JoinSiblings(nest)) return;
    Alone(nest, Kernel::Kind::kRows);
  }

  void Alone(const Nest& nest, Kernel::Kind kind) {
    Kernel kernel;
    kernel.kind = kind;
    kernel.gene = program_.buffers[nest.outputs[0]].name;
    kernel.axes = AxesIn(nest.axes);
    kernel.nests.push_back(nest);
    kernels_.push_back(std::move(kernel));
  }

  // Attentions that are computed without storing scores, by the nest of their result.
  std::map<size_t, Attention> OnlineAttention() {
    // Wider heads compute the scores once for every block of columns.
    constexpr int64_t kMostColumns = 256;
    std::map<size_t, Attention> online;
    for (Attention& attention : FindAttention(program_)) {
      int64_t columns = 1;
      for (const Int& axis : attention.columns) columns *= family_.LargestOf(axis.atom()->extent);
      const std::string gene =
          program_.buffers[program_.nests[attention.nest].outputs[0]].name + ".online";
      const bool chosen = schedule_.Get(gene, columns <= kMostColumns ? 1 : 0) != 0;
      if (genes_) genes_->push_back({gene, {0, 1}, chosen ? 1 : 0});
      if (chosen) online.emplace(attention.nest, std::move(attention));
    }
    return online;
  }

  void PlaceAttention(const Attention& attention) {
    Kernel kernel;
    kernel.kind = Kernel::Kind::kAttention;
    Nest nest = program_.nests[attention.nest];
    kernel.gene = program_.buffers[nest.outputs[0]].name;
    kernel.axes = AxesIn(nest.axes);
    kernel.batch_axes = attention.batch;
    kernel.row_axes = attention.rows;
    kernel.column_axes = attention.columns;
    kernel.left = attention.left;
    kernel.right = attention.right;
    kernel.values = attention.values;
    kernel.score = attention.score;
    kernel.product = attention.product;
    kernel.depth = attention.depth;
    kernel.empty_is_zero = attention.empty_is_zero;
    // What the nest reads is all that the parts read; its value is the emitter's business.
    nest.body = SubstituteLoads(attention.score, [&](const ScalarNode& load) -> Scalar {
      return load.buffer == attention.product ? Number(0) : nullptr;
    });
    for (const std::vector<Scalar>* factors :
         {&attention.left, &attention.right, &attention.values}) {
      for (const Scalar& factor : *factors) nest.body = nest.body + factor;
    }
    kernel.nests.push_back(std::move(nest));
    kernels_.push_back(std::move(kernel));
  }

  // The axes of an index of the form (i·J + j)·K + k, from the most significant on; a plain axis is
  // one digit. Empty: another form.
  std::vector<Int> Digits(const Int& index, const std::vector<Int>& axes) const {
    std::vector<Int> digits;
    for (const Int& axis : axes) {
      if (Uses(index, axis.atom())) digits.push_back(axis);
    }
    // Strides fall from digit to digit.
    std::sort(digits.begin(), digits.end(), [&](const Int& a, const Int& b) {
      const auto stride = [&](const Int& axis) {
        const auto factor = CoefficientOf(index, axis.atom());
        bool is_size = factor.has_value();
        if (factor) {
          VisitAtoms(*factor, [&](const Atom& atom) {
            is_size = is_size && atom->kind != AtomNode::Kind::kAxis &&
                      atom->kind != AtomNode::Kind::kValue;
          });
        }
        return is_size ? family_.LargestOf(*factor) : int64_t{-1};
      };
      return stride(a) > stride(b);
    });
    Int expected;
    for (const Int& digit : digits) expected = expected * digit.atom()->extent + digit;
    return expected == index ? digits : std::vector<Int>();
  }

  // Each pair of a producer's index and the reader's, as digits.
  template <typename Visit>
  void ForReads(const Kernel& kernel, const Nest& nest, const Visit& visit) const {
    const std::vector<Int> axes = AxesIn(nest.axes);
    VisitScalars(nest.body, [&](const Scalar& node) {
      if (node->kind != ScalarNode::Kind::kLoad) return;
      for (const Nest& producer : kernel.nests) {
        if (std::find(producer.outputs.begin(), producer.outputs.end(), node->buffer) ==
            producer.outputs.end()) {
          continue;
        }
        for (size_t d = 0; d < producer.axes.size(); ++d) {
          visit(producer.axes[d], Digits(producer.axes[d], kernel.axes),
                Digits(node->index[d], axes));
        }
      }
    });
  }

  // Axes of `nest` by the kernel's, from how it reads what the kernel computes; none if it reads in
  // another way.
  std::optional<std::map<std::string, Int>> Alignment(const Kernel& kernel,
                                                      const Nest& nest) const {
    std::map<std::string, Int> map;
    bool aligned = true, any = false;
    for (const BufferId id : LoadedBy(nest)) {
      for (const Nest& producer : kernel.nests) {
        any = any || std::find(producer.outputs.begin(), producer.outputs.end(), id) !=
                         producer.outputs.end();
      }
    }
    ForReads(kernel, nest,
             [&](const Int& index, const std::vector<Int>& own, const std::vector<Int>& reader) {
               if (index.constant()) return;
               // A column of a map in the kernel is no digit of its axes: only its own thread has
               // it.
               if (own.empty() || own.size() != reader.size()) {
                 aligned = false;
                 return;
               }
               for (size_t i = 0; i < own.size(); ++i) {
                 if (!Equal(own[i].atom()->extent, reader[i].atom()->extent)) {
                   aligned = false;
                   return;
                 }
                 const auto [at, fresh] = map.emplace(reader[i].atom()->key, own[i]);
                 if (!fresh && !SameAtom(at->second.atom(), own[i].atom())) aligned = false;
               }
             });
    if (!aligned || !any) return std::nullopt;
    std::set<std::string> targets;
    for (const auto& [reader, own] : map) targets.insert(own.atom()->key);
    if (targets.size() != map.size() || map.size() != kernel.axes.size()) return std::nullopt;
    return map;
  }

  // A view splits axes of what it reads: [batch·heads, tokens] read as [batch, heads, tokens]. The
  // kernel then has these axes, too.
  void SplitLike(Kernel& kernel, const Nest& nest) const {
    struct Wish {
      Int axis;
      std::vector<Int> like;
    };
    std::vector<Wish> wishes;
    ForReads(
        kernel, nest, [&](const Int&, const std::vector<Int>& own, const std::vector<Int>& reader) {
          if (own.size() != 1 || reader.size() < 2) return;
          Int product(1);
          for (const Int& each : reader) product = product * each.atom()->extent;
          const bool known = std::any_of(wishes.begin(), wishes.end(),
                                         [&](const Wish& wish) { return wish.axis == own[0]; });
          if (!known && Equal(product, own[0].atom()->extent)) wishes.push_back({own[0], reader});
        });
    for (const Wish& wish : wishes) {
      std::vector<Int> parts;
      Int whole;
      for (size_t i = 0; i < wish.like.size(); ++i) {
        const Int& extent = wish.like[i].atom()->extent;
        parts.push_back(Axis(fmt::format("{}_{}", wish.axis.atom()->name, i), extent));
        whole = whole * extent + parts.back();
      }
      const std::map<std::string, Int> replacement{{wish.axis.atom()->key, whole}};
      for (Nest& each : kernel.nests) Replace(each, replacement);
      const auto split = [&](Scalar& value) {
        value = SubstituteIndices(value, [&](const Atom& atom) -> std::optional<Int> {
          return SameAtom(atom, wish.axis.atom()) ? std::optional(whole) : std::nullopt;
        });
      };
      for (std::vector<Scalar>* side : {&kernel.left, &kernel.right, &kernel.values}) {
        for (Scalar& factor : *side) split(factor);
      }
      if (kernel.score) split(kernel.score);
      for (std::vector<Int>* axes :
           {&kernel.axes, &kernel.batch_axes, &kernel.row_axes, &kernel.column_axes}) {
        const auto at = std::find(axes->begin(), axes->end(), wish.axis);
        if (at == axes->end()) continue;
        const auto rest = axes->erase(at);
        axes->insert(rest, parts.begin(), parts.end());
      }
    }
  }

  // The same for a reader that has one axis where the kernel has several.
  Nest SplitReader(const Kernel& kernel, const Nest& nest) const {
    std::map<std::string, Int> replacement;
    ForReads(
        kernel, nest, [&](const Int&, const std::vector<Int>& own, const std::vector<Int>& reader) {
          if (reader.size() != 1 || own.size() < 2) return;
          Int product(1), whole;
          for (size_t i = 0; i < own.size(); ++i) {
            const Int& extent = own[i].atom()->extent;
            product = product * extent;
            whole = whole * extent + Axis(fmt::format("{}_{}", reader[0].atom()->name, i), extent);
          }
          if (Equal(product, reader[0].atom()->extent)) replacement[reader[0].atom()->key] = whole;
        });
    Nest result = nest;
    if (!replacement.empty()) Replace(result, replacement);
    return result;
  }

  // Axes that only occur as quotient and remainder of one size are two axes: a channel is a group
  // and its member.
  Nest Split(const Nest& nest) const {
    Nest result = nest;
    for (const Int& index : AxesIn(nest.axes)) {
      const Atom axis = index.atom();
      std::optional<Int> divisor;
      VisitScalars(result.body, [&](const Scalar& node) {
        if (node->kind != ScalarNode::Kind::kLoad || !KernelOf(node->buffer)) return;
        for (const Int& each : node->index) {
          const Atom atom = each.atom();
          if (atom && atom->kind == AtomNode::Kind::kDivide &&
              SameAtom(atom->args[0].atom(), axis)) {
            divisor = atom->args[1];
          }
        }
      });
      if (!divisor) continue;
      const Int quotient = Divide(axis->extent, *divisor);
      bool exact = true;
      const auto whole = family_.ValuesOf(axis->extent), part = family_.ValuesOf(*divisor);
      for (size_t i = 0; i < whole.size(); ++i)
        exact = exact && part[i] > 0 && whole[i] % part[i] == 0;
      if (!exact) continue;
      const Int outer = Axis(axis->name + "_0", quotient),
                inner = Axis(axis->name + "_1", *divisor);
      Replace(result, {{axis->key, outer * *divisor + inner}});
    }
    return result;
  }

  bool JoinRows(const Nest& original) {
    if (original.kind != Nest::Kind::kMap && original.kind != Nest::Kind::kReduce &&
        original.kind != Nest::Kind::kArgReduce) {
      return false;
    }
    Nest nest = original.kind == Nest::Kind::kMap ? Split(original) : original;
    // The last kernel that it reads from: the others have run by then.
    std::optional<size_t> last;
    for (const BufferId buffer : LoadedBy(nest)) {
      const auto kernel = KernelOf(buffer);
      if (kernel && kernels_[*kernel].kind == Kernel::Kind::kRows && (!last || *kernel > *last))
        last = kernel;
    }
    if (!last || !CanJoin(*last, nest)) return false;
    Kernel& kernel = kernels_[*last];
    SplitLike(kernel, nest);
    nest = SplitReader(kernel, nest);
    const auto alignment = Alignment(kernel, nest);
    if (!alignment) return false;
    const size_t loops = AxesIn(nest.axes).size();
    if (nest.kind != Nest::Kind::kMap && loops != kernel.axes.size()) return false;
    // One block would do what a whole GPU should: rather another launch.
    constexpr int64_t kFewRows = 264, kFewElements = 8192;
    Int columns(1);
    for (const Int& axis : AxesIn(nest.axes)) {
      if (!alignment->contains(axis.atom()->key)) columns = columns * axis.atom()->extent;
    }
    const bool worthwhile = loops == kernel.axes.size() ||
                            family_.LargestOf(Rows(kernel)) >= kFewRows ||
                            family_.LargestOf(columns) <= kFewElements;
    if (!Fuses(program_.buffers[nest.outputs[0]].name, worthwhile)) return false;
    Nest joined = nest;
    Replace(joined, *alignment);
    kernel.nests.push_back(std::move(joined));
    return true;
  }

  // Reductions of equal extents that do not wait for each other share their loops.
  bool JoinSiblings(const Nest& nest) {
    const std::vector<Int> axes = AxesIn(nest.axes);
    for (size_t i = 0; i < kernels_.size(); ++i) {
      Kernel& kernel = kernels_[i];
      if (kernel.kind != Kernel::Kind::kRows || kernel.axes.size() != axes.size()) continue;
      const Nest& first = kernel.nests[0];
      if (first.reduced.size() != nest.reduced.size()) continue;
      bool same = true;
      for (size_t d = 0; d < axes.size(); ++d) {
        same = same && Equal(axes[d].atom()->extent, kernel.axes[d].atom()->extent);
      }
      for (size_t d = 0; d < nest.reduced.size(); ++d) {
        same = same && Equal(nest.reduced[d].atom()->extent, first.reduced[d].atom()->extent);
      }
      if (!same || Before(nest).contains(i) || !CanJoin(i, nest)) continue;
      // Only where both read the same memory: otherwise nothing is gained.
      const std::set<BufferId> theirs = LoadedBy(first);
      const std::set<BufferId> ours = LoadedBy(nest);
      if (std::none_of(ours.begin(), ours.end(), [&](BufferId id) { return theirs.contains(id); }))
        continue;
      if (!Fuses(program_.buffers[nest.outputs[0]].name, true)) return false;
      std::map<std::string, Int> map;
      for (size_t d = 0; d < axes.size(); ++d) map[axes[d].atom()->key] = kernel.axes[d];
      Nest joined = nest;
      Replace(joined, map);
      kernel.nests.push_back(std::move(joined));
      return true;
    }
    return false;
  }

  // Maps of one domain that read the same memory, or each other, share a launch.
  bool JoinElementwise(const Nest& nest) {
    const std::vector<Int> axes = AxesIn(nest.axes);
    for (size_t i = kernels_.size(); i-- > 0;) {
      Kernel& kernel = kernels_[i];
      if (kernel.kind != Kernel::Kind::kElementwise || kernel.axes.size() != axes.size()) continue;
      bool same = true;
      for (size_t d = 0; d < axes.size(); ++d) {
        same = same && Equal(axes[d].atom()->extent, kernel.axes[d].atom()->extent);
      }
      if (!same || !CanJoin(i, nest)) continue;
      std::set<BufferId> theirs, made;
      for (const Nest& each : kernel.nests) {
        theirs.merge(LoadedBy(each));
        made.insert(each.outputs.begin(), each.outputs.end());
      }
      std::map<std::string, Int> map;
      for (size_t d = 0; d < axes.size(); ++d) map[axes[d].atom()->key] = kernel.axes[d];
      Nest joined = nest;
      Replace(joined, map);
      // What the kernel makes may be read by the thread that made it alone: then its value is at
      // hand.
      bool own = true, shares = false;
      VisitScalars(joined.body, [&](const Scalar& node) {
        if (node->kind != ScalarNode::Kind::kLoad) return;
        shares = shares || theirs.contains(node->buffer) || made.contains(node->buffer);
        if (!made.contains(node->buffer)) return;
        for (const Nest& each : kernel.nests) {
          if (each.outputs[0] == node->buffer) own = own && each.axes == node->index;
        }
      });
      if (!own || !shares) continue;
      if (!Fuses(program_.buffers[nest.outputs[0]].name, true)) return false;
      kernel.nests.push_back(std::move(joined));
      return true;
    }
    return false;
  }

  // Maps over the rows of a kernel that goes through the same memory anyway: the sum in front of a
  // normalisation that is a result itself. Both are known only when all nests have their place.
  void JoinMapsBesideRows() {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (kernels_[i].kind != Kernel::Kind::kElementwise) continue;
      for (size_t j = 0; j < kernels_.size() && !kernels_[i].nests.empty(); ++j) {
        const auto map = MapBeside(kernels_[i], kernels_[j]);
        std::set<size_t> seen, also;
        if (!map || DependsOn(i, j, seen) || DependsOn(j, i, also)) continue;
        const std::string gene = kernels_[i].gene + ".beside";
        const bool chosen = schedule_.Get(gene, 1) != 0;
        if (genes_) genes_->push_back({gene, {0, 1}, chosen ? 1 : 0});
        if (!chosen) break;
        for (Nest& nest : kernels_[i].nests) {
          Replace(nest, *map);
          kernels_[j].nests.push_back(std::move(nest));
        }
        kernels_[i].nests.clear();
      }
    }
  }

  // The axes of `maps` by those of a map in `rows` that has the same domain and reads some of the
  // same memory.
  std::optional<std::map<std::string, Int>> MapBeside(const Kernel& maps,
                                                      const Kernel& rows) const {
    if (rows.kind != Kernel::Kind::kRows) return std::nullopt;
    std::set<BufferId> ours;
    for (const Nest& nest : maps.nests) {
      ours.merge(LoadedBy(nest));
      // Only maps alone are written over an argument.
      for (const auto& [target, source] : program_.updates) {
        if (nest.outputs[0] == source) return std::nullopt;
      }
    }
    for (const Nest& nest : rows.nests) {
      if (nest.kind != Nest::Kind::kMap) continue;
      const std::set<BufferId> theirs = LoadedBy(nest);
      const std::vector<Int> axes = AxesIn(nest.axes);
      if (axes.size() != maps.axes.size() || axes.size() == rows.axes.size()) continue;
      if (std::none_of(ours.begin(), ours.end(), [&](BufferId id) { return theirs.contains(id); }))
        continue;
      std::map<std::string, Int> map;
      for (size_t d = 0; d < axes.size(); ++d) {
        if (Equal(axes[d].atom()->extent, maps.axes[d].atom()->extent))
          map[maps.axes[d].atom()->key] = axes[d];
      }
      if (map.size() == axes.size()) return map;
    }
    return std::nullopt;
  }

  static bool HasTiles(const Kernel& kernel) {
    return kernel.kind == Kernel::Kind::kContraction || kernel.kind == Kernel::Kind::kAttention;
  }

  // A map of a contraction's result, element for element.
  bool JoinContraction(const Nest& original) {
    Nest nest = original;
    if (nest.kind != Nest::Kind::kMap) return false;
    std::optional<size_t> last;
    for (const BufferId buffer : LoadedBy(nest)) {
      const auto kernel = KernelOf(buffer);
      if (kernel && HasTiles(kernels_[*kernel]) && (!last || *kernel > *last)) last = kernel;
    }
    if (!last || !CanJoin(*last, nest)) return false;
    Kernel& kernel = kernels_[*last];
    SplitLike(kernel, nest);
    nest = SplitReader(kernel, nest);
    const auto alignment = Alignment(kernel, nest);
    if (!alignment || AxesIn(nest.axes).size() != kernel.axes.size()) return false;
    if (!Fuses(program_.buffers[nest.outputs[0]].name, true)) return false;
    Nest joined = nest;
    Replace(joined, *alignment);
    kernel.nests.push_back(std::move(joined));
    return true;
  }

  static void Factors(const Scalar& value, std::vector<Scalar>& factors) {
    if (value->kind == ScalarNode::Kind::kCall &&
        std::string_view(value->function->name) == "mul") {
      Factors(value->args[0], factors);
      Factors(value->args[1], factors);
    } else {
      factors.push_back(value);
    }
  }

  // sum of left(batch, row, k)·right(batch, k, column), with neither side empty.
  bool AsContraction(const Nest& nest) {
    if (nest.combine != Combine::kSum || !IsFloat(nest.body->dtype)) return false;
    std::vector<Scalar> factors;
    Factors(nest.body, factors);
    if (factors.size() < 2) return false;
    const std::vector<Int> axes = AxesIn(nest.axes);
    const auto axes_of = [&](const Scalar& factor) {
      std::set<std::string> used;
      for (const Int& axis : axes) {
        if (UsesAxis(factor, axis.atom())) used.insert(axis.atom()->key);
      }
      return used;
    };
    Kernel kernel;
    // The factor with the most axes of its own starts one side; what shares axes with it only by
    // the batch is the other.
    std::vector<std::set<std::string>> used;
    for (const Scalar& factor : factors) used.push_back(axes_of(factor));
    for (size_t split = 1; split < factors.size(); ++split) {
      // Factors in the order they were multiplied: (a·b)·c has its sides as {a, ..} and the rest.
      std::set<std::string> left, right;
      for (size_t i = 0; i < factors.size(); ++i)
        (i < split ? left : right).insert(used[i].begin(), used[i].end());
      std::vector<Int> batch, rows, columns;
      bool complete = true;
      for (const Int& axis : axes) {
        const std::string& key = axis.atom()->key;
        const bool in_left = left.contains(key), in_right = right.contains(key);
        if (!in_left && !in_right) complete = false;
        (in_left && in_right ? batch : in_left ? rows : columns).push_back(axis);
      }
      if (!complete || rows.empty() || columns.empty()) continue;
      kernel.left.assign(factors.begin(), factors.begin() + static_cast<std::ptrdiff_t>(split));
      kernel.right.assign(factors.begin() + static_cast<std::ptrdiff_t>(split), factors.end());
      kernel.batch_axes = batch;
      kernel.row_axes = rows;
      kernel.column_axes = columns;
      break;
    }
    if (kernel.left.empty()) return false;
    // Columns hold the axis that is contiguous in memory.
    const Atom innermost = axes.back().atom();
    if (Contains(kernel.row_axes, innermost)) {
      std::swap(kernel.left, kernel.right);
      std::swap(kernel.row_axes, kernel.column_axes);
    }
    kernel.kind = Kernel::Kind::kContraction;
    kernel.gene = program_.buffers[nest.outputs[0]].name;
    kernel.axes = axes;
    kernel.nests.push_back(nest);
    kernels_.push_back(std::move(kernel));
    return true;
  }

  // In an order in which every kernel comes after those it reads from.
  std::vector<Kernel> Ordered(std::vector<Kernel> kernels) const {
    std::vector<Kernel> ordered;
    std::set<BufferId> missing;
    for (const Kernel& kernel : kernels) {
      for (const Nest& nest : kernel.nests)
        missing.insert(nest.outputs.begin(), nest.outputs.end());
    }
    while (!kernels.empty()) {
      bool moved = false;
      for (size_t i = 0; i < kernels.size(); ++i) {
        std::set<BufferId> own;
        bool ready = true;
        for (const Nest& nest : kernels[i].nests)
          own.insert(nest.outputs.begin(), nest.outputs.end());
        for (const Nest& nest : kernels[i].nests) {
          for (const BufferId buffer : LoadedBy(nest))
            ready = ready && (own.contains(buffer) || !missing.contains(buffer));
        }
        if (!ready) continue;
        for (const BufferId id : own) missing.erase(id);
        ordered.push_back(std::move(kernels[i]));
        kernels.erase(kernels.begin() + static_cast<std::ptrdiff_t>(i));
        moved = true;
        break;
      }
      KS_CHECK(moved, "kernels that wait for each other");
    }
    return ordered;
  }

  const Program& program_;
  const Family& family_;
  const Schedule& schedule_;
  std::vector<Gene>* genes_;
  std::vector<Kernel> kernels_;
};

// "aten.native_layer_norm.default" -> "LayerNorm"
std::string OperatorName(const std::string& op) {
  std::string base = op;
  if (const size_t dot = base.find('.'); dot != std::string::npos) base = base.substr(dot + 1);
  if (const size_t dot = base.find('.'); dot != std::string::npos) base = base.substr(0, dot);
  if (base.rfind("native_", 0) == 0) base = base.substr(7);
  std::string name;
  bool upper = true;
  for (const char c : base) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name.empty() ? "Kernel" : name;
}

}  // namespace

std::vector<Int> AxesIn(const std::vector<Int>& index) {
  std::vector<Int> axes;
  for (const Int& each : index) {
    VisitAtoms(each, [&](const Atom& atom) {
      if (atom->kind != AtomNode::Kind::kAxis) return;
      if (std::none_of(axes.begin(), axes.end(),
                       [&](const Int& a) { return a.atom()->key == atom->key; })) {
        axes.push_back(Int(atom));
      }
    });
  }
  return axes;
}

std::vector<Kernel> Group(const Program& program, const Family& family, const Schedule& schedule,
                          std::vector<Gene>* genes) {
  std::vector<Kernel> kernels = Grouper(program, family, schedule, genes).Run();
  std::map<std::string, int> taken;
  for (Kernel& kernel : kernels) {
    // Named after the operators it does, the first and the last of them.
    const std::string first = OperatorName(kernel.nests.front().op),
                      last = OperatorName(kernel.nests.back().op);
    kernel.name = kernel.kind == Kernel::Kind::kAttention ? "Attention"
                  : first == last                         ? first
                                                          : first + last;
    // Add is what a helper is called: the kernel is AddKernel.
    if (IsHelperName(kernel.name)) kernel.name += "Kernel";
    const int count = ++taken[kernel.name];
    if (count > 1) kernel.name += std::to_string(count);
  }
  return kernels;
}

}  // namespace kernelsmith::codegen
