// NVCC:
// RUN: %kernelsmith run %x
// Texture and surface objects: fetches from linear memory, points and bilinear filtering of an array
// with every address mode, normalised values, layers, volumes, pitched memory, and surfaces that are
// written, read back and copied. Filter weights have 8 bits behind the point.
#include "../check.h"

__global__ void Fetch(cudaTextureObject_t texture, float* out, int count) {
  const int i = threadIdx.x;
  if (i < count) out[i] = tex1Dfetch<float>(texture, i - 2);
}
__global__ void Sample(cudaTextureObject_t texture, const float2* places, float* out, int count) {
  const int i = threadIdx.x;
  if (i < count) out[i] = tex2D<float>(texture, places[i].x, places[i].y);
}
__global__ void Bytes(cudaTextureObject_t values, cudaTextureObject_t normalised, int4* out,
                      float4* fractions) {
  const uchar4 v = tex2D<uchar4>(values, threadIdx.x + 0.5f, 1.5f);
  out[threadIdx.x] = make_int4(v.x, v.y, v.z, v.w);
  fractions[threadIdx.x] = tex2D<float4>(normalised, threadIdx.x + 0.5f, 1.5f);
}
__global__ void Layers(cudaTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex2DLayered<float>(texture, 1.5f, 0.5f, (int)threadIdx.x);
}
__global__ void Volume(cudaTextureObject_t texture, float* out) {
  out[threadIdx.x] = tex3D<float>(texture, 1.0f, 1.0f, 0.5f + threadIdx.x * 0.5f);
}
__global__ void Surface(cudaSurfaceObject_t surface, int width, int height, int* outside) {
  const int x = threadIdx.x, y = threadIdx.y;
  surf2Dwrite(float(y * 100 + x), surface, x * 4, y);
  __syncthreads();
  float v;
  surf2Dread(&v, surface, (width - 1 - x) * 4, y);
  __syncthreads();
  surf2Dwrite(v + 0.5f, surface, x * 4, y);
  if (x == 0 && y == 0) {
    float far, near;
    surf2Dread(&far, surface, width * 4, 0, cudaBoundaryModeZero);
    surf2Dread(&near, surface, -4, height, cudaBoundaryModeClamp);
    outside[0] = far == 0;
    outside[1] = near == (height - 1) * 100 + width - 1 + 0.5f || near == (height - 1) * 100;
  }
}

constexpr int kWidth = 5, kHeight = 4;
float Pixel(int x, int y) { return float(x * x + 10 * y); }

int Border(int i, int n, cudaTextureAddressMode mode) {
  if (i >= 0 && i < n) return i;
  if (mode == cudaAddressModeClamp) return i < 0 ? 0 : n - 1;
  if (mode == cudaAddressModeWrap) return ((i % n) + n) % n;
  if (mode == cudaAddressModeMirror) {
    const int m = ((i % (2 * n)) + 2 * n) % (2 * n);
    return m < n ? m : 2 * n - 1 - m;
  }
  return -1;
}
float At(int x, int y, cudaTextureAddressMode mode) {
  const int i = Border(x, kWidth, mode), j = Border(y, kHeight, mode);
  return i < 0 || j < 0 ? 0.0f : Pixel(i, j);
}
// From the programming guide's appendix on texture fetching.
float Expected(float x, float y, cudaTextureAddressMode mode, bool linear) {
  if (!linear) return At((int)std::floor(x), (int)std::floor(y), mode);
  x -= 0.5f;
  y -= 0.5f;
  const int i = (int)std::floor(x), j = (int)std::floor(y);
  const float a = std::round((x - i) * 256) / 256, b = std::round((y - j) * 256) / 256;
  return (1 - a) * (1 - b) * At(i, j, mode) + a * (1 - b) * At(i + 1, j, mode) +
         (1 - a) * b * At(i, j + 1, mode) + a * b * At(i + 1, j + 1, mode);
}

cudaTextureObject_t Object(const cudaResourceDesc& resource, cudaTextureAddressMode mode,
                           bool linear, bool normalised, cudaTextureReadMode read) {
  cudaTextureDesc description = {};
  for (auto& m : description.addressMode) m = mode;
  description.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  description.normalizedCoords = normalised;
  description.readMode = read;
  cudaTextureObject_t texture = 0;
  CUDA_OK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}

int main() {
  {  // linear memory: outside is 0
    std::vector<float> values(16);
    for (int i = 0; i < 16; ++i) values[i] = 1.5f * i + 1;
    DeviceArray<float> data(values), out(20);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = data.data();
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = 16 * sizeof(float);
    const auto texture =
        Object(resource, cudaAddressModeClamp, false, false, cudaReadModeElementType);
    Fetch<<<1, 32>>>(texture, out.data(), 20);
    LAUNCH_OK();
    const auto got = out.Get();
    for (int i = 0; i < 20; ++i) {
      Expect(got[i] == (i >= 2 && i < 18 ? values[i - 2] : 0.0f), "tex1Dfetch");
    }
    CUDA_OK(cudaDestroyTextureObject(texture));
  }

  std::vector<float> pixels(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y) {
    for (int x = 0; x < kWidth; ++x) pixels[y * kWidth + x] = Pixel(x, y);
  }
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CUDA_OK(cudaMallocArray(&array, &format, kWidth, kHeight, cudaArraySurfaceLoadStore));
  CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, pixels.data(), kWidth * 4, kWidth * 4, kHeight,
                              cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  for (const bool normalised : {false, true}) {
    for (const bool linear : {false, true}) {
      for (const auto mode : {cudaAddressModeClamp, cudaAddressModeBorder, cudaAddressModeWrap,
                              cudaAddressModeMirror}) {
        if (!normalised && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)) continue;
        const auto texture = Object(resource, mode, linear, normalised, cudaReadModeElementType);
        // In eighths of a texel, which every step of the arithmetic represents.
        std::vector<float2> places;
        std::vector<float> expected;
        for (int i = 0; i < 64; ++i) {
          const float x = (i % 8 * 9 - 14) / 8.0f, y = (i / 8 * 7 - 11) / 8.0f;
          // Normalised widths are powers of two only for y; x then stays on texel centres.
          const float px = normalised ? std::floor(x) + 0.5f : x;
          places.push_back(normalised ? make_float2(px / kWidth, y / kHeight) : make_float2(px, y));
          expected.push_back(Expected(px, y, mode, linear));
        }
        DeviceArray<float2> device(places);
        DeviceArray<float> out(64);
        Sample<<<1, 64>>>(texture, device.data(), out.data(), 64);
        LAUNCH_OK();
        const auto got = out.Get();
        int wrong = 0;
        for (int i = 0; i < 64; ++i) wrong += std::fabs(got[i] - expected[i]) > 0.02f;
        if (wrong) std::printf("mode %d linear %d normalised %d: %d\n", mode, linear, normalised, wrong);
        Expect(wrong == 0, "tex2D");
        CUDA_OK(cudaDestroyTextureObject(texture));
      }
    }
  }

  {  // surfaces of the same array; then copied out
    cudaSurfaceObject_t surface;
    CUDA_OK(cudaCreateSurfaceObject(&surface, &resource));
    DeviceArray<int> outside(2);
    Surface<<<1, dim3(kWidth, kHeight)>>>(surface, kWidth, kHeight, outside.data());
    LAUNCH_OK();
    std::vector<float> back(kWidth * kHeight);
    CUDA_OK(cudaMemcpy2DFromArray(back.data(), kWidth * 4, array, 0, 0, kWidth * 4, kHeight,
                                  cudaMemcpyDeviceToHost));
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        Expect(back[y * kWidth + x] == y * 100 + kWidth - 1 - x + 0.5f, "surf2Dwrite, surf2Dread");
      }
    }
    Expect(outside.Get()[0] == 1, "outside of a surface: zero");
    Expect(outside.Get()[1] == 1, "outside of a surface: clamped");
    CUDA_OK(cudaDestroySurfaceObject(surface));
  }
  CUDA_OK(cudaFreeArray(array));

  {  // bytes in pitched memory
    size_t pitch;
    uchar4* data;
    CUDA_OK(cudaMallocPitch(&data, &pitch, 3 * sizeof(uchar4), 2));
    std::vector<uchar4> host(6);
    for (int i = 0; i < 6; ++i) host[i] = make_uchar4(i * 40, i, 255, 128 + i);
    CUDA_OK(cudaMemcpy2D(data, pitch, host.data(), 12, 12, 2, cudaMemcpyHostToDevice));
    cudaResourceDesc rows = {};
    rows.resType = cudaResourceTypePitch2D;
    rows.res.pitch2D = {data, cudaCreateChannelDesc<uchar4>(), 3, 2, pitch};
    const auto values = Object(rows, cudaAddressModeClamp, false, false, cudaReadModeElementType);
    const auto fractions =
        Object(rows, cudaAddressModeClamp, false, false, cudaReadModeNormalizedFloat);
    DeviceArray<int4> out(3);
    DeviceArray<float4> normal(3);
    Bytes<<<1, 3>>>(values, fractions, out.data(), normal.data());
    LAUNCH_OK();
    for (int i = 0; i < 3; ++i) {
      const uchar4 want = host[3 + i];
      const int4 got = out.Get()[i];
      const float4 f = normal.Get()[i];
      Expect(got.x == want.x && got.y == want.y && got.z == want.z && got.w == want.w, "bytes");
      Expect(std::fabs(f.x - want.x / 255.0f) < 1e-6f && f.z == 1.0f, "normalised bytes");
    }
    CUDA_OK(cudaDestroyTextureObject(values));
    CUDA_OK(cudaDestroyTextureObject(fractions));
    CUDA_OK(cudaFree(data));
  }

  {  // layers and volumes
    std::vector<float> cells(2 * 2 * 3);
    for (int i = 0; i < 12; ++i) cells[i] = float(i * i);
    for (const unsigned flags : {(unsigned)cudaArrayLayered, 0u}) {
      cudaArray_t stack;
      CUDA_OK(cudaMalloc3DArray(&stack, &format, make_cudaExtent(2, 2, 3), flags));
      cudaMemcpy3DParms copy = {};
      copy.srcPtr = make_cudaPitchedPtr(cells.data(), 2 * 4, 2, 2);
      copy.dstArray = stack;
      copy.extent = make_cudaExtent(2, 2, 3);
      copy.kind = cudaMemcpyHostToDevice;
      CUDA_OK(cudaMemcpy3D(&copy));
      cudaResourceDesc desc = {};
      desc.resType = cudaResourceTypeArray;
      desc.res.array.array = stack;
      DeviceArray<float> out(5);
      const auto texture =
          Object(desc, cudaAddressModeClamp, flags == 0, false, cudaReadModeElementType);
      if (flags != 0) {
        Layers<<<1, 5>>>(texture, out.data());
        LAUNCH_OK();
        for (int i = 0; i < 5; ++i) {
          Expect(out.Get()[i] == cells[std::min(i, 2) * 4 + 1], "a layer, or the last");
        }
      } else {
        Volume<<<1, 5>>>(texture, out.data());
        LAUNCH_OK();
        const auto plane = [&](int z) {
          float sum = 0;
          for (int i = 0; i < 4; ++i) sum += cells[z * 4 + i] / 4;
          return sum;
        };
        for (int i = 0; i < 5; ++i) {
          const float want = i % 2 == 0 ? plane(i / 2) : (plane(i / 2) + plane(i / 2 + 1)) / 2;
          Expect(out.Get()[i] == want, "a point between the cells of a volume");
        }
      }
      CUDA_OK(cudaDestroyTextureObject(texture));
      CUDA_OK(cudaFreeArray(stack));
    }
  }
  return Finish();
}
