// Loads and stores. Every access is checked before it happens: against the allocation the same
// instruction touched last (global memory) or the block's shared memory. What is not that simple,
// or wrong, goes through the interpreter's handler, which also makes the fault.

#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "vgpu/jit/codegen.h"
#include "vgpu/op_facts.h"
#include "vgpu/slice_kernel.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

using llvm::BasicBlock;

namespace {

// The cache line of every x86-64 processor.
constexpr unsigned kCacheLine = 64;

// Warps that one of them reads ahead for: a kilobyte of 32-bit words.
constexpr uint32_t kAheadWarps = 8;

bool InLoop(const Analysis& analysis, uint32_t block) {
  for (uint32_t b = block; b < analysis.blocks().size(); ++b) {
    const std::vector<uint32_t>& next = analysis.blocks()[b].next;
    if (std::any_of(next.begin(), next.end(), [&](uint32_t to) { return to <= block; }))
      return true;
  }
  return false;
}

}  // namespace

void CodeGenerator::FindAccessGroups() {
  constexpr int64_t kMostBytes = 1 << 16;
  access_group_of_.assign(function_.code.size(), -1);
  for (const CodeBlock& block : analysis_.blocks()) {
    struct Open {
      uint32_t web;
      MemorySpace space;
      int32_t group;
    };
    std::vector<Open> open;
    for (uint32_t pc = block.first; block.reachable && pc < block.last; ++pc) {
      const Instruction& in = function_.code[pc];
      const bool by_register =
          in.address == AddressBase::kRegister32 || in.address == AddressBase::kRegister64;
      const int64_t total = int64_t{in.bytes} * in.width;
      if (analysis_.IsNativeAccess(in) && by_register && !analysis_.Guarded(in) &&
          in.a.base() == OperandBase::kRegister && (total & (total - 1)) == 0 &&
          (in.op != Op::kMark || in.variant != kMarkOfMade)) {
        const uint32_t web = analysis_.ReadWeb(pc, in.a);
        const Shape shape = analysis_.AddressShape(pc, in);
        const bool even = !shape.affine() || shape.stride % total == 0;
        const auto fits = [&](const Open& o) {
          const AccessGroup& group = access_groups_[static_cast<size_t>(o.group)];
          return o.web == web && o.space == in.space &&
                 (in.offset - function_.code[group.leader].offset) % total == 0 &&
                 std::max(group.end, in.offset + total) - std::min(group.begin, in.offset) <=
                     kMostBytes;
        };
        const auto it = std::find_if(open.begin(), open.end(), fits);
        if (even && it != open.end()) {
          AccessGroup& group = access_groups_[static_cast<size_t>(it->group)];
          ++group.members;
          group.begin = std::min(group.begin, in.offset);
          group.end = std::max(group.end, in.offset + total);
          group.align = std::max(group.align, static_cast<uint32_t>(total));
          group.stored += in.op != Op::kLoad ? static_cast<uint32_t>(total) : 0;
          group.reads |= in.op == Op::kLoad;
          access_group_of_[pc] = it->group;
        } else if (even) {
          open.push_back({web, in.space, static_cast<int32_t>(access_groups_.size())});
          access_group_of_[pc] = open.back().group;
          access_groups_.push_back({.leader = pc,
                                    .members = 1,
                                    .begin = in.offset,
                                    .end = in.offset + total,
                                    .align = static_cast<uint32_t>(total),
                                    .stored = in.op != Op::kLoad ? static_cast<uint32_t>(total) : 0,
                                    .reads = in.op == Op::kLoad});
        }
      }
      ForEachTouch(in, function_.list, true, [&](Operand operand, Touch touch) {
        if (touch == Touch::kRead) return;
        const uint32_t web = analysis_.WriteWeb(pc, operand);
        std::erase_if(open, [&](const Open& o) { return o.web == web; });
      });
    }
  }
}

Value CodeGenerator::Address(int64_t constant) {
  const Instruction& in = *in_;
  llvm::Type* i64 = builder_.getInt64Ty();
  const auto offset = static_cast<uint64_t>(constant);
  switch (in.address) {
    case AddressBase::kAbsolute:
      return {kUniformShape, {builder_.getInt64(offset)}};
    case AddressBase::kParameters:
      return {kUniformShape,
              {builder_.CreateAdd(BlockField(offsetof(BlockContext, parameters), i64),
                                  builder_.getInt64(offset))}};
    case AddressBase::kRegister32: {
      Value a = Read(in.a);
      for (llvm::Value*& part : a.part) {
        part = builder_.CreateAdd(part, Const(part, offset & 0xffffffff));
        part = builder_.CreateZExt(part, Like(part, i64));
      }
      return a;
    }
    default: {
      Value a = Read(in.a);
      for (llvm::Value*& part : a.part) part = builder_.CreateAdd(part, Const(part, offset));
      return a;
    }
  }
}

Value CodeGenerator::MaskedAddress(int64_t offset, llvm::Value* bits) {
  Value address = Address(offset);
  // With a part of the lanes a group may have none, and no address that can be used.
  if (bits != nullptr && groups_ > 1 && !address.shape.uniform()) {
    address = {kVaryingShape, {Expand(address)}};
  }
  return address;
}

// From the first to the last lane of a group, in bytes.
int64_t CodeGenerator::Spread(const Value& address) const {
  return address.shape.affine() ? address.shape.stride * (static_cast<int64_t>(group_lanes_) - 1)
                                : 0;
}

// The lane in which the lowest address of the lanes of `bits` is, and how much higher the highest
// one is. Affine addresses in one group.
CodeGenerator::Extent CodeGenerator::ExtentOf(const Value& address, llvm::Value* bits) {
  llvm::Type* i32 = builder_.getInt32Ty();
  llvm::Type* i64 = builder_.getInt64Ty();
  const int64_t stride = address.shape.affine() ? address.shape.stride : 0;
  if (stride == 0) return {address.part[0], builder_.getInt64(0)};
  llvm::Value* first =
      builder_.CreateIntrinsic(llvm::Intrinsic::cttz, {i32}, {bits, builder_.getTrue()});
  llvm::Value* above =
      builder_.CreateIntrinsic(llvm::Intrinsic::ctlz, {i32}, {bits, builder_.getTrue()});
  llvm::Value* last = builder_.CreateSub(builder_.getInt32(kLanes - 1), above);
  llvm::Value* lowest = builder_.CreateZExt(stride > 0 ? first : last, i64);
  llvm::Value* count = builder_.CreateZExt(builder_.CreateSub(last, first), i64);
  const auto size = static_cast<uint64_t>(std::abs(stride));
  return {builder_.CreateAdd(
              address.part[0],
              builder_.CreateMul(lowest, builder_.getInt64(static_cast<uint64_t>(stride)))),
          builder_.CreateMul(count, builder_.getInt64(size))};
}

llvm::Value* CodeGenerator::ForAll(const Value& address, llvm::Value* bits,
                                   const std::function<llvm::Value*(llvm::Value*)>& test) {
  if (address.shape.varying()) {
    llvm::Value* each = test(address.part[0]);
    if (bits != nullptr) each = builder_.CreateOr(each, builder_.CreateNot(LanesOf(bits)));
    return AllTrue(each);
  }
  if (bits != nullptr) return test(ExtentOf(address, bits).low);
  const int64_t spread = Spread(address);
  llvm::Value* all = nullptr;
  for (llvm::Value* first : address.part) {
    llvm::Value* low =
        spread < 0 ? builder_.CreateAdd(first, builder_.getInt64(static_cast<uint64_t>(spread)))
                   : first;
    llvm::Value* one = test(low);
    all = all == nullptr ? one : builder_.CreateAnd(all, one);
  }
  return all;
}

// Lanes lie side by side in each group.
bool CodeGenerator::Contiguous(const Value& address) const {
  return address.shape.affine() && address.shape.stride == int64_t{in_->bytes} * in_->width;
}

llvm::Value* CodeGenerator::Host(llvm::Value* address, llvm::Value* delta, int64_t offset) {
  const bool vector = address->getType()->isVectorTy();
  llvm::Value* host = builder_.CreateAdd(address, vector ? Splat(delta) : delta);
  if (offset != 0) host = builder_.CreateAdd(host, Const(host, static_cast<uint64_t>(offset)));
  llvm::Type* pointer = builder_.getPtrTy();
  return builder_.CreateIntToPtr(host, vector ? VectorOf(pointer) : pointer);
}

void CodeGenerator::EmitAccess() {
  const Instruction& in = *in_;
  BasicBlock* after = NewBlock("accessed");
  BasicBlock* slow = NewBlock("slow");
  // The lanes that access; null: all.
  llvm::Value* bits = AllRun() ? nullptr : RunningBits();
  if (analysis_.Guarded(in)) {
    const Value guard = Guard(in);
    BasicBlock* some = NewBlock("some");
    if (guard.shape.uniform()) {
      builder_.CreateCondBr(guard.part[0], some, after);
    } else {
      llvm::Value* own = MaskBits(guard);
      bits = bits == nullptr ? own : builder_.CreateAnd(bits, own);
      builder_.CreateCondBr(builder_.CreateICmpEQ(bits, builder_.getInt32(0)), after, some);
    }
    builder_.SetInsertPoint(some);
  }
  BasicBlock* fast = NewBlock("fast");
  const uint32_t total = uint32_t{in.bytes} * in.width;
  HandlerCall call{.begin = in.offset,
                   .bytes = total,
                   .align = total,
                   .stored = in.op == Op::kLoad ? 0 : total,
                   .reads = ReadsMemory(in.op)};
  const int32_t number = access_group_of_[pc_];
  llvm::Value* delta = nullptr;
  uint32_t site = ~0u;
  Value address;
  if (number < 0 || access_groups_[static_cast<size_t>(number)].members == 1) {
    delta = EmitCheck(call, bits, fast, slow);
    site = call.site;
  } else {
    const AccessGroup& group = access_groups_[static_cast<size_t>(number)];
    llvm::Type* i64 = builder_.getInt64Ty();
    const auto [it, first] = group_state_.try_emplace(number);
    if (first) {
      call.begin = group.begin;
      call.bytes = static_cast<uint64_t>(group.end - group.begin);
      call.align = group.align;
      call.stored = group.stored;
      call.reads = group.reads;
      call.find_only = true;
      it->second = {MaskedAddress(group.begin, bits), Slot(i64)};
      delta = EmitCheck(call, bits, fast, slow);
      builder_.CreateStore(delta, it->second.delta);
      it->second.site = call.site;
    } else {
      builder_.CreateBr(fast);
      builder_.SetInsertPoint(fast);
      delta = builder_.CreateLoad(i64, it->second.delta);
    }
    site = it->second.site;
    // The check has shown that nothing wraps.
    address = it->second.begin;
    for (llvm::Value*& part : address.part) {
      part = builder_.CreateAdd(part, Const(part, static_cast<uint64_t>(in.offset - group.begin)));
    }
  }
  if (delta != nullptr) {
    if (address.part.empty()) address = MaskedAddress(in.offset, bits);
    EmitScreen(address, site, bits);
    if (in.op == Op::kLoad) {
      EmitLoad(address, delta, bits);
    } else if (in.op == Op::kStore) {
      EmitStore(address, delta, bits, site);
    } else if (in.op == Op::kMark) {
      EmitMark(address, bits);
    } else {
      EmitAtomic(address, delta, bits);
    }
    builder_.CreateBr(after);
  } else {
    fast->eraseFromParent();
  }
  builder_.SetInsertPoint(slow);
  if (llvm::pred_empty(slow)) {
    builder_.CreateUnreachable();
  } else if (call.find_only && call.site == ~0u) {
    builder_.CreateBr(LeaveBlock());
  } else {
    llvm::Value* mask = bits == nullptr ? builder_.getInt32(kFullMask) : bits;
    llvm::Value* result = EmitCall(call, mask, true);
    if (call.site != ~0u) {
      BasicBlock* more = call.find_only ? LeaveBlock() : NewBlock("more");
      builder_.CreateCondBr(builder_.CreateICmpEQ(result, builder_.getInt32(1)), fast, more);
      builder_.SetInsertPoint(more);
    }
    if (!call.find_only) {
      BranchIfFailed(builder_.CreateICmpNE(result, builder_.getInt32(0)));
      ReadResults(mask);
      builder_.CreateBr(after);
    }
  }
  builder_.SetInsertPoint(after);
}

llvm::Value* CodeGenerator::EmitCheck(HandlerCall& call, llvm::Value* bits, BasicBlock* fast,
                                      BasicBlock* slow) {
  const Instruction& in = *in_;
  const Value address = MaskedAddress(call.begin, bits);
  const uint64_t bytes = call.bytes;
  llvm::Type* i64 = builder_.getInt64Ty();
  const bool power = (call.align & (call.align - 1)) == 0;
  const bool even = !address.shape.affine() || address.shape.stride % call.align == 0;
  const auto constant_in = [&](uint64_t size) {
    return in.offset >= 0 && static_cast<uint64_t>(in.offset) % call.align == 0 &&
           static_cast<uint64_t>(in.offset) + bytes <= size;
  };
  const auto aligned = [&]() -> llvm::Value* {
    if (call.align == 1) return builder_.getTrue();
    return ForAll(address, bits, [&](llvm::Value* a) {
      return builder_.CreateICmpEQ(builder_.CreateAnd(a, Const(a, call.align - 1)), Const(a, 0));
    });
  };
  if (!power || !even) {
    builder_.CreateBr(slow);
    return nullptr;
  }
  if (in.address == AddressBase::kParameters && constant_in(request_.parameter_bytes) &&
      in.op == Op::kLoad) {
    builder_.CreateBr(fast);
    builder_.SetInsertPoint(fast);
    return builder_.CreateSub(BlockField(offsetof(BlockContext, parameters_host), i64),
                              BlockField(offsetof(BlockContext, parameters), i64));
  }
  if (in.space == MemorySpace::kShared) {
    if (in.address == AddressBase::kAbsolute && constant_in(request_.kernel->static_shared_bytes)) {
      builder_.CreateBr(fast);
    } else {
      llvm::Value* spread =
          bits == nullptr || address.shape.varying()
              ? builder_.getInt64(static_cast<uint64_t>(std::abs(Spread(address))))
              : ExtentOf(address, bits).spread;
      llvm::Value* size = BlockField(offsetof(BlockContext, shared_bytes), i64);
      llvm::Value* reach = builder_.CreateAdd(spread, builder_.getInt64(bytes));
      llvm::Value* inside = ForAll(address, bits, [&](llvm::Value* a) {
        const auto like = [&](llvm::Value* x) { return a->getType()->isVectorTy() ? Splat(x) : x; };
        llvm::Value* end = builder_.CreateAdd(a, like(reach));
        return builder_.CreateAnd(builder_.CreateICmpULE(end, like(size)),
                                  builder_.CreateICmpULT(a, like(size)));
      });
      Cold(builder_.CreateNot(builder_.CreateAnd(inside, aligned())), slow, fast);
    }
    builder_.SetInsertPoint(fast);
    return BlockField(offsetof(BlockContext, shared_host), i64);
  }
  call.site = sites_++;
  call.room = static_cast<uint64_t>(std::abs(Spread(address))) + bytes;
  llvm::Value* low = SiteField(call.site, offsetof(Site, low), i64);
  llvm::Value* limit = SiteField(call.site, offsetof(Site, limit), i64);
  if (bits != nullptr && address.shape.affine()) {
    // The site has room for all lanes; fewer need less.
    const auto most = static_cast<uint64_t>(std::abs(Spread(address)));
    limit = builder_.CreateAdd(
        limit, builder_.CreateSub(builder_.getInt64(most), ExtentOf(address, bits).spread));
  }
  llvm::Value* inside = ForAll(address, bits, [&](llvm::Value* a) {
    const auto like = [&](llvm::Value* x) { return a->getType()->isVectorTy() ? Splat(x) : x; };
    return builder_.CreateICmpULT(builder_.CreateSub(a, like(low)), like(limit));
  });
  Cold(builder_.CreateNot(builder_.CreateAnd(inside, aligned())), slow, fast);
  builder_.SetInsertPoint(fast);
  return SiteField(call.site, offsetof(Site, delta), i64);
}

llvm::Value* CodeGenerator::SiteField(uint32_t site, size_t offset, llvm::Type* type) {
  llvm::Value* sites = BlockField(offsetof(BlockContext, sites), builder_.getPtrTy());
  return builder_.CreateLoad(
      type, builder_.CreateConstGEP1_64(builder_.getInt8Ty(), sites, sizeof(Site) * site + offset));
}

llvm::Value* CodeGenerator::AllLanes() {
  return llvm::Constant::getAllOnesValue(VectorOf(builder_.getInt1Ty()));
}

// A mask for `times` elements a lane.
llvm::Value* CodeGenerator::Repeat(llvm::Value* mask, unsigned times) {
  if (times == 1) return mask;
  llvm::SmallVector<int, 128> lanes;
  for (unsigned i = 0; i < kLanes * times; ++i) lanes.push_back(static_cast<int>(i / times));
  return builder_.CreateShuffleVector(mask, lanes);
}

// The warps of a block run one after the other: in a loop over a row the first one would go through
// all of it and take only its part of each kilobyte, too little for the processor's own
// prefetching. It asks for the next warps' parts as well, into the second-level cache: the first
// level has too few places for what is under way. In blocks of one dimension the parts lie side by
// side, or it asks for something useless.
void CodeGenerator::ReadAhead(llvm::Value* host) {
  const Instruction& in = *in_;
  const auto warps = static_cast<uint32_t>(request_.block.Count() / kLanes);
  if (request_.block.Count() != request_.block.x || warps < 2) return;
  if (in.space == MemorySpace::kShared || !InLoop(analysis_, analysis_.block_of(pc_))) return;
  llvm::Type* i32 = builder_.getInt32Ty();
  llvm::Value* turn = builder_.CreateAnd(WarpField(offsetof(WarpContext, warp_index), i32),
                                         builder_.getInt32(kAheadWarps - 1));
  BasicBlock* ahead = NewBlock("ahead");
  BasicBlock* load = NewBlock("load");
  builder_.CreateCondBr(builder_.CreateICmpEQ(turn, builder_.getInt32(0)), ahead, load);
  builder_.SetInsertPoint(ahead);
  const unsigned row = kLanes * in.width * in.bytes;
  for (unsigned at = row; at < row * std::min(warps, kAheadWarps); at += kCacheLine) {
    // Fetches data that will be read into the second level.
    builder_.CreateIntrinsic(llvm::Intrinsic::prefetch, {builder_.getPtrTy()},
                             {builder_.CreateConstGEP1_64(builder_.getInt8Ty(), host, at),
                              builder_.getInt32(0), builder_.getInt32(2), builder_.getInt32(1)});
  }
  builder_.CreateBr(load);
  builder_.SetInsertPoint(load);
}

void CodeGenerator::WriteAccessed(Operand operand, Value value, llvm::Value* bits) {
  const uint32_t web = analysis_.WriteWeb(pc_, operand);
  // Lanes whose guard does not hold keep what they have; a guard that all share was dealt with.
  if (bits != nullptr && analysis_.Guarded(*in_) && analysis_.webs()[web].shape.varying()) {
    value = {kVaryingShape,
             {builder_.CreateSelect(LanesOf(bits), Expand(value), Expand(LoadWeb(web)))}};
  }
  // Groups that were taken apart because a part of the lanes runs.
  if (value.shape.varying()) {
    value = FromLanes(value.part[0], analysis_.webs()[web].shape,
                      bits == nullptr ? builder_.getInt32(kFullMask) : bits, nullptr);
  }
  StoreWeb(web, value);
}

// The store of a slice.
void CodeGenerator::EmitMark(const Value& address, llvm::Value* bits) {
  const Instruction& in = *in_;
  llvm::Value* bytes = builder_.getInt32(uint32_t{in.bytes} * in.width);
  if (address.shape.varying()) {
    if (addresses_ == nullptr) addresses_ = Slot(VectorOf(builder_.getInt64Ty()));
    builder_.CreateStore(address.part[0], addresses_);
    CallAddress(reinterpret_cast<const void*>(request_.helpers.mark_lanes), builder_.getVoidTy(),
                {warp_, addresses_, bytes, bits == nullptr ? builder_.getInt32(kFullMask) : bits});
    return;
  }
  const auto lanes = static_cast<unsigned>(kLanes / address.part.size());
  const int64_t stride = address.shape.affine() ? address.shape.stride : 0;
  for (llvm::Value* first : address.part) {
    CallAddress(reinterpret_cast<const void*>(request_.helpers.mark_row), builder_.getVoidTy(),
                {warp_, first, builder_.getInt64(static_cast<uint64_t>(stride)), bytes,
                 bits == nullptr ? builder_.getInt32(kFullMask >> (kLanes - lanes)) : bits});
  }
}

void CodeGenerator::EmitAtomic(const Value& address, llvm::Value* delta, llvm::Value* bits) {
  const Instruction& in = *in_;
  llvm::Type* lanes = VectorOf(builder_.getIntNTy(8u * in.bytes));
  const auto in_memory = [&](Operand operand) {
    llvm::AllocaInst* slot = Slot(lanes);
    builder_.CreateStore(builder_.CreateZExtOrTrunc(Expand(Read(operand)), lanes), slot);
    return slot;
  };
  if (addresses_ == nullptr) addresses_ = Slot(VectorOf(builder_.getInt64Ty()));
  builder_.CreateStore(builder_.CreateAdd(Expand(address), Splat(delta)), addresses_);
  llvm::AllocaInst* b = in_memory(in.b);
  llvm::AllocaInst* c = in.c.exists() ? in_memory(in.c) : b;
  llvm::AllocaInst* old = Slot(lanes);
  llvm::Value* warp = WarpField(offsetof(WarpContext, warp), builder_.getPtrTy());
  const bool tells = analysis_.TellsOldValue(pc_);
  CallAddress(reinterpret_cast<const void*>(request_.helpers.find_atomic(in, tells)),
              builder_.getVoidTy(),
              {warp, addresses_, b, c, old, bits == nullptr ? builder_.getInt32(kFullMask) : bits});
  if (!tells) return;
  llvm::Type* target = VectorOf(ElementOf(in.d.width()));
  llvm::Value* result = builder_.CreateZExtOrTrunc(builder_.CreateLoad(lanes, old), target);
  WriteAccessed(in.d, {kVaryingShape, {result}}, bits);
}

// Vectors of lanes that do not lie side by side are moved whole.
bool CodeGenerator::HasLaneKernel() const {
  return request_.helpers.matrix != nullptr && vgpu::HasLaneKernel(in_->bytes, in_->width);
}

void CodeGenerator::CallLaneKernel(const void* kernel, llvm::Value* address, llvm::Value* delta,
                                   llvm::Value* bits, llvm::Value* elements) {
  if (addresses_ == nullptr) addresses_ = Slot(VectorOf(builder_.getInt64Ty()));
  builder_.CreateStore(builder_.CreateAdd(address, Splat(delta)), addresses_);
  CallAddress(kernel, builder_.getVoidTy(),
              {addresses_, builder_.getInt32(in_->bytes), builder_.getInt32(in_->width),
               bits == nullptr ? builder_.getInt32(kFullMask) : bits, elements});
}

void CodeGenerator::EmitLoad(const Value& address, llvm::Value* delta, llvm::Value* bits) {
  const Instruction& in = *in_;
  llvm::Type* memory = builder_.getIntNTy(8u * in.bytes);
  llvm::Type* target = builder_.getIntNTy(8u * in.register_bytes);
  const llvm::Align align(in.bytes);
  const bool is_signed = ptx::KindOf(in.type) == ptx::TypeKind::kSigned;
  const unsigned width = in.width;
  const auto extend = [&](llvm::Value* x) {
    llvm::Type* to = Like(x, target);
    return is_signed ? builder_.CreateSExt(x, to) : builder_.CreateZExt(x, to);
  };
  llvm::Value* mask = bits == nullptr ? nullptr : LanesOf(bits);
  // Stores the result of element e.
  const auto finish = [&](unsigned e, Value value) {
    const Operand operand = in.list_count > 0 ? function_.list[in.list_first + e] : in.d;
    if (!operand.exists()) return;
    for (llvm::Value*& part : value.part) part = extend(part);
    WriteAccessed(operand, value, bits);
  };
  if (address.shape.group_uniform()) {
    for (unsigned e = 0; e < width; ++e) {
      Value value{address.shape, {}};
      for (llvm::Value* a : address.part) {
        llvm::LoadInst* load =
            builder_.CreateAlignedLoad(memory, Host(a, delta, int64_t{in.bytes} * e), align);
        if (in.address == AddressBase::kParameters) {
          load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
        }
        value.part.push_back(load);
      }
      finish(e, value);
    }
    return;
  }
  if (Contiguous(address)) {
    llvm::SmallVector<llvm::Value*, 4> rows;
    for (llvm::Value* a : address.part) {
      llvm::Type* row = VectorOf(memory, group_lanes_ * width);
      if (mask == nullptr) {
        llvm::Value* host = Host(a, delta);
        ReadAhead(host);
        rows.push_back(builder_.CreateAlignedLoad(row, host, align));
      } else {
        rows.push_back(builder_.CreateMaskedLoad(row, Host(a, delta), align, Repeat(mask, width)));
      }
    }
    for (unsigned e = 0; e < width; ++e) {
      llvm::SmallVector<llvm::Value*, 4> parts;
      for (llvm::Value* row : rows) {
        if (width == 1) {
          parts.push_back(row);
          continue;
        }
        llvm::SmallVector<int, kLanes> every;
        for (unsigned lane = 0; lane < group_lanes_; ++lane) {
          every.push_back(static_cast<int>(lane * width + e));
        }
        parts.push_back(builder_.CreateShuffleVector(row, every));
      }
      finish(e, {kVaryingShape, {Concat(parts)}});
    }
    return;
  }
  llvm::Value* lanes = Expand(address);
  if (HasLaneKernel() && in.bytes == in.register_bytes) {
    llvm::Type* column = VectorOf(memory);
    llvm::AllocaInst* elements = Slot(llvm::ArrayType::get(column, width));
    CallLaneKernel(reinterpret_cast<const void*>(request_.helpers.matrix->load_lanes), lanes, delta,
                   bits, elements);
    for (unsigned e = 0; e < width; ++e) {
      llvm::Value* place = builder_.CreateConstGEP1_32(column, elements, e);
      finish(e, {kVaryingShape, {builder_.CreateLoad(column, place)}});
    }
    return;
  }
  for (unsigned e = 0; e < width; ++e) {
    llvm::Value* pointers = Host(lanes, delta, int64_t{in.bytes} * e);
    finish(e, {kVaryingShape,
               {builder_.CreateMaskedGather(VectorOf(memory), pointers, align,
                                            mask == nullptr ? AllLanes() : mask)}});
  }
}

// Where the site says so, and all rows are whole cache lines, past the caches.
void CodeGenerator::StoreRows(llvm::ArrayRef<llvm::Value*> rows, llvm::ArrayRef<llvm::Value*> hosts,
                              uint32_t site) {
  const auto store = [&](llvm::Align align, llvm::MDNode* nontemporal) {
    for (size_t i = 0; i < rows.size(); ++i) {
      builder_
          .CreateAlignedStore(rows[i], builder_.CreateIntToPtr(hosts[i], builder_.getPtrTy()),
                              align)
          ->setMetadata(llvm::LLVMContext::MD_nontemporal, nontemporal);
    }
  };
  const llvm::Align align(in_->bytes);
  const unsigned row_bytes = group_lanes_ * in_->width * in_->bytes;
  if (!request_.streams || site == ~0u || row_bytes % kCacheLine != 0) return store(align, nullptr);
  llvm::Value* odd = SiteField(site, offsetof(Site, cached), builder_.getInt64Ty());
  for (llvm::Value* host : hosts) odd = builder_.CreateOr(odd, host);
  odd = builder_.CreateAnd(odd, builder_.getInt64(kCacheLine - 1));
  BasicBlock* past = NewBlock("past_caches");
  BasicBlock* cached = NewBlock("cached");
  BasicBlock* stored = NewBlock("stored");
  builder_.CreateCondBr(builder_.CreateICmpEQ(odd, builder_.getInt64(0)), past, cached);
  builder_.SetInsertPoint(past);
  store(llvm::Align(kCacheLine),
        llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(builder_.getInt32(1))));
  builder_.CreateBr(stored);
  builder_.SetInsertPoint(cached);
  store(align, nullptr);
  builder_.CreateBr(stored);
  builder_.SetInsertPoint(stored);
}

void CodeGenerator::EmitStore(const Value& address, llvm::Value* delta, llvm::Value* bits,
                              uint32_t site) {
  const Instruction& in = *in_;
  llvm::Type* memory = builder_.getIntNTy(8u * in.bytes);
  const llvm::Align align(in.bytes);
  const unsigned width = in.width;
  llvm::SmallVector<Value, 4> values;
  for (unsigned e = 0; e < width; ++e) {
    Value value = Read(in.list_count > 0 ? function_.list[in.list_first + e] : in.b);
    // Narrowing keeps strides, but the value may be no integer of that width: expand first.
    if (!value.shape.uniform()) value = {kVaryingShape, {Expand(value)}};
    for (llvm::Value*& part : value.part) part = builder_.CreateTrunc(part, Like(part, memory));
    values.push_back(value);
  }
  llvm::Value* mask = bits == nullptr ? nullptr : LanesOf(bits);
  const bool same = std::all_of(values.begin(), values.end(),
                                [](const Value& value) { return value.shape.uniform(); });
  if (address.shape.group_uniform() && (mask == nullptr || same)) {
    // All lanes of a group write the same place: the last one stays.
    const auto last_lane = [&](const Value& value, size_t group) -> llvm::Value* {
      if (value.shape.uniform()) return value.part[0];
      const size_t parts = address.part.size();
      return builder_.CreateExtractElement(value.part[0], (group + 1) * kLanes / parts - 1);
    };
    for (unsigned e = 0; e < width; ++e) {
      for (size_t g = 0; g < address.part.size(); ++g) {
        builder_.CreateAlignedStore(last_lane(values[e], g),
                                    Host(address.part[g], delta, int64_t{in.bytes} * e), align);
      }
    }
    return;
  }
  if (Contiguous(address)) {
    llvm::SmallVector<llvm::Value*, 4> rows;
    llvm::SmallVector<llvm::Value*, 4> hosts;
    for (size_t g = 0; g < address.part.size(); ++g) {
      llvm::SmallVector<llvm::Value*, 4> columns;
      for (unsigned e = 0; e < width; ++e) {
        llvm::Value* lanes = Expand(values[e]);
        if (groups_ > 1) {
          llvm::SmallVector<int, kLanes> own;
          for (unsigned lane = 0; lane < group_lanes_; ++lane) {
            own.push_back(static_cast<int>(g * group_lanes_ + lane));
          }
          lanes = builder_.CreateShuffleVector(lanes, own);
        }
        columns.push_back(lanes);
      }
      llvm::Value* row = columns[0];
      if (width > 1) {
        row = Concat(columns);
        llvm::SmallVector<int, 128> woven;
        for (unsigned lane = 0; lane < group_lanes_; ++lane) {
          for (unsigned e = 0; e < width; ++e) {
            woven.push_back(static_cast<int>(e * group_lanes_ + lane));
          }
        }
        row = builder_.CreateShuffleVector(row, woven);
      }
      if (mask != nullptr) {
        builder_.CreateMaskedStore(row, Host(address.part[g], delta), align, Repeat(mask, width));
        continue;
      }
      rows.push_back(row);
      hosts.push_back(builder_.CreateAdd(address.part[g], delta));
    }
    if (mask == nullptr) StoreRows(rows, hosts, site);
    return;
  }
  llvm::Value* lanes = Expand(address);
  if (HasLaneKernel()) {
    llvm::Type* column = VectorOf(memory);
    llvm::AllocaInst* elements = Slot(llvm::ArrayType::get(column, width));
    for (unsigned e = 0; e < width; ++e) {
      builder_.CreateStore(Expand(values[e]), builder_.CreateConstGEP1_32(column, elements, e));
    }
    CallLaneKernel(reinterpret_cast<const void*>(request_.helpers.matrix->store_lanes), lanes,
                   delta, bits, elements);
    return;
  }
  for (unsigned e = 0; e < width; ++e) {
    builder_.CreateMaskedScatter(Expand(values[e]), Host(lanes, delta, int64_t{in.bytes} * e),
                                 align, mask == nullptr ? AllLanes() : mask);
  }
}

}  // namespace kernelsmith::vgpu::jit
