// Every place in a buffer that a step names.
#pragma once

#include <type_traits>
#include <variant>

#include "plan/plan.h"

namespace kernelsmith {

// Calls `visit` with each BufferRef of the step, which is const if the step is.
template <typename Step, typename Visit>
void ForEachReference(Step& step, Visit visit) {
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

}  // namespace kernelsmith
