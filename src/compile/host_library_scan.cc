#include "compile/host_library_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "compile/elf_file.h"
#include "compile/host_code_scan.h"
#include "support/demangle.h"

namespace kernelsmith {
namespace {

// `*` is any number of characters, `?` is one.
bool Fits(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;
  size_t mark = 0;
  while (n < name.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n]) && pattern[p] != '*') {
      ++p;
      ++n;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// A member function without "const", "volatile", "&" and "&&": rows need not say them.
std::string Unqualified(std::string_view name) {
  constexpr std::string_view kMember = "_ZN";
  if (!name.starts_with(kMember)) return std::string(name);
  size_t end = kMember.size();
  while (end < name.size() && std::string_view("rVKRO").find(name[end]) != std::string_view::npos) {
    ++end;
  }
  return std::string(kMember) + std::string(name.substr(end));
}

constexpr ImportGroup allowed = ImportGroup::kAllowed;
constexpr ImportGroup tells = ImportGroup::kTells;
constexpr ImportGroup never = ImportGroup::kNever;

struct ImportRow {
  ImportGroup group;
  std::string_view pattern;
};
#define KS_IMPORT(group, pattern)
#define KS_WEAK_IMPORT(pattern)
#define KS_RUNTIME_FUNCTION(pattern)

#undef KS_IMPORT
#define KS_IMPORT(group, pattern) {group, pattern},
constexpr ImportRow kImports[] = {
#include "compile/host_imports.def"
};
#undef KS_IMPORT
#define KS_IMPORT(group, pattern)

#undef KS_WEAK_IMPORT
#define KS_WEAK_IMPORT(pattern) pattern,
constexpr std::string_view kWeakImports[] = {
#include "compile/host_imports.def"
};
#undef KS_WEAK_IMPORT
#define KS_WEAK_IMPORT(pattern)

#undef KS_RUNTIME_FUNCTION
#define KS_RUNTIME_FUNCTION(pattern) pattern,
constexpr std::string_view kRuntimeFunctions[] = {
#include "compile/host_imports.def"
};

template <typename List>
bool FitsOne(const List& patterns, std::string_view name) {
  const std::string plain = Unqualified(name);
  return std::any_of(std::begin(patterns), std::end(patterns),
                     [&](std::string_view pattern) { return Fits(pattern, plain); });
}

// Whether the libraries have something of exactly this name. Rows with a "*" are wider than that:
// `memory_copy` and `cudaSoftmax` are good names for functions of one's own.
bool IsNameOfALibrary(std::string_view name) {
  if (name.starts_with("_Z")) {
    static constexpr std::string_view kNamespaces[] = {"_ZNSt*",   "_ZSt*",      "_ZN2at*",
                                                       "_ZN3c10*", "_ZN5torch*", "_Znwm*",
                                                       "_Znam*",   "_ZdlPv*",    "_ZdaPv*"};
    return FitsOne(kNamespaces, name);
  }
  return std::any_of(std::begin(kImports), std::end(kImports),
                     [&](const ImportRow& row) { return row.pattern == name; }) ||
         name.starts_with("__cxa_") || name.starts_with("_Unwind_");
}

// What a demangled symbol is called, for the search in the source, without its parameters:
// "std::chrono::_V2::system_clock::now".
std::string WordOf(const std::string& readable) {
  return readable.substr(0, std::min(readable.find_first_of("(<["), readable.size()));
}

class Scan {
 public:
  explicit Scan(const ElfFile& file)
      : file_(file), code_(file), imports_(file.Symbols(SHT_DYNSYM)) {}

  std::vector<HostLibraryFinding> Run() {
    Layout();
    Imports();
    Definitions();
    Instructions();
    Registration();
    return std::move(findings_);
  }

 private:
  void Add(HostWall wall, FindingKind kind, std::string message, std::vector<uint64_t> sites = {},
           std::string word = {}) {
    findings_.push_back({.wall = wall,
                         .kind = kind,
                         .message = std::move(message),
                         .where = {},
                         .sites = std::move(sites),
                         .word = std::move(word)});
  }

  void Imports() {
    std::map<std::string_view, const ElfSymbol*> undefined;  // by name: the same on every machine
    for (const ElfSymbol& symbol : imports_) {
      if (!symbol.defined && !symbol.name.empty()) undefined.emplace(symbol.name, &symbol);
    }
    for (const auto& [name, symbol] : undefined) {
      const std::string readable = Demangle(std::string(name));
      const std::string word = WordOf(readable);
      if (symbol->binding == STB_WEAK && !FitsOne(kWeakImports, name)) {
        Add(HostWall::kWeakSymbols, FindingKind::kForbidden,
            fmt::format("asks whether the program has {}, a weak symbol: that differs between the "
                        "judge and its user",
                        readable),
            code_.UsesOf(name), word);
        continue;
      }
      if (symbol->binding == STB_WEAK && GroupOfImport(name) == ImportGroup::kUnknown) continue;
      if (IsOfNvtx(name)) continue;
      switch (GroupOfImport(name)) {
        case ImportGroup::kAllowed:
          break;
        case ImportGroup::kTells:
          Add(HostWall::kImports, FindingKind::kUnsupported,
              fmt::format("uses {}: the judge can't know what it answers at the user's", readable),
              code_.UsesOf(name), word);
          break;
        case ImportGroup::kNever:
          Add(HostWall::kImports, FindingKind::kForbidden,
              fmt::format("uses {}, by which a program looks at itself, starts others or reaches "
                          "out of its process",
                          readable),
              code_.UsesOf(name), word);
          break;
        case ImportGroup::kUnknown:
          Add(HostWall::kImports, FindingKind::kUnsupported,
              fmt::format(
                  "uses {}, which is not supported: it may use CUDA, PyTorch, and what the C "
                  "and C++ libraries compute",
                  readable),
              code_.UsesOf(name), word);
          break;
      }
    }
  }

  // CUB's headers bring NVTX's, which look for a profiler when they are first called. Host code
  // that does call them meets the sandbox.
  bool IsOfNvtx(std::string_view name) const {
    static constexpr std::string_view kFunctions[] = {"nvtxInitializeInjectionLibrary_v3",
                                                      "nvtxInitOnce_v3"};
    const std::vector<uint64_t> uses = code_.UsesOf(name);
    return !uses.empty() && !code_.IsInData(name) &&
           std::all_of(uses.begin(), uses.end(), [&](uint64_t use) {
             const std::string_view function = code_.FunctionAt(use);
             return std::any_of(std::begin(kFunctions), std::end(kFunctions),
                                [&](std::string_view each) { return function == each; });
           });
  }

  // What is found first depends on how a library is loaded: a function that candidates define
  // under a name of the runtime's is theirs in one program and the runtime's in another.
  void Definitions() {
    std::map<std::string_view, const ElfSymbol*> defined;
    for (const ElfSymbol& symbol : imports_) {
      if (symbol.defined && symbol.binding != STB_LOCAL && symbol.visibility != STV_HIDDEN &&
          symbol.visibility != STV_INTERNAL) {
        defined.emplace(symbol.name, &symbol);
      }
    }
    for (const auto& [name, symbol] : defined) {
      const std::string readable = Demangle(std::string(name));
      if (symbol->type == STT_GNU_IFUNC) {
        Add(HostWall::kDefinitions, FindingKind::kUnsupported,
            fmt::format("chooses the function {} while it is loaded (ifunc)", readable),
            {symbol->value + 1}, WordOf(readable));
      }
      // Inline functions and templates of the headers are weak, their static variables unique.
      const bool of_headers = name.starts_with("_Z") && symbol->binding != STB_GLOBAL;
      const bool cuda = FitsOne(kRuntimeFunctions, name);
      if (of_headers || (!cuda && !IsNameOfALibrary(name))) continue;
      Add(HostWall::kDefinitions, cuda ? FindingKind::kForbidden : FindingKind::kUnsupported,
          fmt::format(
              "defines {}, which the {} has: which of them is called depends on the program",
              readable, cuda ? "CUDA runtime" : "libraries"),
          {symbol->value + 1}, WordOf(readable));
    }
  }

  void Instructions() {
    for (const CodeFinding& found : code_.Instructions()) {
      const bool forbidden = found.exact && found.instruction->system_call;
      Add(HostWall::kInstructions, forbidden ? FindingKind::kForbidden : FindingKind::kUnsupported,
          found.exact
              ? fmt::format("has the instruction {}: it {}", found.instruction->name,
                            found.instruction->does)
              : fmt::format("has the bytes of {} inside of another instruction, where a jump could "
                            "find them",
                            found.instruction->name),
          {found.address + 1});
    }
  }

  // Device code is registered by the constructor that the compiler wrote, once. Whoever calls these
  // functions from elsewhere shows the runtime other code than the judge has.
  void Registration() {
    static constexpr std::string_view kFunctions[] = {
        "__cudaRegisterFatBinary",  "__cudaRegisterFatBinaryEnd", "__cudaRegisterFunction",
        "__cudaRegisterVar",        "__cudaRegisterManagedVar",   "__cudaRegisterHostVar",
        "__cudaRegisterTexture",    "__cudaRegisterSurface",      "__cudaInitModule",
        "__cudaUnregisterFatBinary"};
    static constexpr std::string_view kCallers[] = {
        // clang's
        "__cuda_module_ctor", "__cuda_module_dtor", "__cuda_register_globals",
        // nvcc's, all static
        "_ZL24__sti____cudaRegisterAllv", "_ZL31__nv_cudaEntityRegisterCallbackPPv",
        "_ZL26__cudaUnregisterBinaryUtilv", "_ZL32__nv_init_managed_rt_with_modulePPv",
        "_ZL22____nv_dummy_param_refPv"};
    for (const std::string_view function : kFunctions) {
      const bool in_data = code_.IsInData(function);
      for (const uint64_t site : code_.UsesOf(function)) {
        const std::string_view caller = code_.FunctionAt(site - 1);
        if (std::find(std::begin(kCallers), std::end(kCallers), caller) != std::end(kCallers)) {
          continue;
        }
        Add(HostWall::kRegistration, FindingKind::kForbidden,
            fmt::format("calls {} itself: device code is the compiler's to register", function),
            {site}, std::string(function));
        break;
      }
      if (in_data) {
        Add(HostWall::kRegistration, FindingKind::kForbidden,
            fmt::format("keeps the address of {}: device code is the compiler's to register",
                        function),
            {}, std::string(function));
      }
    }
    // One wrapper of 24 bytes: magic number, version, the image, nothing.
    if (const Elf64_Shdr* wrapper = file_.Find(".nvFatBinSegment");
        wrapper != nullptr && wrapper->sh_size > 24) {
      Add(HostWall::kRegistration, FindingKind::kForbidden,
          "has more than one image of device code: only the compiler's is judged");
    }
  }

  void Layout() {
    for (const Elf64_Phdr& segment : file_.segments()) {
      const bool executable = (segment.p_flags & PF_X) != 0;
      const bool writable = (segment.p_flags & PF_W) != 0;
      if (segment.p_type == PT_LOAD && executable && writable) {
        Add(HostWall::kLayout, FindingKind::kForbidden,
            "has code that can be written while it runs");
      }
      if (segment.p_type == PT_GNU_STACK && executable) {
        Add(HostWall::kLayout, FindingKind::kUnsupported, "asks for a stack that can be executed");
      }
    }
    std::string folders;
    std::vector<std::string> others;
    for (const Elf64_Dyn& entry : file_.Dynamic()) {
      const std::string_view text = file_.DynamicString(entry.d_un.d_val);
      switch (entry.d_tag) {
        case DT_NEEDED:
          if (!IsUsualLibrary(text)) others.emplace_back(text);
          break;
        case DT_RUNPATH:
        case DT_RPATH:
          folders = fmt::format(", looked for in {}", text);
          break;
        case DT_AUXILIARY:
        case DT_FILTER:
        case DT_AUDIT:
        case DT_DEPAUDIT:
        case DT_PREINIT_ARRAY:
          Add(HostWall::kLayout, FindingKind::kForbidden, "changes how libraries are loaded");
          break;
        case DT_TEXTREL:
          Add(HostWall::kLayout, FindingKind::kUnsupported, "has code that the loader writes to");
          break;
        default:
          break;
      }
    }
    // Where libraries are looked for alone is the compilers' affair: some always write it.
    for (const std::string& other : others) {
      Add(HostWall::kLayout, FindingKind::kUnsupported,
          fmt::format("needs the library {}{}", other, folders));
    }
  }

  static bool IsUsualLibrary(std::string_view name) {
    static constexpr std::string_view kUsual[] = {
        "libstdc++.so.*",  "libm.so.*",  "libgcc_s.so.*",        "libc.so.*",
        "libpthread.so.*", "libdl.so.*", "ld-linux-x86-64.so.*", "libc++.so.*",
        "libc++abi.so.*",  "librt.so.*", "libunwind.so.*"};
    return FitsOne(kUsual, name);
  }

  const ElfFile& file_;
  HostCode code_;
  std::vector<ElfSymbol> imports_;
  std::vector<HostLibraryFinding> findings_;
};

constexpr std::array kWalls = {HostWall::kImports,      HostWall::kWeakSymbols,
                               HostWall::kDefinitions,  HostWall::kInstructions,
                               HostWall::kRegistration, HostWall::kLayout};

}  // namespace

ImportGroup GroupOfImport(std::string_view name) {
  const std::string plain = Unqualified(name);
  for (const ImportRow& row : kImports) {
    if (Fits(row.pattern, plain)) return row.group;
  }
  return ImportGroup::kUnknown;
}

std::string HostScanIdentity() {
  std::string identity = "2\n";  // raise it when the scan itself changes
  for (const ImportRow& row : kImports) {
    identity += fmt::format("{} {}\n", static_cast<int>(row.group), row.pattern);
  }
  for (const std::string_view pattern : kWeakImports) identity += fmt::format("w {}\n", pattern);
  for (const std::string_view pattern : kRuntimeFunctions) {
    identity += fmt::format("r {}\n", pattern);
  }
  return identity;
}

std::vector<HostLibraryFinding> ScanHostLibrary(std::string_view library) {
  const Result<ElfFile> file = ElfFile::Read(library);
  if (!file.ok()) {
    return {{.wall = HostWall::kLayout,
             .kind = FindingKind::kUnsupported,
             .message = file.error().message(),
             .where = {},
             .sites = {},
             .word = {}}};
  }
  return Scan(*file).Run();
}

std::string WriteHostFindings(const std::vector<HostLibraryFinding>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const HostLibraryFinding& finding : findings) {
    list.push_back({{"wall", static_cast<int>(finding.wall)},
                    {"refutes", finding.kind == FindingKind::kForbidden},
                    {"message", finding.message},
                    {"file", finding.where.file},
                    {"line", finding.where.line}});
  }
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<std::vector<HostLibraryFinding>> ReadHostFindings(std::string_view text) {
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array()) return InvalidInput("no findings about a host library");
  std::vector<HostLibraryFinding> findings;
  for (const nlohmann::json& each : list) {
    if (!each.is_object()) return InvalidInput("no findings about a host library");
    const int wall = each.value("wall", -1);
    if (wall < 0 || wall >= std::ssize(kWalls)) return InvalidInput("an unknown wall");
    HostLibraryFinding finding;
    finding.wall = kWalls[static_cast<size_t>(wall)];
    finding.kind =
        each.value("refutes", false) ? FindingKind::kForbidden : FindingKind::kUnsupported;
    finding.message = each.value("message", std::string());
    finding.where.file = each.value("file", std::string());
    finding.where.line = each.value("line", 0);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace kernelsmith
