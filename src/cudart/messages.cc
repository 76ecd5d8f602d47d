#include "cudart/messages.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace kernelsmith::cudart {

void Say(std::string_view message) {
  const char* quiet = std::getenv("KERNELSMITH_QUIET");
  if (quiet != nullptr && std::strcmp(quiet, "1") == 0) return;
  std::string line = "kernelsmith: ";
  line += message;
  if (line.back() != '\n') line += '\n';
  // One write, so that lines of several threads don't mix; past the program's own buffers, as
  // standard error is unbuffered.
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace kernelsmith::cudart
