// From the kernel IR to LLVM IR: one function that runs a warp whose 32 lanes are all at the same
// place. See abi.h for how it is entered and left, analysis.h for shapes.
//
// f32 instructions give NaN one bit pattern. Compiled code does not bother while a value goes from
// one f32 instruction to the next: such *raw* values are made canonical where their bits can be
// seen (stores, moves to integers, shuffles, the interpreter).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vgpu/jit/abi.h"
#include "vgpu/jit/analysis.h"

namespace kernelsmith::vgpu::jit {

inline constexpr unsigned kLanes = 32;

// A value in the form of its shape: one scalar, one scalar a group (its first lane), or a vector.
struct Value {
  Shape shape;
  llvm::SmallVector<llvm::Value*, 4> part;
};

class CodeGenerator {
 public:
  CodeGenerator(const CompileRequest& request, const Analysis& analysis, llvm::Module& module);
  void Run();

  static constexpr const char* kName = "kernel";
  uint32_t sites() const { return sites_; }
  uint32_t save_bytes() const { return save_bytes_; }
  bool needs_registers() const { return needs_registers_; }
  std::vector<int32_t> TakeEntries() { return std::move(entry_of_pc_); }

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
  void StoreWeb(uint32_t web, const Value& value);
  Value Special(Operand operand);
  // `as_float`: raw bits will do.
  Value Read(Operand operand, bool as_float = false);
  Value Canonical(Value value);
  void Write(Operand operand, Value value);
  llvm::Value* Field(size_t offset, llvm::Type* type);
  llvm::Value* Registers();
  void StoreRegister(llvm::Value* registers, const LiveValue& value);
  llvm::Value* AllTrue(llvm::Value* mask);
  llvm::Value* MaskBits(const Value& predicate);
  Value Guard(const Instruction& in);
  llvm::BasicBlock* NewBlock(const char* name);
  void Return(Outcome outcome);
  // A block that leaves for the interpreter before the current instruction.
  llvm::BasicBlock* LeaveBlock(Outcome outcome = Outcome::kLeave);
  llvm::BasicBlock* FaultBlock();
  void Cold(llvm::Value* condition, llvm::BasicBlock* cold, llvm::BasicBlock* hot);
  void EmitEntries();
  void EmitBlock(uint32_t block);
  void EmitInstruction();
  void EmitControl();
  void EmitBranch();
  void EmitBarrier();
  void EmitHandler(llvm::Value* mask);
  uint32_t SaveSlot(uint32_t web);
  void CountBackEdge(uint32_t target);

  // ---- codegen_ops.cc: arithmetic
  void EmitNative();
  Value Apply(llvm::ArrayRef<Value> operands, const Elementwise& function);
  llvm::Value* Arithmetic(llvm::ArrayRef<llvm::Value*> x);
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
  Value Address();
  void EmitLoad(const Value& address, llvm::Value* delta);
  void EmitStore(const Value& address, llvm::Value* delta);
  llvm::Value* Host(llvm::Value* address, llvm::Value* delta, int64_t offset = 0);
  // Whether `test` holds for the lowest address of every group, or of every lane.
  llvm::Value* ForAll(const Value& address, const std::function<llvm::Value*(llvm::Value*)>& test);
  int64_t Spread(const Value& address) const;
  // The address and size of all that the warp accesses.
  std::pair<llvm::Value*, llvm::Value*> Range(const Value& address, uint32_t total);
  bool Contiguous(const Value& address) const;

  const CompileRequest& request_;
  const Function& function_;
  const Analysis& analysis_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> builder_;
  int groups_;
  unsigned group_lanes_;

  llvm::Function* kernel_ = nullptr;
  llvm::Value* warp_ = nullptr;  // WarpContext*
  llvm::BasicBlock* start_ = nullptr;
  llvm::BasicBlock* fault_ = nullptr;
  std::vector<llvm::BasicBlock*> blocks_;
  std::vector<llvm::SmallVector<llvm::AllocaInst*, 4>> storage_;  // by web
  llvm::AllocaInst* back_edges_ = nullptr;
  std::map<uint32_t, uint32_t> save_slot_;
  uint32_t save_bytes_ = 0;
  uint32_t sites_ = 0;
  bool needs_registers_ = false;
  std::vector<int32_t> entry_of_pc_;

  uint32_t pc_ = 0;
  const Instruction* in_ = nullptr;
};

}  // namespace kernelsmith::vgpu::jit
