#include "plan/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "support/demangle.h"

namespace kernelsmith {
namespace {

uint64_t WordAt(const std::vector<std::byte>& bytes, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, 8);
  return word;
}

class Merger {
 public:
  Merger(const RawTrace& first, const RawTrace& second, const ParameterUse& use,
         const MergeOptions& options)
      : first_(first), second_(second), use_(use), options_(options) {}

  Merged Run() {
    Index(first_, &by_address_first_);
    Index(second_, &by_address_second_);
    // Buffers are compared before steps: any look at data may have come before them.
    const bool saw_data = LooksAtData(first_) || LooksAtData(second_);
    if (first_.buffers.size() != second_.buffers.size()) {
      return Problem("the number of buffers", saw_data);
    }
    for (size_t i = 0; i < first_.buffers.size(); ++i) {
      if (first_.buffers[i].buffer != second_.buffers[i].buffer) {
        return Problem(fmt::format("the size of buffer {}", i), saw_data);
      }
      merged_.plan.buffers.push_back(first_.buffers[i].buffer);
      const PlanBuffer::Kind kind = first_.buffers[i].buffer.kind;
      host_saw_data_ |= kind == PlanBuffer::Kind::kPinned || kind == PlanBuffer::Kind::kManaged;
    }
    if (!Steps(first_.preparation, second_.preparation, &merged_.plan.preparation)) return merged_;
    if (!Steps(first_.steps, second_.steps, &merged_.plan.steps)) return merged_;
    if (first_.outputs != second_.outputs) {
      return Problem("the shape of a result", saw_data);
    }
    merged_.plan.outputs = first_.outputs;
    DropPreparation();
    return merged_;
  }

 private:
  using ByAddress = std::vector<std::pair<uint64_t, BufferIndex>>;

  static void Index(const RawTrace& trace, ByAddress* index) {
    for (size_t i = 0; i < trace.buffers.size(); ++i) {
      index->emplace_back(trace.buffers[i].address, static_cast<BufferIndex>(i));
    }
    std::sort(index->begin(), index->end());
  }

  static std::optional<BufferRef> Find(const RawTrace& trace, const ByAddress& index,
                                       uint64_t address) {
    auto after = std::upper_bound(index.begin(), index.end(), std::pair(address, UINT32_MAX));
    if (after == index.begin()) return std::nullopt;
    const BufferIndex buffer = std::prev(after)->second;
    const RawTrace::Buffer& found = trace.buffers[buffer];
    const uint64_t offset = address - found.address;
    if (offset > found.buffer.bytes) return std::nullopt;
    return BufferRef{buffer, offset};
  }

  static bool LooksAtData(const RawTrace& trace) {
    const auto reads = [](const PlanStep& step) {
      return std::holds_alternative<HostReadStep>(step.action);
    };
    return std::any_of(trace.preparation.begin(), trace.preparation.end(), reads) ||
           std::any_of(trace.steps.begin(), trace.steps.end(), reads) ||
           std::any_of(trace.buffers.begin(), trace.buffers.end(),
                       [](const RawTrace::Buffer& each) {
                         return each.buffer.kind == PlanBuffer::Kind::kPinned ||
                                each.buffer.kind == PlanBuffer::Kind::kManaged;
                       });
  }

  Merged Problem(const std::string& what, bool saw_data) {
    Set(what, 0, saw_data, MergeProblem::Kind::kDataDependent);
    return merged_;
  }
  bool Fail(const std::string& what, uint64_t site,
            MergeProblem::Kind kind = MergeProblem::Kind::kDataDependent) {
    Set(what, site, host_saw_data_, kind);
    return false;
  }
  void Set(const std::string& what, uint64_t site, bool saw_data, MergeProblem::Kind kind) {
    if (saw_data) {
      merged_.problem = MergeProblem{kind, what + " depends on the data", site};
      return;
    }
    merged_.problem = MergeProblem{
        MergeProblem::Kind::kNotReproducible,
        what +
            " differs between two runs with the same arguments, and the host code has not looked "
            "at data: it comes from memory that nobody wrote, addresses, a clock or chance",
        site};
  }

  // What no kernel reads, such as the padding of a struct, is what the stack had there. The plan
  // has zeros instead, in all traces alike.
  void ClearPadding(const std::string& kernel, std::vector<std::byte>* a,
                    std::vector<std::byte>* b) const {
    if (a->size() != b->size()) return;
    for (size_t i = 0; i < a->size(); ++i) {
      if ((*a)[i] == (*b)[i] || IsPointer(*a, *b, i)) continue;
      if (options_.all_is_padding ? !host_saw_data_ : !use_.Reads(kernel, i)) {
        (*a)[i] = (*b)[i] = std::byte{0};
      }
    }
  }
  // Whether the word that holds byte `at` is the same place in both traces.
  bool IsPointer(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                 size_t at) const {
    const size_t word = at / 8 * 8;
    if (word + 8 > a.size()) return false;
    const std::optional<BufferRef> target = Find(first_, by_address_first_, WordAt(a, word));
    return target && target == Find(second_, by_address_second_, WordAt(b, word));
  }

  static size_t FirstDifference(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                                size_t from) {
    size_t i = from;
    while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
    return i - from;
  }

  // The pointers among the bytes; false if bytes differ that are no pointers. `at` is where.
  bool Pointers(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                std::vector<PointerPatch>* pointers, size_t* at) {
    size_t i = 0;
    for (; i + 8 <= a.size(); i += 8) {
      const uint64_t word_a = WordAt(a, i);
      const uint64_t word_b = WordAt(b, i);
      if (word_a == word_b) continue;
      const std::optional<BufferRef> target_a = Find(first_, by_address_first_, word_a);
      const std::optional<BufferRef> target_b = Find(second_, by_address_second_, word_b);
      if (!target_a || target_a != target_b) {
        *at = i + FirstDifference(a, b, i);
        return false;
      }
      pointers->push_back({static_cast<uint32_t>(i), *target_a});
    }
    *at = i + FirstDifference(a, b, i);
    return std::equal(a.begin() + static_cast<ptrdiff_t>(i), a.end(),
                      b.begin() + static_cast<ptrdiff_t>(i));
  }

  bool Steps(const std::vector<PlanStep>& a, const std::vector<PlanStep>& b,
             std::vector<PlanStep>* merged) {
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      if (i >= a.size() || i >= b.size()) {
        return Fail("what is launched", i < a.size() ? a[i].site : b[i].site);
      }
      if (a[i].action.index() != b[i].action.index() || a[i].stream != b[i].stream) {
        return Fail("what is launched", a[i].site);
      }
      PlanStep step = a[i];
      host_saw_data_ |= std::holds_alternative<HostReadStep>(step.action);
      size_t at = 0;
      if (auto* launch = std::get_if<LaunchStep>(&step.action)) {
        LaunchStep other = std::get<LaunchStep>(b[i].action);
        if (launch->kernel != other.kernel || launch->grid != other.grid ||
            launch->block != other.block || launch->cluster != other.cluster ||
            launch->dynamic_shared != other.dynamic_shared ||
            launch->cooperative != other.cooperative ||
            launch->parameters.size() != other.parameters.size()) {
          return Fail("the launch", step.site);
        }
        ClearPadding(launch->kernel, &launch->parameters, &other.parameters);
        if (!Pointers(launch->parameters, other.parameters, &launch->pointers, &at)) {
          return Fail(fmt::format("what the host hands to kernel {} (byte {} of its arguments)",
                                  KernelName(launch->kernel), at),
                      step.site, MergeProblem::Kind::kHostComputed);
        }
        ClearPointers(&launch->parameters, launch->pointers);
      } else if (auto* upload = std::get_if<UploadStep>(&step.action)) {
        const auto& other = std::get<UploadStep>(b[i].action);
        if (upload->to != other.to || upload->data.size() != other.data.size()) {
          return Fail("a copy from the host", step.site);
        }
        if (!Pointers(upload->data, other.data, &upload->pointers, &at)) {
          return Fail(fmt::format("what the host copies to the GPU (byte {})", at), step.site,
                      MergeProblem::Kind::kHostComputed);
        }
        ClearPointers(&upload->data, upload->pointers);
      } else if (step.action != b[i].action) {
        return Fail("what is done", step.site);
      }
      merged->push_back(std::move(step));
    }
    return true;
  }

  // The same plan must come out wherever the child's memory lay.
  static void ClearPointers(std::vector<std::byte>* bytes,
                            const std::vector<PointerPatch>& pointers) {
    for (const PointerPatch& pointer : pointers) std::memset(bytes->data() + pointer.at, 0, 8);
  }

  // Of the preparation only what the plan can see is kept: steps count when a buffer that exists
  // since the preparation, other than an input, is used in the plan. Inputs that the candidate
  // changes in its first call are given anew.
  void DropPreparation() {
    std::set<BufferIndex> used;
    const auto use = [&](const BufferRef& ref) { used.insert(ref.buffer); };
    for (const PlanStep& step : merged_.plan.steps) ForEachRef(step, use);
    for (const PlanTensor& tensor : merged_.plan.outputs) use(tensor.at);
    bool carried = false;
    bool variables = false;
    for (size_t i = 0; i < merged_.plan.buffers.size(); ++i) {
      const PlanBuffer& buffer = merged_.plan.buffers[i];
      if (buffer.kind == PlanBuffer::Kind::kVariable) variables = true;
      carried |= buffer.prepared && buffer.kind != PlanBuffer::Kind::kInput &&
                 used.contains(static_cast<BufferIndex>(i));
    }
    // Kernels use variables without naming them in their arguments: once one was written from the
    // host, the preparation stays.
    if (carried || variables) return;
    merged_.plan.preparation.clear();
    DropBuffers([&](BufferIndex index) {
      const PlanBuffer& buffer = merged_.plan.buffers[index];
      return buffer.prepared && buffer.kind != PlanBuffer::Kind::kInput && !used.contains(index);
    });
  }

  // Every place in a buffer that a step names.
  template <typename Step, typename Visit>
  static void ForEachRef(Step& step, Visit visit) {
    std::visit(
        [&](auto& action) {
          using T = std::decay_t<decltype(action)>;
          if constexpr (std::is_same_v<T, LaunchStep> || std::is_same_v<T, UploadStep>) {
            for (auto& pointer : action.pointers) visit(pointer.target);
          }
          if constexpr (std::is_same_v<T, FillStep> || std::is_same_v<T, UploadStep> ||
                        std::is_same_v<T, CopyStep>) {
            visit(action.to);
          }
          if constexpr (std::is_same_v<T, CopyStep> || std::is_same_v<T, HostReadStep>) {
            visit(action.from);
          }
          if constexpr (std::is_same_v<T, LibraryStep>) {
            for (auto& tensor : action.tensors) visit(tensor.at);
            for (auto& tensor : action.outputs) visit(tensor.at);
          }
        },
        step.action);
  }

  // Takes buffers that nothing names out of the plan and renumbers the rest. Numbers beyond the
  // last buffer (nothing is validated yet) stay beyond it.
  template <typename Drop>
  void DropBuffers(Drop drop) {
    std::vector<PlanBuffer> kept;
    std::vector<BufferIndex> moved(merged_.plan.buffers.size());
    for (size_t i = 0; i < moved.size(); ++i) {
      moved[i] = static_cast<BufferIndex>(kept.size());
      if (!drop(static_cast<BufferIndex>(i))) kept.push_back(merged_.plan.buffers[i]);
    }
    const auto renumber = [&](BufferRef& ref) {
      if (ref.buffer < moved.size()) ref.buffer = moved[ref.buffer];
    };
    for (PlanStep& step : merged_.plan.steps) ForEachRef(step, renumber);
    for (PlanTensor& tensor : merged_.plan.outputs) renumber(tensor.at);
    merged_.plan.buffers = std::move(kept);
  }

  const RawTrace& first_;
  const RawTrace& second_;
  const ParameterUse& use_;
  const MergeOptions options_;
  ByAddress by_address_first_;
  ByAddress by_address_second_;
  Merged merged_;
  bool host_saw_data_ = false;  // so far: by a copy, or at any time through pinned memory
};

}  // namespace

Merged MergeTraces(const RawTrace& first, const RawTrace& second, const ParameterUse& use,
                   const MergeOptions& options) {
  return Merger(first, second, use, options).Run();
}

}  // namespace kernelsmith
