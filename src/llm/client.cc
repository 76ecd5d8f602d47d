#include "llm/client.h"

#include <fmt/format.h>

#include <algorithm>

#include "llm/sse.h"
#include "support/diagnostic.h"

namespace kernelsmith::llm {
namespace {

using End = HttpOutcome::End;

bool MayPass(int status) {
  // 529: Anthropic's "overloaded".
  for (const int each : {408, 409, 425, 429, 500, 502, 503, 504, 529}) {
    if (status == each) return true;
  }
  return false;
}

}  // namespace

Client::Client(const Dialect& dialect, std::string model, std::string base, Secret key,
               ClientOptions options, std::shared_ptr<HttpTransport> transport, Clock& clock,
               std::shared_ptr<Budget> budget)
    : dialect_(dialect),
      model_(std::move(model)),
      base_(base.empty() ? dialect.DefaultBase() : std::move(base)),
      own_server_(base_ != dialect.DefaultBase()),
      key_(std::move(key)),
      options_(options),
      transport_(std::move(transport)),
      clock_(clock),
      budget_(std::move(budget)),
      rng_(options.seed) {}

std::string Client::Describe() const { return fmt::format("{} at {}", model_, base_); }

Result<Answer> Client::Ask(const Conversation& conversation, const AskOptions& options) {
  if (conversation.empty() || conversation.back().role != Role::kUser) {
    return InvalidInput("a conversation must end with the user's words");
  }
  HttpRequest request{
      .url = dialect_.Address(base_),
      .headers = dialect_.Headers(),
      .key_header = dialect_.KeyHeader(),
      .key_prefix = dialect_.KeyPrefix(),
      .key = key_,
      // Invalid UTF-8 (a candidate may hold any bytes) goes as U+FFFD instead of throwing.
      .body = dialect_.Body(model_, conversation, options, own_server_)
                  .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
      .connect_timeout = options_.connect_timeout,
      .idle_timeout = options_.idle_timeout,
      .total_timeout = options_.total_timeout,
      .stop = options.stop};
  request.headers.push_back("Content-Type: application/json");
  request.headers.push_back("Accept: text/event-stream, application/json");

  const int64_t input = EstimateTokens(request.body.size());
  for (int attempt = 1;; ++attempt) {
    // Every attempt is paid for, so each must fit the budget.
    KS_RETURN_IF_ERROR(budget_->Reserve(input, options.max_output_tokens, options_.prices));
    Attempt result;
    if (WaitForTurn(options.stop)) {
      result = Try(request, options, attempt == 1);
    } else {
      result.problem = "cancelled";
    }
    PartialAnswer& partial = result.answer;
    const bool began = partial.input_tokens || !partial.text.empty() || result.problem.empty();
    const bool estimated = began && (!partial.input_tokens || !partial.output_tokens);
    const int64_t input_tokens = began ? partial.input_tokens.value_or(input) : 0;
    int64_t output_tokens = 0;
    if (began) {
      output_tokens = partial.output_tokens.value_or(EstimateTokens(partial.text.size()));
      // A stream that was cut had its last count before its last words.
      if (!partial.complete) {
        output_tokens = std::max(output_tokens, EstimateTokens(partial.text.size()));
      }
    }
    budget_->Settle(input, options.max_output_tokens, input_tokens, output_tokens, options_.prices);
    if (result.problem.empty()) {
      Answer answer{.text = key_.Redact(partial.text),
                    .input_tokens = input_tokens,
                    .output_tokens = output_tokens,
                    .tokens_estimated = estimated,
                    .stop_reason = partial.stop_reason.value_or(StopReason::kOther),
                    .attempts = attempt};
      if (options_.prices) answer.cost = CostOf(input_tokens, output_tokens, *options_.prices);
      return answer;
    }
    std::string problem = fmt::format("{}: {}", Describe(), result.problem);
    if (!result.again) return Error(result.kind, std::move(problem));
    if (attempt >= options_.max_attempts) {
      return Error(result.kind, fmt::format("{} (after {} attempts)", problem, attempt));
    }
    std::chrono::milliseconds pause = Pause(attempt);
    if (result.retry_after) {
      if (*result.retry_after > options_.longest_retry_after) {
        return TimedOut(fmt::format("{} (the server asks to wait {} s)", problem,
                                    result.retry_after->count() / 1000));
      }
      pause = std::max(pause, *result.retry_after);
    }
    if (!Wait(pause, options.stop)) {
      return TimedOut(fmt::format("{} (cancelled while waiting to try again)", problem));
    }
  }
}

Client::Attempt Client::Try(const HttpRequest& request, const AskOptions& options, bool first) {
  Attempt attempt;
  PartialAnswer& answer = attempt.answer;
  EventStream events;
  std::string body;  // where it is no stream
  bool foreign = false, streams = false, too_long = false, anew = !first;
  size_t bytes = 0;
  // Text that nobody was shown yet. Its last bytes may be the beginning of a key, so they stay back
  // until the next piece.
  std::string unseen;
  const auto show = [&](size_t stay_back) {
    if (!options.on_text) return;
    unseen = key_.Redact(unseen);
    if (unseen.size() <= stay_back) return;
    options.on_text(std::string_view(unseen).substr(0, unseen.size() - stay_back), anew);
    unseen.erase(0, unseen.size() - stay_back);
    anew = false;
  };
  const HttpOutcome outcome =
      transport_->Post(request, [&](const HttpHead& head, std::string_view piece) {
        bytes += piece.size();
        too_long = bytes > options_.max_answer_bytes;
        if (too_long) return false;
        streams = head.status == 200 && head.content_type == "text/event-stream";
        if (!streams) {
          body += piece;
          return true;
        }
        const size_t before = answer.text.size();
        events.Feed(piece, [&](const ServerEvent& event) {
          if (!foreign && answer.error.empty()) foreign = !dialect_.TakeEvent(event.data, answer);
        });
        if (options.on_text) unseen += std::string_view(answer.text).substr(before);
        show(key_.empty() ? 0 : key_.Reveal().size() - 1);
        return !foreign && answer.error.empty();
      });

  const int status = outcome.head.status;
  attempt.retry_after = outcome.head.retry_after;
  if (too_long) {
    attempt.kind = ErrorKind::kUnsupported;
    attempt.problem = fmt::format("the answer is longer than {} bytes", options_.max_answer_bytes);
  } else if (foreign) {
    // Half-written pieces come from servers and proxies in trouble; another try may do.
    attempt.kind = ErrorKind::kUnsupported;
    attempt.problem = "the stream has something that is no JSON of this API";
    attempt.again = true;
  } else if (!answer.error.empty()) {
    attempt.problem = fmt::format("the server broke off: {}", Quote(answer.error));
    attempt.again = answer.error_is_passing;
  } else if (outcome.end != End::kComplete && !(streams && answer.complete)) {
    attempt.problem = outcome.reason;
    attempt.again = outcome.end == End::kTimeout || outcome.end == End::kConnection;
    if (outcome.end == End::kBadAddress) attempt.kind = ErrorKind::kInvalidInput;
  } else if (status != 200) {
    JudgeStatus(outcome.head, body, attempt);
  } else if (streams) {
    // Some servers leave the closing [DONE] out: then the reason of the stop says that it is over.
    if (!answer.complete && !answer.stop_reason) {
      attempt.problem = "the stream was cut before its end";
      attempt.again = true;
    } else {
      answer.complete = true;
    }
  } else if (outcome.head.content_type != "application/json") {
    attempt.kind = ErrorKind::kUnsupported;
    attempt.problem = fmt::format(
        "the server answered '{}', expected text/event-stream; is the "
        "address right?",
        Quote(outcome.head.content_type));
  } else if (!dialect_.TakeDocument(body, answer)) {
    attempt.kind = ErrorKind::kUnsupported;
    attempt.problem = "the answer is no JSON of this API";
    attempt.again = true;
  } else {
    unseen = answer.text;
  }
  if (attempt.problem.empty()) show(0);
  return attempt;
}

void Client::JudgeStatus(const HttpHead& head, const std::string& body, Attempt& attempt) const {
  const ServerError error = ReadServerError(body);
  attempt.problem = fmt::format("the server answered {}", head.status);
  if (!error.message.empty()) attempt.problem += ": " + Quote(error.message);
  attempt.again = MayPass(head.status);
  // OpenAI says 429 also when the account has no money left, which no pause helps.
  if (error.code == "insufficient_quota") attempt.again = false;
  if (head.status == 401 || head.status == 403) {
    attempt.problem += key_.empty()
                           ? fmt::format(" (no key: set {})", own_server_ ? "KERNELSMITH_LLM_KEY"
                                                                          : dialect_.KeyVariable())
                           : " (the key was refused)";
  }
  if (!attempt.again) attempt.kind = ErrorKind::kInvalidInput;
}

bool Client::Wait(Clock::Duration duration, const std::stop_token& stop) {
  // In slices, so that a cancelled run ends at once.
  const Clock::Duration end = clock_.Now() + duration;
  while (!stop.stop_requested()) {
    const Clock::Duration left = end - clock_.Now();
    if (left <= Clock::Duration{0}) return true;
    clock_.Sleep(std::min<Clock::Duration>(left, std::chrono::milliseconds(100)));
  }
  return false;
}

bool Client::WaitForTurn(const std::stop_token& stop) {
  if (stop.stop_requested()) return false;
  if (options_.requests_per_minute <= 0) return true;
  Clock::Duration turn;
  {
    const std::lock_guard lock(mutex_);
    turn = std::max(next_turn_, clock_.Now());
    next_turn_ =
        turn + std::chrono::nanoseconds(static_cast<int64_t>(60e9 / options_.requests_per_minute));
  }
  return Wait(turn - clock_.Now(), stop);
}

std::chrono::milliseconds Client::Pause(int attempt) {
  double wait = static_cast<double>(options_.first_wait.count());
  for (int i = 1; i < attempt; ++i) wait *= 2;
  wait = std::min(wait, static_cast<double>(options_.longest_wait.count()));
  const std::lock_guard lock(mutex_);
  // At random, so that clients that were turned away together don't come back together.
  return std::chrono::milliseconds(static_cast<int64_t>(wait * (0.75 + 0.25 * rng_.Uniform())));
}

std::string Client::Quote(const std::string& text) const {
  constexpr size_t kLongest = 300;
  std::string result = EscapeForTerminal(key_.Redact(text));
  if (result.size() > kLongest) result = result.substr(0, kLongest) + "...";
  return result;
}

}  // namespace kernelsmith::llm
