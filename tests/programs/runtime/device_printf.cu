// NVCC:
// RUN: %kernelsmith run %x
// OUT:
// | plain text, no arguments
// | int -42, unsigned 4000000000, hex 0xdeadbeef, octal 17, char K, percent %
// | width [    7] [7    ] [00007] [+7]
// | long long -1234567890123456789, unsigned 18446744073709551615, hex ffffffffffffffff
// | float 3.141593, scientific 1.500000e+10, general 0.0001, precise 2.718281828459
// | string hello and [     right] and [left ]
// | star [  42] [3.14]
// | inf -inf nan
// | thread 0 of block 0
// | thread 1 of block 0
// | thread 2 of block 0
// | many 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19
// | after the host line
// | ok
//
// printf on the device: every kind of conversion, in order, flushed when the host synchronises.
#include "../check.h"

__global__ void Formats(float tiny) {
  printf("plain text, no arguments\n");
  printf("int %d, unsigned %u, hex %#x, octal %o, char %c, percent %%\n", -42, 4000000000u,
         0xdeadbeefu, 15, 'K');
  printf("width [%5d] [%-5d] [%05d] [%+d]\n", 7, 7, 7, 7);
  printf("long long %lld, unsigned %llu, hex %llx\n", -1234567890123456789ll, ~0ull, ~0ull);
  printf("float %f, scientific %e, general %g, precise %.12f\n", 3.14159265f, 1.5e10, tiny,
         2.718281828459045);
  printf("string %s and [%10s] and [%-5s]\n", "hello", "right", "left");
  printf("star [%*d] [%.*f]\n", 4, 42, 2, 3.14159);
  printf("%f %f %f\n", INFINITY, -INFINITY, static_cast<double>(NAN));
}

__global__ void Threads() { printf("thread %d of block %d\n", threadIdx.x, blockIdx.x); }

__global__ void Many(int* result) {
  *result = printf("many %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d\n", 0, 1, 2, 3,
                   4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19);
}

__global__ void Last() { printf("after the %s line\n", "host"); }

int main() {
  Formats<<<1, 1>>>(0.0001f);
  LAUNCH_OK();
  Threads<<<1, 3>>>();
  LAUNCH_OK();
  DeviceArray<int> result(1);
  Many<<<1, 1>>>(result.data());
  LAUNCH_OK();
  ExpectEqual("printf returns the number of arguments", result.Get()[0], 20);
  std::fflush(stdout);
  Last<<<1, 1>>>();
  LAUNCH_OK();
  return Finish();
}
