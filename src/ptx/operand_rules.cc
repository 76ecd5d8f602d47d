#include "ptx/operand_rules.h"

#include "ptx/vocabulary.h"

namespace kernelsmith::ptx {
namespace {

OperandRule MakeRule(const OperandForm& form, const Mnemonic& mnemonic,
                     const std::vector<int>& slot_modifiers) {
  OperandRule rule;
  rule.role = form.role;
  rule.negatable = form.negatable;
  rule.has_second = form.has_second;
  rule.second_optional = form.second_optional;
  rule.vector_width = form.by_vector_width ? mnemonic.vector_width : 1;
  rule.wider = form.wider;
  rule.any_type = form.any_type;
  rule.type = form.type;
  if (rule.type == Type::kNone && form.type_slot >= 0) {
    const int modifier = slot_modifiers[static_cast<size_t>(form.type_slot)];
    if (modifier >= 0) rule.type = TypeOf(mnemonic.modifiers[static_cast<size_t>(modifier)]);
  }
  rule.bits = BitsOf(rule.type) * (form.wide ? 2 : 1);
  return rule;
}

}  // namespace

const std::vector<OperandRules>& OperandRulesCache::RulesFor(
    const std::shared_ptr<const Mnemonic>& mnemonic) {
  const auto [entry, added] = rules_.try_emplace(mnemonic.get());
  if (!added) return entry->second;
  std::vector<int> slot_modifiers;
  for (const InstructionForm& form : FormsOf(mnemonic->opcode)) {
    if (!FillSlots(form, *mnemonic, &slot_modifiers)) continue;
    size_t optional_count = 0;
    for (const OperandForm& operand : form.operands) optional_count += operand.optional;
    // Every choice of optional operands; there are at most three. The fullest first.
    for (size_t choice = size_t{1} << optional_count; choice-- > 0;) {
      OperandRules rules{.form = &form};
      size_t optional_index = 0;
      for (const OperandForm& operand : form.operands) {
        if (operand.optional && (choice >> optional_index++ & 1) == 0) continue;
        rules.operands.push_back(MakeRule(operand, *mnemonic, slot_modifiers));
      }
      entry->second.push_back(std::move(rules));
    }
  }
  return entry->second;
}

}  // namespace kernelsmith::ptx
