// What compiled code and the engine have in common: the state of a warp as compiled code sees it,
// the functions it may call, and the compiler's interface. The compiler lives in a library of its
// own (libkernelsmith-jit.so), so that a program which never compiles a kernel never loads LLVM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "vgpu/fault.h"
#include "vgpu/ir.h"

namespace kernelsmith::vgpu {

struct Warp;

namespace jit {

// The allocation that a memory instruction touched last. Each instruction has its own: loops go
// through several arrays in turn.
struct Site {
  uint64_t low = 0;
  uint64_t limit = 0;  // offsets from `low` below it: the whole access lies inside
  uint64_t delta = 0;  // to the host's address
  uint64_t unused = 0;
};

// Uniform special registers, in the order of vgpu::Special.
inline constexpr size_t kSpecials = 64;

// Compiled code reads it at fixed offsets.
struct WarpContext {
  Warp* warp = nullptr;
  std::byte* registers = nullptr;  // the entry's frame in the interpreter's form; null until needed
  std::byte* save = nullptr;       // what lives across a barrier
  Site* sites = nullptr;
  uint64_t parameters = 0;       // generic address
  uint64_t parameters_host = 0;  // and where they are
  uint64_t shared_host = 0;
  uint64_t shared_bytes = 0;
  uint64_t shared_window = 0;
  uint64_t local_window = 0;
  const uint32_t* special = nullptr;
  uint32_t warp_index = 0;
  uint32_t exit_pc = 0;       // where the interpreter goes on, or the barrier
  uint32_t lane_pc[32] = {};  // where it goes on if lanes have parted
};

enum class Outcome : uint32_t {
  kDone,         // all lanes exited
  kBarrier,      // all lanes are at the barrier exit_pc; state in `save`
  kLeave,        // the interpreter goes on at exit_pc; state in `registers`
  kGiveWay,      // the same, after so many back edges that the loop may be waiting for somebody
  kLeaveParted,  // as kLeave, every lane at its own lane_pc
  kGiveWayParted,
  kFault,     // the launch failed
  kMismatch,  // the state in `registers` is none that compiled code can go on from; nothing was
              // done
};

// With the size of a group: the access writes.
inline constexpr uint64_t kWrites = uint64_t{1} << 63;

// What compiled code calls.
struct Helpers {
  // Makes the interpreter's warp ready and returns its registers.
  std::byte* (*prepare)(WarpContext*) = nullptr;
  // Executes the instruction with the interpreter's handler. Operands are in `registers`. False:
  // the launch failed.
  bool (*handle)(WarpContext*, const Instruction*, uint32_t pc, uint32_t mask) = nullptr;
  // Fills the site with the allocation that contains [address, address + bytes); `group` is the
  // part of it that the site's limit leaves room for. False: no allocation does.
  bool (*find)(WarpContext*, Site*, uint64_t address, uint64_t bytes, uint64_t group) = nullptr;
};

// Entry 0 starts the kernel. Entry 1 + 2b goes on at block b with state in `registers`, 2 + 2b with
// state in `save`.
using Code = uint32_t (*)(WarpContext*, uint32_t entry);

inline constexpr uint32_t kStart = 0;
inline constexpr uint32_t FromRegisters(uint32_t block) { return 1 + 2 * block; }
inline constexpr uint32_t FromSave(uint32_t block) { return 2 + 2 * block; }

struct CompiledKernel {
  Code code = nullptr;
  uint32_t sites = 0;
  uint32_t save_bytes = 0;
  bool needs_registers = false;      // some instructions go through handlers: prepare each warp
  std::vector<int32_t> entry_of_pc;  // block that can be entered from `registers` at pc, or -1
  std::vector<uint32_t> block_of_pc;
  double compile_ms = 0;
  std::shared_ptr<void> keep;  // owns the code
};

struct CompileRequest {
  const Kernel* kernel = nullptr;
  Dim3 block;
  uint32_t parameter_bytes = 0;
  Helpers helpers;
};

// Returns null and says why in `*why` when the kernel can't be compiled.
// The caller owns the result.
using CompileFunction = CompiledKernel* (*)(const CompileRequest&, std::string* why);
inline constexpr const char* kCompileSymbol = "kernelsmith_jit_compile";

}  // namespace jit
}  // namespace kernelsmith::vgpu
