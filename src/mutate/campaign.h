// Runs a verifier over right kernels and their mutants. Every answer is written to a results file
// as it comes, so that a run that was stopped goes on where it was.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "mutate/corpus.h"
#include "mutate/report.h"
#include "support/clock.h"
#include "support/progress.h"
#include "support/subprocess.h"

namespace kernelsmith::mutate {

struct OutsideVerifier {
  std::string name;
  // Run by the shell with the file's path behind it; KERNELSMITH_TASK and KERNELSMITH_DIRECTION say
  // what it is for. The first word it prints is the answer: yes (right) or no (wrong).
  std::string command;
};

struct CampaignOptions {
  std::filesystem::path output;  // results.jsonl and the mutants
  size_t per_kernel = 16;        // mutants; 0: all
  std::vector<std::string> operators;
  uint64_t seed = 1;  // decides the choice, and the data of every verification
  int jobs = 1;       // verifications at a time
  std::chrono::milliseconds timeout{300'000};  // the limit of one verification
  std::chrono::seconds limit{0};               // no new verification after this; 0: none
  std::vector<std::string> verifier;           // the program and its first words: {"kernelsmith"}
  std::vector<std::string> verifier_options;   // options of each verification
  std::vector<OutsideVerifier> outside;
};

// All answers, those of earlier runs included; in the order of the kernels. Right kernels are
// judged first, then one mutant of each kernel after the other, so that a run that is cut short has
// seen all kernels. Verifications run as processes of their own: a verifier that crashes or hangs
// on a mutant is an answer, too.
Result<std::vector<Judged>> RunCampaign(const std::vector<CorpusKernel>& kernels,
                                        const CampaignOptions& options, FileSystem& files,
                                        ProcessRunner& processes, CandidateCompiler& compiler,
                                        const Clock& clock, Progress& progress);

// What a verdict in JSON says, in the words of Judged.
void ReadVerdict(const std::string& verdict, Judged& judged);

}  // namespace kernelsmith::mutate
