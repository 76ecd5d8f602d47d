#include "cli/model_options.h"

#include <fmt/format.h>

#include "cli/task_store.h"

namespace kernelsmith {
std::string KeysHelp() {
  return fmt::format(
      "Keys come from the environment: {} go to their providers\n"
      "only, KERNELSMITH_LLM_KEY to the server that SPEC names.",
      llm::KeyVariables());
}

CLI::Option* AddModelOptions(CLI::App& command, ModelFlags& flags) {
  CLI::Option* model = command.add_option(
      "--model", flags.model,
      llm::ModelSpecForms() + "; openai takes any server with OpenAI's chat completions");
  command.add_option("--record", flags.record, "Append questions and answers to this file");
  command.add_option("--prompts", flags.prompts, "Folder of prompts instead of ours");
  command
      .add_option("--max-output-tokens", flags.max_output_tokens, "The most tokens of one answer")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--token-budget", flags.token_budget,
                  "The most tokens that this command may use (0: no limit)")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--money-budget", flags.money_budget,
                  "The most that this command may cost; needs --prices")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--prices", flags.prices, "The prices of a million input and output tokens")
      ->expected(2)
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--temperature", flags.temperature,
                  "The sampling temperature; without it, the server's own")
      ->check(CLI::Range(0.0, 2.0));
  command.add_option("--attempts", flags.attempts, "The most requests for one question")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--request-timeout", flags.timeout, "Seconds for one request")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command
      .add_option("--requests-per-minute", flags.requests_per_minute,
                  "The most requests a minute; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  return model;
}

Result<std::unique_ptr<OpenedModel>> OpenModel(Session& session, const ModelFlags& flags) {
  if (flags.money_budget > 0 && flags.prices.empty()) {
    return InvalidInput("--money-budget needs --prices: nobody else says what tokens cost");
  }
  auto opened = std::make_unique<OpenedModel>();
  llm::Limits limits;
  if (flags.token_budget > 0) limits.tokens = flags.token_budget;
  if (flags.money_budget > 0) limits.cost = flags.money_budget;
  opened->budget = std::make_shared<llm::Budget>(limits);
  llm::ModelOptions options{.budget = opened->budget, .record = flags.record};
  options.client.max_attempts = flags.attempts;
  options.client.total_timeout = std::chrono::seconds(flags.timeout);
  options.client.requests_per_minute = flags.requests_per_minute;
  options.client.seed = session.seed_option.value_or(1);
  if (!flags.prices.empty()) {
    options.client.prices = llm::Prices{flags.prices.at(0), flags.prices.at(1)};
  }
  KS_TRY(opened->model,
         llm::MakeModel(flags.model, options,
                        {opened->clock, session.files, session.settings.key, nullptr}));
  opened->prompts = std::make_unique<llm::Prompts>(
      session.files, flags.prompts.empty() ? DataFolder(session) / "prompts"
                                           : std::filesystem::path(flags.prompts));
  opened->ask.max_output_tokens = flags.max_output_tokens;
  if (flags.temperature >= 0) opened->ask.temperature = flags.temperature;
  return opened;
}

std::string SpentText(const llm::Spent& spent, bool with_cost) {
  std::string text =
      fmt::format("{} question{}, {} tokens in, {} out", spent.questions,
                  spent.questions == 1 ? "" : "s", spent.input_tokens, spent.output_tokens);
  if (with_cost) text += fmt::format(", cost {:.4f}", spent.cost);
  return text;
}

}  // namespace kernelsmith
