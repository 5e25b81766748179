#include "http/server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.h"

namespace roll {

namespace {

using Catch::Contains;

HttpResponse text(int status, const std::string& body) {
  return HttpResponse::make(status, "text/plain", body);
}

constexpr int64_t kFlood = 1000, kPiece = 20'000;  // of a large stream: pieces, and the bytes of one

/// Answers with the body's size; /stream counts to 3, /flood sends much, /large and /shared 2000 bytes, /late comes
/// after more than request_s, /wait and /drop return when the client has gone or the server stops.
struct Echo {
  std::atomic<int> num_answered = 0, num_gone = 0;
  std::atomic<bool> is_pausing = false;
  const std::shared_ptr<const std::string> shared = std::make_shared<const std::string>(2000, 'x');
  ServerLimits limits{.max_connections = 20, .request_s = 0.5, .stop_s = 0.2};
  std::optional<HttpServer> server;

  void listen() {
    server.emplace(HttpAddress{.host = "127.0.0.1", .port = 0, .port_key = "--port"}, limits,
                   HttpHandlers{.admit = [this](const HttpRequest& head) -> Admission {
                                  if (head.header("authorization") != "key") return {.response = text(401, "no key")};
                                  if (head.path == "/pause") {
                                    is_pausing = true;
                                    std::this_thread::sleep_for(std::chrono::milliseconds(300));
                                  }
                                  return {.max_body = 1000,
                                          .handler = [this](const HttpRequest& request, HttpReply& reply) {
                                            answer(request, reply);
                                          }};
                                },
                                .refuse = [](int status, const std::string& why) { return text(status, why); }});
  }

  void answer(const HttpRequest& request, HttpReply& reply) {
    ++num_answered;
    if (request.path == "/wait" || request.path == "/drop") {
      if (request.path == "/drop") reply.drop_body();
      while (!reply.is_gone()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++num_gone;
    } else if (request.path == "/stream") {
      reply.begin_stream("text/event-stream");
      for (const char* part : {"one ", "two ", "three"}) reply.write(part);
    } else if (request.path == "/flood") {
      reply.begin_stream("text/event-stream");
      for (int64_t i = 0; i < kFlood && !reply.is_gone(); ++i) reply.write(std::string(kPiece, 'x'));
    } else if (request.path == "/large") {
      reply.send(text(200, *shared));
    } else if (request.path == "/shared") {
      reply.send({.status = 200, .type = "text/plain", .body = shared, .headers = {}});
    } else if (request.path != "/nothing") {
      if (request.path == "/late") std::this_thread::sleep_for(std::chrono::milliseconds(1200));
      reply.send(text(200, std::to_string(request.body.size()) + " of " + request.method));
    }
  }
};

/// One connection to the server.
class RawClient {
 public:
  explicit RawClient(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    REQUIRE(::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  /// False: the connection has ended.
  bool send(const std::string& text) const {
    return ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  /// What comes until it holds `end`, or the connection ends.
  std::string receive(const std::string& end = "") const {
    std::string all;
    char buffer[4096];
    while (end.empty() || all.find(end) == std::string::npos) {
      const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) return all;
      all.append(buffer, static_cast<size_t>(n));
    }
    return all;
  }

 private:
  int fd_;
};

std::string request(const std::string& line, const std::string& headers = "", const std::string& body = "") {
  return line + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: key\r\n" + headers + "\r\n" + body;
}

std::string with_length(const std::string& body) {
  return "Content-Length: " + std::to_string(body.size()) + "\r\n";
}

bool becomes(const std::function<bool()>& is_so) {
  for (const Stopwatch watch; watch.seconds() < 20; std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    if (is_so()) return true;
  return false;
}

}  // namespace

TEST_CASE("requests are answered one after the other on a connection, whole or as a stream", "[http]") {
  Echo echo;
  echo.listen();
  const RawClient wire(echo.server->port());
  wire.send(request("POST /x", with_length("hello"), "hello"));
  CHECK_THAT(wire.receive("5 of POST"), Contains("200 OK"));
  wire.send(request("POST /x", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"));
  CHECK_THAT(wire.receive("7 of POST"), Contains("200 OK"));
  wire.send(request("GET /stream"));
  CHECK_THAT(wire.receive("0\r\n\r\n"), Contains("text/event-stream") && Contains("three"));
  wire.send(request("GET /nothing"));
  CHECK_THAT(wire.receive("was not answered"), Contains("500"));
}

TEST_CASE("a refusal is decided by the head, and the connection goes on behind its body", "[http]") {
  Echo echo;
  echo.listen();
  const RawClient wire(echo.server->port());
  const std::string large(5000, 'x');
  wire.send("POST /x HTTP/1.1\r\nHost: a\r\n" + with_length(large) + "\r\n" + large);
  CHECK_THAT(wire.receive("no key"), Contains("401"));
  for (const std::string& framed :
       {request("POST /x", with_length(large), large),
        request("POST /x", "Transfer-Encoding: chunked\r\n", "1388\r\n" + large + "\r\n0\r\n\r\n")}) {
    wire.send(framed);
    CHECK_THAT(wire.receive("larger than 1000 bytes"), Contains("413"));
  }
  wire.send(request("POST /x", "Content-Encoding: gzip\r\n" + with_length("abc"), "abc"));
  CHECK_THAT(wire.receive("compressed"), Contains("415"));
  CHECK(echo.num_answered == 0);
  wire.send(request("GET /x"));
  CHECK_THAT(wire.receive("0 of GET"), Contains("200 OK"));
  const RawClient asking(echo.server->port());  // whether to send its body
  asking.send(request("POST /x", "Expect: 100-continue\r\nContent-Length: 5000\r\n"));
  CHECK_THAT(asking.receive(), Contains("413") && !Contains("100 Continue"));
}

TEST_CASE("a refused body is read to its end, but not without end", "[http]") {
  Echo echo;
  echo.limits.request_s = 100;
  echo.listen();
  const RawClient wire(echo.server->port());
  wire.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 300000000\r\n\r\n");
  const std::string piece(1 << 20, 'x');
  int num_sent = 0;
  while (num_sent < 250 && wire.send(piece)) ++num_sent;
  CHECK(num_sent >= 64);
  CHECK(num_sent < 250);
}

TEST_CASE("heads have a largest size", "[http]") {
  Echo echo;
  echo.listen();
  const RawClient wire(echo.server->port());
  wire.send("GET /x HTTP/1.1\r\nX: " + std::string(100'000, 'x'));
  CHECK_THAT(wire.receive(), Contains("431") || Contains("413"));
}

TEST_CASE("bodies have a largest size together, and the largest makes room", "[http]") {
  Echo echo;
  echo.limits.max_body_bytes = 1500;
  echo.limits.request_s = 100;
  echo.listen();
  const RawClient hog(echo.server->port()), other(echo.server->port()), third(echo.server->port());
  const auto have_arrived = [&] {  // whatever was sent before
    third.send(request("GET /x"));
    CHECK_THAT(third.receive("0 of GET"), Contains("200 OK"));
  };
  hog.send(request("POST /x", "Content-Length: 1000\r\n", std::string(990, 'x')));
  have_arrived();
  other.send(request("POST /x", "Content-Length: 900\r\n", std::string(800, 'x')));
  have_arrived();
  hog.send(std::string(10, 'x'));
  CHECK_THAT(hog.receive("too many large"), Contains("503"));
  other.send(std::string(100, 'x'));
  CHECK_THAT(other.receive("900 of POST"), Contains("200 OK"));
}

TEST_CASE("bodies that handlers keep leave room for small ones, and for all once they are dropped", "[http]") {
  Echo echo;
  echo.limits.max_body_bytes = 1500;
  echo.limits.max_answering = 5;  // a share of 300 bytes
  echo.listen();
  const auto ask = [&](const RawClient& wire, const std::string& path, size_t size) {
    const std::string body(size, 'x');
    wire.send(request("POST " + path, with_length(body), body));
  };
  const RawClient other(echo.server->port());
  {
    const RawClient first(echo.server->port()), second(echo.server->port());
    ask(first, "/wait", 900);
    ask(second, "/wait", 500);
    REQUIRE(becomes([&] { return echo.num_answered == 2; }));
    ask(other, "/x", 900);
    CHECK_THAT(other.receive("try again"), Contains("503"));
    ask(other, "/x", 300);
    CHECK_THAT(other.receive("300 of POST"), Contains("200 OK"));
  }
  REQUIRE(becomes([&] { return echo.num_gone == 2; }));
  const RawClient third(echo.server->port());
  ask(third, "/drop", 900);
  REQUIRE(becomes([&] { return echo.num_answered == 4; }));
  REQUIRE(becomes([&] {
    ask(other, "/x", 900);
    return other.receive("\r\n\r\n").find("200 OK") != std::string::npos;
  }));
}

TEST_CASE("streams that are not read have a largest size together, and the largest ends", "[http]") {
  Echo echo;
  echo.limits.max_unsent_bytes = 1 << 20;
  echo.limits.request_s = 100;
  echo.listen();
  const RawClient unread(echo.server->port()), reader(echo.server->port());
  unread.send(request("GET /flood"));
  REQUIRE(becomes([&] { return echo.num_answered == 1; }));
  reader.send(request("GET /stream"));
  CHECK_THAT(reader.receive("0\r\n\r\n"), Contains("three"));
  const std::string heard = unread.receive();
  CHECK(std::ranges::count(heard, 'x') < kFlood * kPiece);
}

TEST_CASE("an answer that is larger than all that may be unread is none, unless somebody keeps it anyway", "[http]") {
  Echo echo;
  echo.limits.max_unsent_bytes = 1000;
  echo.listen();
  const RawClient wire(echo.server->port());
  wire.send(request("GET /large"));
  CHECK_THAT(wire.receive("except for streams"), Contains("413") && Contains("has 2000 bytes; at most 1000"));
  wire.send(request("GET /shared"));
  CHECK_THAT(wire.receive(*echo.shared), Contains("200 OK"));
}

TEST_CASE("a client may wait for its answer for long, and must then fetch it", "[http]") {
  Echo echo;
  echo.listen();
  const RawClient waiting(echo.server->port()), unread(echo.server->port());
  unread.send(request("GET /flood"));
  waiting.send(request("GET /late"));
  CHECK_THAT(waiting.receive("0 of GET"), Contains("200 OK"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1000));
  const std::string heard = unread.receive("0\r\n\r\n");
  CHECK(std::ranges::count(heard, 'x') < kFlood * kPiece);
}

TEST_CASE("a request whose length is in doubt is refused, and nothing behind it is read", "[http]") {
  Echo echo;
  echo.listen();
  const std::string smuggled = request("GET /smuggled");
  for (const char* headers :
       {"Content-Length: 5\r\nContent-Length: 50\r\n", "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", "Content-Length : 5\r\n",
        "Transfer-Encoding : chunked\r\n", "Transfer-Encoding:\r\n chunked\r\n", "Content-Length: 1\r\n 0\r\n"})
    for (const std::string method : {"POST", "PUT", "GET"}) {
      CAPTURE(method, headers);
      const RawClient wire(echo.server->port());
      wire.send(request(method + " /x", headers, "0\r\n\r\n" + smuggled));
      CHECK_THAT(wire.receive(), Contains("400 Bad Request") && !Contains("200 OK"));
    }
  CHECK(echo.num_answered == 0);
}

TEST_CASE("a client that leaves in the middle of a request is let go at once", "[http]") {
  Echo echo;
  echo.limits.request_s = 100;
  echo.limits.max_connections = 1000;
  echo.listen();
  const auto num_descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = num_descriptors();
  const RawClient held_up(echo.server->port());
  held_up.send(request("GET /pause"));  // so that the others' ends come together with what they send
  REQUIRE(becomes([&] { return echo.is_pausing.load(); }));
  for (const std::string& part :
       {std::string(), std::string("GET /x HT"), request("POST /x", "Content-Length: 9\r\n", "x"),
        request("POST /x", "Transfer-Encoding: chunked\r\n", "5\r\nx")})
    for (int i = 0; i < 20; ++i) RawClient(echo.server->port()).send(part);
  CHECK(becomes([&] { return num_descriptors() <= before + 2; }));  // both sides of the first one
}

TEST_CASE("a request that does not arrive in time ends its connection", "[http]") {
  Echo echo;
  echo.listen();
  const RawClient silent(echo.server->port()), slow(echo.server->port()), in_body(echo.server->port());
  slow.send("GET /x HTTP/1.1\r\nX: y\r\n");
  in_body.send(request("POST /x", "Content-Length: 10\r\n", "{"));
  for (const RawClient* wire : {&silent, &slow, &in_body}) CHECK_THAT(wire->receive(), Contains("408"));
}

TEST_CASE("where connections run out, those that kept the server waiting longest go first", "[http]") {
  Echo echo;
  echo.limits.request_s = 100;
  echo.listen();
  std::vector<std::unique_ptr<RawClient>> crowd;
  for (int i = 0; i < 60; ++i) crowd.push_back(std::make_unique<RawClient>(echo.server->port()));
  const RawClient honest(echo.server->port());
  honest.send(request("GET /x"));
  CHECK_THAT(honest.receive("0 of GET"), Contains("200 OK"));
  CHECK_THAT(crowd.front()->receive(), Contains("408"));
}

TEST_CASE("a handler learns that its client has gone, or that the server stops", "[http]") {
  Echo echo;
  echo.listen();
  {
    const RawClient wire(echo.server->port());
    wire.send(request("GET /wait"));
    REQUIRE(becomes([&] { return echo.num_answered == 1; }));
    wire.send("GET");  // which nobody reads
  }
  CHECK(becomes([&] { return echo.num_gone == 1; }));
  const RawClient wire(echo.server->port()), silent(echo.server->port());
  wire.send(request("GET /wait"));
  REQUIRE(becomes([&] { return echo.num_answered == 2; }));
  echo.server.reset();
  CHECK(echo.num_gone == 2);
}

TEST_CASE("requests beyond those that may be answered at once are turned away", "[http]") {
  Echo echo;
  echo.limits.max_answering = 1;
  echo.listen();
  const RawClient first(echo.server->port()), second(echo.server->port());
  first.send(request("GET /wait"));
  REQUIRE(becomes([&] { return echo.num_answered == 1; }));
  second.send(request("GET /x"));
  CHECK_THAT(second.receive("try again"), Contains("503"));
}

TEST_CASE("only a Host that is this machine's, with or without a port, names it", "[http]") {
  for (const char* own : {"localhost", "127.0.0.1", "[::1]", "localhost:80", "127.0.0.1:8000", "[::1]:1"})
    CHECK(names_this_machine(own));
  for (const char* other : {"", "evil.com", "localhost.evil.com", "127.0.0.1.evil.com", "127.0.0.1:80@evil.com",
                            "[::1].evil.com", "localhost:80x", "evil.com:127.0.0.1", "::1"})
    CHECK_FALSE(names_this_machine(other));
}

TEST_CASE("a port that is taken is said", "[http]") {
  Echo echo;
  echo.listen();
  const HttpAddress same{.host = "127.0.0.1", .port = echo.server->port(), .port_key = "--port"};
  CHECK_THROWS_WITH(HttpServer(same, {}, {}), Contains("--port") && Contains("is taken"));
  CHECK_THROWS_WITH(HttpServer({.host = "192.0.2.1", .port = 0, .port_key = "--port"}, {}, {}),
                    Contains("is not an address of this machine"));
}

}  // namespace roll
