#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "measure/estimate.h"
#include "report/html.h"
#include "report/optimize_page.h"
#include "report/plot_scale.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {
namespace {

// Pixels of the drawing; the page scales it.
constexpr double kWidth = 860;
constexpr double kHeight = 340;
constexpr double kLeft = 64;
constexpr double kRight = 16;
constexpr double kTop = 16;
constexpr double kBottom = 40;

const char* ColourOf(const std::string& verdict) {
  if (verdict == "verified") return "var(--bar)";
  if (verdict == "refuted") return "var(--bad)";
  if (verdict == "rejected" || verdict == "none") return "var(--soft)";
  return "var(--warn)";
}

std::string Line(double x1, double y1, double x2, double y2, const char* colour,
                 const char* more = "") {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" {}/>\n", x1, y1,
      x2, y2, colour, more);
}

std::string Text(double x, double y, const std::string& text, const char* anchor = "start",
                 const char* kind = "") {
  // With a rim of the paper's colour, so that lines behind it do not cross it out.
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\" paint-order=\"stroke\" "
      "stroke=\"var(--paper)\" stroke-width=\"4\">{}</text>\n",
      x, y, anchor, kind, EscapeHtml(text));
}

std::string Dot(double x, double y, double radius, const char* colour, const std::string& title,
                bool filled = true) {
  return fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\" stroke=\"{}\" "
      "stroke-width=\"1.5\"><title>{}</title></circle>\n",
      x, y, radius, filled ? colour : "var(--paper)", colour, EscapeHtml(title));
}

std::string Svg(double height, const std::string& label, const std::string& content) {
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n",
                     kWidth, height, EscapeHtml(label), content);
}

std::string Describe(const ArchivedCandidate& candidate) {
  std::string text =
      fmt::format("candidate {}: {}", candidate.number.value_or(-1), candidate.verdict);
  if (candidate.time_ns) text += ", " + FormatSeconds(*candidate.time_ns * 1e-9);
  text += "\n" + candidate.proposer;
  if (!candidate.note.empty()) text += ": " + candidate.note;
  if (!candidate.reason.empty()) text += "\n" + candidate.stage + ": " + candidate.reason;
  return text;
}

// A node of the lineage: a verified candidate.
struct Node {
  const ArchivedCandidate* candidate = nullptr;
  std::vector<size_t> children;
  size_t failures = 0;  // children that came to nothing
  std::optional<size_t> other_parent;
  int depth = 0;
  double y = 0;
};

class Lineage {
 public:
  explicit Lineage(const OptimizePage& page) : page_(page) {
    std::map<int64_t, size_t> by_id;
    for (const ArchivedCandidate& each : page.candidates) {
      if (!each.verified()) continue;
      by_id[each.id] = nodes_.size();
      nodes_.push_back({.candidate = &each});
    }
    for (const ArchivedCandidate& each : page.candidates) {
      const auto parent = each.parents.empty() ? by_id.end() : by_id.find(each.parents.back());
      if (!each.verified()) {
        if (parent != by_id.end()) ++nodes_[parent->second].failures;
        continue;
      }
      const size_t own = by_id.at(each.id);
      if (parent == by_id.end()) {
        roots_.push_back(own);
        continue;
      }
      nodes_[parent->second].children.push_back(own);
      if (each.parents.size() > 1) {
        const auto other = by_id.find(each.parents.front());
        if (other != by_id.end()) nodes_[own].other_parent = other->second;
      }
    }
    for (const size_t root : roots_) Place(root, 0);
  }

  std::string Draw() const {
    constexpr double kRow = 26;
    const double height = 24 + kRow * std::max(rows_, 1.0);
    const double column = std::min(150.0, (kWidth - 130) / std::max(1, deepest_));
    const auto x = [&](const Node& node) { return 16 + column * node.depth; };
    const auto y = [&](const Node& node) { return 18 + kRow * node.y; };
    std::string lines;
    std::string dots;
    for (const Node& node : nodes_) {
      const bool own = OnLineage(node);
      for (const size_t child : node.children) {
        const Node& other = nodes_[child];
        const bool strong = own && OnLineage(other);
        lines += fmt::format(
            "<path d=\"M{0:.1f},{1:.1f} C{2:.1f},{1:.1f} {2:.1f},{3:.1f} {4:.1f},{3:.1f}\" "
            "fill=\"none\" stroke=\"{5}\" stroke-width=\"{6}\"/>\n",
            x(node), y(node), x(other) - column / 2, y(other), x(other),
            strong ? "var(--good)" : "var(--line)", strong ? 3 : 1.5);
      }
      if (node.other_parent) {
        const Node& other = nodes_[*node.other_parent];
        lines += Line(x(other), y(other), x(node), y(node), own ? "var(--good)" : "var(--line)",
                      "stroke-dasharray=\"3 3\"");
      }
      const ArchivedCandidate& candidate = *node.candidate;
      std::string title = Describe(candidate);
      if (node.failures > 0) title += fmt::format("\n{} children came to nothing", node.failures);
      dots += Dot(x(node), y(node), own ? 6 : 4.5, own ? "var(--good)" : "var(--bar)", title);
      dots += Text(x(node) + 9, y(node) + 4,
                   fmt::format("{}: {}{}", candidate.number.value_or(-1),
                               FormatSeconds(candidate.time_ns.value_or(0) * 1e-9),
                               node.failures > 0 ? fmt::format(" (+{})", node.failures) : ""),
                   "start", own ? "" : "soft");
    }
    return Svg(height, "lineage of the verified candidates", lines + dots);
  }

 private:
  bool OnLineage(const Node& node) const {
    return std::find(page_.lineage.begin(), page_.lineage.end(),
                     node.candidate->number.value_or(-1)) != page_.lineage.end();
  }

  // A leaf has a row to itself; a parent stands beside its first child, so that the line of the
  // eldest is straight.
  void Place(size_t index, int depth) {
    deepest_ = std::max(deepest_, depth);
    nodes_[index].depth = depth;
    if (nodes_[index].children.empty()) {
      nodes_[index].y = rows_;
      rows_ += 1;
      return;
    }
    for (const size_t child : nodes_[index].children) Place(child, depth + 1);
    nodes_[index].y = nodes_[nodes_[index].children.front()].y;
  }

  const OptimizePage& page_;
  std::vector<Node> nodes_;
  std::vector<size_t> roots_;
  double rows_ = 0;
  int deepest_ = 0;
};

}  // namespace

std::string ProgressPlot(const OptimizePage& page) {
  double low = page.eager_seconds > 0 ? page.eager_seconds : 1;
  double high = page.eager_seconds;
  int64_t last = 1;
  for (const ArchivedCandidate& each : page.candidates) {
    last = std::max(last, each.number.value_or(0));
    if (!each.time_ns) continue;
    low = std::min(low, *each.time_ns * 1e-9);
    high = std::max(high, *each.time_ns * 1e-9);
  }
  // A floor far below everything (a task that is mostly launches) would squeeze what there is to
  // see.
  const bool floor_fits = page.floor_seconds > low / 4;
  if (floor_fits) low = std::min(low, page.floor_seconds);
  const double bottom = kHeight - kBottom;
  const LogScale y(low, high, bottom - 14, kTop);
  const auto x = [&](int64_t number) {
    return kLeft + (kWidth - kLeft - kRight) * (static_cast<double>(number) + 0.5) /
                       (static_cast<double>(last) + 1);
  };
  std::string content;
  for (const double tick : y.Ticks()) {
    content += Line(kLeft, y.At(tick), kWidth - kRight, y.At(tick), "var(--line)");
    content += Text(kLeft - 6, y.At(tick) + 4, fmt::format("{:.4g} us", tick * 1e6), "end", "soft");
  }
  const auto level = [&](double seconds, const char* name, const char* colour) {
    if (seconds <= 0) return;
    content += Line(kLeft, y.At(seconds), kWidth - kRight, y.At(seconds), colour,
                    "stroke-width=\"1.5\" stroke-dasharray=\"6 4\"");
    content += Text(kWidth - kRight - 4, y.At(seconds) - 5,
                    fmt::format("{} {}", name, FormatSeconds(seconds)), "end");
  };
  level(page.eager_seconds, "PyTorch eager", "var(--other)");
  if (floor_fits) {
    level(page.floor_seconds, "floor, without launches", "var(--warn)");
  } else if (page.floor_seconds > 0) {
    content += Text(
        kWidth - kRight - 4, bottom - 14,
        fmt::format("floor, without launches: {}, far below", FormatSeconds(page.floor_seconds)),
        "end", "soft");
  }
  std::string path;
  double best = 0;
  for (const ArchivedCandidate& each : page.candidates) {
    const int64_t number = each.number.value_or(0);
    if (!each.time_ns) {
      // No time: a tick at the bottom.
      content += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"3\" height=\"8\" fill=\"{}\"><title>{}</title>"
          "</rect>\n",
          x(number) - 1.5, bottom - 8, ColourOf(each.verdict), EscapeHtml(Describe(each)));
      continue;
    }
    const double seconds = *each.time_ns * 1e-9;
    if (each.verified() && (best == 0 || seconds < best)) {
      path += path.empty() ? fmt::format("M{:.1f},{:.1f}", x(number), y.At(seconds))
                           : fmt::format(" H{:.1f} V{:.1f}", x(number), y.At(seconds));
      best = seconds;
    }
    content += Dot(x(number), y.At(seconds), number == page.best ? 6 : 3.5,
                   number == page.best ? "var(--good)" : ColourOf(each.verdict), Describe(each),
                   each.verified());
  }
  if (!path.empty()) {
    content += fmt::format(
        "<path d=\"{} H{:.1f}\" fill=\"none\" stroke=\"var(--good)\" stroke-width=\"2\"/>\n", path,
        kWidth - kRight);
  }
  content += Line(kLeft, bottom, kWidth - kRight, bottom, "var(--soft)");
  const int64_t step = std::max<int64_t>(1, (last + 1) / 10);
  for (int64_t number = 0; number <= last; number += step) {
    content += Text(x(number), bottom + 16, std::to_string(number), "middle", "soft");
  }
  content += Text((kLeft + kWidth) / 2, kHeight - 6, "candidate", "middle", "soft");
  return Svg(kHeight, "estimated time of each candidate", content);
}

std::string LineagePlot(const OptimizePage& page) { return Lineage(page).Draw(); }

std::string RooflinePlot(const OptimizePage& page) {
  const GpuModel& gpu = *page.gpu;
  const double fp32 = gpu.fp32_peak();
  const double tensor = gpu.rates.tensor_fp16;
  const double top = std::max(fp32, tensor);
  // From well left of where bandwidth meets float32 to well right of where it meets tensor cores.
  double low = 0.05;
  double high = 4 * top / gpu.memory_bandwidth;
  double slowest = fp32;
  const auto intensity = [](const OptimizePage::Point& point) {
    return point.flops / std::max(point.dram_bytes, 1.0);
  };
  for (const OptimizePage::Point& point : page.roofline) {
    if (point.flops <= 0 || point.device_seconds <= 0) continue;
    low = std::min(low, intensity(point));
    high = std::max(high, intensity(point));
    slowest = std::min(slowest, point.flops / point.device_seconds);
  }
  const double bottom = kHeight - kBottom;
  const LogScale x(low, high, kLeft, kWidth - kRight);
  const LogScale y(std::min(slowest, low * gpu.memory_bandwidth), top, bottom, kTop);
  std::string content;
  for (const double tick : x.Ticks()) {
    content += Line(x.At(tick), kTop, x.At(tick), bottom, "var(--line)");
    content += Text(x.At(tick), bottom + 16, fmt::format("{:g}", tick), "middle", "soft");
  }
  for (const double tick : y.Ticks()) {
    content += Line(kLeft, y.At(tick), kWidth - kRight, y.At(tick), "var(--line)");
    content += Text(kLeft - 6, y.At(tick) + 4, FormatQuantity(tick, "F/s"), "end", "soft");
  }
  const auto roof = [&](double peak, const std::string& name, const char* colour) {
    const double knee = peak / gpu.memory_bandwidth;
    content += fmt::format(
        "<path d=\"M{:.1f},{:.1f} L{:.1f},{:.1f} H{:.1f}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"2\"/>\n",
        x.At(x.low()), y.At(x.low() * gpu.memory_bandwidth), x.At(knee), y.At(peak),
        kWidth - kRight, colour);
    content += Text(kWidth - kRight - 4, y.At(peak) - 5, name, "end");
  };
  if (tensor > 0)
    roof(tensor, "tensor cores, float16: " + FormatQuantity(tensor, "flop/s"), "var(--warn)");
  roof(fp32, "float32: " + FormatQuantity(fp32, "flop/s"), "var(--other)");
  double label = 0;
  for (const OptimizePage::Point& point : page.roofline) {
    if (point.flops <= 0 || point.device_seconds <= 0) continue;
    const double px = x.At(intensity(point));
    const double py = y.At(point.flops / point.device_seconds);
    const bool best = point.name == "best";
    content += Dot(px, py, best ? 6 : 4.5, best ? "var(--good)" : "var(--bar)",
                   fmt::format("{}: {} at {:.3g} flop/B", point.name,
                               FormatQuantity(point.flops / point.device_seconds, "flop/s"),
                               intensity(point)));
    // Points often lie above each other: their names stand one below the other.
    content += Text(px + 10, py + 4 + label, point.name);
    label += 14;
  }
  content +=
      Text((kLeft + kWidth) / 2, kHeight - 6, "flops a byte of DRAM traffic", "middle", "soft");
  return Svg(kHeight, "roofline", content);
}

}  // namespace kernelsmith
