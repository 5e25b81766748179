// Request queue of `roll serve`: takes requests from the server's threads, one per client, gives them to the engine on
// its thread, and passes sampled tokens back. A choice is one of the responses to a request. A slot is the place of one
// running choice in the engine.
//
// Goal: no client waits long because another one asked for many responses. The engine gets a choice only when it has a
// free slot, first from the request with the fewest slots; a request without a slot takes one from the request with the
// most. Waiting choices therefore cost little memory. Long prompts and scores are computed a few at a time.
// Non-goal: fairness between clients that send many requests; no request says who sent it.
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
  /// Scores tokens as score_tokens() does, with the served model. Called on the engine's thread.
  using Score = std::function<std::vector<TokenScore>(const std::vector<int64_t>& ids, int64_t first,
                                                      int64_t num_likeliest, double temperature)>;
  /// `max_waiting`: most choices that wait for a slot, over all requests. `score`: may be empty if no request needs
  /// scores (CompletionRequest::needs_scores()).
  explicit RequestQueue(int64_t max_waiting, Score score = {}) : max_waiting_(max_waiting), score_(std::move(score)) {}

  // Called by the server's threads; CompletionSink describes these functions.

  /// If the queue is full (max_waiting choices, or 32 MiB), accepts only requests that take at most an equal share of
  /// the limit among all unfinished requests; returns null for others. Throws UserError if a request alone exceeds
  /// max_waiting or the limit of bytes.
  std::shared_ptr<PendingAnswer> submit(std::shared_ptr<const CompletionRequest> request) override;
  void cancel(const std::shared_ptr<PendingAnswer>& answer) override;

  // Called by the engine's thread.

  /// Calls Engine::serve() with the served model's sampling parameters.
  using Serve = std::function<std::vector<Generation>(RequestSource&, const OnGenerated& on_done, const SamplerHooks&)>;
  /// Answers requests until `should_stop` returns true or an error occurs, which it rethrows. Then fails all unfinished
  /// and later requests. Call it once. Each call of `serve` ends after some thousand responses, to free their memory.
  void run(const Serve& serve, const std::function<bool()>& should_stop);
  /// Called by the engine during run().
  Change next(const Queue& queue) override;

 private:
  /// A choice and its tokens so far.
  struct StartedChoice {
    int64_t choice = 0;
    uint64_t sequence_id = 0;
    Generation so_far{};
  };
  /// A request from submit() until its last choice has ended.
  struct QueuedRequest {
    QueuedRequest(RequestQueue& owner, std::shared_ptr<const CompletionRequest> completion, int64_t choice_count,
                  size_t byte_count);
    ~QueuedRequest();
    QueuedRequest(const QueuedRequest&) = delete;
    QueuedRequest& operator=(const QueuedRequest&) = delete;

    RequestQueue& queue;
    const std::shared_ptr<const CompletionRequest> request;
    const std::shared_ptr<PendingAnswer> answer;
    const int64_t num_choices;  // over all prompts, prompt by prompt
    const size_t num_bytes;
    const uint64_t number;  // identifies the request
    int64_t num_begun = 0;
    // Used by the engine's thread only.
    std::deque<StartedChoice> interrupted;  // choices to start again
    int64_t num_running = 0;

    const std::vector<int64_t>& prompt_ids(int64_t choice) const;
    size_t choice_bytes(int64_t choice) const;  // memory of a choice in the engine
    bool waits() const { return num_begun < num_choices || !interrupted.empty(); }
  };
  /// A choice in the engine.
  struct Sample {
    std::shared_ptr<QueuedRequest> queued;
    StartedChoice begun;

    /// Returns true while it computes the prompt that other choices of the request share.
    bool computes_prompt() const;
    GenerationRequest request() const;
  };
  struct Unscored {
    Sample sample;
    Generation generation;
  };
  std::shared_ptr<QueuedRequest> next_request() const;
  bool may_begin(const QueuedRequest& queued) const;
  Sample begin(const std::shared_ptr<QueuedRequest>& queued);
  void interrupt(int64_t index);
  bool take_slot_back(Change& change);
  void drop_waiting(const std::shared_ptr<PendingAnswer>& answer);
  void drop_cancelled(Change& change);
  void score_one(bool is_idle);
  void record_tokens(int64_t index, const Generation& so_far);
  void record_end(int64_t index, const Generation& generation);
  void interrupt_all();
  void close(const std::string& why);
  void release(const Sample& sample);

  const int64_t max_waiting_;
  const Score score_;
  std::atomic<int64_t> num_requests_ = 0;  // requests not finished
  std::atomic<size_t> num_bytes_ = 0;      // bytes of these requests
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<QueuedRequest>> waiting_;  // requests with choices outside the engine
  int64_t num_waiting_ = 0;                             // choices never started
  uint64_t last_request_number_ = 0;
  std::vector<std::shared_ptr<PendingAnswer>> cancelled_;
  std::string close_reason_;  // reason; empty: open

  // Used by the engine's thread only.
  std::map<int64_t, Sample> begun_;               // by their index in this engine run
  std::deque<Unscored> unscored_;                 // finished choices without scores
  int64_t num_begun_ = 0, num_ended_tokens_ = 0;  // in this engine run
  size_t num_engine_bytes_ = 0;
  int64_t num_prefill_tokens_ = 0;  // prompt tokens being computed
  uint64_t last_sequence_id_ = 0;
  Stopwatch since_scored_;
  double scoring_s_ = 0;  // time of the last scoring
  std::function<bool()> should_stop_;
};

}  // namespace roll
