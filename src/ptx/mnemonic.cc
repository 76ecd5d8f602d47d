#include "ptx/mnemonic.h"

#include <algorithm>

#include "ptx/instruction_table.h"
#include "ptx/vocabulary.h"
#include "support/diagnostic.h"

namespace kernelsmith::ptx {
namespace {

constexpr size_t kLongestShownWord = 80;
// The longest in the ISA has 13 words.
constexpr size_t kMostWords = 24;

std::string Quoted(std::string_view text) {
  return "'" + EscapeForTerminal(text.substr(0, kLongestShownWord)) + "'";
}

// The same modifier means different things in different instructions: .and is an atomic's operation
// or how setp combines, .lo a comparison or half of a product.
void AddMeaning(Modifier modifier, Mnemonic* mnemonic) {
  if (const Type type = TypeOf(modifier); type != Type::kNone) mnemonic->types.push_back(type);
  if (const Space space = SpaceOf(modifier); space != Space::kNone) {
    mnemonic->spaces.push_back(space);
  }
  if (const Rounding rounding = RoundingOf(modifier); rounding != Rounding::kNone) {
    mnemonic->rounding = rounding;
  }
  if (const Scope scope = ScopeOf(modifier); scope != Scope::kNone) mnemonic->scope = scope;
  if (const Semantics semantics = SemanticsOf(modifier); semantics != Semantics::kNone) {
    // ld.mmio.relaxed: the order is what counts, .mmio is in the modifiers.
    if (semantics != Semantics::kMmio || mnemonic->semantics == Semantics::kNone) {
      mnemonic->semantics = semantics;
    }
  }
  if (const CacheOp cache_op = CacheOpOf(modifier); cache_op != CacheOp::kNone) {
    mnemonic->cache_op = cache_op;
  }
  switch (mnemonic->opcode) {
    case Opcode::kSet:
    case Opcode::kSetp:
    case Opcode::kVset:
    case Opcode::kVset2:
    case Opcode::kVset4:
      if (const Comparison comparison = ComparisonOf(modifier); comparison != Comparison::kNone) {
        mnemonic->comparison = comparison;
      }
      if (const BoolOp bool_op = BoolOpOf(modifier); bool_op != BoolOp::kNone) {
        mnemonic->bool_op = bool_op;
      }
      break;
    default:
      if (modifier == Modifier::kLo) mnemonic->half = ResultHalf::kLo;
      if (modifier == Modifier::kHi) mnemonic->half = ResultHalf::kHi;
      if (modifier == Modifier::kWide) mnemonic->half = ResultHalf::kWide;
      break;
  }
  if (modifier == Modifier::kV2) mnemonic->vector_width = 2;
  if (modifier == Modifier::kV4) mnemonic->vector_width = 4;
  if (modifier == Modifier::kV8) mnemonic->vector_width = 8;
  mnemonic->ftz |= modifier == Modifier::kFtz;
  mnemonic->sat |= modifier == Modifier::kSat;
  mnemonic->satfinite |= modifier == Modifier::kSatfinite;
  mnemonic->relu |= modifier == Modifier::kRelu;
  mnemonic->approx |= modifier == Modifier::kApprox;
  mnemonic->carry |= modifier == Modifier::kCc;
}

bool SomeFormHas(const InstructionEntry& entry, Modifier modifier) {
  const std::span<const InstructionForm> forms = FormsOf(entry.opcode);
  return std::any_of(forms.begin(), forms.end(), [&](const InstructionForm& form) {
    return std::any_of(form.slots.begin(), form.slots.end(), [&](const ModifierSlot& slot) {
      return slot.accepts.test(static_cast<size_t>(modifier));
    });
  });
}

}  // namespace

std::shared_ptr<const Mnemonic> DecodeMnemonic(const std::vector<Lexer::Word>& words,
                                               Reporter* reporter) {
  if (words.size() > kMostWords) {
    reporter->Invalid(words[0].where, "instruction has too many modifiers");
    return nullptr;
  }
  std::vector<std::string_view> texts;
  for (const Lexer::Word& word : words) texts.push_back(word.text);
  size_t used = 0;
  const InstructionEntry* entry = FindInstruction(texts, &used);
  if (entry == nullptr) {
    std::string name(texts[0]);
    // The second word tells more where the first is a family: tcgen05.foo.
    if (texts.size() > 1 && FindModifier(texts[1]) == std::nullopt) {
      (name += '.') += texts[1];
    }
    reporter->Unknown(words[0].where, "unknown instruction " + Quoted(name));
    return nullptr;
  }

  auto mnemonic = std::make_shared<Mnemonic>();
  mnemonic->opcode = entry->opcode;
  for (const std::string_view text : texts) {
    if (!mnemonic->text.empty()) mnemonic->text += '.';
    mnemonic->text += text;
  }
  for (size_t i = used; i < words.size(); ++i) {
    std::optional<Modifier> modifier = FindModifier(words[i].text);
    if (!modifier) {
      if (const std::optional<MatrixShape> shape = ParseShape(words[i].text)) {
        modifier = Modifier::kShape;
        mnemonic->shape = *shape;
      }
    }
    if (!modifier || !SomeFormHas(*entry, *modifier)) {
      reporter->Unknown(words[i].where, "instruction '" + std::string(entry->name) +
                                            "' has no modifier " +
                                            Quoted("." + std::string(words[i].text)));
      return nullptr;
    }
    mnemonic->modifiers.push_back(*modifier);
    AddMeaning(*modifier, mnemonic.get());
  }
  std::vector<int> slots;
  for (const InstructionForm& form : FormsOf(entry->opcode)) {
    if (FillSlots(form, *mnemonic, &slots)) return mnemonic;
  }
  reporter->Unknown(words[0].where, Quoted(mnemonic->text) + " is no form of '" +
                                        std::string(entry->name) +
                                        "': its modifiers do not go together, or one is missing");
  return nullptr;
}

}  // namespace kernelsmith::ptx
