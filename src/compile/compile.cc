#include "compile/compile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "compile/build.h"
#include "compile/conditionals.h"
#include "compile/device_names.h"
#include "compile/extended_lambdas.h"
#include "compile/real_headers.h"
#include "compile/source_style.h"
#include "compile/visible_library.h"
#include "support/cache.h"
#include "support/hash.h"
#include "support/rng.h"
#include "vgpu/math/libdevice.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// Part of every key: raise it when the way of compiling changes.
constexpr const char* kRecipe = "4";

fs::path ExecutableFolder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : self.parent_path();
}

// Those that are named, the installed headers, those of the source tree.
fs::path FindHeaders(const FileSystem& files, const FolderSettings& folders,
                     const CompileOptions& options) {
  // Absolute: compilers run in a folder of their own.
  if (!options.headers.empty()) return fs::absolute(options.headers);
  if (!folders.headers.empty()) return fs::absolute(folders.headers);
  fs::path installed = ExecutableFolder().parent_path() / "share" / "kernelsmith" / "include";
  if (files.Exists(installed / "torch" / "extension.h")) return installed;
  return KS_LIGHT_HEADERS;
}

fs::path FindCache(const FolderSettings& folders, const CompileOptions& options) {
  return fs::absolute(options.cache.empty() ? folders.Cache() / "candidates" : options.cache);
}

// The contents of every header, so that a changed header makes a new key.
std::string HeadersHash(const fs::path& headers) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator it(headers, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_regular_file(error)) paths.push_back(it->path());
  }
  std::sort(paths.begin(), paths.end());
  std::string all;
  const DiskFileSystem files;
  for (const fs::path& path : paths) {
    if (Result<std::string> text = files.Read(path); text.ok()) all += *text;
  }
  return Sha256(all);
}

// A file's name as #line takes it.
std::string Literal(const std::string& name) {
  std::string literal = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') literal += '\\';
    literal += c == '\n' || c == '\r' ? '?' : c;
  }
  return literal + "\"";
}

// The candidate's own lines keep their numbers.
std::string SourceToCompile(const std::string& name, const std::string& text,
                            const SourceStyle& style) {
  return fmt::format("#line 1 {}\n{}\n#line 1 \"registration\"\n{}", Literal(name), text,
                     style.suffix);
}

// The name of the candidate's copy. nvcc makes names of what it keeps from it.
constexpr const char* kInput = "candidate.cu";

// Writes the source and its own headers to a folder of their own; gives the file to compile.
Result<fs::path> WriteSources(FileSystem& files, const fs::path& scratch, const fs::path& source,
                              const std::string& text, const std::vector<OwnHeader>& own_headers,
                              const SourceStyle& style) {
  const fs::path folder = scratch / "source";
  KS_RETURN_IF_ERROR(files.MakeDirectories(folder));
  for (const OwnHeader& header : own_headers) {
    const fs::path path = folder / header.name;
    if (header.name == kInput && source.filename() != kInput) {
      return Unsupported(fmt::format("a header of a candidate can't be named {}", kInput));
    }
    KS_RETURN_IF_ERROR(files.MakeDirectories(path.parent_path()));
    const std::string shown = (source.parent_path() / header.name).string();
    KS_RETURN_IF_ERROR(
        files.Write(path, fmt::format("#line 1 {}\n{}", Literal(shown), header.text)));
  }
  KS_RETURN_IF_ERROR(files.Write(folder / kInput, SourceToCompile(source.string(), text, style)));
  return folder / kInput;
}

// Refuses what is another program wherever it is compiled.
Status SameEverywhere(const fs::path& source, const std::string& text,
                      const std::vector<OwnHeader>& own_headers) {
  std::optional<Diagnostic> problem = DependsOnPlace(text, source.string());
  for (size_t i = 0; i < own_headers.size() && !problem; ++i) {
    problem =
        DependsOnPlace(own_headers[i].text, (source.parent_path() / own_headers[i].name).string());
  }
  if (problem) return Error(ErrorKind::kUnsupported, *std::move(problem));
  return {};
}

bool Asks(const std::string& text, const std::vector<OwnHeader>& own_headers) {
  return !ConditionalsOf(text).empty() ||
         std::any_of(own_headers.begin(), own_headers.end(),
                     [](const OwnHeader& header) { return !ConditionalsOf(header.text).empty(); });
}

// The sources as PyTorch's headers decided them, beside the results.
constexpr const char* kDecided = "decided.json";

Status WriteDecided(FileSystem& files, const fs::path& path, const DecidedSource& decided) {
  nlohmann::json headers = nlohmann::json::array();
  for (const OwnHeader& header : decided.own_headers) headers.push_back({header.name, header.text});
  const nlohmann::json all = {{"text", decided.text}, {"headers", std::move(headers)}};
  return files.Write(path, all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void ReadDecided(const FileSystem& files, const fs::path& path, CompiledCandidate& candidate) {
  const Result<std::string> text = files.Read(path);
  if (!text.ok()) return;
  const nlohmann::json all = nlohmann::json::parse(*text, nullptr, false);
  if (all.is_discarded()) return;
  candidate.decided_text = all.value("text", "");
  for (const nlohmann::json& header : all.value("headers", nlohmann::json::array())) {
    candidate.own_headers.push_back({header.at(0), header.at(1)});
  }
}

// A folder that is removed unless it was moved to its place.
class ScratchFolder {
 public:
  ScratchFolder(const CompileOptions& options, const fs::path& cache)
      : path_(cache / fmt::format("new-{}-{:x}", ::getpid(), RandomSeed())) {
    UseCached(options, cache, path_);
  }
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::optional<CompiledCandidate> ReadCached(const FileSystem& files, const fs::path& folder) {
  const Result<std::string> complete = files.Read(folder / "complete");
  if (!complete.ok()) return std::nullopt;
  Result<std::string> ptx = files.Read(folder / "candidate.ptx");
  if (!ptx.ok() || !files.Exists(folder / "host.so")) return std::nullopt;
  const Result<std::string> scanned = files.Read(folder / "host_findings.json");
  if (!scanned.ok()) return std::nullopt;
  Result<std::vector<HostLibraryFinding>> findings = ReadHostFindings(*scanned);
  if (!findings.ok()) return std::nullopt;
  CompiledCandidate candidate;
  candidate.host_findings = *std::move(findings);
  candidate.ptx = *std::move(ptx);
  candidate.ptx_path = folder / "candidate.ptx";
  candidate.host_library = folder / "host.so";
  candidate.cached = true;
  candidate.host_by_clang = *complete == "clang";
  ReadDecided(files, folder / kDecided, candidate);
  return candidate;
}

}  // namespace

void UseCached(const CompileOptions& options, const fs::path& cache, const fs::path& entry) {
  // A folder that the options name is the caller's, and nobody else's.
  if (!options.cache.empty()) return;
  const fs::path folder = cache.parent_path();
  // A cache that can't be written can still be read.
  static_cast<void>(Cache(folder).Use(entry.lexically_relative(folder)));
}

Result<Tool> CandidateCompiler::Nvcc() {
  const std::lock_guard lock(mutex_);
  if (!nvcc_) nvcc_ = tools_.Nvcc();
  if (!nvcc_) {
    return MissingTool("nvcc was not found: candidates can't be compiled (kernelsmith doctor)");
  }
  return *nvcc_;
}

std::optional<Tool> CandidateCompiler::Clang() {
  const std::lock_guard lock(mutex_);
  if (!clang_) clang_ = tools_.Clang();
  return *clang_;
}

Result<CompiledCandidate> CandidateCompiler::Compile(const fs::path& source,
                                                     const CompileOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  KS_TRY(const std::string text, files_.Read(source));
  KS_TRY(const SourceStyle style, StyleOf(text, source.string()));
  KS_TRY(std::vector<OwnHeader> own_headers, OwnHeaders(source.parent_path(), text));
  if (!options.any_text_for_tests) {
    KS_RETURN_IF_ERROR(SameEverywhere(source, text, own_headers));
  }
  const fs::path headers = FindHeaders(files_, folders_, options);
  const fs::path cache = FindCache(folders_, options);

  const std::string headers_hash = HeadersHash(headers);
  std::string everything = fmt::format("{}\n{}\n{}\n{}\n", kRecipe, options.architecture,
                                       headers_hash, options.nvcc_only ? "nvcc" : "");
  for (const std::string& flag : options.flags) everything += flag + "\n";
  everything += HostScanIdentity();
  // The name is part of it: diagnostics, assert and names of anonymous namespaces hold it.
  everything += source.string() + "\n" + text;
  for (const OwnHeader& header : own_headers) {
    everything += fmt::format("\n{} {}\n{}", header.name, header.text.size(), header.text);
  }
  if (options.unconfined_for_tests) everything += "\nunconfined";
  const std::string key = Sha256(everything);
  const fs::path folder = cache / key.substr(0, 2) / key;

  const auto finish = [&](CompiledCandidate candidate) {
    std::erase_if(candidate.host_findings, [&](const HostLibraryFinding& finding) {
      return std::find(options.removed_walls.begin(), options.removed_walls.end(), finding.wall) !=
             options.removed_walls.end();
    });
    candidate.source = source;
    candidate.text = text;
    if (candidate.decided_text.empty()) {
      candidate.decided_text = text;
      candidate.own_headers = own_headers;
    }
    candidate.style = style.style;
    candidate.key = key;
    candidate.duration = std::chrono::steady_clock::now() - start;
    return candidate;
  };
  UseCached(options, cache,
            folder);  // before it is looked for, so that nobody removes it from now on
  if (std::optional<CompiledCandidate> cached = ReadCached(files_, folder)) {
    return finish(*std::move(cached));
  }

  KS_TRY(const Tool nvcc, Nvcc());
  const ScratchFolder scratch(options, cache);
  KS_RETURN_IF_ERROR(files_.MakeDirectories(scratch.path()));
  const std::string name = source.string();
  KS_TRY(const fs::path input,
         WriteSources(files_, scratch.path(), source, text, own_headers, style));
  Build build{.processes = processes_,
              .files = files_,
              .options = options,
              .nvcc = nvcc,
              .cache = cache,
              .headers = headers,
              .headers_hash = headers_hash,
              .scratch = scratch.path(),
              .input = input,
              .source = source,
              .text = text,
              .style = style.style,
              .extended_lambdas = NeedsExtendedLambdas(text, own_headers)};
  std::optional<std::vector<Diagnostic>> diagnostics;
  bool by_clang = false;
  // clang has macros of its own, so it does not see sources that ask for any.
  const bool asks = Asks(text, own_headers);
  bool decided_otherwise = false;
  if (asks && style.style == CandidateStyle::kTorch) {
    KS_TRY(const RealHeaders real, FindRealHeaders(tools_, processes_, files_));
    KS_TRY(const DecidedSource decided, DecideConditionals(build, real, own_headers));
    if (decided.changed) {
      decided_otherwise = true;
      KS_TRY(build.input, WriteSources(files_, scratch.path(), source, decided.text,
                                       decided.own_headers, style));
      KS_RETURN_IF_ERROR(WriteDecided(files_, scratch.path() / kDecided, decided));
    }
  }
  if (!options.nvcc_only && !asks) {
    if (const std::optional<Tool> clang = Clang()) {
      KS_TRY(diagnostics, BuildFast(build, *clang));
      by_clang = diagnostics.has_value();
    }
  }
  if (!diagnostics) {
    KS_TRY(diagnostics, BuildByNvcc(build));
  }

  KS_TRY(const std::vector<HostLibraryFinding> host_findings, ScanBuiltLibrary(build));
  KS_RETURN_IF_ERROR(
      files_.Write(scratch.path() / "host_findings.json", WriteHostFindings(host_findings)));

  std::error_code error;
  // Everything that compilers left behind, but for what is needed.
  std::vector<fs::path> superfluous;
  for (fs::directory_iterator it(scratch.path(), error), end; !error && it != end;
       it.increment(error)) {
    const std::string kept = it->path().filename().string();
    if (kept != "candidate.ptx" && kept != "host.so" && kept != "host_findings.json" &&
        kept != kDecided) {
      superfluous.push_back(it->path());
    }
  }
  for (const fs::path& path : superfluous) fs::remove_all(path, error);
  KS_RETURN_IF_ERROR(files_.Write(scratch.path() / "complete", by_clang ? "clang" : "nvcc"));
  KS_RETURN_IF_ERROR(files_.MakeDirectories(folder.parent_path()));
  fs::rename(scratch.path(), folder, error);
  // Somebody else may have been faster: theirs is the same.
  std::optional<CompiledCandidate> made = ReadCached(files_, folder);
  if (!made) {
    return InternalError(fmt::format("can't write {}: {}", folder.string(), error.message()));
  }
  made->cached = false;
  if (decided_otherwise) {
    made->warnings.push_back(
        {.severity = Severity::kWarning,
         .where = {.file = name},
         .message = "its conditionals ask for what PyTorch's headers have and ours lack, or the "
                    "other way round: judged is what PyTorch's leave of it"});
  }
  for (Diagnostic& diagnostic : *diagnostics) {
    if (diagnostic.severity == Severity::kWarning && diagnostic.where.file == name) {
      made->warnings.push_back(std::move(diagnostic));
    }
  }
  return finish(*std::move(made));
}

// The changed libdevice, made once for each libdevice and list of functions.
Result<fs::path> CandidateCompiler::VisibleLibrary(const Tool& nvcc, const fs::path& cache) {
  // nvcc itself says where its libdevice is, among the commands it would run.
  ProcessRequest request{.argv = {nvcc.path.string(), "--dryrun", "-ptx", "none.cu"}};
  KS_TRY(const ProcessResult answer, processes_.Run(request));
  constexpr std::string_view kVariable = "NVVMIR_LIBRARY_DIR=";
  const size_t at = answer.err.find(kVariable);
  const size_t end = answer.err.find('\n', at);
  if (at == std::string::npos || end == std::string::npos) {
    return MissingTool("nvcc does not say where libdevice is: math functions can't be visible");
  }
  const size_t first = at + kVariable.size();
  const fs::path libdevice = fs::path(answer.err.substr(first, end - first)) / "libdevice.10.bc";
  KS_TRY(std::string bitcode, files_.Read(libdevice));
  std::vector<std::string_view> names;
  std::string everything = bitcode;
  for (const vgpu::math::LibdeviceFunction& function : vgpu::math::LibdeviceFunctions()) {
    names.push_back(function.name);
    everything.append(function.name).append("\n");
  }
  const fs::path target = cache / fmt::format("libdevice-{}.bc", Sha256(everything).substr(0, 16));
  if (files_.Exists(target)) return target;
  KS_TRY(const std::string changed, HideFunctions(std::move(bitcode), names));
  KS_RETURN_IF_ERROR(files_.Write(target, changed));
  return target;
}

Build CandidateCompiler::BuildAgain(const CompiledCandidate& candidate,
                                    const CompileOptions& options, const Tool& nvcc,
                                    const fs::path& scratch, const fs::path& input,
                                    const std::vector<OwnHeader>& own_headers) {
  return {.processes = processes_,
          .files = files_,
          .options = options,
          .nvcc = nvcc,
          .cache = FindCache(folders_, options),
          .headers = FindHeaders(files_, folders_, options),
          .headers_hash = {},
          .scratch = scratch,
          .input = input,
          .source = candidate.source,
          .text = candidate.text,
          .style = candidate.style,
          .extended_lambdas = NeedsExtendedLambdas(candidate.text, own_headers)};
}

Result<std::string> CandidateCompiler::CompileVisibleMath(const CompiledCandidate& candidate,
                                                          const CompileOptions& options) {
  const fs::path target = candidate.host_library.parent_path() / "visible_math.ptx";
  if (files_.Exists(target)) return files_.Read(target);
  KS_TRY(const Tool nvcc, Nvcc());
  KS_TRY(const SourceStyle style, StyleOf(candidate.text, candidate.source.string()));
  const ScratchFolder scratch(options, FindCache(folders_, options));
  KS_RETURN_IF_ERROR(files_.MakeDirectories(scratch.path()));
  KS_TRY(const fs::path input, WriteSources(files_, scratch.path(), candidate.source,
                                            candidate.decided_text, candidate.own_headers, style));
  const fs::path cache = FindCache(folders_, options);
  KS_TRY(fs::path library, VisibleLibrary(nvcc, cache));
  UseCached(options, cache, library);
  if (!files_.Exists(library)) {  // it was removed while we said so
    KS_TRY(library, VisibleLibrary(nvcc, cache));
  }
  const Build build =
      BuildAgain(candidate, options, nvcc, scratch.path(), input, candidate.own_headers);
  const fs::path made = scratch.path() / "out.ptx";
  KS_TRY(const ProcessResult result,
         processes_.Run(NvccToPtx(build, {"-Xcicc", "-nvvmir-library", "-Xcicc", library.string()},
                                  made, {library})));
  KS_TRY(const std::vector<Diagnostic> messages, Messages(build, result));
  static_cast<void>(messages);  // Compile has told them
  KS_TRY(std::string ptx, files_.Read(made));
  // Names in anonymous namespaces hold a hash of the file's path: the plan has the candidate's.
  KS_TRY(ptx, NamesAsIn(ptx, candidate.ptx));
  KS_RETURN_IF_ERROR(files_.Write(target, ptx));
  return ptx;
}

Result<RealComparison> CandidateCompiler::CompareWithRealHeaders(const CompiledCandidate& candidate,
                                                                 CompileOptions options) {
  if (candidate.style != CandidateStyle::kTorch) {
    return RealComparison{.not_compared = "the candidate does not use PyTorch's headers"};
  }
  const Result<RealHeaders> real = FindRealHeaders(tools_, processes_, files_);
  if (!real.ok()) return RealComparison{.not_compared = real.error().message()};
  KS_TRY(const Tool nvcc, Nvcc());
  KS_TRY(const SourceStyle style, StyleOf(candidate.text, candidate.source.string()));
  const fs::path cache = FindCache(folders_, options);
  const ScratchFolder scratch(options, cache);
  // The source itself, not what was decided of it: that is what users have.
  KS_TRY(const std::vector<OwnHeader> own_headers,
         OwnHeaders(candidate.source.parent_path(), candidate.text));
  KS_TRY(const fs::path input, WriteSources(files_, scratch.path(), candidate.source,
                                            candidate.text, own_headers, style));
  options.processor_time = std::max(options.processor_time, std::chrono::seconds(200));
  Build build = BuildAgain(candidate, options, nvcc, scratch.path(), input, own_headers);
  build.real_includes = real->includes;
  const fs::path made = scratch.path() / "real.ptx";
  KS_TRY(const ProcessResult result, processes_.Run(NvccToPtx(build, {}, made, real->includes)));
  const Result<std::vector<Diagnostic>> messages = Messages(build, result);
  if (!messages.ok()) {
    const Error& error = messages.error();
    if (error.kind() == ErrorKind::kTimeout) return RealComparison{.not_compared = error.message()};
    return RealComparison{
        .differences = {"it does not compile with PyTorch's headers: " + error.message()}};
  }
  KS_TRY(const std::string ptx, files_.Read(made));
  return RealComparison{.differences = KernelDifferences(candidate.ptx, ptx)};
}

counters::PtxasAnswer CandidateCompiler::Assemble(const CompiledCandidate& candidate) {
  return counters::RunPtxas(candidate.ptx_path, tools_, processes_);
}

Result<bool> CandidateCompiler::WallsStand() {
  CompileOptions options{.nvcc_only = true};
  const ScratchFolder scratch(options, FindCache(folders_, options));
  options.cache = scratch.path() / "cache";  // nothing of the probe stays
  const fs::path canary = scratch.path() / "canary";
  const fs::path probe = scratch.path() / "probe.cu";
  KS_RETURN_IF_ERROR(files_.MakeDirectories(scratch.path()));
  KS_RETURN_IF_ERROR(files_.Write(canary, "canary"));
  const auto compile = [&](const std::string& line) -> Result<CompiledCandidate> {
    KS_RETURN_IF_ERROR(files_.Write(probe, line + "\nextern \"C\" void probe(float* x) {}\n"));
    return Compile(probe, options);
  };
  // A probe that asks for nothing must compile, or the other one proves nothing.
  const Result<CompiledCandidate> harmless = compile("");
  if (!harmless.ok()) return harmless.error();
  return !compile(fmt::format("asm(\".incbin \\\"{}\\\"\");", canary.string())).ok();
}

}  // namespace kernelsmith
