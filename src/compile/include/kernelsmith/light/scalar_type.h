// Element types: c10::ScalarType with PyTorch's numbers, c10::Half and c10::BFloat16.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <type_traits>

#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE __inline__ __attribute__((always_inline))
#define C10_LIKELY(e) __builtin_expect(static_cast<bool>(e), 1)
#define C10_UNLIKELY(e) __builtin_expect(static_cast<bool>(e), 0)
#define C10_RESTRICT __restrict__
#define C10_UNUSED __attribute__((unused))
#define C10_NODISCARD [[nodiscard]]
#define C10_API
#define C10_EXPORT
#define TORCH_API
#define TORCH_CUDA_CU_API
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(threads)
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__(threads, blocks)
#define C10_WARP_SIZE 32

namespace c10 {

// A 16-bit float that computes in float. `Device` is CUDA's type of the same bits, which device
// code converts by one instruction.
template <typename Device>
struct RawOf;
template <>
struct RawOf<__half> {
  using type = __half_raw;
  // PyTorch's build takes CUDA's conversions away, but not these functions.
  static C10_HOST_DEVICE __half FromFloat(float value) { return __float2half(value); }
  static C10_HOST_DEVICE float ToFloat(const __half& value) { return __half2float(value); }
};
template <>
struct RawOf<__nv_bfloat16> {
  using type = __nv_bfloat16_raw;
  static C10_HOST_DEVICE __nv_bfloat16 FromFloat(float value) { return __float2bfloat16(value); }
  static C10_HOST_DEVICE float ToFloat(const __nv_bfloat16& value) {
    return __bfloat162float(value);
  }
};

template <typename Device>
struct alignas(2) ShortFloat {
  unsigned short x;

  struct from_bits_t {};
  static constexpr C10_HOST_DEVICE from_bits_t from_bits() { return {}; }

  ShortFloat() = default;
  constexpr C10_HOST_DEVICE ShortFloat(unsigned short bits, from_bits_t) : x(bits) {}
  C10_HOST_DEVICE ShortFloat(float value) : ShortFloat(RawOf<Device>::FromFloat(value)) {}
  C10_HOST_DEVICE ShortFloat(const Device& value)
      : x(static_cast<typename RawOf<Device>::type>(value).x) {}
  C10_HOST_DEVICE operator float() const { return f(); }
  C10_HOST_DEVICE operator Device() const { return device(); }

  C10_HOST_DEVICE ShortFloat& operator+=(const ShortFloat& o) { return *this = *this + o; }
  C10_HOST_DEVICE ShortFloat& operator-=(const ShortFloat& o) { return *this = *this - o; }
  C10_HOST_DEVICE ShortFloat& operator*=(const ShortFloat& o) { return *this = *this * o; }
  C10_HOST_DEVICE ShortFloat& operator/=(const ShortFloat& o) { return *this = *this / o; }
  C10_HOST_DEVICE ShortFloat operator-() const { return ShortFloat(-f()); }

  C10_HOST_DEVICE float f() const { return RawOf<Device>::ToFloat(device()); }

 private:
  C10_HOST_DEVICE Device device() const {
    // Not memcpy, which nvcc turns into loads of single bytes.
    typename RawOf<Device>::type raw;
    raw.x = x;
    return Device(raw);
  }
};

// Exact matches for every pair of operand types, so that the conversions to float and to CUDA's
// type never compete.
#define KS_SHORT_ARITHMETIC(op)                                                       \
  template <typename D>                                                               \
  C10_HOST_DEVICE inline ShortFloat<D> operator op(const ShortFloat<D>& a,            \
                                                   const ShortFloat<D>& b) {          \
    return ShortFloat<D>(a.f() op b.f());                                             \
  }                                                                                   \
  template <typename D>                                                               \
  C10_HOST_DEVICE inline float operator op(const ShortFloat<D>& a, float b) {         \
    return a.f() op b;                                                                \
  }                                                                                   \
  template <typename D>                                                               \
  C10_HOST_DEVICE inline float operator op(float a, const ShortFloat<D>& b) {         \
    return a op b.f();                                                                \
  }                                                                                   \
  template <typename D>                                                               \
  C10_HOST_DEVICE inline double operator op(const ShortFloat<D>& a, double b) {       \
    return static_cast<double>(a.f()) op b;                                           \
  }                                                                                   \
  template <typename D>                                                               \
  C10_HOST_DEVICE inline double operator op(double a, const ShortFloat<D>& b) {       \
    return a op static_cast<double>(b.f());                                           \
  }                                                                                   \
  template <typename D, typename I, std::enable_if_t<std::is_integral_v<I>, int> = 0> \
  C10_HOST_DEVICE inline ShortFloat<D> operator op(const ShortFloat<D>& a, I b) {     \
    return ShortFloat<D>(a.f() op static_cast<float>(b));                             \
  }                                                                                   \
  template <typename D, typename I, std::enable_if_t<std::is_integral_v<I>, int> = 0> \
  C10_HOST_DEVICE inline ShortFloat<D> operator op(I a, const ShortFloat<D>& b) {     \
    return ShortFloat<D>(static_cast<float>(a) op b.f());                             \
  }
KS_SHORT_ARITHMETIC(+)
KS_SHORT_ARITHMETIC(-)
KS_SHORT_ARITHMETIC(*)
KS_SHORT_ARITHMETIC(/)
#undef KS_SHORT_ARITHMETIC

#define KS_SHORT_COMPARISON(op)                                                             \
  template <typename D>                                                                     \
  C10_HOST_DEVICE inline bool operator op(const ShortFloat<D>& a, const ShortFloat<D>& b) { \
    return a.f() op b.f();                                                                  \
  }                                                                                         \
  template <typename D, typename N, std::enable_if_t<std::is_arithmetic_v<N>, int> = 0>     \
  C10_HOST_DEVICE inline bool operator op(const ShortFloat<D>& a, N b) {                    \
    return a.f() op b;                                                                      \
  }                                                                                         \
  template <typename D, typename N, std::enable_if_t<std::is_arithmetic_v<N>, int> = 0>     \
  C10_HOST_DEVICE inline bool operator op(N a, const ShortFloat<D>& b) {                    \
    return a op b.f();                                                                      \
  }
KS_SHORT_COMPARISON(<)
KS_SHORT_COMPARISON(>)
KS_SHORT_COMPARISON(<=)
KS_SHORT_COMPARISON(>=)
KS_SHORT_COMPARISON(==)
KS_SHORT_COMPARISON(!=)
#undef KS_SHORT_COMPARISON

template <typename D>
inline std::ostream& operator<<(std::ostream& out, const ShortFloat<D>& value) {
  return out << value.f();
}

using Half = ShortFloat<__half>;
using BFloat16 = ShortFloat<__nv_bfloat16>;

#if defined(__CUDA_ARCH__)
// PyTorch has it, for kernels that are templates over the element's type.
template <typename D>
__device__ inline ShortFloat<D> __ldg(const ShortFloat<D>* place) {
  return ShortFloat<D>(::__ldg(reinterpret_cast<const D*>(place)));
}
#endif

enum class ScalarType : int8_t {
  Byte = 0,
  Char = 1,
  Short = 2,
  Int = 3,
  Long = 4,
  Half = 5,
  Float = 6,
  Double = 7,
  Bool = 11,
  BFloat16 = 15,
  Undefined = 44,
};

constexpr ScalarType kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte;
constexpr ScalarType kChar = ScalarType::Char, kInt8 = ScalarType::Char;
constexpr ScalarType kShort = ScalarType::Short, kInt16 = ScalarType::Short;
constexpr ScalarType kInt = ScalarType::Int, kInt32 = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long, kInt64 = ScalarType::Long;
constexpr ScalarType kHalf = ScalarType::Half, kFloat16 = ScalarType::Half;
constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = ScalarType::Float;
constexpr ScalarType kDouble = ScalarType::Double, kFloat64 = ScalarType::Double;
constexpr ScalarType kBool = ScalarType::Bool;
constexpr ScalarType kBFloat16 = ScalarType::BFloat16;

template <typename T>
struct CppTypeToScalarType;
template <ScalarType S>
struct ScalarTypeToCppType;

#define KS_MAP(type, name)                                \
  template <>                                             \
  struct CppTypeToScalarType<type> {                      \
    static constexpr ScalarType value = ScalarType::name; \
  };                                                      \
  template <>                                             \
  struct ScalarTypeToCppType<ScalarType::name> {          \
    using type_t = type;                                  \
  };
KS_MAP(uint8_t, Byte)
KS_MAP(int8_t, Char)
KS_MAP(int16_t, Short)
KS_MAP(int, Int)
KS_MAP(int64_t, Long)
KS_MAP(Half, Half)
KS_MAP(float, Float)
KS_MAP(double, Double)
KS_MAP(bool, Bool)
KS_MAP(BFloat16, BFloat16)
#undef KS_MAP
// The layouts of CUDA's own types are the same.
template <>
struct CppTypeToScalarType<__half> {
  static constexpr ScalarType value = ScalarType::Half;
};
template <>
struct CppTypeToScalarType<__nv_bfloat16> {
  static constexpr ScalarType value = ScalarType::BFloat16;
};
template <>
struct CppTypeToScalarType<long long> {
  static constexpr ScalarType value = ScalarType::Long;
};

const char* toString(ScalarType type);
size_t elementSize(ScalarType type);
bool isFloatingType(ScalarType type);
bool isIntegralType(ScalarType type, bool include_bool);
inline bool isIntegralType(ScalarType type) { return isIntegralType(type, false); }
ScalarType promoteTypes(ScalarType a, ScalarType b);
inline std::ostream& operator<<(std::ostream& out, ScalarType type) {
  return out << toString(type);
}

}  // namespace c10

namespace caffe2 {
// What Tensor::dtype() gives: a type that compares with ScalarType and prints its C++ name.
class TypeMeta {
 public:
  TypeMeta() = default;
  TypeMeta(c10::ScalarType type) : type_(type) {}
  template <typename T>
  static TypeMeta Make() {
    return c10::CppTypeToScalarType<T>::value;
  }
  c10::ScalarType toScalarType() const { return type_; }
  size_t itemsize() const { return c10::elementSize(type_); }
  const char* name() const { return c10::toString(type_); }
  operator c10::ScalarType() const { return type_; }
  template <typename T>
  bool Match() const {
    return type_ == c10::CppTypeToScalarType<T>::value;
  }

 private:
  c10::ScalarType type_ = c10::ScalarType::Undefined;
};
inline bool operator==(TypeMeta a, TypeMeta b) { return a.toScalarType() == b.toScalarType(); }
inline bool operator!=(TypeMeta a, TypeMeta b) { return !(a == b); }
inline bool operator==(TypeMeta a, c10::ScalarType b) { return a.toScalarType() == b; }
inline bool operator!=(TypeMeta a, c10::ScalarType b) { return !(a == b); }
inline bool operator==(c10::ScalarType a, TypeMeta b) { return a == b.toScalarType(); }
inline bool operator!=(c10::ScalarType a, TypeMeta b) { return !(a == b); }
inline std::ostream& operator<<(std::ostream& out, TypeMeta type) { return out << type.name(); }
}  // namespace caffe2

namespace std {
template <>
class numeric_limits<c10::Half> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true;
  static constexpr C10_HOST_DEVICE c10::Half Bits(unsigned short bits) {
    return {bits, c10::Half::from_bits()};
  }
  static constexpr C10_HOST_DEVICE c10::Half min() { return Bits(0x0400); }
  static constexpr C10_HOST_DEVICE c10::Half lowest() { return Bits(0xfbff); }
  static constexpr C10_HOST_DEVICE c10::Half max() { return Bits(0x7bff); }
  static constexpr C10_HOST_DEVICE c10::Half epsilon() { return Bits(0x1400); }
  static constexpr C10_HOST_DEVICE c10::Half infinity() { return Bits(0x7c00); }
  static constexpr C10_HOST_DEVICE c10::Half quiet_NaN() { return Bits(0x7e00); }
};
template <>
class numeric_limits<c10::BFloat16> {
 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true;
  static constexpr C10_HOST_DEVICE c10::BFloat16 Bits(unsigned short bits) {
    return {bits, c10::BFloat16::from_bits()};
  }
  static constexpr C10_HOST_DEVICE c10::BFloat16 min() { return Bits(0x0080); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 lowest() { return Bits(0xff7f); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 max() { return Bits(0x7f7f); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 epsilon() { return Bits(0x3c00); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 infinity() { return Bits(0x7f80); }
  static constexpr C10_HOST_DEVICE c10::BFloat16 quiet_NaN() { return Bits(0x7fc0); }
};
}  // namespace std
