// What compiled code of a screened launch (vgpu/screen.h) does beyond its work: it tells the screen
// of its accesses before they happen and looks whether index arithmetic wraps.

#include "vgpu/jit/codegen.h"
#include "vgpu/op_facts.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

using llvm::BasicBlock;

namespace {

llvm::Value* FunctionAt(llvm::IRBuilder<>& builder, const void* function) {
  return builder.CreateIntToPtr(builder.getInt64(reinterpret_cast<uint64_t>(function)),
                                builder.getPtrTy());
}

}  // namespace

bool CodeGenerator::ScreenedByHandler(const Instruction& in) const {
  if (!request_.screened) return false;
  switch (in.op) {
    case Op::kShfl:
    case Op::kBarWarpSync: {
      const auto members = analysis_.ConstantIn(in, in.e);
      return !members || *members != -1;
    }
    case Op::kLoad:
    case Op::kStore:
      return in.space == MemorySpace::kLocal || in.address == AddressBase::kFrame;
    default:
      return AccessesMemory(in.op);
  }
}

void CodeGenerator::EmitScreen(const Value& address, uint32_t site, llvm::Value* bits) {
  if (!request_.screened) return;
  const Instruction& in = *in_;
  const bool shared = in.space == MemorySpace::kShared;
  if (!shared && site == ~0u) return;  // parameters
  if (shared && bits == nullptr && EmitSharedScreen(address)) return;
  llvm::Value* mask = bits != nullptr ? bits : builder_.getInt32(kFullMask);
  llvm::Type* i64 = builder_.getInt64Ty();
  llvm::Type* pointer = builder_.getPtrTy();
  BasicBlock* after = NewBlock("screened");
  llvm::Value* region = llvm::ConstantPointerNull::get(builder_.getPtrTy());
  if (!shared) {
    region = SiteField(site, offsetof(Site, screen), pointer);
    BasicBlock* look = NewBlock("look");
    builder_.CreateCondBr(builder_.CreateIsNull(region), after, look);
    builder_.SetInsertPoint(look);
  }
  const uint64_t access =
      uint64_t{in.bytes} * in.width | (in.op == Op::kStore ? kWrites : uint64_t{0});
  llvm::Value* good = nullptr;
  if (address.shape.varying()) {
    if (screen_buffer_ == nullptr) screen_buffer_ = Slot(VectorOf(i64));
    builder_.CreateStore(Expand(address), screen_buffer_);
    llvm::FunctionType* type = llvm::FunctionType::get(
        builder_.getInt1Ty(), {pointer, pointer, pointer, builder_.getInt32Ty(), i64}, false);
    llvm::CallInst* call = builder_.CreateCall(
        type, FunctionAt(builder_, reinterpret_cast<const void*>(request_.helpers.screen_lanes)),
        {warp_, region, screen_buffer_, mask, builder_.getInt64(access)});
    call->addRetAttr(llvm::Attribute::ZExt);
    good = call;
  } else {
    llvm::FunctionType* type = llvm::FunctionType::get(
        builder_.getInt1Ty(), {pointer, pointer, i64, i64, i64, builder_.getInt32Ty()}, false);
    const uint64_t lanes = kLanes / address.part.size();
    const int64_t stride = address.shape.affine() ? address.shape.stride : 0;
    for (size_t g = 0; g < address.part.size(); ++g) {
      llvm::CallInst* call = builder_.CreateCall(
          type, FunctionAt(builder_, reinterpret_cast<const void*>(request_.helpers.screen_row)),
          {warp_, region, address.part[g], builder_.getInt64(static_cast<uint64_t>(stride)),
           builder_.getInt64(access | lanes << 8 | (g * lanes) << 16), mask});
      call->addRetAttr(llvm::Attribute::ZExt);
      good = good == nullptr ? static_cast<llvm::Value*>(call) : builder_.CreateAnd(good, call);
    }
  }
  BranchIfFailed(good);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

// False: there is no short way.
bool CodeGenerator::EmitSharedScreen(const Value& address) {
  const Instruction& in = *in_;
  const uint32_t total = uint32_t{in.bytes} * in.width;
  const bool write = in.op == Op::kStore;
  const bool same = address.shape.group_uniform();
  const unsigned lanes = kLanes / static_cast<unsigned>(address.part.size());
  if (address.shape.varying() || total >> request_.screen_shift == 0) return false;
  if (!same && !Contiguous(address)) return false;
  if (same && (write || lanes == 1)) return false;
  const unsigned per_lane = total >> request_.screen_shift;
  const unsigned cells = same ? per_lane : lanes * per_lane;
  llvm::Type* i32 = builder_.getInt32Ty();
  llvm::Type* vector = llvm::FixedVectorType::get(i32, cells);
  const auto field = [&](size_t offset, llvm::Type* type) {
    llvm::Value*& value = screen_fields_[offset];
    if (value == nullptr) {
      // Once a call: it ends at the next barrier.
      const llvm::IRBuilderBase::InsertPointGuard restore(builder_);
      builder_.SetInsertPoint(start_->getTerminator());
      llvm::Value* view = BlockField(offsetof(BlockContext, screen), builder_.getPtrTy());
      value = builder_.CreateLoad(type,
                                  builder_.CreateConstGEP1_64(builder_.getInt8Ty(), view, offset));
    }
    return value;
  };
  const auto number = [&](size_t offset) {
    return builder_.CreateVectorSplat(cells, field(offset, i32));
  };
  llvm::Value* now = number(offsetof(ScreenView, now));
  llvm::Value* several = number(offsetof(ScreenView, several));
  llvm::Value* read_first = number(offsetof(ScreenView, read_first));
  llvm::Value* read_before = number(offsetof(ScreenView, read_before));
  llvm::Value* writes = field(offsetof(ScreenView, writes), builder_.getPtrTy());
  llvm::Value* reads = field(offsetof(ScreenView, reads), builder_.getPtrTy());
  llvm::Value* warp = WarpField(offsetof(WarpContext, warp_index), i32);
  const llvm::Align align(4);
  llvm::Value* good = nullptr;
  // One group after the other: they may meet in a cell.
  for (size_t g = 0; g < address.part.size(); ++g) {
    llvm::Value* cell = builder_.CreateLShr(address.part[g], request_.screen_shift);
    llvm::Value* write_cells = builder_.CreateGEP(i32, writes, cell);
    llvm::Value* read_cells = builder_.CreateGEP(i32, reads, cell);
    llvm::Value* w = builder_.CreateAlignedLoad(vector, write_cells, align);
    llvm::Value* fine = nullptr;
    if (same) {
      // Several lanes read: none of them may have written it in this interval.
      fine = builder_.CreateICmpULT(builder_.CreateSub(w, read_first), read_before);
      builder_.CreateAlignedStore(several, read_cells, align);
    } else {
      llvm::SmallVector<llvm::Constant*, 128> threads;
      for (unsigned i = 0; i < cells; ++i) {
        threads.push_back(builder_.getInt32(static_cast<uint32_t>(g) * lanes + i / per_lane));
      }
      llvm::Value* first = builder_.CreateAdd(field(offsetof(ScreenView, now), i32),
                                              builder_.CreateMul(warp, builder_.getInt32(kLanes)));
      llvm::Value* me = builder_.CreateAdd(builder_.CreateVectorSplat(cells, first),
                                           llvm::ConstantVector::get(threads));
      llvm::Value* r = builder_.CreateAlignedLoad(vector, read_cells, align);
      llvm::Value* read_by_others =
          builder_.CreateAnd(builder_.CreateICmpUGE(r, now), builder_.CreateICmpNE(r, me));
      llvm::Value* own = builder_.CreateICmpEQ(w, me);
      if (write) {
        fine = builder_.CreateAnd(builder_.CreateOr(own, builder_.CreateICmpULT(w, now)),
                                  builder_.CreateNot(read_by_others));
        builder_.CreateAlignedStore(me, write_cells, align);
      } else {
        fine = builder_.CreateOr(
            own, builder_.CreateICmpULT(builder_.CreateSub(w, read_first), read_before));
        builder_.CreateAlignedStore(builder_.CreateSelect(read_by_others, several, me), read_cells,
                                    align);
      }
    }
    fine = builder_.CreateAndReduce(fine);
    good = good == nullptr ? fine : builder_.CreateAnd(good, fine);
  }
  Suspect(builder_.CreateNot(good), kSuspectShared);
  return true;
}

// As the checker of index arithmetic sees it: the exact result is no 32-bit number with a sign.
void CodeGenerator::EmitIndexScreen() {
  const Instruction& in = *in_;
  if (!request_.screen_index || !in.index || in.d.bytes() != 4 || !MayWrapIndex(in.op)) return;
  const bool with_c = in.op == Op::kMadLo;
  llvm::Value* mask = AllRun() ? nullptr : RunningBits();
  if (analysis_.Guarded(in)) {
    llvm::Value* guard = MaskBits(Guard(in));
    mask = mask == nullptr ? guard : builder_.CreateAnd(mask, guard);
  }
  llvm::SmallVector<Value, 3> sources{Read(in.a), Read(in.b)};
  if (with_c) sources.push_back(Read(in.c));
  const auto is_straight = [](const Value& x) { return x.shape.affine() && x.shape.stride != 0; };
  bool varying = false;
  bool uniform = true;
  for (const Value& x : sources) {
    varying |= x.shape.varying();
    uniform &= x.shape.uniform();
  }
  // Products of two straight lines bend: their ends do not tell.
  if (in.op != Op::kAdd && in.op != Op::kSub) {
    varying |= is_straight(sources[1]) && (is_straight(sources[0]) || in.op == Op::kShl);
  }
  llvm::Value* bad = nullptr;
  const auto add = [&](llvm::Value* more) {
    bad = bad == nullptr ? more : builder_.CreateOr(bad, more);
  };
  const auto too_large = [&](llvm::Value* wide) {
    llvm::Value* narrow = builder_.CreateTrunc(wide, Like(wide, builder_.getInt32Ty()));
    return builder_.CreateICmpNE(builder_.CreateSExt(narrow, wide->getType()), wide);
  };
  const auto exact = [&](llvm::ArrayRef<llvm::Value*> x) -> llvm::Value* {
    switch (in.op) {
      case Op::kAdd:
        return builder_.CreateAdd(x[0], x[1]);
      case Op::kSub:
        return builder_.CreateSub(x[0], x[1]);
      case Op::kShl: {
        // Amounts above 31 lose everything.
        llvm::Value* most = Const(x[1], 31);
        llvm::Value* amount = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, x[1], most);
        add(builder_.CreateICmpUGT(x[1], most));
        return builder_.CreateShl(x[0], amount);
      }
      default: {
        llvm::Value* product = builder_.CreateMul(x[0], x[1]);
        return with_c ? builder_.CreateAdd(product, x[2]) : product;
      }
    }
  };
  const auto widen = [&](llvm::Value* x) {
    return builder_.CreateSExt(x, Like(x, builder_.getInt64Ty()));
  };
  if (varying) {
    llvm::SmallVector<llvm::Value*, 3> x;
    for (const Value& source : sources) x.push_back(widen(Expand(source)));
    add(too_large(exact(x)));
    if (mask != nullptr) {
      bad = builder_.CreateAnd(bad, LanesOf(mask));
    }
    bad = builder_.CreateOrReduce(bad);
  } else {
    const size_t groups = uniform ? 1 : static_cast<size_t>(groups_);
    for (size_t g = 0; g < groups; ++g) {
      for (const int64_t lane : {int64_t{0}, static_cast<int64_t>(group_lanes_) - 1}) {
        if (uniform && lane != 0) continue;
        llvm::SmallVector<llvm::Value*, 3> x;
        for (const Value& source : sources) {
          llvm::Value* value = widen(source.part[source.part.size() > 1 ? g : 0]);
          const auto stride = static_cast<int64_t>(static_cast<int32_t>(source.shape.stride));
          if (source.shape.affine() && stride * lane != 0) {
            value = builder_.CreateAdd(value, Const(value, static_cast<uint64_t>(stride * lane)));
            add(too_large(value));
          }
          x.push_back(value);
        }
        add(too_large(exact(x)));
      }
    }
    if (mask != nullptr) {
      bad = builder_.CreateAnd(bad, builder_.CreateICmpNE(mask, builder_.getInt32(0)));
    }
  }
  Suspect(bad, kSuspectIndex);
}

// Ends the launch if `bad`.
void CodeGenerator::Suspect(llvm::Value* bad, uint32_t why) {
  BasicBlock* suspicious = NewBlock("suspicious");
  BasicBlock* after = NewBlock("unsuspicious");
  Cold(bad, suspicious, after);
  builder_.SetInsertPoint(suspicious);
  llvm::FunctionType* type = llvm::FunctionType::get(
      builder_.getVoidTy(), {builder_.getPtrTy(), builder_.getInt32Ty()}, false);
  builder_.CreateCall(type,
                      FunctionAt(builder_, reinterpret_cast<const void*>(request_.helpers.suspect)),
                      {warp_, builder_.getInt32(why)});
  Return(Outcome::kFault);
  builder_.SetInsertPoint(after);
}

}  // namespace kernelsmith::vgpu::jit
