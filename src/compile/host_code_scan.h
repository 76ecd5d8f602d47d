// The machine code of a host library: who calls what, and instructions that ask the processor or
// the system without a function. Private to src/compile.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compile/elf_file.h"
#include "compile/x86_instruction.h"

namespace kernelsmith {

// An instruction that host code of kernels does not have.
struct SpecialInstruction {
  std::string_view name;
  std::string_view does;     // "makes a system call"
  bool system_call = false;  // nothing but a tell or an attack; the others may be honest
};

struct CodeFinding {
  const SpecialInstruction* instruction = nullptr;
  uint64_t address = 0;
  // It stands where instructions begin. Else its bytes are a part of others, and only a jump into
  // the middle of one would run it.
  bool exact = false;
};

class HostCode {
 public:
  // `file` must outlive it.
  explicit HostCode(const ElfFile& file);

  // Behind the instructions that call an undefined symbol or load its address.
  std::vector<uint64_t> UsesOf(std::string_view symbol) const;
  // Whether the loader writes its address to data.
  bool IsInData(std::string_view symbol) const { return in_data_.contains(symbol); }
  // The function that an address lies in; empty: none.
  std::string_view FunctionAt(uint64_t address) const;

  // Those of kPatterns. The same bytes can be an instruction, or by chance a part of the distance
  // of a jump or of an address: 4 of 272 honest libraries have them there. Those are left out. The
  // end of that: a distance is as long as its author makes it, and a computed jump reaches it; it
  // reaches the system calls of the C library as well, which no look at this library can prevent.
  std::vector<CodeFinding> Instructions() const;

 private:
  struct Part {
    uint64_t address = 0;
    std::string_view bytes;
  };
  struct Instruction {
    uint64_t address = 0;
    X86Instruction form;
    uint64_t target = 0;  // where its distance leads, if it has one of 4 bytes, or jumps
  };
  enum class Place { kInstruction, kDistance, kOther };

  void FindStubs(const ElfFile& file);
  void Decode(const ElfFile& file);
  const ElfSymbol* SymbolAt(uint64_t address) const;
  Place PlaceOf(uint64_t address, size_t size) const;
  bool JumpsIntoItself(const ElfSymbol& function) const;

  std::vector<Part> code_;                        // executable segments
  std::vector<ElfSymbol> functions_;              // in the order of their addresses
  std::vector<Instruction> instructions_;         // the same
  std::map<uint64_t, std::string_view> targets_;  // entries of tables of addresses, and stubs
  std::multimap<std::string_view, uint64_t> uses_;
  std::set<std::string_view> in_data_;
};

}  // namespace kernelsmith
