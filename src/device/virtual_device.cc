#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/module_pool.h"
#include "device/observable_device.h"
#include "plan/library.h"
#include "support/demangle.h"
#include "support/rng.h"
#include "tensor/tensor.h"
#include "vgpu/ir.h"
#include "vgpu/shared_garbage.h"
#include "vgpu/tensor_places.h"

namespace kernelsmith {
namespace {

using vgpu::kTensorAlignment;

// Some dozen buffers with such gaps fit into the memory of a GPU.
constexpr uint64_t kMostGap = uint64_t{1} << 30;

// One run: everything it allocates goes away with it.
class PlanRun {
 public:
  PlanRun(const RunRequest& request, const Watch& watch, vgpu::VirtualGpu& gpu, ModulePool& modules)
      : request_(request),
        watch_(watch),
        plan_(*request.plan),
        gpu_(gpu),
        memory_(gpu.memory()),
        modules_(modules) {}

  ~PlanRun() {
    if (pooled_ != nullptr) modules_.Return(std::move(pooled_));
    for (const uint64_t address : owned_) (void)memory_.Free(address);
  }

  Result<WatchedRun> Run() {
    const auto start = std::chrono::steady_clock::now();
    KS_RETURN_IF_ERROR(Validate(plan_));
    KS_TRY(pooled_, modules_.Take(request_.ptx, request_.ptx_name, gpu_));
    module_ = pooled_->module.get();
    const vgpu::SharedGarbage garbage(module_, request_.poison_seed);
    KS_RETURN_IF_ERROR(Allocate());
    if (watch_.steps != nullptr) watch_.steps->OnBuffers(addresses_, memory_);
    if (!plan_.preparation.empty()) {
      KS_RETURN_IF_ERROR(SetInputs(
          request_.preparation_inputs.empty() ? request_.inputs : request_.preparation_inputs));
      preparing_ = true;
      KS_RETURN_IF_ERROR(Steps(plan_.preparation, watch_.preparation));
      preparing_ = false;
    }
    if (!outcome_.failure) {
      KS_RETURN_IF_ERROR(SetInputs(request_.inputs));
      KS_RETURN_IF_ERROR(Steps(plan_.steps, /*observed=*/true));
    }
    if (!outcome_.failure) {
      if (watch_.steps != nullptr) watch_.steps->OnOutputs();
      if (request_.results) Collect();
    }
    outcome_.duration = std::chrono::steady_clock::now() - start;
    return std::move(outcome_);
  }

 private:
  Status Allocate() {
    addresses_.resize(plan_.buffers.size());
    std::vector<BufferIndex> order;  // buffers that are not the module's
    for (BufferIndex i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (buffer.kind != PlanBuffer::Kind::kVariable) {
        order.push_back(i);
        continue;
      }
      const vgpu::VariableInfo* variable = module_->FindVariable(buffer.name);
      if (variable == nullptr || variable->size < buffer.bytes) {
        return InvalidInput(fmt::format("the module has no variable '{}'", buffer.name));
      }
      addresses_[i] = variable->address;
    }
    switch (request_.layout.kind) {
      case MemoryLayout::Kind::kGuarded:
        for (const BufferIndex i : order) KS_RETURN_IF_ERROR(AllocateAlone(i));
        break;
      case MemoryLayout::Kind::kPacked:
        KS_RETURN_IF_ERROR(AllocatePacked(order));
        break;
      case MemoryLayout::Kind::kScattered:
        KS_RETURN_IF_ERROR(AllocateScattered(order));
        break;
    }
    for (const BufferIndex i : order) {
      // Inputs are written as a whole before anything runs.
      if (plan_.buffers[i].kind == PlanBuffer::Kind::kInput || !request_.results) continue;
      Poison(Bytes({i, 0}), i);
    }
    return {};
  }

  Status AllocateAlone(BufferIndex i) {
    KS_TRY(addresses_[i], Own(plan_.buffers[i].bytes, NameOf(i), kTensorAlignment));
    return {};
  }
  Status AllocatePacked(const std::vector<BufferIndex>& order) {
    const auto size = [&](BufferIndex i) {
      const uint64_t bytes = std::max<uint64_t>(plan_.buffers[i].bytes, 1);
      return (bytes + kTensorAlignment - 1) / kTensorAlignment * kTensorAlignment;
    };
    uint64_t all = 0;
    for (const BufferIndex i : order) all += size(i);
    KS_TRY(uint64_t next, Own(all, "packed tensors", vgpu::kTensorBlock));
    for (const BufferIndex i : order) {
      addresses_[i] = next;
      next += size(i);
    }
    return {};
  }
  Status AllocateScattered(std::vector<BufferIndex> order) {
    Rng rng = Rng(request_.layout.seed);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.Next() % i]);
    for (const BufferIndex i : order) {
      // Addresses alone: nobody touches a gap.
      const uint64_t gap = rng.Next() % kMostGap;
      if (Result<uint64_t> between = Own(gap, "a gap", kTensorAlignment); !between.ok()) {
        KS_RETURN_IF_ERROR(Own(0, "no gap", kTensorAlignment));
      }
      KS_RETURN_IF_ERROR(AllocateAlone(i));
    }
    return {};
  }
  Result<uint64_t> Own(uint64_t bytes, std::string name, uint64_t alignment) {
    KS_TRY(const uint64_t address,
           memory_.Allocate(bytes, vgpu::AllocationKind::kDevice, std::move(name), alignment));
    owned_.push_back(address);
    return address;
  }

  // For messages: the tensor that the buffer holds.
  std::string NameOf(BufferIndex index) const {
    const PlanBuffer& buffer = plan_.buffers[index];
    if (buffer.kind == PlanBuffer::Kind::kInput) return fmt::format("input {}", buffer.name);
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.outputs[i].at.buffer == index) return fmt::format("output {}", i);
    }
    return fmt::format("buffer {}", index);
  }

  // Bytes that are a NaN in every float type more often than not would hide in sums; random ones
  // show up as wrong results, and differ from run to run.
  void Poison(std::byte* at, BufferIndex buffer) {
    Rng rng = Rng(request_.poison_seed).Fork(buffer);
    const uint64_t bytes = plan_.buffers[buffer].bytes;
    for (uint64_t i = 0; i < bytes; i += 8) {
      const uint64_t word = rng.Next();
      std::memcpy(at + i, &word, std::min<uint64_t>(8, bytes - i));
    }
  }

  std::byte* Bytes(const BufferRef& ref) {
    // The plan was validated: the range lies in the buffer. Alias of the whole allocation.
    const PlanBuffer& buffer = plan_.buffers[ref.buffer];
    if (buffer.bytes == 0) return nullptr;
    auto* start = static_cast<std::byte*>(memory_.HostAlias(addresses_[ref.buffer], buffer.bytes));
    KS_CHECK(start != nullptr);
    return start + ref.offset;
  }

  Status SetInputs(const std::vector<const CallArgument*>& inputs) {
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (buffer.kind != PlanBuffer::Kind::kInput) continue;
      if (buffer.argument >= inputs.size()) {
        return InvalidInput(fmt::format("the plan has an input {}, the call has {}",
                                        buffer.argument, inputs.size()));
      }
      std::vector<std::byte> storage;
      const std::span<const std::byte> bytes = StorageOf(*inputs[buffer.argument], storage);
      if (bytes.size() != buffer.bytes) {
        return InvalidInput(fmt::format("input {} has {} bytes, the plan was made for {}",
                                        buffer.argument, bytes.size(), buffer.bytes));
      }
      if (!bytes.empty()) {
        std::memcpy(Bytes({static_cast<BufferIndex>(i), 0}), bytes.data(), bytes.size());
      }
    }
    if (watch_.steps != nullptr) watch_.steps->OnInputs(inputs);
    return {};
  }

  std::vector<std::byte> Patched(std::vector<std::byte> bytes,
                                 const std::vector<PointerPatch>& pointers) {
    for (const PointerPatch& pointer : pointers) {
      const uint64_t address = addresses_[pointer.target.buffer] + pointer.target.offset;
      std::memcpy(bytes.data() + pointer.at, &address, 8);
    }
    return bytes;
  }

  TensorMemory MemoryOf(const PlanTensor& tensor) {
    return {.dtype = tensor.dtype,
            .shape = tensor.shape,
            .strides = tensor.strides,
            .data = Bytes(tensor.at)};
  }

  Status Do(const LaunchStep& launch, size_t number, bool observed) {
    const vgpu::EntryInfo* entry = module_->FindEntry(launch.kernel);
    if (entry == nullptr) {
      return InvalidInput(fmt::format("the module has no kernel '{}'", KernelName(launch.kernel)));
    }
    const std::vector<std::byte> parameters = Patched(launch.parameters, launch.pointers);
    if (parameters.size() > entry->parameter_bytes) {
      return InvalidInput(fmt::format("kernel '{}' has {} bytes of parameters, not {}",
                                      KernelName(launch.kernel), entry->parameter_bytes,
                                      parameters.size()));
    }
    const auto start = std::chrono::steady_clock::now();
    const vgpu::LaunchRequest request{
        .module = module_,
        .entry = launch.kernel,
        .grid = launch.grid,
        .block = launch.block,
        .cluster = launch.cluster,
        .dynamic_shared_bytes = launch.dynamic_shared,
        .parameters = parameters,
        .cooperative = launch.cooperative,
        .alone = true,  // the steps of a plan run one after the other
        .observer = observed ? watch_.observer : nullptr,
        .schedule = watch_.schedule,
        .operation = observed && watch_.steps != nullptr ? watch_.steps->operation() : 0};
    KS_TRY(const vgpu::LaunchResult result,
           observed&& watch_.launch ? watch_.launch(gpu_, request) : gpu_.Launch(request));
    if (observed && !preparing_) {
      KS_TRY(const vgpu::Kernel* kernel, module_->Prepare(launch.kernel));
      outcome_.launches.push_back(
          {.step = number,
           .kernel = launch.kernel,
           .statistics = result.statistics,
           .may_depend_on_order = kernel->interaction.order_of_threads_shows.has_value()});
      outcome_.times.push_back({number, std::chrono::steady_clock::now() - start});
    }
    if (result.fault) {
      outcome_.failure = {.step = number,
                          .kind = FindingKindOf(result.fault->kind),
                          .message = result.fault->message};
      outcome_.fault = result.fault;
    }
    return {};
  }
  Status Do(const FillStep& fill, size_t, bool) {
    if (fill.width == 0 || fill.height == 0 || fill.depth == 0) return {};
    std::byte* to = Bytes(fill.to);
    for (uint64_t z = 0; z < fill.depth; ++z) {
      for (uint64_t y = 0; y < fill.height; ++y) {
        std::byte* row = to + z * fill.slice + y * fill.pitch;
        for (uint64_t x = 0; x < fill.width; ++x) {
          std::memcpy(row + x * fill.element_bytes, &fill.value, fill.element_bytes);
        }
      }
    }
    return {};
  }
  Status Do(const CopyStep& copy, size_t, bool) {
    if (copy.width == 0 || copy.height == 0 || copy.depth == 0) return {};
    std::byte* to = Bytes(copy.to);
    const std::byte* from = Bytes(copy.from);
    for (uint64_t z = 0; z < copy.depth; ++z) {
      for (uint64_t y = 0; y < copy.height; ++y) {
        std::memmove(to + z * copy.to_slice + y * copy.to_pitch,
                     from + z * copy.from_slice + y * copy.from_pitch, copy.width);
      }
    }
    return {};
  }
  Status Do(const UploadStep& upload, size_t, bool) {
    const std::vector<std::byte> bytes = Patched(upload.data, upload.pointers);
    if (!bytes.empty()) std::memcpy(Bytes(upload.to), bytes.data(), bytes.size());
    return {};
  }
  Status Do(const HostReadStep&, size_t, bool) { return {}; }
  Status Do(const EventStep&, size_t, bool) { return {}; }
  Status Do(const LibraryStep& library, size_t, bool) {
    std::vector<TensorMemory> tensors;
    std::vector<TensorMemory> outputs;
    for (const PlanTensor& tensor : library.tensors) tensors.push_back(MemoryOf(tensor));
    for (const PlanTensor& tensor : library.outputs) outputs.push_back(MemoryOf(tensor));
    return RunLibrary(library.op, library.arguments, tensors, outputs);
  }

  Status Steps(const std::vector<PlanStep>& steps, bool observed) {
    StepObserver* const watcher = observed ? watch_.steps : nullptr;
    for (size_t i = 0; i < steps.size() && !outcome_.failure; ++i) {
      if (watcher != nullptr) watcher->BeforeStep(steps[i]);
      KS_RETURN_IF_ERROR(
          std::visit([&](const auto& action) { return Do(action, i, observed); }, steps[i].action));
      if (watcher != nullptr) watcher->AfterStep(steps[i]);
    }
    return {};
  }

  void Collect() {
    for (const PlanTensor& output : plan_.outputs) {
      HostTensor tensor{.dtype = output.dtype, .shape = output.shape};
      tensor.bytes =
          GatherElements(Bytes(output.at), output.shape, output.strides, SizeOf(output.dtype));
      outcome_.unwritten.push_back(Unwritten(output, tensor));
      outcome_.outputs.push_back(std::move(tensor));
    }
    outcome_.inputs.resize(request_.inputs.size());
    outcome_.input_changed.resize(request_.inputs.size());
    for (size_t i = 0; i < request_.inputs.size(); ++i) {
      outcome_.inputs[i].dtype = request_.inputs[i]->tensor.dtype;
      outcome_.inputs[i].shape = request_.inputs[i]->tensor.shape;
    }
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (buffer.kind != PlanBuffer::Kind::kInput || buffer.bytes == 0) continue;
      const CallArgument& argument = *request_.inputs[buffer.argument];
      const std::byte* now = Bytes({static_cast<BufferIndex>(i), 0});
      std::vector<std::byte> storage;
      const std::span<const std::byte> before = StorageOf(argument, storage);
      const bool changed = std::memcmp(now, before.data(), before.size()) != 0;
      outcome_.input_changed[buffer.argument] = changed;
      if (!changed) continue;
      outcome_.inputs[buffer.argument].bytes = GatherElements(
          now + argument.offset * SizeOf(argument.tensor.dtype), argument.tensor.shape,
          argument.strides.empty() ? RowMajorStrides(argument.tensor.shape) : argument.strides,
          SizeOf(argument.tensor.dtype));
    }
  }

  // Elements that are still equal to the buffer's poison.
  std::vector<bool> Unwritten(const PlanTensor& output, const HostTensor& now) {
    std::vector<bool> unwritten(static_cast<size_t>(now.count()));
    const PlanBuffer& buffer = plan_.buffers[output.at.buffer];
    if (buffer.kind == PlanBuffer::Kind::kVariable || buffer.kind == PlanBuffer::Kind::kInput) {
      return unwritten;
    }
    const auto bytes = static_cast<size_t>(SizeOf(output.dtype));
    if (output.strides == RowMajorStrides(output.shape) && output.at.offset % 8 == 0 &&
        8 % bytes == 0) {
      CompareWithPoison(output.at, now.bytes, bytes, unwritten);
    } else {
      std::vector<std::byte> poison(buffer.bytes);
      Poison(poison.data(), output.at.buffer);
      const std::vector<std::byte> before = GatherElements(
          poison.data() + output.at.offset, output.shape, output.strides, SizeOf(output.dtype));
      for (size_t i = 0; i < unwritten.size(); ++i) {
        unwritten[i] =
            std::memcmp(before.data() + i * bytes, now.bytes.data() + i * bytes, bytes) == 0;
      }
    }
    // One byte equals its poison by chance: only a run of them means something.
    if (bytes < 4) {
      const auto equal = std::count(unwritten.begin(), unwritten.end(), true);
      if (static_cast<size_t>(equal) * 4 < unwritten.size()) {
        unwritten.assign(unwritten.size(), false);
      }
    }
    return unwritten;
  }

  // Word by word, as Poison() makes it: large outputs have no second copy, and nearly all of their
  // words differ in every element.
  void CompareWithPoison(const BufferRef& at, const std::vector<std::byte>& now,
                         size_t element_bytes, std::vector<bool>& unwritten) {
    Rng rng = Rng(request_.poison_seed).Fork(at.buffer);
    for (uint64_t i = 0; i < at.offset; i += 8) rng.Next();
    for (size_t i = 0; i < now.size(); i += 8) {
      const uint64_t poison = rng.Next();
      const size_t here = std::min<size_t>(8, now.size() - i);
      std::byte before[8];
      std::memcpy(before, &poison, 8);
      for (size_t k = 0; k < here; k += element_bytes) {
        if (std::memcmp(before + k, now.data() + i + k, element_bytes) != 0) continue;
        unwritten[(i + k) / element_bytes] = true;
      }
    }
  }

  const RunRequest& request_;
  const Watch& watch_;
  const Plan& plan_;
  vgpu::VirtualGpu& gpu_;
  vgpu::DeviceMemory& memory_;
  ModulePool& modules_;
  std::unique_ptr<PooledModule> pooled_;
  vgpu::LoadedModule* module_ = nullptr;  // its
  std::vector<uint64_t> addresses_;       // of the plan's buffers
  std::vector<uint64_t> owned_;
  bool preparing_ = false;
  WatchedRun outcome_;
};

class VirtualDevice final : public ObservableDevice {
 public:
  explicit VirtualDevice(std::unique_ptr<vgpu::VirtualGpu> gpu) : gpu_(std::move(gpu)) {}
  std::string Name() const override { return "virtual"; }
  vgpu::VirtualGpu& gpu() override { return *gpu_; }
  Result<WatchedRun> RunWatched(const RunRequest& request, const Watch& watch) override {
    return PlanRun(request, watch, *gpu_, modules_).Run();
  }

 private:
  std::unique_ptr<vgpu::VirtualGpu> gpu_;
  ModulePool modules_;  // goes before the memory its modules are in
};

}  // namespace

Result<std::unique_ptr<ObservableDevice>> MakeVirtualDevice(VirtualDeviceOptions options) {
  KS_TRY(std::unique_ptr<vgpu::VirtualGpu> gpu, vgpu::VirtualGpu::Create(std::move(options.gpu)));
  return std::unique_ptr<ObservableDevice>(std::make_unique<VirtualDevice>(std::move(gpu)));
}

}  // namespace kernelsmith
