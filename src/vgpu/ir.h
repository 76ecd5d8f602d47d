// The kernel IR: PTX functions as flat lists of decoded instructions whose operands are offsets
// into a warp's register file. The interpreter runs it; observers read it; everything about a PTX
// instruction that execution needs is in one Instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ptx/syntax.h"
#include "ptx/types.h"
#include "support/diagnostic.h"
#include "vgpu/block_interaction.h"

namespace kernelsmith::vgpu {

namespace math {
class MmaPlan;
struct Fragment;
}  // namespace math

struct Warp;
struct Instruction;
struct CoverageMap;

// Executes the lanes of `mask`, which is not 0.
using Handler = void (*)(Warp&, const Instruction&, uint32_t mask);

// Where an operand's 32 lanes lie.
enum class OperandBase : uint8_t {
  kRegister,  // the frame of the executing function
  kConstant,  // Function::constants: immediates, one copy per lane
  kSpecial,   // the warp's special registers (%tid.x ...)
};

// Width of one lane's value in a register; a predicate is one bit.
enum class LaneWidth : uint8_t { k1, k2, k4, k8, k16, kPredicate };

// Base, width and byte offset of the lanes of one register: 32 contiguous values. A predicate is
// one 32-bit word, bit i for lane i.
struct Operand {
  static constexpr uint32_t kNone = 0xffffffff;
  static constexpr uint32_t kOffsetMask = (1u << 27) - 1;
  uint32_t raw = kNone;

  static Operand At(OperandBase base, LaneWidth width, uint32_t offset) {
    return {static_cast<uint32_t>(base) << 30 | static_cast<uint32_t>(width) << 27 | offset};
  }
  bool exists() const { return raw != kNone; }
  OperandBase base() const { return static_cast<OperandBase>(raw >> 30); }
  LaneWidth width() const { return static_cast<LaneWidth>(raw >> 27 & 7); }
  bool is_predicate() const { return width() == LaneWidth::kPredicate; }
  uint32_t bytes() const { return is_predicate() ? 0 : 1u << static_cast<uint32_t>(width()); }
  uint32_t offset() const { return raw & kOffsetMask; }
  bool operator==(const Operand&) const = default;
};

// What an instruction does. Where the PTX name says it all, the name is PTX's. What is known of an
// operation: see op_facts.h.
enum class Op : uint8_t {
#define KS_VGPU_OP(name, ...) k##name,
#include "vgpu/ops.def"
};
const char* NameOf(Op op);

// How a memory instruction's address is made; Instruction::offset is added in every case.
enum class AddressBase : uint8_t {
  kAbsolute,    // offset alone: a variable's address, or an integer
  kRegister32,  // operand a, zero-extended
  kRegister64,
  kFrame,       // local memory of the function's frame
  kParameters,  // the launch's parameter buffer (its generic address)
};

// The spaces an address can be in once lowered. Constant, parameter and global memory share the
// generic addresses.
enum class MemorySpace : uint8_t { kGeneric, kGlobal, kShared, kLocal };

struct Instruction {
  Handler handler = nullptr;
  Op op{};
  ptx::Type type = ptx::Type::kNone;         // the result's, and the sources' without a source_type
  ptx::Type source_type = ptx::Type::kNone;  // cvt, set, slct, mma: the other type
  ptx::Rounding rounding = ptx::Rounding::kNone;
  ptx::Comparison comparison = ptx::Comparison::kNone;
  ptx::BoolOp bool_op = ptx::BoolOp::kNone;
  bool ftz : 1 = false;
  bool sat : 1 = false;
  bool satfinite : 1 = false;
  bool relu : 1 = false;
  bool xorsign : 1 = false;   // .xorsign.abs of min, max
  bool nan : 1 = false;       // .NaN of min, max
  bool approx : 1 = false;    // .approx or .full
  bool full : 1 = false;      // div.full
  bool negate_c : 1 = false;  // predicate operand c is used negated
  bool carry_out : 1 = false;
  bool guard_negated : 1 = false;
  bool control : 1 = false;      // IsControl(op): the scheduler executes it
  bool waits : 1 = false;        // a loop around it may be waiting for another thread
  bool is_volatile : 1 = false;  // volatile, relaxed, acquire, release, atomic: strong accesses
  bool index : 1 = false;        // writes a register from which a memory address may be made

  // d = op(a, b, c); d2: second result (p|q, shfl's predicate). Vectors stand in the function's
  // operand list.
  Operand guard;  // always valid: the constant "true" when there is no guard
  Operand d;
  Operand d2;
  Operand a;
  Operand b;
  Operand c;
  Operand e;

  // Memory.
  MemorySpace space = MemorySpace::kGeneric;
  AddressBase address = AddressBase::kAbsolute;
  uint8_t bytes = 0;           // bytes of one element in memory
  uint8_t register_bytes = 0;  // bytes of one element in registers
  uint8_t width = 1;           // elements of a vector
  uint8_t variant = 0;  // meaning depends on op: shuffle mode, atomic operation, lop3 table...
  int64_t offset = 0;   // see AddressBase; also immediates that are no operands

  // list[first .. first + count): vector elements, mma fragments, call arguments.
  uint32_t list_first = 0;
  uint16_t list_count = 0;
  uint32_t target = 0;    // branch: instruction index; call: Function::calls
  uint32_t location = 0;  // index in Function::locations
};

// Position in the PTX text and in the CUDA source.
struct CodeLocation {
  ptx::Position ptx;
  int32_t loc = -1;  // ptx::Function::locs
  const ptx::Instruction* syntax = nullptr;
};

struct Function;

// A range of bytes in a frame's local memory: a variable, a parameter of a call.
struct FrameRange {
  uint32_t offset = 0;
  uint32_t size = 0;
};

// One call instruction. Arguments are copied from the caller's frame to the callee's and back.
struct CallSite {
  const Function* callee = nullptr;   // null: indirect, the address is operand a
  uint8_t system = 0;                 // SystemCall, 0: an ordinary function
  std::vector<FrameRange> arguments;  // in the caller's frame
  std::vector<FrameRange> results;
};

// A run of registers of one width in the frame.
struct RegisterArea {
  LaneWidth width = LaneWidth::k4;
  uint32_t first = 0;  // byte offsets
  uint32_t last = 0;
};

// Instruction::variant of Op::kAtom, kRed and kAtomVector.
enum class AtomicOp : uint8_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor, kExch, kCas };

// Instruction::variant of Op::kShfl, kVote, kRedux.
enum class ShuffleMode : uint8_t { kUp, kDown, kBfly, kIdx };
enum class VoteMode : uint8_t { kAll, kAny, kUni, kBallot };
enum class ReduxOp : uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor };

// Instruction::variant of Op::kMbarrier.
enum class MbarrierOp : uint8_t {
  kInit,
  kInval,
  kArrive,
  kArriveDrop,
  kArriveExpect,
  kArriveDropExpect,
  kExpect,
  kComplete,
  kTest,
  kTestParity,
  kPendingCount,
};

// Instruction::variant of Op::kAsyncGroup; kWait: all but the last `offset` groups. Copies are done
// when they are issued, so these only tell observers.
enum class AsyncOp : uint8_t { kCommit, kWait, kWaitAll, kArrive };

// Instruction::variant of Op::kBarrier.
enum class BarrierKind : uint8_t { kSync, kArrive };

// What mma, wmma and ldmatrix need beyond operands: Function::matrices[Instruction::target].
struct MatrixInfo {
  const math::MmaPlan* plan = nullptr;       // mma, wmma.mma
  const math::Fragment* fragment = nullptr;  // wmma.load, wmma.store
  bool row_major = true;
  bool transposed = false;  // ldmatrix, stmatrix
};

// wgmma.mma_async: Function::wgmmas[Instruction::target]. The list has the registers of d, then
// those of a unless a is in shared memory (operand a is its descriptor then); operand b is b's
// descriptor and c whether d is added.
struct WgmmaInfo {
  int n = 0;
  int k = 0;
  ptx::Type d = ptx::Type::kF32;
  ptx::Type a = ptx::Type::kF16;
  ptx::Type b = ptx::Type::kF16;
  bool a_shared = false;
  bool transposed_a = false;  // rows run along memory: "MN-major"
  bool transposed_b = false;
  bool negate_a = false;
  bool negate_b = false;
};

// cp.async.bulk, cp.reduce.async.bulk, each with .tensor or without: Function::bulks. Operands: a
// is where to (or the tensor map's address), b where from (likewise), c the number of bytes, e the
// mbarrier; the list has the coordinates.
struct BulkInfo {
  bool tensor = false;
  bool to_shared = true;
  bool from_shared = false;
  bool reduces = false;
  bool multicast = false;  // the list ends with the mask of the cluster's blocks that get the data
  AtomicOp reduce = AtomicOp::kAdd;
  ptx::Type type = ptx::Type::kNone;  // the type of a reduction without a tensor map
};

// The video instructions (vadd ... vset4): Function::videos[Instruction::target].
struct VideoInfo {
  enum class Kind : uint8_t { kAdd, kSub, kAbsdiff, kMin, kMax, kShl, kShr, kMad, kSet, kAverage };
  enum class Second : uint8_t { kNone, kAdd, kMin, kMax };  // what is done to the result and c
  Kind kind = Kind::kAdd;
  int parts = 1;  // 2, 4: halves or bytes at the same time
  bool signed_a = false;
  bool signed_b = false;
  bool signed_d = false;
  ptx::Selector a = ptx::Selector::kNone;
  ptx::Selector b = ptx::Selector::kNone;
  ptx::Selector d = ptx::Selector::kNone;  // the part of d that is written; the rest comes from c
  bool sat = false;
  bool wrap = false;  // shifts
  ptx::Comparison comparison = ptx::Comparison::kNone;
  Second second = Second::kNone;
  int scale = 0;  // vmad: shift of the result, 7 or 15
  bool plus_one = false;
  bool negate_product = false;
  bool negate_c = false;
};

// Functions that the engine provides (system_calls.def). From kGetLastError on they are the CUDA
// runtime on the device (device_runtime.h).
enum class SystemCall : uint8_t {
  kNone,
  kVprintf,
  kAssertFail,
  kMalloc,
  kFree,
  kGetLastError,
  kPeekAtLastError,
  kGetErrorString,
  kGetErrorName,
  kGetDeviceCount,
  kGetDevice,
  kDeviceGetAttribute,
  kDeviceGetLimit,
  kRuntimeGetVersion,
  kStreamCreate,
  kStreamDestroy,
  kStreamWaitEvent,
  kEventCreate,
  kEventRecord,
  kEventDestroy,
  kFuncGetAttributes,
  kCudaMalloc,
  kCudaFree,
  kMemcpy,
  kMemcpy2D,
  kMemset,
  kMemset2D,
  kGetParameterBuffer,
  kGetParameterBufferV2,
  kLaunchDevice,
  kLaunchDeviceV2,
  kOccupancy,
  kGraphSetConditional,
};

struct Function {
  std::string name;
  const ptx::Function* syntax = nullptr;
  const ptx::Module* module = nullptr;
  bool is_entry = false;
  bool noreturn = false;
  uint64_t code_address = 0;

  std::vector<Instruction> code;  // ends with a ret or exit
  std::vector<Operand> list;
  std::vector<CallSite> calls;
  std::vector<std::vector<uint32_t>> branch_targets;  // brx.idx
  std::vector<MatrixInfo> matrices;
  std::vector<VideoInfo> videos;
  std::vector<WgmmaInfo> wgmmas;
  std::vector<BulkInfo> bulks;
  std::vector<CodeLocation> locations;
  std::vector<std::byte> constants;  // see ConstantData

  uint32_t register_bytes = 0;  // bytes of the registers of one frame
  uint32_t register_words = 0;  // 32-bit registers a thread needs at the same time, about
  std::vector<RegisterArea> areas;
  uint32_t frame_bytes = 0;  // bytes of local memory: variables, call parameters
  uint32_t frame_end = 0;    // the same without padding behind the last one
  // Some instruction may read a register before anything wrote it (registers.cc).
  bool may_read_unwritten = false;
  std::vector<FrameRange> parameters;  // in this function's frame
  std::vector<FrameRange> results;
  bool uses_alloca = false;

  // `constants` at an address fit for vector loads.
  const std::byte* ConstantData() const { return constant_data; }
  const std::byte* constant_data = nullptr;

  uint32_t number = 0;  // in Kernel::functions
};

// A kernel with everything it may call, lowered for one entry (shared variables have the entry's
// addresses).
struct Kernel {
  const Function* entry = nullptr;
  std::vector<std::unique_ptr<Function>> functions;
  std::map<uint64_t, const Function*> by_address;  // targets of indirect calls
  std::map<uint64_t, std::string> unsupported;     // address -> why it can't be called
  uint32_t static_shared_bytes = 0;
  uint32_t dynamic_shared_offset = 0;
  uint32_t local_bytes = 0;   // per thread, if bounded_stack
  bool bounded_stack = true;  // no recursion, no indirect calls, no alloca
  BlockInteraction interaction;
  mutable std::shared_ptr<void> compiled;               // compiled code: see engine.h
  mutable std::mutex compiled_mutex;                    // guards it and `coverage`
  mutable std::shared_ptr<const CoverageMap> coverage;  // see CoverageMapOf
};

// For messages: "kernel.ptx:12" with the instruction's text.
SourceLocation PtxLocationOf(const Function& function, const Instruction& instruction);
SourceLocation SourceLocationOf(const Function& function, const Instruction& instruction);
std::string TextOf(const Function& function, const Instruction& instruction);

}  // namespace kernelsmith::vgpu
