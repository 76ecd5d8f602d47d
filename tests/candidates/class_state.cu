// Host classes, RAII and the standard library.
// ARGS: x=f32[18]
#include <torch/extension.h>


#include <map>
#include <memory>
#include <string>

__global__ void Add(const float* x, float* y, float by, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] + by;
}

class Stage {
 public:
  explicit Stage(float by) : by_(by) {}
  virtual ~Stage() = default;
  virtual torch::Tensor Run(const torch::Tensor& x) const {
    auto y = torch::empty_like(x);
    Add<<<1, 32>>>(x.data_ptr<float>(), y.data_ptr<float>(), by_, x.numel());
    return y;
  }

 private:
  float by_;
};

torch::Tensor forward(torch::Tensor x) {
  std::map<std::string, std::unique_ptr<Stage>> stages;
  stages["a"] = std::make_unique<Stage>(1.f);
  stages["b"] = std::make_unique<Stage>(-3.f);
  for (const auto& [name, stage] : stages) x = stage->Run(x);
  return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
