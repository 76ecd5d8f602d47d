// A candidate's plan under the checkers: it writes to its input, reads behind it, leaves the end of
// its output unwritten, and the report names the tensors.
// RUN: %kernelsmith sanitize --json gelu %s | grep -o '"kind": "[a-z_]*"\|"what": "[a-z0-9 ]*"' | sort -u
// OUT:
// | "kind": "out_of_bounds"
// | "kind": "uninitialized_read"
// | "kind": "write_to_readonly"
// | "what": "input x"
#include <torch/extension.h>

__global__ void Gelu(float* x, float* out, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i > n) return;  // one too many
  const float v = x[i];
  if (i == 0) x[0] = v;
  if (i < n - 3) out[i] = 0.5f * v * (1 + erff(v * 0.70710678f));
}

torch::Tensor forward(torch::Tensor x) {
  auto out = torch::empty_like(x);
  const int64_t n = x.numel();
  Gelu<<<static_cast<unsigned>(n / 256 + 1), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), n);
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
