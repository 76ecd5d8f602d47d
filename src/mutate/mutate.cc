#include "mutate/mutate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "mutate/operators.h"
#include "mutate/source.h"
#include "support/rng.h"

namespace kernelsmith::mutate {
namespace {

std::vector<Operator> Table() {
  std::vector<Operator> all;
  for (const auto& family :
       {ControlOperators(), ArithmeticOperators(), MemoryOperators(), HostOperators()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

void Sites::Replace(Range tokens, std::string replacement, bool device) {
  if (tokens.empty() || tokens.end > source_.size()) return;
  Change({{source_[tokens.begin].begin, source_[tokens.end - 1].end, std::move(replacement)}},
         tokens.begin, device);
}

void Sites::Insert(size_t before, const std::string& text, bool device) {
  if (before >= source_.size()) return;
  const size_t at = source_[before].begin;
  Change({{at, at, text}}, before, device);
}

void Sites::Change(std::vector<Edit> edits, size_t token, bool device) {
  found_.push_back({.operator_name = operator_name_,
                    .line = source_[token].line,
                    .column = source_[token].column,
                    .edits = std::move(edits),
                    .device = device,
                    .name = {}});
}

void ForDeviceTokens(const Source& source,
                     const std::function<void(size_t, const Function&)>& visit) {
  for (const Function& function : source.functions()) {
    if (!function.device) continue;
    for (size_t i = function.body.begin; i < function.body.end; ++i) {
      // Shapes of arrays in shared memory are layout: another padding is no mistake. small_shared
      // has them to itself.
      if (source.Is(i, "__shared__")) {
        while (i < function.body.end && !source.Is(i, ";")) ++i;
      }
      visit(i, function);
    }
  }
}

void ForHostTokens(const Source& source,
                   const std::function<void(size_t, const Function&)>& visit) {
  for (const Function& function : source.functions()) {
    // The registration is no part of what a kernel gets wrong.
    if (function.device || function.name == "PYBIND11_MODULE" || function.name == "TORCH_LIBRARY") {
      continue;
    }
    for (size_t i = function.body.begin; i < function.body.end; ++i) visit(i, function);
  }
}

std::vector<Parameter> Parameters(const Source& source, const Function& function) {
  std::vector<Parameter> parameters;
  if (function.parameters.empty()) return parameters;
  for (const Range& each : source.Arguments(function.parameters.begin - 1)) {
    Parameter parameter;
    for (size_t i = each.begin; i < each.end; ++i) {
      if (i + 1 == each.end && source.IsIdentifier(i)) {
        parameter.name = source.Word(i);
      } else if (!source.Is(i, "const") && !source.Is(i, "__restrict__")) {
        parameter.type += source.Word(i);
      }
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

std::vector<OperatorInfo> Operators() {
  std::vector<OperatorInfo> infos;
  for (const Operator& each : Table()) infos.push_back({each.name, each.what});
  return infos;
}

Result<std::vector<Mutation>> FindMutations(const std::string& source_text,
                                            const std::vector<std::string>& operators) {
  const std::vector<Operator> table = Table();
  for (const std::string& name : operators) {
    if (std::any_of(table.begin(), table.end(),
                    [&](const Operator& o) { return name == o.name; })) {
      continue;
    }
    std::vector<std::string> known;
    for (const Operator& each : table) known.emplace_back(each.name);
    return InvalidInput(
        fmt::format("no operator is called '{}'; there are {}", name, fmt::join(known, ", ")));
  }
  const Source source(source_text);
  std::vector<Mutation> found;
  for (const Operator& each : table) {
    if (!operators.empty() &&
        std::find(operators.begin(), operators.end(), each.name) == operators.end()) {
      continue;
    }
    const size_t first = found.size();
    Sites sites(source, each.name, found);
    each.find(source, sites);
    const auto place = [](const Mutation& m) {
      return std::tuple(m.line, m.column, m.edits.front().begin, m.edits.front().replacement);
    };
    std::sort(found.begin() + static_cast<std::ptrdiff_t>(first), found.end(),
              [&](const Mutation& a, const Mutation& b) { return place(a) < place(b); });
  }
  // Two operators may come to the same text: the first keeps it.
  std::set<std::string> texts = {source_text};
  std::map<std::string, int> names;
  std::vector<Mutation> distinct;
  for (Mutation& each : found) {
    if (!texts.insert(Apply(source_text, each)).second) continue;
    each.name = fmt::format("{}-{}-{}", each.operator_name, each.line, each.column);
    if (const int again = names[each.name]++; again > 0) {
      each.name += static_cast<char>('a' + std::min(again, 25));
    }
    distinct.push_back(std::move(each));
  }
  return distinct;
}

std::vector<Mutation> Choose(const std::vector<Mutation>& mutations, size_t count, uint64_t seed) {
  if (count == 0) count = mutations.size();
  // By operator, each list in an order of its own; then one of each in turn.
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Mutation*>> by_operator;
  for (const Mutation& each : mutations) {
    std::vector<const Mutation*>& list = by_operator[each.operator_name];
    if (list.empty()) order.push_back(each.operator_name);
    list.push_back(&each);
  }
  Rng rng(seed);
  const auto shuffle = [&rng](auto& list) {
    for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[rng.Below(i)]);
  };
  shuffle(order);
  for (const std::string& name : order) shuffle(by_operator[name]);
  std::vector<Mutation> chosen;
  for (size_t round = 0; chosen.size() < std::min(count, mutations.size()); ++round) {
    for (const std::string& name : order) {
      const std::vector<const Mutation*>& list = by_operator[name];
      if (round < list.size() && chosen.size() < count) chosen.push_back(*list[round]);
    }
  }
  return chosen;
}

std::string Apply(const std::string& source, const Mutation& mutation) {
  std::string text;
  size_t at = 0;
  for (const Edit& edit : mutation.edits) {
    text += source.substr(at, edit.begin - at);
    text += edit.replacement;
    at = edit.end;
  }
  return text + source.substr(at);
}

std::string Diff(const std::string& source, const Mutation& mutation) {
  const std::vector<std::string> before = Lines(source);
  const std::vector<std::string> after = Lines(Apply(source, mutation));
  // Edits are few and near each other: what the two have in common at both ends is left out.
  size_t head = 0;
  while (head < before.size() && head < after.size() && before[head] == after[head]) ++head;
  size_t tail = 0;
  while (tail + head < before.size() && tail + head < after.size() &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
    ++tail;
  }
  std::string diff;
  // An include that was put in front makes everything between look changed: the last lines say it.
  constexpr size_t kShown = 4;
  const auto show = [&](char sign, const std::vector<std::string>& lines) {
    const size_t end = lines.size() - tail;
    const size_t begin = end - head > kShown ? end - 1 : head;
    for (size_t i = begin; i < end; ++i) diff += fmt::format("{}{}: {}\n", sign, i + 1, lines[i]);
  };
  show('-', before);
  show('+', after);
  return diff;
}

std::string NormalisePtx(const std::string& ptx) {
  std::string normal;
  for (std::string line : Lines(ptx)) {
    line = line.substr(0, line.find("//"));
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    line = line.substr(begin, line.find_last_not_of(" \t\r") - begin + 1);
    if (line.starts_with(".loc") || line.starts_with(".file") || line.starts_with(".section")) {
      // Debug sections come last; nothing after the first of them is code.
      if (line.starts_with(".section")) break;
      continue;
    }
    // Names of internal things hold a hash of the file: _GLOBAL__N__0123abcd_4_a_cu_0123abcd, or
    // _INTERNAL_0123abcd_... . Hexadecimal words of eight digits between underscores become X.
    std::string cleaned;
    for (size_t i = 0; i < line.size(); ++i) {
      cleaned += line[i];
      if (line[i] != '_') continue;
      size_t end = i + 1;
      while (end < line.size() && (std::isxdigit(static_cast<unsigned char>(line[end])) != 0))
        ++end;
      if (end - i - 1 == 8 && (end == line.size() || line[end] == '_' ||
                               std::isalnum(static_cast<unsigned char>(line[end])) == 0)) {
        cleaned += 'X';
        i = end - 1;
      }
    }
    normal += cleaned + "\n";
  }
  return normal;
}

}  // namespace kernelsmith::mutate
