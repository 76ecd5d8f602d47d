#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/subprocess.h"

namespace kernelsmith {

// Programs that exist only in a test: `programs` answers, `requests` remembers what was asked.
class FakeProcessRunner : public ProcessRunner {
 public:
  // Called with each request; without it, or where it returns an error, there is no such program.
  std::function<Result<ProcessResult>(const ProcessRequest&)> programs;
  std::vector<ProcessRequest> requests;

  Result<ProcessResult> Run(const ProcessRequest& request) override {
    requests.push_back(request);
    if (programs) return programs(request);
    return MissingTool("can't run " + request.argv.at(0) + ": program not found");
  }
};

}  // namespace kernelsmith
