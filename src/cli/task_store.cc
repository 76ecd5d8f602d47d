#include "cli/task_store.h"

#include <cstdlib>

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

fs::path DataFolder() {
  if (const std::string home = Environment("KERNELSMITH_HOME"); !home.empty()) return home;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = program.parent_path().parent_path() / "share" / "kernelsmith";
    if (fs::exists(installed / "python", error)) return installed;
  }
  return KS_PROJECT_DIR;
}

fs::path CacheFolder() {
  if (const std::string folder = Environment("XDG_CACHE_HOME"); !folder.empty()) {
    return fs::path(folder) / "kernelsmith";
  }
  const std::string home = Environment("HOME");
  return fs::path(home.empty() ? "/tmp" : home) / ".cache" / "kernelsmith";
}

TaskStoreOptions DefaultTaskStoreOptions(Session& session, bool needs_torch) {
  TaskStoreOptions options;
  if (needs_torch) {
    if (const std::optional<Tool> python = session.tools.PythonWithTorch()) {
      options.python = python->path;
      options.torch_version = python->version;
    }
  }
  options.bridge = DataFolder() / "python";
  options.suite = DataFolder() / "tasks";
  options.cache = CacheFolder();
  return options;
}

}  // namespace kernelsmith
