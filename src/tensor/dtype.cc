#include "tensor/dtype.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/check.h"

namespace kernelsmith {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::string_view safetensors;
  int size;
};
constexpr Row kRows[] = {
    {DType::kFloat16, "float16", "F16", 2}, {DType::kBfloat16, "bfloat16", "BF16", 2},
    {DType::kFloat32, "float32", "F32", 4}, {DType::kFloat64, "float64", "F64", 8},
    {DType::kInt8, "int8", "I8", 1},        {DType::kInt16, "int16", "I16", 2},
    {DType::kInt32, "int32", "I32", 4},     {DType::kInt64, "int64", "I64", 8},
    {DType::kUint8, "uint8", "U8", 1},      {DType::kBool, "bool", "BOOL", 1},
};

const Row& RowOf(DType dtype) { return kRows[static_cast<int>(dtype)]; }

// Rounds to `bits` significant bits with the smallest exponent of the format: one rounding from
// double.
double RoundSignificand(double value, int bits, int min_exponent, double largest) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - bits, min_exponent);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::fabs(rounded) > largest ? std::copysign(INFINITY, value) : rounded;
}

template <typename Int>
double Wrap(double value) {
  if (!std::isfinite(value)) return 0;
  const double whole = std::trunc(value);
  if (std::fabs(whole) < 0x1p63) {
    return static_cast<double>(static_cast<Int>(static_cast<int64_t>(whole)));
  }
  return static_cast<double>(std::numeric_limits<Int>::min());
}

template <typename V>
double Load(const void* data) {
  V value;
  std::memcpy(&value, data, sizeof value);
  return static_cast<double>(value);
}

template <typename V>
void Store(V value, void* data) {
  std::memcpy(data, &value, sizeof value);
}

}  // namespace

std::string_view DTypeName(DType dtype) { return RowOf(dtype).name; }
std::string_view SafetensorsName(DType dtype) { return RowOf(dtype).safetensors; }
int64_t SizeOf(DType dtype) { return RowOf(dtype).size; }

std::optional<DType> ParseDType(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::optional<DType> ParseSafetensorsName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.safetensors == name) return row.dtype;
  }
  return std::nullopt;
}

bool IsFloat(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBfloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

Precision PrecisionOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return Precision::kFloat16;
    case DType::kBfloat16:
      return Precision::kBfloat16;
    case DType::kFloat32:
      return Precision::kFloat32;
    default:
      return Precision::kFloat64;
  }
}

float HalfToFloat(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1f;
  const uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
  if (exponent == 0) {
    const float value = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

uint16_t FloatToHalf(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | 0x7e00;
  const double rounded = std::fabs(RoundSignificand(value, 11, -24, 65504));
  if (std::isinf(rounded)) return sign | 0x7c00;
  if (rounded < 0x1p-14) return sign | static_cast<uint16_t>(rounded * 0x1p24);
  const uint32_t bits = std::bit_cast<uint32_t>(static_cast<float>(rounded));
  return static_cast<uint16_t>(sign | ((bits >> 13) - (112 << 10)));
}

float BfloatToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t FloatToBfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

double RoundTo(DType dtype, double value) {
  switch (dtype) {
    case DType::kFloat16:
      return RoundSignificand(value, 11, -24, 65504);
    case DType::kBfloat16:
      return RoundSignificand(value, 8, -133, 0x1.fep127);
    case DType::kFloat32:
      return static_cast<double>(static_cast<float>(value));
    case DType::kFloat64:
      return value;
    case DType::kInt8:
      return Wrap<int8_t>(value);
    case DType::kInt16:
      return Wrap<int16_t>(value);
    case DType::kInt32:
      return Wrap<int32_t>(value);
    case DType::kInt64:
      return Wrap<int64_t>(value);
    case DType::kUint8:
      return Wrap<uint8_t>(value);
    case DType::kBool:
      return value != 0 ? 1 : 0;
  }
  KS_UNREACHABLE();
}

double LoadElement(DType dtype, const void* data) {
  switch (dtype) {
    case DType::kFloat16:
    case DType::kBfloat16: {
      uint16_t bits;
      std::memcpy(&bits, data, sizeof bits);
      return dtype == DType::kFloat16 ? HalfToFloat(bits) : BfloatToFloat(bits);
    }
    case DType::kFloat32:
      return Load<float>(data);
    case DType::kFloat64:
      return Load<double>(data);
    case DType::kInt8:
      return Load<int8_t>(data);
    case DType::kInt16:
      return Load<int16_t>(data);
    case DType::kInt32:
      return Load<int32_t>(data);
    case DType::kInt64:
      return Load<int64_t>(data);
    case DType::kUint8:
      return Load<uint8_t>(data);
    case DType::kBool:
      return Load<uint8_t>(data) != 0 ? 1 : 0;
  }
  KS_UNREACHABLE();
}

void StoreElement(DType dtype, double value, void* data) {
  const double rounded = RoundTo(dtype, value);
  switch (dtype) {
    case DType::kFloat16:
      return Store(FloatToHalf(static_cast<float>(rounded)), data);
    case DType::kBfloat16:
      return Store(FloatToBfloat(static_cast<float>(rounded)), data);
    case DType::kFloat32:
      return Store(static_cast<float>(rounded), data);
    case DType::kFloat64:
      return Store(rounded, data);
    case DType::kInt8:
      return Store(static_cast<int8_t>(rounded), data);
    case DType::kInt16:
      return Store(static_cast<int16_t>(rounded), data);
    case DType::kInt32:
      return Store(static_cast<int32_t>(rounded), data);
    case DType::kInt64:
      return Store(
          rounded >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(rounded),
          data);
    case DType::kUint8:
    case DType::kBool:
      return Store(static_cast<uint8_t>(rounded), data);
  }
}

}  // namespace kernelsmith
