// An instruction's name with its modifiers: words to enums.
#pragma once

#include <memory>
#include <vector>

#include "ptx/lexer.h"
#include "ptx/reporter.h"
#include "ptx/syntax.h"

namespace kernelsmith::ptx {

// `words` are the dotted parts ("ld", "global", "f32"). Null after an error, which names the
// instruction or the modifier that is not in the table, or what the combination lacks.
std::shared_ptr<const Mnemonic> DecodeMnemonic(const std::vector<Lexer::Word>& words,
                                               Reporter* reporter);

}  // namespace kernelsmith::ptx
