// The kernels of ks_engine_bench. engine.cl has the same in OpenCL, engine_hand.cc the same warps by
// hand. All have one signature: two inputs, one output, two sizes.

extern "C" __global__ void vector_add(const float* a, const float* b, float* out, int count, int) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = a[i] + b[i];
}

extern "C" __global__ void matmul_naive(const float* a, const float* b, float* out, int n, int) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  out[row * n + column] = sum;
}

extern "C" __global__ void matmul_tiled(const float* a, const float* b, float* out, int n, int) {
  __shared__ float tile_a[16][16];
  __shared__ float tile_b[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * 16 + ty;
  const int column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    tile_a[ty][tx] = a[row * n + tile + tx];
    tile_b[ty][tx] = b[(tile + ty) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += tile_a[ty][k] * tile_b[k][tx];
    __syncthreads();
  }
  out[row * n + column] = sum;
}

extern "C" __global__ void row_sum(const float* a, const float*, float* out, int, int columns) {
  __shared__ float partial[256];
  const int t = threadIdx.x;
  const float* row = a + (size_t)blockIdx.x * columns;
  float sum = 0;
  for (int i = t; i < columns; i += 256) sum += row[i];
  partial[t] = sum;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) partial[t] += partial[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = partial[0];
}

extern "C" __global__ void softmax(const float* a, const float*, float* out, int, int columns) {
  __shared__ float partial[256];
  const int t = threadIdx.x;
  const float* row = a + (size_t)blockIdx.x * columns;
  float* result = out + (size_t)blockIdx.x * columns;
  float largest = -3.0e38f;
  for (int i = t; i < columns; i += 256) largest = fmaxf(largest, row[i]);
  partial[t] = largest;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) partial[t] = fmaxf(partial[t], partial[t + s]);
    __syncthreads();
  }
  largest = partial[0];
  __syncthreads();
  float sum = 0;
  for (int i = t; i < columns; i += 256) {
    const float e = __expf(row[i] - largest);
    result[i] = e;
    sum += e;
  }
  partial[t] = sum;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) partial[t] += partial[t + s];
    __syncthreads();
  }
  const float scale = 1.0f / partial[0];
  for (int i = t; i < columns; i += 256) result[i] *= scale;
}

extern "C" __global__ void convolution(const float* image, const float* weight, float* out, int height,
                                       int width) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy) {
    for (int dx = -1; dx <= 1; ++dx) {
      const int row = y + dy, column = x + dx;
      if (row >= 0 && row < height && column >= 0 && column < width) {
        sum += image[row * width + column] * weight[(dy + 1) * 3 + dx + 1];
      }
    }
  }
  out[y * width + x] = sum;
}
