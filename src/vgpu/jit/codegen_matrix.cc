// Matrix instructions. Registers of fragments are memory: the storage of their webs, whose
// addresses the kernels of vgpu/matrix_kernels.h get. Operands of a product are decoded to floats
// first; a decoded fragment serves all products of its block that have the same registers, until
// one of these is written.

#include <algorithm>

#include "vgpu/jit/codegen.h"
#include "vgpu/matrix_kernels.h"
#include "vgpu/op_facts.h"
#include "vgpu/warp.h"

namespace kernelsmith::vgpu::jit {

using llvm::ArrayRef;
using math::MmaRole;
using math::MmaType;

namespace {

// What the largest instruction has: d and a of wgmma m64n256k16.
constexpr unsigned kMostRegisters = 132;

}  // namespace

// Before anything is emitted: storage of these webs is never promoted to SSA values, so that zeros
// at the beginning would be written for every warp.
void CodeGenerator::FindFragments() {
  fragments_.assign(analysis_.webs().size(), false);
  for (uint32_t pc = 0; pc < function_.code.size(); ++pc) {
    const Instruction& in = function_.code[pc];
    const bool fragments = IsMatrix(in.op) || in.op == Op::kWgmma;
    if (!fragments || !analysis_.IsNative(in) || in.op == Op::kMovmatrix) continue;
    for (uint32_t i = 0; i < in.list_count; ++i) {
      const Operand operand = function_.list[in.list_first + i];
      if (!operand.exists() || operand.base() != OperandBase::kRegister) continue;
      for (const uint32_t web : {analysis_.ReadWeb(pc, operand), analysis_.WriteWeb(pc, operand)}) {
        if (web != ~0u && !analysis_.webs()[web].zero_first) fragments_[web] = true;
      }
    }
  }
}

// They live in `save` from the beginning: so many values would be copied at each barrier.
void CodeGenerator::FindHomes() {
  homes_.assign(analysis_.webs().size(), nullptr);
  for (uint32_t web = 0; web < homes_.size(); ++web) {
    if (!fragments_[web] || !analysis_.webs()[web].shape.varying()) continue;
    homes_[web] = SavePlace(SlotOf(storage_[web]));
  }
}

llvm::Value* CodeGenerator::PlaceOf(uint32_t web) {
  return homes_[web] != nullptr ? homes_[web] : storage_[web][0];
}

llvm::Value* CodeGenerator::Pointer(const void* address) {
  return builder_.CreateIntToPtr(builder_.getInt64(reinterpret_cast<uint64_t>(address)),
                                 builder_.getPtrTy());
}

llvm::Value* CodeGenerator::CallAddress(const void* function, llvm::Type* result,
                                        ArrayRef<llvm::Value*> arguments) {
  llvm::SmallVector<llvm::Type*, 8> types;
  for (llvm::Value* argument : arguments) types.push_back(argument->getType());
  llvm::CallInst* call = builder_.CreateCall(llvm::FunctionType::get(result, types, false),
                                             Pointer(function), arguments);
  if (result->isIntegerTy(1)) call->addRetAttr(llvm::Attribute::ZExt);
  return call;
}

// Where the lanes of an operand that is read are. `any_nan`: its NaNs may have any bits.
llvm::Value* CodeGenerator::LanesInMemory(Operand operand, bool any_nan) {
  if (operand.base() == OperandBase::kRegister) {
    const Web& web = analysis_.webs()[analysis_.ReadWeb(pc_, operand)];
    if (web.shape.varying() && (any_nan || !web.raw)) {
      return PlaceOf(analysis_.ReadWeb(pc_, operand));
    }
  }
  llvm::Value* lanes = Expand(Read(operand, any_nan));
  llvm::AllocaInst* copy = Slot(lanes->getType());
  builder_.CreateStore(lanes, copy);
  return copy;
}

llvm::Value* CodeGenerator::ResultInMemory(Operand operand) {
  const uint32_t web = analysis_.WriteWeb(pc_, operand);
  ForgetDecoded(web);
  return PlaceOf(web);
}

llvm::Value* CodeGenerator::PointerTable(ArrayRef<llvm::Value*> pointers, unsigned first) {
  if (pointers_ == nullptr) {
    pointers_ = Slot(llvm::ArrayType::get(builder_.getPtrTy(), kMostRegisters));
  }
  llvm::Value* begin = builder_.CreateConstGEP1_32(builder_.getPtrTy(), pointers_, first);
  for (unsigned i = 0; i < pointers.size(); ++i) {
    builder_.CreateStore(pointers[i], builder_.CreateConstGEP1_32(builder_.getPtrTy(), begin, i));
  }
  return begin;
}

// ---- decoded fragments

void CodeGenerator::ForgetDecoded(uint32_t web) {
  std::erase_if(decoded_, [&](const Decoded& decoded) {
    if (std::find(decoded.webs.begin(), decoded.webs.end(), web) == decoded.webs.end())
      return false;
    spare_decoded_[decoded.floats].push_back(decoded.slot);
    return true;
  });
}

void CodeGenerator::ForgetAllDecoded() {
  for (const Decoded& decoded : decoded_) {
    spare_decoded_[decoded.floats].push_back(decoded.slot);
  }
  decoded_.clear();
}

// Whether a later product of the block has these registers as they are now.
bool CodeGenerator::UsedAgain(const Decoded& decoded) const {
  const CodeBlock& block = analysis_.blocks()[analysis_.block_of(pc_)];
  for (uint32_t pc = pc_ + 1; pc < block.last; ++pc) {
    const Instruction& in = function_.code[pc];
    if (in.op == Op::kMma || in.op == Op::kWmmaMma) {
      uint32_t found = 0;
      for (uint32_t i = in.width; i < in.list_count && found < decoded.webs.size(); ++i) {
        const bool same =
            analysis_.ReadWeb(pc, function_.list[in.list_first + i]) == decoded.webs[found];
        found = same ? found + 1 : 0;
      }
      if (found == decoded.webs.size()) return true;
    }
    bool written = false;
    ForEachTouch(in, function_.list, true, [&](Operand operand, Touch touch) {
      if (touch == Touch::kRead) return;
      const uint32_t web = analysis_.WriteWeb(pc, operand);
      written |= std::find(decoded.webs.begin(), decoded.webs.end(), web) != decoded.webs.end();
    });
    if (written) return false;
  }
  return false;
}

llvm::Value* CodeGenerator::DecodedFragment(const MmaTile& tile, bool is_a,
                                            ArrayRef<Operand> registers) {
  Decoded wanted{.is_a = is_a,
                 .type = is_a ? tile.a : tile.b,
                 .floats = is_a ? DecodedA(tile) : DecodedB(tile)};
  for (const Operand operand : registers) {
    const bool is_register = operand.base() == OperandBase::kRegister;
    wanted.webs.push_back(is_register ? analysis_.ReadWeb(pc_, operand) : ~0u);
  }
  for (const Decoded& decoded : decoded_) {
    if (decoded.is_a == wanted.is_a && decoded.type == wanted.type &&
        decoded.floats == wanted.floats && decoded.webs == wanted.webs) {
      return decoded.slot;
    }
  }
  auto& spare = spare_decoded_[wanted.floats];
  if (spare.empty()) {
    llvm::AllocaInst* slot = Slot(llvm::ArrayType::get(builder_.getFloatTy(), wanted.floats));
    slot->setAlignment(llvm::Align(64));
    spare.push_back(slot);
  }
  wanted.slot = spare.back();
  spare.pop_back();
  llvm::SmallVector<llvm::Value*, 8> lanes;
  for (const Operand operand : registers) lanes.push_back(LanesInMemory(operand, false));
  const auto* kernel = reinterpret_cast<const void*>(is_a ? request_.helpers.matrix->decode_a
                                                          : request_.helpers.matrix->decode_b);
  CallAddress(kernel, builder_.getVoidTy(),
              {Pointer(KeepTile(tile)), PointerTable(lanes, 0), wanted.slot});
  decoded_.push_back(wanted);
  return wanted.slot;
}

const MmaTile* CodeGenerator::KeepTile(const MmaTile& tile) {
  auto kept = std::make_shared<const MmaTile>(tile);
  constants_.push_back(kept);
  return kept.get();
}

// ---- instructions

void CodeGenerator::EmitMma() {
  const Instruction& in = *in_;
  const MatrixInfo& info = function_.matrices[in.target];
  const math::MmaSpec& spec = info.plan->spec();
  const auto count = [&](MmaRole role) {
    return static_cast<uint32_t>(info.plan->fragment(role).registers);
  };
  const auto distinct = [&](MmaRole role) {
    return static_cast<uint32_t>(info.plan->fragment(role).distinct);
  };
  const Operand* list = &function_.list[in.list_first];
  const Operand* list_a = list + count(MmaRole::kD);
  const Operand* list_b = list_a + count(MmaRole::kA);
  const Operand* list_c = list_b + count(MmaRole::kB);
  // A result that is the register of another element of c must not be written before that is read.
  bool crossed = false;
  for (uint32_t i = 0; i < count(MmaRole::kD); ++i) {
    for (uint32_t j = 0; j < count(MmaRole::kC); ++j) {
      crossed |= list_c[j].base() == OperandBase::kRegister && i != j &&
                 analysis_.WriteWeb(pc_, list[i]) == analysis_.ReadWeb(pc_, list_c[j]);
    }
    for (uint32_t j = 0; j < i; ++j) crossed |= list[i] == list[j];
  }
  crossed |= count(MmaRole::kD) != count(MmaRole::kC) && spec.c != spec.d;
  if (request_.helpers.matrix == nullptr || !HasTiles(spec) || crossed) {
    llvm::SmallVector<llvm::Value*, 32> lanes;
    for (uint32_t i = count(MmaRole::kD); i < in.list_count; ++i) {
      lanes.push_back(LanesInMemory(list[i], false));
    }
    llvm::SmallVector<llvm::Value*, 32> results;
    for (uint32_t i = 0; i < count(MmaRole::kD); ++i) results.push_back(ResultInMemory(list[i]));
    results.append(lanes.begin(), lanes.end());
    CallAddress(reinterpret_cast<const void*>(request_.helpers.multiply), builder_.getVoidTy(),
                {Pointer(&info), PointerTable(results, 0)});
    return;
  }
  MmaTile tile{.a = spec.a,
               .b = spec.b,
               .rows = static_cast<uint32_t>(std::min(spec.m, 16)),
               .k = static_cast<uint32_t>(spec.k),
               .half_c = spec.c == MmaType::kF16,
               .half_d = spec.d == MmaType::kF16};
  const uint32_t down = static_cast<uint32_t>(spec.m) / tile.rows;
  const uint32_t across = static_cast<uint32_t>(spec.n) / kTileColumns;
  llvm::SmallVector<llvm::Value*, 4> a;
  llvm::SmallVector<llvm::Value*, 4> b;
  const uint32_t each_a = distinct(MmaRole::kA) / down;
  const uint32_t each_b = distinct(MmaRole::kB) / across;
  for (uint32_t i = 0; i < down; ++i) {
    a.push_back(DecodedFragment(tile, true, ArrayRef(list_a + i * each_a, each_a)));
  }
  for (uint32_t i = 0; i < across; ++i) {
    b.push_back(DecodedFragment(tile, false, ArrayRef(list_b + i * each_b, each_b)));
  }
  llvm::SmallVector<llvm::Value*, 16> c;
  for (uint32_t i = 0; i < count(MmaRole::kC); ++i) {
    c.push_back(LanesInMemory(list_c[i], !tile.half_c));
  }
  // Those that no later product needs make room for others before the results are written.
  std::erase_if(decoded_, [&](const Decoded& decoded) {
    if (!analysis_.Guarded(in) && UsedAgain(decoded)) return false;
    spare_decoded_[decoded.floats].push_back(decoded.slot);
    return true;
  });
  llvm::SmallVector<llvm::Value*, 16> d;
  for (uint32_t i = 0; i < count(MmaRole::kD); ++i) d.push_back(ResultInMemory(list[i]));
  const uint32_t tiles = down * across;
  const uint32_t each_c = count(MmaRole::kC) / tiles;
  const uint32_t each_d = count(MmaRole::kD) / tiles;
  const MmaTile* kept = KeepTile(tile);
  for (uint32_t i = 0; i < tiles; ++i) {
    llvm::Value* sources = PointerTable(ArrayRef(c).slice(i * each_c, each_c), 0);
    llvm::Value* results = PointerTable(ArrayRef(d).slice(i * each_d, each_d), each_c);
    CallAddress(reinterpret_cast<const void*>(request_.helpers.matrix->multiply),
                builder_.getVoidTy(),
                {Pointer(kept), a[i / across], b[i % across], sources, results});
  }
}

// Lane 0 has what all lanes must have.
llvm::Value* CodeGenerator::FirstLane(const Value& value) {
  if (!value.shape.varying()) return value.part[0];
  return builder_.CreateExtractElement(value.part[0], uint64_t{0});
}

// The engine finds the matrices in shared memory; what it cannot do the handler does.
void CodeGenerator::EmitWgmma() {
  const Instruction& in = *in_;
  const WgmmaInfo& info = function_.wgmmas[in.target];
  llvm::Value* mask = builder_.getInt32(kFullMask);
  if (request_.helpers.matrix == nullptr || info.d == ptx::Type::kS32) return EmitHandler(mask);
  llvm::Type* i64 = builder_.getInt64Ty();
  llvm::Value* a = info.a_shared ? FirstLane(Read(in.a)) : builder_.getInt64(0);
  llvm::Value* b = FirstLane(Read(in.b));
  llvm::Value* add = FirstLane(Read(in.c));
  if (in.negate_c) add = builder_.CreateNot(add);
  const Operand* list = &function_.list[in.list_first];
  llvm::SmallVector<llvm::Value*, kMostRegisters> registers;
  for (uint32_t i = 0; i < in.list_count; ++i) {
    registers.push_back(i < in.width ? ResultInMemory(list[i]) : LanesInMemory(list[i], false));
  }
  llvm::Value* done = CallAddress(
      reinterpret_cast<const void*>(request_.helpers.multiply_shared), builder_.getInt1Ty(),
      {block_context_, warp_, Pointer(&info), builder_.CreateZExtOrTrunc(a, i64),
       builder_.CreateZExtOrTrunc(b, i64), add, PointerTable(registers, 0)});
  llvm::BasicBlock* by_handler = NewBlock("by_handler");
  llvm::BasicBlock* after = NewBlock("after_matrix");
  Cold(builder_.CreateNot(done), by_handler, after);
  builder_.SetInsertPoint(by_handler);
  EmitHandler(mask);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

// The engine finds the memory; what it cannot do the handler does, or makes the fault.
void CodeGenerator::EmitMatrixAccess() {
  const Instruction& in = *in_;
  const bool writes = WritesMemory(in.op);
  const Value address = Address(in.offset);
  llvm::Type* i64 = builder_.getInt64Ty();
  if (addresses_ == nullptr) addresses_ = Slot(VectorOf(i64));
  llvm::Value* stride = builder_.getInt32(0);
  if (in.op == Op::kLdmatrix || in.op == Op::kStmatrix) {
    builder_.CreateStore(Expand(address), addresses_);
  } else {
    builder_.CreateStore(FirstLane(address), addresses_);
    stride = builder_.CreateZExtOrTrunc(FirstLane(Read(in.b)), builder_.getInt32Ty());
  }
  matrix_accesses_.push_back(std::make_unique<MatrixAccess>(
      MatrixAccess{.instruction = in_, .info = &function_.matrices[in.target], .site = sites_++}));
  llvm::SmallVector<llvm::Value*, 8> registers;
  for (uint32_t i = 0; i < in.list_count; ++i) {
    const Operand operand = function_.list[in.list_first + i];
    registers.push_back(writes ? LanesInMemory(operand, false) : ResultInMemory(operand));
  }
  llvm::Value* done = CallAddress(reinterpret_cast<const void*>(request_.helpers.matrix_access),
                                  builder_.getInt1Ty(),
                                  {block_context_, warp_, Pointer(matrix_accesses_.back().get()),
                                   addresses_, stride, PointerTable(registers, 0)});
  llvm::BasicBlock* by_handler = NewBlock("by_handler");
  llvm::BasicBlock* after = NewBlock("after_matrix");
  Cold(builder_.CreateNot(done), by_handler, after);
  builder_.SetInsertPoint(by_handler);
  EmitHandler(builder_.getInt32(kFullMask));
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

// The 16-bit elements of lane l are row l / 4, columns l % 4 * 2 and the next.
void CodeGenerator::EmitMovmatrix() {
  llvm::Value* lanes = Expand(Read(in_->a));
  llvm::Value* halves = builder_.CreateBitCast(lanes, VectorOf(builder_.getInt16Ty(), 2 * kLanes));
  llvm::SmallVector<int, 2 * kLanes> from;
  for (int i = 0; i < static_cast<int>(2 * kLanes); ++i) from.push_back(i % 8 * 8 + i / 8);
  halves = builder_.CreateShuffleVector(halves, from);
  Write(in_->d, {kVaryingShape, {builder_.CreateBitCast(halves, lanes->getType())}});
}

}  // namespace kernelsmith::vgpu::jit
