#include "counters/ptxas.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

#include "ptx/lexer.h"
#include "support/toolchain_walls.h"

namespace kernelsmith::counters {

namespace {

// The number right before `unit` in `line`; 0 if there is none.
uint32_t NumberBefore(std::string_view line, std::string_view unit) {
  const size_t at = line.find(unit);
  if (at == std::string_view::npos) return 0;
  size_t first = at;
  while (first > 0 && line[first - 1] >= '0' && line[first - 1] <= '9') --first;
  uint32_t value = 0;
  std::from_chars(line.data() + first, line.data() + at, value);
  return value;
}

// The architecture behind `.target`.
std::string TargetOf(const std::filesystem::path& ptx) {
  std::ifstream in(ptx);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  ptx::Lexer lexer(text);
  ptx::Token token = lexer.Next();
  while (token.kind != ptx::TokenKind::kEnd && token.kind != ptx::TokenKind::kError &&
         !token.Is(".target")) {
    token = lexer.Next();
  }
  return token.Is(".target") ? std::string(lexer.Next().text) : "";
}

}  // namespace

std::map<std::string, PtxasKernel> ParsePtxas(std::string_view text) {
  // ptxas info : Compiling entry function 'name' for 'sm_90'
  // ptxas info : Function properties for name
  //     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
  // ptxas info : Used 24 registers, used 1 barriers
  std::map<std::string, PtxasKernel> kernels;
  std::istringstream lines{std::string(text)};
  PtxasKernel* kernel = nullptr;
  bool properties = false;  // the lines speak of the kernel itself, not of a function that it calls
  std::string name;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Compiling entry function") != std::string::npos) {
      const size_t first = line.find('\'') + 1;
      name = line.substr(first, line.find('\'', first) - first);
      kernel = &kernels[name];
    } else if (line.find("Function properties for") != std::string::npos) {
      properties = line.ends_with(" " + name);
    } else if (kernel != nullptr && line.find("bytes stack frame") != std::string::npos) {
      if (!properties) continue;
      kernel->stack_bytes = NumberBefore(line, " bytes stack frame");
      kernel->spill_store_bytes = NumberBefore(line, " bytes spill stores");
      kernel->spill_load_bytes = NumberBefore(line, " bytes spill loads");
    } else if (kernel != nullptr && line.find(" registers") != std::string::npos) {
      kernel->registers = NumberBefore(line, " registers");
    }
  }
  std::erase_if(kernels, [](const auto& each) { return each.second.registers == 0; });
  return kernels;
}

std::string RefusalOf(std::string_view text) {
  // ptxas error   : Entry function 'k' uses too much shared data (0x14000 bytes, 0xc000 max)
  // ptxas file.ptx, line 12; error   : Arguments mismatch for instruction 'mov'
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(" : ");
    if (!line.starts_with("ptxas") || colon == std::string::npos ||
        line.substr(0, colon).find("error") == std::string::npos) {
      continue;
    }
    return line.substr(colon + 3);
  }
  return "";
}

PtxasAnswer RunPtxas(const std::filesystem::path& ptx, ToolFinder& tools,
                     ProcessRunner& processes) {
  const std::optional<Tool> ptxas = tools.Ptxas();
  const std::string target = TargetOf(ptx);
  if (!ptxas || target.empty()) return {};
  ProcessRequest request;
  request.argv = {ptxas->path.string(), "-v",        "--gpu-name", target,
                  "--output-file",      "/dev/null", ptx.string()};
  request.timeout = std::chrono::seconds(300);
  request.confinement = Confinement{.processor_time = std::chrono::seconds(120)};
  // The PTX is the candidate's.
  Confine(request, {.readable = {ptx}, .scratch = {}});
  const Result<ProcessResult> result = processes.Run(request);
  if (!result.ok()) return {};
  if (result->exit_code != 0) return {.refusal = RefusalOf(result->err + result->out)};
  return {.kernels = ParsePtxas(result->err + result->out)};
}

}  // namespace kernelsmith::counters
