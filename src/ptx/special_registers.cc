#include "ptx/special_registers.h"

#include <unordered_map>

namespace kernelsmith::ptx {
namespace {

constexpr SpecialRegister kSpecialRegisters[] = {
#define PTX_SPECIAL_REGISTER(name, type, components) {name, Type::k##type, components},
#include "ptx/special_registers.def"
};

}  // namespace

const SpecialRegister* FindSpecialRegister(std::string_view name) {
  // The common registers of compilers, %r12, %rd3, %f4, %p5, are out before the table is asked.
  if (name.size() < 4 || name[0] != '%' || (name[2] >= '0' && name[2] <= '9') ||
      (name[3] >= '0' && name[3] <= '9' && name[1] != 'p')) {
    return nullptr;
  }
  static const auto* const kByName = [] {
    auto* map = new std::unordered_map<std::string_view, const SpecialRegister*>;
    for (const SpecialRegister& entry : kSpecialRegisters) map->emplace(entry.name, &entry);
    return map;
  }();
  const auto found = kByName->find(name);
  return found == kByName->end() ? nullptr : found->second;
}

}  // namespace kernelsmith::ptx
