// tex, suld, sust. Filtering as the CUDA programming guide describes it: positions less a half, and
// fractions in fixed point with 8 bits behind the point.

#include "vgpu/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "vgpu/handlers/access.h"
#include "vgpu/handlers/handlers.h"
#include "vgpu/math/convert.h"

namespace kernelsmith::vgpu {
namespace {

// Four channels: floats, or integers for results that are.
struct Texel {
  float f[4] = {0, 0, 0, 1};
  uint32_t u[4] = {0, 0, 0, 1};
};

const uint8_t* HostAt(Warp& w, uint64_t address, uint64_t bytes) {
  if (!w.FindWindow(address, bytes)) return nullptr;
  return reinterpret_cast<const uint8_t*>(address + static_cast<uint64_t>(w.window.delta));
}

bool Fetch(Warp& w, int lane, uint64_t handle, Texture& texture) {
  const uint8_t* host = HostAt(w, handle, sizeof texture);
  if (host != nullptr) std::memcpy(&texture, host, sizeof texture);
  if (host == nullptr || texture.magic != Texture::kMagic) {
    w.Fail(FaultKind::kIllegalAddress, lane, handle, "not a texture or surface object");
    return false;
  }
  return true;
}

void Decode(const Texture& t, const uint8_t* bytes, Texel& out) {
  for (int c = 0; c < t.channels; ++c) {
    uint32_t raw = 0;
    std::memcpy(&raw, bytes + c * t.bits / 8, t.bits / 8);
    if (t.kind == Texture::Kind::kFloat) {
      out.f[c] =
          t.bits == 16 ? math::F32FromF16({static_cast<uint16_t>(raw)}) : std::bit_cast<float>(raw);
      out.u[c] = std::bit_cast<uint32_t>(out.f[c]);
      continue;
    }
    const bool is_signed = t.kind == Texture::Kind::kSigned;
    const int32_t value = is_signed ? static_cast<int32_t>(raw << (32 - t.bits)) >> (32 - t.bits)
                                    : static_cast<int32_t>(raw);
    out.u[c] = static_cast<uint32_t>(value);
    if (!t.normalized_values) {
      out.f[c] = std::bit_cast<float>(out.u[c]);
    } else if (is_signed) {
      const auto largest = static_cast<float>((int64_t{1} << (t.bits - 1)) - 1);
      out.f[c] = std::max(static_cast<float>(value) / largest, -1.0f);
    } else {
      out.f[c] = static_cast<float>(raw) / static_cast<float>((uint64_t{1} << t.bits) - 1);
    }
  }
}

// Index in [0, size), or -1 where the border's value is read.
int64_t Place(int64_t index, uint64_t size, Texture::Border border) {
  const auto count = static_cast<int64_t>(size);
  if (index >= 0 && index < count) return index;
  switch (border) {
    case Texture::Border::kZero:
      return -1;
    case Texture::Border::kWrap:
      return ((index % count) + count) % count;
    case Texture::Border::kMirror: {
      const int64_t turn = ((index % (2 * count)) + 2 * count) % (2 * count);
      return turn < count ? turn : 2 * count - 1 - turn;
    }
    default:
      return index < 0 ? 0 : count - 1;
  }
}

// One lookup.
class Lookup {
 public:
  Lookup(Warp& w, int lane, const Texture& texture, int dimensions)
      : w_(w), lane_(lane), t_(texture), dimensions_(dimensions) {
    const uint64_t sizes[3] = {t_.width, t_.height, t_.depth};
    std::copy(std::begin(sizes), std::end(sizes), size_);
  }

  bool failed() const { return failed_; }

  Texel At(const float* coordinates, int64_t layer) {
    int64_t low[3] = {};
    float part[3] = {};
    for (int d = 0; d < dimensions_; ++d) {
      float x = coordinates[d];
      if (t_.normalized_coordinates) x = Normal(x, d) * static_cast<float>(size_[d]);
      if (!(std::abs(x) < 1e9f)) x = x > 0 ? 1e9f : x < 0 ? -1e9f : 0.0f;
      if (!t_.filter) {
        low[d] = static_cast<int64_t>(std::floor(x));
        continue;
      }
      x -= 0.5f;
      const float floor = std::floor(x);
      low[d] = static_cast<int64_t>(floor);
      part[d] = std::floor((x - floor) * 256.0f + 0.5f) / 256.0f;
    }
    if (!t_.filter) return Read(low, layer);
    Texel result;
    for (float& f : result.f) f = 0;
    for (int corner = 0; corner < 1 << dimensions_; ++corner) {
      float weight = 1;
      int64_t place[3] = {low[0], low[1], low[2]};
      for (int d = 0; d < dimensions_; ++d) {
        const bool upper = (corner >> d & 1) != 0;
        weight *= upper ? part[d] : 1 - part[d];
        place[d] += upper ? 1 : 0;
      }
      if (weight == 0) continue;  // what is not there must not spoil the sum
      const Texel texel = Read(place, layer);
      for (int c = 0; c < 4; ++c) result.f[c] += weight * texel.f[c];
    }
    for (int c = 0; c < 4; ++c) result.u[c] = std::bit_cast<uint32_t>(result.f[c]);
    return result;
  }

  Texel Read(const int64_t* index, int64_t layer) {
    Texel texel;
    uint64_t address = t_.address + static_cast<uint64_t>(layer) * t_.slice;
    const uint64_t strides[3] = {t_.TexelBytes(), t_.pitch, t_.slice};
    for (int d = 0; d < dimensions_; ++d) {
      const int64_t at = Place(index[d], size_[d], BorderOf(d));
      if (at < 0 || (t_.linear_memory && at != index[d])) {
        for (int c = 0; c < 4; ++c) {
          texel.f[c] = t_.linear_memory ? 0 : t_.border_color[c];
          texel.u[c] = std::bit_cast<uint32_t>(texel.f[c]);
        }
        return texel;
      }
      address += static_cast<uint64_t>(at) * strides[d];
    }
    const uint8_t* host = HostAt(w_, address, t_.TexelBytes());
    if (host == nullptr) {
      failed_ = true;
      w_.Fail(FaultKind::kIllegalAddress, lane_, address, "a texture whose memory is gone");
      return texel;
    }
    Decode(t_, host, texel);
    return texel;
  }

 private:
  // Wrapping and mirroring need normalised coordinates; otherwise they mean clamping.
  Texture::Border BorderOf(int d) const {
    const Texture::Border border = t_.border[d];
    if (t_.normalized_coordinates || border == Texture::Border::kZero) return border;
    return Texture::Border::kClamp;
  }
  float Normal(float x, int d) const {
    if (t_.border[d] == Texture::Border::kWrap) return x - std::floor(x);
    if (t_.border[d] == Texture::Border::kMirror) {
      const float floor = std::floor(x);
      return std::fmod(floor, 2.0f) == 0 ? x - floor : 1 - (x - floor);
    }
    return x;
  }

  Warp& w_;
  int lane_;
  const Texture& t_;
  int dimensions_;
  uint64_t size_[3];
  bool failed_ = false;
};

// The face of a cube that a direction meets, and where.
int64_t CubeFace(float x, float y, float z, float* place) {
  const float ax = std::abs(x);
  const float ay = std::abs(y);
  const float az = std::abs(z);
  int64_t face = 0;
  float s = 0;
  float t = 0;
  float m = 1;
  if (ax >= ay && ax >= az) {
    face = x >= 0 ? 0 : 1;
    s = x >= 0 ? -z : z;
    t = -y;
    m = ax;
  } else if (ay >= az) {
    face = y >= 0 ? 2 : 3;
    s = x;
    t = y >= 0 ? z : -z;
    m = ay;
  } else {
    face = z >= 0 ? 4 : 5;
    s = z >= 0 ? x : -x;
    t = -y;
    m = az;
  }
  place[0] = (s / m + 1) * 0.5f;
  place[1] = (t / m + 1) * 0.5f;
  return face;
}

void Tex(Warp& w, const Instruction& in, uint32_t mask) {
  const Operand* list = &w.function().list[in.list_first];
  const auto shape = static_cast<TextureShape>(in.variant);
  const bool layered = shape == TextureShape::kLayered1d || shape == TextureShape::kLayered2d;
  const bool integers = in.source_type == ptx::Type::kS32;
  const bool floats = in.type == ptx::Type::kF32;
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Texture texture;
    if (!Fetch(w, lane, w.Lanes<uint64_t>(in.a)[lane], texture)) return;
    const auto word = [&](int i) { return w.Lanes<uint32_t>(list[in.width + i])[lane]; };
    const auto number = [&](int i) { return std::bit_cast<float>(word(i)); };
    int dimensions = 1;
    int first = 0;
    int64_t layer = 0;
    if (shape == TextureShape::k2d || shape == TextureShape::kLayered2d ||
        shape == TextureShape::kCube) {
      dimensions = 2;
    } else if (shape == TextureShape::k3d) {
      dimensions = 3;
    }
    if (layered) {
      first = 1;
      layer = std::clamp<int64_t>(static_cast<int32_t>(word(0)), 0,
                                  static_cast<int64_t>(texture.depth) - 1);
    }
    Lookup lookup(w, lane, texture, dimensions);
    Texel texel;
    if (integers) {
      int64_t index[3] = {};
      for (int d = 0; d < dimensions; ++d) index[d] = static_cast<int32_t>(word(first + d));
      texel = lookup.Read(index, layer);
    } else {
      float place[3] = {};
      if (shape == TextureShape::kCube) {
        layer = CubeFace(number(0), number(1), number(2), place);
      } else {
        for (int d = 0; d < dimensions; ++d) place[d] = number(first + d);
      }
      texel = lookup.At(place, layer);
    }
    if (lookup.failed()) return;
    for (int c = 0; c < in.width; ++c) {
      if (!list[c].exists()) continue;
      w.Lanes<uint32_t>(list[c])[lane] = floats ? std::bit_cast<uint32_t>(texel.f[c]) : texel.u[c];
    }
  }
}

// Where the element of a surface is; null: nowhere (and the launch may have failed).
uint8_t* SurfacePlace(Warp& w, const Instruction& in, int lane, const Texture& t) {
  const Operand* list = &w.function().list[in.list_first];
  const auto shape = static_cast<TextureShape>(in.variant);
  const auto word = [&](int i) {
    return int64_t{static_cast<int32_t>(w.Lanes<uint32_t>(list[in.width + i])[lane])};
  };
  const int64_t bytes = int64_t{in.bytes} * in.width;
  const bool layered = shape == TextureShape::kLayered1d || shape == TextureShape::kLayered2d;
  const int first = layered ? 1 : 0;
  int64_t x = word(first);
  int64_t y = 0;
  int64_t z = layered ? word(0) : 0;
  if (shape == TextureShape::k2d || shape == TextureShape::k3d ||
      shape == TextureShape::kLayered2d) {
    y = word(first + 1);
  }
  if (shape == TextureShape::k3d) z = word(2);
  const auto row = static_cast<int64_t>(t.width * t.TexelBytes());
  const auto height = static_cast<int64_t>(t.height);
  const auto depth = static_cast<int64_t>(t.depth);
  const bool inside = x >= 0 && x + bytes <= row && y >= 0 && y < height && z >= 0 && z < depth;
  if (x % bytes != 0) {
    w.Fail(FaultKind::kMisalignedAddress, lane, t.address, "a surface access that is not aligned");
    return nullptr;
  }
  if (!inside) {
    if (in.offset == 0) {
      w.Fail(FaultKind::kIllegalAddress, lane, t.address,
             "a surface access outside of the surface");
      return nullptr;
    }
    if (in.offset == 2) return nullptr;
    x = std::clamp<int64_t>(x, 0, row - bytes);
    y = std::clamp<int64_t>(y, 0, height - 1);
    z = std::clamp<int64_t>(z, 0, depth - 1);
  }
  const uint64_t address = t.address + static_cast<uint64_t>(x) +
                           static_cast<uint64_t>(y) * t.pitch + static_cast<uint64_t>(z) * t.slice;
  const uint8_t* host = HostAt(w, address, static_cast<uint64_t>(bytes));
  if (host == nullptr) {
    w.Fail(FaultKind::kIllegalAddress, lane, address, "a surface whose memory is gone");
  }
  return const_cast<uint8_t*>(host);
}

void Surface(Warp& w, const Instruction& in, uint32_t mask) {
  const Operand* list = &w.function().list[in.list_first];
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    Texture texture;
    if (!Fetch(w, lane, w.Lanes<uint64_t>(in.a)[lane], texture)) return;
    uint8_t* place = SurfacePlace(w, in, lane, texture);
    if (w.stopped) return;
    for (int c = 0; c < in.width; ++c) {
      if (!list[c].exists()) continue;
      std::byte* reg = w.Lanes<std::byte>(list[c]) + lane * list[c].bytes();
      if (in.op == Op::kSurfaceStore) {
        if (place != nullptr) std::memcpy(place + c * in.bytes, reg, in.bytes);
        continue;
      }
      uint64_t value = 0;
      if (place != nullptr) std::memcpy(&value, place + c * in.bytes, in.bytes);
      std::memcpy(reg, &value, list[c].bytes());
    }
  }
}

}  // namespace

Handler FindTextureHandler(const Instruction& in) {
  if (in.op == Op::kTex) return Tex;
  return in.op == Op::kSurfaceLoad || in.op == Op::kSurfaceStore ? Surface : nullptr;
}

}  // namespace kernelsmith::vgpu
