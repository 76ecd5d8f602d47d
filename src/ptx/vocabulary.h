// Words of PTX to the enums of types.h.
#pragma once

#include <optional>
#include <string_view>

#include "ptx/types.h"

namespace kernelsmith::ptx {

// ".f32" to Type::kF32; kNone if it is no type.
Type FindType(std::string_view text);

// "global" (without the dot) to Modifier::kGlobal. Shapes like m16n8k16 are not in here.
std::optional<Modifier> FindModifier(std::string_view text);

// "m16n8k16"; nothing if the text is no shape.
std::optional<MatrixShape> ParseShape(std::string_view text);

// The type, space ... that a modifier names; kNone if it names none.
Type TypeOf(Modifier modifier);
Space SpaceOf(Modifier modifier);
Rounding RoundingOf(Modifier modifier);
Comparison ComparisonOf(Modifier modifier);
BoolOp BoolOpOf(Modifier modifier);
Scope ScopeOf(Modifier modifier);
Semantics SemanticsOf(Modifier modifier);
CacheOp CacheOpOf(Modifier modifier);

}  // namespace kernelsmith::ptx
