// Element types, errors, streams and registration of the light torch headers.
#include <cstdio>

#include "plan/host/device_client.h"
#include "plan/host/light_runtime.h"

namespace c10 {

const char* toString(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return "Byte";
    case ScalarType::Char:
      return "Char";
    case ScalarType::Short:
      return "Short";
    case ScalarType::Int:
      return "Int";
    case ScalarType::Long:
      return "Long";
    case ScalarType::Half:
      return "Half";
    case ScalarType::Float:
      return "Float";
    case ScalarType::Double:
      return "Double";
    case ScalarType::Bool:
      return "Bool";
    case ScalarType::BFloat16:
      return "BFloat16";
    case ScalarType::Undefined:
      break;
  }
  return "Undefined";
}

size_t elementSize(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
    case ScalarType::Char:
    case ScalarType::Bool:
      return 1;
    case ScalarType::Short:
    case ScalarType::Half:
    case ScalarType::BFloat16:
      return 2;
    case ScalarType::Int:
    case ScalarType::Float:
      return 4;
    case ScalarType::Long:
    case ScalarType::Double:
      return 8;
    case ScalarType::Undefined:
      break;
  }
  throw Error("Unknown ScalarType");
}

bool isFloatingType(ScalarType type) {
  return type == ScalarType::Half || type == ScalarType::Float || type == ScalarType::Double ||
         type == ScalarType::BFloat16;
}

bool isIntegralType(ScalarType type, bool include_bool) {
  return type == ScalarType::Byte || type == ScalarType::Char || type == ScalarType::Short ||
         type == ScalarType::Int || type == ScalarType::Long ||
         (include_bool && type == ScalarType::Bool);
}

ScalarType promoteTypes(ScalarType a, ScalarType b) {
  if (a == b) return a;
  const auto rank = [](ScalarType t) {
    switch (t) {
      case ScalarType::Bool:
        return 0;
      case ScalarType::Byte:
      case ScalarType::Char:
        return 1;
      case ScalarType::Short:
        return 2;
      case ScalarType::Int:
        return 3;
      case ScalarType::Long:
        return 4;
      case ScalarType::Half:
      case ScalarType::BFloat16:
        return 5;
      case ScalarType::Float:
        return 6;
      default:
        return 7;
    }
  };
  if (rank(a) == rank(b)) return rank(a) == 1 ? ScalarType::Short : ScalarType::Float;
  return rank(a) > rank(b) ? a : b;
}

namespace detail {

void FailCheck(const char* file, int line, const std::string& message) {
  throw Error(message + "\n(" + file + ":" + std::to_string(line) + ")");
}

void Warn(const std::string& message) { std::fprintf(stderr, "Warning: %s\n", message.c_str()); }

void CudaCheck(cudaError_t error, const char* file, int line) {
  if (error == cudaSuccess) return;
  FailCheck(file, line, std::string("CUDA error: ") + cudaGetErrorString(error));
}

}  // namespace detail

namespace cuda {
namespace {
thread_local CUDAStream current_stream;
}

CUDAStream getCurrentCUDAStream(DeviceIndex) { return current_stream; }
CUDAStream getDefaultCUDAStream(DeviceIndex) { return CUDAStream(); }
CUDAStream getStreamFromPool(bool, DeviceIndex) {
  cudaStream_t stream = nullptr;
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return CUDAStream(stream);
}
CUDAStream getStreamFromPool(int, DeviceIndex) { return getStreamFromPool(false, -1); }
void setCurrentCUDAStream(CUDAStream stream) {
  current_stream = stream;
  kernelsmith::host::DeviceClient::Get().SetCurrentStream(stream.stream());
}

}  // namespace cuda
}  // namespace c10

namespace at::cuda {

cudaDeviceProp* getCurrentDeviceProperties() {
  static cudaDeviceProp* const properties = [] {
    auto* made = new cudaDeviceProp;
    C10_CUDA_CHECK(cudaGetDeviceProperties(made, 0));
    return made;
  }();
  return properties;
}
cudaDeviceProp* getDeviceProperties(int64_t) { return getCurrentDeviceProperties(); }

}  // namespace at::cuda

namespace kernelsmith::light {

const char* GraphDType(c10::ScalarType dtype) {
  switch (dtype) {
    case c10::ScalarType::Byte:
      return "uint8";
    case c10::ScalarType::Char:
      return "int8";
    case c10::ScalarType::Short:
      return "int16";
    case c10::ScalarType::Int:
      return "int32";
    case c10::ScalarType::Long:
      return "int64";
    case c10::ScalarType::Half:
      return "float16";
    case c10::ScalarType::Float:
      return "float32";
    case c10::ScalarType::Double:
      return "float64";
    case c10::ScalarType::Bool:
      return "bool";
    case c10::ScalarType::BFloat16:
      return "bfloat16";
    case c10::ScalarType::Undefined:
      break;
  }
  return "undefined";
}

std::optional<c10::ScalarType> FromGraphDType(const std::string& name) {
  for (const c10::ScalarType type :
       {c10::kByte, c10::kChar, c10::kShort, c10::kInt, c10::kLong, c10::kHalf, c10::kFloat,
        c10::kDouble, c10::kBool, c10::kBFloat16}) {
    if (name == GraphDType(type)) return type;
  }
  return std::nullopt;
}

void ThrowUnsupported(const std::string& what) { throw UnsupportedError(what); }

std::vector<RegisteredFunction>& Functions() {
  static auto* const functions = new std::vector<RegisteredFunction>;
  return *functions;
}

std::vector<std::function<void()>>& Modules() {
  static auto* const modules = new std::vector<std::function<void()>>;
  return *modules;
}

void RegisterFunction(const char* name, std::vector<ArgumentInfo> arguments, Function function) {
  Functions().push_back({name, std::move(arguments), std::move(function)});
}

void RegisterModule(const char*, std::function<void()> initialise) {
  Modules().push_back(std::move(initialise));
}

void WrongArgument(const char* wanted, const Value& got) {
  static constexpr const char* kNames[] = {"None", "Tensor", "int",   "float", "bool",
                                           "str",  "list",   "tuple", "dict"};
  throw c10::TypeError(std::string("incompatible function arguments: expected ") + wanted +
                       ", got " + kNames[static_cast<size_t>(got.kind)]);
}

}  // namespace kernelsmith::light
