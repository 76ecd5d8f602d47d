// Cross entropy forward and backward in one module; labels are int64, the result is a scalar.
// ARGS: logits=f32[12,20] labels=i64[12]<20
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

__global__ void ce_forward(const float* logits, const int64_t* labels, float* loss, float* probs, int classes) {
  const int row = blockIdx.x;
  float m = -1e30f;
  for (int c = 0; c < classes; ++c) m = max(m, logits[row * classes + c]);
  float s = 0.f;
  for (int c = 0; c < classes; ++c) s += expf(logits[row * classes + c] - m);
  for (int c = threadIdx.x; c < classes; c += blockDim.x) probs[row * classes + c] = expf(logits[row * classes + c] - m) / s;
  if (threadIdx.x == 0) atomicAdd(loss, (logf(s) + m - logits[row * classes + labels[row]]) / gridDim.x);
}

std::tuple<at::Tensor, at::Tensor> forward(at::Tensor logits, at::Tensor labels) {
  TORCH_CHECK(labels.dtype() == torch::kLong, "labels must be int64");
  TORCH_CHECK_EQ(logits.size(0), labels.size(0));
  auto loss = torch::zeros({}, logits.options());
  auto probs = torch::empty_like(logits, at::MemoryFormat::Contiguous);
  ce_forward<<<logits.size(0), 32, 0, at::cuda::getCurrentCUDAStream()>>>(
      logits.data_ptr<float>(), labels.data_ptr<int64_t>(), loss.data_ptr<float>(), probs.data_ptr<float>(),
      (int)logits.size(1));
  return {loss, probs};
}

at::Tensor backward(at::Tensor probs, at::Tensor labels) {
  auto grad = probs.clone();
  return grad.sub_(torch::one_hot(labels, probs.size(1)).to(probs.dtype())).div_(probs.size(0));
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward);
  m.def("backward", &backward);
}
