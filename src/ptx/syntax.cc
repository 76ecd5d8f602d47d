#include "ptx/syntax.h"

#include <algorithm>

namespace kernelsmith::ptx {

bool Relocation::operator==(const Relocation& other) const {
  return offset == other.offset && size == other.size && name == other.name &&
         addend == other.addend && generic == other.generic && shift == other.shift;
}

uint64_t Variable::Size() const {
  uint64_t size = static_cast<uint64_t>(BytesOf(type)) * static_cast<uint64_t>(vector_width);
  for (const uint64_t dimension : dimensions) size *= dimension;
  return size;
}

int Variable::Alignment() const {
  return alignment != 0 ? alignment : BytesOf(type) * vector_width;
}

bool Mnemonic::Has(Modifier modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

CallParts PartsOfCall(const Instruction& call) {
  CallParts parts;
  size_t next = 0;
  const std::vector<Operand>& operands = call.operands;
  const auto is_list = [&] {
    return next < operands.size() && operands[next].kind == OperandKind::kList;
  };
  if (is_list()) parts.returns = &operands[next++];
  if (next < operands.size()) parts.target = &operands[next++];
  if (is_list()) parts.parameters = &operands[next++];
  if (next < operands.size()) parts.prototype = &operands[next++];
  return parts;
}

const Function* Module::FindFunction(std::string_view name) const {
  const Function* found = nullptr;
  for (const Function& function : functions) {
    if (function.name != name) continue;
    if (function.is_definition) return &function;
    if (found == nullptr) found = &function;
  }
  return found;
}

const Variable* Module::FindVariable(std::string_view name) const {
  const Variable* found = nullptr;
  for (const Variable& variable : variables) {
    if (variable.name != name) continue;
    if (variable.linkage != Linkage::kExtern) return &variable;
    if (found == nullptr) found = &variable;
  }
  return found;
}

const FileEntry* Module::FindFile(uint32_t index) const {
  for (const FileEntry& file : files) {
    if (file.index == index) return &file;
  }
  return nullptr;
}

}  // namespace kernelsmith::ptx
