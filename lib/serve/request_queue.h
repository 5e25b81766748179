// Between those who ask, each on a thread of its own, and the engine, which answers all on one: requests in, what is
// drawn for them out.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rollout/sampler.h"
#include "serve/completion_request.h"

namespace roll {

/// What has been drawn since one last looked, of one choice.
struct ChoiceNews {
  size_t choice = 0;
  std::vector<int64_t> ids;
  std::vector<float> log_probs;
  std::optional<Generation> ended;  // whole
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

class RequestQueue : public RequestSource {
 public:
  /// `max_waiting`: choices that wait for a slot.
  explicit RequestQueue(int64_t max_waiting) : max_waiting_(max_waiting) {}

  // For those who ask.

  /// One choice after the other of each prompt. Null: too many wait already. Unavailable: the queue is closed.
  std::shared_ptr<PendingAnswer> submit(const CompletionRequest& request);
  /// Nobody waits for it any more.
  void cancel(const std::shared_ptr<PendingAnswer>& answer);

  // For the thread of the engine.

  /// Answers what comes until `should_stop`, or an error, which all who wait hear of and which is thrown on. Closes the
  /// queue. `serve` is Engine::serve.
  using Serve = std::function<std::vector<Generation>(RequestSource&, const OnGenerated& on_done, const SamplerHooks&)>;
  void run(const Serve& serve, const std::function<bool()>& should_stop);
  Change next(const Queue& queue) override;

 private:
  struct Sample {
    std::shared_ptr<PendingAnswer> answer;
    size_t choice = 0;
    GenerationRequest request;
    size_t num_heard = 0;  // tokens
  };
  void hear_token(int64_t index, const Generation& so_far);
  void hear_end(int64_t index, const Generation& generation);
  void take_up(std::vector<Generation> unfinished);
  void close(const std::string& why);

  const int64_t max_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Sample> incoming_;
  std::vector<std::shared_ptr<PendingAnswer>> cancelled_;
  int64_t num_waiting_ = 0;  // in the engine
  uint64_t last_name_ = 0;
  std::string closed_;  // why; empty: it is not

  std::map<int64_t, Sample> begun_;  // by their number in this run of the engine; its thread's alone
  int64_t num_begun_ = 0;
  std::function<bool()> should_stop_;
};

}  // namespace roll
