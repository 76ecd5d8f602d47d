// From a model's name on the command line to a model.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "llm/client.h"
#include "support/file_system.h"

namespace kernelsmith::llm {

// PROVIDER:MODEL[@URL] with a provider of kDialects (openai stands for any server with OpenAI's
// chat completions), or replay:FILE.
struct ModelSpec {
  const Dialect* dialect = nullptr;  // the provider's; null: a recording is replayed
  std::string model;                 // the file of a recording
  std::string base;                  // without a slash at its end; empty: the provider's own
};
Result<ModelSpec> ParseModelSpec(const std::string& text);
// The forms that ParseModelSpec takes, for help texts and messages.
std::string ModelSpecForms();
// The variables that hold the providers' keys: "OPENAI_API_KEY and ANTHROPIC_API_KEY".
std::string KeyVariables();

struct ModelWorld {
  Clock& clock;
  FileSystem& files;
  std::function<std::string(const std::string& name)> environment;
  std::shared_ptr<HttpTransport> transport;  // null: libcurl
};

struct ModelOptions {
  ClientOptions client;
  std::shared_ptr<Budget> budget;  // null: one without limits
  std::filesystem::path record;    // where questions and answers are written; empty: nowhere
};

// Keys come from the environment alone. OPENAI_API_KEY and ANTHROPIC_API_KEY go only to their
// providers' own addresses; KERNELSMITH_LLM_KEY goes to whatever server is named.
Result<std::unique_ptr<LanguageModel>> MakeModel(const std::string& spec,
                                                 const ModelOptions& options,
                                                 const ModelWorld& world);

}  // namespace kernelsmith::llm
