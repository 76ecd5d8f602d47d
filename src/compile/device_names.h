// Names of kernels and device variables, as nvcc and clang write them.
//
// Kernels with internal linkage have other names in the two: nvcc puts a hash of the file into
// anonymous namespaces (_ZN40_GLOBAL__N__7d914090_12_candidate_cu_run2k1EPf, clang
// _ZN12_GLOBAL__N_12k1EPf), and leaves the mark of static ones out (_Z2k2Pf, clang _ZL2k2Pf; of
// variables even the mangling: sc, clang _ZL2sc). Host code by clang and PTX by nvcc agree only
// once the PTX has the names that the host code registers.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace kernelsmith {

// The same for nvcc's and clang's name of one thing, and for nvcc's names from other files.
std::string CanonicalName(std::string_view name);

struct DeviceNames {
  std::vector<std::string> kernels;
  std::vector<std::string> variables;  // variables of the module in global and constant memory
  bool struct_parameters = false;      // some kernel takes a struct with room for padding by value
};
Result<DeviceNames> DeviceNamesOf(const std::string& ptx);

// `text` with whole identifiers replaced.
std::string RenameIdentifiers(std::string_view text,
                              const std::map<std::string, std::string, std::less<>>& names);

// The literal strings of an ELF object file: the names that its host code registers are among them.
Result<std::set<std::string>> LiteralStrings(std::string_view object);

// Whether an ELF object file has a section of that name.
bool HasSection(std::string_view object, std::string_view name);

// `ptx` by nvcc with the names by which `literals` of an object by clang register its kernels and
// variables. Error: some have no counterpart (a mangling that differs in another way, such as the
// type of an extended lambda), so nvcc must compile the host code too.
Result<std::string> NamesAsRegistered(const std::string& ptx,
                                      const std::set<std::string>& literals);

// `ptx` with the names of the same things in `reference`, another PTX of the same source.
Result<std::string> NamesAsIn(const std::string& ptx, const std::string& reference);

}  // namespace kernelsmith
