#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <ctime>
#include <mutex>

#include "llm/http.h"
#include "support/check.h"

namespace kernelsmith::llm {
namespace {

using Steady = std::chrono::steady_clock;
using End = HttpOutcome::End;

std::string Lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

// Retry-After: seconds or a date (RFC 9110, 10.2.3). A date that has passed: at once.
std::optional<std::chrono::milliseconds> WaitOf(std::string_view value, double unit_in_ms) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && number >= 0) {
    // A day is more than anybody waits; without the limit the conversion could overflow.
    return std::chrono::milliseconds(
        static_cast<int64_t>(std::ceil(std::min(number * unit_in_ms, 86'400'000.0))));
  }
  const time_t date = curl_getdate(std::string(value).c_str(), nullptr);
  if (date == -1) return std::nullopt;
  return std::chrono::seconds(std::clamp<int64_t>(date - std::time(nullptr), 0, 86'400));
}

// One transfer, as libcurl's callbacks see it.
struct Transfer {
  CURL* handle = nullptr;
  const std::function<bool(const HttpHead&, std::string_view)>* on_body = nullptr;
  HttpHead head;
  Steady::time_point last_byte = Steady::now();
  bool refused = false;
};

size_t TakeHeader(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.last_byte = Steady::now();
  const std::string_view line(data, size * count);
  if (line.starts_with("HTTP/")) {  // a 1xx answer may have come before this one
    transfer.head = {};
    const size_t space = line.find(' ');
    if (space != std::string_view::npos && line.size() >= space + 4) {
      std::from_chars(line.data() + space + 1, line.data() + space + 4, transfer.head.status);
    }
    return size * count;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size * count;
  const std::string name = Lower(line.substr(0, colon));
  const std::string_view value = Trim(line.substr(colon + 1));
  if (name == "content-type") {
    transfer.head.content_type = Lower(Trim(value.substr(0, value.find(';'))));
  } else if (name == "retry-after-ms") {
    if (const auto wait = WaitOf(value, 1)) transfer.head.retry_after = wait;
  } else if (name == "retry-after" && !transfer.head.retry_after) {
    transfer.head.retry_after = WaitOf(value, 1000);
  }
  return size * count;
}

size_t TakeBody(char* data, size_t size, size_t count, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  transfer.last_byte = Steady::now();
  if (!(*transfer.on_body)(transfer.head, {data, size * count})) {
    transfer.refused = true;
    return 0;  // libcurl then ends the transfer
  }
  return size * count;
}

End EndOf(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return End::kComplete;
    case CURLE_OPERATION_TIMEDOUT:
      return End::kTimeout;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
      return End::kBadAddress;
    default:
      return End::kConnection;
  }
}

// TLS may write to a connection that the server has closed. That must be an error of the transfer
// and not a SIGPIPE, by which programs whose output nobody reads end; with CURLOPT_NOSIGNAL libcurl
// leaves it to us. It is blocked in this thread only, so that the others keep what they asked for.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipeSignal() {
    const timespec now{};
    if (sigismember(&before_, SIGPIPE) == 0) sigtimedwait(&pipe_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

class CurlTransport : public HttpTransport {
 public:
  CurlTransport() {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  }

  HttpOutcome Post(const HttpRequest& request,
                   const std::function<bool(const HttpHead&, std::string_view)>& on_body) override {
    const NoBrokenPipeSignal no_signal;
    CURL* handle = curl_easy_init();
    CURLM* multi = curl_multi_init();
    KS_CHECK(handle != nullptr && multi != nullptr);
    Transfer transfer{.handle = handle, .on_body = &on_body};
    curl_slist* headers = nullptr;
    for (const std::string& each : request.headers) {
      headers = curl_slist_append(headers, each.c_str());
    }
    if (!request.key.empty()) {
      const std::string line =
          request.key_header + ": " + request.key_prefix + request.key.Reveal();
      headers = curl_slist_append(headers, line.c_str());
    }
    // No "Expect: 100-continue": small servers don't know it, and it costs a second there.
    headers = curl_slist_append(headers, "Expect:");

    curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
    // A proxy of the environment can't reach a server on this machine.
    for (const char* local : {"://localhost", "://127.0.0.1", "://[::1]"}) {
      if (request.url.find(local) != std::string::npos) curl_easy_setopt(handle, CURLOPT_PROXY, "");
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);  // because there are several threads
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS,
                     static_cast<long>(request.connect_timeout.count()));
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.total_timeout.count()));
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, TakeHeader);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &transfer);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, TakeBody);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &transfer);

    curl_multi_add_handle(multi, handle);
    HttpOutcome outcome = Drive(multi, transfer, request);
    outcome.head = transfer.head;
    curl_multi_remove_handle(multi, handle);
    curl_easy_cleanup(handle);
    curl_multi_cleanup(multi);
    curl_slist_free_all(headers);
    return outcome;
  }

 private:
  // libcurl's own loop looks at progress only once a second; this one ends within a tenth.
  static HttpOutcome Drive(CURLM* multi, Transfer& transfer, const HttpRequest& request) {
    while (true) {
      int running = 0;
      curl_multi_perform(multi, &running);
      if (running == 0) break;
      if (request.stop.stop_requested()) return {.end = End::kCancelled, .reason = "cancelled"};
      if (Steady::now() - transfer.last_byte > request.idle_timeout) {
        return {.end = End::kTimeout, .reason = "the server sent nothing for too long"};
      }
      curl_multi_poll(multi, nullptr, 0, 100, nullptr);
    }
    if (transfer.refused) return {.end = End::kRefused, .reason = "the answer was refused"};
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      if (code == CURLE_OK) return {};
      // strerror's words only: libcurl's detailed ones may repeat parts of the request.
      return {.end = EndOf(code), .reason = Lower(curl_easy_strerror(code))};
    }
    return {.end = End::kConnection, .reason = "the transfer did not begin"};
  }
};

}  // namespace

std::unique_ptr<HttpTransport> MakeCurlTransport() { return std::make_unique<CurlTransport>(); }

}  // namespace kernelsmith::llm
