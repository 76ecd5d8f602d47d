// `kernelsmith doctor`: what was found of the tools we use, and what each missing one costs.
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "cli/commands.h"
#include "cli/judge_tools.h"
#include "cli/version.h"
#include "plan/trace.h"

namespace kernelsmith {
namespace {

struct Row {
  std::string name;
  std::optional<Tool> tool;
  bool needed;          // without it a main command does not work
  std::string without;  // what its absence costs
  std::string get;      // how to get it
};

std::vector<Row> Examine(ToolFinder& tools) {
  std::vector<Row> rows;
  rows.push_back({"nvcc", tools.Nvcc(), true, "candidates (.cu) can't be compiled",
                  "make run installs it from PyPI; or set CUDA_HOME or KERNELSMITH_NVCC"});
  rows.push_back({"ptxas", tools.Ptxas(), false, "registers and spills of a kernel are estimated",
                  "comes with nvcc"});
  rows.push_back({"nvrtc", tools.Nvrtc(), false, "device code is compiled by nvcc, which is slower",
                  "comes with the CUDA toolkit and with torch"});
  rows.push_back({"clang", tools.Clang(), false, "host code is compiled by nvcc, which is slower",
                  "apt-get install clang-19"});
  rows.push_back({"llvm", tools.Llvm(), false, "kernelsmith itself can't be built",
                  "apt-get install llvm-19-dev"});
  rows.push_back({"torch", tools.PythonWithTorch(), true, "PyTorch tasks can't be read",
                  "make run installs it into .venv; or set KERNELSMITH_PYTHON"});
  return rows;
}

// The walls around a candidate's host code, and what each keeps out.
struct Wall {
  const char* name;
  const char* keeps_out;
  bool needed;  // nothing is traced without it
};
constexpr Wall kWalls[] = {
    {"seccomp", "new processes, sockets, ptrace, signals to others, opening files", true},
    {"landlock", "every file but the candidate's library, while that is loaded", false},
    {"namespaces", "the network, other users' processes, mounts: once more", false},
    {"memory", "more host memory than the limit", false},
};

// What host code would like to get at: each is tried for real.
struct Aim {
  const char* name;
  const char* what;
};
constexpr Aim kAims[] = {
    {"environment", "variables of this program, keys among them"},
    {"descriptors", "files that this program has open"},
    {"files", "any file"},
    {"network", "the network, and sockets of this machine"},
    {"processes", "new processes, and signals to others"},
    {"memory", "more memory than the limit"},
    {"instructions", "system calls by instructions of its own"},
    {"code", "memory that it writes code into"},
    {"channel", "the line on which its calls are told"},
};

std::string SystemName(const FileSystem& files) {
  utsname name{};
  ::uname(&name);
  std::string distribution = "unknown system";
  if (const Result<std::string> release = files.Read("/etc/os-release"); release.ok()) {
    const size_t start = release->find("PRETTY_NAME=\"");
    if (start != std::string::npos) {
      const size_t begin = start + 13;
      distribution = release->substr(begin, release->find('"', begin) - begin);
    }
  }
  return fmt::format("{}, Linux {}, {}", distribution, name.release, name.machine);
}

Result<ExitCode> Doctor(Session& session) {
  const std::vector<Row> rows = Examine(session.tools);
  const std::vector<std::string> gpus = session.tools.Gpus();
  const Result<SandboxState> sandbox_state = TrySandbox(session.processes);
  const auto stands = [&](const Wall& wall) {
    return sandbox_state.ok() && std::find(sandbox_state->walls.begin(), sandbox_state->walls.end(),
                                           wall.name) != sandbox_state->walls.end();
  };
  const auto held = [&](const Aim& aim) {
    if (!sandbox_state.ok()) return false;
    const auto found = sandbox_state->tried.find(aim.name);
    return found != sandbox_state->tried.end() && found->second;
  };
  CandidateCompiler compiler = MakeCompiler(session);
  const Result<bool> compilers = compiler.WallsStand();
  const bool compilers_walled = compilers.ok() && *compilers;
  bool complete = compilers_walled;
  for (const Aim& aim : kAims) complete &= held(aim);
  for (const Wall& wall : kWalls) complete &= stands(wall) || !wall.needed;
  for (const Row& row : rows) complete &= row.tool.has_value() || !row.needed;
  const unsigned cores = std::thread::hardware_concurrency();

  if (session.json) {
    nlohmann::json found = nlohmann::json::object();
    for (const Row& row : rows) {
      found[row.name] =
          row.tool ? nlohmann::json{{"found", true},
                                    {"path", row.tool->path.string()},
                                    {"version", row.tool->version}}
                   : nlohmann::json{{"found", false}, {"without", row.without}, {"get", row.get}};
    }
    nlohmann::json sandbox = nlohmann::json::object();
    for (const Wall& wall : kWalls) sandbox[wall.name] = stands(wall);
    nlohmann::json tried = nlohmann::json::object();
    for (const Aim& aim : kAims) tried[aim.name] = held(aim);
    session.PrintJson({{"version", kVersion},
                       {"system", SystemName(session.files)},
                       {"cores", cores},
                       {"tools", std::move(found)},
                       {"sandbox", std::move(sandbox)},
                       {"kept_out", std::move(tried)},
                       {"compilers", {{"walled", compilers_walled}}},
                       {"gpus", gpus},
                       {"complete", complete}});
    return complete ? kExitOk : kExitInconclusive;
  }

  session.out << fmt::format("kernelsmith {} on {}, {} cores\n\n", kVersion,
                             SystemName(session.files), cores);
  for (const Row& row : rows) {
    if (row.tool) {
      session.out << fmt::format("  {} {:<11} {:<12} {}\n", session.Paint("32", "found  "),
                                 row.name, row.tool->version, row.tool->path.string());
    } else {
      session.out << fmt::format("  {} {:<11} without it: {}\n  {:19} to get it: {}\n",
                                 session.Paint(row.needed ? "31" : "33", "missing"), row.name,
                                 row.without, "", row.get);
    }
  }
  for (const std::string& gpu : gpus) {
    session.out << fmt::format("  {} {:<11} {}\n", session.Paint("32", "found  "), "gpu", gpu);
  }
  if (gpus.empty()) {
    session.out << fmt::format("  {} {:<11} kernels run on the virtual GPU; times are estimated\n",
                               session.Paint("36", "none   "), "gpu");
  }
  session.out << "\nThe sandbox for candidates' host code keeps out:\n";
  for (const Wall& wall : kWalls) {
    session.out << fmt::format("  {} {:<11} {}\n",
                               stands(wall) ? session.Paint("32", "active ")
                                            : session.Paint(wall.needed ? "31" : "33", "missing"),
                               wall.name, wall.keeps_out);
  }
  if (!sandbox_state.ok()) {
    session.out << fmt::format("  {}\n", sandbox_state.error().message());
  } else {
    session.out << "A candidate of ours tried to get at:\n";
    for (const Aim& aim : kAims) {
      session.out << fmt::format(
          "  {} {:<12} {}\n",
          held(aim) ? session.Paint("32", "kept out") : session.Paint("31", "OPEN    "), aim.name,
          aim.what);
    }
  }
  session.out << "\nThe walls around compilers, tried with a source that reads a file:\n";
  session.out << fmt::format(
      "  {} {:<11} {}\n",
      compilers_walled ? session.Paint("32", "active ") : session.Paint("31", "missing"),
      "landlock", "every file but the toolchain's and the candidate's own");
  if (!compilers.ok()) session.out << fmt::format("  {}\n", compilers.error().message());
  session.out << (complete ? "\nEverything that is needed is here.\n"
                           : "\nSome commands will not work until the missing tools are there.\n");
  return complete ? kExitOk : kExitInconclusive;
}

}  // namespace

void AddDoctor(CLI::App& app, Session& session) {
  CLI::App* command = app.add_subcommand(
      "doctor",
      "Show what was found of nvcc, NVRTC, clang, LLVM, torch and GPUs, and the sandbox's walls");
  command->fallthrough();
  command->callback([&session] { session.action = [&session] { return Doctor(session); }; });
}

}  // namespace kernelsmith
