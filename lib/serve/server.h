// OpenAI's API over HTTP: of `roll serve` over a queue, and in training over the sessions of agents.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "serve/completion_request.h"
#include "serve/session_desk.h"

namespace roll {

struct ServerSettings {
  std::string host = "127.0.0.1";
  int port = 8000;                  // 0: a free one
  std::string port_key = "--port";  // as messages call it
  std::string api_key;              // "": whoever reaches it may ask
  int64_t max_body_bytes = 0;       // of a request
  double timeout_s = 0;             // of an answer
};

/// Answers POST /v1/chat/completions and /v1/completions, GET /v1/models and /health, each connection on a thread of
/// its own. Of sessions these are POST /v1/sessions/ID/chat/completions and so on; POST /v1/sessions takes one, with
/// its base_url, or is answered 204 where none came within 10 s, and POST /v1/sessions/ID/reward ends it. What cannot
/// be answered is an error in OpenAI's form with 400, 401, 404, 413, 429, 503 or 504; a client that hangs up takes its
/// request back.
class CompletionServer {
 public:
  /// Listens at once; `model` and `sink` or `desk` must outlive it. UserError: the port is taken; others could reach it
  /// and there is no key.
  CompletionServer(const ServedModel& model, CompletionSink& sink, const ServerSettings& settings);
  CompletionServer(const ServedModel& model, SessionDesk& desk, const ServerSettings& settings);
  /// Ends when the sink or the desk has been closed and the last answer is sent.
  ~CompletionServer();

  int port() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
