// NVCC:
// RUN: %kernelsmith run %x
// Ways to launch: triple chevrons, cudaLaunchKernel with argument arrays, cudaLaunchKernelEx with
// attributes, function pointers to kernels, kernels that are static, templated, in anonymous
// namespaces and overloaded, grid constants, and kernels with no arguments and with many of every
// size.
#include "../check.h"

namespace {
__global__ void Same(int* out) { *out += 1; }
}  // namespace
namespace other {
__global__ void Same(int* out) { *out += 10; }
__global__ void Same(int* out, int value) { *out += value; }
}  // namespace other
static __global__ void Hidden(int* out) { *out += 1000; }

template <typename T, int kValue, bool kFlag>
__global__ void Templated(T* out) {
  *out += static_cast<T>(kFlag ? kValue : -kValue);
}

__device__ int g_touched;
__global__ void NoArguments() { atomicAdd(&g_touched, 1); }

struct Pair {
  char a;
  double b;
};
struct Odd {
  unsigned char bytes[7];
};

__global__ void ManySizes(char a, Pair b, short c, Odd d, float e, int3 f, long long g, bool h,
                          float4 i, double* out) {
  double sum = a + b.a * 2 + b.b * 3 + c * 4 + e * 5 + f.x * 6 + f.y * 7 + f.z * 8 + g * 9 +
               h * 10 + i.x * 11 + i.w * 12;
  for (int k = 0; k < 7; ++k) sum += d.bytes[k] * (13 + k);
  *out = sum;
}

struct Table {
  int values[64];
};

__global__ void GridConstant(const __grid_constant__ Table table, int* out) {
  const int* p = table.values;  // its address may be taken
  out[threadIdx.x] = p[63 - threadIdx.x] + table.values[threadIdx.x];
}

__global__ void Dependent(int* out) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  *out *= 2;
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

int main() {
  DeviceArray<int> out(std::vector<int>{0});
  Same<<<1, 1>>>(out.data());
  other::Same<<<1, 1>>>(out.data());
  other::Same<<<1, 1>>>(out.data(), 100);
  Hidden<<<1, 1>>>(out.data());
  Templated<int, 10000, true><<<1, 1>>>(out.data());
  Templated<int, 1, false><<<1, 1>>>(out.data());
  LAUNCH_OK();
  ExpectEqual("names", out.Get()[0], 1 + 10 + 100 + 1000 + 10000 - 1);

  void (*pointer)(int*) = Hidden;
  pointer<<<1, 1>>>(out.data());
  int* address = out.data();
  void* arguments[] = {&address};
  CUDA_OK(cudaLaunchKernel(reinterpret_cast<const void*>(pointer), dim3(1), dim3(1), arguments, 0,
                           nullptr));
  LAUNCH_OK();
  ExpectEqual("pointers", out.Get()[0], 11110 + 2000);

  cudaStream_t stream;
  CUDA_OK(cudaStreamCreate(&stream));
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(1);
  config.stream = stream;
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute[0].val.programmaticStreamSerializationAllowed = 1;
  config.attrs = attribute;
  config.numAttrs = 1;
  CUDA_OK(cudaLaunchKernelEx(&config, Dependent, out.data()));
  CUDA_OK(cudaLaunchKernelEx(&config, Dependent, out.data()));
  CUDA_OK(cudaStreamSynchronize(stream));
  ExpectEqual("attributes", out.Get()[0], (11110 + 2000) * 4);
  CUDA_OK(cudaStreamDestroy(stream));

  NoArguments<<<3, 7>>>();
  LAUNCH_OK();
  int touched = 0;
  CUDA_OK(cudaMemcpyFromSymbol(&touched, g_touched, sizeof touched));
  ExpectEqual("no arguments", touched, 21);

  DeviceArray<double> sum(1);
  const Odd odd{{1, 2, 3, 4, 5, 6, 7}};
  ManySizes<<<1, 1>>>(3, Pair{4, 0.5}, -7, odd, 0.25f, make_int3(1, -2, 3), -(1ll << 40), true,
                      make_float4(1, 2, 3, 4), sum.data());
  LAUNCH_OK();
  double want = 3 + 8 + 1.5 - 28 + 1.25 + 6 - 14 + 24 - 9.0 * (1ll << 40) + 10 + 11 + 48;
  for (int k = 0; k < 7; ++k) want += (k + 1) * (13 + k);
  ExpectEqual("many sizes", sum.Get()[0], want);

  Table table;
  for (int i = 0; i < 64; ++i) table.values[i] = i * i;
  DeviceArray<int> values(64);
  GridConstant<<<1, 64>>>(table, values.data());
  LAUNCH_OK();
  std::vector<int> want_values;
  for (int i = 0; i < 64; ++i) want_values.push_back((63 - i) * (63 - i) + i * i);
  ExpectEqual("grid constant", values.Get(), want_values);
  std::printf("%d\n", out.Get()[0]);
  return Finish();
}
