// The HTTP side of `roll serve`: OpenAI's API over a queue.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "serve/completion_request.h"
#include "serve/request_queue.h"

namespace roll {

struct ServerSettings {
  std::string host = "127.0.0.1";
  int port = 8000;             // 0: a free one
  std::string api_key;         // "": whoever reaches it may ask
  int64_t max_body_bytes = 0;  // of a request
  double timeout_s = 0;        // of an answer
};

/// Answers POST /v1/chat/completions and /v1/completions, GET /v1/models and /health, each connection on a thread of
/// its own. What cannot be answered is an error in OpenAI's form with 400, 401, 404, 413, 429, 503 or 504; a client
/// that hangs up takes its request back.
class CompletionServer {
 public:
  /// Listens at once; `model` and `queue` must outlive it. UserError: the port is taken; others could reach it and
  /// there is no key.
  CompletionServer(const ServedModel& model, RequestQueue& queue, const ServerSettings& settings);
  /// Ends when the queue has been closed and the last answer is sent.
  ~CompletionServer();

  int port() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace roll
