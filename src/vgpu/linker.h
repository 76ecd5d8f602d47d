// Names of one or more PTX modules, resolved: which definition a symbol of a module stands for,
// where its variables lie, what address a function has. Private to src/vgpu.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/syntax.h"
#include "support/result.h"
#include "vgpu/ir.h"
#include "vgpu/memory.h"
#include "vgpu/module.h"

namespace kernelsmith::vgpu {

struct FunctionRef {
  const ptx::Module* module = nullptr;
  const ptx::Function* function = nullptr;

  explicit operator bool() const { return function != nullptr; }
  bool operator==(const FunctionRef&) const = default;
};

struct VariableRef {
  const ptx::Module* module = nullptr;
  const ptx::Variable* variable = nullptr;

  explicit operator bool() const { return variable != nullptr; }
};

// Functions a kernel may run, the kernel first.
struct Reachable {
  std::vector<FunctionRef> functions;
  bool indirect_calls = false;
};

// The definition of a place in PTX text, for diagnostics.
Error ErrorAt(ErrorKind kind, const ptx::Module& module, ptx::Position where, std::string message);

class Linker {
 public:
  explicit Linker(std::vector<std::shared_ptr<const ptx::Module>> modules)
      : modules_(std::move(modules)) {}
  ~Linker();

  // Allocates and initialises variables, gives functions addresses. `memory` must outlive this.
  Status Link(DeviceMemory& memory, const std::string& name);

  // The definition that `symbol` (kFunction, kGlobalVariable) of `module` means; empty if it has
  // none.
  FunctionRef ResolveFunction(const ptx::Module& module, uint32_t index) const;
  VariableRef ResolveVariable(const ptx::Module& module, uint32_t index) const;
  FunctionRef FindEntry(std::string_view name) const;

  // Generic address of a .global or .const variable; 0 if it is none.
  uint64_t AddressOf(const ptx::Variable& variable) const;
  uint64_t AddressOf(const ptx::Function& function) const;

  enum class Calls { kDirect, kAll };
  Reachable FindReachable(FunctionRef entry, Calls calls = Calls::kAll) const;
  // Functions whose address is taken somewhere.
  const std::vector<FunctionRef>& address_taken() const { return address_taken_; }

  const std::vector<std::shared_ptr<const ptx::Module>>& modules() const { return modules_; }
  const std::map<std::string, VariableInfo, std::less<>>& variables() const { return variables_; }

 private:
  Status IndexNames();
  Status AllocateVariables(const std::string& name);
  Status Allocate(const ptx::Variable& variable, const std::string& name);
  Status ApplyRelocations();
  Status Initialise(const ptx::Module& module, const ptx::Variable& variable);
  void FindAddressTaken();

  std::vector<std::shared_ptr<const ptx::Module>> modules_;
  DeviceMemory* memory_ = nullptr;
  std::map<std::string, FunctionRef, std::less<>> functions_;  // definitions other modules may see
  std::map<std::string, VariableRef, std::less<>> definitions_;
  std::unordered_map<const ptx::Variable*, uint64_t> addresses_;
  std::unordered_map<const ptx::Function*, uint64_t> code_;
  std::map<std::string, VariableInfo, std::less<>> variables_;
  std::vector<FunctionRef> address_taken_;
  std::vector<uint64_t> allocated_;
};

// kNone: `name` is not provided by the engine.
SystemCall SystemCallOf(std::string_view name);

// Calls `visit` for the operand and all operands inside it.
template <typename Visit>
void VisitOperand(const ptx::Operand& operand, const Visit& visit) {
  visit(operand);
  for (const ptx::Operand& element : operand.elements) VisitOperand(element, visit);
}

}  // namespace kernelsmith::vgpu
