// Between those who ask, each on a thread of its own, and the engine, which answers all on one: requests in, what is
// drawn for them out.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "rollout/sampler.h"
#include "serve/pending_answer.h"

namespace roll {

class RequestQueue : public RequestSource, public CompletionSink {
 public:
  /// score_tokens() of the model that answers; called by the engine's thread.
  using Score = std::function<std::vector<TokenScore>(const std::vector<int64_t>& ids, int64_t first,
                                                      int64_t num_likeliest, double temperature)>;
  /// `max_waiting`: choices that wait for a slot; submit() throws UserError for a request of more, or of too many
  /// bytes. Without `score`, requests that need scores must not come.
  explicit RequestQueue(int64_t max_waiting, Score score = {}) : max_waiting_(max_waiting), score_(std::move(score)) {}

  // For those who ask.

  std::shared_ptr<PendingAnswer> submit(const CompletionRequest& request) override;
  void cancel(const std::shared_ptr<PendingAnswer>& answer) override;

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
    std::optional<int64_t> num_likeliest;  // where scores are asked for
    size_t num_heard = 0;                  // tokens
  };
  void hear_token(int64_t index, const Generation& so_far);
  void hear_end(int64_t index, const Generation& generation);
  std::vector<TokenScore> scores_of(const Sample& sample, const Generation& generation) const;
  void take_up(std::vector<Generation> unfinished);
  void close(const std::string& why);
  void forget(const Sample& sample);  // under the mutex

  const int64_t max_waiting_;
  const Score score_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Sample> incoming_;
  std::vector<std::shared_ptr<PendingAnswer>> cancelled_;
  int64_t num_waiting_ = 0;  // in the engine
  size_t num_bytes_ = 0;     // that requests take until they end
  uint64_t last_name_ = 0;
  std::string closed_;  // why; empty: it is not

  std::map<int64_t, Sample> begun_;  // by their number in this run of the engine; its thread's alone
  int64_t num_begun_ = 0;
  std::function<bool()> should_stop_;
};

}  // namespace roll
