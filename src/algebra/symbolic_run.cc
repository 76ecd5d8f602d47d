// A plan with shadows: kernels through the shadow observer, copies and fills on the shadows of
// memory, library operators symbolically.
#include <fmt/format.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "algebra/equivalence.h"
#include "algebra/internal.h"
#include "algebra/shadow_observer.h"
#include "graph/evaluate.h"
#include "plan/library.h"

namespace kernelsmith {
namespace {

using namespace algebra_internal;  // NOLINT: helpers of this component

CellKind KindOfDType(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return CellKind::kF16;
    case DType::kBfloat16:
      return CellKind::kBf16;
    case DType::kFloat32:
      return CellKind::kF32;
    case DType::kFloat64:
      return CellKind::kF64;
    default:
      return CellKind::kNone;
  }
}

// Offsets of the elements of a strided tensor, row-major.
template <typename Visit>
void ForEachOffset(const Shape& shape, const Shape& strides, const Visit& visit) {
  for (const int64_t size : shape) {
    if (size == 0) return;
  }
  std::vector<int64_t> index(shape.size(), 0);
  int64_t offset = 0;
  for (int64_t i = 0;; ++i) {
    visit(i, offset);
    size_t d = shape.size();
    while (true) {
      if (d == 0) return;
      --d;
      offset += strides[d];
      if (++index[d] < shape[d]) break;
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

class SymbolicPlan final : public StepObserver {
 public:
  SymbolicPlan(const SymbolicRunRequest& request, const Algebra& algebra)
      : request_(request), shadows_(algebra) {}

  ShadowObserver& shadows() { return shadows_; }
  const std::string& unsupported() const { return unsupported_; }

  void OnBuffers(const std::vector<uint64_t>& addresses,
                 const vgpu::DeviceMemory& memory) override {
    addresses_ = addresses;
    memory_ = &memory;
  }

  void OnInputs(const std::vector<const CallArgument*>& inputs) override {
    ShadowSpace& space = shadows_.global();
    for (size_t i = 0; i < request_.plan->buffers.size(); ++i) {
      const PlanBuffer& buffer = request_.plan->buffers[i];
      if (buffer.kind != PlanBuffer::Kind::kInput || buffer.bytes == 0) continue;
      space.Clear(addresses_[i], buffer.bytes);
      const CallArgument& argument = *inputs[buffer.argument];
      const uint64_t first = buffer.argument < request_.first_input.size()
                                 ? request_.first_input[buffer.argument]
                                 : kNoInput;
      const CellKind kind = KindOfDType(argument.tensor.dtype);
      if (kind == CellKind::kNone || first == kNoInput) continue;
      const int64_t bytes = SizeOf(argument.tensor.dtype);
      ForEachOffset(
          argument.tensor.shape,
          argument.strides.empty() ? RowMajorStrides(argument.tensor.shape) : argument.strides,
          [&](int64_t n, int64_t offset) {
            const double value = argument.tensor.at(n);
            const Symbolic input = SymbolicInput(value, first + static_cast<uint64_t>(n));
            space.Set(addresses_[i] + static_cast<uint64_t>(offset * bytes),
                      ToCell(input.s, input.m, kind, 1, 0));
          });
    }
  }

  // Results of library operators: computed before the operator overwrites its operands.
  void BeforeStep(const PlanStep& step) override {
    results_.clear();
    const auto* library = std::get_if<LibraryStep>(&step.action);
    if (library == nullptr || !unsupported_.empty()) return;
    const Status status = Library(*library);
    if (!status.ok()) {
      unsupported_ =
          fmt::format("{}: {}", library->op, status.error().diagnostics().front().message);
    }
  }

  void AfterStep(const PlanStep& step) override {
    std::visit([&](const auto& action) { Do(action); }, step.action);
  }

  Tensor<Symbolic> Read(const PlanTensor& tensor, const HostTensor& values,
                        std::vector<int64_t>* degrees) {
    return Gather(addresses_[tensor.at.buffer] + tensor.at.offset, tensor.strides, values, degrees);
  }
  Tensor<Symbolic> ReadInput(uint32_t argument, const Shape& strides, const HostTensor& values,
                             std::vector<int64_t>* degrees) {
    for (size_t i = 0; i < request_.plan->buffers.size(); ++i) {
      const PlanBuffer& buffer = request_.plan->buffers[i];
      if (buffer.kind == PlanBuffer::Kind::kInput && buffer.argument == argument) {
        return Gather(addresses_[i], strides, values, degrees);
      }
    }
    return {};
  }

  Symbolic ElementAt(uint64_t address, DType dtype, double value, int64_t* degree) {
    const CellKind kind = KindOfDType(dtype);
    *degree = 0;
    const Cell* cell = shadows_.global().Find(address & ~uint64_t{1});
    if (cell == nullptr && (address & 3) != 0) {
      const Cell* word = shadows_.global().Find(address & ~uint64_t{3});
      if (word != nullptr && word->kind() == CellKind::kNone) cell = word;
    }
    if (kind == CellKind::kNone) {
      Symbolic integer = SymbolicInteger(value);
      if (cell != nullptr) integer.s.flags |= cell->flags & kNearTie;
      return integer;
    }
    if (cell == nullptr || cell->kind() == CellKind::kNone) {
      Symbolic constant = SymbolicConstant(value, PrecisionOf(kind));
      if (cell != nullptr) constant.s.flags |= kNearTie;
      return constant;
    }
    Symbolic element = ToSymbolic(*cell, value);
    if (cell->kind() != kind) element.s.flags |= kBitTrick;
    *degree = std::max(NumeratorDegree(*cell), DenominatorDegree(*cell));
    return element;
  }

 private:
  Tensor<Symbolic> Gather(uint64_t address, const Shape& strides, const HostTensor& values,
                          std::vector<int64_t>* degrees) {
    Tensor<Symbolic> result(values.dtype, values.shape);
    degrees->assign(static_cast<size_t>(result.count()), 0);
    const int64_t bytes = SizeOf(values.dtype);
    ForEachOffset(values.shape, strides, [&](int64_t n, int64_t offset) {
      result[n] = ElementAt(address + static_cast<uint64_t>(offset * bytes), values.dtype,
                            values.at(n), &(*degrees)[static_cast<size_t>(n)]);
    });
    return result;
  }

  void Do(const LaunchStep&) {}
  void Do(const HostReadStep&) {}
  void Do(const EventStep&) {}
  void Do(const FillStep& fill) {
    for (uint64_t z = 0; z < fill.depth; ++z) {
      for (uint64_t y = 0; y < fill.height; ++y) {
        shadows_.global().Clear(AddressOf(fill.to) + z * fill.slice + y * fill.pitch,
                                fill.width * fill.element_bytes);
      }
    }
  }
  void Do(const CopyStep& copy) {
    for (uint64_t z = 0; z < copy.depth; ++z) {
      for (uint64_t y = 0; y < copy.height; ++y) {
        shadows_.global().Copy(AddressOf(copy.to) + z * copy.to_slice + y * copy.to_pitch,
                               AddressOf(copy.from) + z * copy.from_slice + y * copy.from_pitch,
                               copy.width);
      }
    }
  }
  void Do(const UploadStep& upload) {
    shadows_.global().Clear(AddressOf(upload.to), upload.data.size());
  }
  void Do(const LibraryStep& library) {
    for (size_t i = 0; i < results_.size(); ++i) {
      const PlanTensor& output = library.outputs[i];
      const CellKind kind = KindOfDType(output.dtype);
      const int64_t bytes = SizeOf(output.dtype);
      ForEachOffset(output.shape, output.strides, [&](int64_t n, int64_t offset) {
        const uint64_t address = AddressOf(output.at) + static_cast<uint64_t>(offset * bytes);
        const Symbolic& x = results_[i][n];
        shadows_.global().Clear(address, static_cast<uint64_t>(bytes));
        if (kind != CellKind::kNone) {
          const float rounding = NarrowScale(kind) * static_cast<float>(std::fabs(x.v));
          shadows_.global().Set(address, ToCell(x.s, x.m + rounding, kind));
        } else if (x.s.has(kNearTie)) {
          shadows_.global().Set(address & ~uint64_t{3}, Cell{.flags = kNearTie});
        }
      });
    }
    results_.clear();
  }

  // The elements of a tensor of the plan as they are now.
  Tensor<Symbolic> Operand(const PlanTensor& tensor) {
    Tensor<Symbolic> result(tensor.dtype, tensor.shape);
    const int64_t bytes = SizeOf(tensor.dtype);
    const PlanBuffer& buffer = request_.plan->buffers[tensor.at.buffer];
    const auto* data = static_cast<const std::byte*>(
        memory_->HostAlias(addresses_[tensor.at.buffer], buffer.bytes));
    ForEachOffset(tensor.shape, tensor.strides, [&](int64_t n, int64_t offset) {
      int64_t degree = 0;
      const uint64_t at = tensor.at.offset + static_cast<uint64_t>(offset * bytes);
      result[n] = ElementAt(addresses_[tensor.at.buffer] + at, tensor.dtype,
                            LoadElement(tensor.dtype, data + at), &degree);
    });
    return result;
  }

  Status Library(const LibraryStep& library) {
    std::vector<Tensor<Symbolic>> operands;
    for (const PlanTensor& tensor : library.tensors) operands.push_back(Operand(tensor));
    if (library.op == kStridedCopy) {
      results_ = std::move(operands);
      return {};
    }
    if (library.op == kGemm) return GemmResult(library, operands);
    const auto memory_of = [](const PlanTensor& tensor) {
      return TensorMemory{
          .dtype = tensor.dtype, .shape = tensor.shape, .strides = tensor.strides, .data = nullptr};
    };
    std::vector<TensorMemory> tensors, outputs;
    for (const PlanTensor& tensor : library.tensors) tensors.push_back(memory_of(tensor));
    for (const PlanTensor& tensor : library.outputs) outputs.push_back(memory_of(tensor));
    KS_TRY(const Graph graph, LibraryGraph(library.op, library.arguments, tensors, outputs));
    KS_TRY(results_, Evaluate<Symbolic>(graph, operands));
    return {};
  }

  Status GemmResult(const LibraryStep& library, const std::vector<Tensor<Symbolic>>& operands) {
    const auto args = nlohmann::json::parse(library.arguments, nullptr, false);
    if (!args.is_array() || args.size() != 5 || operands.size() != 3 || !args[3].is_number() ||
        !args[4].is_number()) {
      return InvalidInput("a product needs three matrices, alpha and beta");
    }
    const Tensor<Symbolic>& a = operands[0];
    const Tensor<Symbolic>& b = operands[1];
    const auto alpha = args[3].get<double>();
    const auto beta = args[4].get<double>();
    Tensor<Symbolic> result(library.outputs[0].dtype, library.outputs[0].shape);
    const int64_t rows = a.size(1), inner = a.size(2), columns = b.size(2);
    for (int64_t batch = 0; batch < result.size(0); ++batch) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          Symbolic sum = SymbolicInteger(0);
          for (int64_t p = 0; p < inner; ++p) {
            sum = sum + a[(batch * rows + i) * inner + p] * b[(batch * inner + p) * columns + j];
          }
          if (alpha != 1) sum = SymbolicConstant(alpha, Precision::kFloat32) * sum;
          const int64_t at = (batch * rows + i) * columns + j;
          if (beta != 0) sum = sum + SymbolicConstant(beta, Precision::kFloat32) * operands[2][at];
          result[at] = sum;
        }
      }
    }
    results_ = {result};
    return {};
  }

  uint64_t AddressOf(const BufferRef& ref) const { return addresses_[ref.buffer] + ref.offset; }

  const SymbolicRunRequest& request_;
  ShadowObserver shadows_;
  std::vector<uint64_t> addresses_;
  std::string unsupported_;
  const vgpu::DeviceMemory* memory_ = nullptr;
  std::vector<Tensor<Symbolic>> results_;
};

}  // namespace

Result<SymbolicRun> RunSymbolically(const SymbolicRunRequest& request, const Algebra& algebra,
                                    ObservableDevice& device) {
  const auto start = std::chrono::steady_clock::now();
  const AlgebraScope scope(&algebra);
  SymbolicPlan plan(request, algebra);
  KS_TRY(const WatchedRun outcome,
         device.RunWatched({.plan = request.plan,
                            .ptx = request.ptx,
                            .ptx_name = request.ptx_name,
                            .inputs = request.inputs,
                            .poison_seed = request.poison_seed},
                           {.observer = &plan.shadows(), .steps = &plan, .preparation = true}));
  SymbolicRun run{.failure = outcome.failure,
                  .unwritten = outcome.unwritten,
                  .notes = plan.shadows().notes(),
                  .decisions = plan.shadows().decisions(),
                  .lane_operations = plan.shadows().lane_operations()};
  if (!plan.unsupported().empty() && !run.failure) {
    run.failure = {.message = plan.unsupported()};
  }
  if (!run.failure) {
    for (size_t i = 0; i < request.plan->outputs.size(); ++i) {
      run.outputs.push_back(
          plan.Read(request.plan->outputs[i], outcome.outputs[i], &run.degrees.emplace_back()));
    }
    for (uint32_t i = 0; i < request.inputs.size(); ++i) {
      const CallArgument& argument = *request.inputs[i];
      std::vector<int64_t> degrees;
      run.inputs.push_back(plan.ReadInput(
          i, argument.strides.empty() ? RowMajorStrides(argument.tensor.shape) : argument.strides,
          InputAfter(outcome, argument, i), &degrees));
    }
  }
  run.duration = std::chrono::steady_clock::now() - start;
  return run;
}

}  // namespace kernelsmith
