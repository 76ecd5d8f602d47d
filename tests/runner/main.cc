// ks_text_tests: runs text tests (docs/testing.md). Each file is a CTest test of its own; by hand
// it takes any number of files and folders.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <set>
#include <sstream>

#include "runner/text_test.h"
#include "support/exit_code.h"
#include "support/file_system.h"
#include "support/subprocess.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

struct Options {
  fs::path kernelsmith;
  fs::path root;                    // of the tests; names are relative to it
  fs::path work;                    // what tests write
  std::string scratch = "scratch";  // in `work`; runs that may be at the same time need two
  fs::path cache;                   // nvcc's results, and the caches of kernelsmith
  std::string nvcc = "nvcc";
  std::string python = "python3";
  int time_factor = 1;  // for the time limits of tests, where everything is slower
  bool rebase = false;
};

// How large the tests' cache of kernelsmith may grow: all that one run of them uses twice fits.
constexpr char kCacheMebibytes[] = "1024";

// What nvcc gets for every program: our runtime is a shared library, and runs PTX. A program that
// names its -gencode gets that one instead.
constexpr char kNvccFlags[] = "-std=c++17 -O2 -cudart shared -lineinfo";
constexpr char kNvccArchitecture[] = "-gencode arch=compute_90,code=compute_90";

std::string Quote(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

// FNV-1a: names of cached binaries; an accident costs one wrong test result, an attack has no
// point.
uint64_t Hash(std::string_view text, uint64_t hash = 0xcbf29ce484222325) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

class Runner {
 public:
  explicit Runner(Options options) : options_(std::move(options)) {}

  // An empty string if the test passes, else what went wrong.
  Result<std::string> Run(const fs::path& file) {
    KS_TRY(const std::string text, files_.Read(file));
    KS_TRY(const TextTest test, ParseTextTest(text, file.string()));
    const std::string name = fs::relative(file, options_.root).string();
    std::string flat = name;
    std::replace(flat.begin(), flat.end(), '/', '.');
    // The same path every time: paths are part of what programs print and of keys of their caches.
    const fs::path scratch = options_.work / options_.scratch / flat;
    std::error_code ignored;
    fs::remove_all(scratch, ignored);
    KS_RETURN_IF_ERROR(files_.MakeDirectories(scratch));
    KS_TRY(std::string problem, RunIn(scratch, file, text, test));
    if (problem.empty()) {
      fs::remove_all(scratch, ignored);  // The scratch of all tests together is large.
    } else {
      problem += fmt::format("  its files are in {}\n", scratch.string());
    }
    return problem;
  }

 private:
  Result<std::string> RunIn(const fs::path& scratch, const fs::path& file, const std::string& text,
                            const TextTest& test) {
    std::map<std::string, std::string> values = {
        {"kernelsmith", Quote(options_.kernelsmith.string())},
        {"nvcc", Quote(options_.nvcc)},
        {"python", Quote(options_.python)},
        {"s", Quote(file.string())},
        {"S", Quote(file.parent_path().string())},
        {"t", Quote((scratch / "t").string())},
    };
    if (test.nvcc_flags) {
      KS_TRY(const fs::path program, Build(file, text, *test.nvcc_flags));
      values["x"] = Quote(program.string());
    }
    std::string out;
    std::string err;
    int exit_code = 0;
    const int limit = test.timeout_seconds * options_.time_factor;
    for (size_t i = 0; i < test.runs.size(); ++i) {
      const std::string command = Substitute(test.runs[i], values);
      KS_TRY(const ProcessResult result,
             processes_.Run({.argv = {"/bin/sh", "-c", command},
                             // What is printed must not depend on the caller's terminal or cache.
                             .env = {{"NO_COLOR", "1"},
                                     {"LC_ALL", "C.UTF-8"},
                                     {"XDG_CACHE_HOME", options_.cache.string()},
                                     {"KERNELSMITH_CACHE_MIB", kCacheMebibytes}},
                             .directory = scratch,
                             .timeout = std::chrono::seconds(limit)}));
      out += result.out;
      err += result.err;
      exit_code = result.exit_code;
      if (result.timed_out) {
        return fmt::format("  '{}' took more than {} s\n{}", command, limit, err);
      }
      if (i + 1 < test.runs.size() && exit_code != 0) {
        return fmt::format("  '{}' gave exit code {}\n{}{}", command, exit_code, out, err);
      }
    }
    // Paths differ from machine to machine: the test's own folder and scratch are shown by name.
    out = Anonymous(out, file, scratch);
    err = Anonymous(err, file, scratch);
    const std::vector<std::string> out_lines = SplitLines(out);
    const std::vector<std::string> err_lines = SplitLines(err);
    if (options_.rebase) {
      const std::string rebased = Rebase(text, out_lines, err_lines, exit_code);
      if (rebased != text) KS_RETURN_IF_ERROR(files_.Write(file, rebased));
      return std::string();
    }
    std::string problem;
    if (exit_code != test.exit_code) {
      problem += fmt::format("  exit code: expected {}, got {}\n", test.exit_code, exit_code);
      if (!test.err) problem += err;
      if (!test.out) problem += out;
    }
    if (test.out) {
      if (const std::string diff = CompareLines(*test.out, out_lines); !diff.empty()) {
        problem += "  standard output:\n" + diff;
        if (!test.err) problem += err;
      }
    }
    if (test.err) {
      if (const std::string diff = CompareLines(*test.err, err_lines); !diff.empty()) {
        problem += "  standard error:\n" + diff;
      }
    }
    return problem;
  }

  static void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  }

  std::string Anonymous(std::string text, const fs::path& file, const fs::path& scratch) const {
    ReplaceAll(text, scratch.string() + "/", "%t/");
    ReplaceAll(text, file.parent_path().string() + "/", "");
    return text;
  }

  // nvcc is slow, so its results are kept by the content of the source, of files that the flags
  // name
  // (%S/...), of the .h and .cuh files beside it and in the folders above it up to the root of the
  // tests, and of the command. Other headers are the toolkit's: nvcc's path stands for them.
  Result<fs::path> Build(const fs::path& file, const std::string& text, const std::string& flags) {
    const std::string command =
        fmt::format("{} {} {} {}", Quote(options_.nvcc), kNvccFlags,
                    flags.find("-gencode") == std::string::npos ? kNvccArchitecture : "",
                    Substitute(flags, {{"S", Quote(file.parent_path().string())}}));
    uint64_t key = Hash(text, Hash(command));
    std::set<fs::path> headers;
    std::istringstream words(flags);
    for (std::string word; words >> word;) {
      if (word.starts_with("%S/")) headers.insert(file.parent_path() / word.substr(3));
    }
    for (fs::path folder = file.parent_path(); !folder.empty(); folder = folder.parent_path()) {
      for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".h" || entry.path().extension() == ".cuh") {
          headers.insert(entry.path());
        }
      }
      if (folder == options_.root || folder == folder.root_path()) break;
    }
    for (const fs::path& header : headers) {
      KS_TRY(const std::string contents, files_.Read(header));
      key = Hash(contents, key);
    }
    const fs::path folder = options_.cache / "nvcc";
    KS_RETURN_IF_ERROR(files_.MakeDirectories(folder));
    const fs::path program = folder / fmt::format("{}-{:016x}", file.stem().string(), key);
    if (files_.Exists(program)) return program;
    const std::string temporary = program.string() + ".tmp";
    KS_TRY(const ProcessResult result,
           processes_.Run({.argv = {"/bin/sh", "-c",
                                    fmt::format("{} {} -o {}", command, Quote(file.string()),
                                                Quote(temporary))},
                           .directory = folder}));
    if (result.exit_code != 0) {
      return InvalidInput(
          fmt::format("nvcc failed on {}:\n{}{}", file.string(), result.out, result.err));
    }
    std::error_code error;
    fs::rename(temporary, program, error);
    if (error) return InternalError("can't keep " + program.string() + ": " + error.message());
    return program;
  }

  Options options_;
  DiskFileSystem files_;
  SystemProcessRunner processes_;
};

std::vector<fs::path> Collect(const std::vector<std::string>& arguments) {
  std::vector<fs::path> files;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      files.push_back(fs::absolute(argument));
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(argument)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".test" && extension != ".ptx" && extension != ".cu") continue;
      const Result<std::string> text = DiskFileSystem().Read(entry.path());
      // Folders also hold inputs of other tests: only files with commands are tests.
      if (text.ok() && text->find(" RUN:") != std::string::npos) {
        files.push_back(fs::absolute(entry.path()));
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int Main(int argc, char** argv) {
  CLI::App app("Runs text tests (docs/testing.md).", "ks_text_tests");
  Options options;
  std::vector<std::string> arguments;
  app.add_option("--kernelsmith", options.kernelsmith, "The program to test (%kernelsmith)");
  app.add_option("--root", options.root, "The folder that test names are relative to");
  app.add_option("--work", options.work, "Where scratch files go");
  app.add_option("--scratch", options.scratch, "The folder there for this run");
  app.add_option("--cache", options.cache, "Where nvcc's results and caches of kernelsmith go");
  app.add_option("--nvcc", options.nvcc, "The compiler (%nvcc)");
  app.add_option("--python", options.python, "A python with torch (%python)");
  app.add_option("--time-factor", options.time_factor, "Multiplies the time limits of tests");
  app.add_flag("--rebase", options.rebase, "Write what is printed now as the new expectation");
  app.add_option("tests", arguments, "Files and folders")->required();
  CLI11_PARSE(app, argc, argv);

  Runner runner(options);
  int passed = 0;
  int failed = 0;
  for (const fs::path& file : Collect(arguments)) {
    const Result<std::string> problem = runner.Run(file);
    if (problem.ok() && problem->empty()) {
      ++passed;
      continue;
    }
    ++failed;
    std::cout << "FAILED " << fs::relative(file, options.root).string() << "\n"
              << (problem.ok() ? *problem : problem.error().message() + "\n");
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed == 0 && passed > 0 ? kExitOk : kExitRefuted;
}

}  // namespace
}  // namespace kernelsmith

int main(int argc, char** argv) { return kernelsmith::Main(argc, argv); }
