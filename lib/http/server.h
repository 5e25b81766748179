// HTTP/1.1 server over libmicrohttpd, for serve and report. Its memory, connections and waits are bounded for any
// client.
//
// One thread serves all connections. Each complete request is answered by its own thread, so handlers may block. Limits
// apply to heads, bodies, unread streams, the time in which a request must arrive, and the number of connections. When
// connections run out, those that have kept the server waiting longest are closed first. When bytes run out, the
// largest request or answer makes room. A request whose length is in doubt ends its connection.
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

/// Receives the answer to one request, either a whole response or a stream. Used only by its handler's thread.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  /// Frees the request's body, so that its bytes no longer count against ServerLimits::max_body_bytes.
  virtual void drop_body() = 0;
  virtual void send(HttpResponse response) = 0;
  /// Begins a response with status 200 and unknown length; each write() is sent as one chunk. The stream ends when the
  /// handler returns.
  virtual void begin_stream(const std::string& type) = 0;
  virtual void write(std::string_view text) = 0;
  /// Returns true if the client has hung up, or the server no longer waits for handlers. The answer is then dropped.
  virtual bool is_gone() = 0;
};

struct HttpAddress {
  std::string host;
  int port = 0;          // 0: a free port
  std::string port_key;  // name of the port in messages
};

struct ServerLimits {
  int max_connections = 1100;
  int max_answering = 256;             // running handlers; further requests are answered 503
  size_t max_body_bytes = 16 << 20;    // bodies arriving, and again in handlers; at least twice the largest admitted
  size_t max_unsent_bytes = 16 << 20;  // answers that clients have not read yet
  double request_s = 30;               // limit for receiving a request, and for the client to read an answer
  double stop_s = 2;                   // for running answers when the server stops
};

/// Decision on a request by its head: answered at once, mostly by a refusal, or by a handler once its body has arrived.
struct Admission {
  std::optional<HttpResponse> response{};  // answered at once with this
  size_t max_body = 0;                     // largest body for the handler, in bytes
  /// Runs on its own thread. An exception becomes a refusal with status 500.
  std::function<void(const HttpRequest& request, HttpReply& reply)> handler{};
};

struct HttpHandlers {
  /// Runs on the server's thread and must not block.
  std::function<Admission(const HttpRequest& head)> admit;
  /// Writes a refusal that the server itself decides on. Any thread; must not block.
  std::function<HttpResponse(int status, const std::string& why)> refuse;
};

class HttpServer {
 public:
  /// Starts listening. UserError: the address cannot be listened on.
  HttpServer(const HttpAddress& address, ServerLimits limits, HttpHandlers handlers);
  /// Stops accepting requests, gives handlers and clients stop_s to finish, closes all connections, and waits for the
  /// handlers.
  ~HttpServer();

  int port() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
