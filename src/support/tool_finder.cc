#include "support/tool_finder.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <sstream>

namespace kernelsmith {
namespace {

using std::filesystem::path;

// Asking a tool for its version is instant; one that takes longer is broken.
constexpr std::chrono::seconds kAskTimeout{20};

std::vector<path> ListFolder(const path& folder) {
  std::vector<path> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    entries.push_back(it->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

std::string Lines(const std::string& text, const std::string& word) {
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    if (line.find(word) != std::string::npos) return line;
  }
  return text;
}

// What follows `name` at the start of a line of `text`; empty if no line starts so.
std::string ValueOf(const std::string& text, const std::string& name) {
  std::istringstream in(text);
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with(name)) return line.substr(name.size());
  }
  return {};
}

}  // namespace

std::string FindVersion(const std::string& text) {
  for (size_t start = 0; start < text.size(); ++start) {
    if (!std::isdigit(static_cast<unsigned char>(text[start]))) continue;
    size_t end = start;
    bool dotted = false;
    while (end < text.size() && (std::isdigit(static_cast<unsigned char>(text[end])) ||
                                 (text[end] == '.' && end + 1 < text.size() &&
                                  std::isdigit(static_cast<unsigned char>(text[end + 1]))))) {
      dotted |= text[end] == '.';
      ++end;
    }
    if (dotted) return text.substr(start, end - start);
    start = end;
  }
  return {};
}

int CompareVersions(const std::string& a, const std::string& b) {
  std::istringstream left(a);
  std::istringstream right(b);
  while (true) {
    int x = 0;
    int y = 0;
    const bool more_left = static_cast<bool>(left >> x);
    const bool more_right = static_cast<bool>(right >> y);
    if (!more_left && !more_right) return 0;
    if (!more_left) x = 0;
    if (!more_right) y = 0;
    if (x != y) return x < y ? -1 : 1;
    if (left.peek() == '.')
      left.get();
    else
      left.setstate(std::ios::failbit);
    if (right.peek() == '.')
      right.get();
    else
      right.setstate(std::ios::failbit);
  }
}

ToolFinder::ToolFinder(ProcessRunner& processes, const FileSystem& files, ToolSettings settings,
                       path project)
    : processes_(processes),
      files_(files),
      settings_(std::move(settings)),
      project_(std::move(project)) {}

std::optional<ToolFinder::Answer> ToolFinder::FirstThatRuns(
    const std::vector<path>& candidates, const std::vector<std::string>& arguments) {
  for (const path& candidate : candidates) {
    ProcessRequest request{.argv = {candidate.string()}, .timeout = kAskTimeout};
    request.argv.insert(request.argv.end(), arguments.begin(), arguments.end());
    const Result<ProcessResult> result = processes_.Run(request);
    if (result.ok() && result->exit_code == 0) return Answer{candidate, result->out};
  }
  return std::nullopt;
}

std::vector<path> ToolFinder::Places(const path& given, const std::string& name,
                                     const std::vector<path>& folders) const {
  // Somebody who names a tool wants that one, and an error if it does not work.
  if (!given.empty()) return {given};
  std::vector<path> places;
  std::istringstream search_path(settings_.search_path);
  std::string folder;
  while (std::getline(search_path, folder, ':')) {
    if (!folder.empty() && files_.Exists(path(folder) / name))
      places.push_back(path(folder) / name);
  }
  for (const path& extra : folders) {
    if (files_.Exists(extra / name)) places.push_back(extra / name);
  }
  return places;
}

std::optional<path> ToolFinder::SitePackages() const {
  for (const path& entry : ListFolder(project_ / ".venv" / "lib")) {
    if (files_.Exists(entry / "site-packages")) return entry / "site-packages";
  }
  return std::nullopt;
}

std::vector<path> ToolFinder::CudaFolders(const std::string& subfolder) const {
  std::vector<path> folders;
  for (const path& home : {settings_.cuda_home, settings_.cuda_path}) {
    if (!home.empty()) folders.push_back(home / subfolder);
  }
  folders.push_back(path("/usr/local/cuda") / subfolder);
  if (const std::optional<path> packages = SitePackages()) {
    // NVIDIA's PyPI packages: nvidia/cu13/{bin,lib} since CUDA 13, nvidia/cuda_nvcc/bin and
    // nvidia/cuda_nvrtc/lib before.
    for (const path& entry : ListFolder(*packages / "nvidia")) folders.push_back(entry / subfolder);
  }
  return folders;
}

std::optional<Tool> ToolFinder::CudaProgram(const path& given, const std::string& name,
                                            const std::optional<path>& first) {
  std::vector<path> places;
  if (given.empty() && first && files_.Exists(*first / name)) places.push_back(*first / name);
  if (given.empty()) {
    const path installed = project_ / ".venv/cuda/nvidia/cu13/bin" / name;
    if (files_.Exists(installed)) places.push_back(installed);
  }
  for (const path& place : Places(given, name, CudaFolders("bin"))) places.push_back(place);
  const auto answer = FirstThatRuns(places, {"--version"});
  if (!answer) return std::nullopt;
  // "Cuda compilation tools, release 13.0, V13.0.88"
  const std::string line = Lines(answer->output, "release");
  const size_t full = line.rfind('V');
  return Tool{answer->path, FindVersion(full == std::string::npos ? line : line.substr(full))};
}

path ToolFinder::BehindWrapper(const path& found, const std::string& folder) const {
  const path program = path(folder) / found.filename();
  return !folder.empty() && files_.Exists(program) ? program : found;
}

std::optional<Tool> ToolFinder::Nvcc() {
  std::optional<Tool> nvcc = CudaProgram(settings_.nvcc, "nvcc", std::nullopt);
  if (!nvcc) return nvcc;
  // A dry run prints the folder of the program that runs: "#$ _HERE_=/usr/local/cuda-13.0/bin".
  const Result<ProcessResult> dry_run =
      processes_.Run({.argv = {nvcc->path.string(), "--dryrun", "-E", "-x", "cu", "/dev/null"},
                      .timeout = kAskTimeout});
  if (dry_run.ok()) nvcc->path = BehindWrapper(nvcc->path, ValueOf(dry_run->err, "#$ _HERE_="));
  return nvcc;
}

std::optional<Tool> ToolFinder::Ptxas() {
  std::optional<path> beside_nvcc;
  if (settings_.ptxas.empty()) {
    if (const std::optional<Tool> nvcc = Nvcc()) beside_nvcc = nvcc->path.parent_path();
  }
  return CudaProgram(settings_.ptxas, "ptxas", beside_nvcc);
}

std::optional<Tool> ToolFinder::Nvrtc() {
  std::vector<path> folders = CudaFolders("lib64");
  for (const path& folder : CudaFolders("lib")) folders.push_back(folder);
  for (const path& folder : folders) {
    for (const path& entry : ListFolder(folder)) {
      const std::string name = entry.filename().string();
      // libnvrtc.so.13, not libnvrtc-builtins.so.13.0 nor libnvrtc.alt.so.13.
      if (name.starts_with("libnvrtc.so.")) return Tool{entry, name.substr(12)};
    }
  }
  return std::nullopt;
}

std::optional<Tool> ToolFinder::Clang() {
  std::vector<path> places = Places(settings_.clang, "clang++-19", {"/usr/lib/llvm-19/bin"});
  for (const path& place : Places(settings_.clang, "clang++", {})) places.push_back(place);
  const auto answer = FirstThatRuns(places, {"--version"});
  if (!answer) return std::nullopt;
  return Tool{BehindWrapper(answer->path, ValueOf(answer->output, "InstalledDir: ")),
              FindVersion(answer->output)};
}

std::optional<Tool> ToolFinder::Llvm() {
  const auto answer = FirstThatRuns(
      Places(settings_.llvm_config, "llvm-config-19", {"/usr/lib/llvm-19/bin"}), {"--version"});
  if (!answer) return std::nullopt;
  return Tool{answer->path, FindVersion(answer->output)};
}

std::optional<Tool> ToolFinder::PythonWithTorch() {
  // The metadata, not the package: importing torch takes seconds.
  const std::vector<std::string> ask = {
      "-c", "import importlib.metadata as m; print(m.version('torch'))"};
  // What the set-up made comes first: others cost a start each just to say no, and shims of version
  // managers half a second.
  std::vector<path> places = Places(settings_.python, "python3", {project_ / ".venv" / "bin"});
  if (places.size() > 1 && files_.Exists(project_ / ".venv/bin/python3")) {
    std::rotate(places.begin(), places.end() - 1, places.end());
  }
  for (const path& place : places) {
    const auto answer = FirstThatRuns({place}, ask);
    if (!answer) continue;
    const std::string version = answer->output.substr(0, answer->output.find('\n'));
    if (CompareVersions(version, "2.5") >= 0) return Tool{place, version};
  }
  return std::nullopt;
}

std::vector<std::string> ToolFinder::Gpus() {
  std::vector<std::string> names;
  const auto answer = FirstThatRuns(Places(settings_.nvidia_smi, "nvidia-smi", {}),
                                    {"--query-gpu=name,driver_version", "--format=csv,noheader"});
  if (!answer) return names;
  std::istringstream lines(answer->output);
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.empty()) names.push_back(line);
  }
  return names;
}

}  // namespace kernelsmith
