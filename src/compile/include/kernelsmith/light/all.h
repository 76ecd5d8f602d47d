// Everything: what each of torch's headers stands for here.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "autograd.h"
#include "dispatch.h"
#include "functions.h"
#include "library.h"
#include "python.h"

namespace c10 {
struct DeviceGuard {
  explicit DeviceGuard(Device) {}
};
struct OptionalDeviceGuard {
  template <typename... T>
  explicit OptionalDeviceGuard(const T&...) {}
};
}  // namespace c10

namespace at {
using DeviceGuard = c10::DeviceGuard;
using c10::kByte;
using caffe2::TypeMeta;
}  // namespace at

namespace torch {
using namespace at;
using at::empty;
using Dtype = c10::ScalarType;
using c10::dtype;
namespace cuda {
inline int64_t device_count() { return 1; }
inline bool is_available() { return true; }
inline void synchronize(int64_t = -1) {
  ::c10::detail::CudaCheck(cudaDeviceSynchronize(), __FILE__, __LINE__);
}
}  // namespace cuda
namespace indexing {
using namespace at::indexing;
}
using autograd::Variable;
struct NoGradGuard {
  NoGradGuard() {}
  ~NoGradGuard() {}
};
struct AutoGradMode {
  explicit AutoGradMode(bool) {}
};
using InferenceMode = NoGradGuard;
}  // namespace torch

namespace py = pybind11;
