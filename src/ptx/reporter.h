// Collects what is wrong with a PTX text; parser, resolver and validator write into one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptx/syntax.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace kernelsmith::ptx {

class Reporter {
 public:
  Reporter(std::string_view text, std::string file_name, int max_errors)
      : text_(text), file_name_(std::move(file_name)), max_errors_(max_errors) {}

  void Invalid(Position where, std::string message);
  // For what is well-formed but not in the table: newer than what we know.
  void Unknown(Position where, std::string message);

  bool failed() const { return !diagnostics_.empty(); }
  // No use in going on.
  bool full() const { return static_cast<int>(diagnostics_.size()) >= max_errors_; }
  // Only if failed(). Diagnostics in the order of the text.
  Error TakeError();

 private:
  void Add(Position where, std::string message);

  std::string_view text_;
  std::string file_name_;
  int max_errors_;
  bool invalid_ = false;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace kernelsmith::ptx
