// Where an x86-64 instruction ends. Enough to tell an instruction that stands in the code from the
// same bytes inside of another one; it does not say what instructions do.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kernelsmith {

struct X86Instruction {
  uint8_t length = 0;
  uint8_t opcode_at = 0;  // behind prefixes
  // A displacement from the instruction's own end: of a jump, a call or an address. 0 bytes: none.
  uint8_t relative_at = 0;
  uint8_t relative_bytes = 0;
  bool jumps = false;  // the displacement is a jump's or a call's
};

// The instruction that begins with `code`; nothing: it is none, or cut off.
std::optional<X86Instruction> DecodeX86(std::string_view code);

}  // namespace kernelsmith
