#include "cli/launch_arguments.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "support/rng.h"
#include "vgpu/math/convert.h"

namespace kernelsmith {
namespace {

namespace math = vgpu::math;

constexpr ElementType kTypes[] = {
    {"u8", 1, ElementKind::kUnsigned},  {"s8", 1, ElementKind::kSigned},
    {"b8", 1, ElementKind::kUnsigned},  {"u16", 2, ElementKind::kUnsigned},
    {"s16", 2, ElementKind::kSigned},   {"b16", 2, ElementKind::kUnsigned},
    {"u32", 4, ElementKind::kUnsigned}, {"s32", 4, ElementKind::kSigned},
    {"b32", 4, ElementKind::kUnsigned}, {"u64", 8, ElementKind::kUnsigned},
    {"s64", 8, ElementKind::kSigned},   {"b64", 8, ElementKind::kUnsigned},
    {"f16", 2, ElementKind::kHalf},     {"bf16", 2, ElementKind::kBrainHalf},
    {"f32", 4, ElementKind::kFloat},    {"f64", 8, ElementKind::kFloat},
};

const ElementType* FindType(std::string_view name) {
  for (const ElementType& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

bool IsFloat(const ElementType& type) {
  return type.kind != ElementKind::kSigned && type.kind != ElementKind::kUnsigned;
}

template <typename T>
std::optional<T> ParseWhole(std::string_view text, int base = 10) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}
template <>
std::optional<double> ParseWhole<double>(std::string_view text, int) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

uint64_t FloatBits(const ElementType& type, double value) {
  switch (type.kind) {
    case ElementKind::kHalf:
      return math::Cvt<math::F16>(value).bits;
    case ElementKind::kBrainHalf:
      return math::Cvt<math::BF16>(value).bits;
    default:
      return type.bytes == 4 ? std::bit_cast<uint32_t>(static_cast<float>(value))
                             : std::bit_cast<uint64_t>(value);
  }
}

// The bits of a number in the type, or nothing if it is none or does not fit.
std::optional<uint64_t> ParseElement(const ElementType& type, std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::string_view digits = text.substr(negative ? 1 : 0);
  const uint64_t mask = type.bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * type.bytes)) - 1;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    const auto bits = ParseWhole<uint64_t>(digits.substr(2), 16);
    if (!bits || *bits > mask || (negative && IsFloat(type))) return std::nullopt;
    return negative ? (0 - *bits) & mask : *bits;
  }
  if (IsFloat(type)) {
    const auto value = ParseWhole<double>(text);
    if (!value) return std::nullopt;
    return FloatBits(type, *value);
  }
  if (negative) {
    const auto value = ParseWhole<int64_t>(text);
    if (!value || type.kind != ElementKind::kSigned) return std::nullopt;
    if (type.bytes < 8 && *value < -(int64_t{1} << (8 * type.bytes - 1))) return std::nullopt;
    return static_cast<uint64_t>(*value) & mask;
  }
  const auto value = ParseWhole<uint64_t>(text);
  const uint64_t limit = type.kind == ElementKind::kSigned ? mask >> 1 : mask;
  if (!value || *value > limit) return std::nullopt;
  return value;
}

void StoreElement(const ElementType& type, uint64_t bits, std::byte* to) {
  std::memcpy(to, &bits, type.bytes);  // little-endian, as the virtual GPU is
}

Error Bad(std::string_view text, std::string_view why) {
  return InvalidInput(fmt::format("--arg {}: {}", text, why));
}

Error BadNumber(std::string_view text, const ElementType& type, std::string_view number) {
  return Bad(text, fmt::format("'{}' is no {}", number, type.name));
}

Status FillBuffer(std::string_view text, std::string_view how, LaunchArgument& argument) {
  const ElementType& type = *argument.type;
  const size_t count = argument.data.size() / type.bytes;
  const size_t colon = how.find(':');
  const std::string_view word = how.substr(0, colon);
  const std::string_view value = colon == std::string_view::npos ? "" : how.substr(colon + 1);
  const auto element = [&](size_t i) { return argument.data.data() + i * type.bytes; };
  if (word == "iota") {
    const auto start = value.empty() ? std::optional<double>(0) : ParseWhole<double>(value);
    if (!start) return Bad(text, "expected iota or iota:START");
    const auto first = static_cast<int64_t>(*start);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t bits = IsFloat(type) ? FloatBits(type, *start + static_cast<double>(i))
                                          : static_cast<uint64_t>(first) + i;
      StoreElement(type, bits, element(i));
    }
    return {};
  }
  if (word == "fill") {
    const auto bits = ParseElement(type, value);
    if (!bits) return BadNumber(text, type, value);
    for (size_t i = 0; i < count; ++i) StoreElement(type, *bits, element(i));
    return {};
  }
  if (word == "random") {
    const auto seed = ParseWhole<uint64_t>(value);
    if (!seed) return Bad(text, "expected random:SEED");
    Rng rng(*seed);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t bits = IsFloat(type) ? FloatBits(type, rng.Uniform() * 2.0 - 1.0) : rng.Next();
      StoreElement(type, bits, element(i));
    }
    return {};
  }
  std::string_view rest = how;
  for (size_t i = 0;; ++i) {
    const size_t comma = rest.find(',');
    const std::string_view number = rest.substr(0, comma);
    if (i >= count) return Bad(text, fmt::format("more than {} values", count));
    const auto bits = ParseElement(type, number);
    if (!bits) return BadNumber(text, type, number);
    StoreElement(type, *bits, element(i));
    if (comma == std::string_view::npos) return {};
    rest = rest.substr(comma + 1);
  }
}

Result<LaunchArgument> ParseBuffer(std::string_view text, size_t colon) {
  LaunchArgument argument;
  argument.kind = LaunchArgument::Kind::kBuffer;
  argument.name = text.substr(0, colon);
  const std::string_view rest = text.substr(colon + 1);
  const size_t open = rest.find('[');
  const size_t close = rest.find(']');
  if (argument.name.empty() || open == std::string_view::npos || close == std::string_view::npos ||
      close < open) {
    return Bad(text, "expected NAME:TYPE[COUNT]");
  }
  argument.type = FindType(rest.substr(0, open));
  if (argument.type == nullptr) {
    return Bad(text, fmt::format("no type '{}'", rest.substr(0, open)));
  }
  const auto count = ParseWhole<uint64_t>(rest.substr(open + 1, close - open - 1));
  if (!count) return Bad(text, "expected a number of elements in [ ]");
  if (*count > kMaxLaunchBuffer / argument.type->bytes) {
    return Bad(text, "a buffer has at most 4 GiB");
  }
  argument.data.resize(*count * argument.type->bytes);
  const std::string_view tail = rest.substr(close + 1);
  if (tail.empty()) return argument;
  if (!tail.starts_with('=')) return Bad(text, "expected '=' after ']'");
  argument.initialised = true;
  if (Status status = FillBuffer(text, tail.substr(1), argument); !status.ok()) {
    return status.error();
  }
  return argument;
}

Result<LaunchArgument> ParsePointer(std::string_view text) {
  LaunchArgument argument;
  argument.kind = LaunchArgument::Kind::kPointer;
  const size_t sign = text.find_first_of("+-");
  argument.name = text.substr(1, sign == std::string_view::npos ? sign : sign - 1);
  if (sign != std::string_view::npos) {
    const auto offset = ParseWhole<int64_t>(text.substr(sign + 1));
    if (!offset) return Bad(text, "expected a number of bytes");
    argument.offset = text[sign] == '-' ? -*offset : *offset;
  }
  return argument;
}

Result<LaunchArgument> ParseScalar(std::string_view text, size_t equals) {
  LaunchArgument argument;
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = text.substr(equals + 1);
  if (name == "bytes") {
    if (value.size() % 2 != 0) return Bad(text, "expected two hexadecimal digits for each byte");
    for (size_t i = 0; i < value.size(); i += 2) {
      const auto byte = ParseWhole<uint8_t>(value.substr(i, 2), 16);
      if (!byte) return Bad(text, "expected two hexadecimal digits for each byte");
      argument.data.push_back(static_cast<std::byte>(*byte));
    }
    return argument;
  }
  argument.type = FindType(name);
  if (argument.type == nullptr) return Bad(text, fmt::format("no type '{}'", name));
  const auto bits = ParseElement(*argument.type, value);
  if (!bits) return BadNumber(text, *argument.type, value);
  argument.data.resize(argument.type->bytes);
  StoreElement(*argument.type, *bits, argument.data.data());
  return argument;
}

}  // namespace

Result<LaunchArgument> ParseLaunchArgument(std::string_view text) {
  if (text.starts_with('&')) return ParsePointer(text);
  const size_t colon = text.find(':');
  const size_t equals = text.find('=');
  if (colon != std::string_view::npos && (equals == std::string_view::npos || colon < equals)) {
    return ParseBuffer(text, colon);
  }
  if (equals == std::string_view::npos) {
    return Bad(text, "expected TYPE=VALUE, NAME:TYPE[COUNT] or &NAME");
  }
  return ParseScalar(text, equals);
}

std::string FormatElement(const ElementType& type, const std::byte* element, bool hex) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, type.bytes);
  if (hex) return fmt::format("{:0{}x}", bits, 2 * type.bytes);
  switch (type.kind) {
    case ElementKind::kUnsigned:
      return fmt::format("{}", bits);
    case ElementKind::kSigned: {
      const uint32_t unused = 64 - 8 * type.bytes;
      return fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused);
    }
    case ElementKind::kHalf:
      return fmt::format("{}", math::F32FromF16({static_cast<uint16_t>(bits)}));
    case ElementKind::kBrainHalf:
      return fmt::format("{}", math::F32FromBF16({static_cast<uint16_t>(bits)}));
    case ElementKind::kFloat:
      break;
  }
  if (type.bytes == 4) {
    return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  return fmt::format("{}", std::bit_cast<double>(bits));
}

}  // namespace kernelsmith
