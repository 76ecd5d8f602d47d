#include "llm/model.h"

#include <fmt/format.h>

#include "llm/record.h"

namespace kernelsmith::llm {

Result<ModelSpec> ParseModelSpec(const std::string& text) {
  constexpr const char* kForm = "expected openai:MODEL[@URL], anthropic:MODEL[@URL] or replay:FILE";
  const size_t colon = text.find(':');
  const std::string provider = text.substr(0, colon);
  ModelSpec spec;
  if (provider == "openai") {
    spec.provider = ModelSpec::Provider::kOpenAi;
  } else if (provider == "anthropic") {
    spec.provider = ModelSpec::Provider::kAnthropic;
  } else if (provider == "replay") {
    spec.provider = ModelSpec::Provider::kReplay;
  } else {
    return InvalidInput(fmt::format("unknown model provider '{}': {}", provider, kForm));
  }
  spec.model = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (spec.provider != ModelSpec::Provider::kReplay) {
    // Names of models have colons and slashes (llama3:8b), and some an at sign.
    const size_t http = std::min(spec.model.find("@http://"), spec.model.find("@https://"));
    if (http != std::string::npos) {
      spec.base = spec.model.substr(http + 1);
      spec.model.resize(http);
      const std::string rest = spec.base.substr(spec.base.find("//") + 2);
      const std::string host = rest.substr(0, rest.find('/'));
      // Not repeated: what stands there is a password.
      if (host.find('@') != std::string::npos) {
        return InvalidInput(
            "a model's address may not have a user or password; keys come from the environment");
      }
      if (host.empty())
        return InvalidInput(fmt::format("a model's address without host: {}", kForm));
      while (spec.base.ends_with('/')) spec.base.pop_back();
    }
  }
  if (spec.model.empty())
    return InvalidInput(fmt::format("model '{}' has no name: {}", text, kForm));
  return spec;
}

Result<std::unique_ptr<LanguageModel>> MakeModel(const std::string& text,
                                                 const ModelOptions& options,
                                                 const ModelWorld& world) {
  KS_TRY(const ModelSpec spec, ParseModelSpec(text));
  std::unique_ptr<LanguageModel> model;
  if (spec.provider == ModelSpec::Provider::kReplay) {
    KS_TRY(model, ReplayModel::Open(world.files, spec.model));
  } else {
    const Dialect& dialect =
        spec.provider == ModelSpec::Provider::kOpenAi ? OpenAiDialect() : AnthropicDialect();
    const bool own_server = !spec.base.empty() && spec.base != dialect.DefaultBase();
    std::string key;
    if (!own_server) key = world.environment(dialect.KeyVariable());
    if (key.empty()) key = world.environment("KERNELSMITH_LLM_KEY");
    if (key.empty() && !own_server) {
      return InvalidInput(fmt::format("{} needs a key: set {}", text, dialect.KeyVariable()));
    }
    for (const char c : key) {
      // A line's end would smuggle headers into requests.
      if (static_cast<unsigned char>(c) <= ' ' || c == 127) {
        return InvalidInput("the key in the environment has blanks or control characters");
      }
    }
    model = std::make_unique<Client>(
        dialect, spec.model, spec.base, Secret(key), options.client,
        world.transport ? world.transport : std::shared_ptr<HttpTransport>(MakeCurlTransport()),
        world.clock, options.budget ? options.budget : std::make_shared<Budget>());
  }
  if (!options.record.empty()) {
    model = std::make_unique<RecordingModel>(std::move(model), options.record);
  }
  return model;
}

}  // namespace kernelsmith::llm
