#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "error_of.h"
#include "serve/server.h"
#include "text/tiny_tokenizer.h"
#include "text/tokenizer.h"

namespace roll {

namespace {

using Catch::Contains;

struct Model {
  Tokenizer tokenizer =
      Tokenizer::parse(make_byte_level_tokenizer({.words = {}, .more_special_tokens = {}}).dump(), "tiny");
  ServedModel served{.name = "m", .tokenizer = tokenizer, .vocab_size = tokenizer.vocab_size(), .max_length = 200};
};

/// Takes no request.
struct FullSink : CompletionSink {
  std::shared_ptr<PendingAnswer> submit(std::shared_ptr<const CompletionRequest>) override { return nullptr; }
  void cancel(const std::shared_ptr<PendingAnswer>&) override {}
};

/// Has one session, and gives it to whoever asks once `may_give`.
struct SlowDesk : SessionDesk {
  std::optional<Json> take(const std::string&, std::chrono::milliseconds) override {
    is_asked = true;
    while (!may_give) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Json{{"id", "s"}};
  }
  void give_back(const std::string& id) override { is_given_back = id == "s"; }
  std::shared_ptr<CompletionSink> find(const std::string&, const std::string&) override { return nullptr; }
  bool end(const std::string&, const std::string&, const Json&) override { return false; }

  std::atomic<bool> is_asked = false, may_give = false, is_given_back = false;
};

ServerSettings settings_with(const std::string& key) {
  return {.port = 0, .api_key = key, .max_body_bytes = 1000, .timeout_s = 20};
}

/// A connection that has sent this request.
int asking(int port, const std::string& text) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  return fd;
}

/// The status of GET `path`.
std::string status_of(const CompletionServer& server, const std::string& path, const std::string& headers) {
  const int fd = asking(server.port(), "GET " + path + " HTTP/1.1\r\nConnection: close\r\n" + headers + "\r\n");
  char status[12] = {};  // "HTTP/1.1 200"
  const ssize_t count = ::recv(fd, status, sizeof status, MSG_WAITALL);
  ::close(fd);
  return count == sizeof status ? std::string(status + 9, 3) : "none";
}

bool becomes(const std::atomic<bool>& flag) {
  for (int i = 0; i < 4000 && !flag; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return flag;
}

}  // namespace

TEST_CASE("who has no key learns nothing but that the server lives", "[serve]") {
  const Model model;
  FullSink sink;
  const CompletionServer server(model.served, sink, settings_with("key"));
  const std::string host = "Host: my.server\r\n", key = host + "Authorization: Bearer key";
  CHECK(status_of(server, "/health", host) == "200");
  for (const std::string path : {"/v1/models", "/v1/models/other", "/nowhere"})
    for (const std::string& wrong : {host, key + "x\r\n", key + ".x\r\n", host + "Authorization: key\r\n"})
      CHECK(status_of(server, path, wrong) == "401");
  CHECK(status_of(server, "/v1/models", key + "\r\n") == "200");
  CHECK(status_of(server, "/v1/models/other", key + "\r\n") == "404");
  CHECK(status_of(server, "/nowhere", key + "\r\n") == "404");
}

TEST_CASE("without a key only this machine asks, and by its own name", "[serve]") {
  const Model model;
  FullSink sink;
  const CompletionServer server(model.served, sink, settings_with(""));
  CHECK(status_of(server, "/v1/models", "Host: localhost\r\n") == "200");
  CHECK(status_of(server, "/v1/models", "Host: my.server\r\n") == "403");
  ServerSettings open = settings_with("");
  open.host = "0.0.0.0";
  CHECK_THAT(testing::error_of([&] { CompletionServer(model.served, sink, open); }), Contains("without a key"));
}

TEST_CASE("a session that is given to a client that has gone is given back", "[serve]") {
  const Model model;
  SlowDesk desk;
  const CompletionServer server(model.served, desk, settings_with(""));
  const int client =
      asking(server.port(), "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  REQUIRE(becomes(desk.is_asked));
  ::close(client);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  desk.may_give = true;
  CHECK(becomes(desk.is_given_back));
}

}  // namespace roll
