#include "support/toolchain_walls.h"

#include <system_error>

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// Compilers, binutils, their libraries and the headers of C, C++ and Linux. Nothing of users, tasks
// or this project is in them.
constexpr const char* kSystem[] = {"/usr/bin",
                                   "/usr/include",
                                   "/usr/lib",
                                   "/usr/lib64",
                                   "/usr/libexec",
                                   "/usr/lib32",
                                   "/usr/libx32",
                                   "/bin",
                                   "/lib",
                                   "/lib64",
                                   "/lib32",
                                   "/etc/ld.so.cache",
                                   "/usr/x86_64-linux-gnu"};
constexpr const char* kPartsOfTool[] = {"bin",  "include", "lib",    "lib64",
                                        "nvvm", "targets", "libexec"};

}  // namespace

std::vector<fs::path> FoldersOfTool(const fs::path& program) {
  std::vector<fs::path> folders;
  // The prefix as it is named and as links have it: the set-up may make a folder of links.
  for (const fs::path& prefix : {fs::absolute(program).parent_path().parent_path(),
                                 fs::weakly_canonical(program).parent_path().parent_path()}) {
    for (const char* part : kPartsOfTool) {
      std::error_code error;
      if (fs::is_directory(prefix / part, error)) folders.push_back(prefix / part);
    }
  }
  return folders;
}

void Confine(ProcessRequest& request, const ToolchainWalls& walls) {
  Confinement confinement = request.confinement.value_or(Confinement{});
  for (const char* path : kSystem) confinement.readable.emplace_back(path);
  std::string path = "/usr/bin:/bin";
  if (const fs::path program = request.argv.front(); program.is_absolute()) {
    for (fs::path& folder : FoldersOfTool(program)) {
      confinement.readable.push_back(std::move(folder));
    }
    path = program.parent_path().string() + ":" + path;
  }
  confinement.readable.insert(confinement.readable.end(), walls.readable.begin(),
                              walls.readable.end());
  confinement.writable.emplace_back("/dev/null");
  request.env = {{"PATH", path}, {"LANG", "C"}, {"LC_ALL", "C"}};
  if (!walls.scratch.empty()) {
    confinement.writable.push_back(walls.scratch);
    request.env["TMPDIR"] = walls.scratch.string();
  }
  request.only_env = true;
  request.confinement = std::move(confinement);
}

}  // namespace kernelsmith
