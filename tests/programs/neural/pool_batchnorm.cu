// NVCC:
// RUN: %kernelsmith run %x
// Max pooling with indices and its backward pass, average pooling without the padding, batch norm
// in training mode with running statistics, and a fused ReLU.
#include "../check.h"

__global__ void MaxPool(const float* in, float* out, int* index, int h, int w, int oh, int ow,
                        int k, int stride, int pad) {
  const int ox = threadIdx.x + blockIdx.x * blockDim.x, oy = threadIdx.y + blockIdx.y * blockDim.y;
  if (ox >= ow || oy >= oh) return;
  const float* plane = in + blockIdx.z * h * w;
  float best = -INFINITY;
  int where = -1;
  for (int y = max(oy * stride - pad, 0); y < min(oy * stride - pad + k, h); ++y) {
    for (int x = max(ox * stride - pad, 0); x < min(ox * stride - pad + k, w); ++x) {
      if (plane[y * w + x] > best) {
        best = plane[y * w + x];
        where = y * w + x;
      }
    }
  }
  const int o = (blockIdx.z * oh + oy) * ow + ox;
  out[o] = best;
  index[o] = where;
}

__global__ void MaxPoolBackward(const float* grad, const int* index, float* out, int planes,
                                int per_plane, int hw) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < planes * per_plane) atomicAdd(&out[i / per_plane * hw + index[i]], grad[i]);
}

__global__ void AveragePool(const float* in, float* out, int h, int w, int oh, int ow, int k,
                            int stride, int pad) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int oy = i / ow % oh, ox = i % ow, plane = i / (oh * ow);
  float sum = 0;
  int count = 0;
  for (int ky = 0; ky < k; ++ky) {
    for (int kx = 0; kx < k; ++kx) {
      const int y = oy * stride - pad + ky, x = ox * stride - pad + kx;
      if (y < 0 || x < 0 || y >= h || x >= w) continue;
      sum += in[(plane * h + y) * w + x];
      ++count;
    }
  }
  out[i] = sum / count;
}

// One block a channel.
__global__ void BatchNormRelu(const float* in, float* out, const float* gamma, const float* beta,
                              float* running_mean, float* running_var, int batch, int channels,
                              int hw, float momentum, float eps) {
  __shared__ float sums[2][64];
  const int c = blockIdx.x, t = threadIdx.x, n = batch * hw;
  float sum = 0, squares = 0;
  for (int i = t; i < n; i += 64) {
    const float x = in[(i / hw * channels + c) * hw + i % hw];
    sum += x;
    squares += x * x;
  }
  sums[0][t] = sum;
  sums[1][t] = squares;
  __syncthreads();
  for (int s = 32; s > 0; s >>= 1) {
    if (t < s) {
      sums[0][t] += sums[0][t + s];
      sums[1][t] += sums[1][t + s];
    }
    __syncthreads();
  }
  const float mean = sums[0][0] / n, var = sums[1][0] / n - mean * mean;
  const float scale = gamma[c] / sqrtf(var + eps), shift = beta[c] - mean * scale;
  for (int i = t; i < n; i += 64) {
    const int at = (i / hw * channels + c) * hw + i % hw;
    out[at] = fmaxf(fmaf(in[at], scale, shift), 0.0f);
  }
  if (t == 0) {
    running_mean[c] = (1 - momentum) * running_mean[c] + momentum * mean;
    running_var[c] = (1 - momentum) * running_var[c] + momentum * var * n / (n - 1);
  }
}

int main() {
  const int batch = 3, channels = 4, h = 13, w = 10, k = 3, stride = 2, pad = 1,
            planes = batch * channels;
  const int oh = (h + 2 * pad - k) / stride + 1, ow = (w + 2 * pad - k) / stride + 1,
            outs = planes * oh * ow;
  Random random(91);
  const std::vector<float> in = random.Floats(planes * h * w, -3, 5);
  std::vector<float> grad(outs), want_max(outs), want_back(in.size());
  std::vector<int> want_index(outs);
  std::vector<double> want_average(outs);
  for (float& g : grad) g = random.Below(9) * 0.25f;  // sums of these are exact
  for (int p = 0; p < planes; ++p) {
    for (int o = 0; o < oh * ow; ++o) {
      float best = -INFINITY;
      int where = -1, count = 0;
      double sum = 0;
      for (int e = 0; e < k * k; ++e) {
        const int y = o / ow * stride - pad + e / k, x = o % ow * stride - pad + e % k;
        if (y < 0 || x < 0 || y >= h || x >= w) continue;
        const float value = in[(p * h + y) * w + x];
        sum += value;
        ++count;
        if (value > best) {
          best = value;
          where = y * w + x;
        }
      }
      want_max[p * oh * ow + o] = best;
      want_index[p * oh * ow + o] = where;
      want_average[p * oh * ow + o] = sum / count;
      want_back[p * h * w + where] += grad[p * oh * ow + o];
    }
  }
  DeviceArray<float> din(in), dgrad(grad), dout(outs), dback(in.size());
  DeviceArray<int> dindex(outs);
  MaxPool<<<dim3((ow + 3) / 4, (oh + 3) / 4, planes), dim3(4, 4)>>>(
      din.data(), dout.data(), dindex.data(), h, w, oh, ow, k, stride, pad);
  LAUNCH_OK();
  ExpectEqual("max pool", dout.Get(), want_max);
  ExpectEqual("max pool index", dindex.Get(), want_index);
  dback.Fill(0);
  MaxPoolBackward<<<(outs + 63) / 64, 64>>>(dgrad.data(), dindex.data(), dback.data(), planes,
                                            oh * ow, h * w);
  LAUNCH_OK();
  ExpectEqual("max pool backward", dback.Get(), want_back);
  AveragePool<<<planes, oh * ow>>>(din.data(), dout.data(), h, w, oh, ow, k, stride, pad);
  LAUNCH_OK();
  ExpectNear("average pool", dout.Get(), want_average, 1e-6, 1e-6);

  const float eps = 1e-3f, momentum = 0.1f;
  const std::vector<float> gamma = random.Floats(channels, 0.5f, 2),
                           beta = random.Floats(channels, -1, 1);
  std::vector<double> normed(in.size()), mean(channels), var(channels);
  for (int c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    const int n = batch * h * w;
    auto at = [&](int i) { return (i / (h * w) * channels + c) * h * w + i % (h * w); };
    for (int i = 0; i < n; ++i) sum += in[at(i)];
    for (int i = 0; i < n; ++i) squares += (in[at(i)] - sum / n) * (in[at(i)] - sum / n);
    for (int i = 0; i < n; ++i) {
      normed[at(i)] =
          std::max(0.0, (in[at(i)] - sum / n) / std::sqrt(squares / n + eps) * gamma[c] + beta[c]);
    }
    mean[c] = 0.9 * 0.5 + 0.1 * sum / n;
    var[c] = 0.9 * 2 + 0.1 * squares / (n - 1);
  }
  DeviceArray<float> dnormed(in.size()), dgamma(gamma), dbeta(beta),
      dmean(std::vector<float>(channels, 0.5f)), dvar(std::vector<float>(channels, 2.0f));
  BatchNormRelu<<<channels, 64>>>(din.data(), dnormed.data(), dgamma.data(), dbeta.data(),
                                  dmean.data(), dvar.data(), batch, channels, h * w, momentum, eps);
  LAUNCH_OK();
  ExpectNear("batch norm", dnormed.Get(), normed, 1e-4, 1e-5);
  ExpectNear("running mean", dmean.Get(), mean, 1e-5, 0);
  ExpectNear("running variance", dvar.Get(), var, 1e-5, 0);
  std::printf("max[0] = %g at %d, average[0] = %.5f, running mean %.5f\n", want_max[0],
              want_index[0], want_average[0], mean[0]);
  return Finish();
}
