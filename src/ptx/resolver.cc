#include "ptx/resolver.h"

#include <string_view>
#include <unordered_map>

namespace kernelsmith::ptx {
namespace {

// The names of one block. `%r<100>` is one entry among the ranges.
class Scope {
 public:
  struct Range {
    Symbol symbol;
    uint32_t count;
  };

  // False: the name is taken.
  bool Add(std::string_view name, Symbol symbol) { return names_.emplace(name, symbol).second; }
  bool AddRange(std::string_view base, Symbol symbol, uint32_t count) {
    return ranges_.emplace(base, Range{symbol, count}).second;
  }

  // `base` and `number` are the name split before its digits; base is empty if it has none.
  bool Find(std::string_view name, std::string_view base, uint32_t number, Symbol* symbol) const {
    if (!base.empty() && !ranges_.empty()) {
      const auto range = ranges_.find(base);
      if (range != ranges_.end() && number < range->second.count) {
        *symbol = range->second.symbol;
        symbol->number = number;
        return true;
      }
    }
    if (names_.empty()) return false;
    const auto found = names_.find(name);
    if (found == names_.end()) return false;
    *symbol = found->second;
    return true;
  }

 private:
  std::unordered_map<std::string_view, Symbol> names_;
  std::unordered_map<std::string_view, Range> ranges_;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "%r12" is "%r" and 12; "%r012" is not a member of a range, for "%r12" is its only spelling.
void SplitNumber(std::string_view name, std::string_view* base, uint32_t* number) {
  size_t digits = name.size();
  while (digits > 0 && IsDigit(name[digits - 1])) --digits;
  const size_t length = name.size() - digits;
  *base = {};
  if (length == 0 || length > 9 || digits == 0) return;
  if (name[digits] == '0' && length > 1) return;
  uint32_t value = 0;
  for (size_t i = digits; i < name.size(); ++i) {
    value = value * 10 + static_cast<uint32_t>(name[i] - '0');
  }
  *base = name.substr(0, digits);
  *number = value;
}

class Resolver {
 public:
  Resolver(Module* module, Reporter* reporter) : module_(*module), reporter_(*reporter) {}

  void Run() {
    DeclareModule();
    for (const Variable& variable : module_.variables) CheckRelocations(variable);
    for (Function& function : module_.functions) {
      if (reporter_.full()) return;
      ResolveFunction(&function);
    }
  }

 private:
  static Symbol Make(SymbolKind kind, size_t index) {
    return {.kind = kind, .index = static_cast<uint32_t>(index)};
  }

  void Duplicate(Position where, std::string_view name) {
    reporter_.Invalid(where, "'" + std::string(name) + "' is declared twice");
  }

  void DeclareModule() {
    for (size_t i = 0; i < module_.variables.size(); ++i) {
      const Variable& variable = module_.variables[i];
      const auto [entry, added] =
          globals_.emplace(variable.name, Make(SymbolKind::kGlobalVariable, i));
      if (added) continue;
      // An .extern declaration may be followed, or preceded, by the definition.
      const Symbol earlier = entry->second;
      const bool both_variables = earlier.kind == SymbolKind::kGlobalVariable;
      if (both_variables && variable.linkage == Linkage::kExtern) continue;
      if (both_variables && module_.variables[earlier.index].linkage == Linkage::kExtern) {
        entry->second = Make(SymbolKind::kGlobalVariable, i);
        continue;
      }
      Duplicate(variable.where, variable.name);
    }
    for (size_t i = 0; i < module_.functions.size(); ++i) {
      const Function& function = module_.functions[i];
      const auto [entry, added] = globals_.emplace(function.name, Make(SymbolKind::kFunction, i));
      if (added) continue;
      const Symbol earlier = entry->second;
      if (earlier.kind != SymbolKind::kFunction ||
          (function.is_definition && module_.functions[earlier.index].is_definition)) {
        Duplicate(function.where, function.name);
      } else if (function.is_definition) {
        entry->second = Make(SymbolKind::kFunction, i);
      }
    }
    for (const Alias& alias : module_.aliases) {
      const auto target = globals_.find(alias.target);
      if (target == globals_.end() || target->second.kind != SymbolKind::kFunction) {
        reporter_.Invalid(alias.where, "alias of '" + alias.target + "', which is no function");
      } else {
        globals_[alias.name] = target->second;
      }
    }
  }

  void CheckRelocations(const Variable& variable) {
    for (const Relocation& relocation : variable.relocations) {
      if (!globals_.contains(relocation.name)) {
        reporter_.Invalid(relocation.where, "undeclared name '" + relocation.name + "'");
      }
    }
  }

  void Declare(Position where, std::string_view name, Symbol symbol) {
    if (!scopes_.back().Add(name, symbol)) Duplicate(where, name);
  }

  void DeclareVariable(const Variable& variable, Symbol symbol) {
    if (variable.name == "_") return;
    if (variable.parameterized) {
      if (!scopes_.back().AddRange(variable.name, symbol, static_cast<uint32_t>(variable.count))) {
        Duplicate(variable.where, variable.name);
      }
    } else {
      Declare(variable.where, variable.name, symbol);
    }
  }

  void ResolveFunction(Function* function) {
    scopes_.clear();
    scopes_.emplace_back();
    for (size_t i = 0; i < function->returns.size(); ++i) {
      DeclareVariable(function->returns[i], Make(SymbolKind::kReturn, i));
    }
    for (size_t i = 0; i < function->parameters.size(); ++i) {
      DeclareVariable(function->parameters[i], Make(SymbolKind::kParameter, i));
    }
    if (!function->is_definition) return;
    CollectForwardNames(*function);
    size_t block = 0;
    OpenBlock(*function, block++);
    for (const Statement& statement : function->body) {
      switch (statement.kind) {
        case StatementKind::kBlockBegin:
          OpenBlock(*function, block++);
          break;
        case StatementKind::kBlockEnd:
          scopes_.pop_back();
          break;
        case StatementKind::kRegister: {
          const Register& reg = function->registers[statement.index];
          const Symbol symbol = Make(SymbolKind::kRegister, statement.index);
          if (!reg.parameterized) {
            Declare(reg.where, reg.name, symbol);
          } else if (!scopes_.back().AddRange(reg.name, symbol, reg.count)) {
            Duplicate(reg.where, reg.name);
          }
          break;
        }
        case StatementKind::kVariable: {
          const Variable& variable = function->variables[statement.index];
          CheckRelocations(variable);
          DeclareVariable(variable, Make(SymbolKind::kLocalVariable, statement.index));
          break;
        }
        case StatementKind::kTargetList:
          for (TargetList::Target& target : function->target_lists[statement.index].targets) {
            target.symbol = Find(target.where, target.name);
          }
          break;
        case StatementKind::kInstruction:
          ResolveInstruction(&function->instructions[statement.index]);
          break;
        default:
          break;
      }
      if (reporter_.full()) return;
    }
  }

  // Labels, target lists and prototypes are visible in all of their block, also before they stand.
  void CollectForwardNames(const Function& function) {
    forward_names_.clear();
    forward_names_.emplace_back();
    std::vector<size_t> open = {0};
    for (const Statement& statement : function.body) {
      if (statement.kind == StatementKind::kBlockBegin) {
        open.push_back(forward_names_.size());
        forward_names_.emplace_back();
      } else if (statement.kind == StatementKind::kBlockEnd) {
        open.pop_back();
      } else if (statement.kind == StatementKind::kLabel ||
                 statement.kind == StatementKind::kTargetList ||
                 statement.kind == StatementKind::kPrototype) {
        forward_names_[open.back()].push_back(statement);
      }
    }
  }

  void OpenBlock(const Function& function, size_t block) {
    scopes_.emplace_back();
    for (const Statement& statement : forward_names_[block]) {
      if (statement.kind == StatementKind::kLabel) {
        const Label& label = function.labels[statement.index];
        Declare(label.where, label.name, Make(SymbolKind::kLabel, statement.index));
      } else if (statement.kind == StatementKind::kTargetList) {
        const TargetList& list = function.target_lists[statement.index];
        Declare(list.where, list.name, Make(SymbolKind::kTargetList, statement.index));
      } else {
        const Prototype& prototype = function.prototypes[statement.index];
        Declare(prototype.where, prototype.name, Make(SymbolKind::kPrototype, statement.index));
      }
    }
  }

  Symbol Find(Position where, std::string_view name) {
    Symbol symbol;
    if (FindLocal(name, &symbol)) return symbol;
    const auto global = globals_.find(name);
    if (global != globals_.end()) return global->second;
    reporter_.Invalid(where, "undeclared name '" + std::string(name.substr(0, 80)) + "'");
    return {};
  }

  bool FindLocal(std::string_view name, Symbol* symbol) const {
    std::string_view base;
    uint32_t number = 0;
    SplitNumber(name, &base, &number);
    for (size_t i = scopes_.size(); i-- > 0;) {
      if (scopes_[i].Find(name, base, number, symbol)) return true;
    }
    return false;
  }

  void ResolveInstruction(Instruction* instruction) {
    if (instruction->guard) {
      instruction->guard.symbol = Find(instruction->where, instruction->guard.name);
    }
    for (Operand& operand : instruction->operands) ResolveOperand(&operand);
  }

  // As deep as the parser lets operands nest.
  void ResolveOperand(Operand* operand) {
    if (operand->kind == OperandKind::kName) {
      operand->symbol = Find(operand->where, operand->name);
    }
    for (Operand& element : operand->elements) ResolveOperand(&element);
  }

  Module& module_;
  Reporter& reporter_;
  std::unordered_map<std::string_view, Symbol> globals_;
  std::vector<Scope> scopes_;
  // One entry a block, in the order of their '{'.
  std::vector<std::vector<Statement>> forward_names_;
};

}  // namespace

void ResolveNames(Module* module, Reporter* reporter) { Resolver(module, reporter).Run(); }

}  // namespace kernelsmith::ptx
