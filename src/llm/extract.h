// Takes the CUDA file out of a model's answer. The answer is data: only its fences, brackets and
// names are looked at.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "llm/llm.h"

namespace kernelsmith::llm {

enum class Extraction {
  kCode,           // one block with the file
  kLastOfSeveral,  // several whole files: the last one, where models put their correction
  kJoined,         // the file was spread over several blocks, joined in their order
  kBare,           // the answer is the file, without fences
  kProse,          // no code
  kCut,            // half a file: an open fence, bracket or comment, or the answer's limit
  kWrongFunction,  // code, but the function that is asked for is not in it
};
constexpr Extraction kAllExtractions[] = {
    Extraction::kCode,  Extraction::kLastOfSeveral, Extraction::kJoined,       Extraction::kBare,
    Extraction::kProse, Extraction::kCut,           Extraction::kWrongFunction};
const char* Name(Extraction outcome);
// Whether there is a file to go on with.
bool HasCode(Extraction outcome);

struct ExtractedCode {
  Extraction outcome = Extraction::kProse;
  std::string code;  // empty unless HasCode
};

// `function` is what the candidate must define ("forward"); empty: any code will do.
ExtractedCode ExtractCuda(const Answer& answer, std::string_view function);

// How often each came out.
class ExtractionTally {
 public:
  void Add(Extraction outcome) { ++counts_[outcome]; }
  int Count(Extraction outcome) const {
    const auto found = counts_.find(outcome);
    return found == counts_.end() ? 0 : found->second;
  }
  // "3 code, 1 prose, 2 cut"; empty if nothing was counted.
  std::string Text() const;

 private:
  std::map<Extraction, int> counts_;
};

}  // namespace kernelsmith::llm
