#include "http/client.h"

#include <curl/curl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "process/pipe_signal.h"

namespace roll {

namespace {

constexpr double kLongestWait_s = 1;  // interval of clock checks

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
struct FreeEasy {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct FreeMulti {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw system_error("libcurl cannot be started ({})", curl_easy_strerror(started));
}

/// The part of an answer received so far.
struct Received {
  std::string body;
  size_t num_bytes = 0, max_bytes = 0;
  bool is_too_large = false;

  bool accepts(size_t count) {
    num_bytes += count;
    is_too_large = is_too_large || num_bytes > max_bytes;
    return !is_too_large;
  }
};

size_t take_body(char* data, size_t, size_t count, void* to) {
  auto& received = *static_cast<Received*>(to);
  if (!received.accepts(count)) return 0;
  received.body.append(data, count);
  return count;
}

size_t take_header(char*, size_t, size_t count, void* to) {
  return static_cast<Received*>(to)->accepts(count) ? count : 0;
}

curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

template <class T>
void set(CURL* easy, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(easy, option, value);
  if (code != CURLE_OK)
    throw system_error("libcurl: option {}: {}", static_cast<int>(option), curl_easy_strerror(code));
}

HttpAnswer::Outcome transfer_outcome(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpAnswer::Outcome::kAnswered;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpAnswer::Outcome::kTimeout;
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:  // HTTP/0.9
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
      return HttpAnswer::Outcome::kBroken;
    default:
      return HttpAnswer::Outcome::kUnreachable;
  }
}

}  // namespace

void check_http_url(const std::string& url) {
  start_curl();
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  const auto part = [&](CURLUPart which) {
    char* text = nullptr;
    const bool has = curl_url_get(parsed.get(), which, &text, 0) == CURLUE_OK;
    const std::string copy = has ? text : "";
    curl_free(text);
    return copy;
  };
  const bool is_url = curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) == CURLUE_OK;
  const std::string scheme = part(CURLUPART_SCHEME);
  if (!is_url || (scheme != "http" && scheme != "https"))
    throw UserError("must be a URL, such as https://host:8000/v1");
  if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty())
    throw UserError("must not hold a user or password, because the URL is written to logs");
  if (!part(CURLUPART_QUERY).empty() || !part(CURLUPART_FRAGMENT).empty() ||
      url.find_first_of("?#") != std::string::npos)
    throw UserError("must end with its path, without ? and #");
}

struct HttpClient::Parts {
  std::unique_ptr<CURL, FreeEasy> easy{curl_easy_init()};
  std::unique_ptr<CURLM, FreeMulti> multi{curl_multi_init()};
  std::unique_ptr<curl_slist, FreeList> headers;
  Received received;
  char error[CURL_ERROR_SIZE] = "";

  void add_header(const std::string& line) {
    curl_slist* list = curl_slist_append(headers.get(), line.c_str());
    if (!list) throw system_error("libcurl is out of memory");
    [[maybe_unused]] curl_slist* before = headers.release();
    headers.reset(list);
  }

  void set_up(const std::string& url) {
    CURL* e = easy.get();
    set(e, CURLOPT_URL, url.c_str());
    set(e, CURLOPT_PROTOCOLS_STR, "http,https");
    set(e, CURLOPT_FOLLOWLOCATION, 0L);
    set(e, CURLOPT_SSL_VERIFYPEER, 1L);
    set(e, CURLOPT_SSL_VERIFYHOST, 2L);
    set(e, CURLOPT_NOSIGNAL, 1L);  // signals are the program's: see PipeSignalBlocked
    set(e, CURLOPT_HTTPHEADER, headers.get());
    set(e, CURLOPT_WRITEFUNCTION, take_body);
    set(e, CURLOPT_WRITEDATA, &received);
    set(e, CURLOPT_HEADERFUNCTION, take_header);
    set(e, CURLOPT_HEADERDATA, &received);
    set(e, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    set(e, CURLOPT_ERRORBUFFER, error);
  }

  /// Runs the transfer; nullopt if it is cancelled.
  std::optional<CURLcode> run(const Cancellation& ending) {
    int still_running = 1;
    while (still_running > 0) {
      const CURLMcode code = curl_multi_perform(multi.get(), &still_running);
      if (code != CURLM_OK) throw system_error("libcurl: {}", curl_multi_strerror(code));
      if (still_running == 0) break;
      curl_waitfd wake{ending.descriptor(), CURL_WAIT_POLLIN, 0};
      curl_multi_poll(multi.get(), &wake, 1, static_cast<int>(kLongestWait_s * 1000), nullptr);
      if (ending.is_cancelled()) return std::nullopt;
    }
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi.get(), &left))
      if (message->msg == CURLMSG_DONE) return message->data.result;
    throw_bug(__FILE__, __LINE__, "a transfer that does not run has a result");
  }

  HttpAnswer answer(std::optional<CURLcode> code) {
    if (!code) return {.outcome = HttpAnswer::Outcome::kCancelled, .reason = "cancelled, because the run ends"};
    if (received.is_too_large)
      return {.outcome = HttpAnswer::Outcome::kTooLarge,
              .reason = fmt::format("answered more than {} bytes", received.max_bytes)};
    if (*code != CURLE_OK)
      return {.outcome = transfer_outcome(*code), .reason = *error ? error : curl_easy_strerror(*code)};
    long status = 0;
    curl_off_t retry_after_s = 0;
    curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &retry_after_s);
    HttpAnswer answer{.status = static_cast<int>(status), .body = std::move(received.body)};
    if (retry_after_s > 0) answer.retry_after_s = static_cast<double>(retry_after_s);
    return answer;
  }
};

HttpClient::HttpClient(const std::string& url, const std::string& bearer_token) {
  check_http_url(url);
  const auto is_printable = [](char c) { return c > 0x20 && c < 0x7f; };
  if (!std::ranges::all_of(bearer_token, is_printable))
    throw UserError("must be printable ASCII without spaces, to be sent as a header");
  parts_ = std::make_unique<Parts>();
  if (!parts_->easy || !parts_->multi) throw system_error("libcurl cannot be started");
  parts_->add_header("Content-Type: application/json");
  parts_->add_header("Accept: application/json");
  parts_->add_header("Expect:");  // send the body at once, without waiting for 100 Continue
  if (!bearer_token.empty()) parts_->add_header("Authorization: Bearer " + bearer_token);
  parts_->set_up(url);
}

HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() {
  const PipeSignalBlocked blocked;  // closing TLS writes to the socket
  parts_.reset();
}

HttpAnswer HttpClient::post_json(std::string_view body, const HttpLimits& limits, const Cancellation& ending) {
  const PipeSignalBlocked blocked;
  CURL* easy = parts_->easy.get();
  const auto milliseconds = [](double seconds) { return std::max(1L, std::lround(seconds * 1000)); };
  set(easy, CURLOPT_CONNECTTIMEOUT_MS, milliseconds(limits.connect_timeout_s));
  set(easy, CURLOPT_TIMEOUT_MS, milliseconds(limits.timeout_s));
  set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(easy, CURLOPT_POSTFIELDS, body.data());
  parts_->received = {.max_bytes = limits.max_bytes};
  parts_->error[0] = '\0';
  curl_multi_add_handle(parts_->multi.get(), easy);
  const auto code = parts_->run(ending);
  curl_multi_remove_handle(parts_->multi.get(), easy);
  return parts_->answer(code);
}

}  // namespace roll
