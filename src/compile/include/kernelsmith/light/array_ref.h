// c10::ArrayRef, c10::optional, c10::Scalar.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "check.h"
#include "scalar_type.h"

namespace c10 {

template <typename T>
using optional = std::optional<T>;
using std::make_optional;
using std::nullopt;
using nullopt_t = std::nullopt_t;
using string_view = std::string_view;

// A view of somebody else's elements.
template <typename T>
class ArrayRef {
 public:
  using value_type = T;
  using iterator = const T*;
  using const_iterator = const T*;

  constexpr ArrayRef() = default;
  constexpr ArrayRef(const T& one) : data_(&one), size_(1) {}
  constexpr ArrayRef(const T* data, size_t size) : data_(data), size_(size) {}
  constexpr ArrayRef(const T* begin, const T* end)
      : data_(begin), size_(static_cast<size_t>(end - begin)) {}
  ArrayRef(const std::vector<T>& vector) : data_(vector.data()), size_(vector.size()) {}
  template <size_t N>
  constexpr ArrayRef(const std::array<T, N>& array) : data_(array.data()), size_(N) {}
  template <size_t N>
  constexpr ArrayRef(const T (&array)[N]) : data_(array), size_(N) {}
  constexpr ArrayRef(const std::initializer_list<T>& list)
      : data_(list.begin() == list.end() ? nullptr : list.begin()), size_(list.size()) {}

  constexpr const T* begin() const { return data_; }
  constexpr const T* end() const { return data_ + size_; }
  constexpr const T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& at(size_t i) const {
    TORCH_CHECK(i < size_, "ArrayRef: invalid index ", i, "; length ", size_);
    return data_[i];
  }
  const T& front() const { return at(0); }
  const T& back() const { return at(size_ - 1); }
  bool equals(ArrayRef other) const {
    if (size_ != other.size_) return false;
    for (size_t i = 0; i < size_; ++i) {
      if (!(data_[i] == other.data_[i])) return false;
    }
    return true;
  }
  ArrayRef slice(size_t first, size_t count) const {
    TORCH_CHECK(first + count <= size_, "ArrayRef: invalid slice");
    return {data_ + first, count};
  }
  ArrayRef slice(size_t first) const { return slice(first, size_ - first); }
  std::vector<T> vec() const { return std::vector<T>(begin(), end()); }
  operator std::vector<T>() const { return vec(); }

 private:
  const T* data_ = nullptr;
  size_t size_ = 0;
};

template <typename T>
bool operator==(ArrayRef<T> a, ArrayRef<T> b) {
  return a.equals(b);
}
template <typename T>
bool operator!=(ArrayRef<T> a, ArrayRef<T> b) {
  return !a.equals(b);
}
template <typename T>
bool operator==(const std::vector<T>& a, ArrayRef<T> b) {
  return ArrayRef<T>(a).equals(b);
}
template <typename T>
bool operator!=(const std::vector<T>& a, ArrayRef<T> b) {
  return !ArrayRef<T>(a).equals(b);
}
template <typename T>
bool operator==(ArrayRef<T> a, const std::vector<T>& b) {
  return a.equals(b);
}
template <typename T>
bool operator!=(ArrayRef<T> a, const std::vector<T>& b) {
  return !a.equals(b);
}
template <typename T>
std::ostream& operator<<(std::ostream& out, ArrayRef<T> list) {
  out << '[';
  for (size_t i = 0; i < list.size(); ++i) out << (i == 0 ? "" : ", ") << list[i];
  return out << ']';
}

using IntArrayRef = ArrayRef<int64_t>;
// What dims of a reduction take: nothing, one, or several.
class OptionalIntArrayRef {
 public:
  OptionalIntArrayRef() = default;
  OptionalIntArrayRef(std::nullopt_t) {}
  OptionalIntArrayRef(int64_t one) : given_(true), values_{one} {}
  OptionalIntArrayRef(IntArrayRef list) : given_(true), values_(list.vec()) {}
  OptionalIntArrayRef(std::initializer_list<int64_t> list) : given_(true), values_(list) {}
  OptionalIntArrayRef(const std::vector<int64_t>& list) : given_(true), values_(list) {}
  bool has_value() const { return given_; }
  const std::vector<int64_t>& value() const { return values_; }

 private:
  bool given_ = false;
  std::vector<int64_t> values_;
};

// One number, with its kind.
class Scalar {
 public:
  Scalar() = default;
  Scalar(bool v) : kind_(Kind::kBool), integer_(v) {}
  Scalar(float v) : kind_(Kind::kDouble), number_(v) {}
  Scalar(double v) : kind_(Kind::kDouble), number_(v) {}
  Scalar(Half v) : kind_(Kind::kDouble), number_(v.f()) {}
  Scalar(BFloat16 v) : kind_(Kind::kDouble), number_(v.f()) {}
  template <typename I,
            std::enable_if_t<std::is_integral_v<I> && !std::is_same_v<I, bool>, int> = 0>
  Scalar(I v) : integer_(static_cast<int64_t>(v)) {}

  bool isFloatingPoint() const { return kind_ == Kind::kDouble; }
  bool isIntegral(bool include_bool) const {
    return kind_ == Kind::kInt || (include_bool && kind_ == Kind::kBool);
  }
  bool isBoolean() const { return kind_ == Kind::kBool; }
  ScalarType type() const {
    return kind_ == Kind::kDouble ? ScalarType::Double
           : kind_ == Kind::kBool ? ScalarType::Bool
                                  : ScalarType::Long;
  }
  template <typename T>
  T to() const {
    if constexpr (std::is_arithmetic_v<T>) {
      return kind_ == Kind::kDouble ? static_cast<T>(number_) : static_cast<T>(integer_);
    } else {
      return T(static_cast<float>(toDouble()));
    }
  }
  double toDouble() const {
    return kind_ == Kind::kDouble ? number_ : static_cast<double>(integer_);
  }
  float toFloat() const { return to<float>(); }
  int64_t toLong() const { return to<int64_t>(); }
  int toInt() const { return to<int>(); }
  bool toBool() const { return kind_ == Kind::kDouble ? number_ != 0 : integer_ != 0; }
  Half toHalf() const { return Half(toFloat()); }

 private:
  enum class Kind { kInt, kDouble, kBool };
  Kind kind_ = Kind::kInt;
  int64_t integer_ = 0;
  double number_ = 0;
};
inline std::ostream& operator<<(std::ostream& out, const Scalar& value) {
  return value.isFloatingPoint() ? out << value.toDouble() : out << value.toLong();
}

template <typename T>
inline T value_or_else(const optional<T>& value, T other) {
  return value ? *value : other;
}

}  // namespace c10
