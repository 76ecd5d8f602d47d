// An ELF file of x86-64 as tables: what a host compiler or linker made of a candidate. Candidates
// decide much of what is in it, so every offset is checked.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kernelsmith {

struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0;
  uint64_t size = 0;
  uint8_t binding = 0;     // STB_*
  uint8_t type = 0;        // STT_*
  uint8_t visibility = 0;  // STV_*
  bool defined = false;
};

struct ElfRelocation {
  uint64_t at = 0;  // the address that the loader writes to
  uint32_t type = 0;
  uint32_t symbol = 0;  // in the table of dynamic symbols; 0: none
};

// Refers to the bytes that it was read from.
class ElfFile {
 public:
  static Result<ElfFile> Read(std::string_view bytes);

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }
  std::string_view NameOf(const Elf64_Shdr& section) const;
  // Empty if it is not in the file.
  std::string_view BytesOf(const Elf64_Shdr& section) const;
  std::string_view BytesOf(const Elf64_Phdr& segment) const;
  const Elf64_Shdr* Find(std::string_view name) const;

  // `table` is SHT_DYNSYM or SHT_SYMTAB.
  std::vector<ElfSymbol> Symbols(uint32_t table) const;
  // What the loader does before the library runs.
  std::vector<ElfRelocation> DynamicRelocations() const;
  // Tags and values of the dynamic section.
  std::vector<Elf64_Dyn> Dynamic() const;
  // A string of the dynamic section's table.
  std::string_view DynamicString(uint64_t at) const;

 private:
  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::vector<Elf64_Phdr> segments_;
  std::string_view names_;
};

}  // namespace kernelsmith
