// HTTP server with OpenAI's API. `roll serve` uses it to sample from a model (RequestQueue), and training uses it to
// let external agents sample from the policy (AgentSessions).
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
  std::string port_key = "--port";  // flag or configuration key of the port, for messages
  std::string api_key;              // clients must send it; "": no key needed
  int64_t max_body_bytes = 0;       // largest request body; must be set
  double timeout_s = 0;             // most seconds from a request to the end of its answer; must be set
};

/// Answers POST /v1/chat/completions and /v1/completions, GET /v1/models, /v1/models/NAME and /health; each request is
/// answered on its own thread. Over a SessionDesk, the paths are /v1/sessions/ID/chat/completions and so on. There,
/// POST /v1/sessions takes a session and returns it with its base_url, or 204 if none came within 10 s, and POST
/// /v1/sessions/ID/reward ends it. An agent sends its name with the key, as "Authorization: Bearer KEY.NAME".
/// Errors have OpenAI's form, with status 400, 401, 403, 404, 413, 429, 503 or 504. If a client hangs up, its request
/// is cancelled.
class CompletionServer {
 public:
  /// Starts listening. `model`, and `sink` or `desk`, must outlive the server. Throws UserError if the port is taken,
  /// or if other hosts could reach the server and there is no key.
  CompletionServer(const ServedModel& model, CompletionSink& sink, const ServerSettings& settings);
  CompletionServer(const ServedModel& model, SessionDesk& desk, const ServerSettings& settings);
  /// Stops the server and waits for running answers. End RequestQueue::run(), or call AgentSessions::close(), first, so
  /// that they end soon.
  ~CompletionServer();

  /// Returns the port that it listens on.
  int port() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
