#include "compile/real_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "compile/conditionals.h"
#include "compile/nvcc_messages.h"
#include "support/demangle.h"
#include "support/rng.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// The words of a command as nvcc --dryrun prints it: quotes are the only thing it needs.
std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool any = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
      any = true;
    } else if (c == ' ' && !quoted) {
      if (any || !word.empty()) words.push_back(std::exchange(word, {}));
      any = false;
    } else {
      word += c;
    }
  }
  if (any || !word.empty()) words.push_back(std::move(word));
  return words;
}

// How nvcc calls the preprocessor for the host pass and for the device pass, up to input and
// output.
struct Preprocessors {
  std::vector<std::string> host;
  std::vector<std::string> device;
};

Result<Preprocessors> AskNvcc(const Build& build) {
  ProcessRequest request = NvccToPtx(build, {"--dryrun"}, build.scratch / "none.ptx");
  // The device pass alone is asked for above; an object has both.
  std::replace(request.argv.begin(), request.argv.end(), std::string("-ptx"), std::string("-c"));
  KS_TRY(const ProcessResult answer, build.processes.Run(request));
  Preprocessors found;
  std::istringstream lines(answer.err);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#$ gcc ") && !line.starts_with("#$ \"gcc\" ")) continue;
    std::vector<std::string> words = Words(std::string_view(line).substr(3));
    if (std::find(words.begin(), words.end(), "-E") == words.end()) continue;
    const auto output = std::find(words.begin(), words.end(), "-o");
    if (output == words.end() || words.end() - output < 2) continue;
    words.erase(output, output + 2);
    std::erase(words, build.input.string());
    const bool device = std::any_of(words.begin(), words.end(), [](const std::string& word) {
      return word.starts_with("-D__CUDA_ARCH__=");
    });
    (device ? found.device : found.host) = std::move(words);
  }
  if (found.host.empty() || found.device.empty()) {
    return Unsupported("nvcc does not say how it calls the preprocessor");
  }
  return found;
}

// Marks that survive with one set of headers, for both passes.
struct Survivors {
  MarkCounts host;
  MarkCounts device;
};

class Asker {
 public:
  Asker(const Build& build, const RealHeaders& real, Preprocessors commands)
      : build_(build),
        real_(real),
        commands_(std::move(commands)),
        mark_(fmt::format("mark{:x}_", RandomSeed())) {}

  Result<Survivors> Ask(const std::string& text, const std::vector<OwnHeader>& headers, bool real) {
    const fs::path folder = build_.scratch / fmt::format("marked{}", count_++);
    KS_RETURN_IF_ERROR(build_.files.MakeDirectories(folder));
    // The name is the one of the real compilation: __FILE__ may be asked for, too.
    KS_RETURN_IF_ERROR(build_.files.Write(folder / "candidate.cu", Marked(text, Mark(0))));
    for (size_t i = 0; i < headers.size(); ++i) {
      KS_RETURN_IF_ERROR(build_.files.MakeDirectories((folder / headers[i].name).parent_path()));
      KS_RETURN_IF_ERROR(
          build_.files.Write(folder / headers[i].name, Marked(headers[i].text, Mark(i + 1))));
    }
    Survivors survivors;
    KS_TRY(survivors.host, Run(commands_.host, folder, real));
    KS_TRY(survivors.device, Run(commands_.device, folder, real));
    return survivors;
  }
  // Of a file: 0 is the source, others are its headers.
  std::string Mark(size_t file) const { return fmt::format("{}{}_", mark_, file); }

 private:
  Result<MarkCounts> Run(std::vector<std::string> argv, const fs::path& folder, bool real) {
    if (real) {
      const auto light = std::find(argv.begin(), argv.end(), build_.headers.string());
      if (light == argv.end() || light == argv.begin()) {
        return Unsupported("nvcc does not say where its preprocessor looks for headers");
      }
      std::vector<std::string> includes;
      for (const fs::path& include : real_.includes) {
        if (!includes.empty()) includes.emplace_back("-isystem");
        includes.push_back(include.string());
      }
      const auto at = argv.erase(light);
      argv.insert(at, includes.begin(), includes.end());
    }
    const fs::path output = folder / "out.ii";
    argv.insert(argv.end(), {(folder / "candidate.cu").string(), "-o", output.string()});
    KS_TRY(const ProcessResult result,
           build_.processes.Run(Walled(build_, std::move(argv), real_.includes)));
    KS_RETURN_IF_ERROR(Messages(build_, result));
    KS_TRY(const std::string preprocessed, build_.files.Read(output));
    return CountMarks(preprocessed, mark_);
  }

  const Build& build_;
  const RealHeaders& real_;
  Preprocessors commands_;
  std::string mark_;  // nobody can guess it
  int count_ = 0;
};

int CountOf(const MarkCounts& counts, const std::string& mark) {
  const auto found = counts.find(mark);
  return found == counts.end() ? 0 : found->second;
}

// What has to be changed in one file so that light headers decide as real ones do.
Result<std::map<size_t, bool>> Decisions(const Build& build, std::string_view text,
                                         const std::string& mark, const Survivors& light,
                                         const Survivors& real) {
  std::map<size_t, bool> decisions;
  const std::vector<Conditional> conditionals = ConditionalsOf(text);
  for (size_t i = 0; i < conditionals.size(); ++i) {
    if (!conditionals[i].asks) continue;
    const std::string name = mark + std::to_string(i);
    const int host = CountOf(real.host, name);
    const int device = CountOf(real.device, name);
    if (host == CountOf(light.host, name) && device == CountOf(light.device, name)) continue;
    if (host > 1 || device > 1 || host != device) {
      return Error(
          ErrorKind::kUnsupported,
          Diagnostic{.where = {.file = build.source.string(), .line = conditionals[i].first_line},
                     .message = "a conditional that PyTorch's headers decide in another "
                                "way than ours, and not in one way alone"});
    }
    decisions[i] = host > 0;
  }
  return decisions;
}

// A PTX module's kernels by the order they stand in, without what has no meaning for them.
std::vector<std::pair<std::string, std::string>> Kernels(const std::string& ptx) {
  std::vector<std::pair<std::string, std::string>> kernels;
  std::istringstream lines(ptx);
  std::string body;
  std::string name;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (const size_t comment = line.find("//"); comment != std::string::npos) line.resize(comment);
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string::npos) continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
    if (line.starts_with(".loc") || line.starts_with(".file")) continue;
    if (const size_t entry = line.find(".entry"); entry != std::string::npos) {
      const size_t begin = line.find_first_not_of(' ', entry + 6);
      name = line.substr(begin, line.find_first_of("( ", begin) - begin);
      body.clear();
      inside = true;
    }
    if (!inside) continue;
    // Names of the kernel and its parameters.
    for (size_t at = line.find(name); !name.empty() && at != std::string::npos;
         at = line.find(name, at + 1)) {
      line.replace(at, name.size(), "@");
    }
    body += line + "\n";
    if (line == "}") {
      kernels.emplace_back(name, body);
      inside = false;
    }
  }
  return kernels;
}

// Mangled names inside of a body by the order they appear in: types of headers are among them.
std::string WithoutNames(const std::string& body) {
  std::map<std::string, size_t> names;
  std::string plain;
  for (size_t at = 0; at < body.size();) {
    const bool word = body[at] == '_' || std::isalpha(static_cast<unsigned char>(body[at])) != 0;
    if (!word) {
      plain += body[at++];
      continue;
    }
    size_t end = at;
    while (end < body.size() && (body[end] == '_' || body[end] == '$' ||
                                 std::isalnum(static_cast<unsigned char>(body[end])) != 0)) {
      ++end;
    }
    const std::string name = body.substr(at, end - at);
    if (name.starts_with("_Z") || name.starts_with("__unnamed") || name.starts_with("$L")) {
      plain += fmt::format("#{}", names.emplace(name, names.size()).first->second);
    } else {
      plain += name;
    }
    at = end;
  }
  return plain;
}

// Its name without types, which headers choose.
std::string BaseName(const std::string& mangled) {
  std::string name = Demangle(mangled);
  name = name.substr(0, name.find_first_of("(<"));
  if (const size_t space = name.rfind(' '); space != std::string::npos) name.erase(0, space + 1);
  return name;
}

}  // namespace

Result<RealHeaders> FindRealHeaders(ToolFinder& tools, ProcessRunner& processes,
                                    const FileSystem& files) {
  const std::optional<Tool> python = tools.PythonWithTorch();
  if (!python) return MissingTool("there is no PyTorch whose headers could decide");
  // torch itself is not imported: that would take seconds.
  constexpr const char* kAsk =
      "import importlib.util as u, sysconfig as s, os\n"
      "print(os.path.dirname(u.find_spec('torch').origin))\n"
      "print(s.get_path('include', scheme='posix_prefix'))\n";
  KS_TRY(const ProcessResult answer, processes.Run({.argv = {python->path.string(), "-c", kAsk},
                                                    .timeout = std::chrono::seconds(60)}));
  std::istringstream lines(answer.out);
  std::string torch;
  std::string include;
  std::getline(lines, torch);
  std::getline(lines, include);
  const fs::path headers = fs::path(torch) / "include";
  if (answer.exit_code != 0 || !files.Exists(headers / "torch" / "extension.h")) {
    return MissingTool("PyTorch's headers were not found");
  }
  if (!files.Exists(fs::path(include) / "Python.h")) {
    return MissingTool(fmt::format("there is no Python.h in {}", include));
  }
  return RealHeaders{{headers, headers / "torch" / "csrc" / "api" / "include", include}};
}

Result<DecidedSource> DecideConditionals(const Build& build, const RealHeaders& real,
                                         const std::vector<OwnHeader>& own_headers) {
  DecidedSource decided{.text = build.text, .own_headers = own_headers};
  KS_TRY(Preprocessors commands, AskNvcc(build));
  Asker asker(build, real, std::move(commands));
  KS_TRY(const Survivors wanted, asker.Ask(decided.text, decided.own_headers, true));
  KS_TRY(const Survivors light, asker.Ask(decided.text, decided.own_headers, false));
  if (light.host == wanted.host && light.device == wanted.device) return decided;
  KS_TRY(const auto decisions, Decisions(build, build.text, asker.Mark(0), light, wanted));
  decided.text = Decided(build.text, decisions);
  for (size_t i = 0; i < own_headers.size(); ++i) {
    KS_TRY(const auto more,
           Decisions(build, own_headers[i].text, asker.Mark(i + 1), light, wanted));
    decided.own_headers[i].text = Decided(own_headers[i].text, more);
  }
  decided.changed = true;
  // What one conditional defines may be what another one asks for.
  KS_TRY(const Survivors again, asker.Ask(decided.text, decided.own_headers, false));
  if (again.host != wanted.host || again.device != wanted.device) {
    return Error(ErrorKind::kUnsupported,
                 Diagnostic{.where = {.file = build.source.string()},
                            .message = "its conditionals can't be decided as PyTorch's headers "
                                       "decide them"});
  }
  return decided;
}

std::vector<std::string> KernelDifferences(const std::string& judged, const std::string& real) {
  std::map<std::string, std::multiset<std::string>> ours;
  std::map<std::string, std::multiset<std::string>> theirs;
  for (const auto& [name, body] : Kernels(judged)) ours[BaseName(name)].insert(WithoutNames(body));
  for (const auto& [name, body] : Kernels(real)) theirs[BaseName(name)].insert(WithoutNames(body));
  std::vector<std::string> differences;
  for (const auto& [name, bodies] : ours) {
    const auto found = theirs.find(name);
    if (found == theirs.end()) {
      differences.push_back(fmt::format("kernel {} is not there with PyTorch's headers", name));
    } else if (found->second != bodies) {
      differences.push_back(
          fmt::format("kernel {} has other instructions with PyTorch's headers", name));
    }
  }
  for (const auto& [name, bodies] : theirs) {
    if (!ours.contains(name)) {
      differences.push_back(fmt::format("kernel {} is there only with PyTorch's headers", name));
    }
  }
  return differences;
}

}  // namespace kernelsmith
