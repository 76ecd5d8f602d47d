// The tree back to PTX text. What is printed parses to the same tree.
#include <algorithm>

#include "ptx/ptx.h"

namespace kernelsmith::ptx {
namespace {

std::string Hex(uint64_t value, int digits) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text(static_cast<size_t>(digits), '0');
  for (int i = digits; i-- > 0; value >>= 4) text[static_cast<size_t>(i)] = kDigits[value & 15];
  return text;
}

std::string FloatText(uint64_t bits, bool is_single) {
  return is_single ? "0f" + Hex(bits, 8) : "0d" + Hex(bits, 16);
}

std::string OffsetText(int64_t offset) {
  if (offset == 0) return "";
  return "+" + std::to_string(offset);  // ptxas wants [a+-4], not [a-4]
}

std::string_view SelectorText(Selector selector) {
  switch (selector) {
    case Selector::kB0:
      return ".b0";
    case Selector::kB1:
      return ".b1";
    case Selector::kB2:
      return ".b2";
    case Selector::kB3:
      return ".b3";
    case Selector::kH0:
      return ".h0";
    case Selector::kH1:
      return ".h1";
    case Selector::kX:
      return ".x";
    case Selector::kY:
      return ".y";
    case Selector::kZ:
      return ".z";
    case Selector::kW:
      return ".w";
    case Selector::kNone:
    case Selector::kMask:
      return "";
  }
  return "";
}

// 0x13210 to ".b3210", 0x210 to ".h10".
std::string MaskText(int64_t mask) {
  std::string digits;
  for (; mask > 15; mask >>= 4) digits.insert(digits.begin(), static_cast<char>('0' + (mask & 15)));
  return (mask == 1 ? ".b" : ".h") + digits;
}

std::string_view LinkageText(Linkage linkage) {
  switch (linkage) {
    case Linkage::kNone:
      return "";
    case Linkage::kExtern:
      return ".extern ";
    case Linkage::kVisible:
      return ".visible ";
    case Linkage::kWeak:
      return ".weak ";
    case Linkage::kCommon:
      return ".common ";
  }
  return "";
}

class Printer {
 public:
  std::string Take() { return std::move(out_); }

  void PrintModule(const Module& module) {
    out_ += ".version " + std::to_string(module.version.major) + "." +
            std::to_string(module.version.minor) + "\n.target " + module.target;
    for (const std::string& option : module.target_options) out_ += ", " + option;
    out_ += "\n.address_size " + std::to_string(module.address_size) + "\n\n";
    for (const Item& item : module.items) {
      switch (item.kind) {
        case ItemKind::kVariable:
          PrintVariable(module.variables[item.index]);
          out_ += ";\n";
          break;
        case ItemKind::kFunction:
          PrintFunction(module.functions[item.index]);
          break;
        case ItemKind::kAlias:
          out_ += ".alias " + module.aliases[item.index].name + ", " +
                  module.aliases[item.index].target + ";\n";
          break;
        case ItemKind::kFile:
          PrintFile(module.files[item.index]);
          break;
        case ItemKind::kSection:
          out_ += ".section " + module.sections[item.index].name + " {" +
                  module.sections[item.index].text + "}\n";
          break;
        case ItemKind::kPragma:
          out_ += ".pragma \"" + module.pragmas[item.index] + "\";\n";
          break;
      }
    }
  }

  void PrintInstruction(const Instruction& instruction) {
    if (instruction.guard) {
      out_ += instruction.guard.negated ? "@!" : "@";
      out_ += instruction.guard.name;
      out_ += ' ';
    }
    out_ += instruction.mnemonic->text;
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      out_ += i == 0 ? " " : ", ";
      PrintOperand(instruction.operands[i]);
    }
    out_ += ';';
  }

  void PrintOperand(const Operand& operand) {
    if (operand.negated) out_ += '!';
    switch (operand.kind) {
      case OperandKind::kSink:
        out_ += '_';
        break;
      case OperandKind::kSpecialRegister:
        out_ += operand.name;
        break;
      case OperandKind::kName:
        PrintName(operand);
        break;
      case OperandKind::kInteger:
        if (operand.is_unsigned) {
          out_ += std::to_string(static_cast<uint64_t>(operand.integer)) + "U";
        } else if (operand.integer == INT64_MIN) {
          // Its magnitude is not a signed number.
          out_ += "(-9223372036854775807-1)";
        } else {
          out_ += std::to_string(operand.integer);
        }
        break;
      case OperandKind::kFloat:
        out_ += FloatText(operand.bits, operand.is_single);
        break;
      case OperandKind::kAddress:
        PrintElements(operand, "[", ", ", "]");
        out_ += operand.name;
        break;
      case OperandKind::kVector:
        PrintElements(operand, "{", ", ", "}");
        break;
      case OperandKind::kPair:
        PrintElements(operand, "", "|", "");
        break;
      case OperandKind::kList:
        PrintElements(operand, "(", ", ", ")");
        break;
    }
  }

 private:
  void PrintElements(const Operand& operand, const char* open, const char* separator,
                     const char* close) {
    out_ += open;
    for (size_t i = 0; i < operand.elements.size(); ++i) {
      if (i > 0) out_ += separator;
      PrintOperand(operand.elements[i]);
    }
    out_ += close;
  }

  void PrintName(const Operand& operand) {
    out_ += operand.name;
    if (operand.selector == Selector::kMask) {
      out_ += MaskText(operand.integer);
    } else if (operand.has_index) {
      out_ += "[" + std::to_string(operand.integer) + "]";
    } else {
      out_ += SelectorText(operand.selector);
      out_ += OffsetText(operand.integer);
    }
  }

  void PrintFile(const FileEntry& file) {
    out_ += ".file " + std::to_string(file.index) + " \"" + file.name + "\"";
    if (file.time) {
      out_ += ", " + std::to_string(*file.time) + ", " + std::to_string(file.size.value_or(0));
    }
    out_ += '\n';
  }

  static std::string AttributeText(bool managed, bool unified, const uint64_t* id) {
    if (!managed && !unified) return "";
    std::string text = ".attribute(";
    if (managed) text += ".managed";
    if (managed && unified) text += ", ";
    if (unified) text += ".unified(" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ")";
    return text + ") ";
  }

  void PrintVariable(const Variable& variable) {
    out_ += LinkageText(variable.linkage);
    out_ += NameOf(variable.space);
    if (variable.const_bank >= 0) out_ += "[" + std::to_string(variable.const_bank) + "]";
    out_ += ' ';
    out_ += AttributeText(variable.managed, variable.unified, variable.unified_id);
    if (variable.alignment != 0) out_ += ".align " + std::to_string(variable.alignment) + " ";
    if (variable.vector_width != 1) out_ += ".v" + std::to_string(variable.vector_width) + " ";
    out_ += NameOf(variable.type);
    out_ += ' ';
    if (variable.is_pointer) {
      out_ += ".ptr ";
      if (variable.pointer_space != Space::kNone) {
        out_ += NameOf(variable.pointer_space);
        out_ += ' ';
      }
      if (variable.pointer_alignment != 0) {
        out_ += ".align " + std::to_string(variable.pointer_alignment) + " ";
      }
    }
    out_ += variable.name;
    if (variable.parameterized) out_ += "<" + std::to_string(variable.count) + ">";
    for (const uint64_t dimension : variable.dimensions) {
      out_ += dimension == 0 ? "[]" : "[" + std::to_string(dimension) + "]";
    }
    if (variable.has_initializer) PrintInitializer(variable);
  }

  void PrintInitializer(const Variable& variable) {
    out_ += " = ";
    if (KindOf(variable.type) == TypeKind::kOpaque) {
      out_ += "{" + variable.opaque_initializer + "}";
      return;
    }
    // Every dimension but the first, which is the list itself, and the vector's elements.
    std::vector<uint64_t> dimensions = variable.dimensions;
    if (variable.vector_width > 1) {
      dimensions.push_back(static_cast<uint64_t>(variable.vector_width));
    }
    const auto element = static_cast<uint64_t>(BytesOf(variable.type));
    size_t next_relocation = 0;
    if (dimensions.empty()) {
      PrintInitialValue(variable, 0, &next_relocation);
      return;
    }
    // Flat: values in row order, each row of the innermost dimension in its own braces.
    std::vector<uint64_t> strides(dimensions.size());
    uint64_t stride = element;
    for (size_t i = dimensions.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= dimensions[i];
    }
    PrintInitialList(variable, strides, 0, 0, variable.image.size(), &next_relocation);
  }

  // The bytes [begin, end) of the image as one list of level `level`.
  void PrintInitialList(const Variable& variable, const std::vector<uint64_t>& strides,
                        size_t level, uint64_t begin, uint64_t end, size_t* next_relocation) {
    out_ += '{';
    for (uint64_t offset = begin; offset < end; offset += strides[level]) {
      if (offset != begin) out_ += ", ";
      if (level + 1 == strides.size()) {
        PrintInitialValue(variable, offset, next_relocation);
      } else {
        PrintInitialList(variable, strides, level + 1, offset,
                         std::min(end, offset + strides[level]), next_relocation);
      }
    }
    out_ += '}';
  }

  void PrintInitialValue(const Variable& variable, uint64_t offset, size_t* next_relocation) {
    const std::vector<Relocation>& relocations = variable.relocations;
    if (*next_relocation < relocations.size() && relocations[*next_relocation].offset == offset) {
      const Relocation& relocation = relocations[(*next_relocation)++];
      const bool masked =
          variable.type == Type::kB8 || variable.type == Type::kU8 || variable.type == Type::kS8;
      if (masked) out_ += "0x" + Hex(uint64_t{0xff} << relocation.shift, 16) + "(";
      out_ += relocation.generic ? "generic(" + relocation.name + ")" : relocation.name;
      out_ += OffsetText(relocation.addend);
      if (masked) out_ += ")";
      return;
    }
    uint64_t bits = 0;
    const auto size = static_cast<uint64_t>(BytesOf(variable.type));
    for (uint64_t i = std::min<uint64_t>(size, 8); i-- > 0;) {
      bits = bits << 8 | (offset + i < variable.image.size() ? variable.image[offset + i] : 0);
    }
    if (variable.type == Type::kF32) {
      out_ += FloatText(bits, true);
    } else if (variable.type == Type::kF64) {
      out_ += FloatText(bits, false);
    } else {
      out_ += std::to_string(bits);
    }
  }

  void PrintVariables(const std::vector<Variable>& variables) {
    out_ += '(';
    for (size_t i = 0; i < variables.size(); ++i) {
      if (i > 0) out_ += ", ";
      PrintVariable(variables[i]);
    }
    out_ += ')';
  }

  void PrintNumbers(const char* directive, const std::vector<uint32_t>& numbers) {
    if (numbers.empty()) return;
    out_ += directive;
    for (size_t i = 0; i < numbers.size(); ++i) {
      out_ += (i == 0 ? " " : ", ") + std::to_string(numbers[i]);
    }
    out_ += '\n';
  }

  void PrintNumber(const char* directive, const std::optional<uint32_t>& number) {
    if (number) out_ += directive + (" " + std::to_string(*number)) + "\n";
  }

  void PrintFunction(const Function& function) {
    out_ += LinkageText(function.linkage);
    out_ += function.is_entry ? ".entry " : ".func ";
    out_ += AttributeText(false, function.unified, function.unified_id);
    if (!function.returns.empty()) {
      PrintVariables(function.returns);
      out_ += ' ';
    }
    out_ += function.name;
    PrintVariables(function.parameters);
    out_ += '\n';
    const FunctionDirectives& directives = function.directives;
    PrintNumbers(".maxntid", directives.maxntid);
    PrintNumbers(".reqntid", directives.reqntid);
    PrintNumbers(".reqnctapercluster", directives.reqnctapercluster);
    PrintNumber(".minnctapersm", directives.minnctapersm);
    PrintNumber(".maxnctapersm", directives.maxnctapersm);
    PrintNumber(".maxnreg", directives.maxnreg);
    PrintNumber(".maxclusterrank", directives.maxclusterrank);
    PrintNumber(".abi_preserve", directives.abi_preserve);
    PrintNumber(".abi_preserve_control", directives.abi_preserve_control);
    if (directives.explicitcluster) out_ += ".explicitcluster\n";
    if (directives.blocksareclusters) out_ += ".blocksareclusters\n";
    if (directives.noreturn) out_ += ".noreturn\n";
    for (const std::string& pragma : directives.pragmas) out_ += ".pragma \"" + pragma + "\";\n";
    if (!function.is_definition) {
      out_ += ";\n";
      return;
    }
    out_ += "{\n";
    for (const Statement& statement : function.body) PrintStatement(function, statement);
    out_ += "}\n\n";
  }

  void PrintStatement(const Function& function, const Statement& statement) {
    switch (statement.kind) {
      case StatementKind::kInstruction:
        out_ += "  ";
        PrintInstruction(function.instructions[statement.index]);
        break;
      case StatementKind::kLabel:
        out_ += function.labels[statement.index].name + ":";
        break;
      case StatementKind::kRegister:
        PrintRegister(function.registers[statement.index]);
        break;
      case StatementKind::kVariable:
        out_ += "  ";
        PrintVariable(function.variables[statement.index]);
        out_ += ';';
        break;
      case StatementKind::kTargetList:
        PrintTargetList(function.target_lists[statement.index]);
        break;
      case StatementKind::kPrototype:
        PrintPrototype(function.prototypes[statement.index]);
        break;
      case StatementKind::kPragma:
        out_ += "  .pragma \"" + function.pragmas[statement.index] + "\";";
        break;
      case StatementKind::kLoc:
        PrintLoc(function.locs[statement.index]);
        break;
      case StatementKind::kBlockBegin:
        out_ += "  {";
        break;
      case StatementKind::kBlockEnd:
        out_ += "  }";
        break;
    }
    out_ += '\n';
  }

  void PrintRegister(const Register& reg) {
    out_ += "  .reg ";
    if (reg.vector_width != 1) out_ += ".v" + std::to_string(reg.vector_width) + " ";
    out_ += NameOf(reg.type);
    out_ += ' ';
    out_ += reg.name;
    if (reg.parameterized) out_ += "<" + std::to_string(reg.count) + ">";
    out_ += ';';
  }

  void PrintTargetList(const TargetList& list) {
    out_ += list.name + (list.calls ? ": .calltargets " : ": .branchtargets ");
    for (size_t i = 0; i < list.targets.size(); ++i) {
      if (i > 0) out_ += ", ";
      out_ += list.targets[i].name;
    }
    out_ += ';';
  }

  void PrintPrototype(const Prototype& prototype) {
    out_ += prototype.name + ": .callprototype ";
    if (!prototype.returns.empty()) {
      PrintVariables(prototype.returns);
      out_ += ' ';
    }
    out_ += "_ ";
    PrintVariables(prototype.parameters);
    if (prototype.noreturn) out_ += " .noreturn";
    if (prototype.abi_preserve >= 0) {
      out_ += " .abi_preserve " + std::to_string(prototype.abi_preserve);
    }
    if (prototype.abi_preserve_control >= 0) {
      out_ += " .abi_preserve_control " + std::to_string(prototype.abi_preserve_control);
    }
    out_ += ';';
  }

  void PrintLoc(const Loc& loc) {
    out_ += "  .loc " + std::to_string(loc.file) + " " + std::to_string(loc.line) + " " +
            std::to_string(loc.column);
    if (loc.inlined) {
      out_ += ", function_name " + loc.function_name + OffsetText(loc.function_name_offset) +
              ", inlined_at " + std::to_string(loc.inlined_file) + " " +
              std::to_string(loc.inlined_line) + " " + std::to_string(loc.inlined_column);
    }
  }

  std::string out_;
};

}  // namespace

std::string Print(const Module& module) {
  Printer printer;
  printer.PrintModule(module);
  return printer.Take();
}

std::string Print(const Instruction& instruction) {
  Printer printer;
  printer.PrintInstruction(instruction);
  return printer.Take();
}

std::string Print(const Operand& operand) {
  Printer printer;
  printer.PrintOperand(operand);
  return printer.Take();
}

}  // namespace kernelsmith::ptx
