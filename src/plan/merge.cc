#include "plan/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "plan/references.h"
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

  MergedCalls Run() {
    Index(first_, &by_address_first_);
    Index(second_, &by_address_second_);
    // Buffers are compared before steps: any look at data may have come before them.
    const bool saw_data = LooksAtData(first_) || LooksAtData(second_);
    if (!SameCalls()) return Problem("how calls differ from one another", saw_data);
    if (first_.buffers.size() != second_.buffers.size()) {
      return Problem("the number of buffers", saw_data);
    }
    for (size_t i = 0; i < first_.buffers.size(); ++i) {
      const RawTrace::Buffer& a = first_.buffers[i];
      const RawTrace::Buffer& b = second_.buffers[i];
      if (a.buffer != b.buffer || a.set != b.set || a.call != b.call) {
        return Problem(fmt::format("the size of buffer {}", i), saw_data);
      }
      merged_.buffers.push_back(a);
      const PlanBuffer::Kind kind = a.buffer.kind;
      host_saw_data_ |= kind == PlanBuffer::Kind::kPinned || kind == PlanBuffer::Kind::kManaged;
    }
    for (size_t i = 0; i < first_.calls.size(); ++i) {
      const RawTrace::Call& a = first_.calls[i];
      const RawTrace::Call& b = second_.calls[i];
      RawTrace::Call& call = merged_.calls.emplace_back(a);
      call.steps.clear();
      if (!Steps(a.steps, b.steps, &call.steps)) return merged_;
      if (a.outputs != b.outputs) return Problem("the shape of a result", saw_data);
    }
    merged_.leaves_variables = LaunchesDiffer() && use_.HasVariables();
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

  // Both traces have the same calls apart from those that repeat others.
  bool SameCalls() const {
    return std::equal(first_.calls.begin(), first_.calls.end(), second_.calls.begin(),
                      second_.calls.end(), [](const RawTrace::Call& a, const RawTrace::Call& b) {
                        return a.number == b.number && a.set == b.set && a.times == b.times;
                      });
  }

  // Whether a call launches a kernel that another one with the same arguments does not.
  bool LaunchesDiffer() const {
    std::map<uint32_t, std::multiset<std::string>> by_set;
    for (const RawTrace::Call& call : merged_.calls) {
      std::multiset<std::string> kernels;
      for (const PlanStep& step : call.steps) {
        if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
          kernels.insert(launch->kernel);
        }
      }
      const auto [known, first] = by_set.emplace(call.set, kernels);
      if (!first && known->second != kernels) return true;
    }
    return false;
  }

  static bool LooksAtData(const RawTrace& trace) {
    const auto reads = [](const PlanStep& step) {
      return std::holds_alternative<HostReadStep>(step.action);
    };
    return std::any_of(trace.calls.begin(), trace.calls.end(),
                       [&](const RawTrace::Call& call) {
                         return std::any_of(call.steps.begin(), call.steps.end(), reads);
                       }) ||
           std::any_of(trace.buffers.begin(), trace.buffers.end(),
                       [](const RawTrace::Buffer& each) {
                         return each.buffer.kind == PlanBuffer::Kind::kPinned ||
                                each.buffer.kind == PlanBuffer::Kind::kManaged;
                       });
  }

  MergedCalls Problem(const std::string& what, bool saw_data) {
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
      if (a[i].action.index() != b[i].action.index() || a[i].stream != b[i].stream ||
          a[i].apart != b[i].apart) {
        return Fail("what is launched", a[i].site);
      }
      PlanStep step = a[i];
      if (const auto* read = std::get_if<HostReadStep>(&step.action)) {
        host_saw_data_ = true;
        bytes_read_ += read->bytes;
      }
      size_t at = 0;
      if (auto* launch = std::get_if<LaunchStep>(&step.action)) {
        LaunchStep other = std::get<LaunchStep>(b[i].action);
        if (launch->kernel != other.kernel || launch->grid != other.grid ||
            launch->block != other.block || launch->cluster != other.cluster ||
            launch->dynamic_shared != other.dynamic_shared ||
            launch->cooperative != other.cooperative ||
            launch->programmatic != other.programmatic ||
            launch->parameters.size() != other.parameters.size()) {
          return Fail("the launch", step.site);
        }
        ClearPadding(launch->kernel, &launch->parameters, &other.parameters);
        if (!Pointers(launch->parameters, other.parameters, &launch->pointers, &at)) {
          return Fail(fmt::format("what the host hands to kernel {} (byte {} of its arguments)",
                                  KernelName(launch->kernel), at),
                      step.site,
                      LookedAtLittle() ? MergeProblem::Kind::kDataDependent
                                       : MergeProblem::Kind::kHostComputed);
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

  // A scale or a count that goes on to a kernel (`x.item()`) is no work done by the host: there is
  // no plan for it, but that is not the candidate's fault.
  bool LookedAtLittle() const {
    constexpr uint64_t kLittle = 32;  // of all calls together
    const bool shares_memory =
        std::any_of(merged_.buffers.begin(), merged_.buffers.end(), [](const auto& each) {
          return each.buffer.kind == PlanBuffer::Kind::kPinned ||
                 each.buffer.kind == PlanBuffer::Kind::kManaged;
        });
    return bytes_read_ <= kLittle && !shares_memory;
  }

  // The same plan must come out wherever the child's memory lay.
  static void ClearPointers(std::vector<std::byte>* bytes,
                            const std::vector<PointerPatch>& pointers) {
    for (const PointerPatch& pointer : pointers) std::memset(bytes->data() + pointer.at, 0, 8);
  }

  const RawTrace& first_;
  const RawTrace& second_;
  const ParameterUse& use_;
  const MergeOptions options_;
  ByAddress by_address_first_;
  ByAddress by_address_second_;
  MergedCalls merged_;
  bool host_saw_data_ = false;  // so far: by a copy, or at any time through pinned memory
  uint64_t bytes_read_ = 0;     // so far, by copies
};

// Makes the plan of one call.
class PlanCutter {
 public:
  PlanCutter(const MergedCalls& merged, size_t call) : merged_(merged), call_(call) {}

  CallPlan Run(const GivenBytes& given) {
    const RawTrace::Call& call = merged_.calls[call_];
    for (const RawTrace::Buffer& buffer : merged_.buffers) {
      // Buffers are in the order in which calls name them.
      if (buffer.call > call_) break;
      AddBuffer(buffer, given);
    }
    for (size_t i = 0; i < call_; ++i) {
      const std::vector<PlanStep>& steps = merged_.calls[i].steps;
      plan_.preparation.insert(plan_.preparation.end(), steps.begin(), steps.end());
    }
    plan_.steps = call.steps;
    plan_.outputs = call.outputs;
    DropPreparation();
    NumberStreamsAndEvents();
    return {std::move(plan_), std::move(foreign_)};
  }

 private:
  void AddBuffer(const RawTrace::Buffer& buffer, const GivenBytes& given) {
    const auto index = static_cast<BufferIndex>(plan_.buffers.size());
    PlanBuffer& added = plan_.buffers.emplace_back(buffer.buffer);
    added.prepared = buffer.call < call_;
    if (added.kind != PlanBuffer::Kind::kInput) return;
    // Arguments are there before the first call, as they always were.
    added.prepared = true;
    if (buffer.set == merged_.calls[call_].set) return;
    added = {.kind = PlanBuffer::Kind::kWorkspace, .bytes = added.bytes, .prepared = true};
    foreign_.push_back({buffer.set, buffer.buffer.argument});
    plan_.preparation.push_back(
        {.action = UploadStep{.to = {index, 0},
                              .data = given ? given(foreign_.back()) : std::vector<std::byte>()}});
  }

  // Of the preparation only what the plan can see is kept: steps count when a buffer that exists
  // since the preparation, other than an input, is used in the plan. Inputs that the candidate
  // changes in its first call are given anew.
  void DropPreparation() {
    std::set<BufferIndex> used;
    const auto use = [&](const BufferRef& ref) { used.insert(ref.buffer); };
    for (const PlanStep& step : plan_.steps) ForEachReference(step, use);
    for (const PlanTensor& tensor : plan_.outputs) use(tensor.at);
    bool carried = false;
    bool variables = false;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const PlanBuffer& buffer = plan_.buffers[i];
      if (buffer.kind == PlanBuffer::Kind::kVariable) variables = true;
      carried |= buffer.prepared && buffer.kind != PlanBuffer::Kind::kInput &&
                 used.contains(static_cast<BufferIndex>(i));
    }
    // Kernels use variables without naming them in their arguments: once one was written, the
    // preparation stays.
    if (carried || variables || merged_.leaves_variables) return;
    plan_.preparation.clear();
    foreign_.clear();
    DropBuffers([&](BufferIndex index) {
      const PlanBuffer& buffer = plan_.buffers[index];
      return buffer.prepared && buffer.kind != PlanBuffer::Kind::kInput && !used.contains(index);
    });
  }

  // Takes buffers that nothing names out of the plan and renumbers the rest. Numbers beyond the
  // last buffer (nothing is validated yet) stay beyond it.
  template <typename Drop>
  void DropBuffers(Drop drop) {
    std::vector<PlanBuffer> kept;
    std::vector<BufferIndex> moved(plan_.buffers.size());
    for (size_t i = 0; i < moved.size(); ++i) {
      moved[i] = static_cast<BufferIndex>(kept.size());
      if (!drop(static_cast<BufferIndex>(i))) kept.push_back(plan_.buffers[i]);
    }
    const auto renumber = [&](BufferRef& ref) {
      if (ref.buffer < moved.size()) ref.buffer = moved[ref.buffer];
    };
    for (PlanStep& step : plan_.steps) ForEachReference(step, renumber);
    for (PlanTensor& tensor : plan_.outputs) renumber(tensor.at);
    plan_.buffers = std::move(kept);
  }

  // In the order in which the plan names them: what earlier calls had does not show.
  void NumberStreamsAndEvents() {
    std::map<uint32_t, uint32_t> streams{{0, 0}};
    std::map<uint32_t, uint32_t> events;
    for (std::vector<PlanStep>* steps : {&plan_.preparation, &plan_.steps}) {
      for (PlanStep& step : *steps) {
        step.stream =
            streams.emplace(step.stream, static_cast<uint32_t>(streams.size())).first->second;
        if (auto* event = std::get_if<EventStep>(&step.action);
            event != nullptr && event->event != EventStep::kEverything) {
          event->event =
              events.emplace(event->event, static_cast<uint32_t>(events.size())).first->second;
        }
      }
    }
  }

  const MergedCalls& merged_;
  const size_t call_;
  Plan plan_;
  std::vector<ForeignInput> foreign_;
};

}  // namespace

MergedCalls MergeTraces(const RawTrace& first, const RawTrace& second, const ParameterUse& use,
                        const MergeOptions& options) {
  return Merger(first, second, use, options).Run();
}

CallPlan PlanOfCall(const MergedCalls& merged, size_t call, const GivenBytes& given) {
  return PlanCutter(merged, call).Run(given);
}

}  // namespace kernelsmith
