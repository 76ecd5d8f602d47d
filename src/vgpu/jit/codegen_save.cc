// Values in a warp's `save` area: across barriers, on the way to and from the interpreter, and as
// operands of instructions that the interpreter's handlers execute.

#include <algorithm>

#include "vgpu/jit/codegen.h"

namespace kernelsmith::vgpu::jit {

uint32_t CodeGenerator::SlotOf(llvm::ArrayRef<llvm::AllocaInst*> parts) {
  const auto [it, inserted] = slots_.try_emplace(parts[0], save_bytes_);
  if (inserted) {
    for (const llvm::AllocaInst* part : parts) {
      llvm::Type* type = part->getAllocatedType();
      save_bytes_ +=
          type->isVectorTy() ? kLanes * std::max(1u, type->getScalarSizeInBits() / 8) : 8;
    }
    // Vectors begin where a cache line does.
    save_bytes_ = (save_bytes_ + 63) / 64 * 64;
  }
  return it->second;
}

SavedValue CodeGenerator::Describe(const LiveValue& value,
                                   llvm::ArrayRef<llvm::AllocaInst*> parts) {
  using Form = SavedValue::Form;
  const Web& web = analysis_.webs()[value.web];
  SavedValue saved{.place = value.offset,
                   .slot = SlotOf(parts),
                   .width = web.width,
                   .raw = web.raw,
                   .groups = static_cast<uint8_t>(groups_)};
  if (!parts[0]->getAllocatedType()->isVectorTy()) {
    saved.form = web.shape.affine() ? Form::kAffine : Form::kUniform;
    saved.stride = web.shape.affine() ? web.shape.stride : 0;
  }
  return saved;
}

llvm::Value* CodeGenerator::SavePlace(uint32_t slot) {
  return builder_.CreateConstGEP1_32(
      builder_.getInt8Ty(), WarpField(offsetof(WarpContext, save), builder_.getPtrTy()), slot);
}

SavedValue CodeGenerator::Save(const LiveValue& value, llvm::ArrayRef<llvm::AllocaInst*> parts) {
  const SavedValue saved = Describe(value, parts);
  if (homes_[value.web] != nullptr && parts[0] == storage_[value.web][0]) return saved;
  uint32_t slot = saved.slot;
  for (llvm::AllocaInst* part : parts) {
    llvm::Type* type = part->getAllocatedType();
    llvm::Value* stored = builder_.CreateLoad(type, part);
    if (!type->isVectorTy()) {
      builder_.CreateAlignedStore(builder_.CreateZExt(stored, builder_.getInt64Ty()),
                                  SavePlace(slot), llvm::Align(8));
      slot += 8;
    } else if (type->getScalarType()->isIntegerTy(1)) {
      builder_.CreateAlignedStore(builder_.CreateBitCast(stored, builder_.getInt32Ty()),
                                  SavePlace(slot), llvm::Align(8));
    } else {
      builder_.CreateAlignedStore(stored, SavePlace(slot), llvm::Align(64));
    }
  }
  return saved;
}

SavedValue CodeGenerator::SaveNow(const LiveValue& value) {
  // Where lanes part, those that ran before may have saved their own value of the web there.
  if (parted_ == nullptr && analysis_.Unchanged(pc_, value.web))
    return Describe(value, storage_[value.web]);
  return Save(value);
}

void CodeGenerator::Restore(uint32_t web) {
  if (homes_[web] != nullptr) return;
  uint32_t slot = SlotOf(storage_[web]);
  for (llvm::AllocaInst* part : storage_[web]) {
    llvm::Type* type = part->getAllocatedType();
    if (!type->isVectorTy()) {
      llvm::Value* wide =
          builder_.CreateAlignedLoad(builder_.getInt64Ty(), SavePlace(slot), llvm::Align(8));
      builder_.CreateStore(builder_.CreateTrunc(wide, type), part);
      slot += 8;
    } else if (type->getScalarType()->isIntegerTy(1)) {
      llvm::Value* bits =
          builder_.CreateAlignedLoad(builder_.getInt32Ty(), SavePlace(slot), llvm::Align(8));
      builder_.CreateStore(LanesOf(bits), part);
    } else {
      builder_.CreateStore(builder_.CreateAlignedLoad(type, SavePlace(slot), llvm::Align(64)),
                           part);
    }
  }
}

}  // namespace kernelsmith::vgpu::jit
