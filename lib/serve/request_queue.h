// Between those who ask, each on a thread of its own, and the engine, which answers all on one: requests in, what is
// drawn for them out.
//
// Goal: nobody waits behind a request for many responses. Choices are given to the engine only when it has slots for
// them, those of the request that has the fewest slots first, and a request that has none takes one from the request
// that has most. So choices that wait cost little memory. Prompts and scores of a request are computed a part at a
// time, too. Non-goal: fairness between clients that send many requests; no request says who sent it.
#pragma once

#include <atomic>
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

#include "base/clock.h"
#include "rollout/sampler.h"
#include "serve/pending_answer.h"

namespace roll {

class RequestQueue : public RequestSource, public CompletionSink {
 public:
  /// score_tokens() of the model that answers; called by the engine's thread.
  using Score = std::function<std::vector<TokenScore>(const std::vector<int64_t>& ids, int64_t first,
                                                      int64_t num_likeliest, double temperature)>;
  /// `max_waiting`: choices that wait for a slot. When they are so many, submit() still takes a request for no more
  /// than an equal share of them. It throws UserError for a request of more than all, or of too many bytes. Without
  /// `score`, requests that need scores must not come.
  explicit RequestQueue(int64_t max_waiting, Score score = {}) : max_waiting_(max_waiting), score_(std::move(score)) {}

  // For those who ask.

  std::shared_ptr<PendingAnswer> submit(std::shared_ptr<const CompletionRequest> request) override;
  void cancel(const std::shared_ptr<PendingAnswer>& answer) override;

  // For the thread of the engine.

  /// Answers what comes until `should_stop`, or an error, which all who wait hear of and which is thrown on. Closes the
  /// queue. `serve` is Engine::serve.
  using Serve = std::function<std::vector<Generation>(RequestSource&, const OnGenerated& on_done, const SamplerHooks&)>;
  void run(const Serve& serve, const std::function<bool()>& should_stop);
  Change next(const Queue& queue) override;

 private:
  /// A choice as far as it has been drawn.
  struct Begun {
    int64_t choice = 0;
    uint64_t sequence_id = 0;
    Generation so_far{};
  };
  /// A request from submit() until its last choice has ended.
  struct Asked {
    Asked(RequestQueue& its, std::shared_ptr<const CompletionRequest> what, int64_t num_its, size_t num_its_bytes);
    ~Asked();
    Asked(const Asked&) = delete;
    Asked& operator=(const Asked&) = delete;

    RequestQueue& queue;
    const std::shared_ptr<const CompletionRequest> request;
    const std::shared_ptr<PendingAnswer> answer;
    const int64_t num_choices;  // of all prompts, one after the other
    const size_t num_bytes;
    const uint64_t number;  // of the request
    int64_t num_begun = 0;
    // The engine's thread alone uses these.
    std::deque<Begun> interrupted;  // choices to be begun again
    int64_t num_running = 0;

    const std::vector<int64_t>& prompt_of(int64_t choice) const;
    size_t bytes_of(int64_t choice) const;  // in the engine
    bool waits() const { return num_begun < num_choices || !interrupted.empty(); }
  };
  /// A choice that the engine has.
  struct Sample {
    std::shared_ptr<Asked> asked;
    Begun begun;

    /// True while the prompt is computed that the request's other choices of it share.
    bool reads_prompt() const;
    GenerationRequest request() const;
  };
  struct Unscored {
    Sample sample;
    Generation generation;
  };
  std::shared_ptr<Asked> next_asked() const;
  bool may_begin(const Asked& asked) const;
  Sample begin(const std::shared_ptr<Asked>& asked);
  void interrupt(int64_t index);
  bool take_slot_back(Change& change);
  void drop_waiting(const std::shared_ptr<PendingAnswer>& answer);
  void drop_cancelled(Change& change);
  void score_one(bool is_idle);
  void hear_token(int64_t index, const Generation& so_far);
  void hear_end(int64_t index, const Generation& generation);
  void interrupt_all();
  void close(const std::string& why);
  void forget(const Sample& sample);

  const int64_t max_waiting_;
  const Score score_;
  std::atomic<int64_t> num_asked_ = 0;  // requests that have not ended
  std::atomic<size_t> num_bytes_ = 0;   // of them
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Asked>> waiting_;  // requests with choices that the engine does not have
  int64_t num_waiting_ = 0;                     // choices that have never begun
  uint64_t last_number_ = 0;
  std::vector<std::shared_ptr<PendingAnswer>> cancelled_;
  std::string closed_;  // why; empty: it is not

  // The engine's thread alone uses these.
  std::map<int64_t, Sample> begun_;               // by their number in this run of the engine
  std::deque<Unscored> unscored_;                 // ended choices
  int64_t num_begun_ = 0, num_ended_tokens_ = 0;  // in this run
  size_t num_begun_bytes_ = 0;
  int64_t num_reading_ = 0;  // tokens of prompts whose computation has begun and not ended
  uint64_t last_name_ = 0;
  Stopwatch since_scored_;
  double scoring_s_ = 0;  // that the last scores took
  std::function<bool()> should_stop_;
};

}  // namespace roll
