// The right kernels of a folder (kernels/README.md): TASK/NAME.cu, each with a first line that says
// what it does. And what people found out about mutants that are no mutants.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/file_system.h"
#include "support/result.h"

namespace kernelsmith::mutate {

struct CorpusKernel {
  std::string name;  // softmax/online
  std::string task;
  std::filesystem::path path;
  bool backward = false;
  std::vector<std::string> dtypes;  // float32 if the kernel names none
  std::string summary;
};

// Reads "// Forward, float16, bfloat16: one warp a row". The name and path are the caller's.
Result<CorpusKernel> ParseHeader(const std::string& text, const std::string& file);

// Sorted by name. A file that has no such line is an error.
Result<std::vector<CorpusKernel>> ReadCorpus(const FileSystem& files,
                                             const std::filesystem::path& folder);

// Mutants that somebody looked at and found right, with the reason:
//   softmax/online drop_barrier-38-3: the next barrier orders the same accesses
// By "kernel mutant". Lines that begin with # are comments.
Result<std::map<std::string, std::string>> ReadEquivalents(const FileSystem& files,
                                                           const std::filesystem::path& file);

}  // namespace kernelsmith::mutate
