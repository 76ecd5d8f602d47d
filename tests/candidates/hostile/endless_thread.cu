// The main thread waits for a thread that never ends.
// FINDING: timeout
// ARGS: x=f32[8]
#include <torch/extension.h>
#include <thread>

torch::Tensor forward(torch::Tensor x) {
  std::thread worker([] {
    volatile int forever = 1;
    while (forever) {
    }
  });
  worker.join();
  return x.clone();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("forward", &forward); }
