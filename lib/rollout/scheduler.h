// Continuous batching: which sequences run, which pages they hold, and what each step computes.
// Requests start in order. Neighbours with the same prompt start together and share its computation and its pages; the
// page in which their responses begin is copied. Prompts are computed in pieces beside decoding. Where pages run out,
// the sequence that started last gives its own back and is computed again later; its tokens stay.
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

class Scheduler {
 public:
  /// All arguments must outlive the scheduler. `pages` are the model's; max_length must be set.
  Scheduler(StepModel& model, PagePool& pages, const DecodeText& decode, const SamplingParams& params,
            const OnGenerated& on_done, const SamplerHooks& hooks);

  /// Wait behind the others. UserError: see Engine::generate. Bug: two of them, or of the earlier ones that were not
  /// cancelled, have the same sequence_id.
  void add(std::vector<GenerationRequest> requests);
  /// Ends when nothing waits or runs, and `source`, where there is one, has said that nothing more comes.
  std::vector<Generation> run(RequestSource* source = nullptr);

  const SamplerCounts& counts() const { return counts_; }

 private:
  struct Sequence {
    uint64_t serial = 0;  // never another's
    int64_t request = 0, slot = 0;
    std::vector<int64_t> ids;      // of prompt and response, as far as they are known
    int64_t num_computed = 0;      // of ids, while they are computed in pieces
    int64_t num_pending = 0;       // tokens whose drawing was launched and is not known yet
    int64_t max_tokens = 0;        // of prompt and response
    bool is_decoding = false;      // every step draws a token
    bool follows = false;          // the sequence before it that does not computes its prompt too
    std::optional<PageCopy> copy;  // to be made before it decodes
    std::vector<int32_t> pages;
    int64_t num_sent_pages = 0;  // those that the model's table has
    StopWatcher stops;

    int64_t length() const { return std::ssize(ids) + num_pending; }
  };
  /// Who drew in a launch, in the order of the model's answer.
  struct Drawer {
    int64_t slot = 0;
    uint64_t serial = 0;
  };
  using Launch = std::vector<Drawer>;

  void check(const GenerationRequest& request) const;
  bool ask(RequestSource& source);
  void pause();
  void cancel(int64_t request);
  void forget(int64_t request);
  void pass_on_prompt(size_t leader);
  void step();
  StepPlan plan(Launch& launch);
  void plan_decoding(StepPlan& plan, Launch& launch);
  void plan_prompts(StepPlan& plan, Launch& launch, int64_t room);
  PromptPiece next_piece(Sequence& sequence, int64_t room);
  void extend(PromptPiece& piece, int64_t count);
  void end_prompt(size_t leader, PromptPiece& piece, Launch& launch);
  void start_decoding(Sequence& sequence, PromptPiece& piece, Launch& launch);
  bool seat_next();
  void seat_followers(const Sequence& leader);
  Sequence& add_sequence(std::vector<int64_t> ids, std::vector<int32_t> pages);
  bool has_pages_for(int64_t count) const;
  bool make_room(Sequence& sequence, int64_t length);
  void send_pages(Sequence& sequence);
  void evict_last();
  void remember_computed(const Sequence& sequence);
  void take_drawn();
  void accept(Sequence& sequence, const Drawn& drawn);
  void finish(Sequence& sequence, FinishReason reason);
  void leave(Sequence& sequence);
  void abort_all();
  std::span<const int64_t> own_ids(int64_t request) const;
  std::string text_of(int64_t request) const;
  const SamplingSettings& generating_of(int64_t request) const;

  StepModel& model_;
  PagePool& pages_;
  const DecodeText& decode_;
  const SamplingParams& params_;
  const OnGenerated& on_done_;
  const SamplerHooks& hooks_;

  std::deque<GenerationRequest> requests_;
  std::unordered_set<uint64_t> sequence_ids_;
  std::vector<Generation> generations_;
  std::deque<int64_t> waiting_;  // requests
  std::vector<int64_t> free_slots_;
  std::vector<std::unique_ptr<Sequence>> running_;  // in the order in which they started
  std::vector<Sequence*> in_slot_;
  uint64_t last_serial_ = 0;
  std::deque<Launch> launched_;
  int64_t num_drawn_ = 0;  // in this step
  SamplerCounts counts_;
};

}  // namespace roll
