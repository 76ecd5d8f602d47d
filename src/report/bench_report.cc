#include "report/bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/html.h"
#include "support/diagnostic.h"

namespace kernelsmith {
namespace {

using nlohmann::json;

std::string Times(double speed) { return fmt::format("{:.2f}x", speed); }

std::string Remarks(const BenchResult& result) {
  std::string text;
  for (const std::string& each : result.remarks) text += (text.empty() ? "" : ", ") + each;
  return text;
}

// "12 candidates: 10 verified, 2 refuted".
std::string Counts(const std::vector<BenchResult>& results) {
  std::map<std::string, int> counts;
  for (const BenchResult& each : results) ++counts[each.verdict];
  std::string text = fmt::format("{} candidate{}", results.size(), results.size() == 1 ? "" : "s");
  const char* separator = ": ";
  for (const char* word : {"verified", "refuted", "inconclusive", "unsupported", "error"}) {
    if (counts[word] == 0) continue;
    text += fmt::format("{}{} {}", separator, counts[word], word);
    separator = ", ";
  }
  return text;
}

std::string Means(const std::vector<BenchResult>& results) {
  const BenchSummary summary = SummariseBench(results);
  if (!summary.speedup) return "no verified candidate has a time at every shape: no speed";
  std::string text =
      fmt::format("{} over PyTorch eager, geometric mean of {} verified candidate{}",
                  Times(*summary.speedup), summary.timed, summary.timed == 1 ? "" : "s");
  if (summary.groups < summary.timed) {
    text += fmt::format("; {} over the fastest of each of {} passes", Times(*summary.best_speedup),
                        summary.groups);
  }
  return text;
}

// How the times came about: never without this word.
std::string Kind(const std::vector<BenchResult>& results) {
  for (const BenchResult& each : results) {
    if (!each.gpu.empty()) return fmt::format("{} for {}", each.kind, each.gpu);
  }
  return "estimated";
}

std::string ShapeNote(const BenchShape& shape) {
  std::string note = shape.limit;
  if (shape.at_floor) note += "; at the floor";
  if (shape.launch_bound) note += "; eager is mostly launches";
  return note;
}

std::string CsvCell(std::string text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '"');
  }
  return "\"" + text + "\"";
}

// Speeds as bars on a logarithmic axis around 1.
std::string Chart(const std::vector<BenchResult>& results) {
  struct Bar {
    std::string name;
    double speed;
  };
  std::vector<Bar> bars;
  double most = 2;
  for (const BenchResult& each : results) {
    const std::optional<double> speed = each.Speedup();
    if (!speed) continue;
    bars.push_back({each.candidate + " " + each.direction + " " + each.dtype, *speed});
    most = std::max({most, *speed, 1 / *speed});
  }
  if (bars.empty()) return "";
  std::sort(bars.begin(), bars.end(), [](const Bar& a, const Bar& b) {
    return std::tie(b.speed, a.name) < std::tie(a.speed, b.name);
  });
  constexpr double kLeft = 330, kWidth = 520, kRow = 20;
  const double middle = kLeft + kWidth / 2;
  const double height = kRow * static_cast<double>(bars.size()) + 24;
  std::string svg = fmt::format(
      "<div class=\"wide\"><svg viewBox=\"0 0 940 {0:.0f}\" width=\"940\" height=\"{0:.0f}\" "
      "role=\"img\" aria-label=\"speed of each candidate over PyTorch eager\">\n"
      "<line class=\"axis\" x1=\"{1}\" y1=\"0\" x2=\"{1}\" y2=\"{2:.0f}\"/>"
      "<text x=\"{1}\" y=\"{3:.0f}\" text-anchor=\"middle\">1x</text>\n",
      height, middle, height - 18, height - 4);
  for (size_t i = 0; i < bars.size(); ++i) {
    const double y = kRow * static_cast<double>(i) + 3;
    const double length = kWidth / 2 * std::fabs(std::log(bars[i].speed)) / std::log(most);
    const bool slow = bars[i].speed < 1;
    svg += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>"
        "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"14\"/>"
        "<text x=\"{:.0f}\" y=\"{:.1f}\">{}</text>\n",
        kLeft - 8, y + 11, EscapeHtml(bars[i].name), slow ? "slow" : "bar",
        slow ? middle - length : middle, y, std::max(length, 1.0), kLeft + kWidth + 12, y + 11,
        Times(bars[i].speed));
  }
  return svg + "</svg></div>\n";
}

}  // namespace

std::string BenchText(const std::vector<BenchResult>& results, bool color) {
  const auto paint = [&](const char* code, const std::string& text) {
    return color ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
  };
  size_t width = 9;
  for (const BenchResult& each : results) width = std::max(width, each.candidate.size());
  std::string text;
  for (const BenchResult& each : results) {
    const std::optional<double> speed = each.Speedup();
    text += fmt::format("{:<{}}  {:<8} {:<8}  {}  {}", EscapeForTerminal(each.candidate), width,
                        each.direction, each.dtype,
                        paint(each.verified() ? "32" : "31", fmt::format("{:<12}", each.verdict)),
                        speed ? Times(*speed) : "no speed");
    if (!each.reason.empty()) text += "  " + EscapeForTerminal(each.reason);
    if (!each.remarks.empty()) text += fmt::format("  ({})", EscapeForTerminal(Remarks(each)));
    text += "\n";
    for (const BenchShape& shape : each.shapes) {
      if (!shape.problem.empty()) {
        text += fmt::format("    {:<28} no time: {}\n", EscapeForTerminal(shape.configuration),
                            EscapeForTerminal(shape.problem));
        continue;
      }
      text += fmt::format("    {:<28} {:>10}  eager {:>10}  floor {:>10}  {:>8}  {}\n",
                          EscapeForTerminal(shape.configuration), FormatSeconds(shape.candidate),
                          FormatSeconds(shape.eager), FormatSeconds(shape.floor),
                          Times(shape.speedup), EscapeForTerminal(ShapeNote(shape)));
    }
  }
  return text + fmt::format("{}\n{} ({})\n", Counts(results), Means(results), Kind(results));
}

std::string BenchCsv(const std::vector<BenchResult>& results) {
  std::string text =
      "task,candidate,direction,dtype,verdict,reason,configuration,us,eager_us,floor_us,speedup,"
      "kind,gpu,limit\n";
  for (const BenchResult& each : results) {
    const std::string head =
        fmt::format("{},{},{},{},{},{}", CsvCell(each.task), CsvCell(each.candidate),
                    each.direction, each.dtype, each.verdict, CsvCell(each.reason));
    if (each.shapes.empty()) text += head + ",,,,,,,,\n";
    for (const BenchShape& shape : each.shapes) {
      if (!shape.problem.empty()) {
        text += fmt::format("{},{},,,,,,,{}\n", head, CsvCell(shape.configuration),
                            CsvCell("no time: " + shape.problem));
        continue;
      }
      text +=
          fmt::format("{},{},{:.3f},{:.3f},{:.3f},{:.4f},{},{},{}\n", head,
                      CsvCell(shape.configuration), shape.candidate * 1e6, shape.eager * 1e6,
                      shape.floor * 1e6, shape.speedup, each.kind, each.gpu, CsvCell(shape.limit));
    }
  }
  return text;
}

std::string BenchHtml(const std::vector<BenchResult>& results) {
  std::string body = fmt::format(
      "<h1>kernelsmith bench</h1>\n<p>{}.<br>{}.</p>\n<p class=\"soft\">All times are {}. A "
      "candidate "
      "that is not verified gets no time. The floor is what the task's own bytes and operations "
      "take, calls and launches apart.</p>\n",
      EscapeHtml(Counts(results)), EscapeHtml(Means(results)), EscapeHtml(Kind(results)));
  body += Chart(results);
  body +=
      "<h2>Every shape</h2>\n<div class=\"wide\"><table>\n<tr><th>candidate, shape</th>"
      "<th>verdict</th><th class=\"n\">time</th><th class=\"n\">eager</th><th "
      "class=\"n\">floor</th><th class=\"n\">speed</th><th>limited by</th></tr>\n";
  for (const BenchResult& each : results) {
    const std::optional<double> speed = each.Speedup();
    std::string words = each.reason;
    if (!each.remarks.empty()) words += (words.empty() ? "" : "; ") + Remarks(each);
    body += fmt::format(
        "<tr class=\"head\"><td>{} <span class=\"soft\">{} {}</span></td><td class=\"{}\">{}</td>"
        "<td></td><td></td><td></td><td class=\"n\">{}</td><td class=\"soft\">{}</td></tr>\n",
        EscapeHtml(each.candidate), each.direction, EscapeHtml(each.dtype),
        each.verified() ? "good" : "bad", EscapeHtml(each.verdict), speed ? Times(*speed) : "none",
        EscapeHtml(words));
    for (const BenchShape& shape : each.shapes) {
      if (!shape.problem.empty()) {
        body += fmt::format("<tr><td>{}</td><td></td><td colspan=\"5\">no time: {}</td></tr>\n",
                            EscapeHtml(shape.configuration), EscapeHtml(shape.problem));
        continue;
      }
      body += fmt::format(
          "<tr><td>{}</td><td></td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
          EscapeHtml(shape.configuration), FormatSeconds(shape.candidate),
          FormatSeconds(shape.eager), FormatSeconds(shape.floor), Times(shape.speedup),
          EscapeHtml(ShapeNote(shape)));
    }
  }
  return HtmlPage("kernelsmith bench", body + "</table></div>\n");
}

json BenchJson(const std::vector<BenchResult>& results) {
  json candidates = json::array();
  for (const BenchResult& each : results) candidates.push_back(ToJson(each));
  const BenchSummary summary = SummariseBench(results);
  const auto number = [](const std::optional<double>& value) {
    return value ? json(*value) : json(nullptr);
  };
  return {{"candidates", std::move(candidates)},
          {"verified", summary.verified},
          {"timed", summary.timed},
          {"speedup", number(summary.speedup)},
          {"best_speedup", number(summary.best_speedup)},
          {"kind", Kind(results)}};
}

}  // namespace kernelsmith
