// What a candidate's function is called with.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/host_tensor.h"

namespace kernelsmith {

struct CallArgument {
  enum class Kind { kNone, kTensor, kInt, kFloat, kBool, kString, kList };
  Kind kind = Kind::kNone;
  std::string name;
  HostTensor tensor;
  Shape strides;       // the tensor's strides, in elements; empty: row-major
  int64_t offset = 0;  // elements of the storage in front of the tensor's first one
  int64_t integer = 0;
  double number = 0;
  bool flag = false;
  std::string text;
  std::vector<CallArgument> items;

  static CallArgument Tensor(std::string name, HostTensor tensor) {
    CallArgument argument{.kind = Kind::kTensor, .name = std::move(name)};
    argument.tensor = std::move(tensor);
    return argument;
  }
  static CallArgument Int(std::string name, int64_t value) {
    return {.kind = Kind::kInt, .name = std::move(name), .integer = value};
  }
  static CallArgument Float(std::string name, double value) {
    return {.kind = Kind::kFloat, .name = std::move(name), .number = value};
  }
  static CallArgument Bool(std::string name, bool value) {
    return {.kind = Kind::kBool, .name = std::move(name), .flag = value};
  }
};

// The tensors of the arguments, lists taken apart, in order: PlanBuffer::argument counts them.
std::vector<const CallArgument*> FlattenTensors(const std::vector<CallArgument>& arguments);

// A tensor with a shape and no data, for shapes at which data would be too much.
bool IsBlank(const CallArgument& argument);

// The bytes of the tensor's storage: laid out by its strides, behind its offset, gaps zero.
std::vector<std::byte> StorageBytes(const CallArgument& argument);

// The same without a copy where the tensor fills it in row-major order; `storage` holds it
// otherwise.
std::span<const std::byte> StorageOf(const CallArgument& argument, std::vector<std::byte>& storage);

// The elements of a strided tensor in `storage`, row-major; the strides must fit.
std::vector<std::byte> GatherElements(const std::byte* storage, const Shape& shape,
                                      const Shape& strides, int64_t element_bytes);

}  // namespace kernelsmith
