// The report that a person reads.
#include <fmt/format.h>

#include "checkers/report.h"
#include "support/demangle.h"

namespace kernelsmith::checkers {

namespace {

std::string DimText(const vgpu::Dim3& d) { return fmt::format("({},{},{})", d.x, d.y, d.z); }

class Writer {
 public:
  explicit Writer(const TextOptions& options) : options_(options) {}

  void Write(const Finding& f) {
    const char* color = f.severity == Severity::kError     ? "31"
                        : f.severity == Severity::kWarning ? "33"
                                                           : "36";
    out_ += fmt::format("{}: {}: {}\n", Paint(color, NameOf(f.severity)), Paint("1", Name(f.kind)),
                        f.message);
    Where(f.place, true);
    if (f.other) {
      out_ += fmt::format("  {}\n", f.other_message);
      Where(*f.other, true);
    }
    if (f.allocation && f.allocation->address != 0) {
      out_ += fmt::format("  allocation of {} bytes at 0x{:x} by {}\n", f.allocation->size,
                          f.allocation->address, f.allocation->where);
      if (f.allocated) Where(*f.allocated, false);
    }
    if (f.count > 1) out_ += fmt::format("  {} times\n", f.count);
    if (!f.place.kernel.empty() && f.place.source.file.empty()) without_lines_ = true;
    out_ += "\n";
  }

  std::string Finish(const std::vector<Finding>& findings) {
    if (without_lines_) {
      out_ += "kernels were built without -lineinfo: lines are those of the PTX\n";
    }
    size_t errors = 0;
    size_t warnings = 0;
    for (const Finding& f : findings) {
      errors += f.severity == Severity::kError ? 1 : 0;
      warnings += f.severity == Severity::kWarning ? 1 : 0;
    }
    out_ += fmt::format("kernelsmith: {} error{}, {} warning{}\n", errors, errors == 1 ? "" : "s",
                        warnings, warnings == 1 ? "" : "s");
    return out_;
  }

 private:
  std::string Paint(const char* code, const std::string& text) const {
    return options_.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }

  void Where(const Place& p, bool excerpt) {
    const bool source = !p.source.file.empty();
    const SourceLocation& line = source ? p.source : p.ptx;
    std::string text = "  at ";
    if (!line.file.empty()) text += fmt::format("{}:{}", line.file, line.line);
    if (!p.kernel.empty()) {
      text += fmt::format("{}kernel {}", line.file.empty() ? "" : " in ", KernelName(p.kernel));
    } else if (!p.function.empty()) {
      text += fmt::format("{}{}", line.file.empty() ? "" : " in ", Demangle(p.function));
    } else if (line.file.empty()) {
      text += "an unknown place";
    }
    if (p.block) text += ", block " + DimText(*p.block);
    if (p.thread) text += ", thread " + DimText(*p.thread);
    out_ += text + "\n";
    if (excerpt && source && options_.lines) Excerpt(line);
  }

  void Excerpt(const SourceLocation& at) {
    const std::vector<std::string> lines = options_.lines(at.file);
    if (at.line < 1 || static_cast<size_t>(at.line) > lines.size()) return;
    const std::string& line = lines[static_cast<size_t>(at.line) - 1];
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) return;
    const size_t last = line.find_last_not_of(" \t\r");
    out_ += fmt::format("  {:>6} | {}\n", at.line, line.substr(0, last + 1));
    std::string under = line.substr(0, first);
    // Tabs stay tabs, so that the marks stand under the text.
    out_ +=
        fmt::format("         | {}{}\n", under, Paint("32", "^" + std::string(last - first, '~')));
  }

  const TextOptions& options_;
  std::string out_;
  bool without_lines_ = false;
};

}  // namespace

std::string ReportText(const std::vector<Finding>& findings, const TextOptions& options) {
  Writer writer(options);
  for (const Finding& finding : findings) writer.Write(finding);
  return writer.Finish(findings);
}

}  // namespace kernelsmith::checkers
