// A small tensor compiler: PyTorch graphs to readable CUDA in the form of a torch extension. The
// door to src/codegen:
//
//   KS_TRY(Model model, MakeModel(variants, signature));      // once: sizes, loop nests
//   std::vector<Gene> genes = GenesOf(model, schedule);       // what can be chosen
//   KS_TRY(std::string cu, EmitCandidate(model, schedule));   // the file
//
// Writing a file takes some milliseconds, keeps no state and may be done in any thread.
//
// The steps, in order: Family (one graph for a family of shapes), Lower (operators to loop nests),
// Fold (maps into their readers), Group (nests to kernels), Emit (kernels to text), and the host
// function around it.
#pragma once

#include <string>
#include <vector>

#include "codegen/family.h"
#include "codegen/lower.h"
#include "codegen/program.h"
#include "codegen/schedule.h"
#include "support/result.h"

namespace kernelsmith::codegen {

// One argument of the function, by position.
struct HostArgument {
  enum class Kind {
    kTensor,
    kOptionalTensor,
    kInt,
    kFloat,
    kBool,
    kString,
    kIntList,
    kFloatList,
    kTensorList,
    kNone
  };
  Kind kind = Kind::kTensor;
  std::string name;
  // Placeholders of the graph that it brings: one, or one an item of a list.
  std::vector<std::string> tensors;
};

struct Signature {
  std::string function;  // forward or backward
  std::vector<HostArgument> arguments;
  std::vector<std::string> results;  // the results of the variant that has most of them
  std::string title;                 // first line of the file, without the comment's marks
};

// A structure of the graph, and when it is the one: C++ over the arguments, empty for the last.
struct Variant {
  Family family;
  std::string condition;
  std::vector<std::string> results;  // output.0, gradient.x: optional arguments may have gradients
};

struct CompiledVariant {
  Family family;
  Program program;
  std::string condition;
};
struct Model {
  Signature signature;
  std::vector<CompiledVariant> variants;
};

Result<Model> MakeModel(std::vector<Variant> variants, Signature signature);

// Every choice there is under `schedule`, with what it is now. Choices may depend on each other:
// fusing two kernels removes the genes of one.
std::vector<Gene> GenesOf(const Model& model, const Schedule& schedule = {});

// A whole .cu file.
Result<std::string> EmitCandidate(const Model& model, const Schedule& schedule = {});

}  // namespace kernelsmith::codegen
