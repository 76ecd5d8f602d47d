// The parser proper, split by topic over parse_*.cc: text to a tree whose names are not resolved
// yet. Everybody else uses Parse() of ptx.h, which resolves and validates as well.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptx/lexer.h"
#include "ptx/reporter.h"
#include "ptx/syntax.h"

namespace kernelsmith::ptx {

// The value of a constant expression. PTX computes integers in 64 bits, floats as double.
struct Constant {
  bool is_float = false;
  bool is_unsigned = false;
  bool is_single = false;  // written 0f: `bits` holds a float
  uint64_t bits = 0;

  bool IsZero() const;
  double AsDouble() const;
};

class Parser {
 public:
  Parser(std::string_view text, Module* module, Reporter* reporter)
      : text_(text), lexer_(text), module_(module), reporter_(reporter) {}

  // Errors go to the reporter; the module is then incomplete.
  void Run();

 private:
  // parser.cc: tokens and errors. Functions that return bool return false after reporting an error.
  void Advance();
  bool Accept(std::string_view text);
  bool Expect(std::string_view text);
  bool ExpectName(const char* what, std::string* name);
  bool ExpectUint32(const char* what, uint32_t* value);
  bool ExpectNumberList(const char* what, size_t most, std::vector<uint32_t>* values);
  bool ExpectString(const char* what, std::string* value);
  bool Fail(std::string message) { return FailAt(token_.where, std::move(message)); }
  bool FailAt(Position where, std::string message);
  bool FailExpected(std::string_view expected);
  // What the current token is, for "found ...".
  std::string Found() const;
  // After an error in a body: skips to behind the next ';', or to the block's '}'.
  void SkipStatement();
  // After an error outside of functions: skips to behind the next ';' or '{ ... }'.
  void SkipItem();

  // parse_module.cc
  void ParseHeader();
  bool ParseItem();
  bool ParseFile();
  bool ParseSection();
  bool ParseAlias();
  bool ParsePragma(std::string* text);
  bool ParseAttribute(Variable* variable, Function* function);

  // parse_declaration.cc
  enum class Where { kModule, kBody, kParameter, kPrototype };
  // The directives before the names, then the names: `.global .align 4 .b8 a[4], b;`.
  bool ParseDeclaration(Where where, Linkage linkage, std::vector<Variable>* declared);
  bool ParseQualifiers(Where where, Variable* variable);
  bool ParseDeclarator(Where where, Variable* variable);
  bool ParseDimensions(Variable* variable);
  bool ParseInitializer(Variable* variable);
  bool ParseInitialList(Variable* variable, const std::vector<uint64_t>& strides,
                        const std::vector<uint64_t>& dimensions, size_t level, uint64_t base);
  bool ParseInitialValue(Variable* variable, uint64_t offset);
  bool ParseRelocation(Variable* variable, uint64_t offset);
  bool StoreInitialBits(Variable* variable, uint64_t offset, int size, uint64_t bits);

  // parse_function.cc
  bool ParseFunction(Linkage linkage, bool is_entry);
  bool ParseParameters(Where where, std::vector<Variable>* parameters);
  bool ParseFunctionDirectives(Function* function);
  void ParseBody(Function* function);
  bool ParseStatement(Function* function);
  bool ParseBodyDirective(Function* function);
  bool ParseLabel(Function* function);
  bool ParseTargetList(Function* function, Position where, std::string name);
  bool ParsePrototype(Function* function, Position where, std::string name);
  bool ParseLoc(Function* function);
  bool ParseInstruction(Function* function);

  // parse_operand.cc
  bool ParseOperand(bool in_call, int depth, Operand* operand);
  bool ParseSimpleOperand(bool in_call, int depth, Operand* operand);
  bool ParseOperandList(std::string_view close, int depth, std::vector<Operand>* operands);
  bool ParseNameOperand(Operand* operand);
  bool ParseConstantOperand(Operand* operand);

  // parse_constant.cc
  bool ParseConstant(Constant* value);
  bool ParseConditional(int depth, Constant* value);
  bool ParseBinary(int precedence, int depth, Constant* value);
  bool ParseUnary(int depth, Constant* value);
  bool ParsePrimary(int depth, Constant* value);
  bool Combine(Position where, std::string_view op, const Constant& right, Constant* left);
  bool ParseInteger(const char* what, int64_t* value);

  const std::string_view text_;
  Lexer lexer_;
  Module* module_;
  Reporter* reporter_;
  Token token_;
  int32_t loc_ = -1;  // index in the function's locs of the .loc in force
  std::unordered_map<std::string_view, std::shared_ptr<const Mnemonic>> mnemonics_;
  std::vector<Lexer::Word> words_;
  std::string mnemonic_text_;
};

}  // namespace kernelsmith::ptx
