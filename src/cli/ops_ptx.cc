// `kernelsmith ops --ptx`: the PTX instructions and what the virtual GPU makes of them.
#include "cli/ops_ptx.h"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/instruction_table.h"
#include "support/file_system.h"
#include "vgpu/probe.h"

namespace kernelsmith {
namespace {

const char* StateOf(const vgpu::FormState& state) {
  if (state.tried == 0) return "untested";  // no operands that fit were found
  if (state.work == state.tried) return "works";
  return state.work == 0 ? "unsupported" : "partly";
}

// The number behind "of" in "in how many of 745 real CUDA files": 0 if there is none.
int FileCount(const std::string& text) {
  const size_t at = text.find("of ");
  for (size_t i = at; i != std::string::npos; i = text.find("of ", i + 1)) {
    const int number = std::atoi(text.c_str() + i + 3);
    if (number > 0) return number;
  }
  return 0;
}

}  // namespace

Result<ExitCode> ListInstructions(Session& session, const std::string& filter) {
  KS_TRY(const auto probe, vgpu::InstructionProbe::Create());
  nlohmann::json list = nlohmann::json::array();
  int works = 0;
  int partly = 0;
  int refused = 0;
  for (const ptx::InstructionEntry& entry : ptx::InstructionTable()) {
    if (entry.name.find(filter) == std::string_view::npos) continue;
    for (const ptx::InstructionForm& form : ptx::FormsOf(entry.opcode)) {
      const vgpu::FormState state = probe->Try(entry, form);
      const std::string word = StateOf(state);
      ++(word == "works" ? works : word == "partly" ? partly : refused);
      if (session.json) {
        list.push_back({{"instruction", entry.name},
                        {"form", form.text},
                        {"interpreter", word},
                        {"variants", state.tried},
                        {"variants_that_work", state.work},
                        {"refused", state.first_refused},
                        {"reason", state.why}});
        continue;
      }
      session.out << fmt::format("{:<11} {}\n", word, form.text);
      if (word == "partly") {
        session.out << fmt::format("            {} of {} variants; not {}: {}\n", state.work,
                                   state.tried, state.first_refused, state.why);
      } else if (word != "works") {
        session.out << fmt::format("            {}\n", state.why);
      }
    }
  }
  if (works + partly + refused == 0) {
    return InvalidInput(
        fmt::format("no instruction '{}'; `kernelsmith ops --ptx` lists all", filter));
  }
  if (session.json) {
    session.PrintJson({{"instructions", std::move(list)},
                       {"works", works},
                       {"partly", partly},
                       {"unsupported", refused}});
    return kExitOk;
  }
  session.out << fmt::format("\n{} forms: {} work, {} in part, {} unsupported (interpreter)\n",
                             works + partly + refused, works, partly, refused);
  return kExitOk;
}

Result<ExitCode> PrintCoverage(Session& session, const std::string& path) {
  KS_TRY(const std::string text, DiskFileSystem().Read(path));
  const auto data = nlohmann::json::parse(text, nullptr, false);
  if (data.is_discarded() || !data.contains("instruction_files") ||
      !data["instruction_files"].is_object()) {
    return InvalidInput(path + " is no instruction frequency file: it has no instruction_files");
  }
  KS_TRY(const auto probe, vgpu::InstructionProbe::Create());
  struct Refused {
    std::string mnemonic;
    int files;
    std::string why;
  };
  std::vector<Refused> refused;
  int64_t uses = 0;
  int64_t covered = 0;
  int distinct = 0;
  int most = 0;
  int64_t at_worst = 0;
  for (const auto& [mnemonic, value] : data["instruction_files"].items()) {
    if (!value.is_number_integer()) continue;
    const int files = value.get<int>();
    ++distinct;
    uses += files;
    const vgpu::ProbeResult result = probe->Try(mnemonic);
    if (result.interpreter) {
      covered += files;
      continue;
    }
    at_worst += files;
    most = std::max(most, files);
    refused.push_back({mnemonic, files, result.why});
  }
  std::sort(refused.begin(), refused.end(), [](const Refused& a, const Refused& b) {
    return a.files != b.files ? a.files > b.files : a.mnemonic < b.mnemonic;
  });
  const int files = FileCount(data.value("what", ""));
  // The file says in how many files an instruction occurs, not in which: only bounds are known.
  const int64_t low = std::max<int64_t>(0, files - at_worst);
  const int64_t high = files - most;
  if (session.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Refused& one : refused) {
      list.push_back({{"instruction", one.mnemonic}, {"files", one.files}, {"reason", one.why}});
    }
    session.PrintJson({{"instructions", distinct},
                       {"instructions_covered", distinct - static_cast<int>(refused.size())},
                       {"uses", uses},
                       {"uses_covered", covered},
                       {"files", files},
                       {"files_covered_at_least", low},
                       {"files_covered_at_most", high},
                       {"refused", std::move(list)}});
    return kExitOk;
  }
  for (const Refused& one : refused) {
    session.out << fmt::format("{:>4} files  {}: {}\n", one.files, one.mnemonic, one.why);
  }
  const auto percent = [](int64_t part, int64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  const auto distinct_covered =
      static_cast<int64_t>(distinct) - static_cast<int64_t>(refused.size());
  session.out << fmt::format("instructions covered: {} of {} ({:.2f} %)\n", distinct_covered,
                             distinct, percent(distinct_covered, distinct));
  session.out << fmt::format("their occurrences in files covered: {} of {} ({:.2f} %)\n", covered,
                             uses, percent(covered, uses));
  if (files > 0) {
    session.out << fmt::format(
        "files with covered instructions only: between {} and {} of {} ({:.1f} to {:.1f} %)\n", low,
        high, files, percent(low, files), percent(high, files));
  }
  return kExitOk;
}

}  // namespace kernelsmith
