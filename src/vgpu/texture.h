// Texture and surface objects: what a handle points to. The runtime makes one in device memory and
// gives its address to the program; tex, suld and sust read it there.
#pragma once

#include <cstdint>

namespace kernelsmith::vgpu {

// Instruction::variant of Op::kTex, kSurfaceLoad and kSurfaceStore.
enum class TextureShape : uint8_t { k1d, k2d, k3d, kLayered1d, kLayered2d, kCube };

struct Texture {
  static constexpr uint32_t kMagic = 0x6b737478;

  enum class Kind : uint8_t { kSigned, kUnsigned, kFloat };       // cudaChannelFormatKind
  enum class Border : uint8_t { kWrap, kClamp, kMirror, kZero };  // cudaTextureAddressMode

  uint32_t magic = kMagic;
  Kind kind = Kind::kFloat;
  uint8_t channels = 1;
  uint8_t bits = 32;           // bits of a channel: 8, 16, 32
  bool linear_memory = false;  // tex1Dfetch: outside is 0
  bool filter = false;         // linear interpolation
  bool normalized_coordinates = false;
  bool normalized_values = false;  // integers read as floats in [0, 1] or [-1, 1]
  Border border[3] = {Border::kClamp, Border::kClamp, Border::kClamp};
  uint64_t address = 0;
  uint64_t width = 1;  // texels
  uint64_t height = 1;
  uint64_t depth = 1;  // or layers
  uint64_t pitch = 0;  // bytes
  uint64_t slice = 0;
  float border_color[4] = {};

  uint32_t TexelBytes() const { return uint32_t{channels} * bits / 8; }
};

}  // namespace kernelsmith::vgpu
