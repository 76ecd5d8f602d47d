#include "compile/host_code_scan.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace kernelsmith {
namespace {

// Found by their first bytes at any offset. Prefixes may stand before them. `last` is the range of
// a third byte (ModRM); {0, 0}: there is none.
struct Pattern {
  uint8_t first = 0;
  uint8_t second = 0;
  uint8_t last[2] = {0, 0};
  uint8_t prefix = 0;  // that must stand before; 0: none
  SpecialInstruction instruction;
};
constexpr Pattern kPatterns[] = {
    {0x0f, 0x05, {0, 0}, 0, {"syscall", "makes a system call", true}},
    {0x0f, 0x34, {0, 0}, 0, {"sysenter", "makes a system call", true}},
    {0xcd, 0x80, {0, 0}, 0, {"int 0x80", "makes a system call", true}},
    {0x0f, 0x31, {0, 0}, 0, {"rdtsc", "reads the processor's clock"}},
    {0x0f, 0x33, {0, 0}, 0, {"rdpmc", "reads the processor's counters"}},
    {0x0f, 0xa2, {0, 0}, 0, {"cpuid", "asks which processor this is"}},
    {0x0f, 0x01, {0xf9, 0xf9}, 0, {"rdtscp", "reads the processor's clock"}},
    {0x0f, 0x01, {0xd0, 0xd0}, 0, {"xgetbv", "asks which processor this is"}},
    {0x0f, 0x01, {0xc1, 0xc1}, 0, {"vmcall", "calls the hypervisor"}},
    {0x0f, 0x01, {0xd9, 0xd9}, 0, {"vmmcall", "calls the hypervisor"}},
    {0x0f, 0xc7, {0xf0, 0xf7}, 0, {"rdrand", "draws a random number"}},
    {0x0f, 0xc7, {0xf8, 0xff}, 0, {"rdseed or rdpid", "draws a random number or names its core"}},
    {0x0f, 0xae, {0xc0, 0xdf}, 0xf3, {"rdfsbase", "reads or moves the thread's own memory"}},
};

bool FitsAt(const Pattern& pattern, std::string_view bytes, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  if (byte(at) != pattern.first || at + 1 >= bytes.size() || byte(at + 1) != pattern.second) {
    return false;
  }
  if (pattern.last[1] != 0 && (at + 2 >= bytes.size() || byte(at + 2) < pattern.last[0] ||
                               byte(at + 2) > pattern.last[1])) {
    return false;
  }
  if (pattern.prefix == 0) return true;
  // A REX prefix may stand between the two.
  return (at >= 1 && byte(at - 1) == pattern.prefix) ||
         (at >= 2 && (byte(at - 1) & 0xf0) == 0x40 && byte(at - 2) == pattern.prefix);
}

int32_t DistanceAt(std::string_view bytes, size_t at) {
  int32_t distance = 0;
  std::memcpy(&distance, bytes.data() + at, sizeof distance);
  return distance;
}

}  // namespace

HostCode::HostCode(const ElfFile& file) {
  for (const Elf64_Phdr& segment : file.segments()) {
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) {
      code_.push_back({segment.p_vaddr, file.BytesOf(segment)});
    }
  }
  for (const ElfSymbol& symbol : file.Symbols(SHT_SYMTAB)) {
    if (symbol.defined && (symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC)) {
      functions_.push_back(symbol);
    }
  }
  std::sort(functions_.begin(), functions_.end(), [](const ElfSymbol& a, const ElfSymbol& b) {
    return a.value != b.value ? a.value < b.value : a.name < b.name;
  });

  const std::vector<ElfSymbol> symbols = file.Symbols(SHT_DYNSYM);
  for (const ElfRelocation& relocation : file.DynamicRelocations()) {
    if (relocation.symbol == 0 || relocation.symbol >= symbols.size()) continue;
    const ElfSymbol& symbol = symbols[relocation.symbol];
    if (symbol.defined) continue;
    if (relocation.type == R_X86_64_JUMP_SLOT || relocation.type == R_X86_64_GLOB_DAT) {
      targets_.emplace(relocation.at, symbol.name);
    } else {
      in_data_.insert(symbol.name);
    }
  }
  FindStubs(file);
  Decode(file);
}

// From each function's beginning to the next one's, as it runs if nothing jumps into the middle of
// an instruction. Compilers put no data between.
void HostCode::Decode(const ElfFile& file) {
  for (const Elf64_Shdr& section : file.sections()) {
    if ((section.sh_flags & SHF_EXECINSTR) == 0) continue;
    const std::string_view bytes = file.BytesOf(section);
    // The stubs themselves are no uses.
    const bool stubs = file.NameOf(section).starts_with(".plt");
    auto function = std::lower_bound(
        functions_.begin(), functions_.end(), section.sh_addr,
        [](const ElfSymbol& symbol, uint64_t address) { return symbol.value < address; });
    for (uint64_t at = 0; at < bytes.size();) {
      const uint64_t address = section.sh_addr + at;
      while (function != functions_.end() && function->value <= address) ++function;
      const std::optional<X86Instruction> found = DecodeX86(bytes.substr(at));
      if (!found) {
        ++at;
        continue;
      }
      Instruction instruction{.address = address, .form = *found};
      const uint64_t end = address + found->length;
      if (found->relative_bytes == 4) {
        instruction.target =
            end + static_cast<uint64_t>(int64_t{DistanceAt(bytes, at + found->relative_at)});
        const auto used = targets_.find(instruction.target);
        if (used != targets_.end() && !stubs) uses_.emplace(used->second, end);
      } else if (found->relative_bytes == 1) {
        instruction.target =
            end +
            static_cast<uint64_t>(int64_t{static_cast<int8_t>(bytes[at + found->relative_at])});
      }
      instructions_.push_back(instruction);
      at += found->length;
      // A function begins with an instruction, whatever was read before it.
      if (function != functions_.end() && function->value < section.sh_addr + at) {
        at = function->value - section.sh_addr;
      }
    }
  }
  std::sort(instructions_.begin(), instructions_.end(),
            [](const Instruction& a, const Instruction& b) { return a.address < b.address; });
}

// Calls go through stubs that jump where a table says: `jmp *distance(%rip)`.
void HostCode::FindStubs(const ElfFile& file) {
  std::map<uint64_t, std::string_view> stubs;
  for (const Elf64_Shdr& section : file.sections()) {
    const std::string_view name = file.NameOf(section);
    if (!name.starts_with(".plt")) continue;
    const std::string_view bytes = file.BytesOf(section);
    // .plt.got has entries of 8 bytes, the others of 16; those with endbr64 begin 4 bytes earlier.
    const uint64_t stride = section.sh_entsize == 8 || name == ".plt.got" ? 8 : 16;
    for (size_t at = 0; at + 6 <= bytes.size(); ++at) {
      if (static_cast<uint8_t>(bytes[at]) != 0xff || static_cast<uint8_t>(bytes[at + 1]) != 0x25) {
        continue;
      }
      const uint64_t end = section.sh_addr + at + 6;
      const auto found =
          targets_.find(end + static_cast<uint64_t>(int64_t{DistanceAt(bytes, at + 2)}));
      if (found == targets_.end()) continue;
      stubs.emplace(section.sh_addr + at / stride * stride, found->second);
    }
  }
  targets_.merge(stubs);
}

std::vector<uint64_t> HostCode::UsesOf(std::string_view symbol) const {
  std::vector<uint64_t> sites;
  const auto [begin, end] = uses_.equal_range(symbol);
  for (auto it = begin; it != end; ++it) sites.push_back(it->second);
  std::sort(sites.begin(), sites.end());
  return sites;
}

const ElfSymbol* HostCode::SymbolAt(uint64_t address) const {
  const auto after = std::upper_bound(
      functions_.begin(), functions_.end(), address,
      [](uint64_t value, const ElfSymbol& symbol) { return value < symbol.value; });
  if (after == functions_.begin()) return nullptr;
  const ElfSymbol& found = *std::prev(after);
  return address - found.value < found.size ? &found : nullptr;
}

std::string_view HostCode::FunctionAt(uint64_t address) const {
  const ElfSymbol* symbol = SymbolAt(address);
  return symbol == nullptr ? std::string_view() : symbol->name;
}

// Code that jumps into its own instructions has two readings.
bool HostCode::JumpsIntoItself(const ElfSymbol& function) const {
  const auto begins_before = [](const Instruction& instruction, uint64_t address) {
    return instruction.address < address;
  };
  const auto at = [&](uint64_t address) {
    return std::lower_bound(instructions_.begin(), instructions_.end(), address, begins_before);
  };
  const uint64_t end = function.value + function.size;
  return std::any_of(at(function.value), at(end), [&](const Instruction& each) {
    if (!each.form.jumps || each.target < function.value || each.target >= end) return false;
    const auto target = at(each.target);
    return target == instructions_.end() || target->address != each.target;
  });
}

HostCode::Place HostCode::PlaceOf(uint64_t address, size_t size) const {
  const auto after = std::upper_bound(
      instructions_.begin(), instructions_.end(), address,
      [](uint64_t value, const Instruction& each) { return value < each.address; });
  const ElfSymbol* function = SymbolAt(address);
  if (after == instructions_.begin() || function == nullptr) return Place::kOther;
  const Instruction& found = *std::prev(after);
  const uint64_t offset = address - found.address;
  // The bytes are an instruction where they begin its opcode.
  if (offset == found.form.opcode_at) return Place::kInstruction;
  const uint64_t begin = found.form.relative_at;
  if (offset >= begin && offset + size <= begin + found.form.relative_bytes &&
      !JumpsIntoItself(*function)) {
    return Place::kDistance;
  }
  return Place::kOther;
}

std::vector<CodeFinding> HostCode::Instructions() const {
  std::vector<CodeFinding> found;
  for (const Part& part : code_) {
    for (size_t at = 0; at < part.bytes.size(); ++at) {
      const auto byte = static_cast<uint8_t>(part.bytes[at]);
      if (byte != 0x0f && byte != 0xcd) continue;
      for (const Pattern& pattern : kPatterns) {
        if (!FitsAt(pattern, part.bytes, at)) continue;
        const Place place =
            PlaceOf(part.address + at, pattern.last[1] != 0 ? size_t{3} : size_t{2});
        if (place == Place::kDistance) continue;
        found.push_back({.instruction = &pattern.instruction,
                         .address = part.address + at,
                         .exact = place == Place::kInstruction});
      }
    }
  }
  return found;
}

}  // namespace kernelsmith
