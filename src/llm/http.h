// HTTP as the client needs it: one POST whose answer comes in pieces. Behind an interface so that
// tests decide what a network does.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "llm/secret.h"

namespace kernelsmith::llm {

struct HttpRequest {
  std::string url;
  std::vector<std::string> headers;  // "name: value", without secrets
  // The header with the key: its name and what stands before the key ("Bearer ").
  std::string key_header;
  std::string key_prefix;
  Secret key;  // empty: no such header
  std::string body;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds idle_timeout{120'000};  // the longest time without a byte
  std::chrono::milliseconds total_timeout{600'000};
  std::stop_token stop;
};

struct HttpHead {
  int status = 0;
  std::string content_type;                              // lower case, without parameters
  std::optional<std::chrono::milliseconds> retry_after;  // Retry-After or retry-after-ms
};

struct HttpOutcome {
  enum class End {
    kComplete,
    kCancelled,
    kTimeout,     // connect, idle or total
    kConnection,  // refused, reset, closed before the end
    kRefused,     // `on_body` refused to go on
    kBadAddress,  // a URL that no retry makes better, or a certificate nobody trusts
  };
  End end = End::kComplete;
  std::string reason;  // why it did not end with kComplete
  HttpHead head;       // status 0: none came
};

class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  // Calls `on_body` with pieces of the body after the head is known; if it returns false the
  // transfer ends. Redirects are not followed: the key would go with them.
  virtual HttpOutcome Post(
      const HttpRequest& request,
      const std::function<bool(const HttpHead&, std::string_view)>& on_body) = 0;
};

// The transport by libcurl. It is safe to use from several threads.
std::unique_ptr<HttpTransport> MakeCurlTransport();

}  // namespace kernelsmith::llm
