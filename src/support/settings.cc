#include "support/settings.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <limits>

namespace kernelsmith {
namespace {

constexpr const char* kFlag = "1 or 0";
constexpr const char* kNumber = "a number of at least 0";

const char* SetFlag(bool& flag, const std::string& value) {
  if (value != "0" && value != "1") return kFlag;
  flag = value == "1";
  return nullptr;
}

// Into a number, a duration or an optional of either. Larger numbers than `most` make no sense.
template <typename T>
const char* SetNumber(T& number, const std::string& value,
                      uint64_t most = std::numeric_limits<uint64_t>::max()) {
  uint64_t parsed = 0;
  const char* end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, parsed);
  if (error != std::errc() || rest != end || parsed > most) return kNumber;
  number = T(parsed);
  return nullptr;
}

// A word for true; the other one is the default.
const char* SetWord(bool& flag, const std::string& value, const char* yes, const char* no,
                    const char* expected) {
  if (value != yes && value != no) return expected;
  flag = value == yes;
  return nullptr;
}

template <typename T>
const char* SetText(T& text, const std::string& value) {
  text = value;
  return nullptr;
}

constexpr const char* kEngines = "auto, jit or interpreter";
constexpr uint64_t kMostThreads = 1 << 16;
constexpr uint64_t kMostMebibytes = uint64_t{1} << 40;
constexpr uint64_t kMostSeconds = 1'000'000'000;

constexpr const char* kEverything = "all programs";  // these, and kernelsmith-tracer
constexpr const char* kProgram = "kernelsmith";
constexpr const char* kLibrary = "libcudart.so.13";

using S = Settings;
using V = const std::string;

// clang-format off
constexpr Setting kSettings[] = {
    // The virtual GPU.
    {"KERNELSMITH_ENGINE", kEngines, "auto", kEverything,
     "What runs kernels (`--engine`): compiled code, the interpreter, or the interpreter until compiling pays.",
     [](S& s, V& v) -> const char* {
       const std::optional<Engine> engine = EngineByName(v);
       if (!engine) return kEngines;
       s.engine.engine = *engine;
       return nullptr;
     }},
    {"KERNELSMITH_PARALLEL_ATOMICS", kFlag, "0", kEverything,
     "Blocks run on all processors even where the order of atomics shows (`--parallel-atomics`).",
     [](S& s, V& v) { return SetFlag(s.engine.parallel_atomics, v); }},
    {"KERNELSMITH_THREADS", kNumber, "0: one a processor", kEverything,
     "Threads that compiled blocks run on.",
     [](S& s, V& v) { return SetNumber(s.engine.threads, v, kMostThreads); }},
    {"KERNELSMITH_VERBOSE", kFlag, "0", kEverything,
     "The engine says which kernels it compiles or screens, and why not (`--verbose`).",
     [](S& s, V& v) { return SetFlag(s.engine.verbose, v); }},
    {"KERNELSMITH_CHECKS", "full or screened", "screened", "kernelsmith, libcudart.so.13",
     "With `full` checkers see every launch, also where the screen finds nothing (`sanitize --full`).",
     [](S& s, V& v) {
       return SetWord(s.engine.full_checks, v, "full", "screened", "full or screened");
     }},
    {"KERNELSMITH_ISA", "base or native", "native", kEverything,
     "With `base` the interpreter uses code for any x86-64, so that one machine can test both.",
     [](S& s, V& v) { return SetWord(s.engine.base_isa, v, "base", "native", "base or native"); }},
    {"KERNELSMITH_JIT_LIBRARY", "a file", "found beside the program or library",
     "libcudart.so.13, kernelsmith-tracer",
     "The compiler of kernels, `libkernelsmith-jit.so`. `kernelsmith` itself has it built in.",
     [](S& s, V& v) { return SetText(s.engine.jit_library, v); }},
    {"KERNELSMITH_JIT_THOROUGH", kFlag, "0", kEverything,
     "Compiles long ways of parts of warps at once, for tests.",
     [](S& s, V& v) { return SetFlag(s.engine.jit_thorough, v); }},
    {"KERNELSMITH_JIT_DUMP", kFlag, "0", kEverything,
     "Prints the LLVM code of kernels before and after the passes.",
     [](S& s, V& v) { return SetFlag(s.engine.jit_dump, v); }},
    {"KERNELSMITH_STREAM_BYTES", kNumber, "size of the last-level cache", kEverything,
     "Outputs of this size and larger are stored past the caches; 0: all.",
     [](S& s, V& v) { return SetNumber(s.engine.stream_bytes, v); }},

    // The runtime library. `kernelsmith run`, `sanitize` and `profile` set these for the program.
    {"KERNELSMITH_GPU", "a name: h100, a100, ...", "h100", kLibrary,
     "The GPU to pose as (`run --gpu`). A name that is not known leaves the program without a device.",
     [](S& s, V& v) { return SetText(s.runtime.gpu, v); }},
    {"KERNELSMITH_WATCHDOG_S", kNumber, "20", kLibrary,
     "Seconds after which a kernel that only spins is ended (`run --watchdog`); 0: never.",
     [](S& s, V& v) { return SetNumber(s.runtime.watchdog, v, kMostSeconds); }},
    {"KERNELSMITH_PATIENCE_MS", kNumber, "1000", kLibrary,
     "Milliseconds that a launch waits for its kernel before the host goes on by itself.",
     [](S& s, V& v) { return SetNumber(s.runtime.patience, v, kMostSeconds); }},
    {"KERNELSMITH_QUIET", kFlag, "0", kLibrary,
     "No messages of kernelsmith on the program's standard error.",
     [](S& s, V& v) { return SetFlag(s.runtime.quiet, v); }},
    {"CUDA_VISIBLE_DEVICES", "as CUDA has it", "the device is visible", kLibrary,
     "Hides the device if its first entry is not 0; set and empty hides it, too.",
     [](S& s, V& v) { return SetText(s.runtime.visible_devices, v); }},
    {"KERNELSMITH_CHECK", "names of checks", "none", kLibrary,
     "Checks the program, if KERNELSMITH_CHECK_REPORT is set as well (`sanitize --check`).",
     [](S& s, V& v) { return SetText(s.runtime.checks, v); }},
    {"KERNELSMITH_CHECK_REPORT", "a file", "none", kLibrary,
     "Gets the findings of a checked program, a line each.",
     [](S& s, V& v) { return SetText(s.runtime.check_report, v); }},
    {"KERNELSMITH_PROFILE", "a file", "none", kLibrary,
     "Counts what kernels do; the file gets a line a launch (`profile`).",
     [](S& s, V& v) { return SetText(s.runtime.profile, v); }},
    {"KERNELSMITH_PROFILE_BLOCKS", kNumber, "96", kLibrary,
     "Blocks of a launch that are counted (`profile --blocks`); 0: all.",
     [](S& s, V& v) { return SetNumber(s.runtime.profile_blocks, v); }},
    {"KERNELSMITH_PROFILE_SEED", kNumber, "1", kLibrary,
     "Which blocks are counted (`profile --seed`).",
     [](S& s, V& v) { return SetNumber(s.runtime.profile_seed, v); }},
    {"KERNELSMITH_PROFILE_WATCHED_ONLY", kFlag, "0", kLibrary,
     "Blocks that are not counted do not run (`profile --watched-only`).",
     [](S& s, V& v) { return SetFlag(s.runtime.profile_watched_only, v); }},

    // Folders.
    {"KERNELSMITH_CACHE", "a folder", "`kernelsmith` in XDG_CACHE_HOME", kProgram,
     "Compiled candidates, exported tasks and other things that can be made again.",
     [](S& s, V& v) { return SetText(s.folders.cache, v); }},
    {"KERNELSMITH_CACHE_MIB", kNumber, "2048", kProgram,
     "How large the cache may grow, in MiB: then what was not used for longest goes. 0: no limit.",
     [](S& s, V& v) { return SetNumber(s.folders.cache_mib, v, kMostMebibytes); }},
    {"XDG_CACHE_HOME", "a folder", "`~/.cache`", kProgram, "Caches of all programs.",
     [](S& s, V& v) { return SetText(s.folders.xdg_cache, v); }},
    {"XDG_DATA_HOME", "an absolute folder", "`~/.local/share`", kProgram,
     "Data of all programs; the archive is `kernelsmith/archive.db` in it. A relative one does not count.",
     [](S& s, V& v) { return SetText(s.folders.xdg_data, v); }},
    {"HOME", "a folder", "`/tmp`", kProgram, "The user's folder, for the two defaults above.",
     [](S& s, V& v) { return SetText(s.folders.home, v); }},
    {"KERNELSMITH_HOME", "a folder", "as installed, or the sources", kProgram,
     "Where `python/`, `tasks/` and `prompts/` are.",
     [](S& s, V& v) { return SetText(s.folders.data, v); }},
    {"KERNELSMITH_HEADERS", "a folder", "as installed, or the sources", kProgram,
     "The light torch headers that candidates are compiled with.",
     [](S& s, V& v) { return SetText(s.folders.headers, v); }},
    {"KERNELSMITH_LIB_DIR", "a folder", "as installed, or the build", kProgram,
     "Where our `libcudart.so.13` is.",
     [](S& s, V& v) { return SetText(s.folders.libraries, v); }},
    {"KERNELSMITH_TRACER", "a program", "beside `kernelsmith`", kProgram,
     "`kernelsmith-tracer`, which runs the host code of candidates.",
     [](S& s, V& v) { return SetText(s.folders.tracer, v); }},

    // Outside programs.
    {"PATH", "folders", "none", kProgram, "Where programs are looked for.",
     [](S& s, V& v) { return SetText(s.tools.search_path, v); }},
    {"CUDA_HOME", "a folder", "`/usr/local/cuda`", kProgram, "A CUDA toolkit to look in.",
     [](S& s, V& v) { return SetText(s.tools.cuda_home, v); }},
    {"CUDA_PATH", "a folder", "none", kProgram, "The same, after CUDA_HOME.",
     [](S& s, V& v) { return SetText(s.tools.cuda_path, v); }},
    {"KERNELSMITH_NVCC", "a program", "searched for", kProgram, "nvcc of CUDA 13.",
     [](S& s, V& v) { return SetText(s.tools.nvcc, v); }},
    {"KERNELSMITH_PTXAS", "a program", "searched for", kProgram, "ptxas, for registers and spills.",
     [](S& s, V& v) { return SetText(s.tools.ptxas, v); }},
    {"KERNELSMITH_CLANG", "a program", "searched for", kProgram,
     "clang++ 16 or later, for host code of candidates.",
     [](S& s, V& v) { return SetText(s.tools.clang, v); }},
    {"KERNELSMITH_LLVM_CONFIG", "a program", "searched for", kProgram,
     "llvm-config 19, for `doctor`.",
     [](S& s, V& v) { return SetText(s.tools.llvm_config, v); }},
    {"KERNELSMITH_PYTHON", "a program", "searched for", kProgram,
     "A Python with PyTorch 2.5 or later.",
     [](S& s, V& v) { return SetText(s.tools.python, v); }},
    {"KERNELSMITH_NVIDIA_SMI", "a program", "searched for", kProgram, "nvidia-smi, for `doctor`.",
     [](S& s, V& v) { return SetText(s.tools.nvidia_smi, v); }},
    {"KERNELSMITH_WITHOUT_LANDLOCK", kFlag, "0", kProgram,
     "On a kernel without Landlock compilers run nevertheless, and can read any file. Elsewhere it changes nothing.",
     [](S& s, V& v) { return SetFlag(s.tools.without_landlock, v); }},

    // Language models.
    {"..._API_KEY", "a key", "none", kProgram,
     "The key of a provider (`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`): goes to its own address only. Read by name when a model is opened.",
     nullptr},
    {"KERNELSMITH_LLM_KEY", "a key", "none", kProgram,
     "Goes to whatever server `--model` names. Read when a model is opened.", nullptr},

    // The rest of the command line program.
    {"KERNELSMITH_TASK", "a task", "none", "kernelsmith, outside verifiers",
     "`ask-verifier` without `--task`. `mutants` sets it for outside verifiers.",
     [](S& s, V& v) { return SetText(s.task, v); }},
    {"KERNELSMITH_DIRECTION", "forward or backward", "forward", "kernelsmith, outside verifiers",
     "`ask-verifier` without `--direction`. `mutants` sets it for outside verifiers.",
     [](S& s, V& v) { return SetText(s.direction, v); }},
    {"KERNELSMITH_DTYPE", "a dtype", "none", "outside verifiers",
     "`mutants` sets it for outside verifiers.", nullptr},
    {"NO_COLOR", "anything", "colours on terminals", kProgram, "No colours and no progress bars.",
     [](S& s, V&) -> const char* {
       s.no_color = true;
       return nullptr;
     }},
    {"TERM", "a terminal", "none", kProgram, "With `dumb` the same.",
     [](S& s, V& v) -> const char* {
       s.no_color |= v == "dumb";
       return nullptr;
     }},
    {"LD_LIBRARY_PATH", "folders", "none", "kernelsmith, the loader",
     "Programs under `run`, `sanitize` and `profile` get the folder of our library in front of it.",
     [](S& s, V& v) { return SetText(s.library_path, v); }},
    {"LD_PRELOAD", "libraries", "none", "kernelsmith, the loader",
     "The same, for programs that have a search path of their own.",
     [](S& s, V& v) { return SetText(s.preload, v); }},

    // Other programs of ours.
    {"KERNELSMITH_REPLY_FD", "a descriptor", "1", "the PyTorch bridge",
     "Where the bridge answers. `kernelsmith` sets it.", nullptr},
    {"KERNELSMITH_BRIDGE_DEBUG", "anything", "none", "the PyTorch bridge",
     "The bridge's errors come with a Python traceback.", nullptr},
    {"KERNELSMITH_RANDOM_INSTRUCTIONS", kNumber, "a quick test", "ks_checkers_test",
     "Instructions of random kernels to run under all checkers.", nullptr},
    {"KERNELSMITH_SCREEN_KERNELS", kNumber, "a quick test", "ks_checkers_test",
     "Random kernels to run with and without the screen.", nullptr},
    {"KERNELSMITH_SCREEN_SEED", kNumber, "all", "ks_checkers_test",
     "Only the random kernel of this seed.", nullptr},
};
// clang-format on

}  // namespace

const char* Name(Engine engine) {
  switch (engine) {
    case Engine::kAuto:
      return "auto";
    case Engine::kJit:
      return "jit";
    case Engine::kInterpreter:
      return "interpreter";
  }
  return "?";
}

std::optional<Engine> EngineByName(std::string_view name) {
  for (const Engine engine : {Engine::kAuto, Engine::kJit, Engine::kInterpreter}) {
    if (name == Name(engine)) return engine;
  }
  return std::nullopt;
}

std::filesystem::path FolderSettings::Cache() const {
  if (!cache.empty()) return cache;
  if (!xdg_cache.empty()) return xdg_cache / "kernelsmith";
  return (home.empty() ? "/tmp" : home) / ".cache" / "kernelsmith";
}

std::filesystem::path FolderSettings::UserData() const {
  // The specification of these folders wants relative ones ignored.
  if (xdg_data.is_absolute()) return xdg_data / "kernelsmith";
  return (home.empty() ? "/tmp" : home) / ".local" / "share" / "kernelsmith";
}

std::span<const Setting> AllSettings() { return kSettings; }

Settings SettingsFrom(const EnvironmentLookup& lookup, Status& problems) {
  Settings settings;
  std::vector<Diagnostic> wrong;
  for (const Setting& setting : kSettings) {
    if (setting.set == nullptr) continue;
    const char* value = lookup(setting.variable);
    if (value == nullptr) continue;
    // Of all variables only this one means something when it is empty.
    const bool may_be_empty = std::string_view(setting.variable) == "CUDA_VISIBLE_DEVICES";
    if (*value == '\0' && !may_be_empty) continue;
    if (const char* expected = setting.set(settings, value)) {
      wrong.push_back({.message = fmt::format("{} must be {}, not '{}'", setting.variable, expected,
                                              EscapeForTerminal(value))});
    }
  }
  settings.key = [lookup](const std::string& variable) -> std::string {
    const char* value = lookup(variable.c_str());
    return value == nullptr ? "" : value;
  };
  problems = wrong.empty() ? Status() : Status(Error(ErrorKind::kInvalidInput, std::move(wrong)));
  return settings;
}

Settings SettingsFromEnvironment(Status& problems) {
  return SettingsFrom([](const char* name) { return std::getenv(name); }, problems);
}

std::map<std::string, std::string> VariablesOf(const EngineSettings& settings) {
  return {{"KERNELSMITH_ENGINE", Name(settings.engine)},
          {"KERNELSMITH_PARALLEL_ATOMICS", settings.parallel_atomics ? "1" : "0"},
          {"KERNELSMITH_VERBOSE", settings.verbose ? "1" : "0"}};
}

}  // namespace kernelsmith
