// New tensors, copies and fills.
#include <algorithm>
#include <cstring>

#include "cudart/runtime.h"
#include "plan/host/device_client.h"
#include "plan/host/light_runtime.h"
#include "plan/library.h"

namespace at {
namespace {

using kernelsmith::CopyElements;
using kernelsmith::TensorMemory;
using kernelsmith::cudart::Runtime;
using kernelsmith::host::DeviceClient;
using kernelsmith::light::Count;
using kernelsmith::light::MakeTensor;
using kernelsmith::light::MakeView;
using kernelsmith::light::OpInto;
using kernelsmith::light::RowMajor;
using kernelsmith::light::ThrowUnsupported;
using Sizes = std::vector<int64_t>;

// The bits of `value` in an element of `dtype`.
uint64_t Bits(const Scalar& value, ScalarType dtype) {
  uint64_t bits = 0;
  if (dtype == ScalarType::Long) {
    const auto integer = value.to<int64_t>();
    std::memcpy(&bits, &integer, 8);
    return bits;
  }
  const auto type = kernelsmith::ParseDType(kernelsmith::light::GraphDType(dtype));
  kernelsmith::StoreElement(*type, value.toDouble(), &bits);
  return bits;
}

TensorMemory MemoryOf(const Tensor& tensor, std::byte* data) {
  return {.dtype = *kernelsmith::ParseDType(kernelsmith::light::GraphDType(tensor.scalar_type())),
          .shape = tensor.sizes().vec(),
          .strides = tensor.strides().vec(),
          .data = data};
}

uint64_t AddressOf(const Tensor& tensor) { return reinterpret_cast<uint64_t>(tensor.data_ptr()); }

// Bytes from the first to behind the last element.
uint64_t Extent(const Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  int64_t last = 0;
  for (int64_t i = 0; i < tensor.dim(); ++i) last += (tensor.size(i) - 1) * tensor.stride(i);
  return static_cast<uint64_t>(last + 1) * tensor.element_size();
}

Sizes StridesFor(const Sizes& sizes, MemoryFormat format) {
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
    return kernelsmith::light::ChannelsLast(sizes);
  }
  return RowMajor(sizes);
}

// Elements in the order of the strides of `like`, without gaps.
Sizes StridesLike(const Tensor& like) {
  if (like.is_contiguous()) return RowMajor(like.sizes().vec());
  std::vector<int64_t> order(like.dim());
  for (int64_t i = 0; i < like.dim(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return like.stride(a) != like.stride(b) ? like.stride(a) > like.stride(b) : a < b;
  });
  // Only a permutation of a dense tensor keeps its order; anything else becomes row-major.
  Sizes strides(like.dim());
  int64_t step = 1;
  for (size_t i = order.size(); i-- > 0;) {
    if (like.size(order[i]) != 1 && like.stride(order[i]) != step) {
      return RowMajor(like.sizes().vec());
    }
    strides[order[i]] = step;
    step *= like.size(order[i]);
  }
  return strides;
}

TensorOptions Merge(const Tensor& like, const TensorOptions& options) {
  return TensorOptions(options.dtype_opt().value_or(like.scalar_type()))
      .device(options.device_opt().value_or(like.device()));
}

}  // namespace

Tensor empty(IntArrayRef sizes, const TensorOptions& options, std::optional<MemoryFormat> format) {
  return MakeTensor(
      sizes.vec(), options.dtype(), options.device().type(),
      StridesFor(sizes.vec(), format.value_or(options.memory_format_or(MemoryFormat::Contiguous))));
}
Tensor empty_strided(IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  TORCH_CHECK(sizes.size() == strides.size(), "sizes and strides must have the same length");
  for (const int64_t stride : strides) TORCH_CHECK(stride >= 0, "strides must not be negative");
  return MakeTensor(sizes.vec(), options.dtype(), options.device().type(), strides.vec());
}
Tensor full(IntArrayRef sizes, const Scalar& value, const TensorOptions& options) {
  ScalarType dtype = options.dtype();
  if (!options.dtype_opt() && !value.isFloatingPoint()) dtype = value.type();
  Tensor made = empty(sizes, options.dtype(dtype));
  made.fill_(value);
  return made;
}
Tensor zeros(IntArrayRef sizes, const TensorOptions& options) {
  return full(sizes, 0, options.dtype(options.dtype()));
}
Tensor ones(IntArrayRef sizes, const TensorOptions& options) {
  return full(sizes, 1, options.dtype(options.dtype()));
}
Tensor empty_like(const Tensor& like, const TensorOptions& options,
                  std::optional<MemoryFormat> format) {
  const TensorOptions merged = Merge(like, options);
  const MemoryFormat wanted = format.value_or(options.memory_format_or(MemoryFormat::Preserve));
  return MakeTensor(like.sizes().vec(), merged.dtype(), merged.device().type(),
                    wanted == MemoryFormat::Preserve ? StridesLike(like)
                                                     : StridesFor(like.sizes().vec(), wanted));
}
Tensor full_like(const Tensor& like, const Scalar& value, const TensorOptions& options) {
  Tensor made = empty_like(like, options);
  made.fill_(value);
  return made;
}
Tensor zeros_like(const Tensor& like, const TensorOptions& options) {
  return full_like(like, 0, options);
}
Tensor ones_like(const Tensor& like, const TensorOptions& options) {
  return full_like(like, 1, options);
}
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  return full({}, value, options.dtype(options.dtype()));
}
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step,
              const TensorOptions& options) {
  const bool floating = start.isFloatingPoint() || end.isFloatingPoint() || step.isFloatingPoint();
  const ScalarType dtype =
      options.dtype_opt().value_or(floating ? ScalarType::Float : ScalarType::Long);
  const auto count =
      static_cast<int64_t>(std::ceil((end.toDouble() - start.toDouble()) / step.toDouble()));
  TORCH_CHECK(count >= 0, "upper bound and lower bound inconsistent with step sign");
  Tensor made = MakeTensor({count}, dtype, kCPU);
  const auto type = *kernelsmith::ParseDType(kernelsmith::light::GraphDType(dtype));
  for (int64_t i = 0; i < count; ++i) {
    kernelsmith::StoreElement(
        type, start.toDouble() + static_cast<double>(i) * step.toDouble(),
        static_cast<std::byte*>(made.data_ptr()) + static_cast<size_t>(i) * made.element_size());
  }
  return made.to(options.device());
}
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}
Tensor arange(const Scalar& end, const TensorOptions& options) {
  return arange(0, end, 1, options);
}
Tensor eye(int64_t n, const TensorOptions& options) {
  Tensor made = zeros({n, n}, options.device(kCPU));
  made.diagonal().fill_(1);
  return made.to(options.device());
}
Tensor rand(IntArrayRef, const TensorOptions&) { ThrowUnsupported("random: torch::rand"); }
Tensor randn(IntArrayRef, const TensorOptions&) { ThrowUnsupported("random: torch::randn"); }
Tensor rand_like(const Tensor&, const TensorOptions&) {
  ThrowUnsupported("random: torch::rand_like");
}
Tensor randn_like(const Tensor&, const TensorOptions&) {
  ThrowUnsupported("random: torch::randn_like");
}

Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  auto storage = std::make_shared<kernelsmith::light::Storage>();
  storage->address = reinterpret_cast<uint64_t>(data);
  storage->owned = false;
  storage->device =
      Runtime::Get().initialised() && Runtime::Get().memory().InReservedRange(storage->address);
  auto impl = std::make_shared<kernelsmith::light::TensorImpl>();
  impl->data = static_cast<char*>(data);
  impl->sizes = sizes.vec();
  impl->strides = strides.vec();
  impl->dtype = options.dtype();
  impl->device = storage->device ? kCUDA : kCPU;
  impl->storage = storage;
  Tensor made(std::move(impl));
  storage->bytes = Extent(made);
  return made;
}
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return from_blob(data, sizes, RowMajor(sizes.vec()), options);
}
Tensor TensorFromBytes(const void* data, size_t bytes, IntArrayRef sizes, ScalarType dtype,
                       const TensorOptions& options) {
  Tensor made = MakeTensor(sizes.vec(), dtype, kCPU);
  if (bytes > 0) std::memcpy(made.data_ptr(), data, bytes);
  // A literal without a dtype is float where it is double, as in Python.
  const ScalarType wanted =
      options.dtype_opt().value_or(dtype == ScalarType::Double ? ScalarType::Float : dtype);
  return made.to(wanted).to(options.device());
}

Tensor Tensor::new_empty(IntArrayRef sizes, const TensorOptions& options) const {
  return empty(sizes, Merge(*this, options));
}
Tensor Tensor::new_zeros(IntArrayRef sizes, const TensorOptions& options) const {
  return zeros(sizes, Merge(*this, options));
}
Tensor Tensor::new_ones(IntArrayRef sizes, const TensorOptions& options) const {
  return ones(sizes, Merge(*this, options));
}
Tensor Tensor::new_full(IntArrayRef sizes, const Scalar& value,
                        const TensorOptions& options) const {
  return full(sizes, value, Merge(*this, options));
}

Tensor& Tensor::fill_(const Scalar& value) const {
  const uint64_t bits = Bits(value, scalar_type());
  const auto bytes = static_cast<uint32_t>(element_size());
  auto& self = const_cast<Tensor&>(*this);
  if (is_cuda()) {
    // Dense in any order is one run of elements.
    if (Extent(*this) == nbytes()) {
      DeviceClient::Get().Fill(AddressOf(*this), bits, bytes, static_cast<uint64_t>(numel()));
    } else {
      copy_(full(sizes(), value, options()));
    }
    return self;
  }
  const Tensor one = MakeTensor({}, scalar_type(), kCPU);
  std::memcpy(one.data_ptr(), &bits, bytes);
  const Tensor many = one.expand(sizes());
  CopyElements(MemoryOf(many, static_cast<std::byte*>(many.data_ptr())),
               MemoryOf(*this, static_cast<std::byte*>(data_ptr())));
  return self;
}

Tensor& Tensor::copy_(const Tensor& source, bool) const {
  auto& self = const_cast<Tensor&>(*this);
  const Tensor from = source.expand(sizes());
  if (numel() == 0) return self;
  const auto host = [](const Tensor& t) { return static_cast<std::byte*>(t.data_ptr()); };
  if (is_cpu() && from.is_cpu()) {
    CopyElements(MemoryOf(from, host(from)), MemoryOf(*this, host(*this)));
  } else if (is_cpu()) {
    std::vector<std::byte> data = DeviceClient::Get().Read(AddressOf(from), Extent(from));
    TORCH_CHECK(!data.empty(), "a copy from memory that was freed");
    CopyElements(MemoryOf(from, data.data()), MemoryOf(*this, host(*this)));
  } else if (from.is_cpu()) {
    const Tensor dense = MakeTensor(sizes().vec(), scalar_type(), kCPU);
    CopyElements(MemoryOf(from, host(from)), MemoryOf(dense, host(dense)));
    if (is_contiguous()) {
      DeviceClient::Get().Upload(AddressOf(*this), dense.data_ptr(), dense.nbytes());
    } else {
      const Tensor staged = MakeTensor(sizes().vec(), scalar_type(), kCUDA);
      DeviceClient::Get().Upload(AddressOf(staged), dense.data_ptr(), dense.nbytes());
      OpInto(kernelsmith::kStridedCopy, {staged}, {*this});
    }
  } else if (scalar_type() == from.scalar_type() && strides() == from.strides() &&
             Extent(*this) == nbytes()) {
    DeviceClient::Get().OnWork(kernelsmith::cudart::CopyWork{.dst = data_ptr(),
                                                             .src = from.data_ptr(),
                                                             .width = nbytes(),
                                                             .kind = cudaMemcpyDeviceToDevice},
                               Runtime::Get().FindStream(c10::cuda::getCurrentCUDAStream())->id);
  } else {
    OpInto(kernelsmith::kStridedCopy, {from}, {*this});
  }
  return self;
}

Tensor Tensor::clone(std::optional<MemoryFormat> format) const {
  Tensor made = empty_like(*this, {}, format.value_or(MemoryFormat::Preserve));
  made.copy_(*this);
  return made;
}

Tensor Tensor::contiguous(MemoryFormat format) const {
  return is_contiguous(format) ? *this : clone(format);
}

Tensor Tensor::to(ScalarType dtype, bool, bool copy) const {
  if (dtype == scalar_type() && !copy) return *this;
  Tensor made = empty_like(*this, TensorOptions(dtype));
  made.copy_(*this);
  return made;
}

Tensor Tensor::to(Device device, bool, bool copy) const {
  if (device == this->device() && !copy) return *this;
  Tensor made = empty_like(*this, TensorOptions(device));
  made.copy_(*this);
  return made;
}

Tensor Tensor::to(const TensorOptions& options, bool, bool copy) const {
  Tensor result = options.device_opt() ? to(*options.device_opt()) : *this;
  if (options.dtype_opt()) result = result.to(*options.dtype_opt());
  return copy && result.is_same(*this) ? clone() : result;
}

Tensor& Tensor::resize_(IntArrayRef) const { ThrowUnsupported("Tensor::resize_"); }

Tensor Tensor::repeat(IntArrayRef repeats) const {
  TORCH_CHECK(static_cast<int64_t>(repeats.size()) >= dim(),
              "Number of dimensions of repeat dims can not be smaller than number of dimensions "
              "of tensor");
  const auto added = static_cast<int64_t>(repeats.size()) - dim();
  Sizes sizes;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const auto d = static_cast<int64_t>(i) - added;
    sizes.push_back(repeats[i] * (d < 0 ? 1 : size(d)));
  }
  Tensor made = empty(sizes, options());
  // Each repeated dimension becomes two: how often, and what.
  Sizes view_sizes, from_sizes, from_strides;
  for (size_t i = 0; i < repeats.size(); ++i) {
    const auto d = static_cast<int64_t>(i) - added;
    view_sizes.push_back(repeats[i]);
    view_sizes.push_back(d < 0 ? 1 : size(d));
    from_strides.push_back(0);
    from_strides.push_back(d < 0 ? 0 : stride(d));
  }
  made.view(view_sizes).copy_(MakeView(*this, view_sizes, from_strides, 0));
  return made;
}

Scalar Tensor::item() const {
  TORCH_CHECK(numel() == 1, "a Tensor with ", numel(), " elements cannot be converted to Scalar");
  const Tensor host = cpu();
  const auto type = *kernelsmith::ParseDType(kernelsmith::light::GraphDType(scalar_type()));
  if (scalar_type() == ScalarType::Long) return *host.data_ptr<int64_t>();
  const double value = kernelsmith::LoadElement(type, host.data_ptr());
  if (scalar_type() == ScalarType::Bool) return value != 0;
  return is_floating_point() ? Scalar(value) : Scalar(static_cast<int64_t>(value));
}

}  // namespace at
