// Grids, launches, arguments, zeroing: what the host gets wrong.
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <string>

#include "mutate/operators.h"

namespace kernelsmith::mutate {
namespace {

// The "(" of the arguments of the launch whose "<<<" is at `i`.
size_t ArgumentsOf(const Source& source, size_t i) { return source.Partner(i) + 1; }

void ForLaunches(const Source& source, const std::function<void(size_t, const Function&)>& visit) {
  ForHostTokens(source, [&](size_t i, const Function& function) {
    if (source.Is(i, "<<<") && source.Partner(i) != i && source.Is(ArgumentsOf(source, i), "(")) {
      visit(i, function);
    }
  });
}

// (n + 31) / 32 rounds down: the last block is missing.
void GridRoundsDown(const Source& source, Sites& sites) {
  ForHostTokens(source, [&](size_t i, const Function&) {
    if (!source.Is(i, "/") || !source.Is(i - 1, ")")) return;
    const size_t open = source.Partner(i - 1);
    if (open > 0 && source.IsIdentifier(open - 1) && !source.Is(open - 1, "return") &&
        !source.Is(open - 1, "dim3") && !source.Is(open - 1, "grid")) {
      return;  // a call
    }
    for (size_t j = open + 1; j < i - 1; ++j) {
      if (!source.Is(j, "+")) continue;
      sites.Replace({j, i - 1}, "", false);
      return;
    }
  });
}

void SmallGrid(const Source& source, Sites& sites) {
  ForLaunches(source, [&](size_t i, const Function&) {
    const std::vector<Range> arguments = source.Arguments(i);
    if (arguments.size() < 2) return;
    const std::string grid = source.Text(arguments[0]);
    const bool scalar =
        grid.find("dim3") == std::string::npos && grid.find("grid") == std::string::npos;
    if (scalar) {
      sites.Replace(arguments[0], fmt::format("(({}) + 1) / 2", grid), false);
    }
  });
}

void SmallBlock(const Source& source, Sites& sites) {
  ForLaunches(source, [&](size_t i, const Function&) {
    const std::vector<Range> arguments = source.Arguments(i);
    if (arguments.size() < 2) return;
    const std::string block = source.Text(arguments[1]);
    if (block.starts_with("dim3")) {
      const std::vector<Range> sides = source.Arguments(arguments[1].begin + 1);
      if (sides.size() < 2) return;
      sites.Replace(sides[0], fmt::format("({}) / 2", source.Text(sides[0])), false);
    } else if (block.find("block") == std::string::npos) {
      sites.Replace(arguments[1], fmt::format("({}) / 2", block), false);
    }
  });
}

void SmallDynamicShared(const Source& source, Sites& sites) {
  ForLaunches(source, [&](size_t i, const Function&) {
    const std::vector<Range> arguments = source.Arguments(i);
    if (arguments.size() < 3 || source.Is(arguments[2].begin, "0")) return;
    sites.Replace(arguments[2], fmt::format("({}) - 4", source.Text(arguments[2])), false);
  });
}

void MissingLaunch(const Source& source, Sites& sites) {
  ForLaunches(source, [&](size_t i, const Function& function) {
    const Range statement = source.Statement(i, function.body);
    if (!statement.empty()) sites.Replace(statement, ";", false);
  });
}

// Two pointers or two numbers in the wrong order.
void SwappedArguments(const Source& source, Sites& sites) {
  ForLaunches(source, [&](size_t i, const Function&) {
    const std::vector<Range> arguments = source.Arguments(ArgumentsOf(source, i));
    for (size_t a = 0; a + 1 < arguments.size(); ++a) {
      const std::string left = source.Text(arguments[a]), right = source.Text(arguments[a + 1]);
      const bool left_pointer = left.find("data_ptr") != std::string::npos;
      const bool right_pointer = right.find("data_ptr") != std::string::npos;
      if (left_pointer != right_pointer || left == right) continue;
      if (left_pointer) {
        // data_ptr<float> against data_ptr<int64_t> would not compile.
        const auto type = [](const std::string& text) {
          const size_t open = text.find('<', text.find("data_ptr"));
          return text.substr(open, text.find('>', open) - open);
        };
        if (type(left) != type(right)) continue;
      }
      sites.Replace({arguments[a].begin, arguments[a + 1].end}, right + ", " + left, false);
    }
  });
}

void MissingZeroing(const Source& source, Sites& sites) {
  constexpr std::array<std::array<const char*, 2>, 4> kOther = {{{"zeros", "empty"},
                                                                 {"zeros_like", "empty_like"},
                                                                 {"clone", "contiguous"},
                                                                 {"full", "empty"}}};
  ForHostTokens(source, [&](size_t i, const Function& function) {
    if (!source.Is(i + 1, "(")) return;
    for (const auto& [from, to] : kOther) {
      if (source.Is(i, from)) sites.Replace(i, to, false);
    }
    if (source.Is(i, "cudaMemset") || source.Is(i, "cudaMemsetAsync") || source.Is(i, "zero_")) {
      const Range statement = source.Statement(i, function.body);
      if (!statement.empty()) sites.Replace(statement, ";", false);
    }
  });
}

// The wrong size of a tensor: size(0) for size(1).
void WrongSize(const Source& source, Sites& sites) {
  ForHostTokens(source, [&](size_t i, const Function&) {
    if (!source.Is(i, "size") || !source.Is(i + 1, "(") || !source.Is(i - 1, ".")) return;
    if (source.Is(i + 2, "0")) sites.Replace(i + 2, "1", false);
    if (source.Is(i + 2, "1")) sites.Replace(i + 2, "0", false);
    if (source.Is(i + 2, "-") && source.Is(i + 3, "1")) sites.Replace({i + 2, i + 4}, "0", false);
  });
}

// Whether a text is a number with a fraction: by its literals, the functions it calls,
// and the names that such numbers usually have.
bool LooksLikeFloat(const std::string& text) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '.' && std::isdigit(static_cast<unsigned char>(text[i + 1]))) return true;
  }
  for (const char* word :
       {"float", "double", "sqrt", "pow", "exp", "log", "eps", "scale", "1.", "beta", "rate"}) {
    if (text.find(word) != std::string::npos) return true;
  }
  return false;
}

// Numbers that the host computes: scales, corrections, 1 / n. Of a small integer one percent is
// nothing, so that it is one more.
void WrongHostArithmetic(const Source& source, Sites& sites) {
  ForLaunches(source, [&](size_t i, const Function&) {
    for (const Range& argument : source.Arguments(ArgumentsOf(source, i))) {
      const std::string text = source.Text(argument);
      const bool computed =
          text.find_first_of("+-*/(") != std::string::npos || text.find("eps") != std::string::npos;
      if (!computed || text.find("data_ptr") != std::string::npos) continue;
      sites.Replace(
          argument,
          LooksLikeFloat(text) ? fmt::format("1.01 * ({})", text) : fmt::format("({}) + 1", text),
          false);
    }
  });
}

}  // namespace

std::vector<Operator> HostOperators() {
  return {
      {"grid_rounds_down", "the grid misses the last, partial block", GridRoundsDown},
      {"small_grid", "half the blocks are launched", SmallGrid},
      {"small_block", "half the threads are launched", SmallBlock},
      {"small_dynamic_shared", "dynamic shared memory is four bytes short", SmallDynamicShared},
      {"missing_launch", "a kernel is not launched", MissingLaunch},
      {"swapped_arguments", "two arguments of a launch are swapped", SwappedArguments},
      {"missing_zeroing", "a buffer that must start at zero does not", MissingZeroing},
      {"wrong_size", "one size of a tensor for another", WrongSize},
      {"wrong_host_arithmetic", "a number computed on the host is off by 1 %, or by 1",
       WrongHostArithmetic},
  };
}

}  // namespace kernelsmith::mutate
