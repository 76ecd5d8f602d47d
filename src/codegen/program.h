// A program of loop nests: what a graph becomes before kernels are made of it. One nest computes
// one buffer (some two), element by element, from buffers that earlier nests computed.
#pragma once

#include <string>
#include <vector>

#include "codegen/scalar.h"
#include "tensor/host_tensor.h"

namespace kernelsmith::codegen {

struct Buffer {
  enum class Kind { kArgument, kTemporary, kResult, kConstant };
  std::string name;  // unique; an identifier of C++
  Kind kind = Kind::kTemporary;
  DType dtype = DType::kFloat32;
  std::vector<Int> shape;  // row-major and dense
  HostTensor data;         // kConstant
};

enum class Combine { kSum, kProduct, kMax, kMin, kAny, kAll, kSet };

struct Nest {
  enum class Kind {
    kMap,        // out[axes] = body
    kReduce,     // out[axes] = combine over `reduced` of body
    kArgReduce,  // outputs: the extreme value and its position in `reduced`, row-major
    kScan,  // out[axes] = combine of body up to axes[scan]; second output: position of the extreme
    kScatter,  // out = base over its own axes, then out[target] = combine(out[target], body)
    kSort,     // outputs: values and positions along the last axis, the first `keep` of them
  };
  Kind kind = Kind::kMap;
  // The index of the output: an Axis, or 0 for a dimension of size 1. For kScatter that of the
  // source.
  std::vector<Int> axes;
  std::vector<Int> reduced;  // each an Axis
  Scalar body;
  Combine combine = Combine::kSum;
  std::vector<BufferId> outputs;

  size_t scan = 0;            // kScan: which of the axes
  std::vector<Int> target;    // kScatter: the index written, from axes
  Scalar condition;           // kScatter: written only where this holds; may be null
  std::vector<Int> out_axes;  // kScatter: axes of `base`
  Scalar base;                // kScatter
  Int keep;                   // kSort
  bool descending = false;    // kSort; kArgReduce and kScan take the maximum with kMax
  bool last_wins = false;     // kScan: among equal values the last position

  std::string op;     // the graph's operator: "aten.mm.default"
  std::string where;  // line of the user's code
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Nest> nests;  // each after those whose outputs it loads
  // Argument buffers that get new values: {argument, buffer that holds them}.
  std::vector<std::pair<BufferId, BufferId>> updates;
  std::vector<BufferId> results;  // in the order the function returns them
};

// Position of the nest that computes a buffer; none for arguments and constants.
std::optional<size_t> ProducerOf(const Program& program, BufferId buffer);

// Buffers a nest loads from.
std::set<BufferId> LoadedBy(const Nest& nest);

// Row-major position of an element.
Int FlatIndex(const std::vector<Int>& shape, const std::vector<Int>& index);

// For people and tests: one line a nest.
std::string ToText(const Program& program);

}  // namespace kernelsmith::codegen
