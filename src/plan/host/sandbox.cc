#include "plan/host/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "plan/walls.h"

namespace kernelsmith::host {
namespace {

bool EnterNamespaces() {
  constexpr int kOthers = CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS;
  return ::unshare(CLONE_NEWUSER | kOthers) == 0;
}

// Among all files only `library` may be opened.
bool EnterLandlock(const std::string& library) {
  const auto version =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  landlock_ruleset_attr attributes{};
  // Every right of the first version; later ones only refine writing.
  attributes.handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  const int ruleset = static_cast<int>(
      ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0));
  if (ruleset < 0) return false;
  bool ok = false;
  const int file = ::open(library.c_str(), O_PATH | O_CLOEXEC);
  if (file >= 0) {
    landlock_path_beneath_attr rule{};
    rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE;
    rule.parent_fd = file;
    ok = ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0 &&
         ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    ::close(file);
  }
  ::close(ruleset);
  return ok;
}

uint64_t AddressSpaceInUse() {
  FILE* statm = std::fopen("/proc/self/statm", "re");
  if (statm == nullptr) return 0;
  unsigned long pages = 0;
  const int got = std::fscanf(statm, "%lu", &pages);
  std::fclose(statm);
  return got == 1 ? uint64_t{pages} * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

void Limit(__rlimit_resource resource, uint64_t value) {
  const rlimit limit{value, value};
  ::setrlimit(resource, &limit);
}

}  // namespace

Walls EnterSandbox(const std::string& library, uint64_t memory,
                   const std::set<std::string>& without) {
  Walls standing;
  const uint64_t in_use = AddressSpaceInUse();
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!without.contains(walls::kNamespaces) && EnterNamespaces())
    standing.names.emplace_back("namespaces");
  if (!without.contains(walls::kLandlock) && EnterLandlock(library))
    standing.names.emplace_back("landlock");
  Limit(RLIMIT_CORE, 0);
  if (in_use > 0 && !without.contains(walls::kMemory)) {
    Limit(RLIMIT_AS, in_use + memory);
    standing.names.emplace_back("memory");
  }
  standing.filter = InstallSystemCallFilter(without);
  if (standing.filter.listener < 0) {
    // Without this wall nothing may run.
    std::fprintf(stderr, "seccomp is not available: %s\n", std::strerror(errno));
    ::_exit(3);
  }
  standing.names.emplace_back("seccomp");
  return standing;
}

}  // namespace kernelsmith::host
