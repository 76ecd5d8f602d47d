// Server-sent events (the event-stream format of the HTML standard, 9.2.6), piece by piece.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace kernelsmith::llm {

struct ServerEvent {
  std::string name;  // the `event` field; empty: none
  std::string data;
};

class EventStream {
 public:
  // Takes the next bytes of the body, cut anywhere; calls `on_event` for each event that is whole.
  void Feed(std::string_view bytes, const std::function<void(const ServerEvent&)>& on_event);

 private:
  void TakeLine(std::string_view line, const std::function<void(const ServerEvent&)>& on_event);

  std::string line_;
  bool after_return_ = false;  // a line feed after a carriage return ends no second line
  bool at_start_ = true;       // a byte order mark may stand there
  bool has_data_ = false;
  ServerEvent event_;
};

}  // namespace kernelsmith::llm
