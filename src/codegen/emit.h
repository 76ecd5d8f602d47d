// Kernels to CUDA text. Not for other folders; codegen.h is.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/family.h"
#include "codegen/group.h"
#include "codegen/program.h"
#include "codegen/schedule.h"

namespace kernelsmith::codegen {

// What all kernels of one file share.
struct EmitContext {
  const Program& program;
  const Family& family;
  const Schedule& schedule;
  std::vector<Gene>* genes = nullptr;      // collects what could be chosen
  std::set<BufferId> needed;               // buffers that leave their kernel
  std::map<BufferId, BufferId> stored_as;  // results that are written into an argument
  std::string index_type = "int";
  std::set<std::string> helpers;  // device functions that the file needs: names of emit_helpers.cc
  std::string kernel = "";        // the kernel that is being written

  int64_t Choose(const std::string& gene, const std::vector<int64_t>& values, int64_t otherwise);
  BufferId Root(BufferId id) const {
    const auto at = stored_as.find(id);
    return at == stored_as.end() ? id : at->second;
  }
};

// One launch, as the host writes it. Texts are C++ of the host over names of sizes.
struct Launch {
  std::string kernel;
  std::string grid;  // "dim3" arguments
  std::string block;
  std::vector<std::string> arguments;
};

struct KernelText {
  std::string source;
  std::vector<Launch> launches;
};

// "float", "__half", "int64_t": elements in memory, and values in registers.
std::string MemoryType(DType dtype);
std::string ValueType(DType dtype);

std::string HostText(const Int& size);
// Elements that the axes have together.
Int Count(const std::vector<Int>& axes);

// Writes the body of one kernel: statements with indentation, names of what occurs, parameters as
// they are met.
class KernelWriter {
 public:
  KernelWriter(EmitContext& context, std::string name);

  EmitContext& context() { return context_; }
  void Line(const std::string& text);
  void Open(const std::string& text) {
    Line(text);
    ++depth_;
    scopes_.emplace_back();
  }
  void Close(const std::string& text = "}") {
    --depth_;
    scopes_.pop_back();
    Line(text);
  }

  // A loop over 0 .. count - 1 that the compiler unrolls, as a whole or `rounds` at a time.
  void OpenUnrolled(const std::string& variable, int64_t count, int64_t step = 1,
                    int64_t rounds = 0);
  // After Close("} else {").
  void Indent() {
    ++depth_;
    scopes_.emplace_back();
  }

  // The text of an expression. Values that occur more than once become variables, written as lines
  // before.
  std::string Text(const Scalar& value);
  std::string Text(const Int& value);
  // Declares uses in advance, so that what several expressions share is computed once.
  void Share(const std::vector<Scalar>& values);
  // A variable for the value.
  std::string Variable(const Scalar& value, const std::string& hint = "v");
  // Loads of this buffer are this variable from now on.
  void Bind(BufferId buffer, const std::string& variable);
  bool IsBound(BufferId buffer) const { return bound_.contains(buffer); }
  void Name(const Atom& axis, const std::string& name) { axis_names_[axis->key] = name; }
  std::string Fresh(const std::string& hint);

  // buffer[flat] = value;
  void Store(BufferId buffer, const Int& flat, const std::string& value);
  std::string StoreText(BufferId buffer, const std::string& value) const;
  std::string Pointer(BufferId buffer, bool written);
  // buffer[index] as a value, and an element of the buffer's type as a value.
  std::string Element(BufferId buffer, const std::string& index);
  std::string Converted(BufferId buffer, const std::string& element) const;
  std::string SizeParameter(const Int& size);

  // Variables of axes from one position: "const int j = i % n;".
  void Decompose(const std::vector<Int>& axes, const std::string& position);

  // The whole kernel: `attributes` may have __launch_bounds__.
  std::string Source(const std::string& comment, const std::string& attributes = "") const;
  std::vector<std::string> Arguments() const;

 private:
  struct Scope {
    std::map<ScalarNode::Hash, std::string> known;
  };
  std::string Expression(const Scalar& value);
  std::string Operand(const std::string& text) const;
  std::string GuardVariable(const Scalar& value);
  void CountUses(const Scalar& value);

  EmitContext& context_;
  std::string name_;
  std::string body_;
  int depth_ = 1;
  std::vector<Scope> scopes_{1};
  std::map<ScalarNode::Hash, int> uses_;
  std::map<std::string, std::string> axis_names_;
  std::map<BufferId, std::string> bound_;
  std::set<std::string> names_;
  // Parameters in the order they are met, by kind.
  std::vector<std::pair<BufferId, bool>> pointers_;  // written
  std::vector<std::string> sizes_;
  std::vector<std::pair<std::string, Scalar>> numbers_;  // name, kParameter
};

// Loads with one flat index each.
Scalar Flattened(const Program& program, const Scalar& value);

// Adjacent axes that every index treats as one become one.
struct CollapseInput {
  std::vector<Int>* axes;
  std::vector<Scalar*> values;  // flattened
  std::vector<Int*> flats;      // the flat indices of stores
};
void Collapse(const CollapseInput& input);

// Helper functions of the device, in the order they must stand.
std::string HelperSource(const std::set<std::string>& names);
bool IsHelperName(const std::string& name);

KernelText EmitElementwise(EmitContext& context, const Kernel& kernel);
KernelText EmitRows(EmitContext& context, const Kernel& kernel);
KernelText EmitContraction(EmitContext& context, const Kernel& kernel);
KernelText EmitAttention(EmitContext& context, const Kernel& kernel);
KernelText EmitScan(EmitContext& context, const Kernel& kernel);
KernelText EmitScatter(EmitContext& context, const Kernel& kernel);
KernelText EmitSort(EmitContext& context, const Kernel& kernel);

std::string Comment(const Kernel& kernel);

}  // namespace kernelsmith::codegen
