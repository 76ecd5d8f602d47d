#include "support/finding_kind.h"

#include <utility>

namespace kernelsmith {
namespace {

constexpr FindingKindRow kRows[] = {
#define KS_FINDING(enumerator, word, severity, meaning, advice) \
  {FindingKind::enumerator, word, Severity::severity, meaning, advice},
#define KS_FORMER_WORD(word, enumerator)
#include "support/finding_kinds.def"
#undef KS_FINDING
#undef KS_FORMER_WORD
};

constexpr std::pair<std::string_view, FindingKind> kFormerWords[] = {
#define KS_FINDING(enumerator, word, severity, meaning, advice)
#define KS_FORMER_WORD(word, enumerator) {word, FindingKind::enumerator},
#include "support/finding_kinds.def"
#undef KS_FINDING
#undef KS_FORMER_WORD
};

}  // namespace

std::span<const FindingKindRow> FindingKinds() { return kRows; }

const FindingKindRow& RowOf(FindingKind kind) { return kRows[static_cast<size_t>(kind)]; }

const char* Name(FindingKind kind) { return RowOf(kind).word; }

Severity DefaultSeverity(FindingKind kind) { return RowOf(kind).severity; }

std::string DocumentationOf(FindingKind kind) {
  return std::string("docs/findings.md#") + Name(kind);
}

std::optional<FindingKind> FindingKindOf(std::string_view word) {
  for (const FindingKindRow& row : kRows) {
    if (word == row.word) return row.kind;
  }
  for (const auto& [former, kind] : kFormerWords) {
    if (word == former) return kind;
  }
  return std::nullopt;
}

std::string CurrentWord(std::string_view word) {
  const std::optional<FindingKind> kind = FindingKindOf(word);
  return kind ? Name(*kind) : std::string(word);
}

}  // namespace kernelsmith
