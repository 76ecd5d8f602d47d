#include "device/candidate_harness.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sstream>

#include "support/rng.h"
#include "support/testing/real_settings.h"
#include "tensor/tensor.h"

namespace kernelsmith {
namespace {

struct DTypeWord {
  const char* word;
  DType dtype;
};
constexpr DTypeWord kWords[] = {
    {"f32", DType::kFloat32},   {"f64", DType::kFloat64}, {"f16", DType::kFloat16},
    {"bf16", DType::kBfloat16}, {"i64", DType::kInt64},   {"i32", DType::kInt32},
    {"i8", DType::kInt8},       {"u8", DType::kUint8},    {"b", DType::kBool}};

std::vector<int64_t> Numbers(const std::string& text) {
  std::vector<int64_t> numbers;
  std::istringstream in(text);
  std::string item;
  while (std::getline(in, item, ',')) numbers.push_back(std::atoll(item.c_str()));
  return numbers;
}

// "f32[4,8]", "i64[3]<10", "f32[4,8]^T".
Result<CallArgument> ParseTensor(const std::string& name, const std::string& text, Rng& rng) {
  const size_t open = text.find('[');
  const size_t close = text.find(']');
  if (open == std::string::npos || close == std::string::npos) {
    return InvalidInput("not a tensor: " + text);
  }
  for (const DTypeWord& word : kWords) {
    if (text.substr(0, open) != word.word) continue;
    HostTensor tensor =
        MakeHostTensor(word.dtype, Numbers(text.substr(open + 1, close - open - 1)));
    const size_t bound = text.find('<', close);
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const uint64_t limit = bound == std::string::npos
                                 ? (word.dtype == DType::kBool ? 2 : 100)
                                 : std::strtoull(text.c_str() + bound + 1, nullptr, 10);
      tensor.set(i, IsFloat(word.dtype) ? rng.Normal() : static_cast<double>(rng.Below(limit)));
    }
    CallArgument argument = CallArgument::Tensor(name, std::move(tensor));
    if (text.ends_with("^T")) {
      Shape strides =
          RowMajorStrides({argument.tensor.shape.rbegin(), argument.tensor.shape.rend()});
      argument.strides.assign(strides.rbegin(), strides.rend());
    }
    return argument;
  }
  return InvalidInput("unknown dtype: " + text);
}

Result<CallArgument> ParseValue(const std::string& name, const std::string& text, Rng& rng) {
  CallArgument argument{.name = name};
  if (text == "none") return argument;
  if (text == "true" || text == "false") return CallArgument::Bool(name, text == "true");
  if (text.front() == '"') {
    argument.kind = CallArgument::Kind::kString;
    argument.text = text.substr(1, text.size() - 2);
    return argument;
  }
  if (text.front() == '[') {
    argument.kind = CallArgument::Kind::kList;
    int depth = 0;
    std::string item;
    for (const char c : text.substr(1, text.size() - 2) + ",") {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (c == ',' && depth == 0) {
        KS_TRY(CallArgument value, ParseValue(name, item, rng));
        argument.items.push_back(std::move(value));
        item.clear();
      } else {
        item += c;
      }
    }
    return argument;
  }
  if (std::isdigit(static_cast<unsigned char>(text.front())) != 0 || text.front() == '-') {
    if (text.find_first_of(".e") != std::string::npos) {
      return CallArgument::Float(name, std::strtod(text.c_str(), nullptr));
    }
    return CallArgument::Int(name, std::atoll(text.c_str()));
  }
  return ParseTensor(name, text, rng);
}

}  // namespace

std::string Directive(const std::string& text, const std::string& name) {
  const std::string marker = "// " + name + ": ";
  const size_t at = text.find(marker);
  if (at == std::string::npos) return {};
  const size_t begin = at + marker.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

Result<CandidateCase> ParseCase(const std::string& text) {
  CandidateCase result;
  std::istringstream words(Directive(text, "ARGS"));
  std::string word;
  Rng rng(11);
  bool results = false;
  while (words >> word) {
    if (word == "->") {
      results = true;
      continue;
    }
    if (results) {
      KS_TRY(const CallArgument tensor, ParseTensor("", word, rng));
      result.results.push_back({.dtype = tensor.tensor.dtype, .shape = tensor.tensor.shape});
      continue;
    }
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return InvalidInput("not an argument: " + word);
    KS_TRY(CallArgument argument, ParseValue(word.substr(0, equals), word.substr(equals + 1), rng));
    result.arguments.push_back(std::move(argument));
  }
  return result;
}

CandidateHarness::CandidateHarness()
    : tools_(processes_, files_, RealSettings().tools, KS_SOURCE_DIR),
      compiler_(files_, processes_, tools_, {}) {}

Result<CompiledCandidate> CandidateHarness::Compile(const std::filesystem::path& path,
                                                    bool nvcc_only) {
  return compiler_.Compile(path, {.cache = KS_CANDIDATE_CACHE, .nvcc_only = nvcc_only});
}

}  // namespace kernelsmith
