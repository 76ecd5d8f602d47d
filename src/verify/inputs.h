// Inputs that the task's author did not think of: the same tensors with other structure and other
// scales, made from a draw of the task and a secret seed.
//
// Every recipe keeps to the domain that the draw shows: what is never negative stays so,
// probabilities stay probabilities, masks stay masks, triangles stay triangles, indices stay valid.
// Only "signed" asks about the other sign, which a kernel for torch.rand alone could leave out, and
// spikes about maxima. Where PyTorch itself has no finite answer (a root, a logarithm), a recipe
// says nothing about the candidate, and the caller drops it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {

struct Recipe {
  std::string_view name;
  // Mild inputs have the size of the task's own: a kernel that is far off there computes something
  // else. Harsh ones are large, tiny or shifted: a kernel that is off there may just be unstable.
  bool harsh = false;
  std::string_view what;  // for people
  bool spikes = false;    // for tasks with a softmax alone (maxima.h)
  bool numbers = false;   // made of InputOptions::numbers, and nothing without any
};

// In the order in which they are worth trying.
std::span<const Recipe> Recipes();
const Recipe* FindRecipe(std::string_view name);

// What a recipe may do to a tensor, by name.
struct InputTensor {
  std::string name;
  bool fixed = false;  // must stay as it is (a mask, say, or an argument that the caller knows)
};

// False: the recipe would leave these tensors as they are.
bool Applies(const Recipe& recipe, const TensorMap& base, const std::vector<InputTensor>& tensors,
             const std::vector<double>& numbers);

struct InputOptions {
  bool permute_integers = false;  // integer tensors are never changed in another way
  // Numbers that the kernels have in their code: values are compared with them.
  std::vector<double> numbers = {};
};

// `base` has the task's own values of all `tensors`; the result has the same tensors, changed.
TensorMap MakeInputs(const Recipe& recipe, const TensorMap& base,
                     const std::vector<InputTensor>& tensors, uint64_t seed,
                     const InputOptions& options);

}  // namespace kernelsmith
