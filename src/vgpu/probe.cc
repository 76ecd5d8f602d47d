#include "vgpu/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "ptx/lexer.h"
#include "ptx/mnemonic.h"
#include "ptx/ptx.h"
#include "ptx/reporter.h"
#include "ptx/vocabulary.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::vgpu {
namespace {

using ptx::InstructionEntry;
using ptx::InstructionForm;
using ptx::OperandForm;
using ptx::OperandRole;
using ptx::Type;

// Vectors of registers begin with lengths that no instruction has; each another, so that the length
// that the validator refuses tells which it is.
constexpr int kUnknownLength = 41;

std::string RegisterOf(int bits, int number) {
  if (bits == 1) return fmt::format("%p{}", number % 8);
  if (bits <= 16) return fmt::format("%h{}", number % 8);
  if (bits <= 32) return fmt::format("%r{}", number);
  if (bits <= 64) return fmt::format("%d{}", number);
  return fmt::format("%q{}", number % 8);
}

int RegisterBits(Type type) {
  if (type == Type::kPred) return 1;
  if (type == Type::kNone) return 32;
  return std::max(ptx::BitsOf(type), 2);
}

std::string Vector(int bits, int first, int length) {
  std::string text = "{";
  for (int i = 0; i < length; ++i) text += (i > 0 ? ", " : "") + RegisterOf(bits, first + i);
  return text + "}";
}

// What the choices left open by a form are tried with.
struct Guess {
  int any_bits = 32;      // the width of operands of any type
  bool scale = false;     // elements of a vector are a part of the type: mov.b64 d, {a, b}
  std::string immediate;  // for all of them
  bool wide_address = true;
  std::array<int, 8> lengths{};
};

// Operands for forms that the table leaves open ("..."), by the beginning of the mnemonic.
struct OpenOperands {
  std::string_view name;
  std::string_view operands;
};
constexpr OpenOperands kOpen[] = {
    {"call", "f"},
    {"mma.sync", "%r0, %r1, %r2, %r3"},  // .block_scale: refused whatever the operands
    {"cp.async.bulk.shared::cluster.global", "[%r0], [%d1], %r2, [%r3]"},
    {"cp.async.bulk.shared::cta.global", "[%r0], [%d1], %r2, [%r3]"},
    {"cp.async.bulk.shared::cluster.shared::cta", "[%r0], [%r1], %r2, [%r3]"},
    {"cp.async.bulk.global.shared::cta", "[%d0], [%r1], %r2"},
    {"cp.reduce.async.bulk.global", "[%d0], [%r1], %r2"},
    {"cp.reduce.async.bulk.shared", "[%r0], [%r1], %r2, [%r3]"},
    {"cp.async.bulk.prefetch.L2", "[%d0], %r2"},
    {"wgmma.mma_async", ""},  // see WgmmaOperands
};

bool NeedsLength(const OperandForm& operand) { return operand.role == OperandRole::kVector; }

}  // namespace

Result<std::unique_ptr<InstructionProbe>> InstructionProbe::Create() {
  std::unique_ptr<InstructionProbe> probe(new InstructionProbe);
  KS_TRY(probe->gpu_, VirtualGpu::Create({}));
  return probe;
}

InstructionProbe::~InstructionProbe() = default;

Status InstructionProbe::TryText(const std::string& instruction, ptx::InstructionRefusal* refusal) {
  // The newest target with everything that only one generation has.
  const bool blackwell = instruction.starts_with("tcgen05") || instruction.starts_with("redux.f") ||
                         instruction.find("kind::") != std::string::npos;
  for (const char* target : {"sm_90a", "sm_100a", "sm_120a"}) {
    if (blackwell && std::string_view(target) == "sm_90a") continue;
    const std::string text = fmt::format(
        ".version 9.0\n.target {}\n.address_size 64\n"
        ".global .align 128 .b8 g[256];\n"
        ".func f() {{ ret; }}\n"
        ".visible .entry k()\n{{\n.reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<320>;\n"
        ".reg .b64 %d<320>;\n.reg .b128 %q<8>;\n.shared .align 128 .b8 s[256];\n"
        "{}\n{}{};\nL0: ret;\n}}\n",
        target, instruction.find("tlist") != std::string::npos ? "tlist: .branchtargets L0;" : "",
        "", instruction);
    *refusal = {};
    auto parsed = ptx::Parse(text, "probe.ptx", {.refusal = refusal});
    if (!parsed.ok()) {
      if (refusal->needs_newer_target && std::string_view(target) != "sm_120a") continue;
      return parsed.error();
    }
    KS_TRY(const auto module,
           LoadedModule::Load({std::make_shared<const ptx::Module>(*std::move(parsed))},
                              gpu_->memory(), "probe"));
    auto kernel = module->Prepare("k");
    if (!kernel.ok()) return kernel.error();
    return {};
  }
  return {};
}

namespace {

// d, a, b descriptors and the constants that each type wants.
std::vector<std::string> WgmmaOperands(const std::string& mnemonic,
                                       const std::vector<Type>& types) {
  const size_t at = mnemonic.find(".m64n");
  const int n = at == std::string::npos ? 8 : std::atoi(mnemonic.c_str() + at + 5);
  const bool half = !types.empty() && types[0] == Type::kF16;
  const std::string d = Vector(32, 0, half ? n / 4 : n / 2);
  std::vector<std::string> tries;
  for (const char* scales : {", 1, 1, 0, 0", ", 1, 1", ""}) {
    tries.push_back(fmt::format("{}, %d0, %d1, %p0{}", d, scales));
    tries.push_back(fmt::format("{}, %d0, %d1, %r0, 0, %p0{}", d, scales));  // .sp
  }
  return tries;
}

std::string OperandText(const OperandForm& form, const std::vector<Type>& slot_types,
                        int vector_width, int number, int vector_index, const Guess& guess) {
  Type type = form.type;
  if (type == Type::kNone && form.type_slot >= 0) {
    type = slot_types[static_cast<size_t>(form.type_slot)];
  }
  int bits = form.any_type ? guess.any_bits : RegisterBits(type);
  if (form.wide) bits *= 2;
  std::string text;
  switch (form.role) {
    case OperandRole::kSource:
    case OperandRole::kRegister:
      text = form.by_vector_width && vector_width > 1 ? Vector(bits, number * 8, vector_width)
                                                      : RegisterOf(bits, number);
      break;
    case OperandRole::kPredicate:
      text = RegisterOf(1, number);
      break;
    case OperandRole::kConstant:
      text = guess.immediate;
      break;
    case OperandRole::kAddress:
      text = guess.wide_address ? fmt::format("[%d{}]", number) : fmt::format("[%r{}]", number);
      break;
    case OperandRole::kVector: {
      const int length =
          vector_width > 1 ? vector_width : guess.lengths[static_cast<size_t>(vector_index)];
      text = Vector(guess.scale ? bits / length : bits, number * 48, length);
      break;
    }
    case OperandRole::kLabel:
      return "L0";
    case OperandRole::kTargetList:
      return "tlist";
    case OperandRole::kSymbol:
      return "g";
  }
  if (form.has_second && !form.second_optional) text += "|" + RegisterOf(1, number + 1);
  return text;
}

std::vector<ptx::Lexer::Word> WordsOf(const std::string& mnemonic) {
  std::vector<ptx::Lexer::Word> words;
  std::string_view rest = mnemonic;
  while (!rest.empty()) {
    const size_t dot = rest.find('.');
    words.push_back({.text = rest.substr(0, dot), .where = {}});
    rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  }
  return words;
}

}  // namespace

ProbeResult InstructionProbe::TryWith(const std::string& mnemonic, const InstructionEntry& entry,
                                      const InstructionForm& form,
                                      const std::vector<Type>& slot_types, int vector_width) {
  if (!entry.supported) return {.why = "the virtual GPU does not have it"};
  std::string why;
  bool refused = false;  // the engine refused it, not the check of operands
  ptx::InstructionRefusal refusal;
  const auto attempt = [&](const std::string& operands) {
    const Status status =
        TryText(operands.empty() ? mnemonic : mnemonic + " " + operands, &refusal);
    if (status.ok()) return true;
    const bool unsupported = status.error().kind() == ErrorKind::kUnsupported;
    if (why.empty() || (unsupported && !refused)) why = status.error().message();
    refused |= unsupported;
    return false;
  };
  if (form.any_operands) {
    if (mnemonic.starts_with("wgmma.mma_async")) {
      for (const std::string& operands : WgmmaOperands(mnemonic, slot_types)) {
        if (attempt(operands)) return {.interpreter = true};
      }
      return {.invalid = !refused, .why = why};
    }
    std::string operands = "...";
    if (mnemonic.find(".bulk.tensor") != std::string::npos ||
        mnemonic.find(".prefetch.tensor") != std::string::npos) {
      // .2d: [map, {x, y}]
      const size_t dim = mnemonic.find("d.");
      const int rank = std::clamp(dim == std::string::npos ? 1 : mnemonic[dim - 1] - '0', 1, 5);
      const std::string map = fmt::format("[%d1, {}]", Vector(32, 4, rank));
      if (mnemonic.find("prefetch") != std::string::npos) {
        operands = map;
      } else if (mnemonic.find("global.shared") != std::string::npos) {
        operands = map + ", [%r0]";
      } else {
        operands = "[%r0], " + map + ", [%r3]";
      }
    }
    if (entry.name == "tex" || entry.name == "suld" || entry.name == "sust") {
      const std::string place = fmt::format("[%d0, {}]", Vector(32, 8, 4));
      const bool bytes =
          mnemonic.find(".b8") != std::string::npos || mnemonic.find(".b16") != std::string::npos;
      const bool wide = mnemonic.find(".b64") != std::string::npos;
      const std::string value = Vector(bytes ? 16 : wide ? 64 : 32, 0, vector_width);
      operands = entry.name == "sust" ? place + ", " + value : value + ", " + place;
      if (mnemonic.starts_with("tex.level")) operands += ", %r9";
    }
    for (const OpenOperands& open : kOpen) {
      if (mnemonic.starts_with(open.name)) operands = open.operands;
    }
    if (operands == "...") return {.invalid = true, .why = "its operands are not checked"};
    if (mnemonic.find("multicast::cluster") != std::string::npos) operands += ", %h0";
    if (mnemonic.find("L2::cache_hint") != std::string::npos) operands += ", %d9";
    if (attempt(operands)) return {.interpreter = true};
    return {.invalid = !refused, .why = why};
  }
  for (const int any_bits : {32, 64, 16}) {
    const bool any = std::any_of(form.operands.begin(), form.operands.end(),
                                 [](const OperandForm& o) { return o.any_type; });
    if (!any && any_bits != 32) break;
    for (const bool wide_address : {true, false}) {
      for (const char* immediate : {"0", "4", "16", "24", "1"}) {
        const bool constants =
            std::any_of(form.operands.begin(), form.operands.end(),
                        [](const OperandForm& o) { return o.role == OperandRole::kConstant; });
        if (!constants && immediate != std::string_view("0")) break;
        Guess guess{.any_bits = any_bits, .immediate = immediate, .wide_address = wide_address};
        guess.scale = entry.name == "mov" && any;
        if (guess.scale) {
          for (const Type t : slot_types) {
            if (t != Type::kNone) guess.any_bits = RegisterBits(t);
          }
        }
        for (size_t i = 0; i < guess.lengths.size(); ++i) {
          guess.lengths[i] = guess.scale ? 2 : kUnknownLength + static_cast<int>(i);
        }
        // Each round can tell the length of one vector.
        for (int round = 0; round < 6; ++round) {
          std::string operands;
          int number = 0;
          int vector_index = 0;
          for (const OperandForm& operand : form.operands) {
            if (operand.optional) continue;
            if (!operands.empty()) operands += ", ";
            operands +=
                OperandText(operand, slot_types, vector_width, number++, vector_index, guess);
            if (NeedsLength(operand)) ++vector_index;
          }
          const Status status =
              TryText(operands.empty() ? mnemonic : mnemonic + " " + operands, &refusal);
          if (status.ok()) return {.interpreter = true};
          if (refusal.found_registers >= kUnknownLength) {
            guess.lengths[static_cast<size_t>(refusal.found_registers - kUnknownLength)] =
                refusal.expected_registers;
            continue;
          }
          const bool unsupported = status.error().kind() == ErrorKind::kUnsupported;
          if (why.empty() || (unsupported && !refused)) why = status.error().message();
          refused |= unsupported;
          break;
        }
      }
      if (std::none_of(form.operands.begin(), form.operands.end(),
                       [](const OperandForm& o) { return o.role == OperandRole::kAddress; })) {
        break;
      }
    }
  }
  return {.invalid = !refused, .why = why};
}

ProbeResult InstructionProbe::Try(const std::string& mnemonic) {
  ptx::Reporter reporter(mnemonic, "mnemonic", 10);
  const auto decoded = ptx::DecodeMnemonic(WordsOf(mnemonic), &reporter);
  if (decoded == nullptr) {
    return {.invalid = true,
            .why = reporter.failed() ? reporter.TakeError().message() : "not in the table"};
  }
  const InstructionEntry& entry = ptx::EntryOf(decoded->opcode);
  ProbeResult last{.invalid = true, .why = "no form of the table"};
  for (const InstructionForm& form : ptx::FormsOf(entry.opcode)) {
    std::vector<int> slots;
    if (!ptx::FillSlots(form, *decoded, &slots)) continue;
    std::vector<Type> types(form.slots.size(), Type::kNone);
    for (size_t i = 0; i < types.size(); ++i) {
      if (slots[i] >= 0) {
        types[i] = ptx::TypeOf(decoded->modifiers[static_cast<size_t>(slots[i])]);
      }
    }
    last = TryWith(mnemonic, entry, form, types, decoded->vector_width);
    if (last.interpreter) return last;
  }
  return last;
}

FormState InstructionProbe::Try(const InstructionEntry& entry, const InstructionForm& form) {
  // All choices of the places that hold types, and then one change at a time for the others.
  const auto choices = [&](const ptx::ModifierSlot& slot) {
    std::vector<std::string> words;
    for (size_t i = 0; i < ptx::kModifierCount; ++i) {
      const auto modifier = static_cast<ptx::Modifier>(i);
      if (slot.accepts[i] && modifier != ptx::Modifier::kShape) {
        words.emplace_back(ptx::NameOf(modifier).substr(1));
      }
    }
    for (const ptx::MatrixShape& shape : slot.shapes) {
      words.push_back(fmt::format("m{}n{}k{}", shape.m, shape.n == 0 ? 64 : shape.n, shape.k));
    }
    return words;
  };
  std::set<std::string> mnemonics;
  std::vector<std::vector<std::string>> words;
  for (const ptx::ModifierSlot& slot : form.slots) words.push_back(choices(slot));
  const auto write = [&](const std::vector<int>& chosen) {
    std::string text(entry.name);
    for (size_t i = 0; i < chosen.size(); ++i) {
      if (chosen[i] >= 0) text += "." + words[i][static_cast<size_t>(chosen[i])];
    }
    mnemonics.insert(text);
  };
  std::vector<int> base;
  for (const ptx::ModifierSlot& slot : form.slots) base.push_back(slot.optional ? -1 : 0);
  write(base);
  std::vector<size_t> typed;
  for (size_t i = 0; i < form.slots.size(); ++i) {
    for (size_t k = 0; k < words[i].size(); ++k) {
      std::vector<int> other = base;
      other[i] = static_cast<int>(k);
      write(other);
    }
    if (form.slots[i].is_type && words[i].size() > 1) typed.push_back(i);
  }
  if (typed.size() == 2) {
    for (size_t j = 0; j < words[typed[0]].size(); ++j) {
      for (size_t k = 0; k < words[typed[1]].size(); ++k) {
        std::vector<int> other = base;
        other[typed[0]] = static_cast<int>(j);
        other[typed[1]] = static_cast<int>(k);
        write(other);
      }
    }
  }
  FormState state;
  for (const std::string& mnemonic : mnemonics) {
    const ProbeResult result = Try(mnemonic);
    if (result.invalid) {
      if (state.why.empty()) state.why = result.why;
      continue;
    }
    ++state.tried;
    if (result.interpreter) {
      ++state.work;
    } else if (state.first_refused.empty()) {  // this reason, not that of an invalid one
      state.first_refused = mnemonic;
      state.why = result.why;
    }
  }
  return state;
}

}  // namespace kernelsmith::vgpu
