// A key that must not be seen: whatever formats or prints one gets ***.
#pragma once

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace kernelsmith::llm {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}

  bool empty() const { return value_.empty(); }
  // The key itself; only for the header of a request.
  const std::string& Reveal() const { return value_; }
  // `text` with *** wherever the key stands: servers repeat keys in what they say.
  std::string Redact(std::string_view text) const {
    std::string result(text);
    if (value_.empty()) return result;
    for (size_t at = 0; (at = result.find(value_, at)) != std::string::npos; at += 3) {
      result.replace(at, value_.size(), "***");
    }
    return result;
  }

 private:
  std::string value_;
};

inline std::ostream& operator<<(std::ostream& out, const Secret&) { return out << "***"; }

}  // namespace kernelsmith::llm

template <>
struct fmt::formatter<kernelsmith::llm::Secret> : fmt::formatter<std::string_view> {
  auto format(const kernelsmith::llm::Secret&, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format("***", context);
  }
};
