// Between those who ask, each on a thread of its own, and whoever answers: the responses to a request, as they come.
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

/// What has been drawn since one last looked, of one choice.
struct ChoiceNews {
  size_t choice = 0;
  std::vector<int64_t> ids;
  std::vector<float> log_probs;
  std::optional<Generation> ended;      // whole
  std::vector<TokenScore> scores = {};  // with that, where they are asked for: of the prompt's tokens but the first,
                                        // and of the response's
};

/// The request cannot be answered; 503, or after a while.
struct Unavailable : SystemError {
  using SystemError::SystemError;
};

/// The responses to one request, as they come. Any thread.
class PendingAnswer {
 public:
  /// `hears_tokens`: news come with every token, else only at the end of each choice.
  explicit PendingAnswer(bool hears_tokens) : hears_tokens_(hears_tokens) {}

  /// All news; none if nothing came within `patience`. Unavailable: there will be no more.
  std::vector<ChoiceNews> take(std::chrono::milliseconds patience);

  bool hears_tokens() const { return hears_tokens_; }
  void put(ChoiceNews news);
  void fail(const std::string& why);

 private:
  const bool hears_tokens_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ChoiceNews> news_;
  std::string failure_;
};

/// Who answers requests. Any thread.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  /// One choice after the other of each prompt. Null: too many wait already. Unavailable: nobody answers any more.
  /// UserError: this one cannot be answered.
  virtual std::shared_ptr<PendingAnswer> submit(std::shared_ptr<const CompletionRequest> request) = 0;
  /// Nobody waits for it any more.
  virtual void cancel(const std::shared_ptr<PendingAnswer>& answer) = 0;
};

}  // namespace roll
