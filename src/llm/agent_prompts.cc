#include "llm/agent_prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace kernelsmith::llm {
namespace {

PromptValues ValuesOf(const KernelTask& task) {
  return {{"task", task.name},         {"direction", task.direction}, {"reference", task.reference},
          {"function", task.function}, {"signature", task.signature}, {"dtype", task.dtype}};
}

std::string Listed(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& each : items) text += fmt::format("- {}\n", each);
  return text.empty() ? "(none)" : text;
}

}  // namespace

Result<Conversation> TranslatePrompt(const Prompts& prompts, const KernelTask& task) {
  return prompts.Render("translate", ValuesOf(task));
}

Result<Conversation> RepairPrompt(const Prompts& prompts, const KernelTask& task,
                                  const std::string& code, const std::vector<Complaint>& complaints,
                                  const std::string& counterexample) {
  PromptValues values = ValuesOf(task);
  values["code"] = code;
  std::string findings;
  for (const Complaint& each : complaints) {
    findings += each.source;
    if (each.line > 0) {
      findings +=
          fmt::format(", line {}: {}\n    {}\n", each.line, each.message, LineOf(code, each.line));
    } else {
      findings += fmt::format(": {}\n", each.message);
    }
  }
  values["findings"] = findings.empty() ? "(none)" : findings;
  values["counterexample"] = counterexample.empty() ? "(none)" : counterexample;
  return prompts.Render("repair", values);
}

Result<Conversation> OptimisePrompt(const Prompts& prompts, const KernelTask& task,
                                    std::vector<Parent> parents,
                                    const std::vector<std::string>& hints,
                                    const std::vector<std::string>& limits,
                                    const std::vector<std::string>& failures) {
  std::sort(parents.begin(), parents.end(), [](const Parent& a, const Parent& b) {
    return std::tie(b.microseconds, a.code) < std::tie(a.microseconds, b.code);
  });
  std::string shown;
  for (size_t i = 0; i < parents.size(); ++i) {
    const Parent& each = parents[i];
    shown +=
        fmt::format("Kernel {} of {}: {:.2f} us ({}). Limited by: {}\n{}\n\n", i + 1,
                    parents.size(), each.microseconds, each.measure,
                    each.limiter.empty() ? "not known" : each.limiter, Fenced(each.code, "cuda"));
  }
  PromptValues values = ValuesOf(task);
  values["parents"] = shown;
  values["hints"] = Listed(hints);
  values["limits"] = Listed(limits);
  values["failures"] = Listed(failures);
  return prompts.Render("optimise", values);
}

}  // namespace kernelsmith::llm
