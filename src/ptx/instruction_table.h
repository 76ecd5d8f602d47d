// instructions.def, read once per process, forms when they are first asked for: which modifiers and
// operands each instruction can have.
#pragma once

#include <bitset>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax.h"

namespace kernelsmith::ptx {

inline constexpr size_t kModifierCount = 0
#define PTX_MODIFIER(id, text) +1
#include "ptx/modifiers.def"
    ;

// One place in a mnemonic: a modifier, or one of a class.
struct ModifierSlot {
  std::string name;  // "rnd", "f32"
  bool optional = false;
  bool is_type = false;  // can hold a type: such slots are filled in order
  std::bitset<kModifierCount> accepts;
  std::vector<MatrixShape> shapes;  // n = 0: any multiple of 8 up to 256
};

enum class OperandRole : uint8_t {
  kSource,     // register, constant, special register
  kRegister,   // a register that is written, or _
  kPredicate,  // a predicate register
  kConstant,
  kAddress,
  kVector,  // a vector of any length, or one register
  kLabel,
  kTargetList,
  kSymbol,  // variable, function or label
};

struct OperandForm {
  std::string name;
  OperandRole role = OperandRole::kSource;
  bool optional = false;
  bool writes = false;
  bool negatable = false;
  bool by_vector_width = false;  // a<vec>
  bool has_second = false;       // d|p
  bool second_optional = false;  // d{|p}
  // The type, in this order of preference: any, `type`, that of slot `type_slot`.
  bool any_type = false;
  Type type = Type::kNone;
  int type_slot = -1;
  bool wide = false;   // twice the size
  bool wider = false;  // or a larger register
};

// A line PTX_FORM of the table.
struct InstructionForm {
  std::string text;
  std::string target;  // "sm_90", "sm_90a", empty: any
  Version version;     // 0.0: any
  std::vector<ModifierSlot> slots;
  bool any_operands = false;  // "..."
  std::vector<OperandForm> operands;
};

struct InstructionEntry {
  Opcode opcode = Opcode::kAdd;
  std::string_view name;
  bool supported = false;  // whether the virtual GPU runs it
};

// By opcode, in the order of the table.
std::span<const InstructionEntry> InstructionTable();
const InstructionEntry& EntryOf(Opcode opcode);
std::span<const InstructionForm> FormsOf(Opcode opcode);

// The opcode whose dotted name is the longest that begins `words`, or null. *used: how many words.
const InstructionEntry* FindInstruction(std::span<const std::string_view> words, size_t* used);

// Puts every modifier of the mnemonic into a slot of the form. True if that works and no slot that
// must be filled stays empty; then slot_modifiers[i] is the index of the modifier in slot i, or -1.
bool FillSlots(const InstructionForm& form, const Mnemonic& mnemonic,
               std::vector<int>* slot_modifiers);

}  // namespace kernelsmith::ptx
