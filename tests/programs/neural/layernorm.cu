// NVCC:
// RUN: %kernelsmith run %x
// Layer norm and RMS norm forward in float and half2, and layer norm backward with gradients of the
// weights summed over rows by atomics.
#include <cuda_fp16.h>

#include "../check.h"

__device__ float BlockSum(float value) {
  __shared__ float parts[8];
  for (int o = 16; o > 0; o /= 2) value += __shfl_xor_sync(~0u, value, o);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < blockDim.x / 32; ++w) sum += parts[w];
  return sum;
}

__global__ void LayerNorm(const float* x, const float* gamma, const float* beta, float* y,
                          float* means, float* inverses, int d, float eps) {
  const float* row = x + blockIdx.x * d;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < d; i += blockDim.x) sum += row[i];
  const float mean = BlockSum(sum) / d;
  for (int i = threadIdx.x; i < d; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
  const float inverse = rsqrtf(BlockSum(squares) / d + eps);
  for (int i = threadIdx.x; i < d; i += blockDim.x) {
    y[blockIdx.x * d + i] = (row[i] - mean) * inverse * gamma[i] + beta[i];
  }
  if (threadIdx.x == 0) {
    means[blockIdx.x] = mean;
    inverses[blockIdx.x] = inverse;
  }
}

__global__ void LayerNormBackward(const float* dy, const float* x, const float* gamma,
                                  const float* means, const float* inverses, float* dx,
                                  float* dgamma, float* dbeta, int d) {
  const int base = blockIdx.x * d;
  const float mean = means[blockIdx.x], inverse = inverses[blockIdx.x];
  float sum_g = 0, sum_gx = 0;
  for (int i = threadIdx.x; i < d; i += blockDim.x) {
    const float normal = (x[base + i] - mean) * inverse, g = dy[base + i] * gamma[i];
    sum_g += g;
    sum_gx += g * normal;
    atomicAdd(&dgamma[i], dy[base + i] * normal);
    atomicAdd(&dbeta[i], dy[base + i]);
  }
  const float mean_g = BlockSum(sum_g) / d, mean_gx = BlockSum(sum_gx) / d;
  for (int i = threadIdx.x; i < d; i += blockDim.x) {
    const float normal = (x[base + i] - mean) * inverse;
    dx[base + i] = inverse * (dy[base + i] * gamma[i] - mean_g - normal * mean_gx);
  }
}

__global__ void RmsNormHalf(const half2* x, const half2* gamma, half2* y, int d2, float eps) {
  const half2* row = x + blockIdx.x * d2;
  float squares = 0;
  for (int i = threadIdx.x; i < d2; i += blockDim.x) {
    const float2 pair = __half22float2(row[i]);
    squares += pair.x * pair.x + pair.y * pair.y;
  }
  const float inverse = rsqrtf(BlockSum(squares) / (2 * d2) + eps);
  for (int i = threadIdx.x; i < d2; i += blockDim.x) {
    const float2 pair = __half22float2(row[i]);
    y[blockIdx.x * d2 + i] =
        __hmul2(__floats2half2_rn(pair.x * inverse, pair.y * inverse), gamma[i]);
  }
}

int main() {
  const int rows = 7, d = 300;
  const float eps = 1e-5f;
  Random random(61);
  const std::vector<float> x = random.Floats(rows * d, -2, 4), gamma = random.Floats(d, 0.5f, 1.5f),
                           beta = random.Floats(d, -1, 1), dy = random.Floats(rows * d, -1, 1);
  std::vector<double> y(rows * d), dx(rows * d), dgamma(d), dbeta(d), rms(rows * d);
  for (int r = 0; r < rows; ++r) {
    const float* row = &x[r * d];
    double mean = 0, variance = 0, mean_g = 0, mean_gx = 0, squares = 0;
    for (int i = 0; i < d; ++i) mean += row[i] / static_cast<double>(d);
    for (int i = 0; i < d; ++i) variance += (row[i] - mean) * (row[i] - mean) / d;
    const double inverse = 1 / std::sqrt(variance + eps);
    for (int i = 0; i < d; ++i) {
      const double normal = (row[i] - mean) * inverse, g = dy[r * d + i] * gamma[i];
      y[r * d + i] = normal * gamma[i] + beta[i];
      mean_g += g / d;
      mean_gx += g * normal / d;
      dgamma[i] += dy[r * d + i] * normal;
      dbeta[i] += dy[r * d + i];
      const double h = static_cast<float>(half(row[i]));
      squares += h * h;
    }
    for (int i = 0; i < d; ++i) {
      const double normal = (row[i] - mean) * inverse;
      dx[r * d + i] = inverse * (dy[r * d + i] * gamma[i] - mean_g - normal * mean_gx);
      rms[r * d + i] = static_cast<float>(half(row[i])) / std::sqrt(squares / d + eps) * gamma[i];
    }
  }
  DeviceArray<float> dev_x(x), dev_gamma(gamma), dev_beta(beta), dev_dy(dy), dev_y(rows * d),
      means(rows), inverses(rows), dev_dx(rows * d), dev_dgamma(d), dev_dbeta(d);
  LayerNorm<<<rows, 128>>>(dev_x.data(), dev_gamma.data(), dev_beta.data(), dev_y.data(),
                           means.data(), inverses.data(), d, eps);
  LAUNCH_OK();
  ExpectNear("layer norm", dev_y.Get(), y, 1e-5, 1e-5);
  dev_dgamma.Fill(0);
  dev_dbeta.Fill(0);
  LayerNormBackward<<<rows, 128>>>(dev_dy.data(), dev_x.data(), dev_gamma.data(), means.data(),
                                   inverses.data(), dev_dx.data(), dev_dgamma.data(),
                                   dev_dbeta.data(), d);
  LAUNCH_OK();
  ExpectNear("dx", dev_dx.Get(), dx, 1e-5, 1e-5);
  ExpectNear("dgamma", dev_dgamma.Get(), dgamma, 1e-5, 1e-5);
  ExpectNear("dbeta", dev_dbeta.Get(), dbeta, 1e-5, 1e-5);

  std::vector<half> hx(x.begin(), x.end()), hgamma(gamma.begin(), gamma.end());
  DeviceArray<half> dev_hx(hx), dev_hgamma(hgamma), dev_hy(rows * d);
  RmsNormHalf<<<rows, 96>>>(reinterpret_cast<half2*>(dev_hx.data()),
                            reinterpret_cast<half2*>(dev_hgamma.data()),
                            reinterpret_cast<half2*>(dev_hy.data()), d / 2, eps);
  LAUNCH_OK();
  std::vector<float> got;
  for (half value : dev_hy.Get()) got.push_back(static_cast<float>(value));
  ExpectNear("rms norm", got, rms, 2e-3, 1e-4);
  std::printf("y[0] = %.6f, dx[0] = %.6f, rms[0] = %.4f\n", y[0], dx[0], rms[0]);
  return Finish();
}
