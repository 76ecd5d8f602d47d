// Lanes that part. Where a branch divides the lanes of a warp, the code up to the place where they
// meet again (the branch's post-dominator) is there a second time, for a part of the lanes. Lanes
// of the lower address run first, as in the interpreter; the others wait. Values are computed for
// all lanes: those that do not run have theirs elsewhere (waiting: Parted::kept; arrived:
// Join::arriving), so that only memory accesses need masks.
//
// At the join every web must have the shape that the analysis found by looking at whole warps only.
// That is checked; if it does not hold, the interpreter goes on.

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "vgpu/jit/codegen.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

using llvm::BasicBlock;

namespace {

// Limits of what is worth its compile time: at first, and when the kernel turned out to need more.
struct Limits {
  uint32_t detour;  // instructions of one
  uint32_t copies;  // the size of all copies, as a multiple of the kernel's own
  uint32_t depth;
  uint32_t blocks;  // LLVM's blocks in all: compile time grows with them
};
constexpr Limits kBrief{24, 1, 2, 1000};
constexpr Limits kThorough{400, 2, 4, 1500};

}  // namespace

llvm::AllocaInst* CodeGenerator::Slot(llvm::Type* type) {
  const llvm::IRBuilderBase::InsertPointGuard restore(builder_);
  builder_.SetInsertPoint(start_, start_->begin());
  return builder_.CreateAlloca(type);
}

llvm::Value* CodeGenerator::RunningBits() {
  llvm::Type* i32 = builder_.getInt32Ty();
  if (AllRun()) return builder_.getInt32(kFullMask);
  if (parted_ == nullptr) {
    const uint64_t threads = request_.block.Count();
    if (threads < kLanes) return builder_.getInt32((1u << threads) - 1);
    return WarpField(offsetof(WarpContext, lanes), i32);
  }
  return builder_.CreateLoad(i32, parted_->lanes);
}

BasicBlock* CodeGenerator::Go(uint32_t block) {
  if (parted_ == nullptr) {
    if (block != Analysis::kEnd) return blocks_[block];
    if (end_ == nullptr) {
      const llvm::IRBuilderBase::InsertPointGuard restore(builder_);
      end_ = NewBlock("end");
      builder_.SetInsertPoint(end_);
      Return(Outcome::kDone);
    }
    return end_;
  }
  if (block == parted_->join->block) {
    const llvm::IRBuilderBase::InsertPointGuard restore(builder_);
    BasicBlock* arrive = NewBlock("arrive");
    builder_.SetInsertPoint(arrive);
    Arrive(RunningBits());
    builder_.CreateBr(parted_->done);
    return arrive;
  }
  const auto [it, inserted] = parted_->copies.try_emplace(block, nullptr);
  if (inserted) {
    it->second = NewBlock("parted");
    parted_->work.push_back(block);
  }
  return it->second;
}

// What the lanes of `bits` bring to the join.
void CodeGenerator::Arrive(llvm::Value* bits) {
  if (parted_->join->arriving.empty()) return;
  llvm::Value* lanes = LanesOf(bits);
  for (const auto& [web, slot] : parted_->join->arriving) {
    llvm::Value* old = builder_.CreateLoad(slot->getAllocatedType(), slot);
    builder_.CreateStore(Choose(lanes, Expand(LoadWeb(web)), old), slot);
  }
}

void CodeGenerator::EmitPart(const Value& guard, uint32_t target, uint32_t after) {
  if (guard.shape.uniform()) {
    builder_.CreateCondBr(guard.part[0], GoCovered(target, true), GoCovered(after, false));
    return;
  }
  llvm::Value* zero = builder_.getInt32(0);
  llvm::Value* running = RunningBits();
  llvm::Value* take = MaskBits(guard);
  if (!AllRun()) take = builder_.CreateAnd(take, running);
  if (parted_ != nullptr) {
    llvm::Value* stay = builder_.CreateAnd(running, builder_.CreateNot(take));
    if (target == parted_->join->block || after == parted_->join->block) {
      // A part has arrived; the rest goes on.
      const bool taken = target == parted_->join->block;
      llvm::Value* arrived = taken ? take : stay;
      llvm::Value* rest = taken ? stay : take;
      CoverWay(target, take, true, false);
      CoverWay(after, stay, false, false);
      Arrive(arrived);
      builder_.CreateStore(rest, parted_->lanes);
      builder_.CreateCondBr(builder_.CreateICmpEQ(rest, zero), parted_->done,
                            Go(taken ? after : target));
      return;
    }
  }
  BasicBlock* not_all = NewBlock("not_all");
  BasicBlock* part = NewBlock("part");
  builder_.CreateCondBr(builder_.CreateICmpEQ(take, running), GoCovered(target, true), not_all);
  builder_.SetInsertPoint(not_all);
  Cold(builder_.CreateICmpNE(take, zero), part, GoCovered(after, false));
  builder_.SetInsertPoint(part);
  EmitDetour(take, builder_.CreateAnd(running, builder_.CreateNot(take)), target, after);
}

void CodeGenerator::EmitDetour(llvm::Value* take, llvm::Value* stay, uint32_t target,
                               uint32_t after) {
  const uint32_t block = analysis_.block_of(pc_);
  const Analysis::Detour detour = analysis_.DetourOf(block);
  const Limits& limits = request_.thorough ? kThorough : kBrief;
  if (!detour.compilable || detour.instructions > limits.detour || depth_ >= limits.depth ||
      made_blocks_ > limits.blocks ||
      copied_ + detour.instructions > limits.copies * function_.code.size() + limits.detour) {
    builder_.CreateBr(LeaveBlock());
    left_for_.insert(analysis_.JoinOf(block));
    return;
  }
  copied_ += detour.instructions;
  CoverWay(target, take, true, true);
  CoverWay(after, stay, false, true);
  llvm::Type* i32 = builder_.getInt32Ty();
  const auto written = [&](uint32_t web) {
    return std::binary_search(detour.written.begin(), detour.written.end(), web);
  };
  Join own{.block = analysis_.JoinOf(block), .arriving = {}};
  Join* join = &own;
  if (parted_ != nullptr && parted_->join->block == own.block) {
    join = parted_->join;
  } else if (own.block != Analysis::kEnd) {
    for (const LiveValue& value : analysis_.blocks()[own.block].live_in) {
      if (!written(value.web) || own.arriving.contains(value.web)) continue;
      llvm::AllocaInst* slot = Slot(VectorOf(ElementOf(analysis_.webs()[value.web].width)));
      builder_.CreateStore(Expand(LoadWeb(value.web)), slot);
      own.arriving[value.web] = slot;
    }
  }
  struct Way {
    uint32_t first;
    llvm::Value* lanes;
  };
  std::vector<Way> ways;
  for (const Way way : {Way{target, take}, Way{after, stay}}) {
    if (way.first != join->block) ways.push_back(way);
  }
  // kEnd is the highest number.
  std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.first < b.first; });
  const uint32_t pc = pc_;
  ++depth_;
  for (size_t i = 0; i < ways.size(); ++i) {
    Parted arm{.outer = parted_, .join = join, .lanes = Slot(i32)};
    builder_.CreateStore(ways[i].lanes, arm.lanes);
    if (i + 1 < ways.size()) {
      arm.waiting = Slot(i32);
      arm.waiting_block = ways[i + 1].first;
      builder_.CreateStore(ways[i + 1].lanes, arm.waiting);
      for (const LiveValue& value : analysis_.blocks()[arm.waiting_block].live_in) {
        if (!written(value.web) || arm.kept.contains(value.web)) continue;
        auto& slots = arm.kept[value.web];
        for (size_t part = 0; part < storage_[value.web].size(); ++part) {
          llvm::Value* loaded = LoadPart(value.web, part);
          slots.push_back(Slot(loaded->getType()));
          builder_.CreateStore(loaded, slots.back());
        }
      }
    }
    EmitArm(arm, ways[i].first);
    for (const auto& [web, slots] : arm.kept) {
      for (size_t part = 0; part < slots.size(); ++part) {
        StorePart(web, part, builder_.CreateLoad(slots[part]->getAllocatedType(), slots[part]));
      }
    }
  }
  --depth_;
  pc_ = pc;
  in_ = &function_.code[pc];
  if (join != &own) {
    builder_.CreateBr(parted_->done);
    return;
  }
  if (own.block != Analysis::kEnd) Meet(own);
  builder_.CreateBr(Go(own.block));
}

void CodeGenerator::EmitArm(Parted& arm, uint32_t first) {
  arm.done = NewBlock("arm_done");
  parted_ = &arm;
  builder_.CreateBr(Go(first));
  while (!arm.work.empty()) {
    const uint32_t block = arm.work.back();
    arm.work.pop_back();
    builder_.SetInsertPoint(arm.copies[block]);
    EmitBlock(block);
  }
  parted_ = arm.outer;
  builder_.SetInsertPoint(arm.done);
}

// All lanes have arrived: their values become those of the webs again.
void CodeGenerator::Meet(const Join& join) {
  llvm::Value* running = RunningBits();
  llvm::Value* all_fit = builder_.getTrue();
  for (const auto& [web, slot] : join.arriving) {
    llvm::Value* fits = nullptr;
    llvm::Value* lanes = builder_.CreateLoad(slot->getAllocatedType(), slot);
    StoreWeb(web, FromLanes(lanes, analysis_.webs()[web].shape, running, &fits));
    if (fits != nullptr) all_fit = builder_.CreateAnd(all_fit, fits);
  }
  if (all_fit == builder_.getTrue()) return;
  BasicBlock* leave = NewBlock("leave");
  BasicBlock* fine = NewBlock("met");
  Cold(builder_.CreateNot(all_fit), leave, fine);
  builder_.SetInsertPoint(leave);
  std::vector<SavedValue> values;
  const CodeBlock& block = analysis_.blocks()[join.block];
  for (const LiveValue& value : block.live_in) {
    const auto it = join.arriving.find(value.web);
    values.push_back(it == join.arriving.end() ? Save(value) : Save(value, it->second));
  }
  Leave(block.first, std::move(values), Outcome::kLeave);
  builder_.SetInsertPoint(fine);
}

Value CodeGenerator::FromLanes(llvm::Value* lanes, Shape shape, llvm::Value* bits,
                               llvm::Value** fits) {
  if (shape.varying()) return {shape, {lanes}};
  llvm::Type* i32 = builder_.getInt32Ty();
  llvm::Type* element = lanes->getType()->getScalarType();
  if (element->isIntegerTy(1)) {  // uniform: predicates have no other shape
    llvm::Value* taken = builder_.CreateAnd(builder_.CreateBitCast(lanes, i32), bits);
    llvm::Value* all = builder_.CreateICmpEQ(taken, bits);
    if (fits != nullptr) {
      *fits = builder_.CreateOr(all, builder_.CreateICmpEQ(taken, builder_.getInt32(0)));
    }
    return {shape, {all}};
  }
  Value value{shape, {}};
  const int parts = shape.affine() ? groups_ : 1;
  const unsigned lanes_per_part = kLanes / static_cast<unsigned>(parts);
  for (int g = 0; g < parts; ++g) {
    // The first lane of the group that counts. A group without one gets anything.
    const uint32_t begin = static_cast<uint32_t>(g) * lanes_per_part;
    llvm::Value* own = bits;
    if (parts > 1) {
      own = builder_.CreateLShr(own, builder_.getInt32(begin));
      own = builder_.CreateOr(own, builder_.getInt32(1u << (lanes_per_part - 1)));
    }
    llvm::Value* lane =
        builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {i32}, {own, builder_.getFalse()});
    lane = builder_.CreateAnd(lane, builder_.getInt32(kLanes - 1));
    llvm::Value* base =
        builder_.CreateExtractElement(lanes, builder_.CreateAdd(lane, builder_.getInt32(begin)));
    if (shape.affine() && shape.stride != 0) {
      llvm::Value* wide = builder_.CreateZExtOrTrunc(lane, element);
      base = builder_.CreateSub(
          base, builder_.CreateMul(wide, Const(wide, static_cast<uint64_t>(shape.stride))));
    }
    value.part.push_back(base);
  }
  if (fits != nullptr) {
    llvm::Value* same = builder_.CreateBitCast(builder_.CreateICmpEQ(lanes, Expand(value)), i32);
    *fits = builder_.CreateICmpEQ(builder_.CreateAnd(same, bits), bits);
  }
  return value;
}

void CodeGenerator::Leave(uint32_t pc, std::vector<SavedValue> values, Outcome outcome) {
  const auto id = static_cast<uint32_t>(exits_.size());
  exits_.emplace_back();
  SetWarpField(offsetof(WarpContext, exit), builder_.getInt32(id));
  if (parted_ == nullptr) {
    exits_[id].groups.push_back({.pc = pc, .values = std::move(values)});
    return Return(outcome);
  }
  Parted& parted = *parted_;
  if (parted.leave == nullptr) EmitLeaveTail(parted);
  parted.leave_outcome->addIncoming(builder_.getInt32(static_cast<uint32_t>(outcome)),
                                    builder_.GetInsertBlock());
  builder_.CreateBr(parted.leave);
  exits_[id].groups = parted.others;
  exits_[id].groups.push_back(
      {.slot = SlotOf(parted.lanes), .pc = pc, .values = std::move(values)});
}

void CodeGenerator::EmitLeaveTail(Parted& parted) {
  const llvm::IRBuilderBase::InsertPointGuard restore(builder_);
  parted.leave = NewBlock("leave_tail");
  builder_.SetInsertPoint(parted.leave);
  llvm::Type* i32 = builder_.getInt32Ty();
  parted.leave_outcome = builder_.CreatePHI(i32, 4);
  const auto pc_of = [&](uint32_t block) {
    return block == Analysis::kEnd ? static_cast<uint32_t>(function_.code.size() - 1)
                                   : analysis_.blocks()[block].first;
  };
  const auto save_mask = [&](llvm::AllocaInst* mask) {
    const uint32_t slot = SlotOf(mask);
    builder_.CreateAlignedStore(builder_.CreateLoad(i32, mask), SavePlace(slot), llvm::Align(8));
    return slot;
  };
  // From the outermost level in: lanes of a later group count there, not in earlier ones.
  std::vector<const Parted*> levels;
  for (const Parted* level = &parted; level != nullptr; level = level->outer) {
    levels.insert(levels.begin(), level);
  }
  for (const Parted* level : levels) {
    Exit::Lanes arrived{.pc = pc_of(level->join->block)};
    if (level->outer != nullptr) arrived.slot = save_mask(level->outer->lanes);
    if (level->join->block != Analysis::kEnd) {
      for (const LiveValue& value : analysis_.blocks()[level->join->block].live_in) {
        const auto it = level->join->arriving.find(value.web);
        arrived.values.push_back(it == level->join->arriving.end() ? Save(value)
                                                                   : Save(value, it->second));
      }
    }
    parted.others.push_back(std::move(arrived));
    if (level->waiting == nullptr) continue;
    Exit::Lanes waiting{.slot = save_mask(level->waiting), .pc = pc_of(level->waiting_block)};
    if (level->waiting_block != Analysis::kEnd) {
      for (const LiveValue& value : analysis_.blocks()[level->waiting_block].live_in) {
        const auto it = level->kept.find(value.web);
        waiting.values.push_back(it == level->kept.end() ? Save(value) : Save(value, it->second));
      }
    }
    parted.others.push_back(std::move(waiting));
  }
  save_mask(parted.lanes);
  Return(parted.leave_outcome);
}

}  // namespace kernelsmith::vgpu::jit
