// Devices and c10::TensorOptions.
#pragma once

#include "array_ref.h"

namespace c10 {

using DeviceIndex = int8_t;
enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
constexpr DeviceType kCPU = DeviceType::CPU;
constexpr DeviceType kCUDA = DeviceType::CUDA;
inline std::ostream& operator<<(std::ostream& out, DeviceType type) {
  return out << (type == DeviceType::CUDA ? "cuda" : "cpu");
}

class Device {
 public:
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  Device(const std::string& text)
      : type_(text.rfind("cuda", 0) == 0 ? DeviceType::CUDA : DeviceType::CPU), index_(-1) {}
  Device(const char* text) : Device(std::string(text)) {}
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ >= 0; }
  bool is_cuda() const { return type_ == DeviceType::CUDA; }
  bool is_cpu() const { return type_ == DeviceType::CPU; }
  std::string str() const { return is_cuda() ? "cuda:0" : "cpu"; }
  // There is one GPU: an index left out means the same device.
  bool operator==(const Device& other) const { return type_ == other.type_; }
  bool operator!=(const Device& other) const { return type_ != other.type_; }

 private:
  DeviceType type_;
  DeviceIndex index_;
};
inline std::ostream& operator<<(std::ostream& out, const Device& device) {
  return out << device.str();
}

enum class Layout : int8_t { Strided };
constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

struct TensorOptions {
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions(caffe2::TypeMeta type) : dtype_(type.toScalarType()) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(Device(type)) {}
  TensorOptions(Layout) {}
  TensorOptions(MemoryFormat format) : memory_format_(format) {}

  TensorOptions dtype(std::optional<ScalarType> type) const {
    TensorOptions copy = *this;
    copy.dtype_ = type;
    return copy;
  }
  TensorOptions dtype(ScalarType type) const { return dtype(std::optional<ScalarType>(type)); }
  TensorOptions dtype(caffe2::TypeMeta type) const { return dtype(type.toScalarType()); }
  template <typename T>
  TensorOptions dtype() const {
    return dtype(CppTypeToScalarType<T>::value);
  }
  TensorOptions device(Device device) const {
    TensorOptions copy = *this;
    copy.device_ = device;
    return copy;
  }
  TensorOptions device(DeviceType type, DeviceIndex index = -1) const {
    return device(Device(type, index));
  }
  TensorOptions device(std::optional<Device> device) const {
    TensorOptions copy = *this;
    copy.device_ = device;
    return copy;
  }
  TensorOptions device_index(DeviceIndex) const { return device(Device(kCUDA)); }
  TensorOptions layout(Layout) const { return *this; }
  TensorOptions requires_grad(bool) const { return *this; }
  TensorOptions pinned_memory(bool) const { return *this; }
  TensorOptions memory_format(MemoryFormat format) const {
    TensorOptions copy = *this;
    copy.memory_format_ = format;
    return copy;
  }

  caffe2::TypeMeta dtype() const { return dtype_.value_or(ScalarType::Float); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  std::optional<ScalarType> dtype_opt() const { return dtype_; }
  std::optional<Device> device_opt() const { return device_; }
  MemoryFormat memory_format_or(MemoryFormat other) const { return memory_format_.value_or(other); }

 private:
  std::optional<ScalarType> dtype_;
  std::optional<Device> device_;
  std::optional<MemoryFormat> memory_format_;
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions dtype(caffe2::TypeMeta type) { return TensorOptions(type); }
template <typename T>
inline TensorOptions dtype() {
  return TensorOptions(CppTypeToScalarType<T>::value);
}
inline TensorOptions device(Device d) { return TensorOptions(d); }
inline TensorOptions device(DeviceType type) { return TensorOptions(type); }
inline TensorOptions layout(Layout) { return {}; }
inline TensorOptions requires_grad(bool = true) { return {}; }

}  // namespace c10
