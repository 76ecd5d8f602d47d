// engine.cu in OpenCL, word by word, for PoCL.

__kernel void vector_add(__global const float* a, __global const float* b, __global float* out, int count, int unused_size) {
  const int i = get_global_id(0);
  if (i < count) out[i] = a[i] + b[i];
}

__kernel void matmul_naive(__global const float* a, __global const float* b, __global float* out, int n, int unused_size) {
  const int row = get_global_id(1);
  const int column = get_global_id(0);
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  out[row * n + column] = sum;
}

__kernel void matmul_tiled(__global const float* a, __global const float* b, __global float* out, int n, int unused_size) {
  __local float tile_a[16][16];
  __local float tile_b[16][16];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int row = get_group_id(1) * 16 + ty;
  const int column = get_group_id(0) * 16 + tx;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    tile_a[ty][tx] = a[row * n + tile + tx];
    tile_b[ty][tx] = b[(tile + ty) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) sum += tile_a[ty][k] * tile_b[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[row * n + column] = sum;
}

__kernel void row_sum(__global const float* a, __global const float* unused, __global float* out, int unused_rows, int columns) {
  __local float partial[256];
  const int t = get_local_id(0);
  __global const float* row = a + (size_t)get_group_id(0) * columns;
  float sum = 0;
  for (int i = t; i < columns; i += 256) sum += row[i];
  partial[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) partial[t] += partial[t + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = partial[0];
}

__kernel void softmax(__global const float* a, __global const float* unused, __global float* out, int unused_rows, int columns) {
  __local float partial[256];
  const int t = get_local_id(0);
  __global const float* row = a + (size_t)get_group_id(0) * columns;
  __global float* result = out + (size_t)get_group_id(0) * columns;
  float largest = -3.0e38f;
  for (int i = t; i < columns; i += 256) largest = fmax(largest, row[i]);
  partial[t] = largest;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) partial[t] = fmax(partial[t], partial[t + s]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  largest = partial[0];
  barrier(CLK_LOCAL_MEM_FENCE);
  float sum = 0;
  for (int i = t; i < columns; i += 256) {
    const float e = native_exp(row[i] - largest);
    result[i] = e;
    sum += e;
  }
  partial[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 128; s > 0; s >>= 1) {
    if (t < s) partial[t] += partial[t + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float scale = 1.0f / partial[0];
  for (int i = t; i < columns; i += 256) result[i] *= scale;
}

__kernel void convolution(__global const float* image, __global const float* weight, __global float* out, int height, int width) {
  const int x = get_global_id(0);
  const int y = get_global_id(1);
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
