// NVCC:
// RUN: %kernelsmith run %x
// N-body simulation with tiles in shared memory and rsqrtf, leapfrog steps; the momentum is kept,
// and positions agree with a double simulation.
#include "../check.h"

constexpr int kTile = 64;
constexpr float kSoftening = 0.01f;

__global__ void Accelerate(const float4* bodies, float3* acceleration, int n) {
  __shared__ float4 tile[kTile];
  const int i = blockIdx.x * kTile + threadIdx.x;
  const float4 me = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 a = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += kTile) {
    tile[threadIdx.x] =
        base + threadIdx.x < n ? bodies[base + threadIdx.x] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 8
    for (int j = 0; j < kTile; ++j) {
      const float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + kSoftening);
      const float scale = tile[j].w * inverse * inverse * inverse;  // w is the mass
      a.x += dx * scale;
      a.y += dy * scale;
      a.z += dz * scale;
    }
    __syncthreads();
  }
  if (i < n) acceleration[i] = a;
}

__global__ void Move(float4* bodies, float3* velocity, const float3* acceleration, int n,
                     float dt) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  velocity[i].x += acceleration[i].x * dt;
  velocity[i].y += acceleration[i].y * dt;
  velocity[i].z += acceleration[i].z * dt;
  bodies[i].x += velocity[i].x * dt;
  bodies[i].y += velocity[i].y * dt;
  bodies[i].z += velocity[i].z * dt;
}

int main() {
  const int n = 150, steps = 4;
  const float dt = 0.01f;
  Random random(201);
  std::vector<float4> bodies(n);
  for (float4& b : bodies) {
    b = make_float4(random.Float(-1, 1), random.Float(-1, 1), random.Float(-1, 1),
                    random.Float(0.1f, 1) / n);
  }
  std::vector<double> position(3 * n), velocity(3 * n);
  for (int i = 0; i < n; ++i) {
    position[3 * i] = bodies[i].x;
    position[3 * i + 1] = bodies[i].y;
    position[3 * i + 2] = bodies[i].z;
  }
  for (int s = 0; s < steps; ++s) {
    std::vector<double> a(3 * n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        double d[3], square = kSoftening;
        for (int k = 0; k < 3; ++k) {
          d[k] = position[3 * j + k] - position[3 * i + k];
          square += d[k] * d[k];
        }
        for (int k = 0; k < 3; ++k)
          a[3 * i + k] += d[k] * bodies[j].w / (square * std::sqrt(square));
      }
    }
    for (int k = 0; k < 3 * n; ++k) {
      velocity[k] += a[k] * dt;
      position[k] += velocity[k] * dt;
    }
  }

  DeviceArray<float4> dbodies(bodies);
  DeviceArray<float3> dvelocity(n), dacceleration(n);
  dvelocity.Fill(0);
  const int blocks = (n + kTile - 1) / kTile;
  for (int s = 0; s < steps; ++s) {
    Accelerate<<<blocks, kTile>>>(dbodies.data(), dacceleration.data(), n);
    Move<<<blocks, kTile>>>(dbodies.data(), dvelocity.data(), dacceleration.data(), n, dt);
  }
  LAUNCH_OK();
  std::vector<float> got;
  for (const float4& b : dbodies.Get()) got.insert(got.end(), {b.x, b.y, b.z});
  ExpectNear("positions", got, position, 1e-5, 2e-6);
  double momentum[3] = {};
  const auto v = dvelocity.Get();
  for (int i = 0; i < n; ++i) {
    momentum[0] += v[i].x * bodies[i].w;
    momentum[1] += v[i].y * bodies[i].w;
    momentum[2] += v[i].z * bodies[i].w;
  }
  for (double component : momentum) Expect(std::fabs(component) < 1e-6, "the momentum stays zero");
  std::printf("body 0 at %.5f %.5f %.5f\n", position[0], position[1], position[2]);
  return Finish();
}
