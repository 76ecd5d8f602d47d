// What the light torch headers declare and the tracer defines: storages, and operators as plan
// nodes.
#pragma once

#include <kernelsmith/light/cuda.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/aten_ops.h"

namespace kernelsmith::light {

struct Storage {
  uint64_t address = 0;  // an address of the device, or of our own heap
  uint64_t bytes = 0;
  bool device = false;
  bool owned = true;
  ~Storage();
};

// A tensor in fresh memory; uninitialised. Empty strides: row-major.
at::Tensor MakeTensor(std::vector<int64_t> sizes, c10::ScalarType dtype, c10::DeviceType device,
                      std::vector<int64_t> strides = {});
// The same storage seen differently. `offset` is in elements from `of`'s first.
at::Tensor MakeView(const at::Tensor& of, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                    int64_t offset);
std::vector<int64_t> RowMajor(const std::vector<int64_t>& sizes);
std::vector<int64_t> ChannelsLast(const std::vector<int64_t>& sizes);
int64_t WrapDim(int64_t dim, int64_t rank);
int64_t Count(const std::vector<int64_t>& sizes);

// One argument of an operator, as docs/graph_format.md writes it.
struct OpArgument {
  OpArgument(const at::Tensor& t) : tensor(t), is_tensor(true) {}
  OpArgument(const std::optional<at::Tensor>& t);
  OpArgument(const c10::Scalar& s);
  OpArgument(bool v) : value(v) {}
  OpArgument(int64_t v) : value(v) {}
  OpArgument(int v) : value(v) {}
  OpArgument(double v);
  OpArgument(const char* v) : value(v) {}
  OpArgument(std::nullptr_t) {}
  OpArgument(c10::ScalarType dtype);
  OpArgument(const std::vector<int64_t>& list) : value(list) {}
  OpArgument(std::vector<at::Tensor> list) : tensors(std::move(list)), is_list(true) {}
  nlohmann::json value;
  at::Tensor tensor;
  std::vector<at::Tensor> tensors;
  bool is_tensor = false;
  bool is_list = false;
};

// Notes an operator of PyTorch in the plan, with fresh tensors of the given kinds as its results.
struct ResultMeta {
  std::vector<int64_t> sizes;
  c10::ScalarType dtype;
};
std::vector<at::Tensor> Op(AtenOp op, const std::vector<OpArgument>& arguments,
                           const std::vector<ResultMeta>& results);
at::Tensor Op1(AtenOp op, const std::vector<OpArgument>& arguments, std::vector<int64_t> sizes,
               c10::ScalarType dtype);
// Notes an operator of any library, with results that exist already.
void OpInto(const char* op, const std::vector<OpArgument>& arguments,
            const std::vector<at::Tensor>& results);

// `what` is more than the tracer can do: ends the call.
[[noreturn]] void ThrowUnsupported(const std::string& what);
class UnsupportedError : public c10::Error {
  using c10::Error::Error;
};
// The library registered nothing under the name that is asked for.
class NoFunctionError : public c10::Error {
  using c10::Error::Error;
};

const char* GraphDType(c10::ScalarType dtype);  // "float32"
std::optional<c10::ScalarType> FromGraphDType(const std::string& name);

// The functions that the library registered.
struct RegisteredFunction {
  std::string name;
  std::vector<ArgumentInfo> arguments;
  Function function;
};
std::vector<RegisteredFunction>& Functions();
std::vector<std::function<void()>>& Modules();

}  // namespace kernelsmith::light
