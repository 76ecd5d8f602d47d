// How long PyTorch's eager mode takes: the sum over its operators, each by bytes, flops and launch
// overhead. The baseline that candidates are compared with where there is no GPU; `estimated` too.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "tensor/host_tensor.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

struct EagerOperator {
  struct Tensor {
    Shape shape;
    DType dtype = DType::kFloat32;
  };
  std::string op;  // "aten.silu.default"
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  bool transposed = false;  // convolution
  bool inner = true;        // reductions and the like run along the last dimension
};

// The field `eager` of a graph (docs/graph_format.md).
Result<std::vector<EagerOperator>> ParseEager(const nlohmann::json& eager);
Result<std::vector<EagerOperator>> ReadEager(const std::string& graph_file);

enum class EagerClass : uint8_t {
  kPointwise,
  kReduction,
  kSoftmax,
  kPool,
  kScan,
  kNorm,
  kMatmul,
  kConvolution,  // convolutions of any rank
  kTransposedConvolution,
  kDepthwiseConvolution,
  kCount,
};
std::string_view Name(EagerClass which);

// What an operator has to do.
struct OperatorWork {
  EagerClass which = EagerClass::kPointwise;
  double bytes = 0;  // bytes of its inputs and outputs, once
  double flops = 0;  // flops of products and convolutions: the least that the definition needs
  // As its usual implementation does it: transposed convolutions also multiply the zeros between
  // inputs, channels are padded to what the tiles take.
  double executed_flops = 0;
  double parallel = 1;  // share of the GPU that it can fill: tiles of a product, rows of a norm
  int rank = 0;         // the rank of a convolution's window
  bool inner = true;    // rows of a reduction, softmax or norm lie in one piece
  DType dtype = DType::kFloat32;
};

// What is not on a data sheet. Fitted to half of the published times (bench/eager); the other half
// says how good they are (docs/results.md).
struct EagerParameters {
  double call_us = 8.0;          // once
  double operator_us = 4.38;     // each: dispatch, allocation, launch
  double convolution_us = 19.1;  // each: cuDNN's
  // Shares of the memory bandwidth.
  double pointwise = 1.0;
  double reduction = 0.425;
  double softmax = 0.19;
  double pool = 0.458;
  double scan = 0.0809;
  double norm = 0.164;
  double norm_row = 0.00683;  // the bandwidth that one row of a norm, which is one block, can draw
  double depthwise = 0.236;
  // Reductions, softmax and layer norm along the last dimension. Not fitted: the published tasks
  // have no such operator that is not mostly launch. A guess that is rather too good for PyTorch.
  double inner = 0.75;
  double matmul_memory = 0.861;
  double convolution_memory = 0.478;
  double transposed_memory = 0.117;
  // Shares of the float32 peak; convolutions use tf32, hence more than 1 is possible.
  double matmul = 0.777;
  double convolution_2d = 2.17;
  double convolution_3d = 1.19;
  double transposed_2d = 0.651;
  double transposed_3d = 0.651;
  // Channels are padded to multiples of these.
  double input_channels = 8;
  double output_channels = 64;
};
// Every one of them, for whoever fits them.
struct EagerParameter {
  const char* name;
  double EagerParameters::* value;
  double most;  // the largest value that makes sense
};
const std::vector<EagerParameter>& AllEagerParameters();

OperatorWork WorkOf(const EagerOperator& op, const EagerParameters& parameters = {});
double OperatorSeconds(const OperatorWork& work, const GpuModel& gpu,
                       const EagerParameters& parameters = {});
// The part that the host and the launch cost however small the operator is.
double OperatorOverheadSeconds(const OperatorWork& work, const EagerParameters& parameters = {});

struct EagerEstimate {
  struct Step {
    std::string op;
    OperatorWork work;
    double seconds = 0;
  };
  double seconds = 0;
  double overhead_seconds = 0;  // the part of calls and launches
  std::vector<Step> steps;
  bool LaunchBound() const { return overhead_seconds > 0.5 * seconds; }
};
EagerEstimate EstimateEager(const std::vector<EagerOperator>& operators, const GpuModel& gpu,
                            const EagerParameters& parameters = {});

nlohmann::json ToJson(const EagerEstimate& estimate);

}  // namespace kernelsmith
