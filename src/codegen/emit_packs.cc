#include "codegen/emit_packs.h"

#include <fmt/format.h>

#include <algorithm>

namespace kernelsmith::codegen {
namespace {

// 1: side by side along the axis; 0: the same element for all; none: scattered.
std::optional<int64_t> StepOf(const ScalarNode& load, const Atom& axis) {
  if (load.index.empty()) return 0;
  const auto factor = CoefficientOf(load.index[0], axis);
  if (factor && factor->is(1)) return 1;
  if (factor && factor->is(0)) return 0;
  return std::nullopt;
}

}  // namespace

bool CanPack(const std::vector<PackedValue>& values, const Atom& axis) {
  bool possible = true, any = false;
  for (const PackedValue& value : values) {
    VisitScalars(value.body, [&](const Scalar& node) {
      if (node->kind == ScalarNode::Kind::kGuard) possible = false;
      if (node->kind == ScalarNode::Kind::kLoad && StepOf(*node, axis) == 1) any = true;
    });
    if (!value.store) continue;
    const auto factor = CoefficientOf(value.flat, axis);
    possible = possible && factor && factor->is(1);
  }
  return possible && any;
}

int64_t BestPack(const Program& program, const std::vector<PackedValue>& values, const Atom& axis) {
  int64_t size = 1;
  const auto take = [&](BufferId id) {
    size = std::max(size, static_cast<int64_t>(SizeOf(program.buffers[id].dtype)));
  };
  for (const PackedValue& value : values) {
    VisitScalars(value.body, [&](const Scalar& node) {
      if (node->kind == ScalarNode::Kind::kLoad && StepOf(*node, axis) == 1) take(node->buffer);
    });
    if (value.store) take(*value.store);
  }
  return std::clamp<int64_t>(16 / size, 2, 8);
}

PackLoop::PackLoop(KernelWriter& out, Atom axis, int64_t width)
    : out_(out), axis_(std::move(axis)), width_(width) {}

std::vector<PackedValue> PackLoop::Begin(const std::vector<PackedValue>& values,
                                         const std::string& first, const std::string& extent) {
  EmitContext& context = out_.context();
  context.helpers.insert("IsAligned");
  first_ = first;
  count_ = out_.Fresh("count");
  element_ = out_.Fresh("c");
  wide_ = out_.Fresh("wide");
  const std::string& type = context.index_type;
  out_.Line(
      fmt::format("const int {} = min({}({}), {} - {});", count_, type, width_, extent, first));
  out_.Name(axis_, first);

  // Every pack once, with where it begins.
  struct Loaded {
    BufferId id;
    std::string begin, pack;
  };
  std::vector<Loaded> loaded;
  std::map<ScalarNode::Hash, std::string> packs;
  bool scattered = false;
  for (const PackedValue& value : values) {
    VisitScalars(value.body, [&](const Scalar& node) {
      if (node->kind == ScalarNode::Kind::kIndex && Uses(node->index[0], axis_)) scattered = true;
      if (node->kind != ScalarNode::Kind::kLoad || out_.IsBound(node->buffer)) return;
      const auto step = StepOf(*node, axis_);
      if (!step) scattered = true;
      if (step != 1 || packs.contains(node->hash())) return;
      const std::string pointer = out_.Pointer(node->buffer, false);
      const std::string begin = fmt::format("{} + {}", pointer, out_.Text(node->index[0]));
      const std::string pack = out_.Fresh(pointer + "_pack");
      loaded.push_back({node->buffer, begin, pack});
      packs[node->hash()] = pack;
    });
  }
  std::string aligned = fmt::format("{} == {}", count_, width_);
  const auto declare = [&](BufferId id, const std::string& pack) {
    out_.Line(fmt::format("Pack<{}, {}> {};", MemoryType(context.program.buffers[id].dtype), width_,
                          pack));
  };
  for (const Loaded& each : loaded) {
    aligned += fmt::format(" && IsAligned<{}>({})", width_, each.begin);
    declare(each.id, each.pack);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].store) continue;
    const BufferId id = *values[i].store;
    const std::string pointer = out_.Pointer(id, true);
    stored_.push_back({i, id, values[i].flat, out_.Fresh(pointer + "_pack")});
    aligned +=
        fmt::format(" && IsAligned<{}>({} + {})", width_, pointer, out_.Text(values[i].flat));
    declare(id, stored_.back().pack);
  }
  out_.Line(fmt::format("const bool {} = {};", wide_, aligned));
  if (!loaded.empty()) {
    out_.Open(fmt::format("if ({}) {{", wide_));
    for (const Loaded& each : loaded)
      out_.Line(fmt::format("{} = LoadPack<{}>({});", each.pack, width_, each.begin));
    out_.Close("} else {");
    out_.Indent();
    // Beyond the end the last element again: it is not used.
    out_.OpenUnrolled(element_, width_);
    for (const Loaded& each : loaded) {
      out_.Line(fmt::format("{0}.items[{1}] = ({2})[min({1}, {3} - 1)];", each.pack, element_,
                            each.begin, count_));
    }
    out_.Close();
    out_.Close();
  }
  out_.OpenUnrolled(element_, width_);
  position_ = out_.Fresh("at");
  if (scattered) {
    out_.Line(fmt::format("const {} {} = {} + min({}, {} - 1);", type, position_, first, element_,
                          count_));
  }
  out_.Name(axis_, position_);
  std::vector<PackedValue> inside = values;
  for (PackedValue& value : inside) {
    value.body = SubstituteLoads(value.body, [&](const ScalarNode& load) -> Scalar {
      const auto at = packs.find(load.hash());
      if (at == packs.end()) return nullptr;
      return Variable(
          out_.Converted(load.buffer, fmt::format("{}.items[{}]", at->second, element_)),
          load.dtype);
    });
  }
  return inside;
}

void PackLoop::Keep(size_t value, const std::string& text) {
  for (const Stored& each : stored_) {
    if (each.value != value) continue;
    out_.Line(
        fmt::format("{}.items[{}] = {};", each.pack, element_, out_.StoreText(each.id, text)));
  }
}

void PackLoop::End() {
  out_.Close();
  out_.Name(axis_, first_);
  if (stored_.empty()) return;
  EmitContext& context = out_.context();
  context.helpers.insert("StorePack");
  out_.Open(fmt::format("if ({}) {{", wide_));
  std::vector<std::string> begins;
  for (const Stored& each : stored_) {
    begins.push_back(fmt::format("{} + {}", out_.Pointer(each.id, true), out_.Text(each.flat)));
    out_.Line(fmt::format("StorePack({}, {});", begins.back(), each.pack));
  }
  out_.Close("} else {");
  out_.Indent();
  out_.OpenUnrolled(element_, width_);
  for (size_t i = 0; i < stored_.size(); ++i) {
    out_.Line(fmt::format("if ({}) ({})[{}] = {}.items[{}];", Exists(), begins[i], element_,
                          stored_[i].pack, element_));
  }
  out_.Close();
  out_.Close();
}

}  // namespace kernelsmith::codegen
