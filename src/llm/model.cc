#include "llm/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "llm/record.h"

namespace kernelsmith::llm {

std::string ModelSpecForms() {
  std::vector<std::string> forms;
  for (const DialectFunction dialect : kDialects) {
    forms.push_back(fmt::format("{}:MODEL[@URL]", dialect().Provider()));
  }
  return fmt::format("{} or replay:FILE", fmt::join(forms, ", "));
}

std::string KeyVariables() {
  std::vector<std::string> names;
  for (const DialectFunction dialect : kDialects) names.push_back(dialect().KeyVariable());
  return fmt::format("{}", fmt::join(names, " and "));
}

Result<ModelSpec> ParseModelSpec(const std::string& text) {
  const std::string forms = "expected " + ModelSpecForms();
  const size_t colon = text.find(':');
  const std::string provider = text.substr(0, colon);
  ModelSpec spec;
  for (const DialectFunction dialect : kDialects) {
    if (provider == dialect().Provider()) spec.dialect = &dialect();
  }
  if (spec.dialect == nullptr && provider != "replay") {
    return InvalidInput(fmt::format("unknown model provider '{}': {}", provider, forms));
  }
  spec.model = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (spec.dialect != nullptr) {
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
        return InvalidInput(fmt::format("a model's address without host: {}", forms));
      while (spec.base.ends_with('/')) spec.base.pop_back();
    }
  }
  if (spec.model.empty())
    return InvalidInput(fmt::format("model '{}' has no name: {}", text, forms));
  return spec;
}

Result<std::unique_ptr<LanguageModel>> MakeModel(const std::string& text,
                                                 const ModelOptions& options,
                                                 const ModelWorld& world) {
  KS_TRY(const ModelSpec spec, ParseModelSpec(text));
  std::unique_ptr<LanguageModel> model;
  if (spec.dialect == nullptr) {
    KS_TRY(model, ReplayModel::Open(world.files, spec.model));
  } else {
    const Dialect& dialect = *spec.dialect;
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
