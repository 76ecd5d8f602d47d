#include "cli/interrupt.h"

#include <signal.h>

namespace kernelsmith {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it
struct sigaction old_interrupt;
struct sigaction old_terminate;

void Handle(int signal) {
  interrupted = true;
  // The next one ends us.
  ::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  interrupted = false;
  struct sigaction action{};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, &old_interrupt);
  ::sigaction(SIGTERM, &action, &old_terminate);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &old_interrupt, nullptr);
  ::sigaction(SIGTERM, &old_terminate, nullptr);
}

const std::atomic<bool>& Interrupt::flag() { return interrupted; }

}  // namespace kernelsmith
