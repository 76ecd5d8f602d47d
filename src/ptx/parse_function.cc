// Functions: header, directives, body.
#include "ptx/mnemonic.h"
#include "ptx/parser.h"

namespace kernelsmith::ptx {
namespace {

// Compilers stay below 10; each name is looked for in all the blocks around it.
constexpr size_t kDeepestBlock = 200;

template <typename T>
uint32_t Append(std::vector<T>* table, T value) {
  table->push_back(std::move(value));
  return static_cast<uint32_t>(table->size() - 1);
}

// Triton writes `ld.global.b16 { %rs1 }, [...]` for one element: a scalar, for these instructions.
void UnwrapScalars(Instruction* instruction) {
  switch (instruction->opcode()) {
    case Opcode::kLd:
    case Opcode::kLdu:
    case Opcode::kSt:
    case Opcode::kAtom:
    case Opcode::kRed:
      break;
    default:
      return;
  }
  if (instruction->mnemonic->vector_width != 1) return;
  for (Operand& operand : instruction->operands) {
    if (operand.kind == OperandKind::kVector && operand.elements.size() == 1) {
      Operand element = std::move(operand.elements[0]);
      operand = std::move(element);
    }
  }
}

}  // namespace

bool Parser::ParseFunction(Linkage linkage, bool is_entry) {
  Function function;
  function.linkage = linkage;
  function.is_entry = is_entry;
  if (token_.Is(".attribute") && !ParseAttribute(nullptr, &function)) return false;
  if (token_.Is("(")) {
    if (is_entry) return Fail("an .entry returns nothing");
    if (!ParseParameters(Where::kParameter, &function.returns)) return false;
  }
  function.where = token_.where;
  if (!ExpectName("a function's name", &function.name)) return false;
  if (token_.Is("(") && !ParseParameters(Where::kParameter, &function.parameters)) return false;
  if (!ParseFunctionDirectives(&function)) return false;
  if (token_.Is("{")) {
    function.is_definition = true;
    ParseBody(&function);
  } else if (!Accept(";")) {
    return FailExpected("'{' or ';'");
  }
  module_->items.push_back({ItemKind::kFunction, static_cast<uint32_t>(module_->functions.size())});
  module_->functions.push_back(std::move(function));
  return true;
}

bool Parser::ParseParameters(Where where, std::vector<Variable>* parameters) {
  if (!Expect("(")) return false;
  if (Accept(")")) return true;
  do {
    const Position at = token_.where;
    if (token_.kind != TokenKind::kDirective) return FailExpected("a parameter");
    if (!ParseDeclaration(where, Linkage::kNone, parameters)) return false;
    const Space space = parameters->back().space;
    if (space != Space::kParam && space != Space::kReg) {
      return FailAt(at, "a parameter must be in .param or .reg");
    }
  } while (Accept(","));
  return Expect(")");
}

bool Parser::ParseFunctionDirectives(Function* function) {
  FunctionDirectives& directives = function->directives;
  const auto number = [&](std::optional<uint32_t>* target) {
    Advance();
    uint32_t value = 0;
    if (!ExpectUint32("a number", &value)) return false;
    *target = value;
    return true;
  };
  while (token_.kind == TokenKind::kDirective) {
    if (token_.Is(".maxntid")) {
      Advance();
      if (!ExpectNumberList("a number of threads", 3, &directives.maxntid)) return false;
    } else if (token_.Is(".reqntid")) {
      Advance();
      if (!ExpectNumberList("a number of threads", 3, &directives.reqntid)) return false;
    } else if (token_.Is(".reqnctapercluster")) {
      Advance();
      if (!ExpectNumberList("a number of blocks", 3, &directives.reqnctapercluster)) return false;
    } else if (token_.Is(".minnctapersm")) {
      if (!number(&directives.minnctapersm)) return false;
    } else if (token_.Is(".maxnctapersm")) {
      if (!number(&directives.maxnctapersm)) return false;
    } else if (token_.Is(".maxnreg")) {
      if (!number(&directives.maxnreg)) return false;
    } else if (token_.Is(".maxclusterrank")) {
      if (!number(&directives.maxclusterrank)) return false;
    } else if (token_.Is(".abi_preserve")) {
      if (!number(&directives.abi_preserve)) return false;
    } else if (token_.Is(".abi_preserve_control")) {
      if (!number(&directives.abi_preserve_control)) return false;
    } else if (Accept(".explicitcluster")) {
      directives.explicitcluster = true;
    } else if (Accept(".blocksareclusters")) {
      directives.blocksareclusters = true;
    } else if (Accept(".noreturn")) {
      directives.noreturn = true;
    } else if (token_.Is(".pragma")) {
      std::string text;
      if (!ParsePragma(&text)) return false;
      directives.pragmas.push_back(std::move(text));
    } else {
      reporter_->Unknown(token_.where,
                         "unknown directive '" + std::string(token_.text) + "' of a function");
      return false;
    }
  }
  return true;
}

void Parser::ParseBody(Function* function) {
  const Position begin = token_.where;
  Advance();
  loc_ = -1;
  size_t depth = 0;
  while (!reporter_->full()) {
    if (token_.kind == TokenKind::kEnd) {
      FailAt(begin, "the body of '" + function->name + "' does not end");
      return;
    }
    if (token_.Is("{")) {
      if (depth == kDeepestBlock) {
        // What follows would be nothing but consequences.
        Fail("blocks are nested too deeply");
        token_ = {.kind = TokenKind::kEnd, .where = token_.where};
        return;
      }
      Advance();
      ++depth;
      function->body.push_back({StatementKind::kBlockBegin, 0});
    } else if (token_.Is("}")) {
      Advance();
      if (depth == 0) return;
      --depth;
      function->body.push_back({StatementKind::kBlockEnd, 0});
    } else if (!ParseStatement(function)) {
      SkipStatement();
    }
  }
}

bool Parser::ParseStatement(Function* function) {
  if (token_.kind == TokenKind::kName) {
    return lexer_.AtColon() ? ParseLabel(function) : ParseInstruction(function);
  }
  if (token_.Is("@")) return ParseInstruction(function);
  if (token_.kind == TokenKind::kDirective) return ParseBodyDirective(function);
  if (Accept(";")) return true;
  return FailExpected("an instruction");
}

bool Parser::ParseBodyDirective(Function* function) {
  if (token_.Is(".loc")) return ParseLoc(function);
  if (token_.Is(".pragma")) {
    std::string text;
    if (!ParsePragma(&text)) return false;
    function->body.push_back({StatementKind::kPragma, Append(&function->pragmas, std::move(text))});
    return true;
  }
  std::vector<Variable> declared;
  if (!ParseDeclaration(Where::kBody, Linkage::kNone, &declared)) return false;
  for (Variable& variable : declared) {
    if (variable.space != Space::kReg) {
      function->body.push_back(
          {StatementKind::kVariable, Append(&function->variables, std::move(variable))});
      continue;
    }
    Register reg;
    reg.where = variable.where;
    reg.name = std::move(variable.name);
    reg.type = variable.type;
    reg.vector_width = variable.vector_width;
    reg.parameterized = variable.parameterized;
    reg.count = static_cast<uint32_t>(variable.count);
    function->body.push_back(
        {StatementKind::kRegister, Append(&function->registers, std::move(reg))});
  }
  return true;
}

bool Parser::ParseLabel(Function* function) {
  const Position where = token_.where;
  std::string name(token_.text);
  Advance();
  if (!Expect(":")) return false;
  if (token_.Is(".branchtargets") || token_.Is(".calltargets")) {
    return ParseTargetList(function, where, std::move(name));
  }
  if (token_.Is(".callprototype")) return ParsePrototype(function, where, std::move(name));
  const auto statement = static_cast<uint32_t>(function->body.size());
  const uint32_t index =
      Append(&function->labels, {.where = where, .name = std::move(name), .statement = statement});
  function->body.push_back({StatementKind::kLabel, index});
  return true;
}

bool Parser::ParseTargetList(Function* function, Position where, std::string name) {
  TargetList list{.where = where, .name = std::move(name), .calls = token_.Is(".calltargets")};
  Advance();
  do {
    TargetList::Target& target = list.targets.emplace_back();
    target.where = token_.where;
    if (!ExpectName(list.calls ? "a function's name" : "a label", &target.name)) return false;
  } while (Accept(","));
  if (!Expect(";")) return false;
  function->body.push_back(
      {StatementKind::kTargetList, Append(&function->target_lists, std::move(list))});
  return true;
}

bool Parser::ParsePrototype(Function* function, Position where, std::string name) {
  Prototype prototype{.where = where, .name = std::move(name)};
  Advance();
  if (token_.Is("(") && !ParseParameters(Where::kPrototype, &prototype.returns)) return false;
  if (!Expect("_")) return false;
  if (token_.Is("(") && !ParseParameters(Where::kPrototype, &prototype.parameters)) return false;
  while (token_.kind == TokenKind::kDirective) {
    uint32_t value = 0;
    if (Accept(".noreturn")) {
      prototype.noreturn = true;
    } else if (Accept(".abi_preserve")) {
      if (!ExpectUint32("a number", &value)) return false;
      prototype.abi_preserve = static_cast<int>(value & 0x7fffffff);
    } else if (Accept(".abi_preserve_control")) {
      if (!ExpectUint32("a number", &value)) return false;
      prototype.abi_preserve_control = static_cast<int>(value & 0x7fffffff);
    } else {
      return FailExpected("';'");
    }
  }
  if (!Expect(";")) return false;
  function->body.push_back(
      {StatementKind::kPrototype, Append(&function->prototypes, std::move(prototype))});
  return true;
}

bool Parser::ParseLoc(Function* function) {
  Loc loc;
  loc.where = token_.where;
  Advance();
  if (!ExpectUint32("a file number", &loc.file) || !ExpectUint32("a line", &loc.line) ||
      !ExpectUint32("a column", &loc.column)) {
    return false;
  }
  if (Accept(",")) {
    loc.inlined = true;
    if (!Expect("function_name") || !ExpectName("a label", &loc.function_name)) return false;
    if (token_.Is("+") || token_.Is("-")) {
      if (token_.Is("+")) Advance();
      if (!ParseInteger("the offset", &loc.function_name_offset)) return false;
    }
    if (!Expect(",") || !Expect("inlined_at") ||
        !ExpectUint32("a file number", &loc.inlined_file) ||
        !ExpectUint32("a line", &loc.inlined_line) ||
        !ExpectUint32("a column", &loc.inlined_column)) {
      return false;
    }
  }
  Accept(";");
  loc_ = static_cast<int32_t>(function->locs.size());
  function->body.push_back({StatementKind::kLoc, Append(&function->locs, std::move(loc))});
  return true;
}

bool Parser::ParseInstruction(Function* function) {
  Instruction instruction;
  instruction.where = token_.where;
  instruction.loc = loc_;
  if (Accept("@")) {
    instruction.guard.negated = Accept("!");
    if (!ExpectName("a predicate", &instruction.guard.name)) return false;
  }
  if (token_.kind != TokenKind::kName) return FailExpected("an instruction");

  lexer_.TakeMnemonic(token_, &words_);
  mnemonic_text_.clear();
  for (const Lexer::Word& word : words_) {
    if (!mnemonic_text_.empty()) mnemonic_text_ += '.';
    mnemonic_text_ += word.text;
  }
  const auto known = mnemonics_.find(mnemonic_text_);
  if (known != mnemonics_.end()) {
    instruction.mnemonic = known->second;
  } else {
    std::shared_ptr<const Mnemonic> mnemonic = DecodeMnemonic(words_, reporter_);
    if (mnemonic == nullptr) {
      Advance();
      return false;
    }
    mnemonics_.emplace(mnemonic->text, mnemonic);
    instruction.mnemonic = std::move(mnemonic);
  }
  Advance();
  if (!token_.Is(";")) {
    const bool in_call = instruction.opcode() == Opcode::kCall;
    do {
      if (!ParseOperand(in_call, 0, &instruction.operands.emplace_back())) return false;
    } while (Accept(","));
  }
  if (!Expect(";")) return false;
  UnwrapScalars(&instruction);
  function->body.push_back(
      {StatementKind::kInstruction, Append(&function->instructions, std::move(instruction))});
  return true;
}

}  // namespace kernelsmith::ptx
