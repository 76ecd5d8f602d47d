#include "shrink.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>

namespace kernelsmith::fuzz {

namespace {

Program Without(const Program& program, const std::set<int>& units) {
  Program smaller = program;
  std::erase_if(smaller.lines, [&](const Line& line) { return units.contains(line.unit); });
  return smaller;
}

// Halves, quarters, ... of the units, from the end, as later ones hang on earlier ones.
bool DropUnits(Program& program, const std::function<bool(const Program&)>& differs) {
  bool dropped = false;
  std::vector<int> units;
  for (const Line& line : program.lines) {
    if (line.unit != Line::kStays &&
        std::find(units.begin(), units.end(), line.unit) == units.end()) {
      units.push_back(line.unit);
    }
  }
  for (size_t size = std::max<size_t>(units.size() / 2, 1);; size /= 2) {
    for (size_t end = units.size(); end > 0;) {
      const size_t begin = end > size ? end - size : 0;
      const auto first = units.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = units.begin() + static_cast<std::ptrdiff_t>(end);
      Program smaller = Without(program, std::set<int>(first, last));
      if (differs(smaller)) {
        program = std::move(smaller);
        units.erase(first, last);
        dropped = true;
      }
      end = begin;
    }
    if (size <= 1) return dropped;
  }
}

void DropLabels(Program& program) {
  std::erase_if(program.lines, [&](const Line& line) {
    if (!line.text.ends_with(':')) return false;
    const std::string label = line.text.substr(0, line.text.size() - 1);
    return std::none_of(program.lines.begin(), program.lines.end(), [&](const Line& other) {
      const size_t at = other.text.find(label);
      return &other != &line && at != std::string::npos &&
             !std::isdigit(static_cast<unsigned char>((other.text + " ")[at + label.size()]));
    });
  });
}

}  // namespace

Program Shrink(Program program, const std::function<bool(const Program&)>& differs) {
  const auto shape = [&] {
    const vgpu::Dim3 blocks[] = {{32, 1, 1}, {64, 1, 1}};
    Program smaller = program;
    smaller.grid = {1, 1, 1};
    if (smaller.grid != program.grid && differs(smaller)) program = smaller;
    for (const vgpu::Dim3 block : blocks) {
      smaller = program;
      smaller.block = block;
      if (block.Count() < program.block.Count() && differs(smaller)) {
        program = smaller;
        break;
      }
    }
  };
  shape();
  while (DropUnits(program, differs)) {
  }
  shape();
  // Data: zeros where they will do, by ever smaller parts.
  for (size_t size = program.input.size(); size > 0; size /= 2) {
    for (size_t begin = 0; begin < program.input.size(); begin += size) {
      Program smaller = program;
      const size_t end = std::min(begin + size, program.input.size());
      const auto first = smaller.input.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = smaller.input.begin() + static_cast<std::ptrdiff_t>(end);
      if (std::all_of(first, last, [](uint32_t word) { return word == 0; })) continue;
      std::fill(first, last, 0);
      if (differs(smaller)) program = std::move(smaller);
    }
    if (size < 8) break;
  }
  while (DropUnits(program, differs)) {
  }
  DropLabels(program);
  return program;
}

int CountInstructions(const Program& program) {
  return static_cast<int>(
      std::count_if(program.lines.begin(), program.lines.end(), [](const Line& l) {
        return !l.text.ends_with(':') && l.text.find(".branchtargets") == std::string::npos;
      }));
}

}  // namespace kernelsmith::fuzz
