// Can the virtual GPU run an instruction? Asked of the engine itself: a kernel that has just this
// instruction is written, parsed and lowered.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/instruction_table.h"
#include "ptx/ptx.h"
#include "support/result.h"

namespace kernelsmith::vgpu {

class VirtualGpu;

struct ProbeResult {
  bool interpreter = false;
  bool invalid = false;  // refused before the engine saw it: PTX has no such combination
  std::string why;       // what is in the way, if anything
};

// What one form of the table comes to: its ways to be written, with each type once, and each other
// modifier at least once.
struct FormState {
  int tried = 0;  // combinations that PTX has
  int work = 0;
  std::string first_refused;  // a mnemonic, and why
  std::string why;
};

class InstructionProbe {
 public:
  static Result<std::unique_ptr<InstructionProbe>> Create();
  ~InstructionProbe();

  // "ld.global.v4.f32", as instructions are written but without operands.
  ProbeResult Try(const std::string& mnemonic);
  FormState Try(const ptx::InstructionEntry& entry, const ptx::InstructionForm& form);

 private:
  InstructionProbe() = default;
  ProbeResult TryWith(const std::string& mnemonic, const ptx::InstructionEntry& entry,
                      const ptx::InstructionForm& form, const std::vector<ptx::Type>& slot_types,
                      int vector_width);
  // With operands as written: an error of kind kUnsupported, or kInvalidInput where the operands do
  // not fit; `refusal` says in which way.
  Status TryText(const std::string& instruction, ptx::InstructionRefusal* refusal);

  std::unique_ptr<VirtualGpu> gpu_;
};

}  // namespace kernelsmith::vgpu
