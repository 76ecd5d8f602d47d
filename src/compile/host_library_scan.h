// What a candidate's host library could find out about the program that it runs in, read from the
// library itself. A candidate whose host code knows the judge can be another program for its user;
// so it may use what computes, and nothing that looks around. Names in the source do not count:
// macros, labels of inline assembly and other tricks end as symbols and instructions, and those are
// what is read here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/diagnostic.h"
#include "support/finding_kind.h"
#include "support/result.h"

namespace kernelsmith {

// Which part of the scan says so.
enum class HostWall {
  kImports,       // functions and variables from outside (host_imports.def)
  kWeakSymbols,   // symbols that may be missing
  kDefinitions,   // functions that take the place of others'
  kInstructions,  // system calls, clocks and identity without a function
  kRegistration,  // device code that the compiler did not register
  kLayout,        // code that can be written, libraries that are loaded along
};

struct HostLibraryFinding {
  HostWall wall = HostWall::kImports;
  // kForbidden: no honest code has it, and the candidate is refuted. kUnsupported: honest code may
  // have it, but the judge can't know what it answers at the user's.
  FindingKind kind = FindingKind::kUnsupported;
  std::string message;
  SourceLocation where;  // in the candidate; file empty: not known
  // For those who look for the place: addresses in the library, and a name with its namespaces, of
  // which the source has a part.
  std::vector<uint64_t> sites;
  std::string word;
};

// Everything that `library`, a host.so, has against it, in an order that does not depend on the
// machine. Places are not filled in.
std::vector<HostLibraryFinding> ScanHostLibrary(std::string_view library);

// What is said about one undefined symbol; for tests and documents.
enum class ImportGroup { kAllowed, kTells, kNever, kUnknown };
ImportGroup GroupOfImport(std::string_view name);

// Part of the key of whatever keeps findings: it changes with the table of imports.
std::string HostScanIdentity();

// As JSON, and back. An error: it is none of ours.
std::string WriteHostFindings(const std::vector<HostLibraryFinding>& findings);
Result<std::vector<HostLibraryFinding>> ReadHostFindings(std::string_view text);

}  // namespace kernelsmith
