// NVCC:
// RUN: echo "line of input" | %kernelsmith run %x one --gpu "two words" > %t; code=$?; cat %t; exit $code
// Arguments, standard input and the exit code are the program's own.
// EXIT: 42
// OUT:
// | one
// | --gpu
// | two words
// | read: line of input
#include <cstdio>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("%s\n", argv[i]);
  char line[100] = {};
  std::printf("read: %s", std::fgets(line, sizeof(line), stdin));
  return 42;
}
