// NVCC:
// RUN: %kernelsmith run %x
// Stencils: Jacobi iteration with a residual, a 3D 7-point stencil marching along z with registers,
// a separable 2D filter with a halo in shared memory, and a bilateral filter.
#include "../check.h"

__global__ void Jacobi(const double* in, double* out, int w, int h, double* change) {
  __shared__ double largest[8];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  double delta = 0;
  if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
    const int i = y * w + x;
    out[i] = 0.25 * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
    delta = fabs(out[i] - in[i]);
  }
  for (int o = 16; o > 0; o /= 2) delta = fmax(delta, __shfl_xor_sync(~0u, delta, o));
  const int t = threadIdx.y * 16 + threadIdx.x;
  if (t % 32 == 0) largest[t / 32] = delta;
  __syncthreads();
  if (t == 0) {
    for (int i = 1; i < 4; ++i) delta = fmax(delta, largest[i]);
    // Positive doubles are ordered as their bits are.
    atomicMax(reinterpret_cast<unsigned long long*>(change),
              static_cast<unsigned long long>(__double_as_longlong(delta)));
  }
}

__global__ void SevenPoint(const float* in, float* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= nx - 1 || y >= ny - 1) return;
  const int plane = nx * ny;
  int i = y * nx + x;
  float below = in[i], here = in[i + plane];
  for (int z = 1; z < nz - 1; ++z) {
    i += plane;
    const float above = in[i + plane];
    out[i] = 0.4f * here +
             0.1f * (((below + above) + (in[i - 1] + in[i + 1])) + (in[i - nx] + in[i + nx]));
    below = here;
    here = above;
  }
}

constexpr int kRadius = 3;
__constant__ float g_filter[2 * kRadius + 1];

__global__ void FilterRows(const float* in, float* out, int w, int h) {
  __shared__ float line[64 + 2 * kRadius];
  const int y = blockIdx.y, base = blockIdx.x * 64;
  for (int i = threadIdx.x; i < 64 + 2 * kRadius; i += 64) {
    const int x = base + i - kRadius;
    line[i] = in[y * w + min(max(x, 0), w - 1)];  // clamped at the borders
  }
  __syncthreads();
  if (base + threadIdx.x >= w) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k <= 2 * kRadius; ++k) sum += g_filter[k] * line[threadIdx.x + k];
  out[(base + threadIdx.x) * h + y] = sum;  // transposed, so that the second pass does columns
}

__global__ void Bilateral(const uchar4* in, uchar4* out, int w, int h, float spread) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const uchar4 c = in[y * w + x];
  float r = 0, g = 0, b = 0, total = 0;
  for (int dy = -2; dy <= 2; ++dy) {
    for (int dx = -2; dx <= 2; ++dx) {
      const int xx = x + dx, yy = y + dy;
      if (xx < 0 || yy < 0 || xx >= w || yy >= h) continue;
      const uchar4 p = in[yy * w + xx];
      const float dr = float(p.x) - c.x, dg = float(p.y) - c.y, db = float(p.z) - c.z;
      const float weight =
          expf(-(dr * dr + dg * dg + db * db) * spread - (dx * dx + dy * dy) * 0.1f);
      r += weight * p.x;
      g += weight * p.y;
      b += weight * p.z;
      total += weight;
    }
  }
  out[y * w + x] = make_uchar4(r / total + 0.5f, g / total + 0.5f, b / total + 0.5f, c.w);
}

int main() {
  Random random(241);
  {
    const int w = 40, h = 30, steps = 25;
    std::vector<double> grid(w * h, 0.0);
    for (int x = 0; x < w; ++x) grid[x] = std::sin(3.14159 * x / (w - 1));
    DeviceArray<double> a(grid), b(grid), change(1);
    std::vector<double> want = grid;
    double want_change = 0;
    for (int s = 0; s < steps; ++s) {
      change.Fill(0);
      Jacobi<<<dim3((w + 15) / 16, (h + 7) / 8), dim3(16, 8)>>>(
          s % 2 ? b.data() : a.data(), s % 2 ? a.data() : b.data(), w, h, change.data());
      std::vector<double> next = want;
      want_change = 0;
      for (int y = 1; y < h - 1; ++y) {
        for (int x = 1; x < w - 1; ++x) {
          const int i = y * w + x;
          next[i] = 0.25 * (want[i - 1] + want[i + 1] + want[i - w] + want[i + w]);
          want_change = std::max(want_change, std::fabs(next[i] - want[i]));
        }
      }
      want = next;
    }
    LAUNCH_OK();
    ExpectEqual("jacobi", b.Get(), want);
    ExpectEqual("change", change.Get()[0], want_change);
    std::printf("jacobi: last change %.6f\n", want_change);
  }
  {
    const int nx = 20, ny = 13, nz = 9;
    const std::vector<float> in = random.Floats(nx * ny * nz, 0, 1);
    std::vector<double> want(in.begin(), in.end());
    for (int z = 1; z < nz - 1; ++z) {
      for (int y = 1; y < ny - 1; ++y) {
        for (int x = 1; x < nx - 1; ++x) {
          const int i = (z * ny + y) * nx + x;
          want[i] = 0.4 * in[i] + 0.1 * (static_cast<double>(in[i - 1]) + in[i + 1] + in[i - nx] +
                                         in[i + nx] + in[i - nx * ny] + in[i + nx * ny]);
        }
      }
    }
    DeviceArray<float> a(in), b(in);
    SevenPoint<<<dim3(3, 4), dim3(8, 4)>>>(a.data(), b.data(), nx, ny, nz);
    LAUNCH_OK();
    ExpectNear("seven points", b.Get(), want, 1e-6, 1e-7);
  }
  {
    const int w = 100, h = 37;
    const float filter[2 * kRadius + 1] = {0.05f, 0.1f, 0.2f, 0.3f, 0.2f, 0.1f, 0.05f};
    CUDA_OK(cudaMemcpyToSymbol(g_filter, filter, sizeof filter));
    const std::vector<float> in = random.Floats(w * h, 0, 255);
    std::vector<double> rows(w * h), want(w * h);
    auto clamp = [](int i, int n) { return std::min(std::max(i, 0), n - 1); };
    for (int i = 0; i < w * h; ++i) {
      for (int k = -kRadius; k <= kRadius; ++k)
        rows[i] += filter[k + kRadius] * in[i / w * w + clamp(i % w + k, w)];
    }
    for (int i = 0; i < w * h; ++i) {
      for (int k = -kRadius; k <= kRadius; ++k)
        want[i] += filter[k + kRadius] * rows[clamp(i / w + k, h) * w + i % w];
    }
    DeviceArray<float> a(in), t(w * h);
    FilterRows<<<dim3((w + 63) / 64, h), 64>>>(a.data(), t.data(), w, h);
    FilterRows<<<dim3((h + 63) / 64, w), 64>>>(t.data(), a.data(), h, w);
    LAUNCH_OK();
    ExpectNear("separable", a.Get(), want, 1e-5, 1e-4);
    std::printf("separable: out[0] = %.4f\n", want[0]);
  }
  {
    const int w = 33, h = 21;
    std::vector<uchar4> in(w * h);
    for (uchar4& p : in)
      p = make_uchar4(random.Below(256), random.Below(256), random.Below(256), random.Below(256));
    DeviceArray<uchar4> a(in), b(w * h);
    Bilateral<<<dim3(5, 3), dim3(8, 8)>>>(a.data(), b.data(), w, h, 1e-4f);
    LAUNCH_OK();
    const std::vector<uchar4> got = b.Get();
    int off = 0, exact_alpha = 0;
    for (int i = 0; i < w * h; ++i) {
      double sum[4] = {};
      for (int k = 0; k < 25; ++k) {
        const int dx = k % 5 - 2, dy = k / 5 - 2, x = i % w + dx, y = i / w + dy;
        if (x < 0 || y < 0 || x >= w || y >= h) continue;
        const uchar4 p = in[y * w + x], c = in[i];
        const double dr = p.x - c.x, dg = p.y - c.y, db = p.z - c.z;
        const double weight =
            std::exp(-(dr * dr + dg * dg + db * db) * 1e-4 - (dx * dx + dy * dy) * 0.1);
        sum[0] += weight * p.x;
        sum[1] += weight * p.y;
        sum[2] += weight * p.z;
        sum[3] += weight;
      }
      // One grey level of slack where the double value lies next to a rounding boundary.
      off += std::fabs(got[i].x - sum[0] / sum[3]) > 0.501 ||
             std::fabs(got[i].y - sum[1] / sum[3]) > 0.501 ||
             std::fabs(got[i].z - sum[2] / sum[3]) > 0.501;
      exact_alpha += got[i].w == in[i].w;
    }
    ExpectEqual("bilateral: pixels off", off, 0);
    ExpectEqual("bilateral: alpha", exact_alpha, w * h);
  }
  return Finish();
}
