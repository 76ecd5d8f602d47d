// NVCC:
// RUN: %kernelsmith run %x
// Tensor cores by inline PTX: ldmatrix (plain and transposed) and mma.sync.m16n8k16 for f16 and
// bf16, m16n8k8 for tf32, and m16n8k32 for int8, in a block of four warps.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "../check.h"

__device__ unsigned SharedAddress(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

template <typename T>
__device__ void Mma16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  if constexpr (std::is_same_v<T, half>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
}

// C (64 x 32) = A (64 x k) B (k x 32), both row major: warp w makes rows 16w .. 16w+15.
template <typename T>
__global__ void Multiply(const T* a, const T* b, float* c, int k) {
  __shared__ __align__(16) T sa[64][16 + 8];
  __shared__ __align__(16) T sb[16][32 + 8];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sums[4][4] = {};
  for (int base = 0; base < k; base += 16) {
    for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x)
      sa[i / 16][i % 16] = a[i / 16 * k + base + i % 16];
    for (int i = threadIdx.x; i < 16 * 32; i += blockDim.x)
      sb[i / 32][i % 32] = b[(base + i / 32) * 32 + i % 32];
    __syncthreads();
    unsigned fa[4];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                 : "r"(SharedAddress(&sa[warp * 16 + lane % 16][lane / 16 * 8])));
    for (int tile = 0; tile < 4; ++tile) {
      unsigned fb[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
                   : "=r"(fb[0]), "=r"(fb[1])
                   : "r"(SharedAddress(&sb[lane % 16][tile * 8])));
      Mma16<T>(sums[tile], fa, fb);
    }
    __syncthreads();
  }
  for (int tile = 0; tile < 4; ++tile) {
    const int row = warp * 16 + lane / 4, col = tile * 8 + lane % 4 * 2;
    *reinterpret_cast<float2*>(&c[row * 32 + col]) = make_float2(sums[tile][0], sums[tile][1]);
    *reinterpret_cast<float2*>(&c[(row + 8) * 32 + col]) =
        make_float2(sums[tile][2], sums[tile][3]);
  }
}

__global__ void MultiplyTf32(const float* a, const float* b, float* c) {
  const int group = threadIdx.x / 4, member = threadIdx.x % 4;
  unsigned fa[4], fb[2];
  float d[4] = {};
  auto bits = [](float value) {
    unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(value));
    return r;
  };
  fa[0] = bits(a[group * 8 + member]);
  fa[1] = bits(a[(group + 8) * 8 + member]);
  fa[2] = bits(a[group * 8 + member + 4]);
  fa[3] = bits(a[(group + 8) * 8 + member + 4]);
  fb[0] = bits(b[member * 8 + group]);
  fb[1] = bits(b[(member + 4) * 8 + group]);
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
  for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + member * 2 + i % 2] = d[i];
}

// A is 16 x 32 row major, B is 8 columns of 32, both as packed bytes.
__global__ void MultiplyInt8(const int* a, const int* b, int* c) {
  const int group = threadIdx.x / 4, member = threadIdx.x % 4;
  int d[4] = {1, 2, 3, 4};
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[group * 8 + member]), "r"(a[(group + 8) * 8 + member]),
        "r"(a[group * 8 + member + 4]), "r"(a[(group + 8) * 8 + member + 4]),
        "r"(b[group * 8 + member]), "r"(b[group * 8 + member + 4]));
  for (int i = 0; i < 4; ++i) c[(group + i / 2 * 8) * 8 + member * 2 + i % 2] = d[i];
}

template <typename T>
void Check16(const char* name) {
  const int k = 64;
  Random random(23);
  std::vector<T> a(64 * k), b(k * 32);
  for (T& value : a) value = T(random.Float(-1, 1));
  for (T& value : b) value = T(random.Float(-1, 1));
  std::vector<double> want(64 * 32);
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 32; ++j) {
      for (int l = 0; l < k; ++l) {
        want[i * 32 + j] += static_cast<double>(static_cast<float>(a[i * k + l])) *
                            static_cast<float>(b[l * 32 + j]);
      }
    }
  }
  DeviceArray<T> da(a), db(b);
  DeviceArray<float> dc(64 * 32);
  Multiply<T><<<1, 128>>>(da.data(), db.data(), dc.data(), k);
  LAUNCH_OK();
  ExpectNear(name, dc.Get(), want, 0, 2e-5);
  std::printf("%s: c[0] = %.5f\n", name, want[0]);
}

int main() {
  Check16<half>("f16");
  Check16<__nv_bfloat16>("bf16");

  Random random(29);
  std::vector<float> a(16 * 8), b(8 * 8), want(16 * 8);
  for (float& value : a) value = static_cast<float>(random.Below(64)) - 32;
  for (float& value : b) value = static_cast<float>(random.Below(64)) - 32;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      for (int l = 0; l < 8; ++l) want[i * 8 + j] += a[i * 8 + l] * b[l * 8 + j];
    }
  }
  DeviceArray<float> da(a), db(b), dc(16 * 8);
  MultiplyTf32<<<1, 32>>>(da.data(), db.data(), dc.data());
  LAUNCH_OK();
  ExpectEqual("tf32", dc.Get(), want);

  std::vector<int> ia(16 * 8), ib(8 * 8), iwant(16 * 8);
  for (int& word : ia) word = static_cast<int>(random.Bits());
  for (int& word : ib) word = static_cast<int>(random.Bits());
  const signed char* bytes_a = reinterpret_cast<const signed char*>(ia.data());
  const signed char* bytes_b = reinterpret_cast<const signed char*>(ib.data());
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 8; ++j) {
      int sum = i / 8 * 2 + j % 2 + 1;  // what the accumulators start with
      for (int l = 0; l < 32; ++l) sum += bytes_a[i * 32 + l] * bytes_b[j * 32 + l];
      iwant[i * 8 + j] = sum;
    }
  }
  DeviceArray<int> dia(ia), dib(ib), dic(16 * 8);
  MultiplyInt8<<<1, 32>>>(dia.data(), dib.data(), dic.data());
  LAUNCH_OK();
  ExpectEqual("int8", dic.Get(), iwant);
  std::printf("tf32: c[0] = %g, int8: c[0] = %d\n", want[0], iwant[0]);
  return Finish();
}
