#include "serve/server.h"

#include <httplib.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/random.h"
#include "http/listener.h"
#include "serve/completion_answer.h"

namespace roll {

namespace {

using std::chrono::milliseconds;

constexpr int kPatience_s = 10;        // with a client that says nothing
constexpr milliseconds kLook{200};     // for a client that has hung up
constexpr double kSessionWait_s = 10;  // for a session that may be taken
constexpr const char* kJson = "application/json";

/// What becomes an answer with that status.
struct Refusal {
  int status;
  const char* type;
  std::string message;
};

std::string error_body(const Refusal& refusal) {
  return to_line(
      {{"error", {{"message", refusal.message}, {"type", refusal.type}, {"param", nullptr}, {"code", nullptr}}}});
}

void refuse(httplib::Response& response, const Refusal& refusal) {
  response.status = refusal.status;
  if (refusal.status == 429 || refusal.status == 503) response.set_header("Retry-After", "1");
  response.set_content(error_body(refusal), kJson);
}

/// In a time that says nothing of where they differ.
bool are_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<unsigned char>(a[i] ^ b[i]);
  return different == 0;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string event(const Json& chunk) {
  return "data: " + to_line(chunk) + "\n\n";
}

/// One request on its way to its answer. Takes itself back where it ends early.
class Asked {
 public:
  Asked(CompletionRequest request, const ServedModel& model, std::shared_ptr<CompletionSink> sink, std::string id,
        double timeout_s)
      : request_(std::move(request)),
        sink_(std::move(sink)),
        answer_(request_, model, std::move(id), static_cast<int64_t>(wall_clock_s())),
        timeout_s_(timeout_s),
        pending_(sink_->submit(request_)) {}
  ~Asked() {
    if (pending_ && !answer_.is_whole()) sink_->cancel(pending_);
  }
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  bool is_taken() const { return pending_ != nullptr; }
  bool streams() const { return request_.streams; }
  const CompletionAnswer& answer() const { return answer_; }

  /// What is new; waits a little. Throws Refusal, Unavailable.
  std::vector<Json> hear() {
    std::vector<Json> chunks;
    for (ChoiceNews& news : pending_->take(kLook))
      for (Json& chunk : answer_.hear(std::move(news))) chunks.push_back(std::move(chunk));
    if (!answer_.is_whole() && watch_.seconds() > timeout_s_)
      throw Refusal{504, "timeout_error", fmt::format("the answer took longer than {:g} s", timeout_s_)};
    return chunks;
  }

 private:
  CompletionRequest request_;
  std::shared_ptr<CompletionSink> sink_;
  CompletionAnswer answer_;
  double timeout_s_;
  Stopwatch watch_;
  std::shared_ptr<PendingAnswer> pending_;
};

/// Writes what is new; false: the client has hung up.
bool write_events(Asked& asked, httplib::DataSink& sink) {
  std::string text;
  bool is_last = false;
  try {
    for (const Json& chunk : asked.hear()) text += event(chunk);
    is_last = asked.answer().is_whole();
    for (const Json& chunk : is_last ? asked.answer().usage_chunk() : std::vector<Json>()) text += event(chunk);
  } catch (const Refusal& refusal) {
    text += "data: " + error_body(refusal) + "\n\n";
    is_last = true;
  } catch (const Unavailable& unavailable) {
    text += "data: " + error_body({503, "server_error", unavailable.what()}) + "\n\n";
    is_last = true;
  }
  if (is_last) text += "data: [DONE]\n\n";
  if (text.empty() ? !sink.is_writable() : !sink.write(text.data(), text.size())) return false;
  if (is_last) sink.done();
  return true;
}

}  // namespace

struct CompletionServer::Parts {
  Parts(const ServedModel& served, std::shared_ptr<CompletionSink> requests, SessionDesk* sessions,
        ServerSettings given)
      : model(served), sink(std::move(requests)), desk(sessions), settings(std::move(given)) {}

  void complete(CompletionKind kind, const httplib::Request& request, httplib::Response& response,
                const httplib::ContentReader& reader) {
    answer_safely(response, [&] {
      const std::string text = hear(request, response, reader).body;
      std::shared_ptr<CompletionSink> asked_of = desk ? desk->find(request.matches[1]) : sink;
      if (!asked_of) throw no_session(request);
      const Json body = parse_json(text, "the body");
      CompletionRequest wanted = read_completion(kind, body, model);
      const std::string id =
          fmt::format("{}-{:016x}{:08x}", kind == CompletionKind::kChat ? "chatcmpl" : "cmpl", start, ++num_asked);
      const auto asked = std::make_shared<Asked>(std::move(wanted), model, std::move(asked_of), id, settings.timeout_s);
      if (!asked->is_taken()) throw Refusal{429, "rate_limit_error", "too many requests wait already; try again"};
      if (asked->streams()) {
        response.set_chunked_content_provider(
            "text/event-stream", [asked](size_t, httplib::DataSink& sink) { return write_events(*asked, sink); });
        return;
      }
      while (!asked->answer().is_whole()) {
        asked->hear();
        if (!asked->answer().is_whole() && has_hung_up(request)) return;
      }
      response.set_content(to_line(asked->answer().whole()), kJson);
    });
  }

  /// Who asks: what stands behind the key and a point, mostly nothing. Throws Refusal: it may not ask.
  std::string admit(const httplib::Request& request) const {
    if (settings.api_key.empty()) {
      if (!names_this_machine(request)) throw Refusal{403, "permission_error", "the Host is not this machine"};
      return "";
    }
    const std::string said = request.get_header_value("Authorization"), key = "Bearer " + settings.api_key;
    const std::string rest = said.substr(std::min(said.size(), key.size()));
    if (!are_same(said.substr(0, key.size()), key) || !(rest.empty() || (desk && rest.front() == '.')))
      throw Refusal{401, "authentication_error", "the API key is missing or wrong (Authorization: Bearer ...)"};
    return rest.empty() ? "" : rest.substr(1);
  }

  static Refusal no_session(const httplib::Request& request) {
    return {404, "invalid_request_error",
            fmt::format("session {} is over, or was never taken", request.matches[1].str())};
  }

  struct Heard {
    std::string who, body;
  };
  /// The body of who may not ask is read too, as the connection goes on behind it. Throws Refusal.
  Heard hear(const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& reader) const {
    response.set_header("Connection", "close");  // while some of the body may lie before the next request
    Heard heard;
    std::optional<Refusal> refusal;
    try {
      heard.who = admit(request);
    } catch (const Refusal& why) {
      refusal = why;
    }
    try {
      heard.body = read_body(request, reader, !refusal);
    } catch (const Refusal& why) {
      throw refusal.value_or(why);
    }
    response.headers.erase("Connection");
    if (refusal) throw Refusal(*refusal);
    return heard;
  }

  std::string read_body(const httplib::Request& request, const httplib::ContentReader& reader, bool is_kept) const {
    if (request.is_multipart_form_data()) throw Refusal{415, "invalid_request_error", "the body must be JSON"};
    // httplib would wait for the connection's end.
    if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding")) return "";
    std::string body;
    int64_t num_read = 0;
    const bool is_read = reader([&](const char* data, size_t size) {  // compressed ones come here as they are opened
      num_read += static_cast<int64_t>(size);
      if (is_kept && num_read <= settings.max_body_bytes) body.append(data, size);
      return num_read <= settings.max_body_bytes;
    });
    if (num_read > settings.max_body_bytes)
      throw Refusal{413, "invalid_request_error",
                    fmt::format("the body is larger than {} bytes", settings.max_body_bytes)};
    if (!is_read) throw Refusal{400, "invalid_request_error", "the body could not be read"};
    return body;
  }

  template <class Answer>
  void answer_safely(httplib::Response& response, const Answer& answer) {
    try {
      answer();
    } catch (const Refusal& refusal) {
      refuse(response, refusal);
    } catch (const UnknownModel& error) {
      refuse(response, {404, "invalid_request_error", error.what()});
    } catch (const UserError& error) {
      refuse(response, {400, "invalid_request_error", error.what()});
    } catch (const Unavailable& error) {
      refuse(response, {503, "server_error", error.what()});
    } catch (const std::exception& error) {
      refuse(response, {500, "server_error", error.what()});
    }
  }

  void add_routes() {
    for (const auto& [path, kind] :
         {std::pair("/chat/completions", CompletionKind::kChat), std::pair("/completions", CompletionKind::kText)})
      server.Post(base() + path, [this, kind = kind](const httplib::Request& request, httplib::Response& response,
                                                     const httplib::ContentReader& reader) {
        complete(kind, request, response, reader);
      });
    server.Get("/health", [](const httplib::Request&, httplib::Response& response) {
      response.set_content(R"({"status":"ok"})", kJson);
    });
    const auto describe = [this] {
      return Json{{"id", model.name},
                  {"object", "model"},
                  {"created", static_cast<int64_t>(start_s)},
                  {"owned_by", "roll"},
                  {"max_model_len", model.max_length}};
    };
    server.Get(base() + "/models", [this, describe](const httplib::Request& request, httplib::Response& response) {
      answer_safely(response, [&] {
        admit(request);
        response.set_content(to_line({{"object", "list"}, {"data", Json::array({describe()})}}), kJson);
      });
    });
    server.Get(base() + "/models/(.+)", [this, describe](const httplib::Request& request, httplib::Response& response) {
      answer_safely(response, [&] {
        admit(request);
        if (request.matches[request.matches.size() - 1] != model.name)
          throw UnknownModel(fmt::format("only {} is served", model.name));
        response.set_content(to_line(describe()), kJson);
      });
    });
    if (desk) add_session_routes();
    server.set_error_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (!response.body.empty() || response.status == 204) return;
      const std::string message =
          response.status == 404
              ? fmt::format("there is no {} {}; POST {}/chat/completions and {}/completions, GET {}/models and /health",
                            request.method, request.path, shown_base(), shown_base(), shown_base())
              : "the request is no HTTP that is understood here";
      response.set_content(error_body({response.status, "invalid_request_error", message}), kJson);
    });
  }

  /// Before the paths of OpenAI's API.
  std::string base() const { return desk ? "/v1/sessions/([^/]+)" : "/v1"; }
  const char* shown_base() const { return desk ? "/v1/sessions/ID" : "/v1"; }

  void add_session_routes() {
    server.Post("/v1/sessions", [this](const httplib::Request& request, httplib::Response& response,
                                       const httplib::ContentReader& reader) {
      answer_safely(response, [&] {
        const std::string who = hear(request, response, reader).who;
        std::optional<Json> session;
        for (const Stopwatch watch; !session && watch.seconds() < kSessionWait_s && !has_hung_up(request);)
          session = desk->take(who, kLook);
        response.status = session ? 200 : 204;
        if (!session) return;
        const std::string id = session->at("id").get<std::string>();
        (*session)["base_url"] = fmt::format("http://{}/v1/sessions/{}", request.get_header_value("Host"), id);
        response.set_content(to_line(*session), kJson);
      });
    });
    server.Post(base() + "/reward", [this](const httplib::Request& request, httplib::Response& response,
                                           const httplib::ContentReader& reader) {
      answer_safely(response, [&] {
        const std::string text = hear(request, response, reader).body;
        if (!desk->end(request.matches[1], parse_json(text, "the body"))) throw no_session(request);
        response.set_content(R"({"status":"ok"})", kJson);
      });
    });
  }

  const ServedModel& model;
  const std::shared_ptr<CompletionSink> sink;
  SessionDesk* const desk;  // null: there are no sessions
  const ServerSettings settings;
  const double start_s = wall_clock_s();
  const uint64_t start = static_cast<uint64_t>(start_s * 1e6);
  std::atomic<uint32_t> num_asked = 0;
  httplib::Server server;
  int port = -1;
  std::thread listening;
};

CompletionServer::CompletionServer(const ServedModel& model, CompletionSink& sink, const ServerSettings& settings)
    : parts_(std::make_unique<Parts>(model, std::shared_ptr<CompletionSink>(std::shared_ptr<void>(), &sink), nullptr,
                                     settings)) {
  listen();
}

CompletionServer::CompletionServer(const ServedModel& model, SessionDesk& desk, const ServerSettings& settings)
    : parts_(std::make_unique<Parts>(model, nullptr, &desk, settings)) {
  listen();
}

void CompletionServer::listen() {
  const ServerSettings& settings = parts_->settings;
  if (settings.api_key.empty() && !is_loopback(settings.host))
    throw user_error(
        "--host {}: others could reach the server and need no key; set ROLL_API_KEY, or leave the host at 127.0.0.1",
        settings.host);
  parts_->add_routes();
  parts_->port = bind_listener(parts_->server, settings.host, settings.port, kPatience_s);
  if (parts_->port < 0)
    throw user_error("{} {}: is taken, or {} is no address of this machine; 0 is a free port", settings.port_key,
                     settings.port, settings.host);
  parts_->listening = std::thread([this] { parts_->server.listen_after_bind(); });
}

CompletionServer::~CompletionServer() {
  parts_->server.stop();
  if (parts_->listening.joinable()) parts_->listening.join();
}

int CompletionServer::port() const {
  return parts_->port;
}

}  // namespace roll
