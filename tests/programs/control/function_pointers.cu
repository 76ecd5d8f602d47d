// NVCC:
// RUN: %kernelsmith run %x
// Indirect calls: tables of device functions, pointers chosen per lane, pointers passed from the
// host by symbol, virtual functions with several levels, and callbacks with context.
#include <new>

#include "../check.h"

using Function = float (*)(float, float);

__device__ float Add(float a, float b) { return a + b; }
__device__ float Sub(float a, float b) { return a - b; }
__device__ float Mul(float a, float b) { return a * b; }
__device__ float Larger(float a, float b) { return a > b ? a : b; }

__device__ Function g_table[4] = {Add, Sub, Mul, Larger};
__device__ Function g_chosen = Mul;

__global__ void CallTable(const int* which, const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = g_table[which[i]](a[i], b[i]);
}

__global__ void CallPassed(Function f, const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = f(f(a[i], b[i]), b[i]);
}

class Shape {
 public:
  __device__ virtual ~Shape() {}
  __device__ virtual float Area() const = 0;
  __device__ virtual int Corners() const { return 0; }
  __device__ float Score() const { return Area() * 10 + Corners(); }
};

class Circle : public Shape {
 public:
  __device__ explicit Circle(float r) : r_(r) {}
  __device__ float Area() const override { return 3.0f * r_ * r_; }

 private:
  float r_;
};

class Rectangle : public Shape {
 public:
  __device__ Rectangle(float w, float h) : w_(w), h_(h) {}
  __device__ float Area() const override { return w_ * h_; }
  __device__ int Corners() const override { return 4; }

 private:
  float w_, h_;
};

class Square final : public Rectangle {
 public:
  __device__ explicit Square(float s) : Rectangle(s, s) {}
  __device__ int Corners() const override { return Rectangle::Corners() + 100; }
};

__global__ void MakeShapes(Shape** shapes, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  switch (i % 3) {
    case 0:
      shapes[i] = new Circle(static_cast<float>(i));
      break;
    case 1:
      shapes[i] = new Rectangle(static_cast<float>(i), 2.0f);
      break;
    default:
      shapes[i] = new Square(static_cast<float>(i));
      break;
  }
}

__global__ void UseShapes(Shape** shapes, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = shapes[i]->Score();
  delete shapes[i];
}

struct Counter {
  int calls = 0;
  float total = 0;
};

__device__ __noinline__ void Visit(const float* values, int n, void (*visitor)(void*, float),
                                   void* context) {
  for (int i = 0; i < n; ++i) visitor(context, values[i]);
}

__device__ void CountPositive(void* context, float value) {
  Counter* counter = static_cast<Counter*>(context);
  if (value > 0) {
    ++counter->calls;
    counter->total += value;
  }
}

__device__ void CountAll(void* context, float value) {
  Counter* counter = static_cast<Counter*>(context);
  ++counter->calls;
  counter->total -= value;
}

__global__ void Callbacks(const float* values, int n, float* out) {
  Counter counter;
  Visit(values, n, threadIdx.x % 2 == 0 ? CountPositive : CountAll, &counter);
  out[threadIdx.x] = counter.total + counter.calls * 1000.0f;
}

int main() {
  const int n = 200;
  Random random(401);
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<float>(random.Below(100)) - 50;  // integers: every result is exact
    b[i] = static_cast<float>(random.Below(100)) - 50;
  }
  const std::vector<int> which = random.Ints(n, 0, 4);
  auto apply = [](int f, float x, float y) {
    return f == 0 ? x + y : f == 1 ? x - y : f == 2 ? x * y : std::max(x, y);
  };
  std::vector<float> want(n), want_passed(n);
  for (int i = 0; i < n; ++i) {
    want[i] = apply(which[i], a[i], b[i]);
    want_passed[i] = a[i] * b[i] * b[i];
  }
  DeviceArray<float> da(a), db(b), out(n);
  DeviceArray<int> dwhich(which);
  CallTable<<<4, 64>>>(dwhich.data(), da.data(), db.data(), out.data(), n);
  LAUNCH_OK();
  ExpectEqual("table", out.Get(), want);

  Function chosen = nullptr;
  CUDA_OK(cudaMemcpyFromSymbol(&chosen, g_chosen, sizeof chosen));
  CallPassed<<<4, 64>>>(chosen, da.data(), db.data(), out.data(), n);
  LAUNCH_OK();
  ExpectEqual("passed", out.Get(), want_passed);

  DeviceArray<Shape*> shapes(n);
  MakeShapes<<<4, 64>>>(shapes.data(), n);
  UseShapes<<<4, 64>>>(shapes.data(), out.data(), n);
  LAUNCH_OK();
  for (int i = 0; i < n; ++i) {
    const float x = static_cast<float>(i);
    want[i] = i % 3 == 0 ? 30 * x * x : i % 3 == 1 ? 20 * x + 4 : 10 * x * x + 104;
  }
  ExpectEqual("virtual", out.Get(), want);

  DeviceArray<float> totals(32);
  Callbacks<<<1, 32>>>(da.data(), n, totals.data());
  LAUNCH_OK();
  float positive = 0, all = 0;
  int count = 0;
  for (float value : a) {
    if (value > 0) positive += value, ++count;
    all -= value;
  }
  std::vector<float> want_totals;
  for (int i = 0; i < 32; ++i)
    want_totals.push_back(i % 2 == 0 ? positive + count * 1000 : all + n * 1000);
  ExpectEqual("callbacks", totals.Get(), want_totals);
  std::printf("%d positive values\n", count);
  return Finish();
}
