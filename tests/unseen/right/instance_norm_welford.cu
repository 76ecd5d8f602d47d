#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

struct WelfordData {
  float mean, m2;
  int count;
};

__device__ WelfordData combine(WelfordData a, WelfordData b) {
  if (b.count == 0) return a;
  if (a.count == 0) return b;
  const float delta = b.mean - a.mean;
  const int n = a.count + b.count;
  const float ratio = (float)b.count / n;
  return {a.mean + delta * ratio, a.m2 + b.m2 + delta * delta * a.count * ratio, n};
}

__device__ WelfordData warp_combine(WelfordData w) {
#pragma unroll
  for (int mask = 16; mask > 0; mask /= 2) {
    WelfordData o;
    o.mean = __shfl_xor_sync(0xffffffff, w.mean, mask);
    o.m2 = __shfl_xor_sync(0xffffffff, w.m2, mask);
    o.count = __shfl_xor_sync(0xffffffff, w.count, mask);
    w = combine(w, o);
  }
  return w;
}

__global__ void instance_norm(const float* __restrict__ x, float* __restrict__ y, int hw, float eps) {
  const float* in = x + (size_t)blockIdx.x * hw;
  float* out = y + (size_t)blockIdx.x * hw;
  WelfordData w{0.f, 0.f, 0};
  for (int i = threadIdx.x; i < hw; i += blockDim.x) {
    const float v = in[i];
    w.count++;
    const float delta = v - w.mean;
    w.mean += delta / w.count;
    w.m2 += delta * (v - w.mean);
  }
  __shared__ WelfordData shared[32];
  w = warp_combine(w);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) shared[warp] = w;
  __syncthreads();
  if (warp == 0) {
    w = lane < blockDim.x / 32 ? shared[lane] : WelfordData{0.f, 0.f, 0};
    w = warp_combine(w);
    if (lane == 0) shared[0] = w;
  }
  __syncthreads();
  const float mean = shared[0].mean;
  const float inv = rsqrtf(shared[0].m2 / hw + eps);
  for (int i = threadIdx.x; i < hw; i += blockDim.x) out[i] = (in[i] - mean) * inv;
}

torch::Tensor forward(torch::Tensor x) {
  x = x.contiguous();
  auto y = torch::empty_like(x);
  const int planes = x.size(0) * x.size(1);
  const int hw = x.size(2) * x.size(3);
  const int threads = hw >= 1024 ? 512 : 128;
  instance_norm<<<planes, threads, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), hw, 1e-5f);
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
