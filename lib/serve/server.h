// HTTP server with OpenAI's API: for `roll serve` over a RequestQueue, and in training over the sessions of agents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "serve/completion_request.h"
#include "serve/session_desk.h"

namespace roll {

struct ServerSettings {
  std::string host = "127.0.0.1";
  int port = 8000;                  // 0: a free port
  std::string port_key = "--port";  // name of the port in messages
  std::string api_key;              // "": no key needed
  int64_t max_body_bytes = 0;       // largest request body
  double timeout_s = 0;             // limit for an answer
};

/// Answers POST /v1/chat/completions and /v1/completions, GET /v1/models and /health, each connection on its own
/// thread. With sessions, these are POST /v1/sessions/ID/chat/completions and so on; POST /v1/sessions takes a session
/// and returns it with its base_url, or 204 if none came within 10 s; POST /v1/sessions/ID/reward ends it. Errors have
/// OpenAI's form, with status 400, 401, 403, 404, 413, 429, 503 or 504. If a client hangs up, its request is cancelled.
class CompletionServer {
 public:
  /// Starts listening. `model` and `sink` or `desk` must outlive it. UserError: the port is taken, or other hosts can
  /// reach it without a key.
  CompletionServer(const ServedModel& model, CompletionSink& sink, const ServerSettings& settings);
  CompletionServer(const ServedModel& model, SessionDesk& desk, const ServerSettings& settings);
  /// Waits until the last answer is sent; the sink or desk must have been closed.
  ~CompletionServer();

  int port() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
