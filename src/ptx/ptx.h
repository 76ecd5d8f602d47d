// PTX text to a syntax tree and back: what every reader of PTX in this project goes through.
//
//   KS_TRY(ptx::Module module, ptx::Parse(text, "kernel.ptx"));
//
// Parse() does the whole of it: syntax, names resolved to declarations, and every instruction
// checked against the table of the ISA (instructions.def). What comes back can be relied on: each
// operand has the form and the type its instruction asks for. Text may be hostile; the answer is
// then an error, in time and memory in proportion to the text.
#pragma once

#include <string>
#include <string_view>

#include "ptx/syntax.h"
#include "support/result.h"

namespace kernelsmith::ptx {

// Why the first instruction that is refused does not fit, as numbers: for those who try out
// variants of it (vgpu/probe.h).
struct InstructionRefusal {
  bool needs_newer_target = false;
  // Registers of a matrix fragment; 0: their number is not what is wrong.
  int expected_registers = 0;
  int found_registers = 0;
};

struct ParseOptions {
  // Further errors in the same text are not reported.
  int max_errors = 20;
  InstructionRefusal* refusal = nullptr;  // filled in if an instruction is refused
};

// The module, or up to max_errors diagnostics with file, line and column. The error is of kind
// kUnsupported if all that is wrong are instructions, modifiers or directives that the table lacks
// (newer than the ISA we know), kInvalidInput otherwise.
Result<Module> Parse(std::string_view text, std::string file_name,
                     const ParseOptions& options = {});

// The module as PTX text. Parse(Print(m)) equals m apart from positions and comments.
std::string Print(const Module& module);
// One instruction with its guard and ";", for reports: "@%p1 ld.global.f32 %f1, [%rd2+4];".
std::string Print(const Instruction& instruction);
std::string Print(const Operand& operand);

}  // namespace kernelsmith::ptx
