// `kernelsmith ops`: the PyTorch operators that graphs may have, and the PTX instructions.
#include <fmt/format.h>

#include <map>

#include "cli/commands.h"
#include "cli/ops_ptx.h"
#include "graph/aten_ops.h"

namespace kernelsmith {
namespace {

struct OpsOptions {
  std::string filter;
  bool ptx = false;
  std::string coverage;
};

std::string Signature(const Operator& op) {
  std::string text;
  for (const Parameter& parameter : op.parameters) {
    if (!text.empty()) text += ", ";
    text += parameter.fallback ? fmt::format("[{}]", parameter.name) : parameter.name;
  }
  return text;
}

Result<ExitCode> ListOperators(Session& session, const OpsOptions& options) {
  std::vector<const Operator*> found;
  std::map<std::string, int> counts;
  for (const Operator& op : AllOperators()) {
    if (op.kind == OperatorClass::kForeign) continue;  // no graph has them
    if (op.name.find(options.filter) == std::string::npos &&
        OperatorClassName(op.kind) != options.filter)
      continue;
    found.push_back(&op);
    ++counts[std::string(OperatorClassName(op.kind))];
  }
  if (session.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const Operator* op : found) {
      nlohmann::json parameters = nlohmann::json::array();
      for (const Parameter& parameter : op->parameters) parameters.push_back(parameter.name);
      list.push_back({{"name", op->name},
                      {"class", OperatorClassName(op->kind)},
                      {"supported", op->evaluated()},
                      {"parameters", std::move(parameters)}});
    }
    session.PrintJson({{"operators", std::move(list)}});
    return kExitOk;
  }
  if (found.empty())
    return InvalidInput(
        fmt::format("no operator or class '{}'; `kernelsmith ops` lists all", options.filter));
  for (const Operator* op : found) {
    session.out << fmt::format("{:<11} {:<50} {}\n", OperatorClassName(op->kind), op->name,
                               op->evaluated() ? Signature(*op) : "unsupported: random");
  }
  session.out << fmt::format("\n{} operators:", found.size());
  for (const auto& [kind, count] : counts) session.out << fmt::format(" {} {}", count, kind);
  session.out << "\n";
  return kExitOk;
}

}  // namespace

void AddOps(CLI::App& app, Session& session) {
  CLI::App* command =
      app.add_subcommand("ops", "List the PyTorch operators that a task's graph may have, or PTX");
  command->fallthrough();
  auto options = std::make_shared<OpsOptions>();
  command->add_option("filter", options->filter,
                      "Part of a name, or a class: pointwise, reduction, layout, ...");
  CLI::Option* ptx =
      command->add_flag("--ptx", options->ptx,
                        "List the forms of PTX instructions and whether the virtual GPU runs them");
  command
      ->add_option("--coverage", options->coverage,
                   "With --ptx: how much of this file of instruction frequencies is covered")
      ->needs(ptx);
  command->callback([&session, options] {
    session.action = [&session, options] {
      if (!options->coverage.empty()) return PrintCoverage(session, options->coverage);
      if (options->ptx) return ListInstructions(session, options->filter);
      return ListOperators(session, *options);
    };
  });
}

}  // namespace kernelsmith
