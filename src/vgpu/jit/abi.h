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
struct CoverageMap;
struct MatrixKernels;

// atom or red of the lanes of `mask`: `host` has their addresses, all of one allocation; `b`, `c`
// and `old` have 32 elements of the instruction's type.
using AtomicKernel = void (*)(Warp&, const uint64_t* host, const void* b, const void* c, void* old,
                              uint32_t mask);

namespace jit {

// The allocation that a memory instruction touched last. Each instruction has its own: loops go
// through several arrays in turn.
struct Site {
  uint64_t low = 0;
  uint64_t limit = 0;      // offsets from `low` below it: the whole access lies inside
  uint64_t delta = 0;      // to the host's address
  void* screen = nullptr;  // what to tell the screen of an access to it; null: nothing
  uint64_t cached = 1;     // 0: stores of whole cache lines go past the caches (vgpu/streaming.h)
};

// Uniform special registers, in the order of vgpu::Special.
inline constexpr size_t kSpecials = 64;

// What compiled code of a screened launch (vgpu/screen.h) must know to look at shared memory by
// itself. It holds from one barrier to the next.
struct ScreenView {
  uint32_t now = 0;  // see CellClock
  uint32_t several = 0;
  uint32_t read_first = 0;   // what is read must have a stamp from here on ...
  uint32_t read_before = 0;  // ... and less than so much above it, or the reader's own
  uint32_t* writes = nullptr;
  uint32_t* reads = nullptr;
};

// What all warps of a block share. Compiled code reads it at fixed offsets, and as something that
// does not change while it runs.
struct BlockContext {
  Site* sites = nullptr;
  uint64_t parameters = 0;       // generic address
  uint64_t parameters_host = 0;  // and where they are
  uint64_t shared_host = 0;
  uint64_t shared_bytes = 0;
  uint64_t shared_window = 0;
  uint64_t local_window = 0;
  const uint32_t* special = nullptr;
  const ScreenView* screen = nullptr;
  uint32_t* coverage = nullptr;    // LaunchState::coverage
  uint64_t* back_edges = nullptr;  // Block::back_edges
};

enum class Outcome : uint32_t {
  kDone,     // all lanes exited
  kBarrier,  // all lanes are at the barrier exit_pc; what lives behind it is in `save`
  kLeave,    // the interpreter goes on; see Exit
  kGiveWay,  // the same, after so many back edges that the loop may be waiting for somebody
  kFault,    // the launch failed
};

struct WarpContext {
  Warp* warp = nullptr;
  std::byte* registers = nullptr;  // the entry's frame in the interpreter's form; null until needed
  std::byte* save = nullptr;       // the values of webs, in slots
  uint32_t* loops = nullptr;       // Warp::loops
  uint32_t warp_index = 0;
  uint32_t lanes = ~0u;  // those that there are: the last warp of a block may have fewer than 32
  uint32_t exit_pc = 0;  // kBarrier: which one
  uint32_t exit = 0;     // kLeave, kGiveWay: CompiledKernel::exits
  uint32_t spins = 0;    // tests of what others do in a row that saw nothing new
  Outcome outcome = Outcome::kDone;
};

// A value in `save`, and its place in the interpreter's registers. Compiled code only moves it
// to its slot; the engine expands it. That happens seldom, and code for it would be most of the
// code.
struct SavedValue {
  enum class Form : uint8_t {
    kUniform,  // 8 bytes
    kAffine,   // 8 bytes a group: the value of its first lane; see Shape
    kLanes,    // all lanes; 4 bytes for a predicate
  };
  uint32_t place = 0;
  uint32_t slot = 0;
  LaneWidth width = LaneWidth::k4;
  Form form = Form::kLanes;
  bool raw = false;  // f32 whose NaNs are not canonical
  uint8_t groups = 1;
  int64_t stride = 0;
};

// How compiled code was left: every lane is in one group.
struct Exit {
  struct Lanes {
    static constexpr uint32_t kAll = ~0u;
    uint32_t slot = kAll;  // the slot of the mask
    uint32_t pc = 0;       // where they go on
    std::vector<SavedValue> values;
  };
  std::vector<Lanes> groups;
};

// An instruction that the interpreter's handler executes. Its operands are in `save`; the results
// are in `registers` afterwards.
struct HandlerCall {
  const Instruction* instruction = nullptr;
  uint32_t pc = 0;
  std::vector<SavedValue> operands;
  // Memory accesses only. The range that is checked may serve several instructions.
  uint32_t site = ~0u;  // index; none: there is nothing to look for
  int64_t begin = 0;    // the range's first byte, as an offset from the address register
  uint64_t bytes = 0;   // its size for one lane
  uint64_t room = 0;    // and for a group of lanes: what the site's limit leaves room for
  uint32_t align = 1;   // the alignment of its first byte
  uint32_t stored = 0;  // bytes that a lane stores; 0: it only loads
  bool reads = false;
  bool find_only = false;  // do not execute the instruction
};

// ldmatrix, stmatrix, wmma.load or wmma.store.
struct MatrixAccess {
  const Instruction* instruction = nullptr;
  const MatrixInfo* info = nullptr;
  uint32_t site = 0;
};

// With the size of an access: it writes.
inline constexpr uint64_t kWrites = uint64_t{1} << 63;
inline constexpr uint32_t kSuspectShared = 0;
inline constexpr uint32_t kSuspectIndex = 1;

// What compiled code calls.
struct Helpers {
  // False: the launch failed.
  bool (*handle)(BlockContext*, WarpContext*, const HandlerCall*, uint32_t mask) = nullptr;
  // A memory access that the site does not cover. 0: the launch failed; 1: the site has been
  // filled, try again; 2: it is done.
  uint32_t (*access)(BlockContext*, WarpContext*, const HandlerCall*, uint32_t mask) = nullptr;

  // Null: only the handler does this one. `tells`: the old values are wanted.
  AtomicKernel (*find_atomic)(const Instruction&, bool tells) = nullptr;

  // -- screened launches (vgpu/screen.h). False: the launch is over.
  // `access`: bytes a lane, then how many lanes, then the first of them, 8 bits each; kWrites.
  // `region` is Site::screen, null for shared memory.
  bool (*screen_row)(WarpContext*, void* region, uint64_t address, int64_t stride, uint64_t access,
                     uint32_t mask) = nullptr;
  bool (*screen_lanes)(WarpContext*, void* region, const uint64_t* address, uint32_t mask,
                       uint64_t access) = nullptr;
  // Something is suspicious: one of kSuspect*.
  void (*suspect)(WarpContext*, uint32_t why) = nullptr;

  // -- slices (vgpu/slice.h): a store of `bytes` by each lane of `mask`, whose values nobody wants.
  void (*mark_row)(WarpContext*, uint64_t address, int64_t stride, uint32_t bytes,
                   uint32_t mask) = nullptr;
  void (*mark_lanes)(WarpContext*, const uint64_t* address, uint32_t bytes,
                     uint32_t mask) = nullptr;

  // -- matrix instructions, on fragments whose registers are arrays of 32 lanes.
  const MatrixKernels* matrix = nullptr;  // null: the machine has no vectors for them
  // wgmma: `a` and `b` are the descriptors, `add` says whether d counts; the registers are those of
  // d and, unless a is in shared memory, of a. False: as above.
  bool (*multiply_shared)(BlockContext*, WarpContext*, const WgmmaInfo*, uint64_t a, uint64_t b,
                          bool add, void* const* registers) = nullptr;
  // A product that the kernels do not have. The registers are those of d, a, b and c.
  void (*multiply)(const MatrixInfo*, void* const* registers) = nullptr;
  // Loads or stores a fragment. False: nothing has happened, and the handler must see to it.
  // `address` has the lanes' addresses (wmma: the first lane's).
  bool (*matrix_access)(BlockContext*, WarpContext*, const MatrixAccess*, const uint64_t* address,
                        uint32_t stride, void* const* registers) = nullptr;
};

// Runs warps [0, count) of the array one after the other from the same entry, as long as each ends
// with kDone or kBarrier. Returns how many did; the one behind these, if any, has another outcome.
// Entry 0 starts the kernel; 1 + b goes on at block b with what lives there in `save`.
using Code = uint32_t (*)(BlockContext*, WarpContext*, uint32_t entry, uint32_t count);

inline constexpr uint32_t kStart = 0;
inline constexpr uint32_t EntryOf(uint32_t block) { return 1 + block; }

struct CompiledKernel {
  Code code = nullptr;
  uint32_t sites = 0;
  uint32_t save_bytes = 0;
  std::vector<int32_t> entry_of_pc;              // block that can be entered at pc, or -1
  std::vector<std::vector<SavedValue>> entries;  // what must be in `save` at each block
  std::vector<uint32_t> block_of_pc;
  std::vector<Exit> exits;
  std::vector<std::unique_ptr<HandlerCall>> calls;
  bool streams = false;  // CompileRequest::streams
  double compile_ms = 0;
  std::shared_ptr<void> keep;  // owns the code
  std::vector<std::unique_ptr<MatrixAccess>> matrix_accesses;
  std::vector<std::shared_ptr<const void>> constants;  // what else the code points to
};

struct CompileRequest {
  const Kernel* kernel = nullptr;
  Dim3 block;
  uint32_t parameter_bytes = 0;
  uint32_t warp_stride = sizeof(WarpContext);  // bytes from one warp's context to the next
  // Compile long ways of a part of the lanes, too: for kernels that leave the code often.
  bool thorough = false;
  bool screened = false;
  bool screen_index = false;              // screened for index arithmetic, too
  uint32_t screen_shift = 2;              // log2 of the bytes of a cell
  bool streams = false;                   // code for Site::cached
  const CoverageMap* coverage = nullptr;  // what to record; null: nothing
  bool slice = false;                     // the kernel is a slice (vgpu/slice.h)
  bool dump = false;                      // print the LLVM code before and after the passes
  Helpers helpers;
};

// Returns null and says why in `*why` when the kernel can't be compiled.
// The caller owns the result.
using CompileFunction = CompiledKernel* (*)(const CompileRequest&, std::string* why);
inline constexpr const char* kCompileSymbol = "kernelsmith_jit_compile";
// Text of the library: a hash of the headers whose data structures it shares with the engine
// (KS_JIT_ABI, from CMake).
inline constexpr const char* kAbiSymbol = "kernelsmith_jit_abi";

}  // namespace jit
}  // namespace kernelsmith::vgpu
