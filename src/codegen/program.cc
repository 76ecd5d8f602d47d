#include "codegen/program.h"

#include <fmt/format.h>

namespace kernelsmith::codegen {

std::optional<size_t> ProducerOf(const Program& program, BufferId buffer) {
  for (size_t i = 0; i < program.nests.size(); ++i) {
    for (const BufferId output : program.nests[i].outputs) {
      if (output == buffer) return i;
    }
  }
  return std::nullopt;
}

std::set<BufferId> LoadedBy(const Nest& nest) {
  std::set<BufferId> loaded;
  const auto add = [&](const Scalar& value) {
    if (value) loaded.merge(Loaded(value));
  };
  add(nest.body);
  add(nest.base);
  add(nest.condition);
  for (const Int& index : nest.target) add(Index(index));
  return loaded;
}

Int FlatIndex(const std::vector<Int>& shape, const std::vector<Int>& index) {
  Int flat;
  for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + index[d];
  return flat;
}

namespace {

const char* Name(Nest::Kind kind) {
  switch (kind) {
    case Nest::Kind::kMap:
      return "map";
    case Nest::Kind::kReduce:
      return "reduce";
    case Nest::Kind::kArgReduce:
      return "arg_reduce";
    case Nest::Kind::kScan:
      return "scan";
    case Nest::Kind::kScatter:
      return "scatter";
    case Nest::Kind::kSort:
      return "sort";
  }
  return "";
}

std::string AtomName(const Atom& atom) {
  return atom->kind == AtomNode::Kind::kValue ? "*" : atom->name;
}

}  // namespace

std::string ToText(const Program& program) {
  std::string text;
  for (const Nest& nest : program.nests) {
    text += Name(nest.kind);
    const auto list = [&](const std::vector<Int>& axes) {
      std::string items;
      for (const Int& axis : axes) {
        if (!axis.atom()) continue;  // a dimension of size 1
        items += fmt::format("{}{}<{}", items.empty() ? "" : ", ", axis.atom()->name,
                             ToText(axis.atom()->extent, AtomName));
      }
      return items;
    };
    text += fmt::format(" ({})", list(nest.axes));
    if (!nest.reduced.empty()) text += fmt::format(" over ({})", list(nest.reduced));
    for (const BufferId id : nest.outputs) text += " " + program.buffers[id].name;
    std::string loads;
    for (const BufferId id : LoadedBy(nest)) {
      loads += (loads.empty() ? "" : ", ") + program.buffers[id].name;
    }
    text += fmt::format(" <- {}  [{}]\n", loads, nest.op);
  }
  return text;
}

}  // namespace kernelsmith::codegen
