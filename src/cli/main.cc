#include <unistd.h>

#include <csignal>
#include <exception>
#include <iostream>

#include "cli/application.h"

int main(int argc, char** argv) {
  using namespace kernelsmith;
  // A reader that stops reading (`kernelsmith ... | head`) ends us quietly, as other tools do.
  std::signal(SIGPIPE, SIG_DFL);
  SystemClock clock;
  DiskFileSystem files;
  SystemProcessRunner processes;
  Status problems;
  const Settings settings = SettingsFromEnvironment(problems);
  ToolFinder tools(processes, files, settings.tools, KS_PROJECT_DIR);
  Session session{.settings = settings,
                  .settings_problems = problems,
                  .out = std::cout,
                  .err = std::cerr,
                  .out_is_terminal = ::isatty(STDOUT_FILENO) != 0 && !settings.no_color,
                  .err_is_terminal = ::isatty(STDERR_FILENO) != 0 && !settings.no_color,
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
