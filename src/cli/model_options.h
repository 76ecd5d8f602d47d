// The options of commands that ask language models, and the model they name.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "cli/session.h"
#include "llm/model.h"
#include "llm/prompts.h"

namespace kernelsmith {

struct ModelFlags {
  std::string model;  // empty: none is asked
  std::string prompts;
  std::string record;
  int64_t max_output_tokens = 16384;
  int64_t token_budget = 0;
  double money_budget = 0;
  std::vector<double> prices;
  double temperature = -1;
  int attempts = 5;
  int timeout = 600;
  double requests_per_minute = 0;
};

// Adds --model and the others. `flags` outlives the parsing. Returns the option --model.
CLI::Option* AddModelOptions(CLI::App& command, ModelFlags& flags);

// A model with what it needs; outlives nothing of the session.
struct OpenedModel {
  SystemClock clock;  // the session's can't sleep
  std::shared_ptr<llm::Budget> budget;
  std::unique_ptr<llm::LanguageModel> model;
  std::unique_ptr<llm::Prompts> prompts;
  llm::AskOptions ask;
};
Result<std::unique_ptr<OpenedModel>> OpenModel(Session& session, const ModelFlags& flags);

// "3 questions, 1200 tokens in, 800 out, cost 0.0123".
std::string SpentText(const llm::Spent& spent, bool with_cost);

// What the help of such commands says of keys.
std::string KeysHelp();

}  // namespace kernelsmith
