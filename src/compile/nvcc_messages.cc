#include "compile/nvcc_messages.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <regex>

#include "support/foreign_text.h"

namespace kernelsmith {
namespace {

// More than anybody reads; a candidate chooses how many there are and how long.
constexpr size_t kMostDiagnostics = 200;
constexpr size_t kLongestMessage = 1000;
constexpr size_t kLongestName = 4096;

Severity SeverityOf(const std::string& word) {
  if (word.find("warning") != std::string::npos || word == "remark") return Severity::kWarning;
  return word == "note" ? Severity::kNote : Severity::kError;
}

// The name of what PyTorch has and the light headers lack, if this is what the message is about.
std::optional<std::string> MissingApi(const std::string& message) {
  // A class or namespace of PyTorch has no such member.
  static const std::regex kMember(
      R"re((class|namespace) "((?:at|c10|torch|pybind11|caffe2)(?:::[A-Za-z0-9_:<>, ]+)?)" has no member "([^"]+)")re");
  // An identifier with a prefix that only PyTorch uses.
  static const std::regex kIdentifier(
      R"re(identifier "((?:AT_|TORCH_|C10_|THC|PYBIND11_|at::|c10::|torch::)[A-Za-z0-9_:]*)" is undefined)re");
  static const std::regex kHeader(
      R"re(((?:torch|ATen|c10|pybind11|THC|TH|caffe2|cutlass|cute|cudnn)[A-Za-z0-9_]*(?:/|\.h)[^ :"]*)"?:? ?(?:: )?(?:No such file|file not found))re");
  static const std::regex kOpen(
      R"re(cannot open source file "((?:torch|ATen|c10|pybind11|THC|TH|caffe2|cutlass|cute|cudnn)[^"]*)")re");
  std::smatch match;
  if (std::regex_search(message, match, kMember)) {
    return match[2].str() + "::" + match[3].str();
  }
  if (std::regex_search(message, match, kIdentifier)) return match[1].str();
  if (std::regex_search(message, match, kHeader)) return "<" + match[1].str() + ">";
  if (std::regex_search(message, match, kOpen)) return "<" + match[1].str() + ">";
  return std::nullopt;
}

// The header that a candidate forgot; PyTorch would not compile it either. Nothing: not that.
std::optional<std::string> ForgottenHeader(const std::string& message) {
  static constexpr std::pair<const char*, const char*> kHeaders[] = {
      {"identifier \"C10_CUDA_", "c10/cuda/CUDAException.h"},
      {"identifier \"AT_CUDA_CHECK\"", "ATen/cuda/Exceptions.h"},
      {"namespace \"at\" has no member \"cuda\"", "ATen/cuda/CUDAContext.h"},
      {"namespace \"c10\" has no member \"cuda\"", "c10/cuda/CUDAStream.h"},
  };
  for (const auto& [symptom, header] : kHeaders) {
    if (message.find(symptom) != std::string::npos) return header;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Diagnostic> ParseNvccMessages(std::string_view output, const std::string& file,
                                          std::string_view text) {
  static const std::regex kCuda(
      R"re(^([^\s(][^(]*)\((\d+)\): (catastrophic error|error|warning|remark|note)(?: #[-A-Za-z0-9]+)?: (.*)$)re");
  static const std::regex kHost(
      R"re(^([^\s:][^:]*):(\d+):(?:(\d+):)? (fatal error|error|warning|note): (.*)$)re");
  static const std::regex kPlain(R"re(^(nvcc fatal|nvcc error|error|fatal error)\s*: (.*)$)re");
  static const std::regex kAssembler(
      R"re(^[^\s:][^:]*\.(?:s|S):\d+: (?:Error|Fatal error): (.*)$)re");
  std::vector<Diagnostic> diagnostics;
  size_t start = 0;
  while (start < output.size()) {
    size_t end = output.find('\n', start);
    if (end == std::string_view::npos) end = output.size();
    const std::string line(output.substr(start, end - start));
    start = end + 1;
    // Longer lines are template dumps; regular expressions must not walk them.
    if (line.size() > 4000) continue;
    if (diagnostics.size() == kMostDiagnostics) break;
    std::smatch match;
    Diagnostic diagnostic;
    if (std::regex_match(line, match, kCuda)) {
      diagnostic.severity = SeverityOf(match[3].str());
      diagnostic.where = {.file = match[1].str(), .line = std::atoi(match[2].str().c_str())};
      diagnostic.message = match[4].str();
    } else if (std::regex_match(line, match, kHost)) {
      diagnostic.severity = SeverityOf(match[4].str());
      diagnostic.where = {.file = match[1].str(),
                          .line = std::atoi(match[2].str().c_str()),
                          .column = std::atoi(match[3].str().c_str())};
      diagnostic.message = match[5].str();
    } else if (std::regex_match(line, match, kAssembler)) {
      // Its lines are those of a temporary file.
      diagnostic.where = {.file = file};
      diagnostic.message = "assembler: " + match[1].str();
    } else if (std::regex_match(line, match, kPlain)) {
      diagnostic.message = match[2].str();
    } else {
      continue;
    }
    // Names of files and messages are as much the candidate's text as its source.
    diagnostic.where.file = CleanForeignText(diagnostic.where.file, kLongestName);
    diagnostic.message = CleanForeignText(diagnostic.message, kLongestMessage);
    if (diagnostic.where.file == file) {
      diagnostic.source_line =
          CleanForeignText(LineOf(text, diagnostic.where.line), kLongestMessage);
    }
    diagnostics.push_back(std::move(diagnostic));
  }
  return diagnostics;
}

Error CompilationError(std::vector<Diagnostic> diagnostics, std::string_view output) {
  std::erase_if(diagnostics, [](const Diagnostic& d) { return d.severity != Severity::kError; });
  if (diagnostics.empty()) {
    // Whatever it was, it was not in a form we know: show the end of it.
    const size_t from = output.size() > 2000 ? output.size() - 2000 : 0;
    return InvalidInput(
        fmt::format("the compiler failed: {}", CleanForeignText(output.substr(from), 2000)));
  }
  for (Diagnostic& diagnostic : diagnostics) {
    if (const std::optional<std::string> header = ForgottenHeader(diagnostic.message)) {
      diagnostic.message += fmt::format(" (it needs #include <{}>, in PyTorch as here)", *header);
      return {ErrorKind::kInvalidInput, std::move(diagnostics)};
    }
    if (const std::optional<std::string> api = MissingApi(diagnostic.message)) {
      Diagnostic first = diagnostic;
      first.message = fmt::format("{} is not supported by the light torch headers", *api);
      return {ErrorKind::kUnsupported, std::move(first)};
    }
  }
  return {ErrorKind::kInvalidInput, std::move(diagnostics)};
}

}  // namespace kernelsmith
