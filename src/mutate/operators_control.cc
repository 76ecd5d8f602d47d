// Barriers, bounds, loops, conditions, returns.
#include <array>
#include <string>

#include "mutate/operators.h"

namespace kernelsmith::mutate {
namespace {

// The three parts of `for (a; b; c)`, for the "for" at `i`. Empty ranges if it is none.
struct ForHeader {
  Range first, condition, step;
};

ForHeader HeaderOf(const Source& source, size_t i) {
  ForHeader header;
  if (!source.Is(i, "for") || !source.Is(i + 1, "(")) return header;
  const size_t close = source.Partner(i + 1);
  std::vector<size_t> semicolons;
  for (size_t j = i + 2; j < close; ++j) {
    if (source.Is(j, "(") || source.Is(j, "[") || source.Is(j, "{")) j = source.Partner(j);
    if (source.Is(j, ";")) semicolons.push_back(j);
  }
  if (semicolons.size() != 2) return header;
  header.first = {i + 2, semicolons[0]};
  header.condition = {semicolons[0] + 1, semicolons[1]};
  header.step = {semicolons[1] + 1, close};
  return header;
}

void ForLoops(const Source& source, const std::function<void(const ForHeader&)>& visit) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    const ForHeader header = HeaderOf(source, i);
    if (!header.condition.empty()) visit(header);
  });
}

void DropBarrier(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function& function) {
    const std::string_view word = source.Word(i);
    const bool barrier = word == "__syncthreads" || word == "__syncwarp" ||
                         word == "__threadfence" || word == "__threadfence_block" ||
                         (word == "sync" && source.Is(i - 1, "."));
    if (!barrier) return;
    const Range statement = source.Statement(i, function.body);
    if (!statement.empty()) sites.Replace(statement, ";");
  });
}

// A bound that lets one more or one less through.
void WrongBound(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    constexpr std::array<std::array<const char*, 2>, 4> kOther = {
        {{"<", "<="}, {"<=", "<"}, {">", ">="}, {">=", ">"}}};
    for (const auto& [from, to] : kOther) {
      if (!source.Is(i, from)) continue;
      if ((source.Is(i, "<") || source.Is(i, ">")) && !source.Compares(i)) continue;
      sites.Replace(i, to);
    }
  });
}

void LoopStartsLate(const Source& source, Sites& sites) {
  ForLoops(source, [&](const ForHeader& header) {
    if (header.first.empty()) return;
    sites.Insert(header.first.end, " + 1");
  });
}

// The last turn is lost: the tail of a sum, the last tile.
void LoopEndsEarly(const Source& source, Sites& sites) {
  ForLoops(source, [&](const ForHeader& header) {
    for (size_t i = header.condition.begin; i < header.condition.end; ++i) {
      if (!source.Is(i, "<") && !source.Is(i, "<=")) continue;
      if (source.Is(i, "<") && !source.Compares(i)) continue;
      sites.Insert(header.condition.end, " - 1");
      return;
    }
  });
}

void WrongStep(const Source& source, Sites& sites) {
  ForLoops(source, [&](const ForHeader& header) {
    for (size_t i = header.step.begin; i < header.step.end; ++i) {
      const std::string_view word = source.Word(i);
      if (word == "++") {
        const size_t name = i + 1 < header.step.end ? i + 1 : i - 1;
        sites.Replace(header.step, std::string(source.Word(name)) + " += 2");
      } else if (word == "+=") {
        sites.Replace({i + 1, header.step.end},
                      "2 * (" + source.Text({i + 1, header.step.end}) + ")");
      } else if ((word == ">>=" || word == "<<=") && source.Is(i + 1, "1")) {
        sites.Replace(i + 1, "2");
      } else if ((word == "/=" || word == "*=") && source.Is(i + 1, "2")) {
        sites.Replace(i + 1, "4");
      } else {
        continue;
      }
      return;
    }
  });
}

// One pass at most: the tail beyond the first tile is lost.
void LoopRunsOnce(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    const ForHeader header = HeaderOf(source, i);
    if (header.condition.empty()) return;
    const size_t body = source.Partner(i + 1) + 1;
    if (!source.Is(body, "{")) return;
    const size_t close = source.Partner(body);
    sites.Insert(close, "break;\n");
  });
}

// `if (out of range) return;` or `if (in range)` forgotten.
void LostGuard(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function& function) {
    if (!source.Is(i, "if") || !source.Is(i + 1, "(")) return;
    const size_t close = source.Partner(i + 1);
    if (source.Is(close + 1, "return") || source.Is(close + 1, "continue")) {
      const Range statement = source.Statement(close + 1, function.body);
      if (!statement.empty()) sites.Replace({i, statement.end}, ";");
      return;
    }
    sites.Replace({i + 2, close}, "true");
  });
}

// One of several conditions forgotten.
void LostCondition(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (!source.Is(i, "&&") && !source.Is(i, "||")) return;
    // To the end of this condition: the bracket that holds it, "?", or the next && or ||.
    size_t end = i + 1;
    while (end < source.size()) {
      if (source.Is(end, "(") || source.Is(end, "[")) {
        end = source.Partner(end) + 1;
        continue;
      }
      if (source.Is(end, ")") || source.Is(end, "?") || source.Is(end, ";") ||
          source.Is(end, "&&") || source.Is(end, "||") || source.Is(end, ",") ||
          source.Is(end, "]")) {
        break;
      }
      ++end;
    }
    if (end > i + 1) sites.Replace({i, end}, "");
  });
}

void WrongCondition(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (source.Is(i, "==")) sites.Replace(i, "!=");
    if (source.Is(i, "!=")) sites.Replace(i, "==");
    if (source.Is(i, "&&")) sites.Replace(i, "||");
    if (source.Is(i, "||")) sites.Replace(i, "&&");
  });
}

void SwappedArms(const Source& source, Sites& sites) {
  ForDeviceTokens(source, [&](size_t i, const Function&) {
    if (!source.Is(i, "?")) return;
    size_t colon = i + 1;
    while (colon < source.size() && !source.Is(colon, ":") && !source.Is(colon, ";") &&
           !source.Is(colon, "?")) {
      colon =
          source.Is(colon, "(") || source.Is(colon, "[") ? source.Partner(colon) + 1 : colon + 1;
    }
    if (!source.Is(colon, ":")) return;
    size_t end = colon + 1;
    while (end < source.size() && !source.Is(end, ";") && !source.Is(end, ")") &&
           !source.Is(end, ",") && !source.Is(end, "]") && !source.Is(end, "}") &&
           !source.Is(end, "?")) {
      end = source.Is(end, "(") || source.Is(end, "[") ? source.Partner(end) + 1 : end + 1;
    }
    if (source.Is(end, "?")) return;
    const Range yes{i + 1, colon}, no{colon + 1, end};
    if (yes.empty() || no.empty()) return;
    sites.Replace({i + 1, end}, source.Text(no) + " : " + source.Text(yes));
  });
}

// Some threads of the kernel leave before they have done their part.
void EarlyReturn(const Source& source, Sites& sites) {
  for (const Function& function : source.functions()) {
    if (!function.kernel || function.body.empty()) continue;
    sites.Insert(function.body.begin, "if (blockIdx.x + 1 == gridDim.x) return;\n");
    sites.Insert(function.body.begin, "if (threadIdx.x + 1 == blockDim.x) return;\n");
  }
}

}  // namespace

std::vector<Operator> ControlOperators() {
  return {
      {"drop_barrier", "a barrier or fence is missing", DropBarrier},
      {"wrong_bound", "< for <=, > for >=, and the other way round", WrongBound},
      {"loop_starts_late", "the first turn of a loop is lost", LoopStartsLate},
      {"loop_ends_early", "the last turn of a loop is lost", LoopEndsEarly},
      {"wrong_step", "a loop's stride is twice what it should be", WrongStep},
      {"loop_runs_once", "the tail beyond the first turn is lost", LoopRunsOnce},
      {"lost_guard", "a check before an access is missing", LostGuard},
      {"lost_condition", "one of several conditions is missing", LostCondition},
      {"wrong_condition", "== for !=, && for ||, and the other way round", WrongCondition},
      {"swapped_arms", "the two results of ?: are swapped", SwappedArms},
      {"early_return", "the last block or the last thread of each block does nothing", EarlyReturn},
  };
}

}  // namespace kernelsmith::mutate
