// The small vocabularies of PTX: types, state spaces, and what modifiers mean. No dependency on the
// syntax tree, so that the virtual GPU's IR can use them as well.
#pragma once

#include <cstdint>
#include <string_view>

namespace kernelsmith::ptx {

// Every type that an instruction or a declaration can name. The packed and narrow float types occur
// in instructions only; registers and variables use the fundamental ones.
enum class Type : uint8_t {
  kNone,
#define PTX_TYPE(id, text, bits, kind) k##id,
#include "ptx/types.def"
};

// What the bits of a type stand for.
enum class TypeKind : uint8_t { kNone, kBits, kUnsigned, kSigned, kFloat, kPredicate, kOpaque };

// Size of a value in bits; 1 for .pred, 64 for the opaque .texref, .samplerref, .surfref.
int BitsOf(Type type);
inline int BytesOf(Type type) { return (BitsOf(type) + 7) / 8; }
TypeKind KindOf(Type type);
inline bool IsFloat(Type type) { return KindOf(type) == TypeKind::kFloat; }
inline bool IsSigned(Type type) { return KindOf(type) == TypeKind::kSigned; }
// With the leading dot: ".f32".
std::string_view NameOf(Type type);

enum class Space : uint8_t {
  kNone,  // not given; for ld, st, atom: generic addressing
  kReg,
  kSreg,
  kConst,
  kGlobal,
  kLocal,
  kParam,          // .param: kernel parameters in an entry, call parameters in a function
  kParamEntry,     // .param::entry
  kParamFunc,      // .param::func
  kShared,         // .shared: .shared::cta
  kSharedCta,      // .shared::cta
  kSharedCluster,  // .shared::cluster
  kTex,            // .tex (old declaration of a texture)
};
std::string_view NameOf(Space space);

// One dotted modifier of an instruction: ".f32", ".global", ".rn", ".m16n8k16" (kShape).
enum class Modifier : uint16_t {
#define PTX_MODIFIER(id, text) k##id,
#include "ptx/modifiers.def"
};
// With the leading dot. kShape, whose text varies, gives ".shape".
std::string_view NameOf(Modifier modifier);

enum class Rounding : uint8_t { kNone, kRn, kRz, kRm, kRp, kRna, kRs, kRni, kRzi, kRmi, kRpi };

// Comparison of setp, set, slct-like instructions: signed/ordered kLt..., unsigned kLo kLs kHi kHs,
// unordered-or kEqu..., kNum (neither is NaN), kNan (one is).
enum class Comparison : uint8_t {
  kNone,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kLo,
  kLs,
  kHi,
  kHs,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan,
};

enum class BoolOp : uint8_t { kNone, kAnd, kOr, kXor };

// Scope of an atomic, a fence, or a load or store with memory order.
enum class Scope : uint8_t { kNone, kCta, kCluster, kGpu, kSys };

enum class Semantics : uint8_t {
  kNone,
  kWeak,
  kVolatile,
  kRelaxed,
  kAcquire,
  kRelease,
  kAcqRel,
  kSc,
  kMmio,
};

// .ca .cg .cs .lu .cv .wb .wt
enum class CacheOp : uint8_t { kNone, kCa, kCg, kCs, kLu, kCv, kWb, kWt };

// .lo .hi .wide of mul, mad
enum class ResultHalf : uint8_t { kNone, kLo, kHi, kWide };

// m, n and k of .m16n8k16; all 0: no shape.
struct MatrixShape {
  int m = 0;
  int n = 0;
  int k = 0;
  bool operator==(const MatrixShape&) const = default;
};

}  // namespace kernelsmith::ptx
