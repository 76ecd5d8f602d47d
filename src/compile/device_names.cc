#include "compile/device_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "compile/elf_file.h"
#include "ptx/ptx.h"
#include "support/demangle.h"

namespace kernelsmith {
namespace {

constexpr std::string_view kAnonymous = "_GLOBAL__N_";
constexpr std::string_view kInternal = "_INTERNAL_";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

// The number at `at` of `text` and its digits; 0 digits: none.
struct Number {
  size_t value = 0;
  size_t digits = 0;
};
Number NumberAt(std::string_view text, size_t at) {
  Number number;
  const char* begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number.value);
  if (error == std::errc()) number.digits = static_cast<size_t>(end - begin);
  return number;
}

}  // namespace

std::string CanonicalName(std::string_view name) {
  if (!name.starts_with("_Z")) return std::string(name);
  std::string result;
  for (size_t at = 0; at < name.size();) {
    // A source name is its length and its characters; others' digits stand elsewhere.
    const bool begins = IsDigit(name[at]) && (at == 0 || !IsDigit(name[at - 1]));
    const Number length = begins ? NumberAt(name, at) : Number{};
    const size_t first = at + length.digits;
    if (length.digits > 0 && length.value > 0 && length.value <= name.size() - first) {
      const std::string_view part = name.substr(first, length.value);
      if (part.starts_with(kAnonymous)) {
        result += "12_GLOBAL__N_1";
        at = first + length.value;
        continue;
      }
      if (part.starts_with(kInternal)) {
        at = first + length.value;
        continue;
      }
    }
    result += name[at++];
  }
  // "_ZL" is internal linkage outside of namespaces.
  if (result.starts_with("_ZL") && result.size() > 3 && IsDigit(result[3])) result.erase(2, 1);
  // A name with nothing behind it, _Z2sc, is a variable's.
  const Number length = NumberAt(result, 2);
  if (length.digits > 0 && 2 + length.digits + length.value == result.size()) {
    return result.substr(2 + length.digits);
  }
  return result;
}

Result<DeviceNames> DeviceNamesOf(const std::string& ptx) {
  KS_TRY(const ptx::Module module, ptx::Parse(ptx, "candidate.ptx"));
  DeviceNames names;
  for (const ptx::Function& function : module.functions) {
    if (!function.is_entry || !function.is_definition) continue;
    names.kernels.push_back(function.name);
    for (const ptx::Variable& parameter : function.parameters) {
      names.struct_parameters |= parameter.type == ptx::Type::kB8 &&
                                 parameter.Size() > static_cast<uint64_t>(parameter.Alignment());
    }
  }
  for (const ptx::Variable& variable : module.variables) {
    if (variable.space == ptx::Space::kGlobal || variable.space == ptx::Space::kConst) {
      names.variables.push_back(variable.name);
    }
  }
  return names;
}

std::string RenameIdentifiers(std::string_view text,
                              const std::map<std::string, std::string, std::less<>>& names) {
  if (names.empty()) return std::string(text);
  std::string result;
  result.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (!IsWord(text[at])) {
      result += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && IsWord(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const auto it = names.find(word);
    result += it == names.end() ? word : std::string_view(it->second);
    at = end;
  }
  return result;
}

Result<std::set<std::string>> LiteralStrings(std::string_view object) {
  KS_TRY(const ElfFile file, ElfFile::Read(object));
  std::set<std::string> strings;
  for (const Elf64_Shdr& section : file.sections()) {
    if (section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_STRINGS) == 0 ||
        (section.sh_flags & SHF_ALLOC) == 0) {
      continue;
    }
    std::string_view rest = file.BytesOf(section);
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\0'), rest.size());
      strings.emplace(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return strings;
}

bool HasSection(std::string_view object, std::string_view name) {
  const Result<ElfFile> file = ElfFile::Read(object);
  return file.ok() && file->Find(name) != nullptr;
}

Result<std::string> NamesAsRegistered(const std::string& ptx,
                                      const std::set<std::string>& literals) {
  KS_TRY(const DeviceNames names, DeviceNamesOf(ptx));
  // Without optimisation clang leaves a struct's padding as the stack had it: other bytes in each
  // trace, which would look computed from data. gcc clears the struct first.
  if (names.struct_parameters) return Unsupported("a kernel takes a struct by value");
  // The linker merges literals that end alike, the compiler does not: every name is there whole.
  std::map<std::string, std::string> registered;
  std::set<std::string> internal;
  for (const std::string& literal : literals) {
    const std::string canonical = CanonicalName(literal);
    registered.try_emplace(canonical, literal);
    if (literal.starts_with("_ZL") ||
        (literal.starts_with("_ZN") && literal.find("_GLOBAL__N_1") != std::string::npos)) {
      internal.insert(canonical);
    }
  }
  std::map<std::string, std::string, std::less<>> renamed;
  const auto match = [&](const std::string& name) {
    const std::string canonical = CanonicalName(name);
    internal.erase(canonical);
    const auto it = registered.find(canonical);
    if (it == registered.end()) return false;
    if (it->second != name) renamed.emplace(name, it->second);
    return true;
  };
  for (const std::string& kernel : names.kernels) {
    if (!match(kernel)) {
      return Unsupported(
          fmt::format("the host code does not register kernel {}", KernelName(kernel)));
    }
  }
  // A variable that only kernels use need not be registered.
  for (const std::string& variable : names.variables) static_cast<void>(match(variable));
  if (!internal.empty()) {
    return Unsupported(
        fmt::format("the host code registers {}, which the PTX lacks", *internal.begin()));
  }
  return RenameIdentifiers(ptx, renamed);
}

Result<std::string> NamesAsIn(const std::string& ptx, const std::string& reference) {
  KS_TRY(const DeviceNames wanted, DeviceNamesOf(reference));
  KS_TRY(const DeviceNames names, DeviceNamesOf(ptx));
  std::map<std::string, std::string> by_canonical;
  for (const auto* list : {&wanted.kernels, &wanted.variables}) {
    for (const std::string& name : *list) by_canonical.try_emplace(CanonicalName(name), name);
  }
  std::map<std::string, std::string, std::less<>> renamed;
  for (const auto* list : {&names.kernels, &names.variables}) {
    for (const std::string& name : *list) {
      const auto it = by_canonical.find(CanonicalName(name));
      if (it != by_canonical.end() && it->second != name) renamed.emplace(name, it->second);
    }
  }
  return RenameIdentifiers(ptx, renamed);
}

}  // namespace kernelsmith
