// Runs the operators of libraries that candidates call: PyTorch's through src/graph, our own
// strided copy, and cuBLAS's matrix products.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "support/result.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {

// A tensor in memory that this process may access.
struct TensorMemory {
  DType dtype = DType::kFloat32;
  Shape shape;
  Shape strides;  // in elements
  std::byte* data = nullptr;
};

// The operator that copies, converts and rearranges: one tensor to one result of the same shape.
inline constexpr const char* kStridedCopy = "kernelsmith.copy";

// cuBLAS's product: batches of matrices A, B and C, then alpha and beta; the result is
// alpha A B + beta C.
inline constexpr const char* kGemm = "cublas.gemm";

// `arguments` as in LibraryStep. kUnsupported: an operator that nobody here knows.
Status RunLibrary(const std::string& op, const std::string& arguments,
                  const std::vector<TensorMemory>& tensors,
                  const std::vector<TensorMemory>& outputs);

// The graph of one operator of PyTorch, with a placeholder for each tensor; their data are not
// looked at.
Result<Graph> LibraryGraph(const std::string& op, const std::string& arguments,
                           const std::vector<TensorMemory>& tensors,
                           const std::vector<TensorMemory>& outputs);

// Element by element, with conversion; shapes are equal.
void CopyElements(const TensorMemory& from, const TensorMemory& to);

}  // namespace kernelsmith
