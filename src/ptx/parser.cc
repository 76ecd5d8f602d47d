#include "ptx/parser.h"

#include <bit>

#include "support/diagnostic.h"

namespace kernelsmith::ptx {
namespace {

// Names in messages are cut there.
constexpr size_t kLongestShownName = 80;

}  // namespace

void Parser::Run() {
  Advance();
  ParseHeader();
  while (token_.kind != TokenKind::kEnd && !reporter_->full()) {
    if (!ParseItem()) SkipItem();
  }
}

void Parser::Advance() {
  token_ = lexer_.Next();
  while (token_.kind == TokenKind::kError && !reporter_->full()) {
    reporter_->Invalid(token_.where, lexer_.error());
    token_ = lexer_.Next();
  }
  // Once there are too many errors the text ends early for everybody.
  if (token_.kind == TokenKind::kError) token_ = {.kind = TokenKind::kEnd, .where = token_.where};
}

bool Parser::Accept(std::string_view text) {
  if (!token_.Is(text)) return false;
  Advance();
  return true;
}

bool Parser::FailAt(Position where, std::string message) {
  reporter_->Invalid(where, std::move(message));
  return false;
}

std::string Parser::Found() const {
  if (token_.kind == TokenKind::kEnd) return "the end of the file";
  const std::string_view text = token_.text.substr(0, kLongestShownName);
  if (token_.kind == TokenKind::kString) return "\"" + EscapeForTerminal(text) + "\"";
  return "'" + std::string(text) + "'";
}

bool Parser::FailExpected(std::string_view expected) {
  return Fail("expected " + std::string(expected) + ", found " + Found());
}

bool Parser::Expect(std::string_view text) {
  if (Accept(text)) return true;
  return FailExpected("'" + std::string(text) + "'");
}

bool Parser::ExpectName(const char* what, std::string* name) {
  if (token_.kind != TokenKind::kName) return FailExpected(what);
  *name = token_.text;
  Advance();
  return true;
}

bool Parser::ExpectUint32(const char* what, uint32_t* value) {
  if (token_.kind != TokenKind::kInteger) return FailExpected(what);
  if (token_.integer > UINT32_MAX) return Fail(std::string(what) + " does not fit in 32 bits");
  *value = static_cast<uint32_t>(token_.integer);
  Advance();
  return true;
}

bool Parser::ExpectNumberList(const char* what, size_t most, std::vector<uint32_t>* values) {
  values->clear();
  do {
    if (values->size() == most) return Fail("too many numbers");
    uint32_t value = 0;
    if (!ExpectUint32(what, &value)) return false;
    values->push_back(value);
  } while (Accept(","));
  return true;
}

bool Parser::ExpectString(const char* what, std::string* value) {
  if (token_.kind != TokenKind::kString) return FailExpected(what);
  *value = token_.text;
  Advance();
  return true;
}

void Parser::SkipStatement() {
  // Braces before the ';' are vectors.
  int depth = 0;
  while (token_.kind != TokenKind::kEnd) {
    if (token_.Is("{")) ++depth;
    if (token_.Is("}") && --depth < 0) return;
    if (Accept(";")) return;
    Advance();
  }
}

void Parser::SkipItem() {
  while (token_.kind != TokenKind::kEnd && !token_.Is("{") && !token_.Is("}")) {
    if (Accept(";")) return;
    Advance();
  }
  if (token_.Is("{")) {
    std::string_view inner;
    if (!lexer_.TakeBraced(&inner)) {
      token_ = {.kind = TokenKind::kEnd, .where = token_.where};
      return;
    }
    Advance();
    Accept(";");
  } else if (token_.Is("}")) {
    Advance();
  }
}

}  // namespace kernelsmith::ptx
