#include "cudart/messages.h"

#include <unistd.h>

#include <string>

#include "cudart/runtime.h"

namespace kernelsmith::cudart {

namespace {

// One write, so that lines of several threads don't mix; past the program's own buffers, as
// standard error is unbuffered.
void WriteLine(std::string line) {
  if (line.empty() || line.back() != '\n') line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<size_t>(written));
  }
}

}  // namespace

void Say(std::string_view message) {
  if (Runtime::Get().settings().runtime.quiet) return;
  WriteLine("kernelsmith: " + std::string(message));
}

void SayAsCuda(std::string_view line) { WriteLine(std::string(line)); }

}  // namespace kernelsmith::cudart
