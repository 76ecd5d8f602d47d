#include "verify/device_code.h"

#include <algorithm>
#include <set>

namespace kernelsmith {
namespace {

bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The opcode of an instruction line ("@%p1 fma.rn.f32 ..."), or nothing.
std::string_view OpcodeOf(std::string_view line) {
  const size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  line.remove_prefix(begin);
  if (line.starts_with('@')) {
    const size_t space = line.find_first_of(" \t");
    if (space == std::string_view::npos) return {};
    line.remove_prefix(space);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  }
  return line.substr(0, line.find_first_of(" \t;"));
}

bool IsArithmetic(std::string_view opcode) {
  for (const char* name : {"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "rsqrt", "ex2",
                           "lg2", "tanh", "sin", "cos", "red", "atom"}) {
    const std::string_view stem = opcode.substr(0, opcode.find('.'));
    if (stem == name) return true;
  }
  return false;
}

void NoteArithmetic(std::string_view opcode, std::set<std::string>* precision) {
  if (opcode.starts_with("mma") || opcode.starts_with("wmma.mma") ||
      opcode.starts_with("wgmma.mma")) {
    const bool f16_sum = Contains(opcode, ".f16.f16.f16.f16") || Contains(opcode, ".f16.f16.");
    if (Contains(opcode, "tf32"))
      precision->insert("tf32 mma");
    else if (Contains(opcode, "bf16"))
      precision->insert("bfloat16 mma");
    else if (Contains(opcode, "e4m3") || Contains(opcode, "e5m2"))
      precision->insert("float8 mma");
    else if (f16_sum && !Contains(opcode, ".f32"))
      precision->insert("float16 mma, float16 sums");
    else if (Contains(opcode, "f16") || opcode.starts_with("wmma"))
      precision->insert("float16 mma");
    return;
  }
  if (!IsArithmetic(opcode)) return;
  if (Contains(opcode, ".bf16"))
    precision->insert("bfloat16");
  else if (Contains(opcode, ".f16"))
    precision->insert("float16");
  else if (Contains(opcode, ".f64"))
    precision->insert("float64");
  else if (Contains(opcode, ".f32")) {
    precision->insert("float32");
    if (Contains(opcode, ".approx") || Contains(opcode, ".full")) {
      precision->insert("approximate float32 functions");
    }
  }
}

}  // namespace

DeviceCode ReadDeviceCode(std::string_view ptx, const std::vector<std::string>& entries) {
  std::set<std::string> precision;
  std::set<std::string> environment;
  std::set<std::string> cache_policy;
  bool counts = true;  // the function that the line stands in is one of ours
  while (!ptx.empty()) {
    const size_t end = std::min(ptx.find('\n'), ptx.size());
    const std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(std::min(end + 1, ptx.size()));
    if (const size_t at = line.find(".entry "); at != std::string_view::npos) {
      std::string_view name = line.substr(at + 7);
      name = name.substr(0, name.find_first_of("( \t"));
      counts = std::find(entries.begin(), entries.end(), name) != entries.end();
      continue;
    }
    if (line.starts_with(".func") || Contains(line, " .func")) counts = true;
    if (!counts || line.starts_with("//")) continue;
    NoteArithmetic(OpcodeOf(line), &precision);
    if (Contains(OpcodeOf(line), "L2::evict_last")) cache_policy.insert("L2::evict_last");
    // %envreg1 and 2 are where a grid barrier's memory is: every cooperative kernel reads them.
    for (const char* name : {"%clock64", "%clock_hi", "%clock", "%globaltimer", "%smid", "%nsmid",
                             "%warpid", "%gridid"}) {
      if (!Contains(line, name)) continue;
      environment.insert(name);
      break;
    }
  }
  return {{precision.begin(), precision.end()},
          {environment.begin(), environment.end()},
          {cache_policy.begin(), cache_policy.end()}};
}

}  // namespace kernelsmith
