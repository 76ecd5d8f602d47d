// All checkers, one row each: what the front ends offer, which of them the verifier uses, and how
// they are made. A new checker is a file of its own; its function is declared here and stands in a
// row of the table.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkers/checker.h"
#include "checkers/determinism.h"
#include "checkers/host.h"
#include "support/result.h"
#include "vgpu/vgpu.h"

namespace kernelsmith::checkers {

// The functions that make checkers, each in the file that has the checker's name (bounds.cc).
using MakeChecker = std::unique_ptr<Checker>(FindingSink& sink, vgpu::VirtualGpu& gpu);
MakeChecker MakeBoundsChecker;
MakeChecker MakeEnvironmentChecker;
MakeChecker MakeIndexOverflowChecker;
MakeChecker MakeInitChecker;
MakeChecker MakeInitCheckerOfTensors;  // init.cc
MakeChecker MakeOrderChecker;          // determinism.cc
MakeChecker MakeRaceChecker;
MakeChecker MakeSyncChecker;
// The same (bounds.cc) with bad accesses as the faults that they are.
MakeChecker MakeBoundsCheckerForVerdicts;

struct Check {
  const char* name;  // what --check takes: "memory"
  const char* what;  // what it finds, for people
  // What sanitize adds to its list; null: nothing beside the host's part.
  MakeChecker* make = nullptr;
  // The part of the host checker that it turns on; null: none.
  bool HostChecks::* host = nullptr;
  // False: it is about programs. A plan's buffers belong to the plan, so nothing can leak.
  bool for_plans = true;
  // What every verification adds to its list, and its name where a verdict says what a candidate is
  // clean under ("races"); null: it is no part of verification.
  MakeChecker* make_for_verdict = nullptr;
  const char* name_in_verdict = nullptr;
};

// The table of all checks.
inline constexpr Check kChecks[] = {
    {.name = "memory",
     .what = "accesses out of bounds, misaligned, to null or freed memory; double free",
     .make = MakeBoundsChecker,
     .host = &HostChecks::memory,
     // The verifier tells of bad accesses by the fault that they are.
     .make_for_verdict = MakeBoundsCheckerForVerdicts,
     .name_in_verdict = "bounds"},
    {.name = "race",
     .what = "races in shared and global memory, between threads, blocks and streams",
     .make = MakeRaceChecker,
     .make_for_verdict = MakeRaceChecker,
     .name_in_verdict = "races"},
    {.name = "sync",
     .what = "barriers and masks that lanes miss, deadlock, livelock",
     .make = MakeSyncChecker,
     .make_for_verdict = MakeSyncChecker,
     .name_in_verdict = "synchronisation"},
    {.name = "init",
     .what = "reads of memory and variables that were never given a value",
     .make = MakeInitChecker,
     .make_for_verdict = MakeInitCheckerOfTensors,
     .name_in_verdict = "uninitialised reads"},
    {.name = "index",
     .what = "32-bit index arithmetic that wraps and becomes part of an address",
     .make = MakeIndexOverflowChecker},
    // Programs may look at clocks as they like: it is about candidates, whose pointers are known.
    {.name = "environment",
     .what = "clocks, places and addresses that decide what a kernel does",
     .for_plans = true,
     .make_for_verdict = MakeEnvironmentChecker,
     .name_in_verdict = "decisions by clocks, places and addresses"},
    {.name = "leak",
     .what = "memory that is never freed",
     .host = &HostChecks::leaks,
     .for_plans = false},
    // The verifier has a stage of its own for it, which judges results in other orders.
    {.name = "determinism",
     .what = "results that depend on the order in which threads run",
     .make = MakeOrderChecker},
    {.name = "api",
     .what = "errors of the API and of launches that the program does not look at",
     .host = &HostChecks::errors},
};
inline std::span<const Check> AllChecks() { return kChecks; }

// "memory,race"; "all" or nothing: all of them. An error names what there is.
Result<std::vector<std::string>> ParseChecks(std::string_view list);

// Wide guard zones and a long quarantine, for a GPU whose memory is to be checked.
void SetMemoryOptions(vgpu::DeviceMemory::Options& options);

// What is checked: a program that runs by itself, or a candidate's plan.
enum class Checked : uint8_t { kProgram, kPlan };

// `gpu` must outlive the list. The checker that wants to hear of launches in several orders
// (determinism.h), if it is among them, else null; it belongs to the list.
OrderChecker* AddCheckers(CheckerList& list, const std::vector<std::string>& checks,
                          FindingSink& sink, vgpu::VirtualGpu& gpu,
                          Checked checked = Checked::kProgram);

// Those of every verification, and what a verdict calls them.
void AddVerdictCheckers(CheckerList& list, FindingSink& sink, vgpu::VirtualGpu& gpu);
std::vector<std::string> VerdictCheckerNames();

}  // namespace kernelsmith::checkers
