// tex, suld, sust on texture and surface objects (handles in 64-bit registers).

#include <fmt/format.h>

#include "vgpu/function_lowerer.h"
#include "vgpu/texture.h"

namespace kernelsmith::vgpu {

using ptx::Modifier;
using ptx::Opcode;
using ptx::OperandKind;
using ptx::Type;

//   tex{.level|.grad}.geom.v4.dtype.ctype {d...}, [object, {coordinates}]{, lod...}
//   suld.b.geom{.vec}.type.mode {d...}, [object, {coordinates}]
//   sust.b.geom{.vec}.type.mode [object, {coordinates}], {s...}
// The list has the registers of the value, then the coordinates; width says how many are values.
Status FunctionLowerer::LowerTexture() {
  const bool store = in_->opcode() == Opcode::kSust;
  const bool texture = in_->opcode() == Opcode::kTex;
  constexpr std::pair<Modifier, TextureShape> kShapes[] = {
      {Modifier::kDim1, TextureShape::k1d},       {Modifier::kDim2, TextureShape::k2d},
      {Modifier::kDim3, TextureShape::k3d},       {Modifier::kA1d, TextureShape::kLayered1d},
      {Modifier::kA2d, TextureShape::kLayered2d}, {Modifier::kCube, TextureShape::kCube},
  };
  bool known = false;
  Instruction access = Make(texture ? Op::kTex
                            : store ? Op::kSurfaceStore
                                    : Op::kSurfaceLoad,
                            type());
  for (const auto& [modifier, shape] : kShapes) {
    if (!Has(modifier)) continue;
    access.variant = static_cast<uint8_t>(shape);
    known = true;
  }
  if (!known) return Unsupported("this geometry");
  if (Has(Modifier::kP)) return Unsupported("formatted stores");
  if (texture && (type() == Type::kF16 || type() == Type::kF16x2)) {
    return Unsupported("results of half precision");
  }
  if (count() < 2) return Invalid("too few operands");
  const ptx::Operand& place = operand(store ? 0 : 1);
  const ptx::Operand& value = operand(store ? 1 : 0);
  if (place.kind != OperandKind::kAddress || place.elements.size() != 2) {
    return Unsupported("this form (texture references and separate samplers)");
  }
  if (!place.elements[0].IsRegister()) {
    return Unsupported("a texture reference; texture objects are supported");
  }
  KS_TRY(access.a, Source(place.elements[0], Type::kB64));
  const Type word = texture ? Type::kB32 : type();
  std::vector<Operand> list;
  const auto values = PartsOf(value);
  if (values.size() != static_cast<size_t>(mnemonic_->vector_width)) {
    return Invalid(fmt::format("expected a vector of {} elements", mnemonic_->vector_width));
  }
  for (const ptx::Operand* part : values) {
    // Bytes stand in 16-bit registers.
    const Type reg_type = ptx::BytesOf(word) == 1 ? Type::kB16 : word;
    KS_TRY(const Operand reg, store ? Source(*part, reg_type) : Destination(*part, reg_type));
    list.push_back(reg);
  }
  access.width = static_cast<uint8_t>(list.size());
  const auto coordinates = PartsOf(place.elements[1]);
  for (const ptx::Operand* part : coordinates) {
    KS_TRY(const Operand reg, Source(*part, Type::kB32));
    list.push_back(reg);
  }
  constexpr size_t kNeeded[] = {1, 2, 3, 2, 3, 3};  // one entry a TextureShape
  if (coordinates.size() < kNeeded[access.variant]) return Invalid("too few coordinates");
  access.bytes = static_cast<uint8_t>(ptx::BytesOf(word));
  access.source_type = texture ? mnemonic_->TypeAt(1) : Type::kS32;
  // Outside of a surface: a fault, the nearest element, or nothing.
  access.offset = Has(Modifier::kClamp) ? 1 : Has(Modifier::kZero) ? 2 : 0;
  access.list_first = AppendList(list);
  access.list_count = static_cast<uint16_t>(list.size());
  return Append(access);
}

}  // namespace kernelsmith::vgpu
