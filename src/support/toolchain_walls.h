// The walls that every tool stands behind which reads a candidate, or something made of one: nvcc
// and what it starts, clang, assembler, linker, objcopy, addr2line, ptxas.
#pragma once

#include <filesystem>
#include <vector>

#include "support/subprocess.h"

namespace kernelsmith {

// The folders of an installation that `program` belongs to (bin, include, lib, ...), wherever links
// lead: never its whole prefix, which may be somebody's home.
std::vector<std::filesystem::path> FoldersOfTool(const std::filesystem::path& program);

struct ToolchainWalls {
  std::vector<std::filesystem::path> readable;  // beside the system's compilers and headers
  std::filesystem::path scratch;  // may be written, has temporary files; empty: nothing is written
};

// Confines `request`: it sees the system's toolchain (/usr/include, /usr/lib, /usr/bin ...), its
// own installation and what `walls` names, and has an environment that says where programs and
// temporary files are, and nothing else.
void Confine(ProcessRequest& request, const ToolchainWalls& walls);

}  // namespace kernelsmith
