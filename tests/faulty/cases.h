// What the programs of this folder have in common: cases by name, each in a bad and a good version,
// and device arrays that are freed.
#pragma once

#include <cstdio>
#include <cstring>

struct Case {
  const char* name;
  void (*run)(bool bad);
  Case* next;
  static Case*& First() {
    static Case* first = nullptr;
    return first;
  }
  Case(const char* n, void (*r)(bool)) : name(n), run(r), next(First()) { First() = this; }
};

#define CASE(name)                             \
  static void Run_##name(bool bad);            \
  static Case case_##name(#name, &Run_##name); \
  static void Run_##name(bool bad)

// Zeroed, so that only what a case is about goes wrong.
template <typename T>
struct DeviceArray {
  T* data = nullptr;
  explicit DeviceArray(size_t count) {
    cudaMalloc(&data, count * sizeof(T));
    cudaMemset(data, 0, count * sizeof(T));
  }
  ~DeviceArray() {
    cudaDeviceSynchronize();
    cudaFree(data);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
};

#define CASES_MAIN()                                                \
  int main(int argc, char** argv) {                                 \
    const bool bad = argc > 2 && std::strcmp(argv[2], "bad") == 0;  \
    for (Case* c = Case::First(); c != nullptr; c = c->next) {      \
      if (argc > 1 && std::strcmp(c->name, argv[1]) != 0) continue; \
      if (argc == 1) {                                              \
        std::puts(c->name);                                         \
        continue;                                                   \
      }                                                             \
      c->run(bad);                                                  \
      cudaDeviceSynchronize();                                      \
      return 0;                                                     \
    }                                                               \
    return argc == 1 ? 0 : 2;                                       \
  }
