#include "report/html.h"

#include <fmt/format.h>

#include <limits>

#include "support/foreign_text.h"

namespace kernelsmith {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --ink: #1c2126; --paper: #ffffff; --soft: #5c6670; --line: #d7dce1;
  --bar: #2f6fb3; --good: #1e7d46; --bad: #b3261e; --band: #f4f6f8; --warn: #8a5a00; --other: #7a4fc9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --paper: #14181c; --soft: #9aa5b0;
  --line: #333b43; --bar: #6aa9e9; --good: #5fc389; --bad: #f2857d; --band: #1c2228; --warn: #d9a441; --other: #b99af0; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif;
  max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
p.soft, .soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td.n, th.n { text-align: right; white-space: nowrap; }
tr.head td { background: var(--band); font-weight: 600; }
.good { color: var(--good); } .bad { color: var(--bad); }
div.wide { overflow-x: auto; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } svg .axis { stroke: var(--line); }
svg .bar { fill: var(--bar); } svg .slow { fill: var(--bad); }
svg { width: 100%; height: auto; display: block; } svg text.soft { fill: var(--soft); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem; margin: 1rem 0; }
.figure { background: var(--band); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; }
.figure b { display: block; font-size: 1.4rem; } .figure span { color: var(--soft); font-size: .85rem; }
pre { background: var(--band); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem; overflow-x: auto;
  font: 13px/1.45 ui-monospace, Menlo, monospace; } summary { cursor: pointer; padding: .25rem 0; }
.verified { color: var(--good); } .refuted { color: var(--bad); } .rejected, .none { color: var(--soft); }
.inconclusive, .unsupported { color: var(--warn); }
)";

}  // namespace

std::string EscapeHtml(std::string_view foreign) {
  // Pages show what candidates, models and programs wrote: nothing in it may hide or turn around.
  const std::string text = CleanForeignText(foreign, std::numeric_limits<size_t>::max());
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string HtmlPage(const std::string& title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      EscapeHtml(title), kStyle, body);
}

}  // namespace kernelsmith
