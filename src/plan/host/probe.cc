// A candidate of ours that tries to get through each wall and says how that went: doctor shows it.
// It is built as candidates are, apart from having no kernels.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <torch/extension.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace {

void Say(const char* wall, bool held) {
  std::fprintf(stderr, "%s %s\n", held ? "held" : "broken", wall);
}

bool SeesCanary() {
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "KS_CANARY=", 10) == 0) return true;
  }
  return false;
}

bool SeesDescriptor() {
  for (int file = 100; file < 200; ++file) {
    if (::fcntl(file, F_GETFD) >= 0) return true;
  }
  return false;
}

bool Forks() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child > 0;
}

bool CallsByItself() {
  long result = 0;
  asm volatile("syscall" : "=a"(result) : "a"(SYS_gettid) : "rcx", "r11", "memory");
  return result > 0;
}

bool MakesCode() {
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && ::mprotect(memory, 4096, PROT_READ | PROT_EXEC) == 0;
}

bool TakesMemory() {
  void* volatile memory = std::malloc(size_t{3} << 30);  // or the compiler takes it for granted
  const bool got = memory != nullptr;
  std::free(memory);
  return got;
}

int Probe() {
  const char nothing = 0;
  Say("environment", !SeesCanary());
  Say("descriptors", !SeesDescriptor());
  Say("files", ::open("/etc/passwd", O_RDONLY) < 0 && ::open("/proc/self/environ", O_RDONLY) < 0);
  Say("network", ::socket(AF_INET, SOCK_STREAM, 0) < 0 && ::socket(AF_UNIX, SOCK_STREAM, 0) < 0);
  Say("processes", !Forks() && ::kill(::getppid(), 0) != 0);
  Say("memory", !TakesMemory());
  Say("instructions", !CallsByItself());
  Say("code", !MakesCode());
  Say("channel", ::write(3, &nothing, 0) < 0);
  std::fflush(stderr);
  return 0;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("probe", &Probe); }
