#include "compile/elf_file.h"

#include <cstring>

namespace kernelsmith {
namespace {

template <typename T>
bool ReadAt(std::string_view bytes, uint64_t at, T& value) {
  if (at > bytes.size() || bytes.size() - at < sizeof value) return false;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return true;
}

std::string_view Part(std::string_view bytes, uint64_t at, uint64_t size) {
  if (at > bytes.size() || size > bytes.size() - at) return {};
  return bytes.substr(at, size);
}

std::string_view StringAt(std::string_view table, uint64_t at) {
  if (at >= table.size()) return {};
  const std::string_view rest = table.substr(at);
  return rest.substr(0, rest.find('\0'));
}

// All whole entries of a table.
template <typename T>
std::vector<T> EntriesOf(std::string_view table) {
  std::vector<T> entries(table.size() / sizeof(T));
  if (!entries.empty()) std::memcpy(entries.data(), table.data(), entries.size() * sizeof(T));
  return entries;
}

template <typename T>
bool ReadHeaders(std::string_view bytes, uint64_t at, uint64_t count, uint64_t stride,
                 std::vector<T>& headers) {
  headers.resize(count);
  for (uint64_t i = 0; i < count; ++i) {
    // Both factors have 16 bits.
    if (at > bytes.size() || !ReadAt(bytes, at + i * stride, headers[i])) return false;
  }
  return true;
}

}  // namespace

Result<ElfFile> ElfFile::Read(std::string_view bytes) {
  Elf64_Ehdr header;
  if (!ReadAt(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return InvalidInput("what the host compiler made is no ELF file of 64 bits");
  }
  ElfFile file;
  file.bytes_ = bytes;
  if (!ReadHeaders(bytes, header.e_shoff, header.e_shnum, header.e_shentsize, file.sections_) ||
      !ReadHeaders(bytes, header.e_phoff, header.e_phnum, header.e_phentsize, file.segments_)) {
    return InvalidInput("the ELF file that the host compiler made is cut off");
  }
  if (header.e_shstrndx < file.sections_.size()) {
    file.names_ = file.BytesOf(file.sections_[header.e_shstrndx]);
  }
  return file;
}

std::string_view ElfFile::NameOf(const Elf64_Shdr& section) const {
  return StringAt(names_, section.sh_name);
}

std::string_view ElfFile::BytesOf(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS) return {};
  return Part(bytes_, section.sh_offset, section.sh_size);
}

std::string_view ElfFile::BytesOf(const Elf64_Phdr& segment) const {
  return Part(bytes_, segment.p_offset, segment.p_filesz);
}

const Elf64_Shdr* ElfFile::Find(std::string_view name) const {
  for (const Elf64_Shdr& section : sections_) {
    if (NameOf(section) == name) return &section;
  }
  return nullptr;
}

std::vector<ElfSymbol> ElfFile::Symbols(uint32_t table) const {
  std::vector<ElfSymbol> symbols;
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != table || section.sh_link >= sections_.size()) continue;
    const std::string_view names = BytesOf(sections_[section.sh_link]);
    for (const Elf64_Sym& symbol : EntriesOf<Elf64_Sym>(BytesOf(section))) {
      symbols.push_back({.name = StringAt(names, symbol.st_name),
                         .value = symbol.st_value,
                         .size = symbol.st_size,
                         .binding = static_cast<uint8_t>(ELF64_ST_BIND(symbol.st_info)),
                         .type = static_cast<uint8_t>(ELF64_ST_TYPE(symbol.st_info)),
                         .visibility = static_cast<uint8_t>(ELF64_ST_VISIBILITY(symbol.st_other)),
                         .defined = symbol.st_shndx != SHN_UNDEF});
    }
    break;  // an ELF file has one of each
  }
  return symbols;
}

std::vector<ElfRelocation> ElfFile::DynamicRelocations() const {
  std::vector<ElfRelocation> relocations;
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_RELA || (section.sh_flags & SHF_ALLOC) == 0) continue;
    for (const Elf64_Rela& each : EntriesOf<Elf64_Rela>(BytesOf(section))) {
      relocations.push_back({.at = each.r_offset,
                             .type = static_cast<uint32_t>(ELF64_R_TYPE(each.r_info)),
                             .symbol = static_cast<uint32_t>(ELF64_R_SYM(each.r_info))});
    }
  }
  return relocations;
}

std::vector<Elf64_Dyn> ElfFile::Dynamic() const {
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_DYNAMIC) continue;
    std::vector<Elf64_Dyn> entries = EntriesOf<Elf64_Dyn>(BytesOf(section));
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].d_tag != DT_NULL) continue;
      entries.resize(i);
      break;
    }
    return entries;
  }
  return {};
}

std::string_view ElfFile::DynamicString(uint64_t at) const {
  for (const Elf64_Shdr& section : sections_) {
    if (section.sh_type != SHT_DYNAMIC || section.sh_link >= sections_.size()) continue;
    return StringAt(BytesOf(sections_[section.sh_link]), at);
  }
  return {};
}

}  // namespace kernelsmith
