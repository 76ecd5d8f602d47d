// From the kernel IR to LLVM IR: one function that runs a warp whose 32 lanes are all at the same
// place when it is entered. See abi.h for how it is entered and left, analysis.h for shapes,
// codegen_parted.cc for what happens where lanes part.
//
// f32 instructions give NaN one bit pattern. Compiled code does not bother while a value goes from
// one f32 instruction to the next: such *raw* values are made canonical where their bits can be
// seen (stores, moves to integers, shuffles, the interpreter).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vgpu/jit/abi.h"
#include "vgpu/jit/analysis.h"
#include "vgpu/matrix_kernels.h"

namespace kernelsmith::vgpu::jit {

inline constexpr unsigned kLanes = 32;

// A value in the form of its shape: one scalar, one scalar a group (its first lane), or a vector.
struct Value {
  Shape shape;
  llvm::SmallVector<llvm::Value*, 4> part;
};

// Where lanes that parted meet again.
struct Join {
  uint32_t block = 0;  // Analysis::kEnd: they have exited
  // What they bring: the values of webs that were written on the way, lane by lane.
  std::map<uint32_t, llvm::AllocaInst*> arriving;
};

// Lanes that run apart from the others of their warp, on copies of the blocks up to the join.
// Values have their shapes among these lanes; only memory accesses and the way into the join need
// the mask.
struct Parted {
  Parted* outer = nullptr;
  Join* join = nullptr;
  llvm::AllocaInst* lanes = nullptr;  // i32: those that run
  // Lanes that have not begun their own way yet (i32, may be null), where they wait, and the values
  // of webs that the running lanes may overwrite.
  llvm::AllocaInst* waiting = nullptr;
  uint32_t waiting_block = 0;
  std::map<uint32_t, llvm::SmallVector<llvm::AllocaInst*, 4>> kept;
  llvm::BasicBlock* done = nullptr;  // no lane is left
  std::map<uint32_t, llvm::BasicBlock*> copies;
  std::vector<uint32_t> work;
  // Saves the state of lanes that do not run, and returns; their part of every exit.
  llvm::BasicBlock* leave = nullptr;
  llvm::PHINode* leave_outcome = nullptr;
  std::vector<Exit::Lanes> others;
};

// Accesses of one block by the same address register: one check for all of them.
struct AccessGroup {
  uint32_t leader = 0;  // the first one's pc
  uint32_t members = 0;
  int64_t begin = 0;  // offsets from the register
  int64_t end = 0;
  uint32_t align = 1;
  uint32_t stored = 0;  // bytes of a lane, all stores together
  bool reads = false;
};

class CodeGenerator {
 public:
  CodeGenerator(const CompileRequest& request, const Analysis& analysis, llvm::Module& module);
  void Run();

  static constexpr const char* kName = "kernel";
  // Fills in all but the code itself.
  void Describe(CompiledKernel& kernel);

 private:
  using Elementwise = std::function<llvm::Value*(llvm::ArrayRef<llvm::Value*>)>;

  // ---- codegen.cc: values, blocks, entries, exits
  llvm::Type* ElementOf(LaneWidth width);
  llvm::Type* VectorOf(llvm::Type* element, unsigned lanes = kLanes);
  llvm::Type* Like(llvm::Value* value, llvm::Type* element);
  llvm::Value* Splat(llvm::Value* scalar, unsigned lanes = kLanes);
  llvm::Value* Concat(llvm::ArrayRef<llvm::Value*> vectors);
  llvm::Constant* LaneOffsets(llvm::Type* element, int64_t stride);
  llvm::Value* Expand(const Value& value);
  llvm::Value* Group(const Value& value, int group);
  Value Reshape(const Value& value, Shape shape);
  Value LoadWeb(uint32_t web);
  llvm::Value* LoadPart(uint32_t web, size_t part);
  void StorePart(uint32_t web, size_t part, llvm::Value* value);
  void StoreWeb(uint32_t web, const Value& value);
  Value Special(Operand operand);
  // `as_float`: raw bits will do.
  Value Read(Operand operand, bool as_float = false);
  Value Canonical(Value value);
  void Write(Operand operand, Value value);
  llvm::Value* BlockField(size_t offset, llvm::Type* type);
  llvm::Value* WarpField(size_t offset, llvm::Type* type);
  void SetWarpField(size_t offset, llvm::Value* value);
  llvm::Value* AllTrue(llvm::Value* mask);
  llvm::Value* LanesOf(llvm::Value* bits);
  // yes where the mask is set, else no. Vectors of bits are merged by arithmetic: on a select of
  // them, or what the optimiser makes of one, LLVM 19's instruction selection for AVX-512 can loop
  // without end (select m, true, n as the mask of another select).
  llvm::Value* Choose(llvm::Value* mask, llvm::Value* yes, llvm::Value* no);
  llvm::Value* MaskBits(const Value& predicate);
  Value Guard(const Instruction& in);
  llvm::BasicBlock* NewBlock(const char* name);
  // What a slice tells about its loops, whenever it is left.
  void AddBackEdges();
  void Return(llvm::Value* outcome);
  void Return(Outcome outcome);
  // A block that leaves for the interpreter before the current instruction.
  llvm::BasicBlock* LeaveBlock(Outcome outcome = Outcome::kLeave);
  void BranchIfFailed(llvm::Value* good);
  void Cold(llvm::Value* condition, llvm::BasicBlock* cold, llvm::BasicBlock* hot);
  void EmitEntries(llvm::SwitchInst* entries);
  void EmitBlock(uint32_t block);
  void EmitInstruction();
  void EmitControl();
  void EmitBarrier();
  // Calls a helper that executes the instruction; what it returns.
  llvm::Value* EmitCall(HandlerCall call, llvm::Value* mask, bool access);
  void ReadResults(llvm::Value* mask);
  void EmitHandler(llvm::Value* mask);
  void CountBackEdge(uint32_t target);

  // ---- codegen_save.cc: values in `save`
  // Offset of a stored value there; of a web: of its first part.
  uint32_t SlotOf(llvm::ArrayRef<llvm::AllocaInst*> parts);
  SavedValue Describe(const LiveValue& value, llvm::ArrayRef<llvm::AllocaInst*> parts);
  SavedValue Save(const LiveValue& value, llvm::ArrayRef<llvm::AllocaInst*> parts);
  SavedValue Save(const LiveValue& value) { return Save(value, storage_[value.web]); }
  // As it is before the current instruction; nothing is stored if `save` has it already.
  SavedValue SaveNow(const LiveValue& value);
  void Restore(uint32_t web);
  llvm::Value* SavePlace(uint32_t slot);

  // ---- codegen_parted.cc: lanes that part and meet again
  llvm::AllocaInst* Slot(llvm::Type* type);
  // The code of a block for the lanes that run now; Analysis::kEnd: they exit.
  llvm::BasicBlock* Go(uint32_t block);
  // Ends the block: lanes whose guard holds go to `target`, others to `after`.
  void EmitPart(const Value& guard, uint32_t target, uint32_t after);
  void EmitDetour(llvm::Value* take, llvm::Value* stay, uint32_t target, uint32_t after);
  void EmitArm(Parted& arm, uint32_t first);
  void Meet(const Join& join);
  void Arrive(llvm::Value* bits);
  // The lanes that run, as bits.
  llvm::Value* RunningBits();
  bool AllRun() const { return parted_ == nullptr && whole_warps_; }
  // A value of this shape from its lanes, of which only those of `bits` count; `fits`: they have
  // that shape.
  Value FromLanes(llvm::Value* lanes, Shape shape, llvm::Value* bits, llvm::Value** fits);
  // Ends the block: the lanes that run go on at `pc` in the interpreter with these values.
  void Leave(uint32_t pc, std::vector<SavedValue> values, Outcome outcome);
  void EmitLeaveTail(Parted& parted);

  // ---- codegen_ops.cc: arithmetic
  void EmitNative();
  Value Apply(llvm::ArrayRef<Value> operands, const Elementwise& function);
  llvm::Value* Arithmetic(llvm::ArrayRef<llvm::Value*> x);
  llvm::Value* FloatArithmetic(llvm::ArrayRef<llvm::Value*> f);
  llvm::Value* Float32(llvm::ArrayRef<llvm::Value*> x);
  llvm::Value* Float64(llvm::ArrayRef<llvm::Value*> x);
  llvm::Value* Integer(llvm::ArrayRef<llvm::Value*> x);
  llvm::Value* Convert(llvm::Value* x);
  llvm::Value* Compare(llvm::Value* a, llvm::Value* b);
  void EmitSetp();
  void EmitPack();
  void EmitUnpack();
  void EmitShuffle();
  void EmitVote();
  void CheckExtension(const Value& value, bool is_signed);
  llvm::Value* AsFloat(llvm::Value* x);
  llvm::Value* AsInt(llvm::Value* x);
  llvm::Value* IsNan(llvm::Value* x);
  llvm::Value* Flush(llvm::Value* x);
  llvm::Value* Const(llvm::Value* like, uint64_t bits);
  llvm::Value* FloatConst(llvm::Value* like, double value);
  llvm::Value* Ex2(llvm::Value* x);
  llvm::Value* Lg2(llvm::Value* x);
  llvm::Value* MinMax(llvm::Value* a, llvm::Value* b);
  llvm::Value* Lop3(llvm::Value* a, llvm::Value* b, llvm::Value* c, uint32_t table);

  // ---- codegen_memory.cc
  void EmitAccess();
  void FindAccessGroups();
  Value Address(int64_t offset);
  // Branches to `fast` if the access may happen, or else to `slow`; returns the way from addresses
  // to the host's. Null: it always goes to `slow`.
  llvm::Value* EmitCheck(HandlerCall& call, llvm::Value* bits, llvm::BasicBlock* fast,
                         llvm::BasicBlock* slow);
  Value MaskedAddress(int64_t offset, llvm::Value* bits);
  // `bits`: the lanes that access; null: all. `site`: its number, or ~0.
  void EmitLoad(const Value& address, llvm::Value* delta, llvm::Value* bits);
  void EmitStore(const Value& address, llvm::Value* delta, llvm::Value* bits, uint32_t site);
  bool HasLaneKernel() const;
  void CallLaneKernel(const void* kernel, llvm::Value* address, llvm::Value* delta,
                      llvm::Value* bits, llvm::Value* elements);
  void EmitAtomic(const Value& address, llvm::Value* delta, llvm::Value* bits);
  void EmitMark(const Value& address, llvm::Value* bits);
  // The result of an access.
  void WriteAccessed(Operand operand, Value value, llvm::Value* bits);
  // Before a load of a whole row by all lanes, from this address of the host.
  void ReadAhead(llvm::Value* host);
  // Whole rows, one at each of the host's addresses.
  void StoreRows(llvm::ArrayRef<llvm::Value*> rows, llvm::ArrayRef<llvm::Value*> hosts,
                 uint32_t site);
  llvm::Value* SiteField(uint32_t site, size_t offset, llvm::Type* type);
  llvm::Value* Host(llvm::Value* address, llvm::Value* delta, int64_t offset = 0);
  // Whether `test` holds for the lowest address of every group, or of every lane.
  llvm::Value* ForAll(const Value& address, llvm::Value* bits,
                      const std::function<llvm::Value*(llvm::Value*)>& test);
  int64_t Spread(const Value& address) const;
  struct Extent {
    llvm::Value* low = nullptr;
    llvm::Value* spread = nullptr;
  };
  Extent ExtentOf(const Value& address, llvm::Value* bits);
  llvm::Value* AllLanes();
  llvm::Value* Repeat(llvm::Value* mask, unsigned times);
  bool Contiguous(const Value& address) const;

  // ---- codegen_matrix.cc: products of fragments, and fragments in memory
  // A fragment as the kernels of vgpu/matrix_kernels.h want it.
  struct Decoded {
    bool is_a = false;
    math::MmaType type{};
    uint32_t floats = 0;
    std::vector<uint32_t> webs;  // its registers
    llvm::AllocaInst* slot = nullptr;
  };
  void FindFragments();
  void FindHomes();
  void EmitMma();
  void EmitWgmma();
  llvm::Value* FirstLane(const Value& value);
  void EmitMatrixAccess();
  void EmitMovmatrix();
  llvm::Value* PlaceOf(uint32_t web);
  llvm::Value* Pointer(const void* address);
  llvm::Value* CallAddress(const void* function, llvm::Type* result,
                           llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* LanesInMemory(Operand operand, bool any_nan);
  llvm::Value* ResultInMemory(Operand operand);
  // An array of pointers in the table that all calls use one after the other, from `first` on.
  llvm::Value* PointerTable(llvm::ArrayRef<llvm::Value*> pointers, unsigned first);
  // The web is written.
  void ForgetDecoded(uint32_t web);
  void ForgetAllDecoded();
  bool UsedAgain(const Decoded& decoded) const;
  llvm::Value* DecodedFragment(const MmaTile& tile, bool is_a, llvm::ArrayRef<Operand> registers);
  const MmaTile* KeepTile(const MmaTile& tile);

  // ---- codegen_half.cc: f16 and bf16, single and in pairs
  llvm::Value* HalfArithmetic(llvm::ArrayRef<llvm::Value*> x);
  // One element of each lane: an instruction without pairs, of the type's 16-bit floats.
  llvm::Value* OneHalf(llvm::ArrayRef<llvm::Value*> x, bool bf16);
  llvm::Value* WidenHalf(llvm::Value* bits, bool bf16);
  // Rounds f32 to nearest even; NaN becomes the one NaN.
  llvm::Value* NarrowHalf(llvm::Value* x, bool bf16);
  // The same of f64, rounded once.
  llvm::Value* NarrowHalfFromDouble(llvm::Value* x, bool bf16);
  // Converts a pair of f32 to a pair of 16-bit floats.
  llvm::Value* PackHalves(llvm::ArrayRef<llvm::Value*> x);

  // ---- codegen_coverage.cc: nothing unless the launch records what it covers
  void BeginCoverage();
  // The guard and the selection of the current instruction.
  void CoverSides();
  // Lanes of `lanes` go from the current block, whose last instruction is the current one, to
  // another. They come from the side `taken` of the instruction's guard, if it has one.
  void CoverWay(uint32_t block, llvm::Value* lanes, bool taken, bool some);
  // The same for all lanes that run, in a block that goes on to Go(block).
  llvm::BasicBlock* GoCovered(uint32_t block, bool taken);
  llvm::Value* CoverageEntry(uint32_t item);
  void AddLanes(uint32_t item, llvm::Value* lanes);
  llvm::Value* LoadCoverage(llvm::Value* place);
  void StoreCoverage(llvm::Value* value, llvm::Value* place);
  // Tells LLVM that nothing but what was recorded lies where coverage does.
  void SeparateCoverage();

  // ---- codegen_screen.cc: nothing unless the launch is screened
  // Tells the screen of the access; `site` is its site's number, or ~0; `bits` as above.
  void EmitScreen(const Value& address, uint32_t site, llvm::Value* bits);
  void EmitIndexScreen();
  // The same for shared memory without a call, where the access is simple enough.
  bool EmitSharedScreen(const Value& address);
  void Suspect(llvm::Value* bad, uint32_t why);
  // Handlers tell the screen by themselves: for masks that are not known to name all lanes, and for
  // all memory but plain shared and global one.
  bool ScreenedByHandler(const Instruction& in) const;

  const CompileRequest& request_;
  const Function& function_;
  const Analysis& analysis_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  int groups_;
  unsigned group_lanes_;
  // All warps of a block have 32 lanes. Otherwise every warp runs with the mask that a part of the
  // lanes needs, and the handlers do what lanes do together.
  bool whole_warps_;

  llvm::Function* kernel_ = nullptr;
  llvm::Value* block_context_ = nullptr;
  llvm::Value* warp_ = nullptr;       // WarpContext* of the warp that runs
  llvm::PHINode* index_ = nullptr;    // its number among those that run one after the other
  llvm::BasicBlock* next_ = nullptr;  // goes on with the next warp
  llvm::BasicBlock* start_ = nullptr;
  llvm::BasicBlock* fault_ = nullptr;
  llvm::BasicBlock* end_ = nullptr;
  std::vector<llvm::BasicBlock*> blocks_;
  std::vector<llvm::SmallVector<llvm::AllocaInst*, 4>> storage_;  // storage by web
  // By web: its place in `save`, if it has no other; see FindHomes.
  static constexpr uint64_t kHomeAlign = 64;
  std::vector<llvm::Value*> homes_;
  llvm::AllocaInst* back_edges_ = nullptr;
  llvm::AllocaInst* lane_back_edges_ = nullptr;  // of a slice: i64, of all lanes
  std::map<llvm::AllocaInst*, uint32_t> slots_;
  llvm::MDNode* coverage_scope_ = nullptr;
  llvm::AllocaInst* screen_buffer_ = nullptr;
  std::map<size_t, llvm::Value*> screen_fields_;  // fields of ScreenView
  uint32_t save_bytes_ = 0;
  uint32_t sites_ = 0;
  std::set<uint32_t> left_for_;  // joins of branches at which the code is left
  std::vector<int32_t> entry_of_pc_;
  std::vector<std::vector<SavedValue>> entries_;
  std::vector<Exit> exits_;
  std::vector<std::unique_ptr<HandlerCall>> calls_;

  std::vector<AccessGroup> access_groups_;
  std::vector<int32_t> access_group_of_;  // the group of each pc; -1: none
  struct GroupState {
    Value begin;                        // addresses of its first byte
    llvm::AllocaInst* delta = nullptr;  // to the host's
    uint32_t site = ~0u;                // ~0: none
  };
  std::map<int32_t, GroupState> group_state_;  // groups of the block that is being emitted
  Parted* parted_ = nullptr;                   // null: all lanes run
  uint32_t depth_ = 0;                         // of it
  uint32_t copied_ = 0;                        // instructions in copies of blocks
  uint32_t made_blocks_ = 0;
  uint32_t pc_ = 0;
  const Instruction* in_ = nullptr;
  std::optional<Value> write_guard_;  // of the current instruction, once it has written something

  std::vector<std::unique_ptr<MatrixAccess>> matrix_accesses_;
  std::vector<std::shared_ptr<const void>> constants_;
  std::vector<bool> fragments_;            // by web: a register of a fragment, in memory
  llvm::AllocaInst* pointers_ = nullptr;   // see PointerTable
  llvm::AllocaInst* addresses_ = nullptr;  // of the lanes of a matrix access
  std::vector<Decoded> decoded_;           // in the block that is being emitted
  std::map<uint32_t, std::vector<llvm::AllocaInst*>> spare_decoded_;  // by size
};

}  // namespace kernelsmith::vgpu::jit
