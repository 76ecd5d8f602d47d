// All checkers, one row each: what the front ends offer, which of them the verifier uses, and how
// they are made. A new checker is its own files and a row of the table in suite.cc.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/checker.h"
#include "checkers/determinism.h"
#include "checkers/host.h"
#include "support/result.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::checkers {

struct Check {
  using Make = std::unique_ptr<Checker> (*)(FindingSink& sink, vgpu::VirtualGpu& gpu);

  const char* name;  // what --check takes: "memory"
  const char* what;  // what it finds, for people
  // What sanitize adds to its list; null: nothing beside the host's part.
  Make make = nullptr;
  // The part of the host checker that it turns on; null: none.
  bool HostChecks::* host = nullptr;
  // False: it is about programs. A plan's buffers belong to the plan, so nothing can leak.
  bool for_plans = true;
  // What every verification adds to its list, and its name where a verdict says what a candidate is
  // clean under ("races"); null: it is no part of verification.
  Make make_for_verdict = nullptr;
  const char* name_in_verdict = nullptr;
};
const std::vector<Check>& AllChecks();

// "memory,race"; "all" or nothing: all of them. An error names what there is.
Result<std::vector<std::string>> ParseChecks(std::string_view list);

// Wide guard zones and a long quarantine, for a GPU whose memory is to be checked.
void SetMemoryOptions(vgpu::DeviceMemory::Options& options);

enum class CheckSubject : uint8_t { kProgram, kPlan };

// `gpu` must outlive the list. The checker that wants to hear of launches in several orders
// (determinism.h), if it is among them, else null; it belongs to the list.
OrderChecker* AddCheckers(CheckerList& list, const std::vector<std::string>& checks,
                          FindingSink& sink, vgpu::VirtualGpu& gpu,
                          CheckSubject subject = CheckSubject::kProgram);

// Those of every verification, and what a verdict calls them.
void AddVerdictCheckers(CheckerList& list, FindingSink& sink, vgpu::VirtualGpu& gpu);
std::vector<std::string> VerdictCheckerNames();

}  // namespace kernelsmith::checkers
