// NVCC:
// RUN: %kernelsmith run %x
// Divergent loops and neighbourhoods: the Mandelbrot set in float and double (exactly the host's
// counts, as every operation rounds once), and Conway's game of life on a torus with 32 cells in a
// word.
#include "../check.h"

// The rounded operations keep host and device from contracting differently.
template <typename T>
__host__ __device__ T Multiply(T a, T b) {
#ifdef __CUDA_ARCH__
  if constexpr (sizeof(T) == 4)
    return __fmul_rn(a, b);
  else
    return __dmul_rn(a, b);
#else
  volatile T product = a * b;
  return product;
#endif
}

template <typename T>
__host__ __device__ int Escape(T cx, T cy, int limit) {
  T x = 0, y = 0;
  int i = 0;
  for (; i < limit; ++i) {
    const T xx = Multiply(x, x), yy = Multiply(y, y);
    if (xx + yy > T(4)) break;
    y = Multiply(T(2), Multiply(x, y)) + cy;
    x = xx - yy + cx;
  }
  return i;
}

template <typename T>
__global__ void Mandelbrot(int* out, int width, int height, T left, T top, T step, int limit) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px < width && py < height) {
    out[py * width + px] = Escape(left + Multiply(step, T(px)), top + Multiply(step, T(py)), limit);
  }
}

template <typename T>
void CheckMandelbrot(const char* name, T left, T top, T step) {
  const int width = 60, height = 40, limit = 200;
  std::vector<int> want(width * height);
  long long sum = 0;
  for (int i = 0; i < width * height; ++i) {
    want[i] =
        Escape(left + Multiply(step, T(i % width)), top + Multiply(step, T(i / width)), limit);
    sum += want[i];
  }
  DeviceArray<int> out(want.size());
  Mandelbrot<T><<<dim3((width + 15) / 16, (height + 7) / 8), dim3(16, 8)>>>(
      out.data(), width, height, left, top, step, limit);
  LAUNCH_OK();
  ExpectEqual(name, out.Get(), want);
  std::printf("%s: %lld iterations\n", name, sum);
}

// A thread computes one word: the neighbour counts of 32 cells by bit-sliced addition.
__global__ void Life(const unsigned* in, unsigned* out, int words, int height) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
  if (w >= words) return;
  unsigned ones = 0, twos = 0, fours = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    const unsigned* row = in + (y + dy + height) % height * words;
    const unsigned here = row[w], left = row[(w + words - 1) % words], right = row[(w + 1) % words];
    const unsigned shifted[3] = {__funnelshift_l(left, here, 1), here,
                                 __funnelshift_r(here, right, 1)};
    for (int s = 0; s < 3; ++s) {
      if (dy == 0 && s == 1) continue;
      const unsigned carry = ones & shifted[s];
      ones ^= shifted[s];
      const unsigned carry2 = twos & carry;
      twos ^= carry;
      fours |= carry2;  // 4 or more: at most counts up to 8, where only 2 and 3 matter
    }
  }
  out[y * words + w] = ~fours & twos & (ones | in[y * words + w]);
}

int main() {
  CheckMandelbrot<float>("float", -2.0f, -1.0f, 0.05f);
  CheckMandelbrot<double>("double", -0.7453, 0.1127, 1e-5);

  const int words = 3, width = 32 * words, height = 50, generations = 20;
  Random random(211);
  std::vector<unsigned> cells(words * height);
  for (unsigned& word : cells) word = static_cast<unsigned>(random.Bits() & random.Bits());
  DeviceArray<unsigned> a(cells), b(cells.size());
  for (int g = 0; g < generations; ++g) {
    const bool even = g % 2 == 0;
    Life<<<dim3(1, height), 32>>>(even ? a.data() : b.data(), even ? b.data() : a.data(), words,
                                  height);
  }
  LAUNCH_OK();
  auto alive = [&](const std::vector<unsigned>& board, int x, int y) {
    x = (x + width) % width;
    y = (y + height) % height;
    return static_cast<int>(board[y * words + x / 32] >> (x % 32) & 1);
  };
  for (int g = 0; g < generations; ++g) {
    std::vector<unsigned> next(cells.size());
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        int count = -alive(cells, x, y);
        for (int k = 0; k < 9; ++k) count += alive(cells, x + k % 3 - 1, y + k / 3 - 1);
        if (count == 3 || (count == 2 && alive(cells, x, y)))
          next[y * words + x / 32] |= 1u << (x % 32);
      }
    }
    cells = next;
  }
  ExpectEqual("life", a.Get(), cells);
  int population = 0;
  for (unsigned word : cells) population += __builtin_popcount(word);
  std::printf("life: %d cells after %d generations\n", population, generations);
  Expect(population > 0, "some cells live");
  return Finish();
}
