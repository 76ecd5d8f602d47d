// What a finding is about. Checkers, tracer, verifier, measurement, optimiser and task filter share
// these kinds, so that one fact has one word wherever it is found; finding_kinds.def is the table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "support/diagnostic.h"

namespace kernelsmith {

enum class FindingKind : uint8_t {
#define KS_FINDING(enumerator, word, severity, meaning, advice) enumerator,
#define KS_FORMER_WORD(word, enumerator)
#include "support/finding_kinds.def"
#undef KS_FINDING
#undef KS_FORMER_WORD
};

// One row of the table.
struct FindingKindRow {
  FindingKind kind;
  const char* word;     // for programs, as reports have it: "out_of_bounds"
  Severity severity;    // of the kind by itself
  const char* meaning;  // a sentence that says what it is
  const char* advice;   // a sentence that says what to do about it
};

// All kinds, in the table's order.
std::span<const FindingKindRow> FindingKinds();
const FindingKindRow& RowOf(FindingKind kind);

const char* Name(FindingKind kind);  // its word
Severity DefaultSeverity(FindingKind kind);
// "docs/findings.md#out_of_bounds": where the kind is explained with an example.
std::string DocumentationOf(FindingKind kind);

// The kind that a report's word means; words of older reports are understood. Nothing: no kind has
// this word, as in reports of other verifiers.
std::optional<FindingKind> FindingKindOf(std::string_view word);
// A report's word as it is written today; words that no kind has stay as they are.
std::string CurrentWord(std::string_view word);

}  // namespace kernelsmith
