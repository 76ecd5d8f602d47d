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

// Calls the candidate's function once and says how that ended.
class CandidateFunction {
 public:
  // Runs what the library registers as its module. Throws what the candidate throws, and c10::Error
  // if there is no function of that name.
  CandidateFunction(const nlohmann::json& request, std::vector<light::Value>& arguments);
  protocol::ReturnedMessage Call(light::Value* result) const;

 private:
  std::function<light::Value()> call_;
};

}  // namespace kernelsmith::host
