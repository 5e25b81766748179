// HTTP/1.1 server over libmicrohttpd, for `roll serve`, agents in training, and `roll report`. No client can make the
// server use more than its limits of memory, connections and time.
//
// One thread serves all connections. Each complete request is answered by its own thread, so handlers may block. Limits
// apply to heads (request line and headers), bodies, unread streams, the time in which a request must arrive, and the
// number of connections. When connections run out, those that have kept the server waiting longest are closed first.
// When memory for bodies or answers runs out, the largest one is dropped. A request whose body length is ambiguous is
// refused, and its connection ends.
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

/// Sends the answer to one request: call either send(), or begin_stream() and then write() any number of times. None of
/// the functions waits for the client. Call them only on the handler's thread. If the connection has ended, send() and
/// write() do nothing. If a handler returns without an answer, the client gets status 500.
class HttpReply {
 public:
  virtual ~HttpReply() = default;
  /// Frees the request's body, so that its bytes no longer count against ServerLimits::max_body_bytes.
  virtual void drop_body() = 0;
  /// Sends a whole response. Later calls are ignored. If its body has more bytes than ServerLimits::max_unsent_bytes
  /// and is not shared, status 413 is sent instead.
  virtual void send(HttpResponse response) = 0;
  /// Begins a response with status 200 and unknown length. `type`: content type. The stream ends when the handler
  /// returns.
  virtual void begin_stream(const std::string& type) = 0;
  /// Adds text to the stream.
  virtual void write(std::string_view text) = 0;
  /// Returns true if nobody reads the answer any more: the client has hung up, or the server is stopping. The handler
  /// should then return.
  virtual bool is_gone() = 0;
};

struct HttpAddress {
  std::string host;
  int port = 0;          // 0: a free port
  std::string port_key;  // flag or configuration key of the port, for messages
};

struct ServerLimits {
  int max_connections = 1100;  // lowered to half of the descriptors that the process may open
  int max_answering = 256;     // handlers that run at once; further requests are answered with status 503
  /// Most bytes of all arriving bodies together, and most bytes of all bodies in handlers. At least twice the largest
  /// Admission::max_body.
  size_t max_body_bytes = 16 << 20;
  size_t max_unsent_bytes = 16 << 20;  // most bytes of all answers that clients have not read yet
  double request_s = 30;  // most seconds for a request to arrive, and again for a client to read its answer
  double stop_s = 2;      // most seconds for running answers when the server stops
};

/// Decision on a request after its head has arrived: answered without its body, or by a handler once the body is there.
struct Admission {
  std::optional<HttpResponse> response{};  // answer without a handler, mostly a refusal; the body is ignored
  size_t max_body = 0;                     // largest body for the handler, in bytes; larger ones are refused
  /// Answers the request; runs on its own thread. Unset if `response` is set. An exception is answered with status 500.
  std::function<void(const HttpRequest& request, HttpReply& reply)> handler{};
};

/// The server's callbacks. They must not block.
struct HttpHandlers {
  /// Decides on a request. `head`: the request without its body. Called on the server's thread.
  std::function<Admission(const HttpRequest& head)> admit;
  /// Returns the response for a request that the server itself refuses. `why`: text for the client. Called on any
  /// thread, so it must be thread-safe.
  std::function<HttpResponse(int status, const std::string& why)> refuse;
};

class HttpServer {
 public:
  /// Starts listening. Objects that the handlers use must outlive the server. Throws UserError if the port is taken or
  /// `address.host` is no address of this machine; SystemError if libmicrohttpd cannot start.
  HttpServer(const HttpAddress& address, ServerLimits limits, HttpHandlers handlers);
  /// Stops accepting requests, gives handlers and clients stop_s to finish, closes all connections, and waits for the
  /// handlers.
  ~HttpServer();

  /// Returns the port that it listens on.
  int port() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
