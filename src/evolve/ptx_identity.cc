#include "evolve/ptx_identity.h"

#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "ptx/ptx.h"
#include "support/hash.h"

namespace kernelsmith {
namespace {

// Gives everything that a module defines a name by its place. Declarations of registers go: each
// register's name has its type, and its number says when it is first used.
class Renamer {
 public:
  explicit Renamer(ptx::Module& module) : module_(module) {}

  void Run() {
    NameModule();
    for (ptx::Variable& variable : module_.variables) {
      Rename(variable.name);
      for (ptx::Relocation& relocation : variable.relocations) Rename(relocation.name);
    }
    for (ptx::Alias& alias : module_.aliases) {
      Rename(alias.name);
      Rename(alias.target);
    }
    for (ptx::Function& function : module_.functions) {
      Rename(function.name);
      RenameInside(function);
    }
    std::erase_if(module_.items, [](const ptx::Item& item) {
      return item.kind == ptx::ItemKind::kFile || item.kind == ptx::ItemKind::kSection;
    });
  }

 private:
  // Names that the module does not define stay.
  void NameModule() {
    for (const ptx::Item& item : module_.items) {
      const std::string* name = nullptr;
      if (item.kind == ptx::ItemKind::kVariable) {
        const ptx::Variable& variable = module_.variables[item.index];
        if (variable.linkage != ptx::Linkage::kExtern) name = &variable.name;
      } else if (item.kind == ptx::ItemKind::kFunction) {
        const ptx::Function& function = module_.functions[item.index];
        if (function.is_definition) name = &function.name;
      } else if (item.kind == ptx::ItemKind::kAlias) {
        name = &module_.aliases[item.index].name;
      }
      if (name != nullptr) names_.emplace(*name, fmt::format("$g{}", names_.size()));
    }
  }

  void Rename(std::string& name) const {
    if (const auto it = names_.find(name); it != names_.end()) name = it->second;
  }

  void RenameInside(ptx::Function& function) {
    function_ = &function;
    registers_.clear();
    for (ptx::Instruction& in : function.instructions) {
      if (in.guard) in.guard.name = NameOf(in.guard.symbol, in.guard.name);
      for (ptx::Operand& operand : in.operands) Rename(operand);
    }
    for (ptx::TargetList& list : function.target_lists) {
      for (ptx::TargetList::Target& target : list.targets) {
        target.name = NameOf(target.symbol, target.name);
      }
    }
    NumberAll(function.parameters, "$p");
    NumberAll(function.returns, "$r");
    for (ptx::Variable& variable : function.variables) {
      for (ptx::Relocation& relocation : variable.relocations) Rename(relocation.name);
    }
    NumberAll(function.variables, "$v");
    NumberAll(function.labels, "$l");
    NumberAll(function.target_lists, "$t");
    NumberAll(function.prototypes, "$c");
    std::erase_if(function.body, [](const ptx::Statement& statement) {
      return statement.kind == ptx::StatementKind::kLoc ||
             statement.kind == ptx::StatementKind::kRegister;
    });
  }

  template <typename Declarations>
  static void NumberAll(Declarations& declarations, const char* prefix) {
    for (size_t i = 0; i < declarations.size(); ++i) {
      declarations[i].name = fmt::format("{}{}x", prefix, i);
    }
  }

  void Rename(ptx::Operand& operand) {
    if (operand.kind == ptx::OperandKind::kName) {
      operand.name = NameOf(operand.symbol, operand.name);
    }
    for (ptx::Operand& element : operand.elements) Rename(element);
  }

  // Must agree with NumberAll.
  std::string NameOf(const ptx::Symbol& symbol, const std::string& old) {
    const auto variable = [&](const char* prefix, const std::vector<ptx::Variable>& all) {
      const std::string name = fmt::format("{}{}x", prefix, symbol.index);
      return all[symbol.index].parameterized ? name + std::to_string(symbol.number) : name;
    };
    switch (symbol.kind) {
      case ptx::SymbolKind::kNone:
        return old;
      case ptx::SymbolKind::kRegister: {
        const ptx::Register& reg = function_->registers[symbol.index];
        const auto key = std::pair(symbol.index, symbol.number);
        const size_t number = registers_.emplace(key, registers_.size()).first->second;
        return fmt::format("%t{}v{}n{}", static_cast<int>(reg.type), reg.vector_width, number);
      }
      case ptx::SymbolKind::kLocalVariable:
        return variable("$v", function_->variables);
      case ptx::SymbolKind::kParameter:
        return variable("$p", function_->parameters);
      case ptx::SymbolKind::kReturn:
        return variable("$r", function_->returns);
      case ptx::SymbolKind::kLabel:
        return fmt::format("$l{}x", symbol.index);
      case ptx::SymbolKind::kTargetList:
        return fmt::format("$t{}x", symbol.index);
      case ptx::SymbolKind::kPrototype:
        return fmt::format("$c{}x", symbol.index);
      case ptx::SymbolKind::kGlobalVariable:
      case ptx::SymbolKind::kFunction: {
        std::string name = old;
        Rename(name);
        return name;
      }
    }
    return old;
  }

  ptx::Module& module_;
  std::map<std::string, std::string, std::less<>> names_;  // of the module
  const ptx::Function* function_ = nullptr;
  std::map<std::pair<uint32_t, uint32_t>, size_t> registers_;  // in the order of their first use
};

}  // namespace

std::string NormalisedPtx(std::string_view ptx) {
  Result<ptx::Module> module = ptx::Parse(ptx, "candidate.ptx");
  if (!module.ok()) return std::string(ptx);
  Renamer(*module).Run();
  return ptx::Print(*module);
}

std::string CandidateIdentity(std::string_view ptx, std::string_view host) {
  return Sha256(NormalisedPtx(ptx) + '\0' + std::string(host));
}

}  // namespace kernelsmith
