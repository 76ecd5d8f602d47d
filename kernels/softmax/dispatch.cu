// Forward, float16, bfloat16, float32: any dtype through AT_DISPATCH, accumulation in float, a tree
// in shared memory.
#include <ATen/AccumulateType.h>
#include <torch/extension.h>

constexpr int kBlock = 64;

template <typename scalar_t>
__global__ void SoftmaxAny(const scalar_t* __restrict__ input, scalar_t* __restrict__ output,
                           int64_t columns) {
  using acc_t = at::acc_type<scalar_t, true>;
  __shared__ acc_t tree[kBlock];
  const int tid = threadIdx.x;
  const scalar_t* row = input + blockIdx.x * columns;

  acc_t m = -INFINITY;
  for (int64_t i = tid; i < columns; i += kBlock) m = max(m, static_cast<acc_t>(row[i]));
  tree[tid] = m;
  __syncthreads();
  for (int s = kBlock / 2; s > 0; s >>= 1) {
    if (tid < s) tree[tid] = max(tree[tid], tree[tid + s]);
    __syncthreads();
  }
  m = tree[0];
  __syncthreads();

  acc_t total = 0;
  for (int64_t i = tid; i < columns; i += kBlock) total += std::exp(static_cast<acc_t>(row[i]) - m);
  tree[tid] = total;
  __syncthreads();
  for (int s = kBlock / 2; s > 0; s >>= 1) {
    if (tid < s) tree[tid] += tree[tid + s];
    __syncthreads();
  }
  total = tree[0];

  for (int64_t i = tid; i < columns; i += kBlock) {
    output[blockIdx.x * columns + i] =
        static_cast<scalar_t>(std::exp(static_cast<acc_t>(row[i]) - m) / total);
  }
}

torch::Tensor forward(torch::Tensor input) {
  auto output = torch::empty_like(input);
  const int64_t columns = input.size(-1);
  const int64_t rows = input.numel() / columns;
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::ScalarType::Half, at::ScalarType::BFloat16, input.scalar_type(), "softmax", [&] {
        SoftmaxAny<scalar_t>
            <<<rows, kBlock>>>(input.data_ptr<scalar_t>(), output.data_ptr<scalar_t>(), columns);
      });
  return output;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
