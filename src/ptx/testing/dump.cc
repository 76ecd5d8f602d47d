#include "ptx/testing/dump.h"

#include <sstream>

namespace kernelsmith::ptx {
namespace {

class Dumper {
 public:
  std::string Run(const Module& module) {
    out_ << module.version.major << ' ' << module.version.minor << ' ' << module.target << ' '
         << module.address_size << '\n';
    for (const std::string& option : module.target_options) out_ << "option " << option << '\n';
    for (const Item& item : module.items) {
      out_ << "item " << static_cast<int>(item.kind) << ' ' << item.index << '\n';
    }
    for (const Variable& variable : module.variables) Add(variable);
    for (const Function& function : module.functions) Add(function);
    for (const Alias& alias : module.aliases) out_ << alias.name << '=' << alias.target << '\n';
    for (const FileEntry& file : module.files) {
      out_ << "file " << file.index << ' ' << file.name << ' ' << file.time.value_or(1) << ' '
           << file.size.value_or(1) << '\n';
    }
    for (const Section& section : module.sections) out_ << section.name << section.text << '\n';
    for (const std::string& pragma : module.pragmas) out_ << "pragma " << pragma << '\n';
    return out_.str();
  }

 private:
  void Add(const Symbol& symbol) {
    out_ << '<' << static_cast<int>(symbol.kind) << ' ' << symbol.index << ' ' << symbol.number
         << '>';
  }

  void Add(const Variable& v) {
    out_ << "variable " << v.name << ' ' << static_cast<int>(v.linkage) << ' ' << NameOf(v.space)
         << ' ' << v.const_bank << ' ' << v.alignment << ' ' << v.managed << v.unified << ' '
         << v.unified_id[0] << ' ' << v.unified_id[1] << ' ' << NameOf(v.type) << ' '
         << v.vector_width << ' ' << v.parameterized << v.count << ' ' << v.is_pointer
         << NameOf(v.pointer_space) << v.pointer_alignment << ' ' << v.has_initializer
         << v.opaque_initializer;
    for (const uint64_t dimension : v.dimensions) out_ << '[' << dimension << ']';
    out_ << " =";
    for (const uint8_t byte : v.image) out_ << ' ' << static_cast<int>(byte);
    for (const Relocation& r : v.relocations) {
      out_ << " @" << r.offset << ' ' << r.size << ' ' << r.name << ' ' << r.addend << ' '
           << r.generic << ' ' << r.shift;
    }
    out_ << '\n';
  }

  void Add(const FunctionDirectives& d) {
    for (const auto* numbers : {&d.maxntid, &d.reqntid, &d.reqnctapercluster}) {
      for (const uint32_t number : *numbers) out_ << ' ' << number;
      out_ << ';';
    }
    for (const auto& number : {d.minnctapersm, d.maxnctapersm, d.maxnreg, d.maxclusterrank,
                               d.abi_preserve, d.abi_preserve_control}) {
      out_ << (number ? std::to_string(*number) : "-") << ' ';
    }
    out_ << d.explicitcluster << d.blocksareclusters << d.noreturn;
    for (const std::string& pragma : d.pragmas) out_ << ' ' << pragma;
    out_ << '\n';
  }

  void Add(const Function& f) {
    out_ << "function " << f.name << ' ' << f.is_entry << f.is_definition << ' '
         << static_cast<int>(f.linkage) << ' ' << f.unified << f.unified_id[0] << ' '
         << f.unified_id[1];
    Add(f.directives);
    for (const Variable& variable : f.returns) Add(variable);
    out_ << "parameters\n";
    for (const Variable& variable : f.parameters) Add(variable);
    for (const Statement& statement : f.body) {
      out_ << static_cast<int>(statement.kind) << ':' << statement.index << ' ';
    }
    out_ << '\n';
    for (const Instruction& instruction : f.instructions) Add(instruction);
    for (const Register& r : f.registers) {
      out_ << "register " << r.name << ' ' << NameOf(r.type) << ' ' << r.vector_width << ' '
           << r.parameterized << r.count << '\n';
    }
    for (const Variable& variable : f.variables) Add(variable);
    for (const Label& label : f.labels) out_ << label.name << ' ' << label.statement << '\n';
    for (const TargetList& list : f.target_lists) {
      out_ << list.name << ' ' << list.calls;
      for (const TargetList::Target& target : list.targets) {
        out_ << ' ' << target.name;
        Add(target.symbol);
      }
      out_ << '\n';
    }
    for (const Prototype& prototype : f.prototypes) {
      out_ << prototype.name << prototype.noreturn << ' ' << prototype.abi_preserve << ' '
           << prototype.abi_preserve_control << '\n';
      for (const Variable& variable : prototype.returns) Add(variable);
      out_ << "parameters\n";
      for (const Variable& variable : prototype.parameters) Add(variable);
    }
    for (const std::string& pragma : f.pragmas) out_ << "pragma " << pragma << '\n';
    for (const Loc& loc : f.locs) {
      out_ << "loc " << loc.file << ' ' << loc.line << ' ' << loc.column << ' ' << loc.inlined
           << loc.function_name << loc.function_name_offset << ' ' << loc.inlined_file << ' '
           << loc.inlined_line << ' ' << loc.inlined_column << '\n';
    }
  }

  void Add(const Instruction& i) {
    out_ << i.mnemonic->text << ' ' << static_cast<int>(i.opcode()) << ' ' << i.loc << ' '
         << i.guard.negated << i.guard.name;
    Add(i.guard.symbol);
    for (const Modifier modifier : i.mnemonic->modifiers) out_ << NameOf(modifier);
    for (const Operand& operand : i.operands) Add(operand);
    out_ << '\n';
  }

  void Add(const Operand& o) {
    out_ << " (" << static_cast<int>(o.kind) << ' ' << static_cast<int>(o.selector) << ' '
         << o.negated << o.is_unsigned << o.is_single << o.has_index << ' ' << o.name << ' '
         << o.integer << ' ' << o.bits;
    Add(o.symbol);
    for (const Operand& element : o.elements) Add(element);
    out_ << ')';
  }

  std::ostringstream out_;
};

}  // namespace

std::string Dump(const Module& module) { return Dumper().Run(module); }

}  // namespace kernelsmith::ptx
