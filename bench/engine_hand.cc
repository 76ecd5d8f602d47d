// The limit of the design: what a perfect compiler could make of the kernels of engine.cu on a
// virtual GPU whose registers are vectors of 32 lanes. Each warp of the CUDA kernel is one here,
// with its loads as vector loads where its lanes are neighbours and broadcasts where they are
// equal; code between barriers runs warp by warp. Arithmetic is what the PTX says: fma where nvcc
// contracts, ex2.approx as the virtual GPU defines it (in double).

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

#include "engine_bench.h"

namespace kernelsmith::bench {
namespace {

using Lanes = float __attribute__((ext_vector_type(32)));
using Half = float __attribute__((ext_vector_type(16)));

Lanes Load(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
void Store(float* p, Lanes v) { std::memcpy(p, &v, sizeof v); }
// Lanes of a 16 x 16 block: two rows of 16.
Lanes Twice(const float* p) {
  Half h;
  std::memcpy(&h, p, sizeof h);
  return __builtin_shufflevector(h, h, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
}
Lanes TwoRows(float first, float second) {
  const Half a = first;
  const Half b = second;
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
                                 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31);
}
Lanes Fma(Lanes a, Lanes b, Lanes c) { return __builtin_elementwise_fma(a, b, c); }

// The virtual GPU's ex2.approx, lane by lane: see src/vgpu/math/approx.h.
Lanes Exp2(Lanes x) {
  Lanes result;
  for (int i = 0; i < 32; ++i) {
    const double v = x[i];
    const double clamped = std::min(std::max(v, -150.0), 128.0);
    const double n = (clamped + 0x1.8p52) - 0x1.8p52;
    const double r = clamped - n;
    double p = 1.0178086009239699727e-7;
    p = p * r + 1.3215486790144309488e-6;
    p = p * r + 1.525273380405984028e-5;
    p = p * r + 1.5403530393381609954e-4;
    p = p * r + 1.3333558146428443423e-3;
    p = p * r + 9.618129107628477162e-3;
    p = p * r + 5.5504108664821579953e-2;
    p = p * r + 0.24022650695910071233;
    p = p * r + 0.69314718055994530942;
    p = p * r + 1.0;
    const double shifted = n + 0x1.8p52;
    uint64_t bits;
    std::memcpy(&bits, &shifted, 8);
    bits = (bits << 52) + (uint64_t{1023} << 52);
    double scale;
    std::memcpy(&scale, &bits, 8);
    result[i] = static_cast<float>(p * scale);
  }
  return result;
}

// The tree of the kernels over 256 values in shared memory.
template <typename Combine>
void Tree(float* partial, Combine combine) {
  for (int s = 128; s >= 32; s >>= 1) {
    for (int w = 0; w < s; w += 32) {
      Store(partial + w, combine(Load(partial + w), Load(partial + w + s)));
    }
  }
  // Only the first warp has work left, and only some of its lanes.
  for (int s = 16; s > 0; s >>= 1) {
    const Lanes both = combine(Load(partial), Load(partial + s));
    std::memcpy(partial, &both, static_cast<size_t>(s) * 4);
  }
}

struct Arguments {
  const float* a;
  const float* b;
  float* out;
  int m;
  int n;
};

void VectorAdd(const Arguments& k, uint32_t bx, uint32_t) {
  for (int w = 0; w < 8; ++w) {
    const int first = static_cast<int>(bx) * 256 + w * 32;
    if (first + 32 <= k.m) {
      Store(k.out + first, Load(k.a + first) + Load(k.b + first));
    } else {
      for (int i = first; i < k.m; ++i) k.out[i] = k.a[i] + k.b[i];
    }
  }
}

void MatmulNaive(const Arguments& k, uint32_t bx, uint32_t by) {
  for (int w = 0; w < 8; ++w) {
    const size_t row = by * 16 + static_cast<uint32_t>(w) * 2;
    const size_t column = bx * 16;
    const float* first = k.a + row * k.m;
    Lanes sum = 0;
    for (int i = 0; i < k.m; ++i) {
      sum = Fma(TwoRows(first[i], first[i + k.m]), Twice(k.b + size_t(i) * k.m + column), sum);
    }
    std::memcpy(k.out + row * k.m + column, &sum, 64);
    std::memcpy(k.out + (row + 1) * k.m + column, reinterpret_cast<const char*>(&sum) + 64, 64);
  }
}

void MatmulTiled(const Arguments& k, uint32_t bx, uint32_t by) {
  alignas(64) float tile_a[16][16];
  alignas(64) float tile_b[16][16];
  std::array<Lanes, 8> sum{};
  const size_t n = k.m;
  for (size_t tile = 0; tile < n; tile += 16) {
    for (int r = 0; r < 16; ++r) {
      std::memcpy(tile_a[r], k.a + (by * 16 + r) * n + tile, 64);
      std::memcpy(tile_b[r], k.b + (tile + r) * n + bx * 16, 64);
    }
    for (int w = 0; w < 8; ++w) {
      Lanes s = sum[w];
      for (int i = 0; i < 16; ++i) {
        s = Fma(TwoRows(tile_a[2 * w][i], tile_a[2 * w + 1][i]), Twice(tile_b[i]), s);
      }
      sum[w] = s;
    }
  }
  for (int w = 0; w < 8; ++w) {
    float* p = k.out + (by * 16 + 2 * w) * n + bx * 16;
    std::memcpy(p, &sum[w], 64);
    std::memcpy(p + n, reinterpret_cast<const char*>(&sum[w]) + 64, 64);
  }
}

// One thread's loop over a row, for all eight warps; columns are a multiple of 256.
template <typename Body>
void OverRow(int columns, Body body) {
  for (int w = 0; w < 8; ++w) {
    for (int i = w * 32; i < columns; i += 256) body(w, i);
  }
}

void RowSum(const Arguments& k, uint32_t bx, uint32_t) {
  alignas(64) float partial[256];
  const float* row = k.a + size_t{bx} * k.n;
  for (int w = 0; w < 8; ++w) {
    Lanes sum = 0;
    for (int i = w * 32; i < k.n; i += 256) sum += Load(row + i);
    Store(partial + w * 32, sum);
  }
  Tree(partial, [](Lanes a, Lanes b) { return a + b; });
  k.out[bx] = partial[0];
}

void Softmax(const Arguments& k, uint32_t bx, uint32_t) {
  alignas(64) float partial[256];
  const float* row = k.a + size_t{bx} * k.n;
  float* result = k.out + size_t{bx} * k.n;
  for (int w = 0; w < 8; ++w) {
    Lanes largest = -3.0e38f;
    for (int i = w * 32; i < k.n; i += 256) {
      largest = __builtin_elementwise_max(largest, Load(row + i));
    }
    Store(partial + w * 32, largest);
  }
  Tree(partial, [](Lanes a, Lanes b) { return __builtin_elementwise_max(a, b); });
  const Lanes largest = partial[0];
  for (int w = 0; w < 8; ++w) {
    Lanes sum = 0;
    for (int i = w * 32; i < k.n; i += 256) {
      const Lanes e = Exp2((Load(row + i) - largest) * 1.4426950216293335f);
      Store(result + i, e);
      sum += e;
    }
    Store(partial + w * 32, sum);
  }
  Tree(partial, [](Lanes a, Lanes b) { return a + b; });
  const Lanes scale = 1.0f / partial[0];
  OverRow(k.n, [&](int, int i) { Store(result + i, Load(result + i) * scale); });
}

void Convolution(const Arguments& k, uint32_t bx, uint32_t by) {
  const int height = k.m;
  const int width = k.n;
  for (int w = 0; w < 8; ++w) {  // a warp is a row of the 32 x 8 block
    const int y = static_cast<int>(by) * 8 + w;
    const int x = static_cast<int>(bx) * 32;
    Lanes sum = 0;
    for (int dy = -1; dy <= 1; ++dy) {
      const int r = y + dy;
      if (r < 0 || r >= height) continue;
      for (int dx = -1; dx <= 1; ++dx) {
        const float* p = k.a + size_t(r) * width + x + dx;
        Lanes v;
        if (x + dx >= 0 && x + dx + 32 <= width) {
          v = Load(p);
        } else {
          for (int i = 0; i < 32; ++i) v[i] = x + dx + i >= 0 && x + dx + i < width ? p[i] : 0.0f;
        }
        sum = Fma(v, Lanes(k.b[(dy + 1) * 3 + dx + 1]), sum);
      }
    }
    Store(k.out + size_t(y) * width + x, sum);
  }
}

class Hand final : public Contender {
 public:
  explicit Hand(int threads) : threads_(threads) {}
  std::string name() const override { return "hand"; }
  Result<void> Begin(const Problem& problem) override {
    problem_ = &problem;
    out_.assign(problem.outputs, 0);
    return {};
  }
  Result<void> Run() override {
    static constexpr std::array kBodies = {VectorAdd, MatmulNaive, MatmulTiled,
                                           RowSum,    Softmax,     Convolution};
    const auto body = kBodies[static_cast<size_t>(problem_->which)];
    const Arguments arguments{problem_->a.data(), problem_->b.data(), out_.data(), problem_->m,
                              problem_->n};
    const uint32_t blocks = problem_->grid.x * problem_->grid.y;
    // Enough pieces for balance, few enough that taking one costs nothing.
    const uint32_t piece = std::max(1u, blocks / 64);
    std::atomic<uint32_t> next{0};
    const auto work = [&] {
      for (;;) {
        const uint32_t first = next.fetch_add(piece);
        if (first >= blocks) return;
        for (uint32_t i = first; i < std::min(blocks, first + piece); ++i) {
          body(arguments, i % problem_->grid.x, i / problem_->grid.x);
        }
      }
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads_; ++i) others.emplace_back(work);
    work();
    for (std::thread& t : others) t.join();
    return {};
  }
  Result<std::vector<float>> End() override { return std::move(out_); }

 private:
  int threads_;
  const Problem* problem_ = nullptr;
  std::vector<float> out_;
};

}  // namespace

std::unique_ptr<Contender> MakeHand(int threads) { return std::make_unique<Hand>(threads); }

}  // namespace kernelsmith::bench
