#include "http/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <thread>

#include "base/error.h"

namespace roll {

namespace {

/// Accepts connections one after the other, reads each request, and writes what it is told: raw bytes, then closes.
class RawServer {
 public:
  explicit RawServer(std::function<std::string(const std::string& request)> answer) : answer_(std::move(answer)) {
    listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listening_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listening_, 8) == 0);
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~RawServer() {
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }

  std::string url() const { return fmt::format("http://127.0.0.1:{}/v1", port_); }

 private:
  void serve() {
    for (int socket = ::accept(listening_, nullptr, nullptr); socket >= 0;
         socket = ::accept(listening_, nullptr, nullptr)) {
      std::string request;
      char buffer[4096];
      while (request.find("\r\n\r\n") == std::string::npos || !request.ends_with("}")) {
        const ssize_t count = ::read(socket, buffer, sizeof buffer);
        if (count <= 0) break;
        request.append(buffer, static_cast<size_t>(count));
      }
      const std::string answer = answer_(request);
      for (size_t sent = 0; sent < answer.size();) {
        const ssize_t count = ::send(socket, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
        if (count <= 0) break;
        sent += static_cast<size_t>(count);
      }
      ::close(socket);
    }
  }

  std::function<std::string(const std::string&)> answer_;
  int listening_ = -1;
  uint16_t port_ = 0;
  std::thread thread_;
};

HttpAnswer answer_to(const std::string& raw, const HttpLimits& limits = {}) {
  const RawServer server([&](const std::string&) { return raw; });
  const Cancellation ending;
  return HttpClient(server.url()).post_json("{}", limits, ending);
}

using Outcome = HttpAnswer::Outcome;

}  // namespace

TEST_CASE("a question goes out as JSON with its key, and the answer comes back whole", "[http]") {
  std::string seen;
  const RawServer server([&](const std::string& request) {
    seen = request;
    return "HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\n{\"a\"}";
  });
  const Cancellation ending;
  const HttpAnswer answer = HttpClient(server.url(), "sk-1").post_json(R"({"b": 2})", {}, ending);
  CHECK(answer.outcome == Outcome::kAnswered);
  CHECK(answer.status == 429);
  CHECK(answer.body == "{\"a\"}");
  CHECK(answer.retry_after_s == 7);
  CHECK_THAT(seen, Catch::StartsWith("POST /v1 HTTP/1.1\r\n") && Catch::Contains("Authorization: Bearer sk-1\r\n") &&
                       Catch::Contains("Content-Type: application/json\r\n") && !Catch::Contains("Expect") &&
                       Catch::EndsWith("\r\n\r\n{\"b\": 2}"));
}

TEST_CASE("one client asks again and again", "[http]") {
  int64_t count = 0;
  const RawServer server([&](const std::string&) {
    const std::string body = std::to_string(++count);
    return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\n" + body;
  });
  const Cancellation ending;
  HttpClient client(server.url());
  for (const char* body : {"1", "2", "3"}) CHECK(client.post_json("{}", {}, ending).body == body);
}

TEST_CASE("a redirect is an answer, and not followed", "[http]") {
  const HttpAnswer answer = answer_to("HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
  CHECK(answer.outcome == Outcome::kAnswered);
  CHECK(answer.status == 307);
}

TEST_CASE("an answer that breaks off, is none, or is too large is not taken", "[http]") {
  CHECK(answer_to("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"a\"").outcome == Outcome::kBroken);
  CHECK(answer_to("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{").outcome == Outcome::kBroken);
  CHECK(answer_to("").outcome == Outcome::kBroken);
  CHECK(answer_to("hello\r\n\r\n").outcome == Outcome::kBroken);
  const std::string large(3000, 'x');
  const HttpAnswer answer = answer_to("HTTP/1.1 200 OK\r\n\r\n" + large, {.max_bytes = 2000});
  CHECK(answer.outcome == Outcome::kTooLarge);
  CHECK(answer.reason == "answered more than 2000 bytes");
  CHECK(answer_to("HTTP/1.1 200 OK\r\nA: " + large + "\r\n\r\n", {.max_bytes = 2000}).outcome == Outcome::kTooLarge);
  CHECK(answer_to("HTTP/1.1 200 OK\r\n\r\n" + large, {.max_bytes = 4000}).body == large);
}

TEST_CASE("a server that is not there is unreachable", "[http]") {
  const Cancellation ending;
  const HttpAnswer answer = HttpClient("http://127.0.0.1:1/v1", "sk-1").post_json("{}", {}, ending);
  CHECK(answer.outcome == Outcome::kUnreachable);
  CHECK_THAT(answer.reason, Catch::Contains("127.0.0.1") && !Catch::Contains("sk-1"));
}

TEST_CASE("a server that never answers is given up, by the limit or by the run's end", "[http]") {
  Cancellation gate;
  const RawServer server([&](const std::string&) {
    gate.sleep(60);
    return std::string();
  });
  HttpClient client(server.url());
  Cancellation ending;
  CHECK(client.post_json("{}", {.timeout_s = 0.1}, ending).outcome == Outcome::kTimeout);
  std::thread ender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ending.cancel();
  });
  CHECK(client.post_json("{}", {.timeout_s = 1000}, ending).outcome == Outcome::kCancelled);
  ender.join();
  gate.cancel();
}

TEST_CASE("addresses and keys that cannot be used are refused by their rule", "[http]") {
  CHECK_NOTHROW(check_http_url("https://host.example:8000/v1"));
  CHECK_NOTHROW(check_http_url("http://[::1]:8000"));
  for (const char* url : {"", "host", "host:80/v1", "ftp://host", "file:///etc/passwd", "http://", "http://a b"})
    CHECK_THROWS_WITH(check_http_url(url), Catch::Contains("must be a URL"));
  CHECK_THROWS_WITH(check_http_url("http://me@host"), Catch::Contains("user or password"));
  CHECK_THROWS_WITH(check_http_url("http://host/?a"), Catch::Contains("without ? and #"));
  CHECK_THROWS_WITH(check_http_url("http://host/#a"), Catch::Contains("without ? and #"));
  for (const char* key : {"a b", "a\r\nX: y", "\xc3\xa4"}) CHECK_THROWS_AS(HttpClient("http://host", key), UserError);
}

TEST_CASE("a cancellation wakes who sleeps, and can be taken back", "[http]") {
  Cancellation wish;
  CHECK(wish.sleep(-1));
  CHECK(wish.sleep(0.001));
  CHECK_FALSE(wish.is_cancelled());
  std::thread canceller([&] { wish.cancel(), wish.cancel(); });
  CHECK_FALSE(wish.sleep(1000));
  canceller.join();
  CHECK(wish.is_cancelled());
  CHECK_FALSE(wish.sleep(-1));
  wish.reset();
  CHECK_FALSE(wish.is_cancelled());
}

}  // namespace roll
