#include <torch/extension.h>
#include <cfloat>

template <typename scalar_t>
__global__ void max_pool3d_kernel(const scalar_t* __restrict__ in, scalar_t* __restrict__ out,
                                  int N, int C, int D, int H, int W, int OD, int OH, int OW, int k,
                                  int stride, int pad, int dil) {
  const int64_t total = (int64_t)N * C * OD * OH * OW;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < total;
       i += (int64_t)blockDim.x * gridDim.x) {
    int ow = i % OW;
    int oh = (i / OW) % OH;
    int od = (i / OW / OH) % OD;
    int64_t nc = i / OW / OH / OD;
    scalar_t best = -INFINITY;
    for (int kd = 0; kd < k; ++kd) {
      int d = od * stride - pad + kd * dil;
      if (d < 0 || d >= D) continue;
      for (int kh = 0; kh < k; ++kh) {
        int h = oh * stride - pad + kh * dil;
        if (h < 0 || h >= H) continue;
        for (int kw = 0; kw < k; ++kw) {
          int w = ow * stride - pad + kw * dil;
          if (w < 0 || w >= W) continue;
          scalar_t v = in[((nc * D + d) * H + h) * W + w];
          best = v > best ? v : best;
        }
      }
    }
    out[i] = best;
  }
}

static int out_size(int in, int k, int s, int p, int d) { return (in + 2 * p - d * (k - 1) - 1) / s + 1; }

torch::Tensor forward(torch::Tensor x) {
  const int k = 3, s = 2, p = 1, d = 3;
  x = x.contiguous();
  int N = x.size(0), C = x.size(1), D = x.size(2), H = x.size(3), W = x.size(4);
  int OD = out_size(D, k, s, p, d), OH = out_size(H, k, s, p, d), OW = out_size(W, k, s, p, d);
  auto out = torch::empty({N, C, OD, OH, OW}, x.options());
  const int threads = 256;
  const int64_t total = out.numel();
  const int blocks = std::min<int64_t>(65535, (total + threads - 1) / threads);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "max_pool3d", ([&] {
    max_pool3d_kernel<scalar_t><<<blocks, threads>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(),
        N, C, D, H, W, OD, OH, OW, k, s, p, d);
  }));
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward, "max pool 3d"); }
