// Loads and stores. Every access is checked before it happens: against the allocation the same
// instruction touched last (global memory) or the block's shared memory. What is not that simple,
// or wrong, goes through the interpreter's handler, which also makes the fault.

#include <llvm/IR/Intrinsics.h>

#include "vgpu/jit/codegen.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

using llvm::BasicBlock;

Value CodeGenerator::Address() {
  const Instruction& in = *in_;
  llvm::Type* i64 = builder_.getInt64Ty();
  const auto offset = static_cast<uint64_t>(in.offset);
  switch (in.address) {
    case AddressBase::kAbsolute:
      return {kUniformShape, {builder_.getInt64(offset)}};
    case AddressBase::kParameters:
      return {kUniformShape,
              {builder_.CreateAdd(Field(offsetof(WarpContext, parameters), i64),
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

// From the first to the last lane of a group, in bytes.
int64_t CodeGenerator::Spread(const Value& address) const {
  return address.shape.affine() ? address.shape.stride * (static_cast<int64_t>(group_lanes_) - 1)
                                : 0;
}

llvm::Value* CodeGenerator::ForAll(const Value& address,
                                   const std::function<llvm::Value*(llvm::Value*)>& test) {
  if (address.shape.varying()) return AllTrue(test(address.part[0]));
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

std::pair<llvm::Value*, llvm::Value*> CodeGenerator::Range(const Value& address, uint32_t total) {
  llvm::Value* low = nullptr;
  llvm::Value* high = nullptr;
  if (address.shape.varying()) {
    low = builder_.CreateIntMinReduce(address.part[0], false);
    high = builder_.CreateIntMaxReduce(address.part[0], false);
  } else {
    const int64_t spread = Spread(address);
    for (llvm::Value* first : address.part) {
      llvm::Value* begin = builder_.CreateAdd(
          first, builder_.getInt64(static_cast<uint64_t>(std::min<int64_t>(spread, 0))));
      llvm::Value* end = builder_.CreateAdd(
          first, builder_.getInt64(static_cast<uint64_t>(std::max<int64_t>(spread, 0))));
      const auto pick = [&](llvm::Intrinsic::ID id, llvm::Value* x,
                            llvm::Value* y) -> llvm::Value* {
        return x == nullptr ? y : builder_.CreateIntrinsic(id, {x->getType()}, {x, y});
      };
      low = pick(llvm::Intrinsic::umin, low, begin);
      high = pick(llvm::Intrinsic::umax, high, end);
    }
  }
  return {low, builder_.CreateAdd(builder_.CreateSub(high, low), builder_.getInt64(total))};
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
  llvm::Value* mask = builder_.getInt32(kFullMask);
  if (analysis_.Guarded(in)) {
    const Value guard = Guard(in);
    mask = MaskBits(guard);
    BasicBlock* some = NewBlock("some");
    builder_.CreateCondBr(builder_.CreateICmpEQ(mask, builder_.getInt32(0)), after, some);
    builder_.SetInsertPoint(some);
    if (!guard.shape.uniform()) {
      BasicBlock* all = NewBlock("all");
      builder_.CreateCondBr(builder_.CreateICmpEQ(mask, builder_.getInt32(kFullMask)), all, slow);
      builder_.SetInsertPoint(all);
    }
  }
  const Value address = Address();
  const uint32_t total = uint32_t{in.bytes} * in.width;
  llvm::Type* i64 = builder_.getInt64Ty();
  llvm::Value* delta = nullptr;
  BasicBlock* fast = NewBlock("fast");
  const bool power = (total & (total - 1)) == 0;
  const bool even = !address.shape.affine() || address.shape.stride % total == 0;
  const auto constant_in = [&](uint64_t size) {
    return in.offset >= 0 && static_cast<uint64_t>(in.offset) % total == 0 &&
           static_cast<uint64_t>(in.offset) + total <= size;
  };
  const auto aligned = [&]() -> llvm::Value* {
    if (total == 1) return builder_.getTrue();
    return ForAll(address, [&](llvm::Value* a) {
      return builder_.CreateICmpEQ(builder_.CreateAnd(a, Const(a, total - 1)), Const(a, 0));
    });
  };
  if (!power || !even) {
    builder_.CreateBr(slow);
  } else if (in.address == AddressBase::kParameters && constant_in(request_.parameter_bytes) &&
             in.op == Op::kLoad) {
    builder_.CreateBr(fast);
    builder_.SetInsertPoint(fast);
    delta = builder_.CreateSub(Field(offsetof(WarpContext, parameters_host), i64),
                               Field(offsetof(WarpContext, parameters), i64));
  } else if (in.space == MemorySpace::kShared) {
    const auto spread = static_cast<uint64_t>(std::abs(Spread(address)));
    if (in.address == AddressBase::kAbsolute && constant_in(request_.kernel->static_shared_bytes)) {
      builder_.CreateBr(fast);
    } else {
      llvm::Value* size = Field(offsetof(WarpContext, shared_bytes), i64);
      llvm::Value* inside = ForAll(address, [&](llvm::Value* a) {
        const auto like = [&](llvm::Value* x) { return a->getType()->isVectorTy() ? Splat(x) : x; };
        llvm::Value* end = builder_.CreateAdd(a, Const(a, spread + total));
        return builder_.CreateAnd(builder_.CreateICmpULE(end, like(size)),
                                  builder_.CreateICmpULT(a, like(size)));
      });
      Cold(builder_.CreateNot(builder_.CreateAnd(inside, aligned())), slow, fast);
    }
    builder_.SetInsertPoint(fast);
    delta = Field(offsetof(WarpContext, shared_host), i64);
  } else {
    llvm::Value* site = builder_.CreateConstGEP1_64(
        builder_.getInt8Ty(), Field(offsetof(WarpContext, sites), builder_.getPtrTy()),
        sizeof(Site) * sites_++);
    const auto field = [&](size_t offset) {
      return builder_.CreateLoad(i64,
                                 builder_.CreateConstGEP1_64(builder_.getInt8Ty(), site, offset));
    };
    llvm::Value* low = field(offsetof(Site, low));
    llvm::Value* limit = field(offsetof(Site, limit));
    llvm::Value* inside = ForAll(address, [&](llvm::Value* a) {
      const auto like = [&](llvm::Value* x) { return a->getType()->isVectorTy() ? Splat(x) : x; };
      return builder_.CreateICmpULT(builder_.CreateSub(a, like(low)), like(limit));
    });
    BasicBlock* miss = NewBlock("miss");
    BasicBlock* search = NewBlock("search");
    llvm::Value* straight = aligned();
    Cold(builder_.CreateNot(builder_.CreateAnd(inside, straight)), miss, fast);
    builder_.SetInsertPoint(miss);
    builder_.CreateCondBr(straight, search, slow);
    builder_.SetInsertPoint(search);
    const auto [begin, bytes] = Range(address, total);
    const auto group = static_cast<uint64_t>(std::abs(Spread(address))) + total;
    llvm::FunctionType* type = llvm::FunctionType::get(
        builder_.getInt1Ty(), {builder_.getPtrTy(), builder_.getPtrTy(), i64, i64, i64}, false);
    llvm::Value* find = builder_.CreateIntToPtr(
        builder_.getInt64(reinterpret_cast<uint64_t>(request_.helpers.find)), builder_.getPtrTy());
    llvm::CallInst* found =
        builder_.CreateCall(type, find,
                            {warp_, site, begin, bytes,
                             builder_.getInt64(group | (in.op == Op::kStore ? kWrites : 0))});
    found->addRetAttr(llvm::Attribute::ZExt);
    builder_.CreateCondBr(found, fast, slow);
    builder_.SetInsertPoint(fast);
    delta = field(offsetof(Site, delta));
  }
  if (delta != nullptr) {
    if (in.op == Op::kLoad) {
      EmitLoad(address, delta);
    } else {
      EmitStore(address, delta);
    }
    builder_.CreateBr(after);
  } else {
    fast->eraseFromParent();
  }
  builder_.SetInsertPoint(slow);
  if (llvm::pred_empty(slow)) {
    builder_.CreateUnreachable();
  } else {
    EmitHandler(mask);
    builder_.CreateBr(after);
  }
  builder_.SetInsertPoint(after);
}

void CodeGenerator::EmitLoad(const Value& address, llvm::Value* delta) {
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
  // Without a guard: it was dealt with before. Stores the result of element e.
  const auto finish = [&](unsigned e, Value value) {
    const Operand operand = in.list_count > 0 ? function_.list[in.list_first + e] : in.d;
    if (!operand.exists()) return;
    for (llvm::Value*& part : value.part) part = extend(part);
    StoreWeb(analysis_.WriteWeb(pc_, operand), value);
  };
  if (address.shape.group_uniform()) {
    for (unsigned e = 0; e < width; ++e) {
      Value value{address.shape, {}};
      for (llvm::Value* a : address.part) {
        value.part.push_back(
            builder_.CreateAlignedLoad(memory, Host(a, delta, int64_t{in.bytes} * e), align));
      }
      finish(e, value);
    }
    return;
  }
  if (Contiguous(address)) {
    llvm::SmallVector<llvm::Value*, 4> rows;
    for (llvm::Value* a : address.part) {
      rows.push_back(builder_.CreateAlignedLoad(VectorOf(memory, group_lanes_ * width),
                                                Host(a, delta), align));
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
  for (unsigned e = 0; e < width; ++e) {
    llvm::Value* pointers = Host(lanes, delta, int64_t{in.bytes} * e);
    finish(e, {kVaryingShape,
               {builder_.CreateMaskedGather(
                   VectorOf(memory), pointers, align,
                   llvm::Constant::getAllOnesValue(VectorOf(builder_.getInt1Ty())))}});
  }
}

void CodeGenerator::EmitStore(const Value& address, llvm::Value* delta) {
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
  if (address.shape.group_uniform()) {
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
      builder_.CreateAlignedStore(row, Host(address.part[g], delta), align);
    }
    return;
  }
  llvm::Value* lanes = Expand(address);
  for (unsigned e = 0; e < width; ++e) {
    builder_.CreateMaskedScatter(Expand(values[e]), Host(lanes, delta, int64_t{in.bytes} * e),
                                 align,
                                 llvm::Constant::getAllOnesValue(VectorOf(builder_.getInt1Ty())));
  }
}

}  // namespace kernelsmith::vgpu::jit
