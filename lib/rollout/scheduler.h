// Continuous batching, for sampler.cpp: decides which sequences run, which KV pages they hold, and what each step
// computes. Requests start in order. Consecutive requests with the same prompt start together and share its prefill and
// pages; the page in which their responses begin is copied. Chunked prefill runs together with decoding. If pages run
// out, the sequence that started last is evicted: it frees its pages, keeps its tokens, and is recomputed later.
// Speculative decoding: a step may compute guesses of a sequence's next tokens (token_guesser.h), and keeps those that
// equal the tokens it draws.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "rollout/page_pool.h"
#include "rollout/sampler.h"
#include "rollout/step_model.h"
#include "rollout/stop_strings.h"

namespace roll {

/// Schedules one call of generate() or serve(); create one for each.
class Scheduler {
 public:
  /// All arguments must outlive the scheduler. `pages`: allocator of the model's pages. params.max_length must be set,
  /// between 1 and the model's.
  Scheduler(StepModel& model, PagePool& pages, const DecodeText& decode, const SamplingParams& params,
            const OnGenerated& on_done, const SamplerHooks& hooks);

  /// Appends requests to the queue. Throws UserError if a prompt is empty, holds an unknown token id, or leaves no room
  /// for one token. Throws Bug if two requests without a seed, neither cancelled, have the same sequence_id.
  void add(std::vector<GenerationRequest> requests);
  /// Runs steps until all requests have ended and `source` (null: none) has no more or pauses; returns all responses in
  /// the order of the requests. Call it once.
  std::vector<Generation> run(RequestSource* source = nullptr);

  /// Returns the statistics so far.
  const SamplerCounts& counts() const { return counts_; }

 private:
  /// A request that has a slot.
  struct Sequence {
    uint64_t serial = 0;  // unique over the run
    int64_t request = 0;  // index in requests_
    int64_t slot = 0;
    std::vector<int64_t> ids;      // known tokens of prompt and response
    int64_t num_computed = 0;      // prefix of ids already in prefill steps
    int64_t num_pending = 0;       // tokens launched but not yet collected, without guesses
    int64_t max_tokens = 0;        // limit of prompt + response
    bool is_decoding = false;      // the prompt is computed; every step draws a token
    bool is_follower = false;      // shares the prefill of the nearest earlier sequence that is not a follower
    std::optional<PageCopy> copy;  // due before its first decode step
    std::vector<int32_t> pages;
    int64_t num_sent_pages = 0;  // pages that are in the model's page table
    StopWatcher stops;
    TokenGuesser::Response guessed = 0;  // only if guesser_

    int64_t length() const { return std::ssize(ids) + num_pending; }
  };
  /// A sequence that draws in a launch; a Launch lists them in the order of StepModel::collect().
  struct DrawingSlot {
    int64_t slot = 0;
    uint64_t serial = 0;
  };
  using Launch = std::vector<DrawingSlot>;

  void check(const GenerationRequest& request) const;
  bool apply_changes(RequestSource& source);
  void pause();
  void cancel(int64_t request);
  void free_request_data(int64_t request);
  void hand_over_prompt(size_t leader);
  void step();
  StepPlan plan(Launch& launch);
  void plan_decoding(StepPlan& plan, Launch& launch);
  void add_guesses(StepPlan& plan);
  int64_t most_guesses(Sequence& sequence, int64_t count);
  void plan_prompts(StepPlan& plan, Launch& launch, int64_t num_free_rows);
  PromptPiece next_piece(Sequence& sequence, int64_t num_free_rows);
  void extend(PromptPiece& piece, int64_t count);
  void end_prompt(size_t leader, PromptPiece& piece, Launch& launch);
  void start_decoding(Sequence& sequence, PromptPiece& piece, Launch& launch);
  bool start_next();
  void start_followers(const Sequence& leader);
  Sequence& add_sequence(std::vector<int64_t> ids, std::vector<int32_t> pages);
  bool has_pages_for(int64_t count) const;
  bool allocate_pages(Sequence& sequence, int64_t length);
  void send_pages(Sequence& sequence);
  void evict_last();
  void remember_computed(const Sequence& sequence);
  void take_drawn();
  void append_token(Sequence& sequence, const Drawn& drawn);
  bool ends_response(int64_t token) const;
  void finish(Sequence& sequence, FinishReason reason);
  void release(Sequence& sequence);
  void abort_all();
  std::span<const int64_t> turn_ids(int64_t request) const;
  std::string generated_text(int64_t request) const;
  const SamplingSettings& request_settings(int64_t request) const;

  StepModel& model_;
  PagePool& pages_;
  const DecodeText& decode_;
  const SamplingParams& params_;
  const OnGenerated& on_done_;
  const SamplerHooks& hooks_;
  TokenGuesser* guesser_;  // null: no guesses

  std::deque<GenerationRequest> requests_;
  std::unordered_set<uint64_t> sequence_ids_;
  std::vector<Generation> generations_;
  std::deque<int64_t> waiting_;  // request indices
  std::vector<int64_t> free_slots_;
  std::vector<std::unique_ptr<Sequence>> running_;  // in start order
  std::vector<Sequence*> slot_sequences_;           // by slot; null: free
  uint64_t last_serial_ = 0;
  std::deque<Launch> launched_;  // not yet collected, oldest first
  int64_t num_drawn_ = 0;        // in this step
  SamplerCounts counts_;
};

}  // namespace roll
