#include "cli/session.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "support/rng.h"

namespace kernelsmith {
namespace {

int TerminalColumns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

uint64_t Session::Seed() {
  if (!seed_option) seed_option = RandomSeed();
  return *seed_option;
}

std::unique_ptr<Progress> Session::MakeProgress() {
  if (quiet) return std::make_unique<SilentProgress>();
  if (err_is_terminal) return std::make_unique<BarProgress>(err, clock, TerminalColumns());
  return std::make_unique<LineProgress>(err, clock);
}

void Session::PrintJson(const nlohmann::json& document) {
  // `replace`: text from candidates and tools need not be UTF-8, and must not end the command.
  out << document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

std::string Session::Paint(const char* code, const std::string& text) const {
  return ColorOut() ? std::string("\033[") + code + "m" + text + "\033[0m" : text;
}

}  // namespace kernelsmith
