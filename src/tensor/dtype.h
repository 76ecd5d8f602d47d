// Element types, as PyTorch names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "field/symbolic.h"

namespace kernelsmith {

enum class DType : uint8_t {
  kFloat16,
  kBfloat16,
  kFloat32,
  kFloat64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kBool,
};

std::string_view DTypeName(DType dtype);  // "float32"
std::optional<DType> ParseDType(std::string_view name);
std::string_view SafetensorsName(DType dtype);  // "F32"
std::optional<DType> ParseSafetensorsName(std::string_view name);

int64_t SizeOf(DType dtype);
bool IsFloat(DType dtype);
inline bool IsInteger(DType dtype) { return !IsFloat(dtype) && dtype != DType::kBool; }
// The precision of a float type.
Precision PrecisionOf(DType dtype);

float HalfToFloat(uint16_t bits);
uint16_t FloatToHalf(float value);  // Rounds to nearest, ties to even.
float BfloatToFloat(uint16_t bits);
uint16_t FloatToBfloat(float value);

// value in dtype: floats rounded to nearest, once; integers truncated and wrapped as C does; bool
// is value != 0.
double RoundTo(DType dtype, double value);

// The element at `data` as a double (int64 beyond 2^53 is rounded), and back.
double LoadElement(DType dtype, const void* data);
void StoreElement(DType dtype, double value, void* data);

}  // namespace kernelsmith
