#include "report/optimize_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "measure/estimate.h"
#include "report/html.h"

namespace kernelsmith {
namespace {

const ArchivedCandidate* Find(const OptimizePage& page, int64_t number) {
  for (const ArchivedCandidate& each : page.candidates) {
    if (each.number == number) return &each;
  }
  return nullptr;
}

double SecondsOf(const ArchivedCandidate* candidate) {
  return candidate == nullptr ? 0 : candidate->time_ns.value_or(0) * 1e-9;
}

std::string Figure(const std::string& value, const std::string& label) {
  return fmt::format("<div class=\"figure\"><b>{}</b><span>{}</span></div>\n", EscapeHtml(value),
                     EscapeHtml(label));
}

std::string Summary(const OptimizePage& page) {
  const double first = SecondsOf(Find(page, page.first));
  const double best = SecondsOf(Find(page, page.best));
  std::string text = fmt::format(
      "<h1>{}</h1>\n<p class=\"soft\">{}, {}, {}; {}; seed {}</p>\n<div class=\"figures\">\n",
      EscapeHtml(page.task), EscapeHtml(page.direction), EscapeHtml(page.dtype),
      EscapeHtml(page.configuration), EscapeHtml(page.gpu->name), page.seed);
  text += Figure(FormatSeconds(best), "the best, estimated");
  if (best > 0) {
    text += Figure(fmt::format("{:.2f}x", first / best),
                   fmt::format("the first version ({})", FormatSeconds(first)));
    text += Figure(fmt::format("{:.2f}x", page.eager_seconds / best),
                   fmt::format("PyTorch eager ({}, estimated)", FormatSeconds(page.eager_seconds)));
  }
  text += Figure(FormatSeconds(page.floor_seconds), "bytes and flops that the task itself needs");
  text +=
      "</div>\n<p>All times are <b>estimated</b> by a model of the GPU from counters; no GPU "
      "was used.";
  if (!page.confirmed.empty()) text += " " + EscapeHtml(page.confirmed) + ".";
  return text + "</p>\n";
}

std::string Why(const OptimizePage& page) {
  std::string text = "<h2>Why it is faster</h2>\n<ul>\n";
  for (const std::string& reason : page.reasons) {
    text += fmt::format("<li>{}</li>\n", EscapeHtml(reason));
  }
  text += "</ul>\n";
  if (!page.changes.empty()) {
    text += fmt::format("<p>Changed: <code>{}</code></p>\n", EscapeHtml(page.changes));
  }
  text +=
      "<div class=\"wide\"><table>\n<tr><th>counter, all kernels together</th><th "
      "class=\"n\">first version</th><th class=\"n\">best</th></tr>\n";
  for (const OptimizePage::Row& row : page.counters) {
    text += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                        EscapeHtml(row.name), EscapeHtml(row.before), EscapeHtml(row.after));
  }
  return text + "</table></div>\n";
}

std::string LineageTable(const OptimizePage& page) {
  std::string text =
      "<div class=\"wide\"><table>\n<tr><th class=\"n\">candidate</th><th "
      "class=\"n\">time</th><th>by</th><th>what was tried</th></tr>\n";
  for (const int64_t number : page.lineage) {
    const ArchivedCandidate* each = Find(page, number);
    if (each == nullptr) continue;
    text += fmt::format(
        "<tr><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>\n", number,
        FormatSeconds(SecondsOf(each)), EscapeHtml(each->proposer), EscapeHtml(each->note));
  }
  return text + "</table></div>\n";
}

std::string AllCandidates(const OptimizePage& page) {
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const ArchivedCandidate& each : page.candidates) ++counts[{each.stage, each.verdict}];
  std::string text = fmt::format("<h2>All {} candidates</h2>\n<p>", page.candidates.size());
  bool first = true;
  for (const auto& [what, count] : counts) {
    text += fmt::format("{}{} <span class=\"{}\">{}</span> by stage {}", first ? "" : ", ", count,
                        EscapeHtml(what.second), EscapeHtml(what.second), EscapeHtml(what.first));
    first = false;
  }
  text += fmt::format("; {:.0f} s, ended by: {}.</p>\n", page.seconds, EscapeHtml(page.ended_by));
  text +=
      "<details><summary>List</summary><div class=\"wide\"><table>\n<tr><th "
      "class=\"n\">#</th><th>verdict</th><th class=\"n\">time</th><th>by</th><th>tried; why "
      "not</th></tr>\n";
  for (const ArchivedCandidate& each : page.candidates) {
    const std::string why =
        each.reason.empty() ? "" : fmt::format("; {}: {}", each.stage, each.reason);
    text += fmt::format(
        "<tr><td class=\"n\">{}</td><td class=\"{}\">{}</td><td class=\"n\">{}</td><td>{}</td><td>"
        "{}</td></tr>\n",
        each.number.value_or(-1), EscapeHtml(each.verdict), EscapeHtml(each.verdict),
        each.time_ns ? FormatSeconds(*each.time_ns * 1e-9) : "", EscapeHtml(each.proposer),
        EscapeHtml(each.note + why));
  }
  return text + "</table></div></details>\n";
}

std::string Sources(const OptimizePage& page) {
  std::string text = "<h2>Sources</h2>\n";
  const auto add = [&](int64_t number, const char* name) {
    const ArchivedCandidate* each = Find(page, number);
    if (each == nullptr) return;
    text += fmt::format("<details><summary>{} (candidate {})</summary><pre>{}</pre></details>\n",
                        name, number, EscapeHtml(each->source));
  };
  add(page.best, "The best");
  if (page.first != page.best) add(page.first, "The first version");
  return text;
}

}  // namespace

std::string OptimizeHtml(const OptimizePage& page) {
  std::string body = Summary(page);
  body += Why(page);
  body +=
      "<h2>Progress</h2>\n<p class=\"soft\">Filled: verified; hollow: not verified, because it was "
      "not faster or was refuted (red); ticks at the bottom have no time. The green line is the "
      "best so far. Logarithmic.</p>\n";
  body += ProgressPlot(page);
  body +=
      "<h2>Lineage</h2>\n<p class=\"soft\">Verified candidates, children to the right of their "
      "parent; (+n) children came to nothing; dashed: the second parent of a crossing; green: the "
      "way to the best.</p>\n";
  body += LineagePlot(page);
  body += LineageTable(page);
  body +=
      "<h2>Roofline</h2>\n<p class=\"soft\">What memory bandwidth and arithmetic allow, and where "
      "the first version and the best are (estimated time on the device).</p>\n";
  body += RooflinePlot(page);
  body += AllCandidates(page);
  body += Sources(page);
  return HtmlPage(page.task + ": optimised", body);
}

}  // namespace kernelsmith
