#include "measure/eager_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "graph/aten_ops.h"
#include "support/check.h"
#include "vgpu/gpu_model.h"

namespace kernelsmith {

namespace {

using Tensor = EagerOperator::Tensor;

constexpr std::array<std::string_view, static_cast<size_t>(EagerClass::kCount)> kNames = {
    "pointwise",
    "reduction",
    "softmax",
    "pool",
    "scan",
    "norm",
    "matmul",
    "convolution",
    "transposed convolution",
    "depthwise convolution"};

double Count(const Shape& shape) {
  double count = 1;
  for (const int64_t size : shape) count *= static_cast<double>(size);
  return count;
}
double Bytes(const Tensor& tensor) {
  return Count(tensor.shape) * static_cast<double>(SizeOf(tensor.dtype));
}
double RoundUp(double value, double unit) {
  unit = std::max(1.0, std::round(unit));
  return std::ceil(value / unit) * unit;
}

// What the function costs, whatever the overload and in place or not.
const Operator& FunctionOf(const EagerOperator& op) { return OperatorOf(FindFunction(op.op)); }

EagerClass ConvolutionClass(const EagerOperator& op) {
  const Shape& x = op.inputs[0].shape;
  const Shape& w = op.inputs[1].shape;
  if (op.transposed) return EagerClass::kTransposedConvolution;
  const bool depthwise = w.size() >= 2 && x.size() >= 2 && w[1] == 1 && x[1] > 1 && w[0] == x[1];
  return depthwise ? EagerClass::kDepthwiseConvolution : EagerClass::kConvolution;
}

EagerClass ClassOf(const EagerOperator& op) {
  switch (FunctionOf(op).eager) {
    case EagerCost::kPointwise:
      return EagerClass::kPointwise;
    case EagerCost::kReduction:
      return EagerClass::kReduction;
    case EagerCost::kSoftmax:
      return EagerClass::kSoftmax;
    case EagerCost::kPool:
      return EagerClass::kPool;
    case EagerCost::kScan:
      return EagerClass::kScan;
    case EagerCost::kNorm:
    case EagerCost::kRowNorm:
      return EagerClass::kNorm;
    case EagerCost::kMatmul:
      return EagerClass::kMatmul;
    case EagerCost::kConvolution:
      return op.inputs.size() >= 2 ? ConvolutionClass(op) : EagerClass::kPointwise;
  }
  KS_UNREACHABLE();
}

// The rows and columns that tiles of 128 cover, with the inner dimension split where there are few.
void AddProduct(const EagerOperator& op, OperatorWork& work) {
  const size_t skip = FunctionOf(op).facts.sums.argument;
  if (op.inputs.size() < skip + 2 || op.outputs.empty()) return;
  const Shape& left = op.inputs[skip].shape;
  const Shape& out = op.outputs[0].shape;
  const auto inner = left.empty() ? 1.0 : static_cast<double>(left.back());
  const double columns = out.size() > 1 ? static_cast<double>(out.back()) : 1;
  const double rows = Count(out) / std::max(1.0, columns);
  work.flops = work.executed_flops = 2 * Count(out) * inner;
  constexpr double kTile = 128;
  constexpr double kSplit = 512;  // elements of the inner dimension for one block
  const double tiles = std::ceil(rows / kTile) * std::ceil(columns / kTile);
  work.parallel = tiles * std::max(1.0, inner / kSplit);
}

void AddConvolution(const EagerOperator& op, const EagerParameters& parameters,
                    OperatorWork& work) {
  const Shape& x = op.inputs[0].shape;
  const Shape& w = op.inputs[1].shape;
  const Shape& y = op.outputs.empty() ? x : op.outputs[0].shape;
  if (x.size() < 3 || w.size() < 3 || y.size() < 3) return;
  work.rank = static_cast<int>(w.size()) - 2;
  const double window = Count(Shape(w.begin() + 2, w.end()));
  double in = static_cast<double>(w[1]);
  double out = static_cast<double>(w[0]) / std::max(1.0, static_cast<double>(x[1]) / in);
  work.flops = 2 * Count(y) * in * window;
  if (op.transposed) {
    const double groups = static_cast<double>(y[1]) / static_cast<double>(w[1]);
    in = static_cast<double>(w[0]) / std::max(1.0, groups);
    out = static_cast<double>(w[1]);
    work.flops = 2 * Count(x) * out * window;
  }
  const double padded =
      RoundUp(in, parameters.input_channels) / in * RoundUp(out, parameters.output_channels) / out;
  work.executed_flops = std::max(work.flops, 2 * Count(y) * in * window * padded);
}

double PeakOf(const OperatorWork& work, const GpuModel& gpu) {
  if (work.dtype == DType::kFloat64) {
    return 2.0 * gpu.fp64_lanes_per_sm * gpu.sm_count * gpu.clock_hz();
  }
  const bool half = work.dtype == DType::kFloat16 || work.dtype == DType::kBfloat16;
  return half ? gpu.rates.tensor_fp16 : gpu.fp32_peak();
}

double MemoryShare(const OperatorWork& work, const EagerParameters& p) {
  switch (work.which) {
    case EagerClass::kPointwise:
      return p.pointwise;
    case EagerClass::kReduction:
      return work.inner ? p.inner : p.reduction;
    case EagerClass::kSoftmax:
      return work.inner ? p.inner : p.softmax;
    case EagerClass::kPool:
      return p.pool;
    case EagerClass::kScan:
      return p.scan;
    case EagerClass::kNorm:
      return std::min(work.inner ? p.inner : p.norm, work.parallel * p.norm_row);
    case EagerClass::kMatmul:
      return p.matmul_memory;
    case EagerClass::kConvolution:
      return p.convolution_memory;
    case EagerClass::kTransposedConvolution:
      return p.transposed_memory;
    case EagerClass::kDepthwiseConvolution:
    case EagerClass::kCount:
      return p.depthwise;
  }
  return 1;
}

double ArithmeticShare(const OperatorWork& work, const GpuModel& gpu, const EagerParameters& p) {
  if (work.which == EagerClass::kMatmul) {
    constexpr double kLeast = 0.02;
    return p.matmul * std::clamp(work.parallel / gpu.sm_count, kLeast, 1.0);
  }
  const bool volume = work.rank >= 3;
  if (work.which == EagerClass::kTransposedConvolution) {
    return volume ? p.transposed_3d : p.transposed_2d;
  }
  return volume ? p.convolution_3d : p.convolution_2d;
}

}  // namespace

std::string_view Name(EagerClass which) { return kNames[static_cast<size_t>(which)]; }

Result<std::vector<EagerOperator>> ParseEager(const nlohmann::json& eager) {
  const auto tensors = [](const nlohmann::json& list) {
    std::vector<Tensor> result;
    for (const nlohmann::json& each : list) {
      result.push_back(
          {.shape = each.at("shape").get<Shape>(),
           .dtype = ParseDType(each.at("dtype").get<std::string>()).value_or(DType::kFloat32)});
    }
    return result;
  };
  try {
    std::vector<EagerOperator> operators;
    for (const nlohmann::json& each : eager) {
      operators.push_back({.op = each.at("op").get<std::string>(),
                           .inputs = tensors(each.at("inputs")),
                           .outputs = tensors(each.at("outputs")),
                           .transposed = each.value("transposed", false),
                           .inner = each.value("inner", true)});
    }
    return operators;
  } catch (const nlohmann::json::exception& error) {
    return InvalidInput(fmt::format("no list of eager operators: {}", error.what()));
  }
}

Result<std::vector<EagerOperator>> ReadEager(const std::string& graph_file) {
  std::ifstream in(graph_file);
  const nlohmann::json json = nlohmann::json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.contains("eager")) {
    return InvalidInput(graph_file + " has no list of eager operators");
  }
  return ParseEager(json["eager"]);
}

const std::vector<EagerParameter>& AllEagerParameters() {
  constexpr double kAny = 1e9;
  static const std::vector<EagerParameter> all{
      {"call_us", &EagerParameters::call_us, kAny},
      {"operator_us", &EagerParameters::operator_us, kAny},
      {"convolution_us", &EagerParameters::convolution_us, kAny},
      {"pointwise", &EagerParameters::pointwise, 1},
      {"reduction", &EagerParameters::reduction, 1},
      {"softmax", &EagerParameters::softmax, 1},
      {"pool", &EagerParameters::pool, 1},
      {"scan", &EagerParameters::scan, 1},
      {"norm", &EagerParameters::norm, 1},
      {"norm_row", &EagerParameters::norm_row, 1},
      {"depthwise", &EagerParameters::depthwise, 1},
      {"matmul_memory", &EagerParameters::matmul_memory, 1},
      {"convolution_memory", &EagerParameters::convolution_memory, 1},
      {"transposed_memory", &EagerParameters::transposed_memory, 1},
      {"matmul", &EagerParameters::matmul, 1},
      {"convolution_2d", &EagerParameters::convolution_2d, 7},
      {"convolution_3d", &EagerParameters::convolution_3d, 7},
      {"transposed_2d", &EagerParameters::transposed_2d, 7},
      {"transposed_3d", &EagerParameters::transposed_3d, 7},
      {"input_channels", &EagerParameters::input_channels, 64},
      {"output_channels", &EagerParameters::output_channels, 256},
  };
  return all;
}

OperatorWork WorkOf(const EagerOperator& op, const EagerParameters& parameters) {
  OperatorWork work{.which = ClassOf(op), .inner = op.inner};
  for (const Tensor& tensor : op.inputs) work.bytes += Bytes(tensor);
  for (const Tensor& tensor : op.outputs) work.bytes += Bytes(tensor);
  if (!op.inputs.empty()) work.dtype = op.inputs.back().dtype;
  switch (work.which) {
    case EagerClass::kMatmul:
      AddProduct(op, work);
      break;
    case EagerClass::kConvolution:
    case EagerClass::kTransposedConvolution:
      AddConvolution(op, parameters, work);
      break;
    case EagerClass::kNorm:
      work.inner = FunctionOf(op).eager == EagerCost::kRowNorm;
      // The second result is the mean of each row.
      work.parallel = op.outputs.size() > 1 ? Count(op.outputs[1].shape) : 1e9;
      break;
    default:
      break;
  }
  return work;
}

double OperatorOverheadSeconds(const OperatorWork& work, const EagerParameters& parameters) {
  const bool convolution =
      work.which == EagerClass::kConvolution || work.which == EagerClass::kTransposedConvolution;
  return 1e-6 * (convolution ? parameters.convolution_us : parameters.operator_us);
}

double OperatorSeconds(const OperatorWork& work, const GpuModel& gpu,
                       const EagerParameters& parameters) {
  double seconds = work.bytes / (gpu.memory_bandwidth * MemoryShare(work, parameters));
  if (work.executed_flops > 0) {
    seconds = std::max(seconds, work.executed_flops /
                                    (PeakOf(work, gpu) * ArithmeticShare(work, gpu, parameters)));
  }
  return seconds + OperatorOverheadSeconds(work, parameters);
}

EagerEstimate EstimateEager(const std::vector<EagerOperator>& operators, const GpuModel& gpu,
                            const EagerParameters& parameters) {
  EagerEstimate estimate;
  estimate.seconds = estimate.overhead_seconds = 1e-6 * parameters.call_us;
  for (const EagerOperator& op : operators) {
    const OperatorWork work = WorkOf(op, parameters);
    const double seconds = OperatorSeconds(work, gpu, parameters);
    estimate.steps.push_back({.op = op.op, .work = work, .seconds = seconds});
    estimate.seconds += seconds;
    estimate.overhead_seconds += OperatorOverheadSeconds(work, parameters);
  }
  return estimate;
}

nlohmann::json ToJson(const EagerEstimate& estimate) {
  nlohmann::json steps = nlohmann::json::array();
  for (const EagerEstimate::Step& step : estimate.steps) {
    steps.push_back({{"op", step.op},
                     {"class", Name(step.work.which)},
                     {"us", step.seconds * 1e6},
                     {"bytes", step.work.bytes},
                     {"flops", step.work.flops}});
  }
  return {{"kind", "estimated"},
          {"us", estimate.seconds * 1e6},
          {"overhead_us", estimate.overhead_seconds * 1e6},
          {"operators", std::move(steps)}};
}

}  // namespace kernelsmith
