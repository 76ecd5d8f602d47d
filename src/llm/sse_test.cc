#include "llm/sse.h"

#include <gtest/gtest.h>

#include <vector>

namespace kernelsmith::llm {
namespace {

std::vector<std::string> Read(const std::string& body, size_t piece) {
  EventStream stream;
  std::vector<std::string> events;
  for (size_t at = 0; at < body.size(); at += piece) {
    stream.Feed(std::string_view(body).substr(at, piece),
                [&](const ServerEvent& event) { events.push_back(event.name + "|" + event.data); });
  }
  return events;
}

// Every way to cut the body gives the same events.
TEST(EventStream, ReadsEventsCutAnywhere) {
  const std::string body =
      "\xEF\xBB\xBF: hello\n\ndata: one\n\nevent: x\r\ndata:two\r\ndata: three\r\n\r\nid: 7\n\n"
      "data\n\nevent: y\rdata:  four\r\rdata: not ended";
  const std::vector<std::string> expected = {"|one", "x|two\nthree", "|", "y| four"};
  for (size_t piece = 1; piece <= body.size(); ++piece) EXPECT_EQ(Read(body, piece), expected);
}

}  // namespace
}  // namespace kernelsmith::llm
