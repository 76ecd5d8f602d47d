// at::Tensor: a handle. What its methods do is defined in the tracer, where candidates run.
#pragma once

#include <memory>
#include <tuple>
#include <vector>

#include "accessor.h"
#include "options.h"

namespace at {
using namespace c10;
class Tensor;
}  // namespace at

namespace kernelsmith::light {

// The bytes a tensor lies in; tensors that are views of each other share one.
struct Storage;

struct TensorImpl {
  std::shared_ptr<Storage> storage;
  char* data = nullptr;  // the first element
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  c10::ScalarType dtype = c10::ScalarType::Float;
  c10::DeviceType device = c10::DeviceType::CPU;
};

}  // namespace kernelsmith::light

namespace at {

using TensorList = c10::ArrayRef<Tensor>;

namespace indexing {
struct EllipsisIndexType {};
constexpr EllipsisIndexType Ellipsis{};
constexpr std::nullopt_t None = std::nullopt;
struct Slice {
  Slice(std::optional<int64_t> first = {}, std::optional<int64_t> last = {}, int64_t by = 1)
      : start(first), stop(last), step(by) {}
  std::optional<int64_t> start, stop;
  int64_t step;
};
struct TensorIndex;
}  // namespace indexing

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<kernelsmith::light::TensorImpl> impl) : impl_(std::move(impl)) {}

  bool defined() const { return impl_ != nullptr; }
  void reset() { impl_.reset(); }
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  bool is_alias_of(const Tensor& other) const;
  const std::shared_ptr<kernelsmith::light::TensorImpl>& impl() const { return impl_; }
  // Throws for an undefined tensor.
  kernelsmith::light::TensorImpl& get() const;

  // -- what it is
  int64_t dim() const { return static_cast<int64_t>(get().sizes.size()); }
  int64_t ndimension() const { return dim(); }
  c10::IntArrayRef sizes() const { return get().sizes; }
  c10::IntArrayRef strides() const { return get().strides; }
  int64_t size(int64_t dim) const;
  int64_t stride(int64_t dim) const;
  int64_t numel() const;
  size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }
  size_t itemsize() const { return element_size(); }
  size_t element_size() const { return c10::elementSize(get().dtype); }
  int64_t storage_offset() const;
  c10::ScalarType scalar_type() const { return get().dtype; }
  caffe2::TypeMeta dtype() const { return get().dtype; }
  c10::Device device() const {
    return c10::Device(get().device, get().device == c10::kCUDA ? 0 : -1);
  }
  c10::DeviceIndex get_device() const { return is_cuda() ? 0 : -1; }
  c10::Layout layout() const { return c10::kStrided; }
  c10::TensorOptions options() const { return c10::TensorOptions(get().dtype).device(device()); }
  struct DeprecatedType {
    c10::ScalarType scalar;
    bool cuda;
    c10::ScalarType scalarType() const { return scalar; }
    bool is_cuda() const { return cuda; }
    operator c10::ScalarType() const { return scalar; }
  };
  DeprecatedType type() const { return {scalar_type(), is_cuda()}; }
  bool is_cuda() const { return get().device == c10::kCUDA; }
  bool is_cpu() const { return get().device == c10::kCPU; }
  bool is_sparse() const { return false; }
  bool is_contiguous(c10::MemoryFormat format = c10::MemoryFormat::Contiguous) const;
  c10::MemoryFormat suggest_memory_format() const;
  bool is_floating_point() const { return c10::isFloatingType(scalar_type()); }
  bool is_complex() const { return false; }
  bool is_pinned() const { return false; }
  bool requires_grad() const { return false; }
  const Tensor& requires_grad_(bool = true) const { return *this; }
  Tensor& set_requires_grad(bool) { return *this; }

  // -- its elements
  void* data_ptr() const { return get().data; }
  const void* const_data_ptr() const { return get().data; }
  void* mutable_data_ptr() const { return get().data; }
  template <typename T>
  T* data_ptr() const {
    CheckType(c10::CppTypeToScalarType<std::remove_const_t<T>>::value);
    return reinterpret_cast<T*>(get().data);
  }
  template <typename T>
  const T* const_data_ptr() const {
    return data_ptr<std::remove_const_t<T>>();
  }
  template <typename T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <typename T>
  T* data() const {
    return data_ptr<T>();
  }
  Tensor data() const { return *this; }
  Tensor detach() const { return *this; }
  Tensor variable_data() const { return *this; }
  template <typename T, size_t N>
  TensorAccessor<T, N> accessor() const {
    TORCH_CHECK(is_cpu(), "accessor() needs a tensor on the CPU; use packed_accessor32()");
    CheckDim(N);
    return {data_ptr<T>(), get().sizes.data(), get().strides.data()};
  }
  template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor32<T, N, PtrTraits> packed_accessor32() const {
    CheckDim(N);
    TORCH_CHECK(numel() <= 0x7fffffff, "numel needs to be smaller than int32_t max");
    return {data_ptr<T>(), get().sizes.data(), get().strides.data()};
  }
  template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits>
  PackedTensorAccessor64<T, N, PtrTraits> packed_accessor64() const {
    CheckDim(N);
    return {data_ptr<T>(), get().sizes.data(), get().strides.data()};
  }
  template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits,
            typename index_t = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> packed_accessor() const {
    CheckDim(N);
    return {data_ptr<T>(), get().sizes.data(), get().strides.data()};
  }
  template <typename T, size_t N, template <typename U> class PtrTraits = DefaultPtrTraits,
            typename index_t = int64_t>
  GenericPackedTensorAccessor<T, N, PtrTraits, index_t> generic_packed_accessor() const {
    CheckDim(N);
    return {data_ptr<T>(), get().sizes.data(), get().strides.data()};
  }
  c10::Scalar item() const;
  template <typename T>
  T item() const {
    return item().to<T>();
  }

  // -- views
  Tensor view(c10::IntArrayRef sizes) const;
  Tensor view(c10::ScalarType dtype) const;
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  Tensor reshape(c10::IntArrayRef sizes) const;
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  Tensor flatten(int64_t first = 0, int64_t last = -1) const;
  Tensor unflatten(int64_t dim, c10::IntArrayRef sizes) const;
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor permute(c10::IntArrayRef dims) const;
  Tensor transpose(int64_t a, int64_t b) const;
  Tensor t() const;
  Tensor mT() const { return transpose(-2, -1); }
  Tensor expand(c10::IntArrayRef sizes, bool implicit = false) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor select(int64_t dim, int64_t index) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor slice(int64_t dim = 0, std::optional<int64_t> start = {}, std::optional<int64_t> end = {},
               int64_t step = 1) const;
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor index(c10::ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor as_strided(c10::IntArrayRef sizes, c10::IntArrayRef strides,
                    std::optional<int64_t> offset = {}) const;
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> split(int64_t size, int64_t dim = 0) const;
  std::vector<Tensor> split_with_sizes(c10::IntArrayRef sizes, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  Tensor alias() const { return *this; }

  // -- copies
  Tensor contiguous(c10::MemoryFormat format = c10::MemoryFormat::Contiguous) const;
  Tensor clone(std::optional<c10::MemoryFormat> format = {}) const;
  Tensor to(c10::ScalarType dtype, bool non_blocking = false, bool copy = false) const;
  Tensor to(caffe2::TypeMeta dtype, bool non_blocking = false, bool copy = false) const {
    return to(dtype.toScalarType(), non_blocking, copy);
  }
  Tensor to(c10::Device device, bool non_blocking = false, bool copy = false) const;
  Tensor to(c10::DeviceType device, bool non_blocking = false, bool copy = false) const {
    return to(c10::Device(device), non_blocking, copy);
  }
  Tensor to(c10::Device device, c10::ScalarType dtype, bool non_blocking = false,
            bool copy = false) const {
    return to(device).to(dtype, non_blocking, copy);
  }
  Tensor to(const c10::TensorOptions& options, bool non_blocking = false, bool copy = false) const;
  Tensor toType(c10::ScalarType dtype) const { return to(dtype); }
  Tensor type_as(const Tensor& other) const { return to(other.scalar_type()); }
  Tensor to_dense() const { return *this; }
  Tensor cpu() const { return to(c10::Device(c10::kCPU)); }
  Tensor cuda() const { return to(c10::Device(c10::kCUDA)); }
  Tensor pin_memory() const { return *this; }
  Tensor repeat(c10::IntArrayRef repeats) const;
  Tensor& copy_(const Tensor& source, bool non_blocking = false) const;
  Tensor& fill_(const c10::Scalar& value) const;
  Tensor& zero_() const { return fill_(0); }
  Tensor& resize_(c10::IntArrayRef sizes) const;

  // -- new tensors like this one
  Tensor new_empty(c10::IntArrayRef sizes, const c10::TensorOptions& options = {}) const;
  Tensor new_zeros(c10::IntArrayRef sizes, const c10::TensorOptions& options = {}) const;
  Tensor new_ones(c10::IntArrayRef sizes, const c10::TensorOptions& options = {}) const;
  Tensor new_full(c10::IntArrayRef sizes, const c10::Scalar& value,
                  const c10::TensorOptions& options = {}) const;

  // -- arithmetic
#define KS_UNARY(name, ...) \
  Tensor name() const;      \
  Tensor& name##_() const;
#define KS_FUNCTION(name, ...)
#define KS_PREDICATE(name, ...) Tensor name() const;
#define KS_BINARY(name, ...)                   \
  Tensor name(const Tensor& other) const;      \
  Tensor name(const c10::Scalar& other) const; \
  Tensor& name##_(const Tensor& other) const;  \
  Tensor& name##_(const c10::Scalar& other) const;
#define KS_BINARY_TENSOR(name, ...) Tensor name(const Tensor& other) const;
#define KS_PRODUCT(name, ...) Tensor name(const Tensor& other) const;
#define KS_COMPARE(name, ...)             \
  Tensor name(const Tensor& other) const; \
  Tensor name(const c10::Scalar& other) const;
#include "operators.def"
  Tensor add(const Tensor& other, const c10::Scalar& alpha = 1) const;
  Tensor add(const c10::Scalar& other, const c10::Scalar& alpha = 1) const;
  Tensor sub(const Tensor& other, const c10::Scalar& alpha = 1) const;
  Tensor sub(const c10::Scalar& other, const c10::Scalar& alpha = 1) const;
  Tensor& add_(const Tensor& other, const c10::Scalar& alpha = 1) const;
  Tensor& add_(const c10::Scalar& other, const c10::Scalar& alpha = 1) const;
  Tensor& sub_(const Tensor& other, const c10::Scalar& alpha = 1) const;
  Tensor& sub_(const c10::Scalar& other, const c10::Scalar& alpha = 1) const;
  Tensor& addcmul_(const Tensor& a, const Tensor& b, const c10::Scalar& value = 1) const;
  Tensor square() const { return mul(*this); }
  Tensor clamp(const std::optional<c10::Scalar>& low,
               const std::optional<c10::Scalar>& high = {}) const;
  Tensor& clamp_(const std::optional<c10::Scalar>& low,
                 const std::optional<c10::Scalar>& high = {}) const;
  Tensor clamp_min(const c10::Scalar& low) const { return clamp(low); }
  Tensor clamp_max(const c10::Scalar& high) const { return clamp({}, high); }
  Tensor addmm(const Tensor& a, const Tensor& b, const c10::Scalar& beta = 1,
               const c10::Scalar& alpha = 1) const;
  Tensor baddbmm(const Tensor& a, const Tensor& b, const c10::Scalar& beta = 1,
                 const c10::Scalar& alpha = 1) const;
  Tensor masked_fill(const Tensor& mask, const c10::Scalar& value) const;
  Tensor& masked_fill_(const Tensor& mask, const c10::Scalar& value) const;
  Tensor where(const Tensor& condition, const Tensor& other) const;
  Tensor tril(int64_t diagonal = 0) const;
  Tensor triu(int64_t diagonal = 0) const;
  Tensor flip(c10::IntArrayRef dims) const;
  Tensor roll(c10::IntArrayRef shifts, c10::IntArrayRef dims = {}) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  Tensor gather(int64_t dim, const Tensor& index) const;

  // -- reductions
  Tensor sum(std::optional<c10::ScalarType> dtype = {}) const;
  Tensor sum(c10::OptionalIntArrayRef dims, bool keepdim = false,
             std::optional<c10::ScalarType> dtype = {}) const;
  Tensor mean(std::optional<c10::ScalarType> dtype = {}) const;
  Tensor mean(c10::OptionalIntArrayRef dims, bool keepdim = false,
              std::optional<c10::ScalarType> dtype = {}) const;
  Tensor amax(c10::OptionalIntArrayRef dims = {}, bool keepdim = false) const;
  Tensor amin(c10::OptionalIntArrayRef dims = {}, bool keepdim = false) const;
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) const;
  std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true,
                                  bool sorted = true) const;
  Tensor prod() const;
  Tensor prod(int64_t dim, bool keepdim = false) const;
  Tensor argmax(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor argmin(std::optional<int64_t> dim = {}, bool keepdim = false) const;
  Tensor any() const;
  Tensor all() const;
  Tensor norm(const c10::Scalar& p = 2) const;
  Tensor norm(const std::optional<c10::Scalar>& p, c10::IntArrayRef dims,
              bool keepdim = false) const;
  Tensor var(c10::OptionalIntArrayRef dims, bool unbiased, bool keepdim = false) const;
  Tensor std(c10::OptionalIntArrayRef dims, bool unbiased, bool keepdim = false) const;
  Tensor logsumexp(c10::IntArrayRef dims, bool keepdim = false) const;
  Tensor cumsum(int64_t dim) const;
  Tensor cumprod(int64_t dim) const;
  Tensor softmax(int64_t dim, std::optional<c10::ScalarType> dtype = {}) const;
  Tensor log_softmax(int64_t dim, std::optional<c10::ScalarType> dtype = {}) const;

  Tensor operator-() const { return neg(); }
  Tensor& operator+=(const Tensor& o) { return add_(o), *this; }
  Tensor& operator+=(const c10::Scalar& o) { return add_(o), *this; }
  Tensor& operator-=(const Tensor& o) { return sub_(o), *this; }
  Tensor& operator-=(const c10::Scalar& o) { return sub_(o), *this; }
  Tensor& operator*=(const Tensor& o) { return mul_(o), *this; }
  Tensor& operator*=(const c10::Scalar& o) { return mul_(o), *this; }
  Tensor& operator/=(const Tensor& o) { return div_(o), *this; }
  Tensor& operator/=(const c10::Scalar& o) { return div_(o), *this; }

 private:
  void CheckType(c10::ScalarType wanted) const;
  void CheckDim(size_t wanted) const;

  std::shared_ptr<kernelsmith::light::TensorImpl> impl_;
};

namespace indexing {
struct TensorIndex {
  enum class Kind { kNone, kEllipsis, kInteger, kSlice, kTensor };
  TensorIndex(std::nullopt_t) : kind(Kind::kNone) {}
  TensorIndex(EllipsisIndexType) : kind(Kind::kEllipsis) {}
  TensorIndex(const char*) : kind(Kind::kEllipsis) {}
  template <typename I, std::enable_if_t<std::is_integral_v<I>, int> = 0>
  TensorIndex(I i) : kind(Kind::kInteger), integer(static_cast<int64_t>(i)) {}
  TensorIndex(Slice s) : kind(Kind::kSlice), slice(s) {}
  TensorIndex(Tensor t) : kind(Kind::kTensor), tensor(std::move(t)) {}
  Kind kind;
  int64_t integer = 0;
  Slice slice;
  Tensor tensor;
};
}  // namespace indexing

#define KS_OPERATOR(op, name)                                                       \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return a.name(b); } \
  inline Tensor operator op(const Tensor& a, const c10::Scalar& b) { return a.name(b); }
KS_OPERATOR(+, add)
KS_OPERATOR(-, sub)
KS_OPERATOR(*, mul)
KS_OPERATOR(/, div)
KS_OPERATOR(<, lt)
KS_OPERATOR(<=, le)
KS_OPERATOR(>, gt)
KS_OPERATOR(>=, ge)
KS_OPERATOR(==, eq)
KS_OPERATOR(!=, ne)
#undef KS_OPERATOR
inline Tensor operator+(const c10::Scalar& a, const Tensor& b) { return b.add(a); }
inline Tensor operator*(const c10::Scalar& a, const Tensor& b) { return b.mul(a); }
inline Tensor operator-(const c10::Scalar& a, const Tensor& b) { return b.neg().add(a); }
inline Tensor operator/(const c10::Scalar& a, const Tensor& b) { return b.reciprocal().mul(a); }
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace at
