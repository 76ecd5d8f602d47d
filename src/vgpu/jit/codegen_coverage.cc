// Recording what a launch covers (vgpu/coverage_map.h). Every item has a word that collects lanes;
// a loop has two words in the warp, for lanes that went round once and more often. Where all lanes
// that run do something, a plain store of a constant does.

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

#include "vgpu/coverage_map.h"
#include "vgpu/jit/codegen.h"

namespace kernelsmith::vgpu::jit {

using llvm::BasicBlock;

namespace {

const llvm::Align kWord(sizeof(uint32_t));

}  // namespace

void CodeGenerator::BeginCoverage() {
  if (request_.coverage == nullptr) return;
  llvm::MDBuilder metadata(context_);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain("coverage");
  coverage_scope_ =
      llvm::MDNode::get(context_, metadata.createAnonymousAliasScope(domain, "coverage"));
}

llvm::Value* CodeGenerator::LoadCoverage(llvm::Value* place) {
  llvm::LoadInst* load = builder_.CreateAlignedLoad(builder_.getInt32Ty(), place, kWord);
  load->setMetadata(llvm::LLVMContext::MD_alias_scope, coverage_scope_);
  return load;
}

void CodeGenerator::StoreCoverage(llvm::Value* value, llvm::Value* place) {
  builder_.CreateAlignedStore(value, place, kWord)
      ->setMetadata(llvm::LLVMContext::MD_alias_scope, coverage_scope_);
}

llvm::Value* CodeGenerator::CoverageEntry(uint32_t item) {
  return builder_.CreateConstGEP1_32(
      builder_.getInt32Ty(), BlockField(offsetof(BlockContext, coverage), builder_.getPtrTy()),
      item);
}

void CodeGenerator::AddLanes(uint32_t item, llvm::Value* lanes) {
  llvm::Value* place = CoverageEntry(item);
  StoreCoverage(builder_.CreateOr(LoadCoverage(place), lanes), place);
}

void CodeGenerator::CoverSides() {
  if (request_.coverage == nullptr) return;
  const FunctionCoverage::Step& step = request_.coverage->functions[function_.number].steps[pc_];
  llvm::Value* lanes = RunningBits();
  if (step.guard != kNoItem) {
    llvm::Value* guard = MaskBits(Guard(*in_));
    AddLanes(step.guard + 1, builder_.CreateAnd(lanes, builder_.CreateNot(guard)));
    lanes = builder_.CreateAnd(lanes, guard);
    AddLanes(step.guard, lanes);
  }
  if (step.condition == kNoItem) return;
  llvm::Value* chosen = MaskBits(Read(in_->c));
  if (in_->negate_c) chosen = builder_.CreateNot(chosen);
  AddLanes(step.condition, builder_.CreateAnd(lanes, chosen));
  AddLanes(step.condition + 1, builder_.CreateAnd(lanes, builder_.CreateNot(chosen)));
}

void CodeGenerator::CoverWay(uint32_t block, llvm::Value* lanes, bool taken, bool some) {
  if (request_.slice && block != Analysis::kEnd && analysis_.blocks()[block].first <= pc_) {
    llvm::Type* i64 = builder_.getInt64Ty();
    llvm::Value* count = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, lanes);
    llvm::Value* total = builder_.CreateLoad(i64, lane_back_edges_);
    builder_.CreateStore(builder_.CreateAdd(total, builder_.CreateZExt(count, i64)),
                         lane_back_edges_);
  }
  if (request_.coverage == nullptr) return;
  const FunctionCoverage& own = request_.coverage->functions[function_.number];
  // `some`: at least one lane goes this way, which is all that the item needs to know.
  const auto add = [&](uint32_t item) {
    if (some) {
      StoreCoverage(builder_.getInt32(1), CoverageEntry(item));
    } else {
      AddLanes(item, lanes);
    }
  };
  // A call or a barrier goes on behind itself, whatever its guard.
  const bool divides = in_->op == Op::kBra || in_->op == Op::kRet || in_->op == Op::kExit;
  const FunctionCoverage::Step& step = own.steps[pc_];
  if (step.guard != kNoItem && divides) add(taken ? step.guard : step.guard + 1);
  const CoverageEdge* edge = own.FindEdge(
      pc_, block == Analysis::kEnd ? FunctionCoverage::kEnd : analysis_.blocks()[block].first);
  if (edge == nullptr) return;
  if (edge->item != kNoItem) add(edge->item);
  const auto state = [&](uint32_t word) {
    return builder_.CreateConstGEP1_32(
        builder_.getInt32Ty(), WarpField(offsetof(WarpContext, loops), builder_.getPtrTy()), word);
  };
  for (const uint32_t loop : edge->left) {
    const uint32_t item = request_.coverage->loops[loop].item;
    llvm::Value* once = LoadCoverage(state(2 * loop));
    llvm::Value* often = LoadCoverage(state(2 * loop + 1));
    llvm::Value* not_once = builder_.CreateNot(once);
    llvm::Value* not_often = builder_.CreateNot(often);
    AddLanes(item, builder_.CreateAnd(lanes, not_once));
    AddLanes(item + 1, builder_.CreateAnd(lanes, builder_.CreateAnd(once, not_often)));
    AddLanes(item + 2, builder_.CreateAnd(lanes, often));
    llvm::Value* others = builder_.CreateNot(lanes);
    StoreCoverage(builder_.CreateAnd(once, others), state(2 * loop));
    StoreCoverage(builder_.CreateAnd(often, others), state(2 * loop + 1));
  }
  if (edge->back == kNoItem) return;
  llvm::Value* once = LoadCoverage(state(2 * edge->back));
  llvm::Value* often = LoadCoverage(state(2 * edge->back + 1));
  StoreCoverage(builder_.CreateOr(often, builder_.CreateAnd(once, lanes)),
                state(2 * edge->back + 1));
  StoreCoverage(builder_.CreateOr(once, lanes), state(2 * edge->back));
}

BasicBlock* CodeGenerator::GoCovered(uint32_t block, bool taken) {
  if (request_.coverage == nullptr && !request_.slice) return Go(block);
  const llvm::IRBuilderBase::InsertPointGuard restore(builder_);
  BasicBlock* way = NewBlock("way");
  builder_.SetInsertPoint(way);
  CoverWay(block, RunningBits(), taken, true);
  builder_.CreateBr(Go(block));
  return way;
}

// Without this, every store of an item would be in the way of loads that leave a loop.
void CodeGenerator::SeparateCoverage() {
  if (coverage_scope_ == nullptr) return;
  for (BasicBlock& block : *kernel_) {
    for (llvm::Instruction& instruction : block) {
      if (instruction.mayReadOrWriteMemory() &&
          instruction.getMetadata(llvm::LLVMContext::MD_alias_scope) == nullptr) {
        instruction.setMetadata(llvm::LLVMContext::MD_noalias, coverage_scope_);
      }
    }
  }
}

}  // namespace kernelsmith::vgpu::jit
