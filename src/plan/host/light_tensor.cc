// at::Tensor: what it is, and its views.
#include <algorithm>
#include <cstring>

#include "cudart/runtime.h"
#include "plan/host/device_client.h"
#include "plan/host/light_runtime.h"

namespace kernelsmith::light {

using cudart::Runtime;
using host::DeviceClient;

Storage::~Storage() {
  if (!owned) return;
  if (device) {
    DeviceClient::Get().OnFree(address);
  } else {
    std::free(reinterpret_cast<void*>(address));
  }
}

int64_t Count(const std::vector<int64_t>& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    TORCH_CHECK(size >= 0, "Trying to create tensor with negative dimension ", size);
    TORCH_CHECK(!__builtin_mul_overflow(count, size, &count), "tensor too large");
  }
  return count;
}

std::vector<int64_t> RowMajor(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

std::vector<int64_t> ChannelsLast(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  const auto take = [&](size_t dim) {
    strides[dim] = step;
    step *= std::max<int64_t>(sizes[dim], 1);
  };
  take(1);
  for (size_t i = sizes.size(); i-- > 2;) take(i);
  take(0);
  return strides;
}

int64_t WrapDim(int64_t dim, int64_t rank) {
  const int64_t range = std::max<int64_t>(rank, 1);
  TORCH_CHECK(dim >= -range && dim < range, "Dimension out of range (expected to be in range of [",
              -range, ", ", range - 1, "], but got ", dim, ")");
  return dim < 0 ? dim + range : dim;
}

at::Tensor MakeTensor(std::vector<int64_t> sizes, c10::ScalarType dtype, c10::DeviceType device,
                      std::vector<int64_t> strides) {
  const int64_t count = Count(sizes);
  if (strides.empty()) strides = RowMajor(sizes);
  int64_t extent = count == 0 ? 0 : 1;
  if (count > 0) {
    for (size_t i = 0; i < sizes.size(); ++i) extent += (sizes[i] - 1) * strides[i];
  }
  auto storage = std::make_shared<Storage>();
  storage->bytes = static_cast<uint64_t>(extent) * c10::elementSize(dtype);
  storage->device = device == c10::kCUDA;
  if (storage->device) {
    TORCH_CHECK(Runtime::Get().Initialise() == cudaSuccess, "CUDA could not be initialised");
    const Result<uint64_t> address = Runtime::Get().memory().Allocate(
        storage->bytes, vgpu::AllocationKind::kDevice, "torch tensor", 512);
    if (!address.ok()) {
      storage->owned = false;
      throw c10::Error("CUDA out of memory. Tried to allocate " + std::to_string(storage->bytes) +
                       " bytes");
    }
    storage->address = *address;
  } else {
    void* memory = std::calloc(1, std::max<uint64_t>(storage->bytes, 1));
    if (memory == nullptr) {
      storage->owned = false;
      throw c10::Error("can't allocate memory");
    }
    storage->address = reinterpret_cast<uint64_t>(memory);
  }
  auto impl = std::make_shared<TensorImpl>();
  impl->data = reinterpret_cast<char*>(storage->address);
  impl->storage = std::move(storage);
  impl->sizes = std::move(sizes);
  impl->strides = std::move(strides);
  impl->dtype = dtype;
  impl->device = device;
  return at::Tensor(std::move(impl));
}

at::Tensor MakeView(const at::Tensor& of, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                    int64_t offset) {
  const TensorImpl& base = of.get();
  auto impl = std::make_shared<TensorImpl>(base);
  impl->data = base.data + offset * static_cast<int64_t>(of.element_size());
  // Candidates may ask for any strides: elements must lie in the storage.
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) last += std::max<int64_t>(sizes[i] - 1, 0) * strides[i];
  const auto begin = reinterpret_cast<uint64_t>(impl->data);
  const uint64_t end =
      begin + static_cast<uint64_t>(last + 1) * static_cast<uint64_t>(of.element_size());
  if (Count(sizes) > 0) {
    TORCH_CHECK(
        begin >= base.storage->address && end <= base.storage->address + base.storage->bytes,
        "setStorage: sizes, strides and offset are out of bounds for the storage");
  }
  impl->sizes = std::move(sizes);
  impl->strides = std::move(strides);
  return at::Tensor(std::move(impl));
}

}  // namespace kernelsmith::light

namespace at {

using kernelsmith::light::Count;
using kernelsmith::light::MakeView;
using kernelsmith::light::RowMajor;
using kernelsmith::light::TensorImpl;
using kernelsmith::light::WrapDim;
using Sizes = std::vector<int64_t>;

TensorImpl& Tensor::get() const {
  TORCH_CHECK(impl_ != nullptr, "expected a Tensor, got an undefined one");
  return *impl_;
}

bool Tensor::is_alias_of(const Tensor& other) const {
  return defined() && other.defined() && get().storage == other.get().storage;
}

int64_t Tensor::size(int64_t d) const { return get().sizes.at(WrapDim(d, dim())); }
int64_t Tensor::stride(int64_t d) const { return get().strides.at(WrapDim(d, dim())); }
int64_t Tensor::numel() const { return Count(get().sizes); }
int64_t Tensor::storage_offset() const {
  return static_cast<int64_t>((reinterpret_cast<uint64_t>(get().data) - get().storage->address) /
                              element_size());
}

namespace {

bool HasStrides(const TensorImpl& t, const Sizes& strides) {
  for (size_t i = 0; i < t.sizes.size(); ++i) {
    if (t.sizes[i] == 0) return true;
  }
  for (size_t i = 0; i < t.sizes.size(); ++i) {
    if (t.sizes[i] != 1 && t.strides[i] != strides[i]) return false;
  }
  return true;
}

}  // namespace

bool Tensor::is_contiguous(MemoryFormat format) const {
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
    const int64_t rank = format == MemoryFormat::ChannelsLast ? 4 : 5;
    return dim() == rank && HasStrides(get(), kernelsmith::light::ChannelsLast(get().sizes));
  }
  return HasStrides(get(), RowMajor(get().sizes));
}

MemoryFormat Tensor::suggest_memory_format() const {
  if (!is_contiguous() && is_contiguous(MemoryFormat::ChannelsLast)) {
    return MemoryFormat::ChannelsLast;
  }
  return MemoryFormat::Contiguous;
}

void Tensor::CheckType(ScalarType wanted) const {
  TORCH_CHECK(scalar_type() == wanted, "expected scalar type ", toString(wanted), " but found ",
              toString(scalar_type()));
}

void Tensor::CheckDim(size_t wanted) const {
  TORCH_CHECK(dim() == static_cast<int64_t>(wanted), "TensorAccessor expected ", wanted,
              " dims but tensor has ", dim());
}

namespace {

// Sizes with one -1 resolved.
Sizes Resolve(IntArrayRef asked, int64_t count) {
  Sizes sizes = asked.vec();
  int64_t known = 1;
  int64_t open = -1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      TORCH_CHECK(open < 0, "only one dimension can be inferred");
      open = static_cast<int64_t>(i);
    } else {
      TORCH_CHECK(sizes[i] >= 0, "invalid shape dimension ", sizes[i]);
      known *= sizes[i];
    }
  }
  if (open >= 0 && known > 0 && count % known == 0) sizes[open] = count / known;
  TORCH_CHECK((open >= 0 && known > 0 && count % known == 0) || (open < 0 && known == count),
              "shape '", asked, "' is invalid for input of size ", count);
  return sizes;
}

// The strides under which `t` has `sizes` without being copied, if there are any.
std::optional<Sizes> ViewStrides(const TensorImpl& t, const Sizes& sizes) {
  if (Count(sizes) == 0) return RowMajor(sizes);
  Sizes strides(sizes.size());
  int64_t view = static_cast<int64_t>(sizes.size()) - 1;
  int64_t chunk_stride = t.strides.empty() ? 1 : t.strides.back();
  int64_t tensor_count = 1;
  int64_t view_count = 1;
  if (t.sizes.empty()) return Sizes(sizes.size(), 1);
  for (int64_t d = static_cast<int64_t>(t.sizes.size()) - 1; d >= 0; --d) {
    tensor_count *= t.sizes[d];
    // A chunk of dimensions that lie behind one another ends here.
    if (d == 0 || (t.sizes[d - 1] != 1 && t.strides[d - 1] != tensor_count * chunk_stride)) {
      while (view >= 0 && (view_count < tensor_count || sizes[view] == 1)) {
        strides[view] = view_count * chunk_stride;
        view_count *= sizes[view];
        --view;
      }
      if (view_count != tensor_count) return std::nullopt;
      if (d > 0) {
        chunk_stride = t.strides[d - 1];
        tensor_count = 1;
        view_count = 1;
      }
    }
  }
  if (view != -1) return std::nullopt;
  return strides;
}

}  // namespace

Tensor Tensor::view(IntArrayRef asked) const {
  const Sizes sizes = Resolve(asked, numel());
  const std::optional<Sizes> strides = ViewStrides(get(), sizes);
  TORCH_CHECK(strides.has_value(),
              "view size is not compatible with input tensor's size and stride (at least one "
              "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
  return MakeView(*this, sizes, *strides, 0);
}

Tensor Tensor::view(ScalarType dtype) const {
  const auto old_bytes = static_cast<int64_t>(element_size());
  const auto new_bytes = static_cast<int64_t>(elementSize(dtype));
  auto impl = std::make_shared<TensorImpl>(get());
  impl->dtype = dtype;
  if (old_bytes != new_bytes) {
    TORCH_CHECK(dim() > 0 && stride(-1) == 1, "self.stride(-1) must be 1 to view as another type");
    TORCH_CHECK(impl->sizes.back() * old_bytes % new_bytes == 0,
                "self.size(-1) must be divisible to view as a larger type");
    impl->sizes.back() = impl->sizes.back() * old_bytes / new_bytes;
    for (size_t i = 0; i + 1 < impl->strides.size(); ++i) {
      TORCH_CHECK(impl->strides[i] * old_bytes % new_bytes == 0, "strides must be divisible");
      impl->strides[i] = impl->strides[i] * old_bytes / new_bytes;
    }
  }
  return Tensor(std::move(impl));
}

Tensor Tensor::reshape(IntArrayRef asked) const {
  const Sizes sizes = Resolve(asked, numel());
  if (const std::optional<Sizes> strides = ViewStrides(get(), sizes)) {
    return MakeView(*this, sizes, *strides, 0);
  }
  return clone(MemoryFormat::Contiguous).view(sizes);
}

Tensor Tensor::flatten(int64_t first, int64_t last) const {
  if (dim() == 0) return reshape({1});
  first = WrapDim(first, dim());
  last = WrapDim(last, dim());
  TORCH_CHECK(first <= last, "flatten() has invalid args: start_dim cannot come after end_dim");
  Sizes sizes(get().sizes.begin(), get().sizes.begin() + first);
  int64_t merged = 1;
  for (int64_t i = first; i <= last; ++i) merged *= size(i);
  sizes.push_back(merged);
  sizes.insert(sizes.end(), get().sizes.begin() + last + 1, get().sizes.end());
  return reshape(sizes);
}

Tensor Tensor::unflatten(int64_t d, IntArrayRef parts) const {
  d = WrapDim(d, dim());
  Sizes sizes(get().sizes.begin(), get().sizes.begin() + d);
  const Sizes inner = Resolve(parts, size(d));
  sizes.insert(sizes.end(), inner.begin(), inner.end());
  sizes.insert(sizes.end(), get().sizes.begin() + d + 1, get().sizes.end());
  return view(sizes);
}

Tensor Tensor::squeeze() const {
  Sizes sizes, strides;
  for (size_t i = 0; i < get().sizes.size(); ++i) {
    if (get().sizes[i] == 1) continue;
    sizes.push_back(get().sizes[i]);
    strides.push_back(get().strides[i]);
  }
  return MakeView(*this, sizes, strides, 0);
}

Tensor Tensor::squeeze(int64_t d) const {
  d = WrapDim(d, dim());
  if (dim() == 0 || size(d) != 1) return *this;
  Sizes sizes = get().sizes, strides = get().strides;
  sizes.erase(sizes.begin() + d);
  strides.erase(strides.begin() + d);
  return MakeView(*this, sizes, strides, 0);
}

Tensor Tensor::unsqueeze(int64_t d) const {
  d = WrapDim(d, dim() + 1);
  Sizes sizes = get().sizes, strides = get().strides;
  const int64_t stride = d < dim() ? sizes[d] * strides[d] : 1;
  sizes.insert(sizes.begin() + d, 1);
  strides.insert(strides.begin() + d, stride);
  return MakeView(*this, sizes, strides, 0);
}

Tensor Tensor::permute(IntArrayRef dims) const {
  TORCH_CHECK(static_cast<int64_t>(dims.size()) == dim(),
              "permute(): number of dimensions in the tensor input does not match the length of "
              "the desired ordering of dimensions");
  Sizes sizes, strides;
  std::vector<bool> used(dims.size());
  for (const int64_t asked : dims) {
    const int64_t d = WrapDim(asked, dim());
    TORCH_CHECK(!used[d], "permute(): duplicate dims are not allowed.");
    used[d] = true;
    sizes.push_back(size(d));
    strides.push_back(stride(d));
  }
  return MakeView(*this, sizes, strides, 0);
}

Tensor Tensor::transpose(int64_t a, int64_t b) const {
  a = WrapDim(a, dim());
  b = WrapDim(b, dim());
  Sizes sizes = get().sizes, strides = get().strides;
  if (!sizes.empty()) {
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
  }
  return MakeView(*this, sizes, strides, 0);
}

Tensor Tensor::t() const {
  TORCH_CHECK(dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", dim(), "D");
  return dim() < 2 ? *this : transpose(0, 1);
}

Tensor Tensor::expand(IntArrayRef asked, bool) const {
  TORCH_CHECK(static_cast<int64_t>(asked.size()) >= dim(),
              "the number of sizes provided must be greater or equal to the number of dimensions");
  Sizes sizes = asked.vec(), strides(asked.size(), 0);
  const auto added = static_cast<int64_t>(asked.size()) - dim();
  for (int64_t i = 0; i < static_cast<int64_t>(asked.size()); ++i) {
    if (i < added) {
      TORCH_CHECK(sizes[i] >= 0, "expand: -1 is not allowed in a leading, new dimension");
      continue;
    }
    const int64_t own = size(i - added);
    if (sizes[i] == -1) sizes[i] = own;
    TORCH_CHECK(own == 1 || own == sizes[i], "The expanded size of the tensor (", sizes[i],
                ") must match the existing size (", own, ") at non-singleton dimension ", i);
    strides[i] = own == 1 && sizes[i] != 1 ? 0 : stride(i - added);
  }
  return MakeView(*this, sizes, strides, 0);
}

Tensor Tensor::select(int64_t d, int64_t index) const {
  TORCH_CHECK(dim() > 0, "select() cannot be applied to a 0-dim tensor.");
  d = WrapDim(d, dim());
  TORCH_CHECK(index >= -size(d) && index < size(d), "select(): index ", index,
              " out of range for tensor of size ", sizes(), " at dimension ", d);
  if (index < 0) index += size(d);
  Sizes sizes = get().sizes, strides = get().strides;
  const int64_t offset = index * strides[d];
  sizes.erase(sizes.begin() + d);
  strides.erase(strides.begin() + d);
  return MakeView(*this, sizes, strides, offset);
}

Tensor Tensor::slice(int64_t d, std::optional<int64_t> start, std::optional<int64_t> end,
                     int64_t step) const {
  TORCH_CHECK(dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  TORCH_CHECK(step > 0, "slice step must be positive");
  d = WrapDim(d, dim());
  const int64_t length = size(d);
  int64_t first = start.value_or(0);
  int64_t last = end.value_or(length);
  if (first < 0) first += length;
  if (last < 0) last += length;
  first = std::clamp<int64_t>(first, 0, length);
  last = std::clamp<int64_t>(last, first, length);
  Sizes sizes = get().sizes, strides = get().strides;
  const int64_t offset = first * strides[d];
  sizes[d] = (last - first + step - 1) / step;
  strides[d] *= step;
  return MakeView(*this, sizes, strides, sizes[d] == 0 ? 0 : offset);
}

Tensor Tensor::narrow(int64_t d, int64_t start, int64_t length) const {
  d = WrapDim(d, dim());
  if (start < 0) start += size(d);
  TORCH_CHECK(length >= 0 && start >= 0 && start + length <= size(d), "start (", start,
              ") + length (", length, ") exceeds dimension size (", size(d), ").");
  return slice(d, start, start + length, 1);
}

Tensor Tensor::as_strided(IntArrayRef sizes, IntArrayRef strides,
                          std::optional<int64_t> offset) const {
  return MakeView(*this, sizes.vec(), strides.vec(), offset ? *offset - storage_offset() : 0);
}

Tensor Tensor::diagonal(int64_t offset, int64_t dim1, int64_t dim2) const {
  dim1 = WrapDim(dim1, dim());
  dim2 = WrapDim(dim2, dim());
  TORCH_CHECK(dim1 != dim2, "diagonal dimensions cannot be identical");
  const int64_t first = offset >= 0 ? offset * stride(dim2) : -offset * stride(dim1);
  const int64_t length =
      std::max<int64_t>(0, offset >= 0 ? std::min(size(dim1), size(dim2) - offset)
                                       : std::min(size(dim1) + offset, size(dim2)));
  Sizes sizes, strides;
  for (int64_t i = 0; i < dim(); ++i) {
    if (i == dim1 || i == dim2) continue;
    sizes.push_back(size(i));
    strides.push_back(stride(i));
  }
  sizes.push_back(length);
  strides.push_back(stride(dim1) + stride(dim2));
  return MakeView(*this, sizes, strides, length == 0 ? 0 : first);
}

Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return index(ArrayRef<indexing::TensorIndex>(indices.begin(), indices.size()));
}

Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  using Kind = indexing::TensorIndex::Kind;
  int64_t taken = 0;
  for (const auto& i : indices) taken += i.kind != Kind::kNone && i.kind != Kind::kEllipsis;
  Tensor result = *this;
  int64_t d = 0;
  for (const auto& i : indices) {
    switch (i.kind) {
      case Kind::kNone:
        result = result.unsqueeze(d++);
        break;
      case Kind::kEllipsis:
        d += dim() - taken;
        break;
      case Kind::kInteger:
        result = result.select(d, i.integer);
        break;
      case Kind::kSlice:
        result = result.slice(d++, i.slice.start, i.slice.stop, i.slice.step);
        break;
      case Kind::kTensor:
        result = result.index_select(d++, i.tensor);
        break;
    }
  }
  return result;
}

std::vector<Tensor> Tensor::split_with_sizes(IntArrayRef parts, int64_t d) const {
  std::vector<Tensor> result;
  int64_t start = 0;
  for (const int64_t part : parts) {
    result.push_back(narrow(d, start, part));
    start += part;
  }
  TORCH_CHECK(start == size(d), "split_with_sizes expects split_sizes to sum exactly to ", size(d));
  return result;
}

std::vector<Tensor> Tensor::split(int64_t part, int64_t d) const {
  TORCH_CHECK(part > 0, "split expects split_size be positive");
  std::vector<Tensor> result;
  for (int64_t start = 0; start < size(d) || start == 0; start += part) {
    result.push_back(narrow(d, start, std::min(part, size(d) - start)));
  }
  return result;
}

std::vector<Tensor> Tensor::chunk(int64_t chunks, int64_t d) const {
  TORCH_CHECK(chunks > 0, "chunk expects `chunks` to be greater than 0");
  return split(std::max<int64_t>(1, (size(d) + chunks - 1) / chunks), d);
}

std::vector<Tensor> Tensor::unbind(int64_t d) const {
  std::vector<Tensor> result;
  for (int64_t i = 0; i < size(d); ++i) result.push_back(select(d, i));
  return result;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  if (!tensor.defined()) return out << "[ Tensor (undefined) ]";
  return out << "[ " << (tensor.is_cuda() ? "CUDA" : "CPU") << toString(tensor.scalar_type())
             << "Type" << tensor.sizes() << " ]";
}

}  // namespace at
