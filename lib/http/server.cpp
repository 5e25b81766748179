#include "http/server.h"

#include <microhttpd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "http/connection_list.h"
#include "http/library_response.h"
#include "http/listening_socket.h"
#include "http/unsent_text.h"

namespace roll {

namespace {

using Clock = ConnectionList::Clock;
using Owes = ConnectionList::Owes;

constexpr size_t kMaxHeadBytes = 32 << 10;       // memory per connection, also used for sending
constexpr size_t kSendBytes = 16 << 10;          // sent from a stream at a time
constexpr size_t kMaxSwallowedBytes = 64 << 20;  // refused body, read so that the client reads the refusal

int connection_fd(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

MHD_Result keep_header(void* request, MHD_ValueKind, const char* name, const char* value) {
  static_cast<HttpRequest*>(request)->add_header(name, value ? value : "");
  return MHD_YES;
}

}  // namespace

struct HttpServer::Parts {
  /// One request and its answer. The server's thread and the handler's share it, under the mutex of Parts.
  struct Exchange : HttpReply {
    Exchange(Parts& owner, MHD_Connection* from, int socket) : server(owner), connection(from), fd(socket) {}

    void drop_body() override {
      const std::lock_guard lock(server.mutex);
      server.drop_body(*this);
    }
    void send(HttpResponse response) override {
      const std::lock_guard lock(server.mutex);
      if (whole || streams || !connection) return;
      whole = std::move(response);
      const size_t bytes = whole->body.use_count() == 1 ? whole->body->size() : 0;  // a shared body is in memory anyway
      if (bytes <= server.limits.max_unsent_bytes)
        count_unsent(bytes);
      else
        whole = server.handlers.refuse(
            413, fmt::format("the answer has {} bytes; at most {} are allowed, except for streams", bytes,
                             server.limits.max_unsent_bytes));
      resume();
    }
    void begin_stream(const std::string& type) override {
      const std::lock_guard lock(server.mutex);
      streams = true;
      stream_type = type;
      resume();
    }
    void write(std::string_view text) override {
      const std::lock_guard lock(server.mutex);
      if (!connection) return;
      count_unsent(text.size());
      unsent.append(text);
      resume();
    }
    bool is_gone() override {
      const std::lock_guard lock(server.mutex);
      return !connection || server.drops_all || has_hung_up(fd);
    }

    void suspend() {
      MHD_suspend_connection(connection);
      is_suspended = true;
    }
    void resume() {
      if (connection && std::exchange(is_suspended, false)) MHD_resume_connection(connection);
    }

    /// Returns the next part of the stream; called when the connection can send.
    ssize_t read(char* to, size_t size) {
      const std::lock_guard lock(server.mutex);
      if (server.drops_all) return MHD_CONTENT_READER_END_WITH_ERROR;
      const size_t count = unsent.take(to, size);
      if (count == 0 && is_answered) return MHD_CONTENT_READER_END_OF_STREAM;
      if (count == 0) suspend();
      forget_unsent(count);
      return static_cast<ssize_t>(count);
    }
    void count_unsent(size_t bytes) {
      unsent_bytes += bytes;
      server.num_unsent_bytes += bytes;
      if (server.num_unsent_bytes > server.limits.max_unsent_bytes) server.close_largest();
    }
    void forget_unsent(size_t bytes) {
      unsent_bytes -= bytes;
      server.num_unsent_bytes -= bytes;
    }

    Parts& server;
    MHD_Connection* connection;  // null: closed, or serving its next request
    const int fd;
    HttpRequest request;
    Admission admission;
    size_t body_bytes = 0, swallowed_bytes = 0;
    bool is_handed_over = false, is_answered = false;  // handed to a handler; the handler has returned
    bool is_suspended = false, streams = false;
    std::optional<HttpResponse> whole;
    std::string stream_type;
    UnsentText unsent;
    size_t unsent_bytes = 0;  // bytes of the answer that count against max_unsent_bytes
  };
  using SharedExchange = std::shared_ptr<Exchange>;

  Parts(ServerLimits given_limits, HttpHandlers given_handlers)
      : limits(given_limits),
        handlers(std::move(given_handlers)),
        connection_limit(std::min(limits.max_connections, raise_descriptor_limit() / 2)),
        connections(connection_limit, seconds(limits.request_s)) {}

  /// Uses poll: the library's epoll loses the end of a connection that comes together with its last bytes.
  void start(int listener, bool is_v6) {
    daemon = MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (is_v6 ? MHD_USE_IPv6 : 0), 0,
                              nullptr, nullptr, &on_request, this, MHD_OPTION_LISTEN_SOCKET, listener,
                              MHD_OPTION_CONNECTION_LIMIT, static_cast<unsigned>(connection_limit),
                              MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMaxHeadBytes, MHD_OPTION_STRICT_FOR_CLIENT, 1,
                              MHD_OPTION_NOTIFY_COMPLETED, &on_completed, this, MHD_OPTION_NOTIFY_CONNECTION,
                              &on_connection, this, MHD_OPTION_END);
    if (!daemon) {
      ::close(listener);
      throw system_error("libmicrohttpd cannot start a server{}", errno_text());
    }
    watching = std::thread([this] { watch(); });
  }

  // --- Called by the library, on its thread ------------------------------------------------------------------------

  static MHD_Result on_request(void* self, MHD_Connection* connection, const char* path, const char* method,
                               const char*, const char* data, size_t* size, void** context) {
    try {
      auto& server = *static_cast<Parts*>(self);
      if (!*context) return server.begin(connection, path, method, context);
      return server.continue_request(*static_cast<SharedExchange*>(*context), std::string_view(data, *size), *size);
    } catch (const std::exception&) {  // out of memory: end this connection only
      return MHD_NO;
    }
  }

  /// Called when the answer is sent or the connection is closed.
  static void on_completed(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
    const std::unique_ptr<SharedExchange> held(static_cast<SharedExchange*>(std::exchange(*context, nullptr)));
    if (!held) return;
    auto& server = *static_cast<Parts*>(self);
    Exchange& exchange = **held;
    const std::lock_guard lock(server.mutex);
    server.connections.set(exchange.fd, Owes::kRequest);
    server.open_exchanges.erase(&exchange);
    if (!exchange.is_handed_over) server.drop_body(exchange);
    exchange.forget_unsent(exchange.unsent_bytes);
    exchange.connection = nullptr;
    server.changed.notify_all();
  }

  static void on_connection(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode code) {
    auto& server = *static_cast<Parts*>(self);
    const std::lock_guard lock(server.mutex);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) return server.connections.remove(connection_fd(connection));
    server.connections.set(connection_fd(connection), Owes::kRequest);
    if (server.connections.is_crowded()) server.check_due.notify_one();
  }

  static ssize_t read_stream(void* held, uint64_t, char* to, size_t size) {
    return (*static_cast<SharedExchange*>(held))->read(to, size);
  }

  static void free_stream(void* held) {
    const std::unique_ptr<SharedExchange> owner(static_cast<SharedExchange*>(held));
  }

  /// Called when the head of a request has arrived.
  MHD_Result begin(MHD_Connection* connection, const char* path, const char* method, void** context) {
    const auto exchange = std::make_shared<Exchange>(*this, connection, connection_fd(connection));
    *context = new SharedExchange(exchange);  // NOLINT: on_completed takes it
    const std::lock_guard lock(mutex);
    open_exchanges.insert(exchange.get());
    HttpRequest& request = exchange->request;
    request.method = method;
    request.path = path;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, &keep_header, &request);
    // An answer before the body is read ends the connection.
    if (const std::string fault = request.framing_fault(); !fault.empty())
      return queue_whole(connection, handlers.refuse(400, fault));
    Admission& admission = exchange->admission = handlers.admit(request);
    const std::string& coding = request.header("content-encoding");
    if (!admission.response && !coding.empty() && coding != "identity")
      admission.response = handlers.refuse(415, "compressed bodies are not supported");
    if (!admission.response && request.content_length() > admission.max_body) admission.response = too_large(*exchange);
    // A client that asks with Expect need not send the body.
    if (admission.response && !request.header("expect").empty()) return queue_whole(connection, *admission.response);
    return MHD_YES;
  }

  HttpResponse too_large(const Exchange& exchange) const {
    return handlers.refuse(413, fmt::format("the body is larger than {} bytes", exchange.admission.max_body));
  }

  /// Called when part of the body or its end has arrived, or the handler has answered.
  MHD_Result continue_request(const SharedExchange& exchange, std::string_view data, size_t& size) {
    const std::lock_guard lock(mutex);
    if (drops_all) return MHD_NO;
    if (!data.empty()) {
      size = 0;
      return take_body(*exchange, data) ? MHD_YES : MHD_NO;
    }
    if (exchange->admission.response) return queue_whole(exchange->connection, *exchange->admission.response);
    if (exchange->whole) return queue_whole(exchange->connection, *exchange->whole);
    if (exchange->streams) return queue_stream(exchange);
    if (exchange->is_handed_over) {
      exchange->suspend();
      return MHD_YES;
    }
    if (num_answering >= limits.max_answering || is_stopping || !has_room_for(exchange->body_bytes))
      return queue_whole(exchange->connection, handlers.refuse(503, "too many requests are being answered; try again"));
    hand_over(exchange);
    return MHD_YES;
  }

  /// Returns true if handlers may get `bytes` more. Bodies up to an equal share always fit.
  bool has_room_for(size_t bytes) const {
    return num_handed_bytes + bytes <= limits.max_body_bytes ||
           bytes <= limits.max_body_bytes / static_cast<size_t>(limits.max_answering);
  }

  /// Stores the next part of a body, or drops it if the request is refused. Returns false if the connection must end.
  bool take_body(Exchange& exchange, std::string_view data) {
    std::optional<HttpResponse>& refusal = exchange.admission.response;
    if (!refusal && exchange.body_bytes + data.size() > exchange.admission.max_body) {
      refusal = too_large(exchange);
      drop_body(exchange);
    }
    if (num_arriving_bytes + data.size() > limits.max_body_bytes) refuse_largest();
    if (refusal) return (exchange.swallowed_bytes += data.size()) <= kMaxSwallowedBytes;
    exchange.body_bytes += data.size();
    num_arriving_bytes += data.size();
    std::string& body = exchange.request.body;
    // Reserves at most the announced length, and at most a quarter more than has arrived.
    if (body.capacity() < exchange.body_bytes)
      body.reserve(std::clamp(exchange.request.content_length(), exchange.body_bytes, exchange.body_bytes * 5 / 4));
    body.append(data);
    return true;
  }

  void drop_body(Exchange& exchange) {
    (exchange.is_handed_over ? num_handed_bytes : num_arriving_bytes) -= std::exchange(exchange.body_bytes, 0);
    exchange.request.body = std::string();
  }

  /// Refuses the request with the largest arriving body, because bodies take too much memory.
  void refuse_largest() {
    Exchange* largest = nullptr;
    for (Exchange* exchange : open_exchanges)
      if (!exchange->is_handed_over && (!largest || exchange->body_bytes > largest->body_bytes)) largest = exchange;
    largest->admission.response = handlers.refuse(503, "too many large requests at once; try again");
    drop_body(*largest);
  }

  /// Closes the connection with the largest unread answer, because these take too much memory.
  void close_largest() {
    Exchange& largest = **std::ranges::max_element(open_exchanges, {}, &Exchange::unsent_bytes);
    largest.forget_unsent(largest.unsent_bytes);
    largest.unsent.clear();
    ::shutdown(largest.fd, SHUT_RDWR);
  }

  void hand_over(const SharedExchange& exchange) {
    std::thread([this, exchange] {  // the thread waits for the mutex before it ends
      try {
        exchange->admission.handler(exchange->request, *exchange);
      } catch (const std::exception& error) {
        exchange->send(handlers.refuse(500, error.what()));
      }
      end(*exchange);
    })
        .detach();
    exchange->is_handed_over = true;
    num_arriving_bytes -= exchange->body_bytes;
    num_handed_bytes += exchange->body_bytes;
    connections.set(exchange->fd, Owes::kNothing);
    exchange->suspend();
    ++num_answering;
  }

  /// Called when the handler has returned. Its thread uses nothing of the server after this.
  void end(Exchange& exchange) {
    const std::lock_guard lock(mutex);
    if (!exchange.whole && !exchange.streams) exchange.whole = handlers.refuse(500, "the request was not answered");
    exchange.is_answered = true;
    if (exchange.connection) connections.set(exchange.fd, Owes::kRead);
    exchange.resume();
    drop_body(exchange);
    --num_answering;
    changed.notify_all();
  }

  static MHD_Result queue_stream(const SharedExchange& exchange) {
    auto held = std::make_unique<SharedExchange>(exchange);
    ResponseHandle response(
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kSendBytes, &read_stream, held.get(), &free_stream));
    if (response) held.release();  // NOLINT: free_stream takes it
    return queue(
        exchange->connection, std::move(response),
        {.status = 200, .type = exchange->stream_type, .body = nullptr, .headers = {{"Cache-Control", "no-cache"}}});
  }

  // --- Slow clients, and the end -----------------------------------------------------------------------------------

  void watch() {
    std::unique_lock lock(mutex);
    while (!is_over) check_due.wait_until(lock, connections.close_slow());
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      is_stopping = true;
    }
    if (const int listener = MHD_quiesce_daemon(daemon); listener >= 0) ::close(listener);
    std::unique_lock lock(mutex);
    const auto is_arriving = [](const Exchange* exchange) { return !exchange->is_handed_over; };
    changed.wait_for(lock, seconds(limits.stop_s),
                     [&] { return num_answering == 0 && std::ranges::all_of(open_exchanges, is_arriving); });
    drops_all = true;
    for (Exchange* exchange : open_exchanges) exchange->resume();
    connections.close_all();
    changed.wait(lock, [&] { return num_answering == 0; });
    is_over = true;
    check_due.notify_one();
    lock.unlock();
    watching.join();
    MHD_stop_daemon(daemon);
  }

  const ServerLimits limits;
  const HttpHandlers handlers;
  const int connection_limit;  // most connections
  std::mutex mutex;
  std::condition_variable changed, check_due;  // check_due: wakes the check for slow connections
  ConnectionList connections;
  std::set<Exchange*> open_exchanges;                   // requests that await an answer
  size_t num_arriving_bytes = 0, num_handed_bytes = 0;  // bytes of bodies: arriving; at handlers
  size_t num_unsent_bytes = 0;                          // bytes of unread answers
  int num_answering = 0;                                // running handlers
  bool is_stopping = false, drops_all = false, is_over = false;
  MHD_Daemon* daemon = nullptr;
  std::thread watching;
  int port = 0;
};

HttpServer::HttpServer(const HttpAddress& address, ServerLimits limits, HttpHandlers handlers)
    : parts_(std::make_unique<Parts>(limits, std::move(handlers))) {
  const int listener = listen_on(address.host, address.port);
  if (listener < 0)
    throw user_error("{} {}: the port is taken, or {} is not an address of this machine; 0 takes a free port",
                     address.port_key, address.port, address.host);
  const ListeningAddress bound = bound_address(listener);
  parts_->port = bound.port;
  parts_->start(listener, bound.is_v6);
}

HttpServer::~HttpServer() {
  parts_->stop();
}

int HttpServer::port() const {
  return parts_->port;
}

}  // namespace roll
