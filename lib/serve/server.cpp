#include "serve/server.h"

#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/random.h"
#include "base/strangers_json.h"
#include "grammar/grammars.h"
#include "http/server.h"
#include "serve/completion_answer.h"

namespace roll {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds kCheckInterval{200};  // interval of checks for clients that hung up
constexpr double kSessionWait_s = 10;        // wait for an untaken session
constexpr size_t kLargeBody = 256 << 10;
constexpr const char* kJson = "application/json";

/// An error response with this status.
struct Refusal {
  int status;
  const char* type;
  std::string message;
};

std::string error_body(const Refusal& refusal) {
  return to_line(
      {{"error", {{"message", refusal.message}, {"type", refusal.type}, {"param", nullptr}, {"code", nullptr}}}});
}

HttpResponse json_response(const Json& body) {
  return HttpResponse::make(200, kJson, to_line(body));
}

HttpResponse error_response(const Refusal& refusal) {
  HttpResponse response = HttpResponse::make(refusal.status, kJson, error_body(refusal));
  if (refusal.status == 429 || refusal.status == 503) response.headers["Retry-After"] = "1";
  return response;
}

/// Error responses of the HTTP server itself.
HttpResponse error_response(int status, const std::string& why) {
  return error_response(Refusal{status, status >= 500 ? "server_error" : "invalid_request_error", why});
}

/// Compares in constant time, so that timing does not reveal the key.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
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

/// A request being answered. Its destructor cancels an unfinished one.
class ActiveRequest {
 public:
  ActiveRequest(std::shared_ptr<const CompletionRequest> request, const ServedModel& model,
                std::shared_ptr<CompletionSink> sink, std::string id, double timeout_s)
      : request_(std::move(request)),
        sink_(std::move(sink)),
        answer_(*request_, model, std::move(id), static_cast<int64_t>(wall_clock_s())),
        timeout_s_(timeout_s),
        pending_(sink_->submit(request_)) {}
  ~ActiveRequest() {
    if (pending_ && !answer_.is_whole()) sink_->cancel(pending_);
  }
  ActiveRequest(const ActiveRequest&) = delete;
  ActiveRequest& operator=(const ActiveRequest&) = delete;

  bool is_taken() const { return pending_ != nullptr; }
  bool streams() const { return request_->streams; }
  const CompletionAnswer& answer() const { return answer_; }

  /// Waits briefly and returns new chunks. Refusal: the answer took too long. Unavailable: nobody answers any more.
  std::vector<Json> take_chunks() {
    std::vector<Json> chunks;
    for (ChoiceNews& news : pending_->take(kCheckInterval))
      for (Json& chunk : answer_.add_news(std::move(news))) chunks.push_back(std::move(chunk));
    if (!answer_.is_whole() && watch_.seconds() > timeout_s_)
      throw Refusal{504, "timeout_error", fmt::format("the answer took longer than {:g} s", timeout_s_)};
    return chunks;
  }

 private:
  std::shared_ptr<const CompletionRequest> request_;
  std::shared_ptr<CompletionSink> sink_;
  CompletionAnswer answer_;
  double timeout_s_;
  Stopwatch watch_;
  std::shared_ptr<PendingAnswer> pending_;
};

ServerLimits server_limits(const ServerSettings& settings) {
  ServerLimits limits;
  limits.max_body_bytes = std::max(limits.max_body_bytes, 2 * static_cast<size_t>(settings.max_body_bytes));
  return limits;
}

ServerSettings check_settings(ServerSettings settings) {
  if (settings.api_key.empty() && !is_loopback(settings.host))
    throw user_error(
        "--host {}: other machines could use the server without a key; set ROLL_API_KEY, or keep the host 127.0.0.1",
        settings.host);
  return settings;
}

/// Streams tokens while they are sampled. An error is sent as the last event.
void stream(ActiveRequest& active, HttpReply& reply) {
  reply.begin_stream("text/event-stream");
  try {
    while (!active.answer().is_whole()) {
      std::string text;
      for (const Json& chunk : active.take_chunks()) text += event(chunk);
      if (!text.empty()) reply.write(text);
      if (reply.is_gone()) return;
    }
    for (const Json& chunk : active.answer().usage_chunk()) reply.write(event(chunk));
  } catch (const Refusal& refusal) {
    reply.write("data: " + error_body(refusal) + "\n\n");
  } catch (const Unavailable& unavailable) {
    reply.write("data: " + error_body({503, "server_error", unavailable.what()}) + "\n\n");
  }
  reply.write("data: [DONE]\n\n");
}

enum class Action { kHealth, kModels, kModel, kChat, kText, kSession, kReward };

/// The action of a request's path, with its session or model.
struct Route {
  Action action;
  std::string session{}, model{};
};

/// Parses the path after /v1, or after the session. nullopt: the path is unknown.
std::optional<Route> route_after_base(const std::string& method, std::string_view path, std::string session) {
  constexpr std::string_view kModels = "/models";
  if (method == "POST" && path == "/chat/completions") return Route{Action::kChat, std::move(session)};
  if (method == "POST" && path == "/completions") return Route{Action::kText, std::move(session)};
  if (method == "POST" && path == "/reward" && !session.empty()) return Route{Action::kReward, std::move(session)};
  if (method != "GET" || !path.starts_with(kModels)) return std::nullopt;
  path.remove_prefix(kModels.size());
  if (path.empty()) return Route{Action::kModels};
  if (path.size() > 1 && path.front() == '/') return Route{Action::kModel, {}, std::string(path.substr(1))};
  return std::nullopt;
}

std::optional<Route> parse_route(const HttpRequest& request, bool has_sessions) {
  constexpr std::string_view kBase = "/v1", kSessions = "/sessions";
  std::string_view path = request.path;
  if (request.method == "GET" && path == "/health") return Route{Action::kHealth};
  if (!path.starts_with(kBase)) return std::nullopt;
  path.remove_prefix(kBase.size());
  if (!has_sessions) return route_after_base(request.method, path, "");
  if (request.method == "POST" && path == kSessions) return Route{Action::kSession};
  if (!path.starts_with(kSessions)) return std::nullopt;
  path.remove_prefix(kSessions.size());
  const size_t end = path.find('/', 1);
  if (path.empty() || path.front() != '/' || end == std::string_view::npos || end == 1) return std::nullopt;
  return route_after_base(request.method, path.substr(end), std::string(path.substr(1, end - 1)));
}

}  // namespace

struct CompletionServer::Parts {
  Parts(const ServedModel& served, std::shared_ptr<CompletionSink> requests, SessionDesk* sessions,
        ServerSettings unchecked_settings)
      : model(served),
        sink(std::move(requests)),
        desk(sessions),
        settings(check_settings(std::move(unchecked_settings))),
        server({settings.host, settings.port, settings.port_key}, server_limits(settings),
               {.admit = [this](const HttpRequest& head) { return admit(head); },
                .refuse = [](int status, const std::string& why) { return error_response(status, why); }}) {}

  /// Decides on a request by its head; checks the key first.
  Admission admit(const HttpRequest& head) {
    try {
      const std::optional<Route> route = parse_route(head, desk);
      const std::string agent_name = route && route->action == Action::kHealth ? "" : authenticate(head);
      if (!route) throw unknown_path(head);
      return {.response = immediate_answer(*route),
              .max_body = static_cast<size_t>(settings.max_body_bytes),
              .handler = [this, route = *route, agent_name](const HttpRequest& request, HttpReply& reply) {
                answer(route, agent_name, request, reply);
              }};
    } catch (const Refusal& refusal) {
      return {.response = error_response(refusal)};
    }
  }

  /// Returns answers that need no handler.
  std::optional<HttpResponse> immediate_answer(const Route& route) const {
    switch (route.action) {
      case Action::kHealth:
        return json_response({{"status", "ok"}});
      case Action::kModels:
        return json_response({{"object", "list"}, {"data", Json::array({description()})}});
      case Action::kModel:
        if (route.model == model.name) return json_response(description());
        throw Refusal{404, "invalid_request_error", fmt::format("only the model {} is served", model.name)};
      default:
        return std::nullopt;
    }
  }

  /// Returns the name after the key and a dot, mostly "". Refusal: the client may not ask.
  std::string authenticate(const HttpRequest& request) const {
    if (settings.api_key.empty()) {
      if (!names_this_machine(request.header("host")))
        throw Refusal{403, "permission_error", "the Host header does not name this machine"};
      return "";
    }
    const std::string &authorization = request.header("authorization"), key = "Bearer " + settings.api_key;
    const std::string suffix = authorization.substr(std::min(authorization.size(), key.size()));
    if (!equal_in_constant_time(authorization.substr(0, key.size()), key) ||
        !(suffix.empty() || (desk && suffix.front() == '.')))
      throw Refusal{401, "authentication_error", "the API key is missing or wrong (Authorization: Bearer ...)"};
    return suffix.empty() ? "" : suffix.substr(1);
  }

  Refusal unknown_path(const HttpRequest& request) const {
    const char* base = desk ? "/v1/sessions/ID" : "/v1";
    return {
        404, "invalid_request_error",
        fmt::format("there is no {} {}; use POST {}/chat/completions or {}/completions, or GET {}/models or /health",
                    request.method, request.path, base, base, base)};
  }

  static Refusal no_session(const Route& route) {
    return {404, "invalid_request_error",
            fmt::format("session {} is over, or belongs to another agent", route.session)};
  }

  void answer(const Route& route, const std::string& agent_name, const HttpRequest& request, HttpReply& reply) {
    try {
      dispatch(route, agent_name, request, reply);
    } catch (const Refusal& refusal) {
      reply.send(error_response(refusal));
    } catch (const UnknownModel& error) {
      reply.send(error_response(404, error.what()));
    } catch (const UserError& error) {
      reply.send(error_response(400, error.what()));
    } catch (const GrammarsBusy& error) {
      reply.send(error_response(Refusal{429, "rate_limit_error", error.what()}));
    } catch (const Unavailable& error) {
      reply.send(error_response(503, error.what()));
    }
  }

  void dispatch(const Route& route, const std::string& agent_name, const HttpRequest& request, HttpReply& reply) {
    switch (route.action) {
      case Action::kChat:
        return complete(CompletionKind::kChat, route, agent_name, request, reply);
      case Action::kText:
        return complete(CompletionKind::kText, route, agent_name, request, reply);
      case Action::kSession:
        return take_session(agent_name, request, reply);
      case Action::kReward:
        if (!desk->end(route.session, agent_name, parse_strangers_json(request.body, "the body")))
          throw no_session(route);
        return reply.send(json_response({{"status", "ok"}}));
      default:
        throw Bug("admit() has answered all others");
    }
  }

  Json description() const {
    return {{"id", model.name},
            {"object", "model"},
            {"created", static_cast<int64_t>(start_s)},
            {"owned_by", "roll"},
            {"max_model_len", model.max_length}};
  }

  CompletionRequest read(CompletionKind kind, const std::string& body) {
    // Parses large bodies one at a time, because the parsed form may be much larger.
    std::unique_lock lock(large_body, std::defer_lock);
    if (body.size() > kLargeBody) lock.lock();
    CompletionRequest request = read_completion(kind, parse_strangers_json(body, "the body"), model);
    request.num_body_bytes = body.size();
    return request;
  }

  void complete(CompletionKind kind, const Route& route, const std::string& agent_name, const HttpRequest& request,
                HttpReply& reply) {
    std::shared_ptr<CompletionSink> request_sink = desk ? desk->find(route.session, agent_name) : sink;
    if (!request_sink) throw no_session(route);
    auto completion = std::make_shared<const CompletionRequest>(read(kind, request.body));
    reply.drop_body();
    const std::string id =
        fmt::format("{}-{:016x}{:08x}", kind == CompletionKind::kChat ? "chatcmpl" : "cmpl", start, ++num_asked);
    ActiveRequest active(std::move(completion), model, std::move(request_sink), id, settings.timeout_s);
    if (!active.is_taken()) throw Refusal{429, "rate_limit_error", "too many requests are waiting; try again"};
    if (active.streams()) return stream(active, reply);
    while (!active.answer().is_whole()) {
      active.take_chunks();
      if (!active.answer().is_whole() && reply.is_gone()) return;
    }
    reply.send(json_response(active.answer().whole()));
  }

  void take_session(const std::string& agent_name, const HttpRequest& request, HttpReply& reply) {
    std::optional<Json> session;
    for (const Stopwatch watch; !session && watch.seconds() < kSessionWait_s && !reply.is_gone();)
      session = desk->take(agent_name, kCheckInterval);
    if (session && reply.is_gone()) return desk->give_back(session->at("id").get<std::string>());
    if (!session) return reply.send(HttpResponse::make(204, "", ""));
    (*session)["base_url"] =
        fmt::format("http://{}/v1/sessions/{}", request.header("host"), session->at("id").get<std::string>());
    reply.send(json_response(*session));
  }

  const ServedModel& model;
  const std::shared_ptr<CompletionSink> sink;
  SessionDesk* const desk;  // null: no sessions
  const ServerSettings settings;
  const double start_s = wall_clock_s();
  const uint64_t start = static_cast<uint64_t>(start_s * 1e6);
  std::atomic<uint32_t> num_asked = 0;
  std::mutex large_body;
  HttpServer server;  // declared last: its handlers use all of the above
};

CompletionServer::CompletionServer(const ServedModel& model, CompletionSink& sink, const ServerSettings& settings)
    : parts_(std::make_unique<Parts>(model, std::shared_ptr<CompletionSink>(std::shared_ptr<void>(), &sink), nullptr,
                                     settings)) {}

CompletionServer::CompletionServer(const ServedModel& model, SessionDesk& desk, const ServerSettings& settings)
    : parts_(std::make_unique<Parts>(model, nullptr, &desk, settings)) {}

CompletionServer::~CompletionServer() = default;

int CompletionServer::port() const {
  return parts_->server.port();
}

}  // namespace roll
