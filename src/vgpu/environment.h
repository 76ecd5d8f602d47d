// What an instruction reads that says something about the machine and the moment rather than about
// the launch: special registers, and addresses of variables and functions.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/ir.h"

namespace kernelsmith::vgpu {

enum class EnvironmentRegister : uint8_t {
  kNone,           // the launch says what is in it: %tid, %ntid, %laneid ...
  kPlace,          // %smid, %warpid, %gridid ...: where the thread runs, or on what
  kWorkspaceHigh,  // %envreg1: the upper half of an address, that of the grid's barrier
  kWorkspaceLow,   // %envreg2
};

// `operand` is any operand of the instruction; only special registers can be other than kNone.
// Clocks are read by Op::kReadSpecial, not as operands.
EnvironmentRegister EnvironmentOf(const Function& function, const Instruction& in, Operand operand);

// What the launch says of a thread's place.
enum class GridRegister : uint8_t {
  kOther,
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
};
GridRegister GridRegisterOf(Operand operand);

// The address of a variable or function as an operand. In the instruction it is a constant like any
// other number.
struct SymbolOperand {
  bool shared = false;     // in the block's shared memory
  uint64_t alignment = 1;  // what a shared variable asks for
  int64_t offset = 0;      // of the address in the variable
};
// Those of the PTX instruction that `in` was made of, addresses of accesses not counted.
std::vector<SymbolOperand> SymbolsOf(const Function& function, const Instruction& in);

}  // namespace kernelsmith::vgpu
