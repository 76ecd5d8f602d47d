// The level of the file: .version, .target, variables and functions in turn.
#include "ptx/parser.h"

namespace kernelsmith::ptx {
namespace {

bool ParseVersion(std::string_view text, Version* version) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot > 2 || dot + 1 >= text.size() ||
      text.size() - dot > 3) {
    return false;
  }
  version->major = version->minor = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i == dot) continue;
    if (text[i] < '0' || text[i] > '9') return false;
    int& number = i < dot ? version->major : version->minor;
    number = number * 10 + (text[i] - '0');
  }
  return true;
}

// "sm_90a": the letters, an underscore, digits, perhaps one letter.
bool IsArchitecture(std::string_view name) {
  if (!name.starts_with("sm_") && !name.starts_with("compute_")) return false;
  name.remove_prefix(name.find('_') + 1);
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f')) name.remove_suffix(1);
  return !name.empty() && name.size() <= 4 &&
         name.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

void Parser::ParseHeader() {
  if (!token_.Is(".version")) {
    FailExpected("'.version' as the first directive");
  } else {
    Advance();
    if (token_.kind != TokenKind::kFloat || !ParseVersion(token_.text, &module_->version)) {
      FailExpected("a version like 8.5");
    }
    if (token_.kind == TokenKind::kFloat || token_.kind == TokenKind::kInteger) Advance();
  }
  if (!token_.Is(".target")) {
    FailExpected("'.target'");
    return;
  }
  Advance();
  do {
    std::string name;
    const Position where = token_.where;
    if (!ExpectName("a target like sm_90", &name)) return;
    if (IsArchitecture(name)) {
      if (!module_->target.empty()) {
        FailAt(where, "more than one architecture in .target");
      }
      module_->target = std::move(name);
    } else if (name == "debug" || name == "texmode_unified" || name == "texmode_independent" ||
               name == "texmode_raw" || name == "map_f64_to_f32") {
      module_->target_options.push_back(std::move(name));
    } else {
      FailAt(where, "unknown target '" + name + "'");
    }
  } while (Accept(","));
}

bool Parser::ParseItem() {
  const Position where = token_.where;
  if (token_.kind != TokenKind::kDirective) {
    if (Accept(";")) return true;
    return FailExpected("a directive");
  }
  if (Accept(".address_size")) {
    uint32_t bits = 0;
    if (!ExpectUint32("32 or 64", &bits)) return false;
    if (bits != 32 && bits != 64) return FailAt(where, ".address_size must be 32 or 64");
    module_->address_size = static_cast<int>(bits);
    return true;
  }
  if (token_.Is(".file")) return ParseFile();
  if (token_.Is(".section")) return ParseSection();
  if (token_.Is(".alias")) return ParseAlias();
  if (token_.Is(".pragma")) {
    std::string text;
    if (!ParsePragma(&text)) return false;
    module_->items.push_back({ItemKind::kPragma, static_cast<uint32_t>(module_->pragmas.size())});
    module_->pragmas.push_back(std::move(text));
    return true;
  }
  if (token_.Is(".version") || token_.Is(".target")) {
    return Fail("'" + std::string(token_.text) + "' must stand at the top, once");
  }

  Linkage linkage = Linkage::kNone;
  while (true) {
    Linkage next = Linkage::kNone;
    if (token_.Is(".extern")) next = Linkage::kExtern;
    if (token_.Is(".visible")) next = Linkage::kVisible;
    if (token_.Is(".weak")) next = Linkage::kWeak;
    if (token_.Is(".common")) next = Linkage::kCommon;
    if (next == Linkage::kNone) break;
    if (linkage != Linkage::kNone) return Fail("more than one linkage");
    linkage = next;
    Advance();
  }
  if (token_.Is(".entry") || token_.Is(".func")) {
    const bool is_entry = token_.Is(".entry");
    Advance();
    return ParseFunction(linkage, is_entry);
  }
  if (token_.kind != TokenKind::kDirective) return FailExpected("'.func', '.entry' or a variable");
  std::vector<Variable> declared;
  if (!ParseDeclaration(Where::kModule, linkage, &declared)) return false;
  for (Variable& variable : declared) {
    module_->items.push_back(
        {ItemKind::kVariable, static_cast<uint32_t>(module_->variables.size())});
    module_->variables.push_back(std::move(variable));
  }
  return true;
}

bool Parser::ParseFile() {
  Advance();
  FileEntry file;
  if (!ExpectUint32("a file number", &file.index)) return false;
  if (!ExpectString("a file name", &file.name)) return false;
  if (Accept(",")) {
    if (token_.kind != TokenKind::kInteger) return FailExpected("a time");
    file.time = token_.integer;
    Advance();
    if (!Expect(",")) return false;
    if (token_.kind != TokenKind::kInteger) return FailExpected("a file size");
    file.size = token_.integer;
    Advance();
  }
  Accept(";");
  module_->items.push_back({ItemKind::kFile, static_cast<uint32_t>(module_->files.size())});
  module_->files.push_back(std::move(file));
  return true;
}

bool Parser::ParseSection() {
  Section section;
  section.where = token_.where;
  Advance();
  if (token_.kind != TokenKind::kDirective && token_.kind != TokenKind::kName) {
    return FailExpected("the name of a section");
  }
  section.name = token_.text;
  Advance();
  if (!token_.Is("{")) return FailExpected("'{'");
  std::string_view inner;
  if (!lexer_.TakeBraced(&inner)) {
    token_ = {.kind = TokenKind::kEnd, .where = section.where};
    return FailAt(section.where, "section does not end");
  }
  Advance();
  section.text = inner;
  module_->items.push_back({ItemKind::kSection, static_cast<uint32_t>(module_->sections.size())});
  module_->sections.push_back(std::move(section));
  return true;
}

bool Parser::ParseAlias() {
  Alias alias;
  alias.where = token_.where;
  Advance();
  if (!ExpectName("a function's name", &alias.name) || !Expect(",") ||
      !ExpectName("a function's name", &alias.target) || !Expect(";")) {
    return false;
  }
  module_->items.push_back({ItemKind::kAlias, static_cast<uint32_t>(module_->aliases.size())});
  module_->aliases.push_back(std::move(alias));
  return true;
}

bool Parser::ParsePragma(std::string* text) {
  Advance();
  do {
    std::string part;
    if (!ExpectString("a string", &part)) return false;
    if (!text->empty()) *text += "\", \"";
    *text += part;
  } while (Accept(","));
  Accept(";");
  return true;
}

bool Parser::ParseAttribute(Variable* variable, Function* function) {
  Advance();
  if (!Expect("(")) return false;
  do {
    if (variable != nullptr && Accept(".managed")) {
      variable->managed = true;
    } else if (Accept(".unified")) {
      bool& unified = variable != nullptr ? variable->unified : function->unified;
      uint64_t* id = variable != nullptr ? variable->unified_id : function->unified_id;
      unified = true;
      if (!Expect("(")) return false;
      for (int i = 0; i < 2; ++i) {
        if (i == 1 && !Expect(",")) return false;
        if (token_.kind != TokenKind::kInteger) return FailExpected("a 64-bit number");
        id[i] = token_.integer;
        Advance();
      }
      if (!Expect(")")) return false;
    } else {
      return FailExpected(".managed or .unified");
    }
  } while (Accept(","));
  return Expect(")");
}

}  // namespace kernelsmith::ptx
