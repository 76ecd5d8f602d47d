#include "codegen/emit_slices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace kernelsmith::codegen {
namespace {

std::string Parenthesised(const std::string& text) {
  return text.find(' ') == std::string::npos ? text : "(" + text + ")";
}

}  // namespace

Slices::Slices(KernelWriter& out, SliceLayout layout)
    : out_(out), context_(out.context()), layout_(std::move(layout)) {}

int64_t Slices::Bytes(const SliceLayout& layout, int64_t tile_m, int64_t tile_n,
                      int64_t element_bytes) {
  int64_t elements = 0;
  for (const int64_t tile : {tile_m, tile_n}) {
    elements += tile * layout.tile_k + layout.pad * std::max(tile, layout.tile_k);
  }
  return elements * element_bytes * layout.stages;
}

void Slices::Add(const std::string& array, const Scalar& value, const std::vector<Int>& axes,
                 const std::string& origin, const std::string& extent, int64_t tile) {
  Side side;
  side.array = array;
  side.value = value;
  side.axes = axes;
  side.origin = origin;
  side.extent = extent;
  side.tile = tile;
  side.along_k = DepthIsContiguous(value, axes, layout_.depth);
  // Tensor cores take either order; registers want the elements of one k side by side.
  side.turned = side.along_k && layout_.tensor;
  sides_.push_back(std::move(side));
}

void Slices::Declare() {
  const std::string stages = layout_.stages > 1 ? fmt::format("[{}]", layout_.stages) : "";
  for (const Factor factor : {kLeft, kRight}) {
    const Side& side = sides_[factor];
    out_.Line(fmt::format("__shared__ __align__({}) {} {}{}[{}][{}];", layout_.tensor ? 32 : 16,
                          layout_.element_type, side.array, stages,
                          side.turned ? side.tile : layout_.tile_k, Width(factor)));
  }
}

int64_t Slices::Width(Factor factor) const {
  const Side& side = sides_[factor];
  return (side.turned ? layout_.tile_k : side.tile) + layout_.pad;
}

std::string Slices::Stage(Factor factor, const std::string& stage) const {
  const std::string& array = sides_[factor].array;
  return layout_.stages > 1 ? fmt::format("{}[{}]", array, stage) : array;
}

bool Slices::UsesCopies() const {
  return std::any_of(sides_.begin(), sides_.end(), [](const Side& side) { return side.copied; });
}

// The load that a factor is, as shared memory has it; null if something is computed from it.
const ScalarNode* Slices::PlainLoad(const Side& side) const {
  const ScalarNode* node = Unguarded(side.value).get();
  while (layout_.tensor && node->kind == ScalarNode::Kind::kCast) node = node->args[0].get();
  if (node->kind != ScalarNode::Kind::kLoad || node->index.empty()) return nullptr;
  if (out_.IsBound(node->buffer)) return nullptr;
  const DType own = context_.program.buffers[node->buffer].dtype;
  return MemoryType(own) == layout_.element_type ? node : nullptr;
}

// How many elements of a slice lie side by side in global memory.
int64_t Slices::Across(const Side& side) const { return side.along_k ? layout_.tile_k : side.tile; }

Atom Slices::Contiguous(const Side& side) const {
  return (side.along_k ? layout_.depth : side.axes).back().atom();
}

std::optional<Slices::EndGuard> Slices::EndOf(const Side& side) const {
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

// Groups may be loaded at once: every load has the contiguous axis as it is, or not at
// all, and nothing is guarded but by the end of a part.
bool Slices::CanBeWide(const Side& side) const {
  if ((side.along_k ? layout_.depth : side.axes).size() != 1) return false;
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
std::string Slices::WideCondition(const Side& side) {
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
    const std::string text = fmt::format("IsAligned<{}>({})", side.width, out_.Pointer(id, false));
    if (std::find(conditions.begin(), conditions.end(), text) == conditions.end())
      conditions.push_back(text);
  }
  std::string all;
  for (const std::string& each : conditions) all += (all.empty() ? "" : " && ") + each;
  return all;
}

void Slices::ChooseWidth(Side& side) {
  if (!layout_.vectors || !CanBeWide(side)) return;
  // At most 16 bytes: elements for tensor cores are half as long. Every thread should have a group.
  for (const int64_t width : {8, 4}) {
    if (Across(side) % width != 0) continue;
    if (width == 8 && (!layout_.tensor || side.tile * layout_.tile_k / width < layout_.threads)) {
      continue;
    }
    side.width = width;
    const std::string condition = WideCondition(side);
    if (!condition.empty()) {
      side.wide = out_.Fresh(side.array + "_wide");
      out_.Line(fmt::format("const bool {} = {};", side.wide, condition));
      return;
    }
  }
  side.width = 1;
}

void Slices::Hoist() {
  for (Side& side : sides_) HoistSide(side);
}

void Slices::HoistSide(Side& side) {
  const std::string& type = context_.index_type;
  const ScalarNode* load = PlainLoad(side);
  const bool may_copy = layout_.stages > 1 && layout_.copies > 0 && load != nullptr;
  // Copies keep the order of what they copy, and have 4, 8 or 16 bytes.
  const bool one_by_one = may_copy && layout_.copies == 2 && side.along_k && !side.turned &&
                          SizeOf(context_.program.buffers[load->buffer].dtype) >= 4;
  if (!one_by_one) ChooseWidth(side);
  side.copied = one_by_one || (may_copy && side.width > 1 && side.along_k == side.turned);
  if (side.copied) context_.helpers.insert("CopyAsync");
  side.groups = side.tile * layout_.tile_k / side.width;
  side.turns = std::max<int64_t>(1, side.groups / layout_.threads);
  if (!side.copied) side.next = out_.Fresh(side.array + "_next");
  side.x = out_.Fresh(side.array + "_x");
  side.k = out_.Fresh(side.array + "_k");
  const int64_t across = Across(side) / side.width;
  const std::string first =
      fmt::format("threadIdx.x % {}{}", across,
                  side.width > 1 ? fmt::format(" * {}", side.width) : std::string());
  const std::string second = fmt::format("threadIdx.x / {}", across);
  out_.Line(fmt::format("const int {} = {}, {} = {};", side.x, side.along_k ? second : first,
                        side.k, side.along_k ? first : second));
  if (!side.along_k && layout_.threads % across == 0) {
    side.at = out_.Fresh(side.array + "_at");
    const std::string position = fmt::format("{} + {}", side.origin, side.x);
    out_.Line(fmt::format("const {} {} = {};", type, side.at,
                          side.width > 1 ? Inside(side, position) : position));
    out_.Decompose(side.axes, side.at);
  }
}

// Where turn `e` of a thread lies: text added to its first x, and to its first k.
std::pair<std::string, std::string> Slices::Offsets(const Side& side) const {
  if (side.turns == 1) return {"", ""};
  const int64_t across = Across(side) / side.width;
  // A turn moves the threads on by whole rows of groups, or within one.
  const auto step = [&](int64_t by) { return fmt::format(" + {} * {}", layout_.e, by); };
  if (layout_.threads >= across) {
    const int64_t rows = layout_.threads / across;
    return side.along_k ? std::pair{step(rows), std::string()}
                        : std::pair{std::string(), step(rows)};
  }
  const int64_t parts = across / layout_.threads;
  const std::string within =
      fmt::format(" + {} % {} * {}", layout_.e, parts, layout_.threads * side.width);
  const std::string rows = fmt::format(" + {} / {}", layout_.e, parts);
  return side.along_k ? std::pair{rows, within} : std::pair{within, rows};
}

// All loads of a step in flight together: in one branch for both, or the second would wait for the
// first.
void Slices::Fetch(const std::string& k) {
  k0_ = k;
  std::string wide;
  for (const Side& side : sides_) {
    if (!side.copied) {
      out_.Line(fmt::format("{} {}[{}];",
                            layout_.tensor ? layout_.element_type : ValueType(side.value->dtype),
                            side.next, side.turns * side.width));
    }
    out_.Share({side.value});
    if (!side.wide.empty()) wide += (wide.empty() ? "" : " && ") + side.wide;
  }
  const auto fetch = [&](bool at_once) {
    for (const Side& side : sides_) {
      const bool whole = at_once && !side.wide.empty();
      FetchGroups(side, whole,
                  !side.copied                 ? Goal::kRegisters
                  : whole || side.wide.empty() ? Goal::kCopy
                                               : Goal::kTile);
    }
  };
  if (wide.empty()) return fetch(false);
  // The last step may be shorter: it is not worth the guards of all others.
  out_.Open(
      fmt::format("if ({} && {} + {} <= {}) {{", wide, k0_, layout_.tile_k, layout_.depth_text));
  fetch(true);
  out_.Close("} else {");
  out_.Indent();
  fetch(false);
  out_.Close();
}

// A value as the tiles in shared memory have it.
std::string Slices::Element(const std::string& value) const {
  if (!layout_.tensor) return value;
  return fmt::format(
      "{}({})", *layout_.tensor == DType::kFloat16 ? "__float2half" : "__float2bfloat16", value);
}

std::string Slices::Zero() const { return layout_.tensor ? Element("0.0f") : "0"; }

// Rows and columns outside are computed and not stored: any element will do for them.
std::string Slices::Inside(const Side& side, const std::string& position) const {
  const std::string& type = context_.index_type;
  const std::string last =
      fmt::format("{} - {}", side.extent, side.along_k ? int64_t{1} : side.width);
  return fmt::format("min({}, {})", position,
                     type == "int" ? last : fmt::format("{}({})", type, last));
}

// An element of shared memory.
std::string Slices::Place(const Side& side, const std::string& k, const std::string& x) const {
  const std::string stage = layout_.stages > 1 ? fmt::format("[{}]", layout_.into) : "";
  return side.turned ? fmt::format("{}{}[{}][{}]", side.array, stage, x, k)
                     : fmt::format("{}{}[{}][{}]", side.array, stage, k, x);
}

void Slices::FetchGroups(const Side& side, bool at_once, Goal goal) {
  const std::string& type = context_.index_type;
  const auto [x_step, k_step] = Offsets(side);
  const std::string at = side.at.empty() ? out_.Fresh("at") : side.at;
  const std::string depth = out_.Fresh("depth");
  const bool each = side.width > 1 && !at_once;  // one element after the other
  const std::string c = each ? out_.Fresh("c") : "";
  const std::string x_part = each && !side.along_k ? " + " + c : "";
  const std::string k_part = each && side.along_k ? " + " + c : "";
  const bool fixed_k = k_step.empty() && k_part.empty();
  // Threads without a group read nothing for their registers, and have no place in the tile.
  const bool some = side.groups < layout_.threads;
  const std::string has_group = fmt::format("threadIdx.x < {}", side.groups);
  if (some && goal != Goal::kRegisters) out_.Open(fmt::format("if ({}) {{", has_group));
  if (fixed_k) {
    out_.Line(fmt::format("const {} {} = {} + {};", type, depth, k0_, side.k));
    out_.Decompose(layout_.depth, depth);
  }
  if (side.turns > 1) out_.OpenUnrolled(layout_.e, side.turns);
  if (each) out_.OpenUnrolled(c, side.width);
  std::string here = at;
  if (side.at.empty() || !x_part.empty()) {
    here = side.at.empty() ? at : out_.Fresh("at");
    const std::string position = fmt::format("{} + {}{}{}", side.origin, side.x, x_step, x_part);
    out_.Line(
        fmt::format("const {} {} = {};", type, here, at_once ? Inside(side, position) : position));
    out_.Decompose(side.axes, here);
  }
  if (!fixed_k) {
    out_.Line(fmt::format("const {} {} = {} + {}{}{};", type, depth, k0_, side.k, k_step, k_part));
    out_.Decompose(layout_.depth, depth);
  }
  std::string condition =
      at_once ? ""
              : fmt::format("{} < {} && {} < {}", here, side.extent, depth, layout_.depth_text);
  if (some && goal == Goal::kRegisters) {
    condition += (condition.empty() ? "" : " && ") + has_group;
  }
  const Scalar guard = GuardOf(side, condition);
  const std::string place = Place(side, side.k + k_step + k_part, side.x + x_step + x_part);
  if (goal == Goal::kCopy) {
    Copy(side, guard, place);
  } else if (at_once) {
    FetchWide(side, guard, side.turns == 1 ? "" : fmt::format("{} * {} + ", layout_.e, side.width));
  } else {
    const Scalar value = Guard(guard, Unguarded(side.value), Number(0, side.value->dtype));
    const std::string slot =
        side.turns == 1 ? (each ? c : "0")
                        : fmt::format("{}{}{}", layout_.e,
                                      side.width > 1 ? fmt::format(" * {}", side.width) : "",
                                      each ? " + " + c : "");
    out_.Line(fmt::format("{} = {};",
                          goal == Goal::kTile ? place : fmt::format("{}[{}]", side.next, slot),
                          Element(out_.Text(value))));
  }
  if (each) out_.Close();
  if (side.turns > 1) out_.Close();
  if (some && goal != Goal::kRegisters) out_.Close();
  // The hoisted position is the name of the axes again.
  if (!side.at.empty() && !x_part.empty() && side.axes.size() == 1)
    out_.Name(side.axes[0].atom(), side.at);
}

// What must hold for an element or a group to be read; null: nothing.
Scalar Slices::GuardOf(const Side& side, const std::string& condition) const {
  const Scalar given = condition.empty() ? nullptr : Variable(condition, DType::kBool);
  if (!IsGuarded(side.value)) return given;
  return given == nullptr ? side.value->args[0] : And(given, side.value->args[0]);
}

// Copies one group past the registers.
void Slices::Copy(const Side& side, const Scalar& guard, const std::string& place) {
  const ScalarNode* load = PlainLoad(side);
  if (guard != nullptr) out_.Open(fmt::format("if ({}) {{", out_.Text(guard)));
  out_.Line(fmt::format("CopyAsync<{}>(&{}, {} + {});", side.width, place,
                        out_.Pointer(load->buffer, false),
                        Parenthesised(out_.Text(load->index[0]))));
  if (guard == nullptr) return;
  out_.Close("} else {");
  out_.Indent();
  if (side.width == 1) {
    out_.Line(fmt::format("{} = {};", place, Zero()));
  } else {
    const std::string c = out_.Fresh("c");
    out_.Line("#pragma unroll");
    out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) (&{2})[{0}] = {3};", c, side.width,
                          place, Zero()));
  }
  out_.Close();
}

// One group: each load brings all of its elements.
void Slices::FetchWide(const Side& side, const Scalar& guard, const std::string& slot) {
  context_.helpers.insert("Pack");
  const Atom axis = Contiguous(side);
  const Scalar& value = Unguarded(side.value);
  std::string inside;
  if (guard != nullptr) {
    inside = out_.Fresh("inside");
    out_.Line(fmt::format("const bool {} = {};", inside, out_.Text(guard)));
  }
  const auto place = [&](const Int& index) {
    return inside.empty() ? out_.Text(index) : fmt::format("{} ? {} : 0", inside, out_.Text(index));
  };
  std::map<ScalarNode::Hash, std::string> packs;
  VisitScalars(value, [&](const Scalar& node) {
    if (node->kind != ScalarNode::Kind::kLoad || node->index.empty()) return;
    if (!CoefficientOf(node->index[0], axis)->is(1)) return;
    const std::string name = out_.Fresh("pack");
    const std::string at = place(node->index[0]);
    out_.Line(fmt::format("const auto {} = LoadPack<{}>({} + {});", name, side.width,
                          out_.Pointer(node->buffer, false), inside.empty() ? at : "(" + at + ")"));
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
      layout_.tensor ? fmt::format("{}.items[{}]", packs.begin()->second, c) : out_.Text(element);
  out_.Line(fmt::format(
      "{}[{}{}] = {};", side.next, slot, c,
      inside.empty() ? text : fmt::format("{} ? {} : {}", inside, text, Element("0.0f"))));
  out_.Close();
}

void Slices::Put() {
  for (const Side& side : sides_) {
    if (!side.copied) PutSide(side);
  }
}

// Moves what was loaded from registers into shared memory.
void Slices::PutSide(const Side& side) {
  const auto [x_step, k_step] = Offsets(side);
  const bool some = side.groups < layout_.threads;
  if (some) out_.Open(fmt::format("if (threadIdx.x < {}) {{", side.groups));
  if (side.turns > 1) out_.OpenUnrolled(layout_.e, side.turns);
  const std::string c = side.width > 1 ? out_.Fresh("c") : "";
  const std::string place =
      Place(side, side.k + k_step + (c.empty() || !side.along_k ? "" : " + " + c),
            side.x + x_step + (c.empty() || side.along_k ? "" : " + " + c));
  if (c.empty()) {
    out_.Line(fmt::format("{} = {}[{}];", place, side.next, side.turns == 1 ? "0" : layout_.e));
  } else {
    out_.Line("#pragma unroll");
    out_.Line(fmt::format("for (int {0} = 0; {0} < {1}; ++{0}) {2} = {3}[{4}{0}];", c, side.width,
                          place, side.next,
                          side.turns == 1 ? "" : fmt::format("{} * {} + ", layout_.e, side.width)));
  }
  if (side.turns > 1) out_.Close();
  if (some) out_.Close();
}

}  // namespace kernelsmith::codegen
