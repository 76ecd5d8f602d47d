// What the host does wrong: memory freed twice or never, errors of the API and of launches that it
// does not look at, kernels that end by a fault.
#pragma once

#include <memory>

#include "checkers/checker.h"

namespace kernelsmith::checkers {

struct HostChecks {
  bool memory = true;  // double_free
  bool leaks = true;
  bool errors = true;  // api_error, launch_error
};
std::unique_ptr<Checker> MakeHostChecker(FindingSink& sink, HostChecks checks);

}  // namespace kernelsmith::checkers
