#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>

#include "cli/application.h"

namespace {

std::string Environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kernelsmith;
  // A reader that stops reading (`kernelsmith ... | head`) ends us quietly, as other tools do.
  std::signal(SIGPIPE, SIG_DFL);
  SystemClock clock;
  DiskFileSystem files;
  SystemProcessRunner processes;
  ToolFinder tools(processes, files, Environment, KS_PROJECT_DIR);
  const bool no_color = !Environment("NO_COLOR").empty() || Environment("TERM") == "dumb";
  Session session{.out = std::cout,
                  .err = std::cerr,
                  .out_is_terminal = ::isatty(STDOUT_FILENO) != 0 && !no_color,
                  .err_is_terminal = ::isatty(STDERR_FILENO) != 0 && !no_color,
                  .clock = clock,
                  .files = files,
                  .processes = processes,
                  .tools = tools};
  int code = kExitInternal;
  try {
    code = RunApplication(std::vector<std::string>(argv + 1, argv + argc), session);
  } catch (const std::exception& exception) {
    std::cerr << "kernelsmith: internal error: " << exception.what() << '\n';
  }
  std::cout.flush();
  if (!std::cout) {
    std::cerr << "kernelsmith: error: can't write to standard output\n";
    return kExitInternal;
  }
  return code;
}
