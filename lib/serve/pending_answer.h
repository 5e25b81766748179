// Carries requests and their responses between the server's threads, one per client, and the thread that samples. A
// choice is one of the responses to a request; choices are numbered prompt by prompt.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rollout/sampler.h"
#include "serve/completion_request.h"
#include "serve/token_scores.h"

namespace roll {

/// Progress of one choice: either new tokens, or its end.
struct ChoiceNews {
  size_t choice = 0;                // number of the choice
  std::vector<int64_t> ids;         // tokens since the last news; empty at the end
  std::vector<float> log_probs;     // one per id, nats
  std::optional<Generation> ended;  // set at the end: the whole response
  /// Set at the end if the request needs scores: of all tokens of prompt and response, except the first token.
  std::vector<TokenScore> scores = {};
};

/// Error of a request that cannot be answered, because sampling fails or ends. The server answers with status 503.
struct Unavailable : SystemError {
  using SystemError::SystemError;
};

/// Queue of the news about one request. Thread-safe.
class PendingAnswer {
 public:
  /// `streams_tokens`: put() is called after every token, not only at the end of each choice.
  explicit PendingAnswer(bool streams_tokens) : streams_tokens_(streams_tokens) {}

  /// Returns all news since the last call, oldest first; waits for them at most `patience`, then returns an empty list.
  /// Called by the server's thread. Throws Unavailable after fail(), once all news are taken.
  std::vector<ChoiceNews> take(std::chrono::milliseconds patience);

  // For the thread that samples.

  bool streams_tokens() const { return streams_tokens_; }
  /// Adds news for take().
  void put(ChoiceNews news);
  /// Ends the request with an error. `why`: text of the exception that take() throws.
  void fail(const std::string& why);

 private:
  const bool streams_tokens_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ChoiceNews> news_;
  std::string failure_;
};

/// Interface of an object that answers requests: RequestQueue, or a session of an agent. Thread-safe.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /// Queues a request and returns at once the object through which its answer comes; null if too many requests wait
  /// already. Throws Unavailable if nobody answers requests any more, and UserError if this request cannot be answered.
  virtual std::shared_ptr<PendingAnswer> submit(std::shared_ptr<const CompletionRequest> request) = 0;
  /// Cancels a request whose client has hung up. `answer`: result of submit(). Does nothing if the request has ended.
  virtual void cancel(const std::shared_ptr<PendingAnswer>& answer) = 0;
};

}  // namespace roll
