// HTTP client over libcurl, for rewards that ask a server (lib/reward): sends JSON with POST and returns the answer,
// within limits of time and size.
//
// For safety, the client never follows a redirect, which could carry question and key to another server. It always
// checks certificates, and does not pass its sockets to child processes. It writes neither the key nor parts of the URL
// other than host and path into messages. Proxies come from the environment (https_proxy, no_proxy), as for every
// program that uses libcurl.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "process/cancellation.h"

namespace roll {

/// Limits of one request.
struct HttpLimits {
  double connect_timeout_s = 10;  // seconds
  double timeout_s = 60;          // seconds for the whole request, connecting included
  size_t max_bytes = 8 << 20;     // largest answer in bytes, headers included
};

struct HttpAnswer {
  enum class Outcome {
    kAnswered,     // any status, with a whole body
    kTimeout,      // no whole answer within the limits
    kUnreachable,  // no connection, or an invalid certificate
    kBroken,       // the connection ended too early, or the answer is not HTTP
    kTooLarge,     // more than max_bytes
    kCancelled     // the caller cancelled it
  };
  Outcome outcome = Outcome::kAnswered;
  int status = 0;                         // HTTP status; 0 unless kAnswered
  std::string body{};                     // any bytes; empty unless kAnswered
  std::string reason{};                   // description of an outcome other than kAnswered; else empty
  std::optional<double> retry_after_s{};  // seconds from the Retry-After header, if there is one
};

/// Throws UserError if `url` is not http(s)://host[:port][/path], or holds a user, a password, a query or a fragment.
/// The message states only the rule ("must be ..."); the caller adds the configuration key.
void check_http_url(const std::string& url);

/// Sends requests to one URL, and keeps the connection between them. Not thread-safe.
class HttpClient {
 public:
  /// `bearer_token`: key that is sent as "Authorization: Bearer ..."; "": none is sent. Does not connect yet. Throws
  /// UserError as check_http_url() does, or if the token is not printable ASCII without spaces.
  explicit HttpClient(const std::string& url, const std::string& bearer_token = "");
  HttpClient(HttpClient&&) noexcept;
  ~HttpClient();

  /// Sends `body`, a JSON text, and waits for the answer. Failures of server and network are outcomes, not exceptions.
  /// `ending`: if another thread cancels it, the call returns kCancelled at once.
  HttpAnswer post_json(std::string_view body, const HttpLimits& limits, const Cancellation& ending);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
