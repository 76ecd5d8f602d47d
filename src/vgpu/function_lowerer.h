// Lowers one function. Split over lower_*.cc by kind of instruction: each has a function of its own
// name, to which the table of PTX (ptx/instructions.def) sends the instructions. Private to
// src/vgpu.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "vgpu/lower.h"
#include "vgpu/math/libdevice.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu {

struct KernelContext {
  const Linker* linker = nullptr;
  const DeviceMemory* memory = nullptr;
  const SharedLayout* shared = nullptr;
  CpuLevel cpu = CpuLevel::kBase;  // whose handlers instructions get
  std::unordered_map<const ptx::Function*, Function*> functions;
};

// Sets Instruction::index in code whose registers are still virtual (index_slice.cc).
void MarkIndexArithmetic(Function& function, size_t registers);

class FunctionLowerer {
 public:
  FunctionLowerer(const KernelContext& kernel, FunctionRef ref, Function& out)
      : kernel_(kernel), module_(*ref.module), function_(*ref.function), out_(out) {}

  Status Run();
  // Places parameters and results in the frame; before any Run, since callers need it.
  Status LayOutFrame();

 private:
  // ---- lower.cc: registers, operands, emission
  Status DeclareRegisters();
  void EmitPrologue();
  void EmitEpilogue();
  Status LowerStatements();
  Status ResolveBranches();
  Status LowerInstruction(const ptx::Instruction& instruction);
  Status Dispatch();

  uint32_t NewRegister(LaneWidth width);
  Operand Temporary(LaneWidth width);
  Operand Temporary(ptx::Type type);
  Operand Constant(LaneWidth width, uint64_t low, uint64_t high = 0);
  Operand PredicateConstant(bool value);
  Result<Operand> RegisterOf(const ptx::Operand& operand);
  // One of the registers that a vector has side by side.
  static Operand ElementAt(Operand first, int element);
  Result<Operand> SpecialRegisterOf(const ptx::Operand& operand);
  Result<Operand> AddressOfSymbol(const ptx::Operand& operand, ptx::Type type);
  // The elements of a vector, or the operand itself.
  static std::vector<const ptx::Operand*> PartsOf(const ptx::Operand& operand);
  Operand Resize(Operand from, LaneWidth to, bool sign_extend);

  // The operand's value with the width of `type`.
  Result<Operand> Source(const ptx::Operand& operand, ptx::Type type);
  Result<Operand> Source(size_t index, ptx::Type type);
  Result<Operand> SourcePredicate(const ptx::Operand& operand, bool& negated);
  // Where a result of `type` goes; a register of another width gets it by a resize that follows.
  Result<Operand> Destination(const ptx::Operand& operand, ptx::Type type);
  Result<Operand> Destination(size_t index, ptx::Type type);

  Instruction Make(Op op, ptx::Type type);
  // Finds the handler; an instruction without one is unsupported.
  Status Append(Instruction instruction);
  Error Unsupported(const std::string& why = {}) const;
  Status LowerUnsupported() { return Unsupported(); }
  Error Invalid(std::string why) const;

  size_t count() const { return in_->operands.size(); }
  const ptx::Operand& operand(size_t i) const { return in_->operands[i]; }
  bool Has(ptx::Modifier modifier) const { return mnemonic_->Has(modifier); }

  // ---- lower_arithmetic.cc
  Status LowerArithmetic();
  // d = op(sources), all of type() unless types are given.
  Status Regular(Op op);
  Status Typed(Instruction instruction, ptx::Type result, std::initializer_list<ptx::Type> sources);
  Status LowerAddSub(bool subtract, bool carry_in);
  Status LowerMul();
  Status LowerMad(bool carry_in);
  Status LowerMinMax(bool max);
  Status LowerSetp();
  Status LowerSet();
  Status LowerSelect();
  Status LowerLogic();
  Status LowerLop3();

  // ---- lower_video.cc
  Status LowerVideo();

  // ---- lower_move.cc
  Status LowerMove();
  Status LowerMov();
  Status LowerCvt();
  Status LowerCvta();
  Status LowerIsspacep();

  // ---- lower_memory.cc
  struct Address {
    MemorySpace space = MemorySpace::kGeneric;
    AddressBase base = AddressBase::kAbsolute;
    Operand reg;
    int64_t offset = 0;
  };
  Result<Address> LowerAddress(const ptx::Operand& operand, ptx::Space space);
  void SetAddress(Instruction& instruction, const Address& address) const;
  uint32_t AppendList(const std::vector<Operand>& operands);
  Status LowerMemory();
  Status LowerLoad();
  Status LowerStore();
  Status LowerAtomic(bool reduction);
  Status LowerCpAsync();

  // ---- lower_other.cc
  Status LowerOther();
  Status LowerNothing();
  Status LowerStack();

  // ---- lower_control.cc
  Status LowerControl();
  Status LowerBranch();
  Status LowerCall();
  Status LowerMathCall(const ptx::CallParts& parts, const ptx::Function& declared,
                       const math::LibdeviceFunction& function);
  Status LowerBarrier();
  Status LowerClusterBarrier();
  Result<FrameRange> CallArgument(const ptx::Operand& operand, const ptx::Variable* formal);
  Result<FrameRange> CallResult(const ptx::Operand& operand, const ptx::Variable* formal);
  ptx::Type ArgumentType(const ptx::Operand& operand, const ptx::Variable* formal) const;
  Result<FrameRange> ScratchRange(const ptx::Operand& operand, const ptx::Variable* formal);
  Instruction FrameAccess(Op op, ptx::Type type, uint32_t offset, Operand reg);
  // The same for each element of a register parameter or result.
  void AppendFrameAccesses(Op op, const ptx::Variable& variable, uint32_t offset, Operand first);

  // ---- lower_warp.cc
  Status LowerWarp();
  Status LowerShfl();
  Status LowerVote();

  // ---- lower_mbarrier.cc
  Status LowerMbarrier();

  // ---- lower_bulk.cc
  Result<Operand> FlatAddress(const Address& address);
  Status LowerBulk();

  // ---- lower_texture.cc
  Status LowerTexture();

  // ---- lower_matrix.cc
  Status LowerMatrix();
  Status LowerMma();
  Status LowerWmma();
  Status LowerLdmatrix();
  Status LowerWgmma();

  // ---- registers.cc
  void AssignRegisters();

  const KernelContext& kernel_;
  const ptx::Module& module_;
  const ptx::Function& function_;
  Function& out_;

  const ptx::Instruction* in_ = nullptr;
  const ptx::Mnemonic* mnemonic_ = nullptr;
  ptx::Type type() const { return mnemonic_->TypeAt(0); }
  Operand guard_;
  bool guard_negated_ = false;
  uint32_t location_ = 0;

  std::vector<LaneWidth> registers_;      // width of each virtual register
  std::vector<uint32_t> first_register_;  // one entry a ptx::Register
  // .reg parameters and results of old code; of vectors the first element.
  std::vector<Operand> register_parameters_;
  std::vector<Operand> register_results_;
  Operand carry_;
  std::vector<Instruction> after_;  // emitted behind the current instruction
  std::map<std::tuple<LaneWidth, uint64_t, uint64_t>, Operand> constants_;
  std::vector<uint32_t> label_pc_;
  std::vector<uint32_t> variable_offset_;  // in the frame, of Function::variables
  uint32_t frame_end_ = 0;
};

LaneWidth WidthOf(ptx::Type type);
bool IsSignedType(ptx::Type type);

}  // namespace kernelsmith::vgpu
