#include "support/processor_time.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

namespace kernelsmith {
namespace {

// Uses a tenth of a second of processor time.
void Work() {
  const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 10;
  while (std::clock() < end) continue;
}

TEST(ProcessorTime, CountsThisProcess) {
  const double before = ProcessorSeconds();
  Work();
  EXPECT_GE(ProcessorSeconds() - before, 0.09);
}

TEST(ProcessorTime, CountsAChildThatLivesAndTheSameAfterItsEnd) {
  int done[2];
  int leave[2];
  ASSERT_EQ(::pipe(done), 0);
  ASSERT_EQ(::pipe(leave), 0);
  const double before = ProcessorSeconds();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  char byte = 0;
  if (child == 0) {
    Work();
    static_cast<void>(::write(done[1], &byte, 1));
    static_cast<void>(::read(leave[0], &byte, 1));
    ::_exit(0);
  }
  ASSERT_EQ(::read(done[0], &byte, 1), 1);
  const double living = ProcessorSeconds() - before;
  EXPECT_GE(living, 0.07);  // the system counts in hundredths
  ASSERT_EQ(::write(leave[1], &byte, 1), 1);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_GE(ProcessorSeconds() - before, living - 0.03);
}

}  // namespace
}  // namespace kernelsmith
