#include "cli/task_store.h"

#include <fmt/format.h>

#include <charconv>

#include "cli/session_cache.h"
#include "support/rng.h"

namespace kernelsmith {
namespace {

namespace fs = std::filesystem;

// A secret that is renewed too seldom could be learned from many verdicts.
constexpr std::chrono::hours kSecretAge{24};

// 32 random bits, never 0, the same for a day as far as the disk allows.
uint64_t DailySecret(Session& session) {
  PrepareCache(session);
  const fs::path cache = session.settings.folders.Cache();
  const fs::path file = cache / "draw_secret";
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  if (!error && fs::file_time_type::clock::now() - written < kSecretAge) {
    if (const Result<std::string> text = session.files.Read(file); text.ok()) {
      uint32_t secret = 0;
      std::from_chars(text->data(), text->data() + text->size(), secret, 16);
      if (secret != 0) return secret;
    }
  }
  const auto secret = static_cast<uint32_t>(RandomSeed() >> 32) | 1;
  if (session.files.MakeDirectories(cache).ok() &&
      session.files.Write(file, fmt::format("{:08x}\n", secret)).ok()) {
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write, error);
  }
  return secret;
}

}  // namespace

uint64_t VerificationSeed(Session& session) {
  if (!session.seed_option) {
    session.seed_option = DailySecret(session) << 32 | (RandomSeed() & 0xffffffff);
  }
  return *session.seed_option;
}

fs::path DataFolder(const Session& session) {
  if (!session.settings.folders.data.empty()) return session.settings.folders.data;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path installed = program.parent_path().parent_path() / "share" / "kernelsmith";
    if (fs::exists(installed / "python", error)) return installed;
  }
  return KS_PROJECT_DIR;
}

TaskStoreOptions DefaultTaskStoreOptions(Session& session, bool needs_torch) {
  PrepareCache(session);
  TaskStoreOptions options;
  if (needs_torch) {
    if (const std::optional<Tool> python = session.tools.PythonWithTorch()) {
      options.python = python->path;
      options.torch_version = python->version;
    }
  }
  options.bridge = DataFolder(session) / "python";
  options.suite = DataFolder(session) / "tasks";
  options.cache = session.settings.folders.Cache();
  return options;
}

}  // namespace kernelsmith
