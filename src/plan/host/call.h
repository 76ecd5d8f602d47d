// The candidate's function: its arguments as the broker has placed them, its calls, its results.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "plan/host/light_runtime.h"
#include "plan/protocol.h"

namespace kernelsmith::host {

// Makes the arguments that the request describes. Their memory is the broker's; this process knows
// where it lies. False: the request is of another version.
bool MakeArguments(const nlohmann::json& described, std::vector<light::Value>* arguments);

// The candidate's function, which can be called with each of the request's sets of arguments.
class CandidateFunction {
 public:
  // Runs what the library registers as its module. Throws what the candidate throws.
  CandidateFunction(const nlohmann::json& request,
                    std::vector<std::vector<light::Value>>& arguments);
  // Calls it once and says how that ended. Throws what the candidate throws, and NoFunctionError.
  protocol::ReturnedMessage Call(size_t set, light::Value* result);

 private:
  std::function<light::Value()> Bind(size_t set);
  void BeginOnOtherStream();

  const nlohmann::json& request_;
  std::vector<std::vector<light::Value>>& arguments_;  // by set
  std::vector<std::function<light::Value()>> calls_;   // by set; empty: not bound yet
  std::optional<c10::cuda::CUDAStream> stream_;        // the caller's, where it is no default one
  cudaEvent_t begin_ = nullptr;
};

}  // namespace kernelsmith::host
