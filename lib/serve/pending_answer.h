// Responses to a request while they are sampled, between server threads that ask and the thread that answers.
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

/// New tokens of one choice since the last look.
struct ChoiceNews {
  size_t choice = 0;
  std::vector<int64_t> ids;
  std::vector<float> log_probs;
  std::optional<Generation> ended;      // the whole response
  std::vector<TokenScore> scores = {};  // with `ended`, if requested: of all tokens but the prompt's first
};

/// The request cannot be answered (any more). The server answers 503.
struct Unavailable : SystemError {
  using SystemError::SystemError;
};

/// Responses to one request. Thread-safe.
class PendingAnswer {
 public:
  /// `streams_tokens`: news come with every token, otherwise only at the end of each choice.
  explicit PendingAnswer(bool streams_tokens) : streams_tokens_(streams_tokens) {}

  /// Returns all news; empty if nothing came within `patience`. Unavailable: there will be no more.
  std::vector<ChoiceNews> take(std::chrono::milliseconds patience);

  bool streams_tokens() const { return streams_tokens_; }
  /// Adds news for take().
  void put(ChoiceNews news);
  /// Makes take() throw Unavailable with `why`, after the news so far.
  void fail(const std::string& why);

 private:
  const bool streams_tokens_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ChoiceNews> news_;
  std::string failure_;
};

/// Interface of what answers requests. Thread-safe.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /// Submits a request. Choices are numbered prompt by prompt. Returns null if too many wait already. Unavailable:
  /// nobody answers any more. UserError: this request cannot be answered.
  virtual std::shared_ptr<PendingAnswer> submit(std::shared_ptr<const CompletionRequest> request) = 0;
  /// Cancels a request whose client is gone.
  virtual void cancel(const std::shared_ptr<PendingAnswer>& answer) = 0;
};

}  // namespace roll
