#include "llm/llm.h"

namespace kernelsmith::llm {

const char* Name(Role role) {
  switch (role) {
    case Role::kSystem:
      return "system";
    case Role::kUser:
      return "user";
    case Role::kAssistant:
      return "assistant";
  }
  return "";
}

const char* Name(StopReason reason) {
  switch (reason) {
    case StopReason::kEnd:
      return "end";
    case StopReason::kLength:
      return "length";
    case StopReason::kRefused:
      return "refused";
    case StopReason::kOther:
      return "other";
  }
  return "";
}

std::optional<StopReason> StopReasonOf(std::string_view name) {
  for (const StopReason each :
       {StopReason::kEnd, StopReason::kLength, StopReason::kRefused, StopReason::kOther}) {
    if (name == Name(each)) return each;
  }
  return std::nullopt;
}

}  // namespace kernelsmith::llm
