// The registers that the hardware fills in: %tid, %laneid, %clock64 ...
#pragma once

#include <string_view>

#include "ptx/types.h"

namespace kernelsmith::ptx {

struct SpecialRegister {
  std::string_view name;        // "%tid"
  Type type = Type::kNone;      // the type of one component, as bits
  std::string_view components;  // "xyzw", or empty for a scalar
};

// Null: not a special register. `name` without component.
const SpecialRegister* FindSpecialRegister(std::string_view name);

}  // namespace kernelsmith::ptx
