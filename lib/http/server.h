// An HTTP/1.1 server over libmicrohttpd whose memory, connections and waits are bounded, whoever the client is.
//
// One thread serves all connections. A request that has arrived whole is answered by a thread of its own, so that
// handlers may block. Heads, bodies, unread streams, the time in which a request must arrive and the number of
// connections have limits: when connections run out, those that have kept the server waiting longest are closed first,
// and when bytes run out, whoever has most of them makes room. A request whose length is in doubt ends its connection.
//
// Non-goals: TLS, compressed bodies, files, multipart forms.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"

namespace roll {

/// Receives the answer to one request: either a whole response or a stream. Its handler's thread only.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  /// Frees the request's body, so that its bytes no longer count against ServerLimits::max_body_bytes.
  virtual void drop_body() = 0;
  virtual void send(HttpResponse response) = 0;
  /// Begins a response of status 200 whose length is unknown; each write() is sent as one chunk. The stream ends when
  /// the handler returns.
  virtual void begin_stream(const std::string& type) = 0;
  virtual void write(std::string_view text) = 0;
  /// True if the client has hung up, or the server no longer waits for handlers. The answer is then dropped.
  virtual bool is_gone() = 0;
};

struct HttpAddress {
  std::string host;
  int port = 0;          // 0: a free one
  std::string port_key;  // the port's name in messages
};

struct ServerLimits {
  int max_connections = 1100;
  int max_answering = 256;           // requests whose handlers run; further ones are answered 503
  size_t max_body_bytes = 16 << 20;  // of requests that arrive, and again of those whose handlers have not dropped the
                                     // body; at least twice the largest body that is admitted
  size_t max_unsent_bytes = 16 << 20;  // of answers that their clients have not read yet
  double request_s = 30;               // in which a request must arrive whole, and an answer be fetched
  double stop_s = 2;                   // for answers to end when the server stops
};

/// The decision on a request by its head: it is answered at once, mostly by a refusal, or by a handler once its body
/// has arrived.
struct Admission {
  std::optional<HttpResponse> response{};  // at once
  size_t max_body = 0;                     // in bytes, of a body that a handler gets
  /// Runs on a thread of its own. An exception becomes a refusal with status 500.
  std::function<void(const HttpRequest& request, HttpReply& reply)> handler{};
};

struct HttpHandlers {
  /// Runs on the server's thread and must not block.
  std::function<Admission(const HttpRequest& head)> admit;
  /// Words a refusal that the server itself decides on. Any thread; must not block.
  std::function<HttpResponse(int status, const std::string& why)> refuse;
};

class HttpServer {
 public:
  /// Listens at once. UserError if the address cannot be listened on.
  HttpServer(const HttpAddress& address, ServerLimits limits, HttpHandlers handlers);
  /// Takes no more requests, gives handlers and clients stop_s to end, closes all connections, waits for the handlers.
  ~HttpServer();

  int port() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
