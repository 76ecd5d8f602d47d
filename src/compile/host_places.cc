#include <fmt/format.h>

#include <cctype>
#include <cstdlib>
#include <sstream>

#include "compile/build.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// Where in the candidate the code at each address comes from; 0: elsewhere, or not known.
std::vector<int> LinesOf(const Build& build, const fs::path& library,
                         const std::vector<uint64_t>& sites) {
  std::vector<int> lines(sites.size(), 0);
  ProcessRequest request{.argv = {"addr2line", "-e", library.string()},
                         .timeout = std::chrono::seconds(20)};
  // Sites lie behind their instructions.
  for (const uint64_t site : sites) request.argv.push_back(fmt::format("{:#x}", site - 1));
  const Result<ProcessResult> result = build.processes.Run(request);
  if (!result.ok() || result->exit_code != 0) return lines;
  std::istringstream answer(result->out);
  std::string line;
  for (int& each : lines) {
    if (!std::getline(answer, line)) break;
    const size_t colon = line.rfind(':');
    if (colon == std::string::npos ||
        fs::path(line.substr(0, colon)).filename() != build.source.filename()) {
      continue;
    }
    each = std::atoi(line.c_str() + colon + 1);
  }
  return lines;
}

// The first line that has `word` as a whole identifier; 0: none has.
int LineOfWord(std::string_view text, std::string_view word) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  if (word.empty()) return 0;
  int line = 1;
  size_t counted = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    for (; counted < at; ++counted) line += text[counted] == '\n' ? 1 : 0;
    const size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end >= text.size() || !is_word(text[end]))) {
      return line;
    }
  }
  return 0;
}

// The same for a name of which the source may have only a class: what inline functions of headers
// call is nobody's word.
int LineOfName(std::string_view text, std::string_view name) {
  while (!name.empty()) {
    const size_t colon = name.rfind("::");
    const std::string_view last = colon == std::string_view::npos ? name : name.substr(colon + 2);
    if (last != "std") {
      if (const int line = LineOfWord(text, last); line != 0) return line;
    }
    if (colon == std::string_view::npos) break;
    name = name.substr(0, colon);
  }
  return 0;
}

// A library may have thousands of calls of one function; the first ones name the place.
constexpr size_t kMostSites = 16;

}  // namespace

Result<std::vector<HostLibraryFinding>> ScanBuiltLibrary(const Build& build) {
  const fs::path library = build.scratch / "host.so";
  KS_TRY(const std::string bytes, build.files.Read(library));
  std::vector<HostLibraryFinding> findings = ScanHostLibrary(bytes);
  std::vector<uint64_t> sites;
  for (HostLibraryFinding& finding : findings) {
    if (finding.sites.size() > kMostSites) finding.sites.resize(kMostSites);
    sites.insert(sites.end(), finding.sites.begin(), finding.sites.end());
  }
  const std::vector<int> lines =
      sites.empty() ? std::vector<int>() : LinesOf(build, library, sites);
  size_t next = 0;
  for (HostLibraryFinding& finding : findings) {
    int line = 0;
    for (size_t i = 0; i < finding.sites.size(); ++i, ++next) {
      if (line == 0) line = lines[next];
    }
    if (line == 0) line = LineOfName(build.text, finding.word);
    if (line != 0) finding.where = {.file = build.source.string(), .line = line};
  }
  return findings;
}

}  // namespace kernelsmith
