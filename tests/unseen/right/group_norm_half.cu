#include <torch/extension.h>
#include <ATen/AccumulateType.h>
#include <c10/cuda/CUDAGuard.h>
template <typename scalar_t, typename acc_t = at::acc_type<scalar_t, true>>
__global__ void group_norm(const scalar_t* __restrict__ x, const scalar_t* __restrict__ w, const scalar_t* __restrict__ b,
                           scalar_t* __restrict__ y, int64_t per_group, int64_t hw, int64_t channels_each, int64_t C, acc_t eps) {
  __shared__ acc_t s_sum[256], s_sq[256];
  const int64_t base = (int64_t)blockIdx.x * per_group;
  acc_t sum = 0, shift = static_cast<acc_t>(x[base]), sq = 0;  // shifted: no cancellation
  for (int64_t i = threadIdx.x; i < per_group; i += 256) {
    const acc_t v = static_cast<acc_t>(x[base + i]) - shift;
    sum += v;
    sq += v * v;
  }
  s_sum[threadIdx.x] = sum;
  s_sq[threadIdx.x] = sq;
  __syncthreads();
#pragma unroll
  for (int k = 128; k > 0; k >>= 1) {
    if (threadIdx.x < k) {
      s_sum[threadIdx.x] += s_sum[threadIdx.x + k];
      s_sq[threadIdx.x] += s_sq[threadIdx.x + k];
    }
    __syncthreads();
  }
  const acc_t m = s_sum[0] / per_group, var = s_sq[0] / per_group - m * m;
  const acc_t mean = m + shift, rstd = ::rsqrt(var + eps);
  const int64_t first = blockIdx.x * channels_each % C;
  for (int64_t i = threadIdx.x; i < per_group; i += 256) {
    const int64_t c = first + i / hw;
    y[base + i] = static_cast<scalar_t>((static_cast<acc_t>(x[base + i]) - mean) * rstd * static_cast<acc_t>(w[c]) + static_cast<acc_t>(b[c]));
  }
}
at::Tensor forward(at::Tensor x, int64_t groups, at::Tensor weight, at::Tensor bias, double eps) {
  const c10::cuda::CUDAGuard guard(x.device());
  x = x.contiguous();
  auto y = at::empty_like(x);
  const int64_t N = x.size(0), C = x.size(1), hw = x.numel() / (N * C);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::ScalarType::Half, at::ScalarType::BFloat16, x.scalar_type(), "group_norm", [&] {
    group_norm<scalar_t><<<N * groups, 256>>>(x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>(), bias.data_ptr<scalar_t>(),
        y.data_ptr<scalar_t>(), C / groups * hw, hw, C / groups, C, static_cast<at::acc_type<scalar_t, true>>(eps));
  });
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
