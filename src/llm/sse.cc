#include "llm/sse.h"

namespace kernelsmith::llm {

void EventStream::Feed(std::string_view bytes,
                       const std::function<void(const ServerEvent&)>& on_event) {
  for (const char c : bytes) {
    const bool joins_return = after_return_ && c == '\n';
    after_return_ = c == '\r';
    if (joins_return) continue;
    if (c != '\n' && c != '\r') {
      line_ += c;
      continue;
    }
    if (at_start_ && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
    at_start_ = false;
    TakeLine(line_, on_event);
    line_.clear();
  }
}

void EventStream::TakeLine(std::string_view line,
                           const std::function<void(const ServerEvent&)>& on_event) {
  if (line.empty()) {  // the end of an event; without data it is none
    if (has_data_) on_event(event_);
    event_ = {};
    has_data_ = false;
    return;
  }
  const size_t colon = line.find(':');
  if (colon == 0) return;  // a comment, by which servers keep connections alive
  const std::string_view field = line.substr(0, colon);
  std::string_view value;
  if (colon != std::string_view::npos) value = line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") {
    event_.name = value;
  } else if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
}

}  // namespace kernelsmith::llm
