// NVCC:
// RUN: %kernelsmith run %x
// Vector addition in five styles: one element a thread, a grid-stride loop, float4 loads, a 3D
// grid with 3D blocks, and sizes that do not fill the last block.
#include "../check.h"

__global__ void AddOnePerThread(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void AddGridStride(const float* a, const float* b, float* c, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    c[i] = a[i] + b[i];
  }
}

__global__ void AddVectorized(const float4* a, const float4* b, float4* c, int n4) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n4) return;
  const float4 x = a[i], y = b[i];
  c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

__global__ void AddThreeDimensional(const float* a, const float* b, float* c, int n) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  const int i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int sizes[] = {1, 31, 32, 33, 1000, 4096, 50001};
  Random random(1);
  for (int n : sizes) {
    const std::vector<float> a = random.Floats(n, -10, 10), b = random.Floats(n, -10, 10);
    std::vector<float> want(n);
    for (int i = 0; i < n; ++i) want[i] = a[i] + b[i];
    DeviceArray<float> da(a), db(b), dc(n);

    dc.Fill(0xff);
    AddOnePerThread<<<(n + 255) / 256, 256>>>(da.data(), db.data(), dc.data(), n);
    LAUNCH_OK();
    ExpectEqual("one per thread", dc.Get(), want);

    dc.Fill(0xff);
    AddGridStride<<<3, 96>>>(da.data(), db.data(), dc.data(), n);
    LAUNCH_OK();
    ExpectEqual("grid stride", dc.Get(), want);

    if (n % 4 == 0) {
      dc.Fill(0xff);
      AddVectorized<<<(n / 4 + 127) / 128, 128>>>(reinterpret_cast<float4*>(da.data()),
                                                  reinterpret_cast<float4*>(db.data()),
                                                  reinterpret_cast<float4*>(dc.data()), n / 4);
      LAUNCH_OK();
      ExpectEqual("float4", dc.Get(), want);
    }

    dc.Fill(0xff);
    const dim3 block(5, 3, 7);
    const int blocks = (n + 104) / 105;
    const dim3 grid(3, 2, (blocks + 5) / 6);
    AddThreeDimensional<<<grid, block>>>(da.data(), db.data(), dc.data(), n);
    LAUNCH_OK();
    ExpectEqual("3D", dc.Get(), want);
    std::printf("n = %d: c[0] = %g, c[n-1] = %g\n", n, want[0], want[n - 1]);
  }
  return Finish();
}
