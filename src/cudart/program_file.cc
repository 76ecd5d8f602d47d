#include "cudart/program_file.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "cudart/fat_binary.h"
#include "ptx/ptx.h"

namespace kernelsmith::cudart {
namespace {

// Reads that never leave the file, whatever its headers say.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  std::optional<T> At(uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  // As much of it as there is.
  Bytes Range(uint64_t offset, uint64_t size) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view part = bytes_.substr(offset, size);
    return std::as_bytes(std::span(part.data(), part.size()));
  }

  // The text at `offset`, up to its zero byte.
  std::string_view Text(uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const std::string_view rest = bytes_.substr(offset);
    return rest.substr(0, rest.find('\0'));
  }

 private:
  std::string_view bytes_;
};

// Calls `visit` with each section of an ELF file and its name.
template <typename Visit>
void ForEachSection(const Reader& reader, const Elf64_Ehdr& header, const Visit& visit) {
  const auto at = [&](uint64_t i) {
    return reader.At<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const auto names = at(header.e_shstrndx);
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = at(i);
    if (!section) break;
    visit(*section, names ? reader.Text(names->sh_offset + section->sh_name) : std::string_view());
  }
}

// Whether machine code of a GPU has functions: each has a section of its own.
bool HasFunctions(std::string_view machine_code) {
  const Reader reader(machine_code);
  const auto header = reader.At<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return true;
  bool found = false;
  ForEachSection(reader, *header, [&](const Elf64_Shdr&, std::string_view name) {
    found |= name.starts_with(".text.");
  });
  return found;
}

bool HasKernels(const FatBinaryEntry& entry) {
  if (entry.kind == FatBinaryEntry::Kind::kOther) return true;
  if (entry.kind == FatBinaryEntry::Kind::kSass) {
    // What nvcc writes for files without kernels is so short that it is never compressed.
    return entry.compression != Compression::kNone ||
           HasFunctions(
               {reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size()});
  }
  const Result<std::string> text = EntryText(entry);
  if (!text.ok()) return true;
  const Result<ptx::Module> module = ptx::Parse(*text, "program");
  return !module.ok() || std::any_of(module->functions.begin(), module->functions.end(),
                                     [](const ptx::Function& f) { return f.is_entry; });
}

// Whether one of the fat binaries of a section has a kernel, or something that can't be read.
bool HasKernels(Bytes section) {
  constexpr size_t kPadding = sizeof(uint64_t);  // zeros that align the next one
  for (;;) {
    while (section.size() >= kPadding && section.front() == std::byte{0}) {
      section = section.subspan(kPadding);
    }
    if (section.size() < kPadding) return false;
    const Result<FatBinary> binary = ParseFatBinary(section);
    if (!binary.ok() || binary->bytes == 0) return true;
    for (const FatBinaryEntry& entry : binary->entries) {
      if (HasKernels(entry)) return true;
    }
    section = section.subspan(binary->bytes);
  }
}

void InspectSection(const Reader& reader, const Elf64_Ehdr& header, const Elf64_Shdr& section,
                    std::string_view name, ProgramFile* program) {
  if (name == ".nv_fatbin" || name == ".nvFatBinSegment") program->has_device_code = true;
  if (name == ".nv_fatbin")
    program->has_kernels |= HasKernels(reader.Range(section.sh_offset, section.sh_size));
  if (section.sh_type != SHT_DYNAMIC && section.sh_type != SHT_DYNSYM) return;
  const auto strings =
      reader.At<Elf64_Shdr>(header.e_shoff + uint64_t{section.sh_link} * sizeof(Elf64_Shdr));
  if (!strings) return;
  if (section.sh_type == SHT_DYNAMIC) {
    program->dynamic = true;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= section.sh_size; at += sizeof(Elf64_Dyn)) {
      const auto entry = reader.At<Elf64_Dyn>(section.sh_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_RPATH) program->has_rpath = true;
      if (entry->d_tag == DT_NEEDED) {
        program->needed.emplace_back(reader.Text(strings->sh_offset + entry->d_un.d_val));
      }
    }
    return;
  }
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = reader.At<Elf64_Sym>(section.sh_offset + at);
    if (!symbol) break;
    if (symbol->st_shndx != SHN_UNDEF) continue;
    // Programs without kernels register none, although nvcc puts an empty fat binary into them.
    const std::string_view symbol_name = reader.Text(strings->sh_offset + symbol->st_name);
    program->imports_runtime |=
        symbol_name.starts_with("cuda") || symbol_name.starts_with("__cuda");
  }
}

}  // namespace

Result<ProgramFile> InspectProgram(std::string_view contents, const std::string& path) {
  ProgramFile program;
  if (contents.starts_with("#!")) {
    program.script = true;
    return program;
  }
  const Reader reader(contents);
  const auto header = reader.At<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return InvalidInput(EscapeForTerminal(path) + " is not an executable program");
  }
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64) {
    return Unsupported(EscapeForTerminal(path) + " is not a program for 64-bit x86");
  }
  if (header->e_type != ET_EXEC && header->e_type != ET_DYN) {
    return InvalidInput(EscapeForTerminal(path) + " is an object file, not a program; link it");
  }
  ForEachSection(reader, *header, [&](const Elf64_Shdr& section, std::string_view name) {
    InspectSection(reader, *header, section, name, &program);
  });
  return program;
}

}  // namespace kernelsmith::cudart
