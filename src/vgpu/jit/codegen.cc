#include "vgpu/jit/codegen.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "vgpu/op_facts.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

using llvm::ArrayRef;
using llvm::BasicBlock;
using llvm::Constant;
using llvm::ConstantInt;
using llvm::FixedVectorType;
using llvm::Type;

namespace {

// Back edges before compiled code gives way to the interpreter, which knows how to let others run.
// In loops with instructions that may wait for other threads soon; in others, only because a plain
// load may be such an instruction, too.
constexpr uint32_t kWaitingBackEdges = 1 << 10;
constexpr uint32_t kPlainBackEdges = 1 << 24;
// Tests in a row that saw nothing new: somebody else must do something. A few more than it takes
// to test several barriers once each.
constexpr uint32_t kSpins = 8;

}  // namespace

CodeGenerator::CodeGenerator(const CompileRequest& request, const Analysis& analysis,
                             llvm::Module& module)
    : request_(request),
      function_(*request.kernel->entry),
      analysis_(analysis),
      module_(module),
      context_(module.getContext()),
      builder_(context_),
      groups_(analysis.groups()),
      group_lanes_(static_cast<unsigned>(analysis.group_lanes())),
      whole_warps_(request.block.Count() % kLanes == 0) {}

Type* CodeGenerator::ElementOf(LaneWidth width) {
  if (width == LaneWidth::kPredicate) return builder_.getInt1Ty();
  return builder_.getIntNTy(8u << static_cast<uint32_t>(width));
}

Type* CodeGenerator::VectorOf(Type* element, unsigned lanes) {
  return FixedVectorType::get(element, lanes);
}

Type* CodeGenerator::Like(llvm::Value* value, Type* element) {
  if (auto* vector = llvm::dyn_cast<FixedVectorType>(value->getType())) {
    return VectorOf(element, vector->getNumElements());
  }
  return element;
}

llvm::Value* CodeGenerator::Splat(llvm::Value* scalar, unsigned lanes) {
  return builder_.CreateVectorSplat(lanes, scalar);
}

llvm::Value* CodeGenerator::Concat(ArrayRef<llvm::Value*> vectors) {
  llvm::SmallVector<llvm::Value*, 4> list(vectors.begin(), vectors.end());
  while (list.size() > 1) {
    llvm::SmallVector<llvm::Value*, 4> half;
    for (size_t i = 0; i < list.size(); i += 2) {
      const unsigned lanes = llvm::cast<FixedVectorType>(list[i]->getType())->getNumElements();
      llvm::SmallVector<int, 32> mask(2 * lanes);
      for (unsigned lane = 0; lane < 2 * lanes; ++lane) mask[lane] = static_cast<int>(lane);
      half.push_back(builder_.CreateShuffleVector(list[i], list[i + 1], mask));
    }
    list = half;
  }
  return list[0];
}

// stride * (lane in the group), for all lanes.
Constant* CodeGenerator::LaneOffsets(Type* element, int64_t stride) {
  llvm::SmallVector<Constant*, kLanes> lanes;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    const int64_t offset = stride * static_cast<int64_t>(lane % group_lanes_);
    lanes.push_back(ConstantInt::get(
        element,
        llvm::APInt(64, static_cast<uint64_t>(offset)).trunc(element->getIntegerBitWidth())));
  }
  return llvm::ConstantVector::get(lanes);
}

llvm::Value* CodeGenerator::Expand(const Value& value) {
  if (value.shape.varying()) return value.part[0];
  if (value.shape.uniform()) return Splat(value.part[0]);
  llvm::Value* bases = nullptr;
  if (groups_ == 1) {
    bases = Splat(value.part[0]);
  } else {
    llvm::SmallVector<llvm::Value*, 4> rows;
    for (llvm::Value* base : value.part) rows.push_back(Splat(base, group_lanes_));
    bases = Concat(rows);
  }
  if (value.shape.stride == 0) return bases;
  return builder_.CreateAdd(bases, LaneOffsets(value.part[0]->getType(), value.shape.stride));
}

llvm::Value* CodeGenerator::Group(const Value& value, int group) {
  return value.part[value.shape.affine() ? static_cast<size_t>(group) : 0];
}

Value CodeGenerator::Reshape(const Value& value, Shape shape) {
  if (value.shape == shape) return value;
  if (shape.varying()) return {shape, {Expand(value)}};
  if (value.shape.varying()) KS_UNREACHABLE();  // see FromLanes
  // One value for all groups.
  Value result{shape, {}};
  for (int g = 0; g < groups_; ++g) result.part.push_back(Group(value, g));
  return result;
}

Value CodeGenerator::LoadWeb(uint32_t web) {
  Value value{analysis_.webs()[web].shape, {}};
  for (size_t i = 0; i < storage_[web].size(); ++i) value.part.push_back(LoadPart(web, i));
  return value;
}

llvm::Value* CodeGenerator::LoadPart(uint32_t web, size_t part) {
  llvm::AllocaInst* slot = storage_[web][part];
  if (homes_[web] != nullptr) {
    return builder_.CreateAlignedLoad(slot->getAllocatedType(), homes_[web],
                                      llvm::Align(kHomeAlign));
  }
  return builder_.CreateLoad(slot->getAllocatedType(), slot);
}

void CodeGenerator::StorePart(uint32_t web, size_t part, llvm::Value* value) {
  if (homes_[web] != nullptr) {
    builder_.CreateAlignedStore(value, homes_[web], llvm::Align(kHomeAlign));
  } else {
    builder_.CreateStore(value, storage_[web][part]);
  }
}

void CodeGenerator::StoreWeb(uint32_t web, const Value& value) {
  ForgetDecoded(web);
  const Value shaped = Reshape(value, analysis_.webs()[web].shape);
  for (size_t i = 0; i < shaped.part.size(); ++i) {
    StorePart(web, i, shaped.part[i]);
  }
}

Value CodeGenerator::Special(Operand operand) {
  using Which = vgpu::Special;
  const auto index = static_cast<uint32_t>(operand.offset() / (kWarpSize * sizeof(uint32_t)));
  const auto which = static_cast<Which>(index);
  const Dim3 shape = request_.block;
  Type* i32 = builder_.getInt32Ty();
  const auto warp_index = [&] { return WarpField(offsetof(WarpContext, warp_index), i32); };
  const auto first = [&] { return builder_.CreateMul(warp_index(), builder_.getInt32(kLanes)); };
  // A coordinate of the thread with this number in the block.
  const auto coordinate = [&](llvm::Value* thread) -> llvm::Value* {
    Type* type = thread->getType();
    const auto constant = [&](uint32_t x) { return ConstantInt::get(type, x); };
    if (which == Which::kTidX) return builder_.CreateURem(thread, constant(shape.x));
    llvm::Value* row = builder_.CreateUDiv(thread, constant(shape.x));
    if (which == Which::kTidY) return builder_.CreateURem(row, constant(shape.y));
    return builder_.CreateUDiv(row, constant(shape.y));
  };
  const Shape result = analysis_.ShapeOf(pc_, operand);
  switch (which) {
    case Which::kTidX:
    case Which::kTidY:
    case Which::kTidZ: {
      Value value{result, {}};
      if (result.varying()) {
        llvm::SmallVector<Constant*, kLanes> lanes;
        for (unsigned lane = 0; lane < kLanes; ++lane) lanes.push_back(builder_.getInt32(lane));
        value.part.push_back(
            coordinate(builder_.CreateAdd(Splat(first()), llvm::ConstantVector::get(lanes))));
        return value;
      }
      const int parts = result.affine() ? groups_ : 1;
      for (int g = 0; g < parts; ++g) {
        const auto lane = static_cast<uint32_t>(g) * group_lanes_;
        value.part.push_back(coordinate(builder_.CreateAdd(first(), builder_.getInt32(lane))));
      }
      return value;
    }
    case Which::kLaneid: {
      if (result.affine()) return {result, {builder_.getInt32(0)}};
      llvm::SmallVector<Constant*, kLanes> lanes;
      for (unsigned lane = 0; lane < kLanes; ++lane) lanes.push_back(builder_.getInt32(lane));
      return {result, {llvm::ConstantVector::get(lanes)}};
    }
    case Which::kLanemaskEq:
    case Which::kLanemaskLe:
    case Which::kLanemaskLt:
    case Which::kLanemaskGe:
    case Which::kLanemaskGt: {
      llvm::SmallVector<Constant*, kLanes> lanes;
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const uint32_t bit = 1u << lane;
        const uint32_t below = bit - 1;
        const uint32_t mask = which == Which::kLanemaskEq   ? bit
                              : which == Which::kLanemaskLt ? below
                              : which == Which::kLanemaskLe ? (below | bit)
                              : which == Which::kLanemaskGt ? ~(below | bit)
                                                            : ~below;
        lanes.push_back(builder_.getInt32(mask));
      }
      return {result, {llvm::ConstantVector::get(lanes)}};
    }
    case Which::kNtidX:
      return {result, {builder_.getInt32(shape.x)}};
    case Which::kNtidY:
      return {result, {builder_.getInt32(shape.y)}};
    case Which::kNtidZ:
      return {result, {builder_.getInt32(shape.z)}};
    case Which::kWarpid:
      return {result, {warp_index()}};
    default: {
      llvm::Value* table = BlockField(offsetof(BlockContext, special), builder_.getPtrTy());
      llvm::LoadInst* load =
          builder_.CreateLoad(i32, builder_.CreateConstGEP1_32(i32, table, index));
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
      return {result, {load}};
    }
  }
}

Value CodeGenerator::Canonical(Value value) {
  for (llvm::Value*& part : value.part) {
    part = builder_.CreateSelect(IsNan(AsFloat(part)), Const(part, 0x7fffffff), part);
  }
  return value;
}

Value CodeGenerator::Read(Operand operand, bool as_float) {
  switch (operand.base()) {
    case OperandBase::kSpecial:
      return Special(operand);
    case OperandBase::kConstant: {
      Type* type = ElementOf(operand.width());
      const int64_t value = *analysis_.ConstantOf(operand);
      if (operand.is_predicate()) return {kUniformShape, {builder_.getInt1(value != 0)}};
      return {kUniformShape, {ConstantInt::get(type, static_cast<uint64_t>(value), true)}};
    }
    case OperandBase::kRegister:
      break;
  }
  const uint32_t web = analysis_.ReadWeb(pc_, operand);
  Value value = LoadWeb(web);
  if (analysis_.webs()[web].raw && !as_float) value = Canonical(std::move(value));
  return value;
}

void CodeGenerator::Write(Operand operand, Value value) {
  if (!operand.exists() || operand.base() != OperandBase::kRegister) return;
  const uint32_t web = analysis_.WriteWeb(pc_, operand);
  if (analysis_.Guarded(*in_)) {
    // Its first result may be its guard.
    if (!write_guard_) write_guard_ = Guard(*in_);
    const Value& guard = *write_guard_;
    const Value old = LoadWeb(web);
    const Shape shape = analysis_.webs()[web].shape;
    value = Reshape(value, shape);
    llvm::Value* condition = shape.varying() ? Expand(guard) : guard.part[0];
    for (size_t i = 0; i < value.part.size(); ++i) {
      value.part[i] = Choose(condition, value.part[i], old.part[i]);
    }
  }
  StoreWeb(web, value);
}

llvm::Value* CodeGenerator::BlockField(size_t offset, Type* type) {
  llvm::Value* place = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), block_context_, offset);
  llvm::LoadInst* load = builder_.CreateLoad(type, place);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return load;
}

llvm::Value* CodeGenerator::WarpField(size_t offset, Type* type) {
  llvm::Value* place = builder_.CreateConstGEP1_64(builder_.getInt8Ty(), warp_, offset);
  llvm::LoadInst* load = builder_.CreateLoad(type, place);
  // All but these stay as they are.
  if (offset != offsetof(WarpContext, registers) && offset != offsetof(WarpContext, spins)) {
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  }
  return load;
}

void CodeGenerator::SetWarpField(size_t offset, llvm::Value* value) {
  builder_.CreateStore(value, builder_.CreateConstGEP1_64(builder_.getInt8Ty(), warp_, offset));
}

llvm::Value* CodeGenerator::AllTrue(llvm::Value* mask) {
  llvm::Value* bits = builder_.CreateBitCast(mask, builder_.getInt32Ty());
  return builder_.CreateICmpEQ(bits, builder_.getInt32(kFullMask));
}

llvm::Value* CodeGenerator::Choose(llvm::Value* mask, llvm::Value* yes, llvm::Value* no) {
  const bool bits = yes->getType()->isVectorTy() && yes->getType()->getScalarType()->isIntegerTy(1);
  if (!bits) return builder_.CreateSelect(mask, yes, no);
  return builder_.CreateXor(builder_.CreateAnd(builder_.CreateXor(yes, no), mask), no);
}

// Not a bitcast of 32 bits to 32 lanes: LLVM 19's instruction selection turns logic on such lanes
// into logic on bits and back again, without end. A test of each lane's bit it leaves alone.
llvm::Value* CodeGenerator::LanesOf(llvm::Value* bits) {
  llvm::SmallVector<uint32_t, kLanes> own_bits;
  for (uint32_t lane = 0; lane < kLanes; ++lane) own_bits.push_back(uint32_t{1} << lane);
  llvm::Value* all = builder_.CreateVectorSplat(kLanes, bits);
  llvm::Value* own = builder_.CreateAnd(all, llvm::ConstantDataVector::get(context_, own_bits));
  return builder_.CreateICmpNE(own, Constant::getNullValue(own->getType()));
}

llvm::Value* CodeGenerator::MaskBits(const Value& predicate) {
  if (predicate.shape.uniform()) {
    return builder_.CreateSExt(predicate.part[0], builder_.getInt32Ty());
  }
  return builder_.CreateBitCast(predicate.part[0], builder_.getInt32Ty());
}

Value CodeGenerator::Guard(const Instruction& in) {
  Value guard = Read(in.guard);
  if (in.guard_negated) guard.part[0] = builder_.CreateNot(guard.part[0]);
  return guard;
}

BasicBlock* CodeGenerator::NewBlock(const char* name) {
  ++made_blocks_;
  return BasicBlock::Create(context_, name, kernel_);
}

void CodeGenerator::AddBackEdges() {
  if (!request_.slice) return;
  Type* i64 = builder_.getInt64Ty();
  llvm::Value* total = BlockField(offsetof(BlockContext, back_edges), builder_.getPtrTy());
  llvm::Value* own = builder_.CreateLoad(i64, lane_back_edges_);
  builder_.CreateStore(builder_.CreateAdd(builder_.CreateLoad(i64, total), own), total);
}

void CodeGenerator::Return(llvm::Value* outcome) {
  AddBackEdges();
  SetWarpField(offsetof(WarpContext, outcome), outcome);
  builder_.CreateRet(index_);
}

void CodeGenerator::Return(Outcome outcome) {
  llvm::Value* value = builder_.getInt32(static_cast<uint32_t>(outcome));
  if (outcome != Outcome::kDone && outcome != Outcome::kBarrier) return Return(value);
  AddBackEdges();
  SetWarpField(offsetof(WarpContext, outcome), value);
  builder_.CreateBr(next_);
}

BasicBlock* CodeGenerator::LeaveBlock(Outcome outcome) {
  const llvm::IRBuilderBase::InsertPointGuard restore(builder_);
  BasicBlock* block = NewBlock("leave");
  builder_.SetInsertPoint(block);
  std::vector<SavedValue> values;
  for (const LiveValue& value : analysis_.LiveBefore(pc_)) values.push_back(SaveNow(value));
  Leave(pc_, std::move(values), outcome);
  return block;
}

void CodeGenerator::BranchIfFailed(llvm::Value* good) {
  if (fault_ == nullptr) {
    const llvm::IRBuilderBase::InsertPointGuard restore(builder_);
    fault_ = NewBlock("fault");
    builder_.SetInsertPoint(fault_);
    Return(Outcome::kFault);
  }
  BasicBlock* next = NewBlock("handled");
  Cold(builder_.CreateNot(good), fault_, next);
  builder_.SetInsertPoint(next);
}

void CodeGenerator::Cold(llvm::Value* condition, BasicBlock* cold, BasicBlock* hot) {
  llvm::MDNode* weights = llvm::MDBuilder(context_).createBranchWeights(1, 10'000);
  builder_.CreateCondBr(condition, cold, hot, weights);
}

void CodeGenerator::EmitEntries(llvm::SwitchInst* entries) {
  const auto in_loop = [&](uint32_t b) {
    for (uint32_t u = b; u < analysis_.blocks().size(); ++u) {
      for (const uint32_t header : analysis_.blocks()[u].next) {
        if (header < b && u >= b) return true;
      }
    }
    return false;
  };
  entry_of_pc_.assign(function_.code.size() + 1, -1);
  entries_.resize(analysis_.blocks().size());
  for (uint32_t b = 0; b < analysis_.blocks().size(); ++b) {
    const CodeBlock& block = analysis_.blocks()[b];
    if (!block.reachable || b == 0) continue;
    bool after_barrier = false;
    bool after_call = false;
    bool header = false;
    for (const uint32_t previous : block.previous) {
      const Op op = function_.code[analysis_.blocks()[previous].last - 1].op;
      after_barrier |= op == Op::kBarrier;
      after_call |= op == Op::kCall;
      header |= previous >= b;
    }
    // How often a loop goes round can be reckoned only if all ways into it are known. A slice that
    // leaves its code often does without that.
    if (request_.slice && !request_.thorough) header = false;
    // Where lanes that left meet again; in the middle of a loop an entry would spoil it for the
    // optimiser.
    const bool join = left_for_.contains(b) && !in_loop(b);
    if (!header && !join && !after_call && !after_barrier) continue;
    entry_of_pc_[block.first] = static_cast<int32_t>(b);
    BasicBlock* entry = NewBlock("entry");
    entries->addCase(builder_.getInt32(EntryOf(b)), entry);
    builder_.SetInsertPoint(entry);
    for (const LiveValue& value : block.live_in) {
      entries_[b].push_back(Describe(value, storage_[value.web]));
      Restore(value.web);
    }
    builder_.CreateBr(blocks_[b]);
  }
}

void CodeGenerator::Run() {
  Type* i32 = builder_.getInt32Ty();
  Type* pointer = builder_.getPtrTy();
  llvm::FunctionType* type = llvm::FunctionType::get(i32, {pointer, pointer, i32, i32}, false);
  kernel_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage, kName, module_);
  block_context_ = kernel_->getArg(0);
  kernel_->addParamAttr(0, llvm::Attribute::NoAlias);
  kernel_->addParamAttr(1, llvm::Attribute::NoAlias);
  start_ = NewBlock("start");
  BasicBlock* warps = NewBlock("warps");
  next_ = NewBlock("next_warp");
  builder_.SetInsertPoint(start_);
  builder_.CreateBr(warps);

  builder_.SetInsertPoint(warps);
  llvm::PHINode* warp = builder_.CreatePHI(pointer, 2);
  warp_ = warp;
  index_ = builder_.CreatePHI(i32, 2);
  warp->addIncoming(kernel_->getArg(1), start_);
  index_->addIncoming(builder_.getInt32(0), start_);
  FindFragments();
  BeginCoverage();
  for (const Web& web : analysis_.webs()) {
    const int parts = web.shape.affine() ? groups_ : 1;
    Type* element = ElementOf(web.width);
    Type* stored = web.shape.varying() ? VectorOf(element) : element;
    storage_.emplace_back();
    for (int i = 0; i < parts; ++i) {
      llvm::AllocaInst* slot = Slot(stored);
      if (!fragments_[storage_.size() - 1]) {
        builder_.CreateStore(Constant::getNullValue(stored), slot);
      }
      storage_.back().push_back(slot);
    }
  }
  FindHomes();
  back_edges_ = Slot(i32);
  builder_.CreateStore(builder_.getInt32(0), back_edges_);
  if (request_.slice) {
    lane_back_edges_ = Slot(builder_.getInt64Ty());
    builder_.CreateStore(builder_.getInt64(0), lane_back_edges_);
  }
  for (size_t b = 0; b < analysis_.blocks().size(); ++b) blocks_.push_back(NewBlock("b"));
  FindAccessGroups();
  llvm::SwitchInst* entries = builder_.CreateSwitch(kernel_->getArg(2), blocks_[0]);
  for (uint32_t b = 0; b < blocks_.size(); ++b) {
    builder_.SetInsertPoint(blocks_[b]);
    EmitBlock(b);
  }
  EmitEntries(entries);
  SeparateCoverage();

  builder_.SetInsertPoint(next_);
  if (llvm::pred_empty(next_)) {
    builder_.CreateUnreachable();
    return;
  }
  llvm::Value* done = builder_.CreateAdd(index_, builder_.getInt32(1));
  warp->addIncoming(builder_.CreateConstGEP1_64(builder_.getInt8Ty(), warp_, request_.warp_stride),
                    next_);
  index_->addIncoming(done, next_);
  BasicBlock* all = NewBlock("all_warps");
  builder_.CreateCondBr(builder_.CreateICmpULT(done, kernel_->getArg(3)), warps, all);
  builder_.SetInsertPoint(all);
  builder_.CreateRet(done);
}

void CodeGenerator::Describe(CompiledKernel& kernel) {
  kernel.sites = sites_;
  kernel.save_bytes = save_bytes_;
  kernel.entry_of_pc = std::move(entry_of_pc_);
  kernel.entries = std::move(entries_);
  kernel.exits = std::move(exits_);
  kernel.calls = std::move(calls_);
  kernel.matrix_accesses = std::move(matrix_accesses_);
  kernel.constants = std::move(constants_);
  kernel.streams = request_.streams;
}

void CodeGenerator::EmitBlock(uint32_t b) {
  const CodeBlock& block = analysis_.blocks()[b];
  if (!block.reachable) {
    builder_.CreateUnreachable();
    return;
  }
  group_state_.clear();
  ForgetAllDecoded();
  for (pc_ = block.first; pc_ < block.last; ++pc_) {
    in_ = &function_.code[pc_];
    if (EndsBlock(in_->op)) {
      EmitControl();
      return;
    }
    EmitInstruction();
  }
  --pc_;
  builder_.CreateBr(GoCovered(b + 1, false));
}

// Everything but branches, calls, exits and barriers.
void CodeGenerator::EmitInstruction() {
  write_guard_.reset();
  CoverSides();
  const bool guarded = analysis_.Guarded(*in_);
  const bool access = analysis_.IsNativeAccess(*in_) ||
                      (Analysis::IsNativeAtomic(*in_) && request_.helpers.find_atomic(*in_, false));
  const bool together = FactsOf(in_->op).partners != Partners::k_;
  const bool by_handler = ScreenedByHandler(*in_) || (together && !whole_warps_) ||
                          !(access || analysis_.IsNative(*in_));
  if (in_->control && parted_ != nullptr) {
    // Lanes that come together: DetourOf keeps these out of detours, but for calls that end them.
    builder_.CreateBr(LeaveBlock());
    builder_.SetInsertPoint(NewBlock("never"));
    return;
  }
  if (in_->control && guarded) {
    // Lanes that come together: all or none, or the interpreter sorts it out.
    llvm::Value* running = RunningBits();
    llvm::Value* bits = builder_.CreateAnd(MaskBits(Guard(*in_)), running);
    BasicBlock* some = NewBlock("some");
    BasicBlock* all = NewBlock("all");
    BasicBlock* after = NewBlock("after");
    builder_.CreateCondBr(builder_.CreateICmpEQ(bits, builder_.getInt32(0)), after, some);
    builder_.SetInsertPoint(some);
    Cold(builder_.CreateICmpNE(bits, running), LeaveBlock(), all);
    builder_.SetInsertPoint(all);
    if (by_handler) {
      EmitHandler(running);
    } else {
      EmitNative();
    }
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
    return;
  }
  if (access && !by_handler) {
    EmitAccess();
  } else if (!by_handler) {
    EmitNative();
  } else if (!guarded) {
    EmitHandler(RunningBits());
  } else {
    llvm::Value* bits = builder_.CreateAnd(MaskBits(Guard(*in_)), RunningBits());
    BasicBlock* some = NewBlock("some");
    BasicBlock* after = NewBlock("after");
    builder_.CreateCondBr(builder_.CreateICmpEQ(bits, builder_.getInt32(0)), after, some);
    builder_.SetInsertPoint(some);
    EmitHandler(bits);
    builder_.CreateBr(after);
    builder_.SetInsertPoint(after);
  }
}

llvm::Value* CodeGenerator::EmitCall(HandlerCall call, llvm::Value* mask, bool access) {
  call.instruction = in_;
  call.pc = pc_;
  ForEachTouch(*in_, function_.list, true, [&](Operand operand, Touch touch) {
    // Results that the instruction only writes are not read webs; partial masks keep other lanes.
    uint32_t web = analysis_.ReadWeb(pc_, operand);
    if (web == ~0u && touch != Touch::kRead && !llvm::isa<Constant>(mask)) {
      web = analysis_.WriteWeb(pc_, operand);
    }
    if (web != ~0u) call.operands.push_back(SaveNow({operand.offset(), web}));
  });
  calls_.push_back(std::make_unique<HandlerCall>(std::move(call)));
  Type* pointer = builder_.getPtrTy();
  Type* i32 = builder_.getInt32Ty();
  const auto address = [&](const void* p) {
    return builder_.CreateIntToPtr(builder_.getInt64(reinterpret_cast<uint64_t>(p)), pointer);
  };
  llvm::Value* description = address(calls_.back().get());
  if (access) {
    llvm::FunctionType* type =
        llvm::FunctionType::get(i32, {pointer, pointer, pointer, i32, pointer}, false);
    llvm::InlineAsm* call_it = llvm::InlineAsm::get(
        type, "callq *$5",
        "={eax},{rdi},{rsi},{rdx},{ecx},{rax},~{memory},~{dirflag},~{fpsr},~{flags}",
        /*hasSideEffects=*/true);
    return builder_.CreateCall(type, call_it,
                               {block_context_, warp_, description, mask,
                                address(reinterpret_cast<const void*>(request_.helpers.access))});
  }
  llvm::FunctionType* type =
      llvm::FunctionType::get(builder_.getInt1Ty(), {pointer, pointer, pointer, i32}, false);
  llvm::CallInst* result =
      builder_.CreateCall(type, address(reinterpret_cast<const void*>(request_.helpers.handle)),
                          {block_context_, warp_, description, mask});
  result->addRetAttr(llvm::Attribute::ZExt);
  return result;
}

// The results that a handler left in the interpreter's registers.
void CodeGenerator::ReadResults(llvm::Value* mask) {
  llvm::Value* registers = nullptr;
  ForEachTouch(*in_, function_.list, true, [&](Operand operand, Touch touch) {
    if (touch == Touch::kRead) return;
    if (registers == nullptr) {
      registers = WarpField(offsetof(WarpContext, registers), builder_.getPtrTy());
    }
    const uint32_t web = analysis_.WriteWeb(pc_, operand);
    llvm::Value* place =
        builder_.CreateConstGEP1_32(builder_.getInt8Ty(), registers, operand.offset());
    Type* vector = VectorOf(ElementOf(operand.width()));
    llvm::Value* lanes = nullptr;
    if (operand.is_predicate()) {
      lanes = LanesOf(builder_.CreateAlignedLoad(builder_.getInt32Ty(), place, llvm::Align(4)));
    } else {
      lanes = builder_.CreateAlignedLoad(vector, place, llvm::Align(32));
    }
    // A load through the handler may have a result that is known to be uniform.
    StoreWeb(web, FromLanes(lanes, analysis_.webs()[web].shape, mask, nullptr));
  });
}

void CodeGenerator::EmitHandler(llvm::Value* mask) {
  BranchIfFailed(EmitCall({}, mask, false));
  ReadResults(mask);
}

void CodeGenerator::CountBackEdge(uint32_t target) {
  if (target > pc_) return;
  // Most loops of a slice do nothing but count, and LLVM takes them away: see LimitLoops.
  if (request_.slice && !analysis_.has_waits()) return;
  bool waits = false;
  for (uint32_t pc = target; pc <= pc_; ++pc) {
    const Instruction& in = function_.code[pc];
    waits |= in.waits && (in.op != Op::kAtom || analysis_.TellsOldValue(pc));
  }
  const uint32_t cost = waits ? kPlainBackEdges / kWaitingBackEdges : 1;
  llvm::Value* count = builder_.CreateAdd(builder_.CreateLoad(builder_.getInt32Ty(), back_edges_),
                                          builder_.getInt32(cost));
  builder_.CreateStore(count, back_edges_);
  llvm::Value* enough = builder_.CreateICmpUGT(count, builder_.getInt32(kPlainBackEdges));
  if (waits) {
    llvm::Value* spins = WarpField(offsetof(WarpContext, spins), builder_.getInt32Ty());
    enough = builder_.CreateOr(enough, builder_.CreateICmpUGE(spins, builder_.getInt32(kSpins)));
  }
  BasicBlock* go_on = NewBlock("again");
  Cold(enough, LeaveBlock(Outcome::kGiveWay), go_on);
  builder_.SetInsertPoint(go_on);
}

void CodeGenerator::EmitBarrier() {
  const bool plain = !analysis_.Guarded(*in_) && !in_->b.exists() && !in_->c.exists() &&
                     !in_->d.exists() && analysis_.ConstantIn(*in_, in_->a) &&
                     in_->variant == static_cast<uint8_t>(BarrierKind::kSync);
  if (!plain) {
    builder_.CreateBr(LeaveBlock());
    return;
  }
  const CodeBlock& next = analysis_.blocks()[analysis_.block_of(pc_) + 1];
  for (const LiveValue& value : next.live_in) SaveNow(value);
  CoverWay(analysis_.block_of(pc_) + 1, RunningBits(), false, true);
  SetWarpField(offsetof(WarpContext, exit_pc), builder_.getInt32(pc_));
  Return(Outcome::kBarrier);
}

void CodeGenerator::EmitControl() {
  const uint32_t after = analysis_.block_of(pc_) + 1;
  switch (in_->op) {
    case Op::kBra: {
      CountBackEdge(in_->target);
      const uint32_t target = analysis_.block_of(in_->target);
      if (!analysis_.Guarded(*in_)) {
        builder_.CreateBr(GoCovered(target, true));
        return;
      }
      return EmitPart(Guard(*in_), target, after);
    }
    case Op::kBarrier:
      return EmitBarrier();
    case Op::kRet:
    case Op::kExit:
      if (!analysis_.Guarded(*in_)) {
        builder_.CreateBr(GoCovered(Analysis::kEnd, true));
        return;
      }
      return EmitPart(Guard(*in_), Analysis::kEnd, after);
    case Op::kCall:
      if (function_.calls[in_->target].system != 0 && parted_ == nullptr) {
        EmitInstruction();
        CoverWay(after, RunningBits(), false, true);
        builder_.CreateBr(Go(after));
        return;
      }
      [[fallthrough]];
    default:
      builder_.CreateBr(LeaveBlock());
  }
}

}  // namespace kernelsmith::vgpu::jit
