#include "ptx/ptx.h"

#include "ptx/parser.h"
#include "ptx/reporter.h"
#include "ptx/resolver.h"
#include "ptx/validator.h"

namespace kernelsmith::ptx {
namespace {

// Positions and indices are 32 bits wide.
constexpr size_t kLargestText = size_t{1} << 30;

}  // namespace

Result<Module> Parse(std::string_view text, std::string file_name, const ParseOptions& options) {
  if (text.size() > kLargestText) {
    return Error(ErrorKind::kUnsupported, Diagnostic{.where = {std::move(file_name)},
                                                     .message = "PTX is larger than 1 GiB"});
  }
  // Programs that keep PTX in memory often count the terminating zero in.
  while (text.ends_with('\0')) text.remove_suffix(1);
  Module module;
  module.file_name = file_name;
  Reporter reporter(text, std::move(file_name), options.max_errors);
  Parser(text, &module, &reporter).Run();
  // A tree with holes would only give errors that follow from the first ones.
  if (!reporter.failed()) ResolveNames(&module, &reporter);
  if (!reporter.failed()) Validate(module, &reporter, options.refusal);
  if (reporter.failed()) return reporter.TakeError();
  return module;
}

}  // namespace kernelsmith::ptx
