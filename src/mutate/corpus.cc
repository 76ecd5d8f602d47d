#include "mutate/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <system_error>

namespace kernelsmith::mutate {

namespace fs = std::filesystem;

Result<CorpusKernel> ParseHeader(const std::string& text, const std::string& file) {
  const std::string line = text.substr(0, text.find('\n'));
  CorpusKernel kernel;
  const size_t colon = line.find(':');
  const bool forward = line.starts_with("// Forward"), backward = line.starts_with("// Backward");
  if ((!forward && !backward) || colon == std::string::npos) {
    return Error(
        ErrorKind::kInvalidInput,
        Diagnostic{.where = {.file = file, .line = 1, .column = 1},
                   .message = "the first line of a bundled kernel must be '// Forward: what "
                              "it does' or '// Backward, float16: what it does'"});
  }
  kernel.backward = backward;
  kernel.summary = line.substr(std::min(colon + 2, line.size()));
  std::istringstream words(line.substr(3, colon - 3));
  std::string word;
  std::getline(words, word, ',');
  while (std::getline(words, word, ',')) {
    kernel.dtypes.push_back(word.substr(word.find_first_not_of(' ')));
  }
  if (kernel.dtypes.empty()) kernel.dtypes.emplace_back("float32");
  return kernel;
}

Result<std::vector<CorpusKernel>> ReadCorpus(const FileSystem& files, const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().extension() == ".cu") paths.push_back(it->path());
  }
  if (error) {
    return InvalidInput(fmt::format("can't read {}: {}", folder.string(), error.message()));
  }
  std::sort(paths.begin(), paths.end());
  std::vector<CorpusKernel> kernels;
  for (const fs::path& path : paths) {
    KS_TRY(const std::string text, files.Read(path));
    KS_TRY(CorpusKernel kernel, ParseHeader(text, path.string()));
    kernel.task = path.parent_path().filename().string();
    kernel.name = kernel.task + "/" + path.stem().string();
    kernel.path = path;
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

Result<std::map<std::string, std::string>> ReadEquivalents(const FileSystem& files,
                                                           const fs::path& file) {
  std::map<std::string, std::string> reasons;
  if (!files.Exists(file)) return reasons;
  KS_TRY(const std::string text, files.Read(file));
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.empty() || line.starts_with('#')) continue;
    const size_t colon = line.find(": ");
    if (colon == std::string::npos || line.find(' ') >= colon) {
      return Error(ErrorKind::kInvalidInput,
                   Diagnostic{.where = {.file = file.string(), .line = number, .column = 1},
                              .message = "expected 'KERNEL MUTANT: reason'"});
    }
    reasons[line.substr(0, colon)] = line.substr(colon + 2);
  }
  return reasons;
}

}  // namespace kernelsmith::mutate
