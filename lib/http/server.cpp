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
#include "http/listening_socket.h"

namespace roll {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMaxHeadBytes = 64 << 10;
constexpr size_t kSendBytes = 16 << 10;           // of a stream at a time
constexpr size_t kMaxSwallowedBytes = 64 << 20;   // of a refused body, read so that the client reads the refusal
constexpr std::chrono::milliseconds kWatch{100};  // between two looks for slow clients

struct FreeResponse {
  void operator()(MHD_Response* response) const { MHD_destroy_response(response); }
};
using ResponseHandle = std::unique_ptr<MHD_Response, FreeResponse>;

/// Queues `response` with the status and headers of `words`. MHD_NO, which ends the connection, if memory ran out.
MHD_Result queue(MHD_Connection* connection, ResponseHandle response, const HttpResponse& words) {
  if (!response) return MHD_NO;
  if (!words.type.empty()) MHD_add_response_header(response.get(), MHD_HTTP_HEADER_CONTENT_TYPE, words.type.c_str());
  for (const auto& [name, value] : words.headers)
    MHD_add_response_header(response.get(), name.c_str(), value.c_str());  // not if it has line breaks
  return MHD_queue_response(connection, static_cast<unsigned>(words.status), response.get());
}

MHD_Result queue_whole(MHD_Connection* connection, const HttpResponse& words) {
  auto held = std::make_unique<std::shared_ptr<const std::string>>(words.body);
  const std::string& body = **held;
  // The library takes bytes that it only reads as void*.
  ResponseHandle response(MHD_create_response_from_buffer_with_free_callback_cls(
      body.size(), const_cast<char*>(body.data()),
      [](void* text) { delete static_cast<std::shared_ptr<const std::string>*>(text); }, held.get()));
  if (response) held.release();  // NOLINT: the response deletes it
  return queue(connection, std::move(response), words);
}

int fd_of(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/// True if the client sends no more, and all that it sent is read.
bool has_hung_up(int fd) {
  char byte = 0;
  return ::recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

MHD_Result keep_header(void* to, MHD_ValueKind, const char* name, const char* value) {
  std::string key = name;
  std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
  (*static_cast<std::map<std::string, std::string>*>(to))[key] = value ? value : "";
  return MHD_YES;
}

}  // namespace

struct HttpServer::Parts {
  struct Client {
    Clock::time_point since = Clock::now();  // it has owed us something: a request, or to read an answer
    bool is_waiting = false;                 // for a handler's answer
    bool is_answered = false;                // it has to read the answer
  };

  /// One request and its answer. The server's thread and the handler's share it, under the mutex of Parts.
  struct Exchange : HttpReply {
    Exchange(Parts& owner, MHD_Connection* from, int socket) : server(owner), connection(from), fd(socket) {}

    void send(HttpResponse response) override {
      const std::lock_guard lock(server.mutex);
      if (!whole && !streams) whole = std::move(response);
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
      if (connection) unsent.append(text);
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

    /// The next part of the stream, asked for when the connection can send.
    ssize_t read(char* to, size_t size) {
      const std::lock_guard lock(server.mutex);
      if (server.drops_all) return MHD_CONTENT_READER_END_WITH_ERROR;
      if (unsent.empty() && is_answered) return MHD_CONTENT_READER_END_OF_STREAM;
      if (unsent.empty()) suspend();
      const size_t count = std::min(size, unsent.size());
      unsent.copy(to, count);
      unsent.erase(0, count);
      return static_cast<ssize_t>(count);
    }

    Parts& server;
    MHD_Connection* connection;  // null: it has closed, or serves its next request
    const int fd;
    HttpRequest request;
    std::optional<HttpResponse> refusal;
    size_t max_body = 0, body_bytes = 0, swallowed_bytes = 0;
    bool is_handed_over = false, is_answered = false;  // to a handler; by it
    bool is_suspended = false, streams = false;
    std::optional<HttpResponse> whole;
    std::string stream_type, unsent;
  };
  using Held = std::shared_ptr<Exchange>;

  Parts(ServerLimits bounds, HttpHandlers called) : limits(bounds), handlers(std::move(called)) {}

  void start(int listener) {
    num_places = std::min(limits.max_connections, places_for_descriptors() / 2);
    daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | (is_v6(listener) ? MHD_USE_IPv6 : 0), 0, nullptr,
        nullptr, &on_request, this, MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(num_places), MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMaxHeadBytes,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, &on_completed, this, MHD_OPTION_NOTIFY_CONNECTION,
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
      return server.go_on(*static_cast<Held*>(*context), std::string_view(data, *size), *size);
    } catch (const std::exception&) {  // no memory: this connection ends, the others go on
      return MHD_NO;
    }
  }

  /// The answer is sent, or the connection is closed.
  static void on_completed(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
    const std::unique_ptr<Held> held(static_cast<Held*>(std::exchange(*context, nullptr)));
    if (!held) return;
    auto& server = *static_cast<Parts*>(self);
    Exchange& exchange = **held;
    const std::lock_guard lock(server.mutex);
    server.clients.at(exchange.fd) = Client();
    server.open.erase(&exchange);
    if (!exchange.is_handed_over) server.drop_body(exchange);
    exchange.connection = nullptr;
    server.changed.notify_all();
  }

  static void on_connection(void* self, MHD_Connection* connection, void**, MHD_ConnectionNotificationCode code) {
    auto& server = *static_cast<Parts*>(self);
    const std::lock_guard lock(server.mutex);
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
      server.clients.emplace(fd_of(connection), Client());
    else
      server.clients.erase(fd_of(connection));
  }

  static ssize_t read_stream(void* held, uint64_t, char* to, size_t size) {
    return (*static_cast<Held*>(held))->read(to, size);
  }

  static void free_stream(void* held) { const std::unique_ptr<Held> owner(static_cast<Held*>(held)); }

  /// The head has arrived.
  MHD_Result begin(MHD_Connection* connection, const char* path, const char* method, void** context) {
    const auto exchange = std::make_shared<Exchange>(*this, connection, fd_of(connection));
    *context = new Held(exchange);  // NOLINT: on_completed takes it
    const std::lock_guard lock(mutex);
    open.insert(exchange.get());
    HttpRequest& request = exchange->request;
    request.method = method;
    request.path = path;
    MHD_get_connection_values(connection, MHD_HEADER_KIND, &keep_header, &request.headers);
    exchange->refusal = handlers.admit(request, exchange->max_body);
    const std::string& coding = request.header("content-encoding");
    if (!exchange->refusal && !coding.empty() && coding != "identity")
      exchange->refusal = handlers.refuse(415, "compressed bodies are not read");
    if (!exchange->refusal && request.content_length() > exchange->max_body) exchange->refusal = too_large(*exchange);
    // A client that asks before it sends the body need not send it.
    if (exchange->refusal && !request.header("expect").empty()) return queue_whole(connection, *exchange->refusal);
    return MHD_YES;
  }

  HttpResponse too_large(const Exchange& exchange) const {
    return handlers.refuse(413, fmt::format("the body is larger than {} bytes", exchange.max_body));
  }

  /// More of the body has arrived, or all of it, or the handler has answered.
  MHD_Result go_on(const Held& exchange, std::string_view data, size_t& size) {
    const std::lock_guard lock(mutex);
    if (drops_all) return MHD_NO;
    if (!data.empty()) {
      size = 0;
      return take(*exchange, data) ? MHD_YES : MHD_NO;
    }
    if (exchange->refusal) return queue_whole(exchange->connection, *exchange->refusal);
    if (exchange->whole) return queue_whole(exchange->connection, *exchange->whole);
    if (exchange->streams) return queue_stream(exchange);
    if (exchange->is_handed_over) {
      exchange->suspend();
      return MHD_YES;
    }
    if (num_answering >= limits.max_answering || stops)
      return queue_whole(exchange->connection, handlers.refuse(503, "too many requests are being answered; try again"));
    hand_over(exchange);
    return MHD_YES;
  }

  /// Keeps the next part of a body, or drops it where the request is refused. False: the connection must end.
  bool take(Exchange& exchange, std::string_view data) {
    if (!exchange.refusal && exchange.body_bytes + data.size() > exchange.max_body) {
      exchange.refusal = too_large(exchange);
      drop_body(exchange);
    }
    if (num_body_bytes + data.size() > limits.max_body_bytes) refuse_largest();
    if (exchange.refusal) return (exchange.swallowed_bytes += data.size()) <= kMaxSwallowedBytes;
    if (exchange.body_bytes == 0)
      exchange.request.body.reserve(exchange.request.content_length());  // not twice as much
    exchange.body_bytes += data.size();
    num_body_bytes += data.size();
    exchange.request.body.append(data);
    return true;
  }

  void drop_body(Exchange& exchange) {
    num_body_bytes -= std::exchange(exchange.body_bytes, 0);
    exchange.request.body = std::string();
  }

  /// Bodies take too much together: the largest that still arrives makes room.
  void refuse_largest() {
    Exchange* largest = nullptr;
    for (Exchange* each : open)
      if (!each->is_handed_over && (!largest || each->body_bytes > largest->body_bytes)) largest = each;
    largest->refusal = handlers.refuse(503, "too many large requests at once; try again");
    drop_body(*largest);
  }

  void hand_over(const Held& exchange) {
    std::thread([this, exchange] {  // its end waits for the mutex
      try {
        handlers.answer(std::move(exchange->request), *exchange);
      } catch (const std::exception& error) {
        exchange->send(handlers.refuse(500, error.what()));
      }
      end(*exchange);
    })
        .detach();
    exchange->is_handed_over = true;
    clients.at(exchange->fd).is_waiting = true;
    exchange->suspend();
    ++num_answering;
  }

  /// The handler has returned. Its thread uses nothing of the server after this.
  void end(Exchange& exchange) {
    const std::lock_guard lock(mutex);
    if (!exchange.whole && !exchange.streams) exchange.whole = handlers.refuse(500, "the request was not answered");
    exchange.is_answered = true;
    if (exchange.connection) clients.at(exchange.fd) = {.is_answered = true};
    exchange.resume();
    drop_body(exchange);
    --num_answering;
    changed.notify_all();
  }

  static MHD_Result queue_stream(const Held& exchange) {
    auto held = std::make_unique<Held>(exchange);
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
    while (!is_over) {
      changed.wait_for(lock, kWatch);
      close_slow();
    }
  }

  /// Closes connections that have owed us something for request_s or will never send it and, when connections run out,
  /// those that have owed it for longest.
  void close_slow() {
    static constexpr std::string_view kTimeout = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n";
    std::vector<std::pair<Clock::time_point, int>> slow;
    for (const auto& [fd, client] : clients)
      if (!client.is_waiting) slow.emplace_back(client.since, fd);
    std::ranges::sort(slow);
    const int64_t too_many = std::ssize(clients) - int64_t{num_places} * 9 / 10;
    const auto oldest = Clock::now() - seconds(limits.request_s);
    for (int64_t i = 0; i < std::ssize(slow); ++i) {
      const auto& [since, fd] = slow[static_cast<size_t>(i)];
      const bool is_answered = clients.at(fd).is_answered, has_left = !is_answered && has_hung_up(fd);
      if (i >= too_many && since >= oldest && !has_left) continue;
      if (!is_answered) ::send(fd, kTimeout.data(), kTimeout.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      ::shutdown(fd, SHUT_RDWR);
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex);
      stops = true;
    }
    if (const int listener = MHD_quiesce_daemon(daemon); listener >= 0) ::close(listener);
    std::unique_lock lock(mutex);
    const auto is_arriving = [](const Exchange* exchange) { return !exchange->is_handed_over; };
    changed.wait_for(lock, seconds(limits.stop_s),
                     [&] { return num_answering == 0 && std::ranges::all_of(open, is_arriving); });
    drops_all = true;
    for (Exchange* exchange : open) exchange->resume();
    for (const auto& [fd, client] : clients) ::shutdown(fd, SHUT_RDWR);
    changed.wait(lock, [&] { return num_answering == 0; });
    is_over = true;
    changed.notify_all();
    lock.unlock();
    watching.join();
    MHD_stop_daemon(daemon);
  }

  const ServerLimits limits;
  const HttpHandlers handlers;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int, Client> clients;  // by descriptor
  std::set<Exchange*> open;       // requests whose connection waits for an answer
  size_t num_body_bytes = 0;      // of requests that arrive or are being answered
  int num_answering = 0;          // handlers that run
  int num_places = 0;             // for connections
  bool stops = false, drops_all = false, is_over = false;
  MHD_Daemon* daemon = nullptr;
  std::thread watching;
  int port = 0;
};

HttpServer::HttpServer(const HttpAddress& address, ServerLimits limits, HttpHandlers handlers)
    : parts_(std::make_unique<Parts>(limits, std::move(handlers))) {
  const int listener = listen_on(address.host, address.port);
  if (listener < 0)
    throw user_error("{} {}: is taken, or {} is no address of this machine; 0 is a free port", address.port_key,
                     address.port, address.host);
  parts_->port = port_of(listener);
  parts_->start(listener);
}

HttpServer::~HttpServer() {
  parts_->stop();
}

int HttpServer::port() const {
  return parts_->port;
}

}  // namespace roll
