// Indices, stores, initialisation, atomics, lanes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "mutate/operators.h"

namespace kernelsmith::mutate {
namespace {

bool IsAxisHolder(std::string_view word) {
  return word == "threadIdx" || word == "blockIdx" || word == "blockDim" || word == "gridDim";
}

void WrongAxis(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (!IsAxisHolder(source.Word(i)) || !source.Is(i + 1, ".")) return;
    sites.Replace(i + 2, source.Is(i + 2, "x") ? "y" : "x");
  });
}

void ShiftedIndex(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (!source.Is(i, "[") || i == 0 || source.Partner(i) <= i + 1) return;
    if (!source.IsIdentifier(i - 1) && !source.Is(i - 1, "]")) return;
    sites.Insert(source.Partner(i), " + 1");
  });
}

// One use of a parameter becomes another parameter of the same type.
void WrongParameter(const Source& source, Sites& sites) {
  for (const Function& function : source.functions()) {
    if (!function.device) continue;
    const std::vector<Parameter> parameters = Parameters(source, function);
    for (size_t i = function.body.begin; i < function.body.end; ++i) {
      if (!source.IsIdentifier(i) || source.Is(i - 1, ".") || source.Is(i - 1, "->")) continue;
      const auto self = std::find_if(parameters.begin(), parameters.end(),
                                     [&](const Parameter& p) { return source.Is(i, p.name); });
      if (self == parameters.end()) continue;
      // The next of the same type, so that each use gives one mutant.
      for (size_t step = 1; step < parameters.size(); ++step) {
        const size_t at =
            (static_cast<size_t>(self - parameters.begin()) + step) % parameters.size();
        if (parameters[at].type != self->type) continue;
        sites.Replace(i, parameters[at].name);
        break;
      }
    }
  }
}

// `a[i] = v;` or `sum *= v;` left out.
void LostAssignment(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function& function) {
    const std::string_view word = source.Word(i);
    if (word != "=" && word != "+=" && word != "-=" && word != "*=" && word != "/=") return;
    const Range statement = source.Statement(i, function.body);
    if (statement.empty()) return;
    // A declaration is no assignment: two names in a row before the sign.
    for (size_t j = statement.begin; j + 1 < i; ++j) {
      if (source.IsIdentifier(j) && source.IsIdentifier(j + 1)) return;
      if (source.IsIdentifier(j) && (source.Is(j + 1, "*") || source.Is(j + 1, "&")) &&
          source.IsIdentifier(j + 2) && !source.Is(statement.begin, "*")) {
        return;
      }
    }
    sites.Replace(statement, ";");
  });
}

// `float sum = 0;` becomes `float sum;`.
void LostInitialisation(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function& function) {
    if (!source.Is(i, "=") || source.Is(function.body.begin, "for")) return;
    const bool zero = (source[i + 1].kind == TokenKind::kNumber || source.Is(i + 1, "{")) &&
                      (source.Is(i + 2, ";") || source.Is(i + 2, ",") || source.Is(i + 2, "}"));
    if (!zero) return;
    // Only where something is declared: a type stands somewhere before, in the same statement.
    size_t begin = i;
    while (begin > function.body.begin && !source.Is(begin - 1, ";") &&
           !source.Is(begin - 1, "{") && !source.Is(begin - 1, "}") && !source.Is(begin - 1, "(")) {
      --begin;
    }
    const std::string_view type = source.Word(begin);
    if (type != "float" && type != "double" && type != "acc_t" && type != "int") return;
    if (source.Is(begin - 1, "(")) return;  // the head of a loop
    const size_t end = source.Is(i + 1, "{") ? source.Partner(i + 1) + 1 : i + 2;
    sites.Replace({i, end}, "");
  });
}

void MissingAtomic(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function& function) {
    if (!source.Is(i, "atomicAdd") || !source.Is(i + 1, "(")) return;
    const std::vector<Range> arguments = source.Arguments(i + 1);
    if (arguments.size() != 2) return;
    const std::string pointer = source.Text(arguments[0]), value = source.Text(arguments[1]);
    const Range statement = source.Statement(i, function.body);
    if (!statement.empty() && statement.begin == i) {
      sites.Replace({i, source.Partner(i + 1) + 1}, fmt::format("*({}) += {}", pointer, value));
    } else {
      sites.Replace({i, source.Partner(i + 1) + 1},
                    fmt::format("((*({0}) += {1}) - ({1}))", pointer, value));
    }
  });
}

void WrongShuffle(const Source& source, Sites& sites) {
  constexpr std::array<std::array<const char*, 2>, 4> kOther = {
      {{"__shfl_xor_sync", "__shfl_up_sync"},
       {"__shfl_down_sync", "__shfl_up_sync"},
       {"__shfl_up_sync", "__shfl_down_sync"},
       {"__shfl_sync", "__shfl_up_sync"}}};
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (!source.Is(i + 1, "(")) return;
    for (const auto& [from, to] : kOther) {
      if (!source.Is(i, from)) continue;
      sites.Replace(i, to);
      // Half of the warp is not named, or the values move within groups of 16.
      const std::vector<Range> arguments = source.Arguments(i + 1);
      if (arguments.size() < 3) continue;
      sites.Replace(arguments[0], "0x0000ffffu");
      if (arguments.size() == 3) sites.Insert(source.Partner(i + 1), ", 16");
    }
  });
}

// Shared memory that is too small by one.
void SmallShared(const Source& source, Sites& sites) {
  for (size_t i = 0; i < source.size(); ++i) {
    if (!source.Is(i, "__shared__")) continue;
    for (; i < source.size() && !source.Is(i, ";"); ++i) {
      if (!source.Is(i, "[") || source.Partner(i) <= i + 1) continue;
      sites.Insert(source.Partner(i), " - 1");
      // The first side alone; other variables of the same declaration follow a comma.
      while (i + 1 < source.size() && !source.Is(i + 1, ",") && !source.Is(i + 1, ";")) ++i;
    }
  }
}

}  // namespace

std::vector<Operator> MemoryOperators() {
  return {
      {"wrong_axis", ".y for .x and .x for .y of threads and blocks", WrongAxis},
      {"shifted_index", "an index is one too large", ShiftedIndex},
      {"wrong_parameter", "one parameter where another of its type belongs", WrongParameter},
      {"lost_assignment", "a store or an update is missing", LostAssignment},
      {"lost_initialisation", "a variable begins without a value", LostInitialisation},
      {"missing_atomic", "a plain addition where an atomic one is needed", MissingAtomic},
      {"wrong_shuffle", "a shuffle with another direction, mask or width", WrongShuffle},
      {"small_shared", "an array in shared memory is one element short", SmallShared},
  };
}

}  // namespace kernelsmith::mutate
