// NVCC:
// RUN: %kernelsmith run %x
// A training loop of a small classifier on the device: linear layer, softmax cross entropy forward
// and backward, Adam with weight decay; the host repeats it in double.
#include "../check.h"

constexpr int kBatch = 24, kIn = 12, kClasses = 7, kSteps = 5;

__global__ void Linear(const float* x, const float* w, const float* b, float* logits) {
  const int row = blockIdx.x, c = threadIdx.x;
  float sum = b[c];
  for (int i = 0; i < kIn; ++i) sum = fmaf(x[row * kIn + i], w[c * kIn + i], sum);
  logits[row * kClasses + c] = sum;
}

// One warp a row; writes the loss of the row and replaces the logits by their gradient.
__global__ void CrossEntropy(float* logits, const int* labels, float* losses) {
  const int row = blockIdx.x, lane = threadIdx.x;
  const float x = lane < kClasses ? logits[row * kClasses + lane] : -INFINITY;
  float high = x;
  for (int o = 16; o > 0; o /= 2) high = fmaxf(high, __shfl_xor_sync(~0u, high, o));
  float sum = expf(x - high);
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(~0u, sum, o);
  const int label = labels[row];
  if (lane == label) losses[row] = logf(sum) + high - x;
  if (lane < kClasses)
    logits[row * kClasses + lane] = (expf(x - high) / sum - (lane == label ? 1.0f : 0.0f)) / kBatch;
}

__global__ void WeightGradient(const float* x, const float* dlogits, float* dw, float* db) {
  const int c = blockIdx.x, i = threadIdx.x;  // i == kIn is the bias
  float sum = 0;
  for (int row = 0; row < kBatch; ++row) {
    sum += dlogits[row * kClasses + c] * (i < kIn ? x[row * kIn + i] : 1.0f);
  }
  if (i < kIn) {
    dw[c * kIn + i] = sum;
  } else {
    db[c] = sum;
  }
}

struct AdamOptions {
  float rate = 0.05f, beta1 = 0.9f, beta2 = 0.999f, eps = 1e-8f, decay = 0.01f;
};

__global__ void Adam(float* w, const float* g, float* m, float* v, int n, int step, AdamOptions o) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = o.beta1 * m[i] + (1 - o.beta1) * g[i];
  v[i] = o.beta2 * v[i] + (1 - o.beta2) * g[i] * g[i];
  const float mean = m[i] / (1 - powf(o.beta1, step)), square = v[i] / (1 - powf(o.beta2, step));
  w[i] -= o.rate * (mean / (sqrtf(square) + o.eps) + o.decay * w[i]);
}

int main() {
  Random random(101);
  const int parameters = kClasses * kIn + kClasses;  // weights, then biases
  const std::vector<float> x = random.Floats(kBatch * kIn, -1, 1);
  const std::vector<int> labels = random.Ints(kBatch, 0, kClasses);
  const std::vector<float> start = random.Floats(parameters, -0.5f, 0.5f);
  DeviceArray<float> dx(x), w(start), g(parameters), m(parameters), v(parameters),
      logits(kBatch * kClasses), losses(kBatch);
  DeviceArray<int> dlabels(labels);
  m.Fill(0);
  v.Fill(0);
  const AdamOptions o;
  std::vector<double> hw(start.begin(), start.end()), hm(parameters), hv(parameters);
  double first_loss = 0, loss = 0;
  for (int step = 1; step <= kSteps; ++step) {
    Linear<<<kBatch, kClasses>>>(dx.data(), w.data(), w.data() + kClasses * kIn, logits.data());
    CrossEntropy<<<kBatch, 32>>>(logits.data(), dlabels.data(), losses.data());
    WeightGradient<<<kClasses, kIn + 1>>>(dx.data(), logits.data(), g.data(),
                                          g.data() + kClasses * kIn);
    Adam<<<(parameters + 31) / 32, 32>>>(w.data(), g.data(), m.data(), v.data(), parameters, step,
                                         o);
    LAUNCH_OK();

    std::vector<double> hg(parameters), want_losses(kBatch);
    loss = 0;
    for (int row = 0; row < kBatch; ++row) {
      double z[kClasses], sum = 0;
      for (int c = 0; c < kClasses; ++c) {
        z[c] = hw[kClasses * kIn + c];
        for (int i = 0; i < kIn; ++i) z[c] += x[row * kIn + i] * hw[c * kIn + i];
        sum += std::exp(z[c]);
      }
      want_losses[row] = std::log(sum) - z[labels[row]];
      loss += want_losses[row] / kBatch;
      for (int c = 0; c < kClasses; ++c) {
        const double d = (std::exp(z[c]) / sum - (c == labels[row])) / kBatch;
        for (int i = 0; i < kIn; ++i) hg[c * kIn + i] += d * x[row * kIn + i];
        hg[kClasses * kIn + c] += d;
      }
    }
    if (step == 1) first_loss = loss;
    ExpectNear("losses", losses.Get(), want_losses, 1e-3, 1e-4);
    ExpectNear("gradient", g.Get(), hg, 1e-3, 1e-5);
    for (int i = 0; i < parameters; ++i) {
      hm[i] = o.beta1 * hm[i] + (1 - o.beta1) * hg[i];
      hv[i] = o.beta2 * hv[i] + (1 - o.beta2) * hg[i] * hg[i];
      const double mean = hm[i] / (1 - std::pow(o.beta1, step)),
                   square = hv[i] / (1 - std::pow(o.beta2, step));
      hw[i] -= o.rate * (mean / (std::sqrt(square) + o.eps) + o.decay * hw[i]);
    }
    ExpectNear("weights", w.Get(), hw, 1e-3, 1e-4);
    std::printf("step %d: loss %.5f\n", step, loss);
  }
  Expect(loss < first_loss, "the loss falls");
  return Finish();
}
