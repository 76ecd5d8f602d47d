// Attention without its matrix of scores: softmax over keys of (a sum of products), times values,
// as one nest of loops that goes over the keys once. Not for other folders.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "codegen/program.h"

namespace kernelsmith::codegen {

// out[batch, rows, columns] = sum over key of softmax(score)[key] · value[key, columns], where
// score is a function of the sum over `depth` of left · right.
struct Attention {
  size_t nest = 0;         // the nest that computes `out`
  std::set<size_t> parts;  // nests that only serve it: scores, maxima, sums, weights
  std::vector<Int> batch, rows, columns;
  Int key;
  std::vector<Int> depth;
  std::vector<Scalar> left;    // factors that depend on rows and not on the key
  std::vector<Scalar> right;   // factors that depend on the key and not on rows
  std::vector<Scalar> values;  // factors that depend on the key and on columns
  BufferId product = 0;        // `score` loads it where it means the sum of products
  Scalar score;
  bool empty_is_zero = false;  // rows whose scores are all -infinity are 0, not NaN
};

// Every attention in the program; no nest belongs to two.
std::vector<Attention> FindAttention(const Program& program);

}  // namespace kernelsmith::codegen
