#include "archive/line_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace kernelsmith {
namespace {

// Beyond this many changed lines the shortest difference is not looked for (its table grows with
// the square: 64 MB here).
constexpr int kMostEdits = 4000;

std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end == std::string_view::npos ? end : end + 1));
    text.remove_prefix(lines.back().size());
  }
  return lines;
}

struct Edit {
  char kind;  // ' ', '-', '+'
  int old_line;
  int new_line;  // its place in each text, from 0
};

// Myers, "An O(ND) difference algorithm" (1986): the furthest point on each diagonal for 0, 1, 2
// ... edits, kept to walk back. Fills `edits` backwards; false: too many.
bool Shortest(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b,
              int begin, int a_end, int b_end, std::vector<Edit>& edits) {
  const int n = a_end - begin;
  const int m = b_end - begin;
  std::vector<std::vector<int>> history;  // history[d][k + d]
  const int most = std::min(n + m, kMostEdits);
  for (int d = 0; d <= most; ++d) {
    std::vector<int> now(2 * d + 1, 0);
    for (int k = -d; k <= d; k += 2) {
      int x = 0;
      if (d > 0) {
        const std::vector<int>& before = history[d - 1];
        const auto at = [&](int diagonal) {
          const int i = diagonal + d - 1;
          return i < 0 || i >= static_cast<int>(before.size()) ? -1 : before[i];
        };
        x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
      }
      while (x < n && x - k < m && a[begin + x] == b[begin + x - k]) ++x;
      now[k + d] = x;
      if (x < n || x - k < m) continue;
      // Reached the end: walk back.
      history.push_back(std::move(now));
      int at_x = n;
      int at_y = m;
      for (int step = d; step > 0; --step) {
        const std::vector<int>& before = history[step - 1];
        const int diagonal = at_x - at_y;
        const auto value = [&](int wanted) {
          const int i = wanted + step - 1;
          return i < 0 || i >= static_cast<int>(before.size()) ? -1 : before[i];
        };
        const bool down =
            diagonal == -step || (diagonal != step && value(diagonal - 1) < value(diagonal + 1));
        const int from_x = down ? value(diagonal + 1) : value(diagonal - 1);
        const int from_y = from_x - (down ? diagonal + 1 : diagonal - 1);
        while (at_x > from_x + (down ? 0 : 1) && at_y > from_y + (down ? 1 : 0)) {
          edits.push_back({' ', begin + --at_x, begin + --at_y});
        }
        edits.push_back({down ? '+' : '-', begin + from_x, begin + from_y});
        at_x = from_x;
        at_y = from_y;
      }
      while (at_x > 0 && at_y > 0) edits.push_back({' ', begin + --at_x, begin + --at_y});
      return true;
    }
    history.push_back(std::move(now));
  }
  return false;
}

std::vector<Edit> Edits(const std::vector<std::string_view>& a,
                        const std::vector<std::string_view>& b) {
  int begin = 0;
  int a_end = static_cast<int>(a.size());
  int b_end = static_cast<int>(b.size());
  while (begin < a_end && begin < b_end && a[begin] == b[begin]) ++begin;
  while (a_end > begin && b_end > begin && a[a_end - 1] == b[b_end - 1]) --a_end, --b_end;
  std::vector<Edit> edits;
  for (int i = 0; i < begin; ++i) edits.push_back({' ', i, i});
  std::vector<Edit> backwards;
  if (Shortest(a, b, begin, a_end, b_end, backwards)) {
    edits.insert(edits.end(), backwards.rbegin(), backwards.rend());
  } else {
    for (int i = begin; i < a_end; ++i) edits.push_back({'-', i, begin});
    for (int j = begin; j < b_end; ++j) edits.push_back({'+', a_end, j});
  }
  for (int i = 0; a_end + i < static_cast<int>(a.size()); ++i) {
    edits.push_back({' ', a_end + i, b_end + i});
  }
  return edits;
}

// "12,5": where a piece begins and how long it is; an empty one stands after the line it names.
std::string Range(int begin, int count) {
  return count == 1 ? fmt::format("{}", begin + 1)
                    : fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

}  // namespace

std::string UnifiedDiff(std::string_view old_name, std::string_view old_text,
                        std::string_view new_name, std::string_view new_text, int context) {
  const std::vector<std::string_view> a = Lines(old_text);
  const std::vector<std::string_view> b = Lines(new_text);
  const std::vector<Edit> edits = Edits(a, b);
  const int count = static_cast<int>(edits.size());
  std::string text;
  int next = 0;
  while (true) {
    while (next < count && edits[next].kind == ' ') ++next;
    if (next == count) break;
    // A hunk ends where the next change is further away than the context of both.
    const int begin = std::max(0, next - context);
    int last = next;
    for (int i = next; i < count && i - last <= 2 * context + 1; ++i) {
      if (edits[i].kind != ' ') last = i;
    }
    const int end = std::min(count, last + context + 1);
    int old_count = 0;
    int new_count = 0;
    std::string body;
    for (int i = begin; i < end; ++i) {
      const Edit& edit = edits[i];
      old_count += edit.kind != '+' ? 1 : 0;
      new_count += edit.kind != '-' ? 1 : 0;
      const std::string_view line = edit.kind == '+' ? b[edit.new_line] : a[edit.old_line];
      body += edit.kind;
      body += line;
      if (!line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
    }
    if (text.empty()) text = fmt::format("--- {}\n+++ {}\n", old_name, new_name);
    text += fmt::format("@@ -{} +{} @@\n", Range(edits[begin].old_line, old_count),
                        Range(edits[begin].new_line, new_count));
    text += body;
    next = last + 1;
  }
  return text;
}

}  // namespace kernelsmith
