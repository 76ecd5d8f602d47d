// Forward, float32, float16: x * weight^T + bias over all tokens, 16 x 16 tiles, any dtype, sums in
// float.
#include <torch/extension.h>

constexpr int kTile = 16;

template <typename T>
__global__ void LinearTiled(const T* __restrict__ x, const T* __restrict__ weight,
                            const T* __restrict__ bias, T* __restrict__ y, int rows, int inputs,
                            int outputs) {
  __shared__ float xs[kTile][kTile + 1];
  __shared__ float ws[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int out = blockIdx.x * kTile + threadIdx.x;
  const int loaded_out = blockIdx.x * kTile + threadIdx.y;
  float sum = 0;
  for (int k0 = 0; k0 < inputs; k0 += kTile) {
    const int k = k0 + threadIdx.x;
    xs[threadIdx.y][threadIdx.x] =
        row < rows && k < inputs ? static_cast<float>(x[(int64_t)row * inputs + k]) : 0.0f;
    ws[threadIdx.y][threadIdx.x] =
        loaded_out < outputs && k < inputs
            ? static_cast<float>(weight[(int64_t)loaded_out * inputs + k])
            : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum = fmaf(xs[threadIdx.y][i], ws[threadIdx.x][i], sum);
    __syncthreads();
  }
  if (row < rows && out < outputs)
    y[(int64_t)row * outputs + out] = static_cast<T>(sum + static_cast<float>(bias[out]));
}

torch::Tensor forward(torch::Tensor x, torch::Tensor weight, torch::Tensor bias) {
  const int inputs = x.size(-1), outputs = weight.size(0);
  const int rows = x.numel() / inputs;
  auto y = torch::empty({x.size(0), x.size(1), outputs}, x.options());
  const dim3 grid((outputs + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "linear", [&] {
    LinearTiled<scalar_t><<<grid, dim3(kTile, kTile)>>>(
        x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(),
        y.data_ptr<scalar_t>(), rows, inputs, outputs);
  });
  return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
