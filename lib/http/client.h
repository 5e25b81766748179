// Asks a server: one POST of JSON, one answer, within bounds of time and size. Over libcurl, whose only user this is.
//
// What is never done: following a redirect (it would carry question and key to another place), skipping the check of a
// certificate, handing a socket on to a child process, putting the key or what the URL holds besides host and path into
// a message. Proxies are those of the environment (https_proxy, no_proxy), as for every program that uses libcurl.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "process/cancellation.h"

namespace roll {

struct HttpLimits {
  double connect_timeout_s = 10;
  double timeout_s = 60;       // of all of it
  size_t max_bytes = 8 << 20;  // of the answer, headers included
};

struct HttpAnswer {
  enum class Outcome {
    kAnswered,  // a status and a whole body
    kTimeout,
    kUnreachable,  // no connection, or no trust in it
    kBroken,       // the connection ended before the answer did, or what came is no HTTP
    kTooLarge,
    kCancelled
  };
  Outcome outcome = Outcome::kAnswered;
  int status = 0;                         // of kAnswered
  std::string body{};                     // of kAnswered: any bytes
  std::string reason{};                   // of the others
  std::optional<double> retry_after_s{};  // the header of that name
};

/// UserError (a rule without key and place): `url` is not http(s)://host[:port][/path], or holds a user, a password, a
/// query or a fragment.
void check_http_url(const std::string& url);

/// One thread at a time. Keeps its connection for the next question.
class HttpClient {
 public:
  /// bearer_token: sent as "Authorization: Bearer ..."; "": none. UserError as check_http_url(); of a token that would
  /// not be one header.
  explicit HttpClient(const std::string& url, const std::string& bearer_token = "");
  HttpClient(HttpClient&&) noexcept;
  ~HttpClient();

  /// `ending`: when it is cancelled, the answer is kCancelled, at once.
  HttpAnswer post_json(std::string_view body, const HttpLimits& limits, const Cancellation& ending);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
