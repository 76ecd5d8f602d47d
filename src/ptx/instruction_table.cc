#include "ptx/instruction_table.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "ptx/vocabulary.h"
#include "support/check.h"

namespace kernelsmith::ptx {
namespace {

using Classes = std::unordered_map<std::string_view, std::string_view>;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(Trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Reads one PTX_FORM. The text is ours: whatever is wrong with it is a bug.
class FormReader {
 public:
  FormReader(const Classes& classes, std::string_view name, InstructionForm* form)
      : classes_(classes), name_(name), form_(form) {}

  void Read() {
    const std::vector<std::string_view> parts = Split(form_->text, ';');
    for (size_t i = 1; i < parts.size(); ++i) {
      if (!parts[i].empty()) ReadClass(parts[i]);
    }
    std::string_view syntax = parts[0];
    Check(syntax.starts_with(name_), "the form must begin with the instruction's name");
    syntax.remove_prefix(name_.size());
    const size_t space = syntax.find(' ');
    ReadSlots(syntax.substr(0, space));
    if (space != std::string_view::npos) ReadOperands(Trim(syntax.substr(space)));
  }

 private:
  void Check(bool condition, const char* what) const {
    KS_CHECK(condition, std::string(what) + ": " + form_->text);
  }

  // ".type = { .u16, .u32 }"
  void ReadClass(std::string_view text) {
    const size_t equals = text.find('=');
    Check(equals != std::string_view::npos, "expected '=' in a class");
    const std::string_view name = Trim(text.substr(0, equals));
    std::string_view values = Trim(text.substr(equals + 1));
    Check(name.starts_with('.') && values.starts_with('{') && values.ends_with('}'),
          "malformed class");
    values.remove_prefix(1);
    values.remove_suffix(1);
    own_.emplace_back(name, values);
  }

  void ReadSlots(std::string_view text) {
    while (!text.empty()) {
      const bool optional = text.starts_with('{');
      if (optional) text.remove_prefix(1);
      Check(text.starts_with('.'), "expected a modifier");
      const size_t end = std::min(text.find_first_of(optional ? "}" : ".{", 1), text.size());
      ModifierSlot slot;
      slot.name = text.substr(1, end - 1);
      slot.optional = optional;
      AddModifier(text.substr(0, end), 0, &slot);
      form_->slots.push_back(std::move(slot));
      text.remove_prefix(end + (optional ? 1 : 0));
    }
  }

  // A class within a class adds its members. A class may not shadow a modifier, so the class is
  // looked for first.
  void AddModifier(std::string_view word, int depth, ModifierSlot* slot) {
    Check(depth < 8, "classes contain each other");
    if (const std::optional<std::string_view> members = MembersOf(word)) {
      for (const std::string_view member : Split(*members, ',')) {
        // `.trap` in class `.clamp` = { .trap, .clamp }: the member is the modifier.
        if (member == word) {
          AddPlainModifier(word, slot);
        } else {
          AddModifier(member, depth + 1, slot);
        }
      }
      return;
    }
    AddPlainModifier(word, slot);
  }

  // A form's own class goes before one of the table.
  std::optional<std::string_view> MembersOf(std::string_view name) const {
    for (const auto& [own, members] : own_) {
      if (own == name) return members;
    }
    const auto found = classes_.find(name);
    return found == classes_.end() ? std::nullopt : std::optional(found->second);
  }

  void AddPlainModifier(std::string_view word, ModifierSlot* slot) {
    Check(word.starts_with('.'), "a modifier begins with a dot");
    const std::string_view text = word.substr(1);
    if (const std::optional<Modifier> modifier = FindModifier(text)) {
      slot->accepts.set(static_cast<size_t>(*modifier));
      slot->is_type |= TypeOf(*modifier) != Type::kNone;
      return;
    }
    std::string concrete(text);
    const size_t any = concrete.find('N');
    if (any != std::string::npos) concrete[any] = '8';
    std::optional<MatrixShape> shape = ParseShape(concrete);
    KS_CHECK(shape.has_value(), "unknown modifier " + std::string(word) + " in: " + form_->text);
    if (any != std::string::npos) shape->n = 0;
    slot->accepts.set(static_cast<size_t>(Modifier::kShape));
    slot->shapes.push_back(*shape);
  }

  void ReadOperands(std::string_view text) {
    bool optional = false;
    while (!text.empty()) {
      if (text.starts_with("{,")) {
        optional = true;
        text.remove_prefix(2);
      } else if (text.starts_with(',')) {
        text.remove_prefix(1);
      }
      text = Trim(text);
      if (text == "...") {
        form_->any_operands = true;
        return;
      }
      // An operand ends at a comma, at "{,", or at the '}' that closes its optional group, outside
      // of its own brackets.
      size_t end = 0;
      int depth = 0;
      for (; end < text.size(); ++end) {
        const char c = text[end];
        if (depth == 0 && (c == ',' || c == '}' || text.substr(end).starts_with("{,"))) break;
        if (c == '[' || c == '{') ++depth;
        if (c == ']' || c == '}') --depth;
      }
      ReadOperand(Trim(text.substr(0, end)), optional);
      text.remove_prefix(end);
      if (text.starts_with('}')) {
        Check(optional, "unbalanced '}'");
        optional = false;
        text = Trim(text.substr(1));
      }
    }
  }

  void ReadOperand(std::string_view text, bool optional) {
    OperandForm operand;
    operand.optional = optional;
    Check(!text.empty(), "empty operand");
    if (text.starts_with("{!}")) {
      operand.negatable = true;
      text.remove_prefix(3);
    }
    const bool address = text.starts_with('[');
    const bool vector = text.starts_with('{');
    size_t colon = text.find(':', address ? text.find(']') : 0);
    std::string_view name = text.substr(0, colon);
    if (colon != std::string_view::npos) {
      for (const std::string_view type : Split(text.substr(colon + 1), ':'))
        ReadType(type, &operand);
    }
    if (name.ends_with("<vec>")) {
      operand.by_vector_width = true;
      name.remove_suffix(5);
    }
    if (const size_t bar = name.find('|'); bar != std::string_view::npos) {
      operand.has_second = true;
      operand.second_optional = name[bar - 1] == '{';
      name = name.substr(0, operand.second_optional ? bar - 1 : bar);
    }
    operand.name = name;
    operand.role = RoleOf(name, address, vector, &operand);
    if (!operand.any_type && operand.type == Type::kNone && operand.type_slot < 0) {
      operand.type_slot = DefaultTypeSlot();
    }
    form_->operands.push_back(std::move(operand));
  }

  static OperandRole RoleOf(std::string_view name, bool address, bool vector,
                            OperandForm* operand) {
    if (address) return OperandRole::kAddress;
    if (vector) {
      operand->writes = name.starts_with("{d");
      return OperandRole::kVector;
    }
    if (name == "label") return OperandRole::kLabel;
    if (name == "tlist") return OperandRole::kTargetList;
    if (name == "sym") return OperandRole::kSymbol;
    if (name == "p" || name == "q") {
      operand->type = Type::kPred;
      return OperandRole::kPredicate;
    }
    if (name.starts_with("imm")) return OperandRole::kConstant;
    if (name.starts_with('d')) {
      operand->writes = true;
      return OperandRole::kRegister;
    }
    return OperandRole::kSource;
  }

  void ReadType(std::string_view text, OperandForm* operand) {
    if (text == "any") {
      operand->any_type = true;
    } else if (text == "wide") {
      operand->wide = true;
    } else if (text == "wider") {
      operand->wider = true;
    } else if (const int slot = SlotOf(text); slot >= 0) {
      operand->type_slot = slot;
    } else {
      operand->type = FindType(text);
      Check(operand->type != Type::kNone, "unknown operand type");
    }
  }

  int SlotOf(std::string_view dotted) const {
    for (size_t i = 0; i < form_->slots.size(); ++i) {
      // A slot that is one plain type is found as that type.
      if (form_->slots[i].name == dotted.substr(1) && FindType(dotted) == Type::kNone) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  int DefaultTypeSlot() const {
    if (const int slot = SlotOf(".type"); slot >= 0) return slot;
    for (size_t i = form_->slots.size(); i-- > 0;) {
      if (form_->slots[i].is_type) return static_cast<int>(i);
    }
    return -1;
  }

  const Classes& classes_;
  std::vector<std::pair<std::string_view, std::string_view>> own_;
  std::string_view name_;
  InstructionForm* form_;
};

Version ParseFormVersion(std::string_view text) {
  if (text == "any") return {};
  return {text[0] - '0', text[2] - '0'};
}

struct Row {
  enum class Kind : uint8_t { kOpcode, kClass, kForm };
  Kind kind;
  std::string_view a, b, c;
};

constexpr Row kRows[] = {
#define PTX_OPCODE(id, text, lowering) {Row::Kind::kOpcode, text, #lowering, ""},
#define PTX_CLASS(name, members) {Row::Kind::kClass, name, members, ""},
#define PTX_FORM(target, version, text) {Row::Kind::kForm, #target, #version, text},
#include "ptx/instructions.def"
};

constexpr size_t kOpcodeCount = 0
#define PTX_OPCODE(id, text, lowering) +1
#include "ptx/instructions.def"
    ;

// The forms of an instruction: rows of the table, and what they say once somebody has asked.
struct Forms {
  std::span<const Row> rows;
  std::once_flag once;
  std::vector<InstructionForm> read;
};

// A module uses few instructions, and many processes read one module: only names are read at once.
struct Table {
  std::vector<InstructionEntry> entries;
  std::vector<Forms> forms = std::vector<Forms>(kOpcodeCount);  // by opcode
  Classes classes;
  // First word to the entries whose names begin with it, longest names first.
  std::unordered_map<std::string_view, std::vector<const InstructionEntry*>> by_first_word;

  Table();
};

size_t CountWords(std::string_view name) {
  return static_cast<size_t>(std::count(name.begin(), name.end(), '.')) + 1;
}

Table::Table() {
  for (const Row& row : kRows) {
    if (row.kind == Row::Kind::kClass) {
      KS_CHECK(classes.emplace(row.a, row.b).second, "a class is there twice");
    } else if (row.kind == Row::Kind::kOpcode) {
      entries.push_back({.opcode = static_cast<Opcode>(entries.size()),
                         .name = row.a,
                         .supported = row.b != "Unsupported"});
    } else {
      std::span<const Row>& rows = forms[entries.size() - 1].rows;
      rows = {rows.empty() ? &row : rows.data(), &row + 1};
    }
  }
  for (const InstructionEntry& entry : entries) {
    by_first_word[entry.name.substr(0, entry.name.find('.'))].push_back(&entry);
  }
  for (auto& [word, named] : by_first_word) {
    std::sort(named.begin(), named.end(), [](const InstructionEntry* a, const InstructionEntry* b) {
      return std::pair(CountWords(b->name), a->opcode) < std::pair(CountWords(a->name), b->opcode);
    });
  }
}

Table& TheTable() {
  static Table table;
  return table;
}

InstructionForm ReadForm(const Row& row, const Classes& classes, std::string_view name) {
  InstructionForm form;
  form.text = row.c;
  if (row.a != "any") form.target = row.a;
  form.version = ParseFormVersion(row.b);
  FormReader(classes, name, &form).Read();
  return form;
}

bool SlotAccepts(const ModifierSlot& slot, Modifier modifier, const MatrixShape& shape) {
  if (!slot.accepts.test(static_cast<size_t>(modifier))) return false;
  if (modifier != Modifier::kShape) return true;
  for (const MatrixShape& accepted : slot.shapes) {
    if (accepted == shape) return true;
    if (accepted.n == 0 && accepted.m == shape.m && accepted.k == shape.k && shape.n % 8 == 0 &&
        shape.n <= 256) {
      return true;
    }
  }
  return false;
}

// Modifier `next` and those after it. Forms have few slots that accept the same word, so this is
// no search in practice; type slots are filled from left to right.
bool FillFrom(const InstructionForm& form, const Mnemonic& mnemonic, size_t next,
              int last_type_slot, std::vector<int>* slot_modifiers) {
  if (next == mnemonic.modifiers.size()) {
    for (size_t i = 0; i < form.slots.size(); ++i) {
      if (!form.slots[i].optional && (*slot_modifiers)[i] < 0) return false;
    }
    return true;
  }
  const Modifier modifier = mnemonic.modifiers[next];
  const bool is_type = TypeOf(modifier) != Type::kNone;
  for (size_t i = 0; i < form.slots.size(); ++i) {
    if ((*slot_modifiers)[i] >= 0 || !SlotAccepts(form.slots[i], modifier, mnemonic.shape))
      continue;
    if (is_type && static_cast<int>(i) < last_type_slot) continue;
    (*slot_modifiers)[i] = static_cast<int>(next);
    if (FillFrom(form, mnemonic, next + 1, is_type ? static_cast<int>(i) : last_type_slot,
                 slot_modifiers)) {
      return true;
    }
    (*slot_modifiers)[i] = -1;
  }
  return false;
}

}  // namespace

std::span<const InstructionEntry> InstructionTable() { return TheTable().entries; }

const InstructionEntry& EntryOf(Opcode opcode) {
  return TheTable().entries[static_cast<size_t>(opcode)];
}

std::span<const InstructionForm> FormsOf(Opcode opcode) {
  Table& table = TheTable();
  Forms& forms = table.forms[static_cast<size_t>(opcode)];
  std::call_once(forms.once, [&] {
    for (const Row& row : forms.rows) {
      // Classes stand between forms as well.
      if (row.kind != Row::Kind::kForm) continue;
      forms.read.push_back(ReadForm(row, table.classes, EntryOf(opcode).name));
    }
  });
  return forms.read;
}

std::string_view NameOf(Opcode opcode) { return EntryOf(opcode).name; }

const InstructionEntry* FindInstruction(std::span<const std::string_view> words, size_t* used) {
  const auto found = TheTable().by_first_word.find(words[0]);
  if (found == TheTable().by_first_word.end()) return nullptr;
  for (const InstructionEntry* entry : found->second) {
    std::string_view rest = entry->name;
    size_t matched = 0;
    while (matched < words.size()) {
      const size_t dot = rest.find('.');
      if (rest.substr(0, dot) != words[matched]) break;
      ++matched;
      if (dot == std::string_view::npos) {
        *used = matched;
        return entry;
      }
      rest.remove_prefix(dot + 1);
    }
  }
  return nullptr;
}

bool FillSlots(const InstructionForm& form, const Mnemonic& mnemonic,
               std::vector<int>* slot_modifiers) {
  if (mnemonic.modifiers.size() > form.slots.size()) return false;
  slot_modifiers->assign(form.slots.size(), -1);
  return FillFrom(form, mnemonic, 0, -1, slot_modifiers);
}

}  // namespace kernelsmith::ptx
