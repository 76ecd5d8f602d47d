// Mutants: wrong variants of a right kernel, made from its source by small changes of the kind that
// people and models get wrong. They measure a verifier: whoever calls one right has missed it.
//
//   const std::vector<Mutation> all = FindMutations(text);
//   for (const Mutation& each : Choose(all, 20, seed)) Write(Apply(text, each));
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/result.h"

namespace kernelsmith::mutate {

struct Edit {
  size_t begin = 0;  // a position in the text
  size_t end = 0;
  std::string replacement;
};

struct Mutation {
  std::string operator_name;  // drop_barrier, lost_term ...
  int line = 0;
  int column = 0;
  std::vector<Edit> edits;  // in order; they do not touch each other
  // In a function of the device, the whole difference shows in the PTX: equal PTX, equal kernel.
  // Elsewhere (grid, arguments, zeroing) equal PTX says nothing.
  bool device = true;

  // "drop_barrier-17-3": operator, line, column. Names are unique within a source.
  std::string name;
};

struct OperatorInfo {
  std::string name;
  std::string what;  // one line for people
};

// Every operator, in the order of their families.
std::vector<OperatorInfo> Operators();

// All places where an operator applies, by operator, then by place. `operators`: only these; an
// unknown one is an error that names those there are.
Result<std::vector<Mutation>> FindMutations(const std::string& source,
                                            const std::vector<std::string>& operators = {});

// At most `count` (0: all) in an order drawn by `seed`: the operators take turns, so that few
// mutants show many kinds.
std::vector<Mutation> Choose(const std::vector<Mutation>& mutations, size_t count, uint64_t seed);

std::string Apply(const std::string& source, const Mutation& mutation);

// The changed lines: "-17: __syncthreads();" and "+17: ;".
std::string Diff(const std::string& source, const Mutation& mutation);

// PTX without what differs between two compilations of the same kernel: comments, positions, debug
// sections, file names in internal names.
std::string NormalisePtx(const std::string& ptx);

}  // namespace kernelsmith::mutate
