#include "support/processor_time.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace kernelsmith {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Of a child that lives, with its own children that it has waited for.
double SecondsOfChild(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // Behind the program's name, which may hold anything.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream words(text.substr(name_end + 1));
  constexpr int kFirstTime = 14;  // of four: user, system, and both of waited-for children
  constexpr int kFirstWord = 3;   // behind the name; proc(5)
  double ticks = 0;
  std::string word;
  for (int i = kFirstWord; i < kFirstTime + 4 && words >> word; ++i) {
    if (i >= kFirstTime) ticks += std::strtod(word.c_str(), nullptr);
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

double ProcessorSeconds() {
  double seconds = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    if (::getrusage(who, &usage) == 0) seconds += Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  }
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream children(thread.path() / "children");
    for (std::string pid; children >> pid;) seconds += SecondsOfChild(pid);
  }
  return seconds;
}

}  // namespace kernelsmith
