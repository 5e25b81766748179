// HTTP client for API judges and remote rewards: one POST of JSON, one answer, within limits of time and size. It is
// the only user of libcurl.
//
// It never follows a redirect (which would carry question and key to another server), skips the check of a certificate,
// hands a socket on to a child process, or puts the key or parts of the URL other than host and path into a message.
// Proxies come from the environment (https_proxy, no_proxy), as for every program that uses libcurl.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "process/cancellation.h"

namespace roll {

struct HttpLimits {
  double connect_timeout_s = 10;
  double timeout_s = 60;       // the whole request
  size_t max_bytes = 8 << 20;  // answer size, headers included
};

struct HttpAnswer {
  enum class Outcome {
    kAnswered,  // a status and a whole body
    kTimeout,
    kUnreachable,  // no connection, or an invalid certificate
    kBroken,       // the connection ended too early, or the answer is no HTTP
    kTooLarge,
    kCancelled
  };
  Outcome outcome = Outcome::kAnswered;
  int status = 0;                         // kAnswered only
  std::string body{};                     // kAnswered only: any bytes
  std::string reason{};                   // reason of other outcomes
  std::optional<double> retry_after_s{};  // Retry-After header
};

/// Checks a URL. UserError (a rule without key and place): `url` is not http(s)://host[:port][/path], or holds a user,
/// a password, a query or a fragment.
void check_http_url(const std::string& url);

/// Sends requests to one URL. Use it from one thread at a time. Keeps its connection for the next request.
class HttpClient {
 public:
  /// `bearer_token`: sent as "Authorization: Bearer ..."; "": not sent. UserError: see check_http_url(); or the token
  /// is not printable ASCII without spaces.
  explicit HttpClient(const std::string& url, const std::string& bearer_token = "");
  HttpClient(HttpClient&&) noexcept;
  ~HttpClient();

  /// Sends `body` and returns the answer. `ending`: cancelling it returns kCancelled at once.
  HttpAnswer post_json(std::string_view body, const HttpLimits& limits, const Cancellation& ending);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
