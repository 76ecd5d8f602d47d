#include "tensor/safetensors.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "support/file_system.h"

namespace kernelsmith {
namespace {

using Json = nlohmann::json;

// What the format's own library allows.
constexpr uint64_t kMaxHeader = 100'000'000;

Error Bad(const std::string& file, std::string message) {
  return {ErrorKind::kInvalidInput,
          Diagnostic{.where = {.file = file}, .message = std::move(message)}};
}

Result<HostTensor> ReadEntry(const Json& entry, std::string_view data, const std::string& file,
                             const std::string& name) {
  const auto bad = [&](std::string_view what) {
    return Bad(file, fmt::format("tensor '{}': {}", name, what));
  };
  if (!entry.is_object()) return bad("expected an object");
  const auto dtype_field = entry.find("dtype");
  const auto shape_field = entry.find("shape");
  const auto offsets_field = entry.find("data_offsets");
  if (dtype_field == entry.end() || !dtype_field->is_string()) return bad("no dtype");
  if (shape_field == entry.end() || !shape_field->is_array()) return bad("no shape");
  if (offsets_field == entry.end() || !offsets_field->is_array() || offsets_field->size() != 2) {
    return bad("no data_offsets");
  }
  const std::optional<DType> dtype = ParseSafetensorsName(dtype_field->get<std::string>());
  if (!dtype) {
    return Error(ErrorKind::kUnsupported,
                 Diagnostic{.where = {.file = file},
                            .message = fmt::format("tensor '{}': dtype {} is not supported", name,
                                                   dtype_field->get<std::string>())});
  }
  HostTensor tensor{.dtype = *dtype};
  if (shape_field->size() > 64) return bad("more than 64 dimensions");
  for (const Json& size : *shape_field) {
    if (!size.is_number_unsigned()) return bad("a size that is no integer of 0 or more");
    const uint64_t value = size.get<uint64_t>();
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return bad("a size out of range");
    tensor.shape.push_back(static_cast<int64_t>(value));
  }
  const std::optional<int64_t> count = ElementCount(tensor.shape);
  if (!count) return bad("a shape with too many elements");
  if (!(*offsets_field)[0].is_number_unsigned() || !(*offsets_field)[1].is_number_unsigned()) {
    return bad("data_offsets that are no integers");
  }
  const uint64_t begin = (*offsets_field)[0].get<uint64_t>();
  const uint64_t end = (*offsets_field)[1].get<uint64_t>();
  if (begin > end || end > data.size()) return bad("data_offsets outside of the file");
  if (end - begin != static_cast<uint64_t>(*count * SizeOf(*dtype))) {
    return bad(fmt::format("{} bytes of data where shape {} needs {}", end - begin,
                           FormatShape(tensor.shape), *count * SizeOf(*dtype)));
  }
  tensor.bytes.resize(end - begin);
  if (end > begin) std::memcpy(tensor.bytes.data(), data.data() + begin, end - begin);
  return tensor;
}

}  // namespace

Result<Safetensors> ParseSafetensors(std::string_view bytes, const std::string& file) {
  uint64_t header_size = 0;
  if (bytes.size() < sizeof header_size) return Bad(file, "too short for a safetensors file");
  for (int i = 7; i >= 0; --i)
    header_size = header_size << 8 | static_cast<unsigned char>(bytes[static_cast<size_t>(i)]);
  bytes.remove_prefix(sizeof header_size);
  if (header_size > kMaxHeader || header_size > bytes.size()) {
    return Bad(file,
               fmt::format("a header of {} bytes in a file of {}", header_size, bytes.size() + 8));
  }
  bool duplicate = false;
  std::map<std::string, int> seen;
  const auto watch_keys = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1) {
      duplicate |= ++seen[parsed.get_ref<const std::string&>()] > 1;
    }
    return true;
  };
  const Json header =
      Json::parse(bytes.substr(0, header_size), watch_keys, /*allow_exceptions=*/false);
  if (header.is_discarded() || !header.is_object())
    return Bad(file, "the header is no JSON object");
  if (duplicate) return Bad(file, "the header names a tensor twice");
  const std::string_view data = bytes.substr(header_size);
  Safetensors contents;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) return Bad(file, "__metadata__ is no object");
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string()) return Bad(file, "__metadata__ has a value that is no string");
        contents.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    KS_TRY(HostTensor tensor, ReadEntry(entry, data, file, name));
    contents.tensors.emplace(name, std::move(tensor));
  }
  return contents;
}

Result<Safetensors> ReadSafetensors(const std::filesystem::path& path) {
  KS_TRY(const std::string bytes, DiskFileSystem().Read(path));
  return ParseSafetensors(bytes, path.string());
}

std::string FormatSafetensors(const Safetensors& contents) {
  Json header = Json::object();
  uint64_t offset = 0;
  for (const auto& [name, tensor] : contents.tensors) {
    header[name] = {{"dtype", SafetensorsName(tensor.dtype)},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + tensor.bytes.size()}}};
    offset += tensor.bytes.size();
  }
  if (!contents.metadata.empty()) header["__metadata__"] = contents.metadata;
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  // The data starts at a multiple of 8, as readers that map the file like it.
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string bytes;
  bytes.reserve(8 + text.size() + offset);
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(text.size() >> (8 * i) & 0xff));
  bytes += text;
  for (const auto& [name, tensor] : contents.tensors) {
    bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  }
  return bytes;
}

Status WriteSafetensors(const std::filesystem::path& path, const Safetensors& contents) {
  return DiskFileSystem().Write(path, FormatSafetensors(contents));
}

}  // namespace kernelsmith
