// The safetensors file format: an 8-byte length, a JSON header, the data. Reading trusts nothing in
// the file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "support/result.h"
#include "tensor/host_tensor.h"

namespace kernelsmith {

struct Safetensors {
  TensorMap tensors;
  std::map<std::string, std::string> metadata;  // the header's __metadata__
};

// `file` is the name for messages.
Result<Safetensors> ParseSafetensors(std::string_view bytes, const std::string& file);
Result<Safetensors> ReadSafetensors(const std::filesystem::path& path);
std::string FormatSafetensors(const Safetensors& contents);
Status WriteSafetensors(const std::filesystem::path& path, const Safetensors& contents);

}  // namespace kernelsmith
