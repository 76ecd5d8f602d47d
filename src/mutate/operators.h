// The operators of mutate.h: each looks through a source and reports the places where it applies.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mutate/mutate.h"
#include "mutate/source.h"

namespace kernelsmith::mutate {

// What an operator writes to.
class Sites {
 public:
  Sites(const Source& source, std::string operator_name, std::vector<Mutation>& found)
      : source_(source), operator_name_(std::move(operator_name)), found_(found) {}

  // Replaces tokens; `device` as in Mutation.
  void Replace(Range tokens, std::string replacement, bool device = true);
  void Replace(size_t token, std::string replacement, bool device = true) {
    Replace(Range{token, token + 1}, std::move(replacement), device);
  }
  void Insert(size_t before, const std::string& text, bool device = true);
  // Two or more places at once, in order; named after the first.
  void Change(std::vector<Edit> edits, size_t token, bool device = true);

 private:
  const Source& source_;
  std::string operator_name_;
  std::vector<Mutation>& found_;
};

struct Operator {
  const char* name;
  const char* what;
  void (*find)(const Source& source, Sites& sites);
};

// The families, each in a file of its own.
std::vector<Operator> ControlOperators();     // barriers, bounds, loops, conditions, returns
std::vector<Operator> ArithmeticOperators();  // operators, terms, factors, constants, functions
std::vector<Operator> MemoryOperators();      // indices, stores, initialisation, atomics, lanes
std::vector<Operator> HostOperators();        // grids, launches, arguments, zeroing

// Calls `visit` for every token in the bodies of functions that run on the device.
void ForDeviceTokens(const Source& source,
                     const std::function<void(size_t, const Function&)>& visit);
// The same for functions of the host.
void ForHostTokens(const Source& source, const std::function<void(size_t, const Function&)>& visit);

// Parameters of a function: the name and the words of the type.
struct Parameter {
  std::string name;
  std::string type;  // without const and __restrict__
};
std::vector<Parameter> Parameters(const Source& source, const Function& function);

}  // namespace kernelsmith::mutate
