// Every setting that comes from outside: one struct, filled from the environment in one place
// (settings.cc) by each program, changed by the options of its command line, and handed down.
// Nothing else reads the environment. docs/settings.md has the variables in a table.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/result.h"

namespace kernelsmith {

// What runs kernels. Both give the same results, bit for bit; observers need the interpreter, or a
// screen (vgpu/screen.h).
enum class Engine : uint8_t {
  kAuto,  // the interpreter, until a kernel has cost as much as compiling it does
  kJit,   // compiled code wherever possible
  kInterpreter,
};
// "auto", "jit", "interpreter".
const char* Name(Engine engine);
std::optional<Engine> EngineByName(std::string_view name);

// Of the virtual GPU.
struct EngineSettings {
  Engine engine = Engine::kAuto;  // KERNELSMITH_ENGINE
  // KERNELSMITH_PARALLEL_ATOMICS. Blocks run in order, one after the other, where the order could
  // show: float atomics, atomics whose old value is used, printf. True: on all threads
  // nevertheless.
  bool parallel_atomics = false;
  uint32_t threads = 0;      // KERNELSMITH_THREADS: for compiled blocks; 0: one a processor
  bool verbose = false;      // KERNELSMITH_VERBOSE: says what was compiled or screened, and why not
  bool full_checks = false;  // KERNELSMITH_CHECKS=full: checkers see launches without a screen
  bool base_isa = false;     // KERNELSMITH_ISA=base: code for any x86-64, whatever the machine has
  std::string jit_library;   // KERNELSMITH_JIT_LIBRARY: the compiler; empty: beside this program
  bool jit_thorough = false;  // KERNELSMITH_JIT_THOROUGH: compiles long ways of parts of warps too
  bool jit_dump = false;      // KERNELSMITH_JIT_DUMP: prints the LLVM code of kernels
  // KERNELSMITH_STREAM_BYTES: outputs from this size on go past the caches. Without it those that
  // are as large as the last-level cache.
  std::optional<uint64_t> stream_bytes;
};

// Of the CUDA runtime library that programs load.
struct RuntimeSettings {
  std::string gpu;  // KERNELSMITH_GPU: the model to pose as; empty: the default one
  std::optional<std::chrono::seconds> watchdog;  // KERNELSMITH_WATCHDOG_S; 0: none
  std::chrono::milliseconds patience{1000};    // KERNELSMITH_PATIENCE_MS: of launches with kernels
  bool quiet = false;                          // KERNELSMITH_QUIET: no messages of ours
  std::optional<std::string> visible_devices;  // CUDA_VISIBLE_DEVICES
  std::string checks;                          // KERNELSMITH_CHECK: names of checks
  std::string check_report;                    // KERNELSMITH_CHECK_REPORT: a file for findings
  std::string profile;                         // KERNELSMITH_PROFILE: a file for counters
  std::optional<uint64_t> profile_blocks;      // KERNELSMITH_PROFILE_BLOCKS: to watch; 0: all
  std::optional<uint64_t> profile_seed;        // KERNELSMITH_PROFILE_SEED: which blocks
  bool profile_watched_only = false;           // KERNELSMITH_PROFILE_WATCHED_ONLY
};

// Empty: the places where the installation has them.
struct FolderSettings {
  std::filesystem::path home;       // HOME
  std::filesystem::path xdg_cache;  // XDG_CACHE_HOME
  std::filesystem::path xdg_data;   // XDG_DATA_HOME
  std::filesystem::path cache;      // KERNELSMITH_CACHE
  uint64_t cache_mib = 2048;        // KERNELSMITH_CACHE_MIB: how large it may grow; 0: no limit
  std::filesystem::path data;       // KERNELSMITH_HOME: holds python/, tasks/ and prompts/
  std::filesystem::path headers;    // KERNELSMITH_HEADERS: our light torch headers
  std::filesystem::path libraries;  // KERNELSMITH_LIB_DIR: holds our libcudart.so.13
  std::filesystem::path tracer;     // KERNELSMITH_TRACER: the program, not a folder

  // Where caches go: `cache`, or kernelsmith in $XDG_CACHE_HOME or ~/.cache.
  std::filesystem::path Cache() const;
  // Where data of the user goes: kernelsmith in $XDG_DATA_HOME or ~/.local/share.
  std::filesystem::path UserData() const;
};

// Outside programs. Empty: searched for, see tool_finder.h.
struct ToolSettings {
  std::string search_path;            // PATH
  std::filesystem::path cuda_home;    // CUDA_HOME
  std::filesystem::path cuda_path;    // CUDA_PATH
  std::filesystem::path nvcc;         // KERNELSMITH_NVCC
  std::filesystem::path ptxas;        // KERNELSMITH_PTXAS
  std::filesystem::path clang;        // KERNELSMITH_CLANG
  std::filesystem::path llvm_config;  // KERNELSMITH_LLVM_CONFIG
  std::filesystem::path python;       // KERNELSMITH_PYTHON
  std::filesystem::path nvidia_smi;   // KERNELSMITH_NVIDIA_SMI
  bool without_landlock = false;      // KERNELSMITH_WITHOUT_LANDLOCK: where the kernel has none
};

struct Settings {
  EngineSettings engine;
  RuntimeSettings runtime;
  FolderSettings folders;
  ToolSettings tools;
  // The key of a language model by its variable: providers name theirs (llm/dialect.h). "": none.
  std::function<std::string(const std::string& variable)> key;
  std::string task;          // KERNELSMITH_TASK: of ask-verifier
  std::string direction;     // KERNELSMITH_DIRECTION: of ask-verifier
  bool no_color = false;     // NO_COLOR, or TERM is dumb
  std::string library_path;  // LD_LIBRARY_PATH: programs get ours in front of it
  std::string preload;       // LD_PRELOAD: the same
};

// A row of the table in docs/settings.md, which settings_test.cc compares with these.
struct Setting {
  const char* variable;
  const char* values;     // what it can be
  const char* otherwise;  // when it is not set, or empty
  const char* readers;    // programs
  const char* meaning;
  // What was expected instead, if the value makes no sense; nothing is set then. Null: the variable
  // belongs to somebody else (the bridge, tests), and is here so that the table is complete.
  const char* (*set)(Settings& settings, const std::string& value);
};
std::span<const Setting> AllSettings();

// Null for what is not set.
using EnvironmentLookup = std::function<const char*(const char* name)>;

// `problems` becomes an error with one diagnostic for every value that makes no sense; such
// settings keep their defaults.
Settings SettingsFromEnvironment(Status& problems);
Settings SettingsFrom(const EnvironmentLookup& lookup, Status& problems);

// What children of this process have to find in their environment so that options of our command
// line hold for them as well.
std::map<std::string, std::string> VariablesOf(const EngineSettings& settings);

}  // namespace kernelsmith
