// Loop nests to kernels: which nests share a launch, and what kind of kernel runs them.
#pragma once

#include <string>
#include <vector>

#include "codegen/family.h"
#include "codegen/program.h"
#include "codegen/schedule.h"

namespace kernelsmith::codegen {

struct Kernel {
  enum class Kind {
    kElementwise,  // maps over one domain; a thread an element
    kRows,         // reductions over rows and what is done with their results, a row at a time
    kContraction,  // a sum of products, tiled, with maps of its result
    kAttention,    // softmax of such a sum, times values (attention.h), with maps of its result
    kScan,
    kScatter,
    kSort,
  };
  Kind kind = Kind::kElementwise;
  std::string name;         // the kernel's name: "SoftmaxRows"
  std::string gene;         // prefix of its genes
  std::vector<Nest> nests;  // rewritten to share axes; in order
  // Axes of a row (kRows), of the domain (kElementwise), of the result (kContraction).
  std::vector<Int> axes;

  // kContraction: the factors of the product, and to which side each result axis belongs.
  std::vector<Scalar> left, right;
  std::vector<Int> batch_axes, row_axes, column_axes;
  // kAttention, besides: see attention.h.
  std::vector<Scalar> values;
  Scalar score;
  BufferId product = 0;
  std::vector<Int> depth;
  bool empty_is_zero = false;
};

// Axes that occur in an index, in order.
std::vector<Int> AxesIn(const std::vector<Int>& index);

// A gene "KERNEL.fuse" (by the name of the first nest's buffer) can be 0 to keep nests apart.
std::vector<Kernel> Group(const Program& program, const Family& family, const Schedule& schedule,
                          std::vector<Gene>* genes = nullptr);

}  // namespace kernelsmith::codegen
