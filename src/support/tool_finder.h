// Finds the outside programs and libraries that the product uses, in one order for everybody: the
// settings, PATH, the places where they are usually installed, and what the
// set-up put into the project's .venv.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/file_system.h"
#include "support/settings.h"
#include "support/subprocess.h"

namespace kernelsmith {

struct Tool {
  std::filesystem::path path;
  std::string version;  // as the tool prints it, e.g. "13.0.88"
};

class ToolFinder {
 public:
  // `project` is the folder that holds .venv.
  ToolFinder(ProcessRunner& processes, const FileSystem& files, ToolSettings settings,
             std::filesystem::path project);

  // nvcc: $KERNELSMITH_NVCC, .venv/cuda (which the set-up makes only where the system has no nvcc
  // 13), PATH, $CUDA_HOME/bin, /usr/local/cuda/bin.
  std::optional<Tool> Nvcc();
  // The assembler beside nvcc; tells registers and spills.
  std::optional<Tool> Ptxas();
  // libnvrtc.so of the toolkit or of .venv. The version is that of the file name.
  std::optional<Tool> Nvrtc();
  // clang++ 16 or later: $KERNELSMITH_CLANG, clang++-19, clang++.
  std::optional<Tool> Clang();
  std::optional<Tool> Llvm();
  // A python that has torch 2.5 or later: $KERNELSMITH_PYTHON, python3, .venv/bin/python. The
  // version is torch's.
  std::optional<Tool> PythonWithTorch();
  // Names of NVIDIA GPUs with a working driver, as nvidia-smi lists them; usually none.
  std::vector<std::string> Gpus();

 private:
  // The first of `candidates` that runs with `arguments` and exits 0, and its output.
  struct Answer {
    std::filesystem::path path;
    std::string output;
  };
  std::optional<Answer> FirstThatRuns(const std::vector<std::filesystem::path>& candidates,
                                      const std::vector<std::string>& arguments);
  // `given` alone, or `name` in PATH and then in each of `folders`.
  std::vector<std::filesystem::path> Places(
      const std::filesystem::path& given, const std::string& name,
      const std::vector<std::filesystem::path>& folders) const;
  // The compiler or the assembler: that in `first`, the set-up's, then the system's.
  std::optional<Tool> CudaProgram(const std::filesystem::path& given, const std::string& name,
                                  const std::optional<std::filesystem::path>& first);
  // What PATH names may be a script that starts the compiler of another folder. Behind its walls
  // (toolchain_walls.h) a compiler may run and read only what is in its own folders, so it is
  // started without the script: `found`, or the program of that name in `folder`, where the
  // compiler itself says that it is.
  std::filesystem::path BehindWrapper(const std::filesystem::path& found,
                                      const std::string& folder) const;
  // bin/ or lib/ folders of CUDA installations.
  std::vector<std::filesystem::path> CudaFolders(const std::string& subfolder) const;
  // .venv/lib/python3.*/site-packages
  std::optional<std::filesystem::path> SitePackages() const;

  ProcessRunner& processes_;
  const FileSystem& files_;
  ToolSettings settings_;
  std::filesystem::path project_;
};

// The first "1.2" or "1.2.3" in `text`; empty if there is none.
std::string FindVersion(const std::string& text);

// -1, 0 or 1: compares the dotted numbers; "2.5.1+cu124" is 2.5.1.
int CompareVersions(const std::string& a, const std::string& b);

}  // namespace kernelsmith
