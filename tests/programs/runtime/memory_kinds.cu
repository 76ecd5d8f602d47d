// NVCC:
// RUN: %kernelsmith run %x
// Memory of every kind: pitched and 3D, pinned and mapped, registered, managed, symbols in constant
// and global memory, copies in all directions, memset of every width, and pointer attributes.
#include "../check.h"

__constant__ int g_table[64];
__constant__ double g_scale = 2.5;
__device__ int g_counter = 5;
__device__ float g_grid[4][8] = {{1, 2, 3}, {4}};
__managed__ int g_managed[32] = {1, 2, 3};

__global__ void ScalePitched(char* base, size_t pitch, int w, int h, float factor) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (x < w && y < h) reinterpret_cast<float*>(base + y * pitch)[x] *= factor;
}

__global__ void UseSymbols(double* out) {
  const int i = threadIdx.x;
  out[i] = g_table[63 - i] * g_scale + g_grid[i / 8 % 4][i % 8];
  atomicAdd(&g_counter, i);
  if (i < 32) g_managed[i] += i * 10;
}

__global__ void Increment(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

void CheckPitched() {
  const int w = 37, h = 11;
  Random random(441);
  const std::vector<float> in = random.Floats(w * h, 0, 1);
  char* base = nullptr;
  size_t pitch = 0;
  CUDA_OK(cudaMallocPitch(reinterpret_cast<void**>(&base), &pitch, w * sizeof(float), h));
  Expect(pitch >= w * sizeof(float) && pitch % 32 == 0, "the pitch is wide enough and aligned");
  CUDA_OK(cudaMemcpy2D(base, pitch, in.data(), w * sizeof(float), w * sizeof(float), h,
                       cudaMemcpyHostToDevice));
  ScalePitched<<<dim3(2, h), 32>>>(base, pitch, w, h, 4.0f);
  LAUNCH_OK();
  // Back into a wider host array, whose margin must stay as it is.
  std::vector<float> got(50 * h, -1.0f), want(50 * h, -1.0f);
  CUDA_OK(cudaMemcpy2D(got.data(), 50 * sizeof(float), base, pitch, w * sizeof(float), h,
                       cudaMemcpyDeviceToHost));
  for (int i = 0; i < w * h; ++i) want[i / w * 50 + i % w] = in[i] * 4;
  ExpectEqual("pitched", got, want);
  CUDA_OK(cudaMemset2D(base, pitch, 0, 5 * sizeof(float), h));
  CUDA_OK(cudaMemcpy2D(got.data(), 50 * sizeof(float), base, pitch, w * sizeof(float), h,
                       cudaMemcpyDeviceToHost));
  for (int i = 0; i < 5 * h; ++i) want[i / 5 * 50 + i % 5] = 0;
  ExpectEqual("memset 2D", got, want);
  CUDA_OK(cudaFree(base));

  cudaPitchedPtr volume;
  const cudaExtent extent = make_cudaExtent(10, 4, 3);  // bytes, rows, slices
  CUDA_OK(cudaMalloc3D(&volume, extent));
  CUDA_OK(cudaMemset3D(volume, 9, extent));
  std::vector<unsigned char> bytes(120, 0);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = volume;
  copy.dstPtr = make_cudaPitchedPtr(bytes.data(), 10, 10, 4);
  copy.extent = extent;
  copy.kind = cudaMemcpyDeviceToHost;
  CUDA_OK(cudaMemcpy3D(&copy));
  ExpectEqual("3D", bytes, std::vector<unsigned char>(120, 9));
  CUDA_OK(cudaFree(volume.ptr));
}

void CheckSymbols() {
  std::vector<int> table(64);
  for (int i = 0; i < 64; ++i) table[i] = i * i;
  CUDA_OK(cudaMemcpyToSymbol(g_table, table.data(), 64 * sizeof(int)));
  const int replaced = -1;
  CUDA_OK(
      cudaMemcpyToSymbol(g_table, &replaced, sizeof(int), 3 * sizeof(int), cudaMemcpyHostToDevice));
  table[3] = -1;
  DeviceArray<double> out(64);
  UseSymbols<<<1, 64>>>(out.data());
  LAUNCH_OK();
  const float grid[32] = {1, 2, 3, 0, 0, 0, 0, 0, 4};
  std::vector<double> want(64);
  for (int i = 0; i < 64; ++i) want[i] = table[63 - i] * 2.5 + grid[i % 32];
  ExpectEqual("symbols", out.Get(), want);
  int counter = 0;
  CUDA_OK(cudaMemcpyFromSymbol(&counter, g_counter, sizeof counter));
  ExpectEqual("counter", counter, 5 + 63 * 64 / 2);
  std::vector<int> managed(g_managed, g_managed + 32), want_managed(32);
  for (int i = 0; i < 32; ++i) want_managed[i] = i * 10 + (i < 3 ? i + 1 : 0);
  ExpectEqual("managed variable", managed, want_managed);
  void* address = nullptr;
  size_t size = 0;
  CUDA_OK(cudaGetSymbolAddress(&address, g_grid));
  CUDA_OK(cudaGetSymbolSize(&size, g_grid));
  ExpectEqual("symbol size", size, sizeof(float) * 32);
  float fourth = 0;
  CUDA_OK(
      cudaMemcpy(&fourth, static_cast<float*>(address) + 8, sizeof fourth, cudaMemcpyDeviceToHost));
  ExpectEqual("through the address", fourth, 4.0f);
}

void CheckHostMemory() {
  const int n = 256;
  int *pinned = nullptr, *alias = nullptr;
  CUDA_OK(cudaHostAlloc(reinterpret_cast<void**>(&pinned), n * sizeof(int), cudaHostAllocMapped));
  for (int i = 0; i < n; ++i) pinned[i] = i;
  CUDA_OK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&alias), pinned, 0));
  Increment<<<2, 128>>>(alias, n);
  LAUNCH_OK();
  bool right = true;
  for (int i = 0; i < n; ++i) right &= pinned[i] == i + 1;
  Expect(right, "the kernel wrote mapped memory");

  std::vector<int> registered(n, 40);
  CUDA_OK(cudaHostRegister(registered.data(), n * sizeof(int), cudaHostRegisterMapped));
  CUDA_OK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&alias), registered.data(), 0));
  Increment<<<2, 128>>>(alias, n);
  LAUNCH_OK();
  CUDA_OK(cudaHostUnregister(registered.data()));
  ExpectEqual("registered", registered, std::vector<int>(n, 41));

  int* managed = nullptr;
  CUDA_OK(cudaMallocManaged(&managed, n * sizeof(int)));
  for (int i = 0; i < n; ++i) managed[i] = 3 * i;
  Increment<<<2, 128>>>(managed, n);
  CUDA_OK(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) right &= managed[i] == 3 * i + 1;
  Expect(right, "the kernel wrote managed memory");

  int* device = nullptr;
  CUDA_OK(cudaMalloc(&device, n * sizeof(int)));
  cudaPointerAttributes attributes;
  CUDA_OK(cudaPointerGetAttributes(&attributes, device));
  Expect(attributes.type == cudaMemoryTypeDevice, "type of device memory");
  CUDA_OK(cudaPointerGetAttributes(&attributes, pinned));
  Expect(attributes.type == cudaMemoryTypeHost, "type of pinned memory");
  CUDA_OK(cudaPointerGetAttributes(&attributes, managed));
  Expect(attributes.type == cudaMemoryTypeManaged, "type of managed memory");
  int plain = 0;
  CUDA_OK(cudaPointerGetAttributes(&attributes, &plain));
  Expect(attributes.type == cudaMemoryTypeUnregistered, "type of other memory");

  // pinned -> device -> managed -> host, the kinds inferred.
  std::vector<int> host(n), want(n);
  CUDA_OK(cudaMemcpy(device, pinned, n * sizeof(int), cudaMemcpyDefault));
  CUDA_OK(cudaMemcpy(managed, device, n * sizeof(int), cudaMemcpyDefault));
  CUDA_OK(cudaMemcpy(host.data(), managed, n * sizeof(int), cudaMemcpyDefault));
  for (int i = 0; i < n; ++i) want[i] = i + 1;
  ExpectEqual("inferred copies", host, want);
  CUDA_OK(cudaMemcpy(device + 10, device + 100, 50 * sizeof(int), cudaMemcpyDeviceToDevice));
  CUDA_OK(cudaMemcpy(host.data(), device, n * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < 50; ++i) want[10 + i] = 101 + i;
  ExpectEqual("within the device", host, want);
  size_t free_bytes = 0, total_bytes = 0;
  CUDA_OK(cudaMemGetInfo(&free_bytes, &total_bytes));
  Expect(free_bytes > 0 && free_bytes <= total_bytes, "free memory is at most the total");
  CUDA_OK(cudaFree(device));
  CUDA_OK(cudaFree(managed));
  CUDA_OK(cudaFreeHost(pinned));
  CUDA_OK(cudaFree(nullptr));
}

int main() {
  CheckPitched();
  CheckSymbols();
  CheckHostMemory();
  std::printf("pitched, symbols, host memory\n");
  return Finish();
}
