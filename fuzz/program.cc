#include "program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace kernelsmith::fuzz {

namespace {

constexpr std::string_view kSlot = "<slot ";

// Where the parts of the output are.
struct Layout {
  std::map<int, uint64_t> slots;  // the slots by their number in the lines
  uint64_t private_base = 0;
  uint64_t slot_base = 0;
  uint64_t bytes = 0;
};

Layout LayoutOf(const Program& program) {
  Layout layout;
  bool atomic = false;
  bool own = false;
  for (const Line& line : program.lines) {
    atomic |= line.text.find("<atomic>") != std::string::npos;
    own |= line.text.find("<private>") != std::string::npos;
    const size_t at = line.text.find(kSlot);
    if (at != std::string::npos) layout.slots[std::stoi(line.text.substr(at + kSlot.size()))] = 0;
  }
  const uint64_t threads = program.grid.Count() * program.block.Count();
  layout.private_base = atomic ? kAtomicBytes : 0;
  layout.slot_base = layout.private_base + (own ? kPrivateBytes * threads : 0);
  uint64_t next = 0;
  for (auto& [number, place] : layout.slots) {
    place = next;
    next += 8 * threads;
  }
  layout.bytes = std::max<uint64_t>(layout.slot_base + next, 4);
  return layout;
}

void Replace(std::string& text, std::string_view what, const std::string& by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

}  // namespace

int Program::units() const {
  int count = 0;
  for (const Line& line : lines) count = std::max(count, line.unit + 1);
  return count;
}

uint64_t Program::output_bytes() const { return LayoutOf(*this).bytes; }

std::string Program::Text() const {
  const Layout layout = LayoutOf(*this);
  std::string body;
  for (const Line& line : lines) {
    std::string text = line.text;
    Replace(text, "<atomic>", "0");
    Replace(text, "<private>", std::to_string(layout.private_base));
    Replace(text, "<slots>", std::to_string(layout.slot_base));
    const size_t at = text.find(kSlot);
    if (at != std::string::npos) {
      const size_t end = text.find('>', at);
      const int number = std::stoi(text.substr(at + kSlot.size()));
      text.replace(at, end + 1 - at, std::to_string(layout.slots.at(number)));
    }
    body += (text.ends_with(':') ? "" : "  ") + text + "\n";
  }
  std::string head = ".version 8.8\n.target sm_90a\n.address_size 64\n\n";
  if (body.find(" in;") != std::string::npos || body.find("[in") != std::string::npos) {
    size_t last = input.size();
    while (last > 1 && input[last - 1] == 0) --last;
    head += fmt::format(".global .align 16 .b32 in[{}] = {{", kInputBytes / 4);
    for (size_t i = 0; i < last; ++i) {
      if (i % 10 == 0) head += "\n  ";
      head += fmt::format("{}{}", input[i], i + 1 < last ? ", " : "");
    }
    head += "};\n";
  }
  if (body.find("call") != std::string::npos) {
    head +=
        ".func (.param .b32 result) twist(.param .b32 x, .param .b32 y)\n{\n"
        "  .reg .b32 %a, %b;\n  .reg .pred %q;\n"
        "  ld.param.b32 %a, [x];\n  ld.param.b32 %b, [y];\n"
        "  setp.lt.s32 %q, %a, %b;\n  @%q bra LESS;\n  mad.lo.s32 %a, %a, 3, %b;\n"
        "LESS:\n  xor.b32 %a, %a, %b;\n  st.param.b32 [result], %a;\n  ret;\n}\n";
  }
  head += fmt::format(".visible .entry k(.param .u64 out, .param .u32 five){}\n{{\n",
                      clusters ? " .reqnctapercluster 2, 1, 1" : "");
  const auto declare = [&](std::string_view type, std::string_view name, int count) {
    if (body.find(name) != std::string::npos || body.find("tlist") != std::string::npos) {
      head += fmt::format("  .reg .{} {}<{}>;\n", type, name, count);
    }
  };
  declare("b16", "%h", 8);
  declare("b32", "%r", 20);
  declare("b32", "%u", 4);
  declare("b32", "%i", 8);
  declare("b32", "%c", 64);
  declare("b32", "%a", 4);
  declare("b64", "%d", 8);
  declare("b64", "%x", 8);
  declare("f32", "%f", 12);
  declare("f64", "%g", 6);
  declare("pred", "%p", 8);
  declare("pred", "%q", 4);
  if (body.find("sh") != std::string::npos) {
    head += fmt::format("  .shared .align 16 .b8 sh[{}];\n", 32 * kMostThreads);
  }
  if (body.find("mbar;") != std::string::npos) head += "  .shared .align 8 .b64 mbar[2];\n";
  if (body.find("loc") != std::string::npos) head += "  .local .align 16 .b8 loc[64];\n";
  return head + body + "}\n";
}

std::string Program::LaunchOptions() const {
  return fmt::format("--grid {},{},{} --block {},{},{} --hex --arg out:b32[{}] --arg u32=5", grid.x,
                     grid.y, grid.z, block.x, block.y, block.z, output_bytes() / 4);
}

}  // namespace kernelsmith::fuzz
