#include "compile/extended_lambdas.h"

#include "compile/pp_tokens.h"

namespace kernelsmith {
namespace {

void Look(std::string_view text, bool& lambda, bool& asks) {
  const std::vector<PpToken> tokens = PpTokens(text);
  const PpToken* before = nullptr;
  for (const PpToken& token : tokens) {
    if (token.kind == PpToken::Kind::kEndOfLine) continue;
    if (before != nullptr && before->Is("]") && (token.Is("__device__") || token.Is("__host__"))) {
      lambda = true;
    }
    asks |= token.Is("__CUDACC_EXTENDED_LAMBDA__");
    before = &token;
  }
}

}  // namespace

bool NeedsExtendedLambdas(std::string_view text, const std::vector<OwnHeader>& own_headers) {
  bool lambda = false;
  bool asks = false;
  Look(text, lambda, asks);
  for (const OwnHeader& header : own_headers) Look(header.text, lambda, asks);
  return lambda && !asks;
}

}  // namespace kernelsmith
